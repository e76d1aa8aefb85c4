//! IDX, the format of MNIST: two zero bytes, a type, the number of dimensions, their sizes and the values, big-endian.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lowland::Data;

use crate::block_visitor::{VisitBlock, visit_row_ranges};
use crate::budget::Budget;
use crate::error::{FileErrorKind, Result};
use crate::options::ReadOptions;
use crate::row_builder::{RowBuilder, array_cell};
use crate::table::Table;

const FORMAT: &str = "IDX";

/// A parsed IDX file.
#[derive(Debug)]
pub(crate) struct IdxArray<'a> {
    pub shape: Vec<usize>,
    kind: u8,
    width: usize,
    raw: &'a [u8],
}

impl IdxArray<'_> {
    /// Returns the numbers of rows and columns.
    fn rows_and_columns(&self) -> Result<(usize, usize)> {
        let [rows, rest @ ..] = &self.shape[..] else {
            return Err(FileErrorKind::Empty("the IDX file has no dimensions"));
        };
        if rest.is_empty() {
            return Err(FileErrorKind::format(
                FORMAT,
                format!("it holds {rows} numbers in one dimension: labels, not rows"),
            ));
        }
        // Without rows the other sizes are arbitrary.
        Ok((*rows, rest.iter().fold(1, |product: usize, &size| product.saturating_mul(size))))
    }

    /// Converts some of the rows.
    fn rows(&self, rows: Range<usize>, columns: usize, offsets: Option<&Arc<[f64]>>, budget: &Budget) -> Result<Data> {
        // The header has been checked: if there are rows, all their values are there.
        let row = self.raw.len().checked_div(self.shape[0]).unwrap_or(0);
        let part = IdxArray { shape: Vec::new(), raw: &self.raw[rows.start * row..rows.end * row], ..*self };
        budget.reserve("the values", part.raw.len() / self.width, size_of::<f32>())?;
        let mut builder = RowBuilder::new(Vec::with_capacity(part.raw.len() / self.width), columns, offsets, budget);
        part.values().try_for_each(|wide| builder.push(wide as f32, || wide, array_cell))?;
        builder.finish(rows.len())
    }

    /// Iterates over the values.
    pub fn values(&self) -> impl Iterator<Item = f64> {
        self.raw.chunks_exact(self.width).map(|raw| match self.kind {
            0x08 => f64::from(raw[0]),
            0x09 => f64::from(raw[0] as i8),
            0x0b => f64::from(i16::from_be_bytes([raw[0], raw[1]])),
            0x0c => f64::from(u32_of(raw) as i32),
            0x0d => f64::from(f32::from_bits(u32_of(raw))),
            _ => f64::from_bits(u64::from(u32_of(raw)) << 32 | u64::from(u32_of(&raw[4..]))),
        })
    }
}

/// Returns whether the bytes start like an IDX file.
pub(crate) fn is_idx(bytes: &[u8]) -> bool {
    matches!(bytes, [0, 0, 0x08 | 0x09 | 0x0b..=0x0e, dims, ..] if *dims > 0)
}

/// Parses an IDX file.
pub(crate) fn parse(bytes: &[u8]) -> Result<IdxArray<'_>> {
    if !is_idx(bytes) {
        return Err(FileErrorKind::format(FORMAT, "it does not begin as an IDX file does"));
    }
    let (kind, dims) = (bytes[2], bytes[3] as usize);
    let start = 4 + 4 * dims;
    let sizes = bytes.get(4..start).ok_or(FileErrorKind::Truncated {
        what: "header",
        declared: start as u64,
        available: bytes.len() as u64,
    })?;
    let shape: Vec<usize> = sizes.chunks_exact(4).map(|four| u32_of(four) as usize).collect();
    let width = match kind {
        0x08 | 0x09 => 1,
        0x0b => 2,
        0x0e => 8,
        _ => 4,
    };
    let declared = shape.iter().try_fold(width, |product: usize, &size| product.checked_mul(size));
    let raw = declared.and_then(|declared| bytes[start..].get(..declared)).ok_or(FileErrorKind::Truncated {
        what: "values",
        declared: declared.map_or(u64::MAX, |declared| declared as u64),
        available: (bytes.len() - start) as u64,
    })?;
    Ok(IdxArray { shape, kind, width, raw })
}

fn u32_of(four: &[u8]) -> u32 {
    u32::from_be_bytes([four[0], four[1], four[2], four[3]])
}

/// Reads the rows of an IDX file; all dimensions after the first are flattened.
pub(crate) fn read(bytes: &[u8], offsets: Option<&Arc<[f64]>>, budget: &Budget) -> Result<Data> {
    let idx = parse(bytes)?;
    let (rows, columns) = idx.rows_and_columns()?;
    idx.rows(0..rows, columns, offsets, budget)
}

/// Reads an IDX file in blocks of `block_rows` rows.
pub(crate) fn read_blocks(
    bytes: &[u8],
    options: &ReadOptions,
    budget: &Budget,
    block_rows: usize,
    visit: &mut VisitBlock,
) -> Result<()> {
    let idx = parse(bytes)?;
    let (rows, columns) = idx.rows_and_columns()?;
    visit_row_ranges(rows, options, budget, block_rows, visit, |range| {
        idx.rows(range, columns, options.offsets.as_ref(), budget).map(Table::new)
    })
}

/// Returns the label file in the folder of an image file with MNIST's names, compressed or not.
pub(crate) fn labels_beside(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_str()?;
    let labels = name.replace("images", "labels").replace("idx3", "idx1");
    if labels == name {
        return None;
    }
    let bare = labels.strip_suffix(".gz").unwrap_or(&labels);
    [labels.clone(), bare.to_string(), format!("{bare}.gz")]
        .iter()
        .map(|candidate| path.with_file_name(candidate))
        .find(|candidate| candidate.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_types_are_read() {
        let file = |kind: u8, values: &[u8]| {
            let mut bytes = vec![0, 0, kind, 2, 0, 0, 0, 1, 0, 0, 0, 2];
            bytes.extend_from_slice(values);
            parse(&bytes).unwrap().values().collect::<Vec<_>>()
        };
        assert_eq!(file(0x08, &[1, 255]), [1.0, 255.0]);
        assert_eq!(file(0x09, &[1, 255]), [1.0, -1.0]);
        assert_eq!(file(0x0b, &[0xff, 0xfe, 1, 0]), [-2.0, 256.0]);
        assert_eq!(file(0x0c, &[0xff, 0xff, 0xff, 0xff, 0, 1, 0, 0]), [-1.0, 65536.0]);
        assert_eq!(file(0x0d, &[1.5f32.to_be_bytes(), (-2.0f32).to_be_bytes()].concat()), [1.5, -2.0]);
        assert_eq!(file(0x0e, &[1.1f64.to_be_bytes(), (-2.2f64).to_be_bytes()].concat()), [1.1, -2.2]);
    }

    #[test]
    fn a_header_that_claims_more_than_there_is_gives_an_error() {
        let bytes = [0, 0, 8, 3, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1, 2];
        assert!(matches!(parse(&bytes).unwrap_err(), FileErrorKind::Truncated { available: 2, .. }));
        assert!(parse(&bytes[..7]).is_err());
        assert!(
            read(&[0, 0, 8, 1, 0, 0, 0, 2, 1, 2], None, &Budget::unlimited())
                .unwrap_err()
                .to_string()
                .contains("labels, not rows")
        );
    }
}
