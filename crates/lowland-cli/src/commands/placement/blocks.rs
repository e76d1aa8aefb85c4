//! Places the blocks of one part after the other, while the next block is read.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::mpsc::sync_channel;

use lowland::AnnotatedEmbedding;
use lowland::message::display_path;
use lowland::method::TransformOutput;
use lowland::run::Progress;
use lowland_io::{FileError, FileFormat, MapWriter, ReadOptions, RowBlock, Table, read_blocks, write_map_in_blocks};

use super::record::PartRecord;
use super::{PlaceError, Placement, PlacementSummary, is_empty_part};
use crate::failure::Failure;
use crate::input::check_column_names;
use crate::paths::extension;

/// Name of the column that flags far rows.
const FAR_COLUMN: &str = "far";

/// Places rows block by block.
pub struct BlockPlacer<'a> {
    pub placement: &'a Placement<'a>,
    pub options: ReadOptions,
    pub block_rows: usize,
}

impl BlockPlacer<'_> {
    /// Reads the first row of each part that can be read in blocks: a part with other columns is reported before the work begins.
    pub fn check_first_rows<'p>(&self, parts: impl Iterator<Item = &'p Path>) -> Result<(), Failure> {
        let options = ReadOptions { max_rows: Some(1), ..self.options.clone() };
        for part in parts {
            let reads_all = extension(part) == "gz"
                || matches!(
                    FileFormat::guess(part),
                    Some(FileFormat::Npz | FileFormat::Word2vec | FileFormat::Vectors | FileFormat::Text)
                );
            if reads_all {
                continue;
            }
            let mut checked = Ok(());
            let read = read_blocks(part, &options, 1, &mut |block| {
                checked = self.check_columns(part, &block.table);
                ControlFlow::Break(())
            });
            match read {
                Err(error) if !is_empty_part(&error) => return Err(error.into()),
                _ => checked?,
            }
        }
        Ok(())
    }

    fn check_columns(&self, part: &Path, table: &Table) -> Result<(), Failure> {
        let (model, found) = (self.placement.model, table.data.dim());
        if found != model.n_features() {
            return Err(Failure::input(format!(
                "{}: {found} columns where the model was fitted on {} (a label or id column must be named again)",
                display_path(part),
                model.n_features()
            )));
        }
        check_column_names(model.feature_names(), table.columns.as_deref().unwrap_or_default())
            .map_err(|failure| failure.within(display_path(part)))
    }

    /// Places a part into a file; returns `None` if it has no rows. It is number `done` of `count`.
    pub fn place_part(
        &self,
        part: &Path,
        target: &Path,
        progress: &mut Progress,
        (done, count): (f64, f64),
    ) -> Result<Option<PartRecord>, PlaceError> {
        let mut placed = PartRecord::default();
        let mut is_empty = false;
        let written = write_map_in_blocks(target, &self.placement.write, |writer| {
            let outcome = self.place_blocks(part, writer, &mut placed, &mut || progress(done / count));
            is_empty = placed.rows == 0 && outcome.is_ok();
            if is_empty { Err(PlaceError::Failed(Failure::input("no rows"))) } else { outcome }
        });
        match written {
            _ if is_empty => Ok(None),
            Ok(()) => Ok(Some(placed)),
            Err(error) => Err(error),
        }
    }

    /// Places all parts into one file.
    pub fn place_all(
        &self,
        parts: &[PathBuf],
        target: &Path,
        summary: &mut PlacementSummary,
        progress: &mut Progress,
    ) -> Result<(), PlaceError> {
        write_map_in_blocks(target, &self.placement.write, |writer| {
            for (done, part) in parts.iter().enumerate() {
                let mut placed = PartRecord::default();
                let share = done as f64 / parts.len() as f64;
                self.place_blocks(part, writer, &mut placed, &mut || progress(share))?;
                if placed.rows == 0 {
                    summary.empty_parts.push(part.clone());
                }
                summary.add(&placed);
            }
            Ok(())
        })
    }

    /// Reads the blocks of a part on a thread of their own, and places them.
    fn place_blocks(
        &self,
        part: &Path,
        writer: &mut MapWriter,
        placed: &mut PartRecord,
        progress: &mut dyn FnMut() -> lowland::Result<()>,
    ) -> Result<(), PlaceError> {
        std::thread::scope(|scope| {
            let (sender, blocks) = sync_channel::<RowBlock>(1);
            let reader = scope.spawn(move || {
                let mut send = |block| match sender.send(block) {
                    Ok(()) => ControlFlow::Continue(()),
                    Err(_) => ControlFlow::Break(()),
                };
                read_blocks(part, &self.options, self.block_rows, &mut send)
            });
            for block in &blocks {
                progress().map_err(PlaceError::Stopped)?;
                let map = self.place_block(part, block.table, placed, progress)?;
                writer.write(&map)?;
            }
            drop(blocks);
            match reader.join() {
                Ok(Ok(_)) => Ok(()),
                Ok(Err(error)) if is_empty_part(&error) && placed.rows == 0 => Ok(()),
                Ok(Err(error)) => Err(read_failure(error)),
                Err(_) => Err(Failure::runtime(format!("{}: the reader failed", display_path(part))).into()),
            }
        })
    }

    fn place_block(
        &self,
        part: &Path,
        mut table: Table,
        placed: &mut PartRecord,
        progress: &mut dyn FnMut() -> lowland::Result<()>,
    ) -> Result<AnnotatedEmbedding, PlaceError> {
        let Placement { model, exact, far, .. } = self.placement;
        self.check_columns(part, &table)?;
        let failed = |error| match error {
            error @ lowland::Error::Stopped { .. } => PlaceError::Stopped(error),
            error => Failure::from(error).within(display_path(part)).into(),
        };
        let mut report = |_: f64| progress();
        let output = match exact {
            false => model.transform_with(&table.data, &mut report),
            true => model.transform_exactly_with(&table.data, &mut report),
        };
        let TransformOutput { embedding, std, covariances, .. } = output.map_err(failed)?;
        let (ids, labels) = (table.ids.take(), table.labels.take());
        let mut map = AnnotatedEmbedding { std, covariances, ids, labels, ..embedding.into() };
        if let Some(far) = far {
            let flags = far.find(model, &table.data).map_err(failed)?;
            placed.far_rows += flags.iter().filter(|far| **far).count();
            map.columns.push((FAR_COLUMN.into(), flags.iter().map(bool::to_string).collect()));
        }
        placed.rows += map.rows();
        Ok(map)
    }
}

/// The failure of a part that cannot be read.
fn read_failure(error: FileError) -> PlaceError {
    PlaceError::Failed(error.into())
}
