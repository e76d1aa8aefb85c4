//! What the Parquet and Arrow readers share: decoded columns, and how they become a table.

mod cells;
mod table;
mod temporal;

use crate::error::Result;

pub(crate) use cells::{CellValues, ColumnCells, TextEncoding};
pub(crate) use table::{read_table, read_table_blocks, read_text_columns};
pub(crate) use temporal::{TemporalType, TimeUnit, zone_offset};

/// Rows decoded at a time: enough to keep the overhead small, few enough to keep the decoded copy small.
const BATCH_ROWS: usize = 8192;
/// List items decoded at a time, where more than one row is.
const BATCH_ITEMS: usize = 1 << 17;

/// A top-level column of a file.
#[derive(Debug)]
pub(crate) struct ColumnField {
    pub name: String,
    pub kind: ColumnKind,
    /// The type as it appears in messages: `column "x" holds text, not numbers`.
    pub type_name: String,
}

/// What a column can be used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ColumnKind {
    /// Data, labels or ids.
    Number,
    /// Lists of numbers: data.
    Vector,
    /// Labels or ids.
    Text,
    /// Structs, maps and the like: nothing.
    Nested,
}

/// Decoded rows of the columns that were asked for, in that order.
pub(crate) struct DecodedRows {
    pub rows: usize,
    pub columns: Vec<ColumnCells>,
}

/// A file of named columns.
pub(crate) trait ColumnarFile {
    /// The name of the format in messages.
    const FORMAT: &'static str;

    /// The columns of the file.
    fn fields(&self) -> &[ColumnField];

    /// Decodes the next rows of the columns with these indices, at most `most` of them. Returns `None` at the end of the file.
    fn next_rows(&mut self, columns: &[usize], most: usize) -> Result<Option<DecodedRows>>;
}

/// Number of rows to decode at a time when `rows` rows hold `items` list items.
pub(crate) fn batch_rows(rows: usize, items: usize) -> usize {
    BATCH_ITEMS.saturating_mul(rows).checked_div(items).unwrap_or(BATCH_ROWS).clamp(1, BATCH_ROWS)
}
