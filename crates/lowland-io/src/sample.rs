//! A seeded sample of the rows of a data set of several files, drawn in one pass.

use std::collections::{BinaryHeap, HashMap};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lowland::data::{Dense, Sparse};
use lowland::{Data, Labels, Seed};

use crate::blocks::{RowBlock, read_blocks};
use crate::error::{FileError, FileErrorKind, Result};
use crate::options::ReadOptions;
use crate::table::Table;

/// Rows of a data set of several files.
#[derive(Debug)]
pub struct SampledRows {
    /// The sample, in the order of the files and rows.
    pub table: Table,
    /// Further rows that are in no order related to the first ones, for checks of what was made of the sample.
    pub held_out: Option<Table>,
    /// Number of rows of the data set, those that were dropped apart.
    pub total: usize,
    /// Parts without rows.
    pub empty_parts: Vec<PathBuf>,
}

/// Rows of the first part by which columns are found that have to be stored as differences from an offset. A fixed number, so that the sample
/// does not depend on the size of the blocks.
const INSPECTED_ROWS: usize = 1024;

/// Draws `count` rows, and `held_out` others, of the rows of `parts`; all rows if there are no more than `count`. Whether a row is drawn
/// depends on the seed and on its number in the data set alone. At most `options.max_rows` rows are read.
pub fn sample_rows(
    parts: &[PathBuf],
    options: &ReadOptions,
    (count, held_out): (usize, usize),
    block_rows: usize,
    seed: Seed,
) -> Result<SampledRows, FileError> {
    let mut options = options.clone();
    if options.offsets.is_none() {
        options.offsets = Some(offsets(parts, &options)?);
    }
    let mut sample = RowSample::new(count.saturating_add(held_out), seed.stream("sample"), &options);
    let (mut empty_parts, mut left) = (Vec::new(), options.max_rows);
    for part in parts {
        if left == Some(0) {
            break;
        }
        let mut failed = None;
        let part_options = ReadOptions { max_rows: left, ..options.clone() };
        let read = read_blocks(part, &part_options, block_rows, &mut |block| match sample.add(part, block) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                failed = Some(error.at(part));
                ControlFlow::Break(())
            }
        });
        match (failed, read) {
            (Some(error), _) => return Err(error),
            (None, Ok(rows)) => left = left.map(|left| left.saturating_sub(rows)),
            (None, Err(error)) if matches!(error.kind, FileErrorKind::Empty(_)) && parts.len() > 1 => {
                empty_parts.push(part.clone());
            }
            (None, Err(error)) => return Err(error),
        }
    }
    let first = parts.first().map_or(Path::new(""), PathBuf::as_path);
    let total = sample.total;
    let (table, held_out) = sample.finish(count).map_err(|kind| kind.at(first))?;
    Ok(SampledRows { table, held_out, total, empty_parts })
}

/// The offsets of the columns, from the first rows of the first part that has any.
fn offsets(parts: &[PathBuf], options: &ReadOptions) -> Result<Arc<[f64]>, FileError> {
    let inspected = options.max_rows.map_or(INSPECTED_ROWS, |most| most.min(INSPECTED_ROWS));
    let options = ReadOptions { max_rows: Some(inspected), ..options.clone() };
    for part in parts {
        let mut found = None;
        let read = read_blocks(part, &options, inspected, &mut |block| {
            let data = &block.table.data;
            found = Some(data.offsets().map_or_else(|| vec![0.0; data.dim()].into(), Arc::from));
            ControlFlow::Break(())
        });
        match (found, read) {
            (Some(offsets), Ok(_)) => return Ok(offsets),
            (_, Err(error)) if !matches!(error.kind, FileErrorKind::Empty(_)) => return Err(error),
            _ => {}
        }
    }
    Ok(Arc::from(Vec::new()))
}

