//! How the readers hand on the blocks of a file.

use std::ops::{ControlFlow, Range};

use crate::budget::Budget;
use crate::error::{FileErrorKind, Location, Result};
use crate::options::ReadOptions;
use crate::table::Table;

/// Receives the blocks of a file; the reader stops at a break.
pub(crate) type VisitBlock<'v> = dyn FnMut(Table) -> Result<ControlFlow<()>> + 'v;

/// Calls `visit` with blocks of a file of `rows` rows, of which `read` reads any range. Errors that name a row of the block are changed to
/// that of the file.
pub(crate) fn visit_row_ranges(
    rows: usize,
    options: &ReadOptions,
    budget: &Budget,
    block_rows: usize,
    visit: &mut VisitBlock,
    mut read: impl FnMut(Range<usize>) -> Result<Table>,
) -> Result<()> {
    let rows = options.max_rows.map_or(rows, |most| most.min(rows));
    if rows == 0 {
        return Err(FileErrorKind::Empty("the file holds none"));
    }
    let reserved = budget.reserved();
    let mut first = 0;
    while first < rows {
        let range = first..rows.min(first.saturating_add(block_rows));
        let table = read(range.clone()).map_err(|error| in_row_of_file(error, first))?;
        if visit(table)?.is_break() {
            break;
        }
        budget.release_to(reserved);
        first = range.end;
    }
    Ok(())
}

/// Adds the first row of a block to the row that an error names.
fn in_row_of_file(error: FileErrorKind, first_row: usize) -> FileErrorKind {
    match error {
        FileErrorKind::Overflow { location: Location::Row(row), column, found } => {
            FileErrorKind::Overflow { location: Location::Row(first_row + row), column, found }
        }
        other => other,
    }
}
