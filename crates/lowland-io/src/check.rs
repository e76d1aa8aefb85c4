//! Validation of a table before it is used.

use lowland::Data;

use crate::error::{FileError, FileErrorKind, Location, Result};
use crate::options::{Missing, ReadOptions};
use crate::table::Table;

/// Bytes per row that the search for duplicate rows takes: its hash, its hash and index in sorted order, and the index of
/// the first row equal to it.
pub(crate) const DUPLICATE_CHECK_BYTES: usize = size_of::<u64>() + size_of::<(u64, u32)>() + size_of::<u32>();

/// Rejects rows with NaN or infinite cells (or drops them, with [`Missing::Drop`]), and notes constant columns and
/// duplicate rows. [`read`](crate::read) does this already; call it for tables that were built in memory.
pub fn check(table: Table, options: &ReadOptions) -> Result<Table, FileError> {
    check_table(table, options).map_err(|kind| kind.at(std::path::Path::new("table")))
}

pub(crate) fn check_table(table: Table, options: &ReadOptions) -> Result<Table> {
    table.check_counts()?;
    if table.rows() == 0 {
        return Err(FileErrorKind::Empty("there is nothing to map"));
    }
    if table.data.dim() == 0 && !matches!(table.data, Data::Text(_)) {
        return Err(FileErrorKind::Empty("the rows have no columns of numbers"));
    }
    let mut table = finite_rows(table, options.missing, 0)?;
    if table.rows() == 0 {
        return Err(FileErrorKind::Empty("every row has a missing or non-finite cell"));
    }
    let mut notes = Vec::new();
    match constant_columns(&table.data) {
        0 => (),
        count if table.rows() > 1 => notes.push(format!("{} constant", columns(count))),
        _ => (),
    }
    let first = table.data.first_equal_rows();
    let duplicates = first.iter().enumerate().filter(|&(i, &first)| first as usize != i).count();
    if duplicates > 0 {
        notes.push(format!("{} of an earlier row", plural(duplicates, "row is a copy", "rows are copies")));
    }
    table.notes.extend(notes);
    Ok(table)
}