/// The rows with the smallest keys so far.
struct RowSample<'a> {
    capacity: usize,
    seed: Seed,
    options: &'a ReadOptions,
    total: usize,
    /// Key and slot of the rows in the sample, the largest key first.
    drawn: BinaryHeap<(u64, usize)>,
    /// Number of the row in each slot.
    rows: Vec<usize>,
    values: SlotValues,
    columns: Option<Vec<String>>,
    /// The file that the columns were taken from.
    first_part: Option<PathBuf>,
    ids: Option<Vec<String>>,
    labels: Option<SlotLabels>,
    target: Option<SlotLabels>,
    notes: Vec<String>,
}

/// The values of the rows in the slots.
enum SlotValues {
    None,
    Dense { values: Vec<f32>, dim: usize },
    Sparse { rows: Vec<(Vec<u32>, Vec<f32>)>, dim: usize },
    Text(Vec<String>),
}

/// Labels of the rows in the slots.
#[derive(Default)]
struct SlotLabels {
    codes: Vec<u32>,
    names: Vec<String>,
    known: HashMap<String, u32>,
}

impl SlotLabels {
    fn set(&mut self, slot: usize, name: &str) {
        let next = self.names.len() as u32;
        let code = *self.known.entry(name.to_string()).or_insert_with(|| {
            self.names.push(name.to_string());
            next
        });
        self.codes.resize(self.codes.len().max(slot + 1), code);
        self.codes[slot] = code;
    }

    fn select(&self, slots: &[usize]) -> Labels {
        Labels::new(slots.iter().map(|&slot| &self.names[self.codes[slot] as usize]))
    }
}

impl<'a> RowSample<'a> {
    fn new(capacity: usize, seed: Seed, options: &'a ReadOptions) -> Self {
        Self {
            capacity,
            seed,
            options,
            total: 0,
            drawn: BinaryHeap::new(),
            rows: Vec::new(),
            values: SlotValues::None,
            columns: None,
            first_part: None,
            ids: None,
            labels: None,
            target: None,
            notes: Vec::new(),
        }
    }

    /// Draws from the rows of a block.
    fn add(&mut self, part: &Path, RowBlock { table, .. }: RowBlock) -> Result<()> {
        self.check_columns(part, &table)?;
        self.notes.extend(table.notes.iter().filter(|_| self.first_part.as_deref() == Some(part)).cloned());
        for i in 0..table.rows() {
            let key = self.seed.item(self.total).0;
            let slot = if self.rows.len() < self.capacity {
                self.rows.push(self.total);
                Some(self.rows.len() - 1)
            } else {
                let replaced = self.drawn.peek().filter(|(largest, _)| key < *largest).map(|&(_, slot)| slot);
                if replaced.is_some() {
                    self.drawn.pop();
                }
                replaced
            };
            if let Some(slot) = slot {
                self.drawn.push((key, slot));
                self.rows[slot] = self.total;
                self.set(slot, &table, i)?;
            }
            self.total += 1;
        }
        Ok(())
    }

    /// Checks that a part has the columns of those before it.
    fn check_columns(&mut self, part: &Path, table: &Table) -> Result<()> {
        let Some(first) = &self.first_part else {
            self.first_part = Some(part.into());
            self.columns.clone_from(&table.columns);
            self.values = match &table.data {
                Data::Dense(x) => SlotValues::Dense { values: Vec::new(), dim: x.dim() },
                Data::Sparse(x) => SlotValues::Sparse { rows: Vec::new(), dim: x.dim() },
                Data::Text(_) => SlotValues::Text(Vec::new()),
            };
            self.ids = table.ids.as_ref().map(|_| Vec::new());
            self.labels = table.labels.as_ref().map(|_| SlotLabels::default());
            self.target = table.target.as_ref().map(|_| SlotLabels::default());
            return Ok(());
        };
        let (kind, dim) = match &self.values {
            SlotValues::Dense { dim, .. } => ("dense", *dim),
            SlotValues::Sparse { dim, .. } => ("sparse", *dim),
            _ => ("text", 0),
        };
        let first = lowland::message::display_path(first);
        let differs = |what: String| FileErrorKind::OtherColumns { what, first: first.clone() };
        if (table.data.kind(), table.data.dim()) != (kind, dim) {
            let what = format!("{} columns ({})", table.data.dim(), table.data.kind());
            return Err(differs(format!("{what} where there are {dim} ({kind})")));
        }
        if let (Some(known), Some(found)) = (&self.columns, &table.columns)
            && let Some(at) = known.iter().zip(found).position(|(known, found)| known != found)
        {
            return Err(differs(format!("column {at} named {:?} where it is {:?}", found[at], known[at])));
        }
        let has = |what: &str, known: bool, found: bool| {
            let what = format!(
                "{}{what} where there are {}",
                if found { "" } else { "no " },
                if known { "some" } else { "none" }
            );
            if known == found { Ok(()) } else { Err(differs(what)) }
        };
        has("ids", self.ids.is_some(), table.ids.is_some())?;
        has("labels", self.labels.is_some(), table.labels.is_some())
    }

    /// Puts row `i` of a block into a slot.
    fn set(&mut self, slot: usize, table: &Table, i: usize) -> Result<()> {
        let is_new = |len: usize| slot >= len;
        match (&mut self.values, &table.data) {
            (SlotValues::Dense { values, dim }, Data::Dense(x)) => {
                if is_new(values.len() / (*dim).max(1)) {
                    self.reserve(x.dim() * size_of::<f32>() + 24)?;
                    let SlotValues::Dense { values, .. } = &mut self.values else { return Ok(()) };
                    values.extend_from_slice(x.row(i));
                } else {
                    values[slot * *dim..(slot + 1) * *dim].copy_from_slice(x.row(i));
                }
            }
            (SlotValues::Sparse { rows, .. }, Data::Sparse(x)) => {
                let row = (x.row(i).0.to_vec(), x.row(i).1.to_vec());
                if is_new(rows.len()) {
                    self.reserve(row.0.len() * 8 + 72)?;
                    let SlotValues::Sparse { rows, .. } = &mut self.values else { return Ok(()) };
                    rows.push(row);
                } else {
                    rows[slot] = row;
                }
            }
            (SlotValues::Text(lines), Data::Text(x)) => {
                if is_new(lines.len()) {
                    self.reserve(x[i].len() + 48)?;
                    let SlotValues::Text(lines) = &mut self.values else { return Ok(()) };
                    lines.push(x[i].clone());
                } else {
                    lines[slot].clone_from(&x[i]);
                }
            }
            _ => {}
        }
        if let (Some(ids), Some(found)) = (&mut self.ids, &table.ids) {
            if slot >= ids.len() {
                ids.push(found[i].clone());
            } else {
                ids[slot].clone_from(&found[i]);
            }
        }
        for (labels, found) in [(&mut self.labels, &table.labels), (&mut self.target, &table.target)] {
            if let (Some(labels), Some(found)) = (labels, found) {
                labels.set(slot, found.name(i));
            }
        }
        Ok(())
    }

    /// Reserves memory for another row of the sample. It stays reserved until the sample is a table, whose owner counts it.
    fn reserve(&self, bytes: usize) -> Result<()> {
        let memory = &self.options.memory;
        let limit = memory.remaining().unwrap_or(u64::MAX);
        if bytes as u64 > limit || !memory.try_reserve(bytes as u64) {
            return Err(FileErrorKind::TooLarge { what: format!("a sample of {} rows", self.capacity), limit });
        }
        Ok(())
    }