/// `1 row`, `2 rows`.
pub(crate) fn plural(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

fn columns(count: usize) -> String {
    plural(count, "column is", "columns are")
}

/// Number of dropped rows that are listed in the note.
const LISTED_ROWS: usize = 10;

/// Checks a block of rows, which begins at row `first_row` of its file, like [`check_table`], but without a note of constant columns and
/// duplicate rows: they are properties of all rows. With [`Missing::Drop`], the block may be left without rows.
pub(crate) fn check_block(table: Table, options: &ReadOptions, first_row: usize) -> Result<Table> {
    table.check_counts()?;
    if table.data.dim() == 0 && !matches!(table.data, Data::Text(_)) {
        return Err(FileErrorKind::Empty("the rows have no columns of numbers"));
    }
    let mut table = table;
    if options.missing == Missing::Drop && table.ids.is_none() {
        // In all blocks, whether rows are dropped from them or not.
        table.ids = Some((first_row..first_row + table.rows()).map(|i| i.to_string()).collect());
    }
    finite_rows(table, options.missing, first_row)
}

fn finite_rows(table: Table, missing: Missing, first_row: usize) -> Result<Table> {
    let row_values = |i: usize| match &table.data {
        Data::Dense(x) => x.row(i),
        Data::Sparse(x) => x.row(i).1,
        Data::Text(_) => &[],
    };
    let keeps_nan = missing == Missing::Keep && matches!(table.data, Data::Dense(_));
    let bad = |v: &f32| !(v.is_finite() || (keeps_nan && v.is_nan()));
    let is_finite = |&i: &usize| !row_values(i).iter().any(bad);
    // The only pass over the values when all are finite.
    let Some(row) = (0..table.rows()).find(|i| !is_finite(i)) else { return Ok(table) };
    if missing != Missing::Drop {
        let at = row_values(row).iter().position(bad).expect("the row has such a cell");
        let column = match &table.data {
            Data::Sparse(x) => x.row(row).0[at] as usize,
            _ => at,
        };
        return Err(FileErrorKind::Missing {
            location: Location::Row(first_row + row),
            column: table.column_name(column),
            found: row_values(row)[at].to_string(),
            count: (0..table.rows()).map(|i| row_values(i).iter().filter(|v| bad(v)).count()).sum(),
        });
    }
    let kept: Vec<usize> = (0..row).chain((row + 1..table.rows()).filter(is_finite)).collect();
    let dropped = table.rows() - kept.len();
    let mut listed: Vec<String> = (0..table.rows())
        .filter(|i| kept.binary_search(i).is_err())
        .take(LISTED_ROWS)
        .map(|i| (first_row + i).to_string())
        .collect();
    if dropped > LISTED_ROWS {
        listed.push("...".into());
    }
    let mut table = table.select(&kept);
    let count = plural(dropped, "row", "rows");
    table.notes.push(format!("dropped {count} with missing or non-finite cells: {} (from 0)", listed.join(", ")));
    if table.ids.is_none() {
        // Row numbers of the map no longer match those of the file.
        table.ids = Some(kept.iter().map(|i| (first_row + i).to_string()).collect());
        table.notes.push("the rows left have their numbers in the file, from 0, as ids".into());
    }
    Ok(table)
}

/// Number of columns with the same value in every row. An empty column of a sparse matrix is constant, too.
fn constant_columns(data: &Data) -> usize {
    match data {
        Data::Dense(x) => {
            let first = x.row(0);
            // Columns that may still be constant: few after some rows, so the pass is short.
            let mut open: Vec<usize> = (0..x.dim()).collect();
            for i in 1..x.rows() {
                if open.is_empty() {
                    break;
                }
                let row = x.row(i);
                open.retain(|&j| row[j] == first[j]);
            }
            open.len()
        }
        Data::Sparse(x) => {
            let mut entries = vec![(0usize, f32::NAN, true); x.dim()];
            for (&j, &v) in x.indices().iter().zip(x.values()).filter(|(_, v)| **v != 0.0) {
                let (count, value, same) = &mut entries[j as usize];
                *same &= *count == 0 || *value == v;
                *count += 1;
                *value = v;
            }
            entries.iter().filter(|(count, _, same)| *count == 0 || (*count == x.rows() && *same)).count()
        }
        Data::Text(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lowland::data::Sparse;
    use lowland::{Embedding, Labels};

    fn table_with_nan() -> Table {
        let mut table = Table::new(Data::dense(vec![1.0, 2.0, f32::NAN, 2.0, 3.0, 2.0, 1.0, 2.0], 2).unwrap());
        table.labels = Some(Labels::new(["a", "b", "c", "a"]));
        table.ids = Some(["p", "q", "r", "s"].map(String::from).to_vec());
        table.truth = Some(Embedding::new(vec![0.0, 1.0, 2.0, 3.0], 1).unwrap());
        table
    }

    #[test]
    fn remaining_rows_without_ids_get_their_row_numbers() {
        let options = ReadOptions { missing: Missing::Drop, ..Default::default() };
        let table = check(Table { ids: None, ..table_with_nan() }, &options).unwrap();
        assert_eq!(table.ids.unwrap(), ["0", "2", "3"]);
    }

    #[test]
    fn a_nan_cell_is_an_error_or_its_row_is_dropped_with_its_label_id_and_truth() {
        let error = check(table_with_nan(), &ReadOptions::default()).unwrap_err();
        assert!(error.to_string().contains("row 1 (from 0), column 0 is NaN"), "{error}");
        let table = check(table_with_nan(), &ReadOptions { missing: Missing::Drop, ..Default::default() }).unwrap();
        assert_eq!(table.ids.unwrap(), ["p", "r", "s"]);
        assert_eq!(table.labels.unwrap().codes, [0, 2, 0]);
        assert_eq!(table.truth.unwrap().values(), [0.0, 2.0, 3.0]);
        assert_eq!(
            table.notes,
            [
                "dropped 1 row with missing or non-finite cells: 1 (from 0)",
                "1 column is constant",
                "1 row is a copy of an earlier row"
            ]
        );
    }

    #[test]
    fn errors_in_sparse_cells_name_the_column() {
        let x = Sparse::new(vec![0, 1, 2], vec![0, 2], vec![1.0, f32::INFINITY], 4).unwrap();
        let error = check(Table::new(Data::Sparse(x)), &ReadOptions::default()).unwrap_err();
        assert!(error.to_string().contains("row 1 (from 0), column 2 is inf"), "{error}");
    }

    #[test]
    fn empty_and_full_sparse_columns_can_be_constant() {
        let x = Sparse::new(vec![0, 2, 4], vec![0, 1, 0, 1], vec![5.0, 1.0, 5.0, 2.0], 3).unwrap();
        assert_eq!(constant_columns(&Data::Sparse(x)), 2);
    }

    #[test]
    fn labels_of_another_length_are_rejected() {
        let mut table = Table::new(Data::dense(vec![1.0, 2.0], 1).unwrap());
        table.labels = Some(Labels::new(["a"]));
        assert!(check(table, &ReadOptions::default()).is_err());
    }
}