    /// Returns the rows with the `count` smallest keys, and the others, in the order of the data set.
    fn finish(self, count: usize) -> Result<(Table, Option<Table>)> {
        if self.rows.is_empty() {
            return Err(FileErrorKind::Empty("all parts are without rows"));
        }
        let drawn = self.drawn.clone().into_sorted_vec();
        let in_order = |slots: &[(u64, usize)]| {
            let mut slots: Vec<usize> = slots.iter().map(|&(_, slot)| slot).collect();
            slots.sort_by_key(|&slot| self.rows[slot]);
            slots
        };
        let (fitted, others) = drawn.split_at(count.min(drawn.len()));
        let held_out = (!others.is_empty()).then(|| self.select(&in_order(others))).transpose()?;
        let table = self.select(&in_order(fitted))?;
        let held = match &self.values {
            SlotValues::Dense { values, .. } => values.len() * 4 + self.rows.len() * 24,
            SlotValues::Sparse { rows, .. } => rows.iter().map(|row| row.0.len() * 8 + 72).sum(),
            SlotValues::Text(lines) => lines.iter().map(|line| line.len() + 48).sum(),
            SlotValues::None => 0,
        };
        self.options.memory.release(held as u64);
        Ok((table, held_out))
    }

    fn select(&self, slots: &[usize]) -> Result<Table> {
        let data = match &self.values {
            SlotValues::Dense { values, dim } => {
                let rows = slots.iter().flat_map(|&slot| &values[slot * dim..(slot + 1) * dim]).copied().collect();
                let offsets = self.options.offsets.clone().filter(|all| all.iter().any(|&offset| offset != 0.0));
                let offsets = offsets.filter(|offsets| offsets.len() == *dim);
                Data::Dense(Dense::shared(Arc::<Vec<f32>>::new(rows), slots.len(), *dim)?.shifted_by(offsets)?)
            }
            SlotValues::Sparse { rows, dim } => {
                let (mut indptr, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
                for &slot in slots {
                    indices.extend_from_slice(&rows[slot].0);
                    values.extend_from_slice(&rows[slot].1);
                    indptr.push(indices.len());
                }
                Data::Sparse(Sparse::new(indptr, indices, values, *dim)?)
            }
            SlotValues::Text(lines) => Data::text(slots.iter().map(|&slot| lines[slot].clone()).collect()),
            SlotValues::None => return Err(FileErrorKind::Empty("all parts are without rows")),
        };
        Ok(Table {
            data,
            labels: self.labels.as_ref().map(|labels| labels.select(slots)),
            target: self.target.as_ref().map(|target| target.select(slots)),
            ids: self.ids.as_ref().map(|ids| slots.iter().map(|&slot| ids[slot].clone()).collect()),
            columns: self.columns.clone(),
            truth: None,
            notes: self.notes.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{WriteOptions, write_table};

    fn parts(folder: &Path) -> Vec<PathBuf> {
        let mut paths = Vec::new();
        for part in 0..4usize {
            let rows = 30 + part;
            let first = part * 100;
            let values = (0..rows * 2).map(|v| (first + v / 2) as f32 + if v % 2 == 1 { 0.5 } else { 0.0 }).collect();
            let mut table = Table::new(Data::dense(values, 2).unwrap());
            table.labels = Some(Labels::new((0..rows).map(|i| (i % 3).to_string())));
            table.columns = Some(vec!["a".into(), "b".into()]);
            paths.push(folder.join(format!("p{part}.csv")));
            write_table(&paths[part], &table, &WriteOptions::default()).unwrap();
        }
        paths
    }

    #[test]
    fn the_sample_depends_on_the_seed_and_not_on_the_blocks() {
        let folder = tempfile::tempdir().unwrap();
        let parts = parts(folder.path());
        let options = ReadOptions { label_column: Some("label".into()), ..Default::default() };
        let draw = |block_rows, seed| sample_rows(&parts, &options, (40, 10), block_rows, Seed(seed)).unwrap();
        let values = |table: &Table| match &table.data {
            Data::Dense(x) => x.values().to_vec(),
            _ => Vec::new(),
        };
        let first = draw(1, 3);
        assert_eq!((first.total, first.table.rows()), (126, 40));
        let held_out = first.held_out.as_ref().unwrap();
        assert_eq!(held_out.rows(), 10);
        for block_rows in [7, 1000] {
            let other = draw(block_rows, 3);
            assert_eq!(values(&other.table), values(&first.table));
            assert_eq!(values(other.held_out.as_ref().unwrap()), values(held_out));
        }
        assert_ne!(values(&draw(7, 4).table), values(&first.table));
        // Rows are in order, none twice, each with its own label.
        let mut rows: Vec<f32> = values(&first.table).chunks(2).map(|row| row[0]).collect();
        assert!(rows.is_sorted_by(|a, b| a < b));
        let labels = first.table.labels.as_ref().unwrap();
        rows.iter().enumerate().for_each(|(i, v)| assert_eq!(labels.name(i), ((*v as usize % 100) % 3).to_string()));
        rows.extend(values(held_out).chunks(2).map(|row| row[0]));
        rows.sort_by(f32::total_cmp);
        rows.dedup();
        assert_eq!(rows.len(), 50);
        // All rows, if there are no more.
        let all = sample_rows(&parts, &options, (usize::MAX, 0), 7, Seed(0)).unwrap();
        assert_eq!((all.table.rows(), all.held_out.is_none()), (126, true));
        let few = ReadOptions { max_rows: Some(35), ..options.clone() };
        assert_eq!(sample_rows(&parts, &few, (usize::MAX, 0), 7, Seed(0)).unwrap().table.rows(), 35);
    }

    #[test]
    fn every_row_is_drawn_about_equally_often() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("p.csv");
        std::fs::write(&path, (0..50).map(|i| format!("{i}\n")).collect::<String>()).unwrap();
        let mut counts = [0usize; 50];
        for seed in 0..400 {
            let drawn =
                sample_rows(std::slice::from_ref(&path), &ReadOptions::default(), (10, 0), 8, Seed(seed)).unwrap();
            let Data::Dense(x) = drawn.table.data else { panic!() };
            x.values().iter().for_each(|&v| counts[v as usize] += 1);
        }
        // 80 each, with a standard deviation of 8.
        assert!(counts.iter().all(|&count| (45..115).contains(&count)), "{counts:?}");
    }

    #[test]
    fn parts_with_other_columns_are_named_and_empty_parts_are_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let mut parts = parts(folder.path());
        let options = ReadOptions { label_column: Some("label".into()), ..Default::default() };
        std::fs::write(&parts[2], "a,b,label\n").unwrap();
        let drawn = sample_rows(&parts, &options, (40, 0), 10, Seed(1)).unwrap();
        assert_eq!((drawn.total, drawn.empty_parts), (94, vec![parts[2].clone()]));
        for (text, expected) in [
            ("a,b,c,label\n1,2,3,x\n", "3 columns (dense) where there are 2"),
            ("a,x,label\n1,2,x\n", "column 1 named \"x\" where it is \"b\""),
        ] {
            std::fs::write(&parts[2], text).unwrap();
            let error = sample_rows(&parts, &options, (40, 0), 10, Seed(1)).unwrap_err().to_string();
            assert!(error.contains("p2.csv: ") && error.contains(expected) && error.contains("p0.csv"), "{error}");
        }
        let columns: Vec<PathBuf> = parts.drain(2..3).collect();
        std::fs::write(&columns[0], "").unwrap();
        assert!(sample_rows(&columns, &options, (4, 0), 10, Seed(1)).unwrap_err().to_string().contains("no rows"));
    }

    #[test]
    fn a_sample_that_does_not_fit_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let parts = parts(folder.path());
        let options = |bytes| ReadOptions {
            label_column: Some("label".into()),
            memory: lowland::MemoryBudget::new(Some(bytes)),
            ..Default::default()
        };
        let error = sample_rows(&parts, &options(3000), (100, 0), 5, Seed(1)).unwrap_err();
        assert!(error.kind.is_too_large() && error.to_string().contains("a sample of 100 rows"), "{error}");
        let enough = options(20_000);
        sample_rows(&parts, &enough, (100, 0), 5, Seed(1)).unwrap();
        assert_eq!(enough.memory.reserved(), 0);
    }
}
