//! Places the rows of a data set of several files on the map of a model: block by block, part by part, in bounded memory.
//!
//! Each part is written atomically, together with a record of what it was made of: a run that was stopped continues where it stopped, and
//! several processes can each place a share of the parts into the same folder.

mod blocks;
mod far_rows;
mod held_out;
mod record;

use std::path::{Path, PathBuf};

use lowland::Model;
use lowland::message::{Remedy, display_path};
use lowland_io::{FileErrorKind, FileFormat, ReadOptions, WriteOptions};

use self::blocks::BlockPlacer;
use self::record::{PartRecord, RunRecord};
use super::outputs::MAP_EXTENSIONS;
use crate::args::{InputArgs, PlacementArgs, RunArgs, Shard};
use crate::console::Console;
use crate::failure::Failure;
use crate::input;
use crate::paths::extension;

pub use far_rows::FarRows;
pub use held_out::{HeldOutScore, score_held_out};
pub use record::fingerprint;

/// What is placed, and how.
pub struct Placement<'a> {
    pub model: &'a Model,
    /// Identifies the model.
    pub fingerprint: u64,
    pub input: &'a InputArgs,
    pub args: &'a PlacementArgs,
    pub write: WriteOptions,
    pub run: &'a RunArgs,
    /// Without an index and interpolation.
    pub exact: bool,
    /// Flags rows that are far from the rows of the fit.
    pub far: Option<&'a FarRows>,
}

/// What was placed, by this run and earlier ones.
#[derive(Debug, Default)]
pub struct PlacementSummary {
    pub parts: usize,
    /// Parts that an earlier run had placed.
    pub earlier_parts: usize,
    /// Parts that have been placed.
    pub placed_parts: usize,
    pub rows: usize,
    pub far_rows: usize,
    pub empty_parts: Vec<PathBuf>,
    /// Whether the run was stopped before all parts were placed.
    pub stopped: bool,
}

/// Whether an output is a folder: it is one, or its name ends like one.
pub fn is_folder(path: &Path) -> bool {
    path.is_dir() || path.as_os_str().as_encoded_bytes().ends_with(b"/")
}

/// Whether an input is a folder or a pattern.
pub fn is_data_set(path: &Path) -> bool {
    !input::is_builtin(path) && (path.is_dir() || lowland_io::is_pattern(path))
}

/// Number of rows of a block, by default about this many bytes.
const BLOCK_BYTES: usize = 64 << 20;
/// Bytes of a row besides its values while it is placed: neighbors, affinities, coordinates.
const ROW_BYTES: usize = 6000;
/// Copies of the values of a block: being read, waiting, being placed, preprocessed.
const BLOCK_COPIES: usize = 4;
/// Rows that are held until they are written, of Parquet.
const HELD_ROWS: usize = 1 << 20;

impl Placement<'_> {
    fn row_bytes(&self) -> usize {
        BLOCK_COPIES * self.model.n_features() * size_of::<f32>() + ROW_BYTES
    }

    /// Number of rows of a block: as given, or by their size, and fewer if the memory is small.
    fn block_rows(&self) -> Result<usize, Failure> {
        let memory = self.run.memory();
        let held = (HELD_ROWS * (self.model.embedding().dim() * 8 + 32)) as u64;
        let needed = |rows: usize| held + (rows * self.row_bytes()) as u64;
        if let Some(rows) = self.args.block_rows {
            memory.check(
                "placing rows",
                needed(rows as usize),
                &[Remedy::RaiseMaxMemory, Remedy::Other("use smaller blocks (--block-rows)")],
            )?;
            return Ok(rows as usize);
        }
        let mut rows = (BLOCK_BYTES / self.row_bytes()).clamp(1024, 1 << 16);
        while rows > 256 && memory.check("placing rows", needed(rows), &[]).is_err() {
            rows /= 2;
        }
        memory.check("placing rows", needed(rows), &[Remedy::RaiseMaxMemory])?;
        Ok(rows)
    }

    fn placer(&self, parts: &[PathBuf], console: &mut Console) -> Result<BlockPlacer<'_>, Failure> {
        let (rows, options) = (self.block_rows()?, self.read_options()?);
        // A part that cannot be read is an error when it is its turn.
        let pages = parts.iter().filter_map(|part| lowland_io::reader_memory(part, &options).ok()).max().unwrap_or(0);
        let format = lowland::data::format_bytes;
        let blocks = (rows * self.row_bytes()) as u64 + pages;
        let held = (HELD_ROWS * (self.model.embedding().dim() * 8 + 32)) as u64;
        // What is there by now: the program, the model, and the rows of the fit.
        let model = self.run.memory().reserved().max(lowland::resident_memory());
        console.info(&format!(
            "memory: {} for the model and the program, {} for blocks of {rows} rows, up to {} for rows to be written: {} in all",
            format(model),
            format(blocks),
            format(held),
            format(model + blocks + held)
        ));
        Ok(BlockPlacer { placement: self, options, block_rows: rows })
    }

    fn read_options(&self) -> Result<ReadOptions, Failure> {
        input::new_row_options(&self.input.read, self.model, self.run)
    }

    /// Places each part into a file of the same name in `folder`.
    pub fn place_into_folder(
        &self,
        parts: &[PathBuf],
        folder: &Path,
        shard: Option<Shard>,
        console: &mut Console,
    ) -> Result<PlacementSummary, Failure> {
        let targets = self.targets(parts, folder)?;
        let placer = self.placer(parts, console)?;
        let record = RunRecord::open(folder, self)?;
        let mine: Vec<usize> = (0..parts.len()).filter(|&at| shard.is_none_or(|shard| shard.contains(at))).collect();
        let mut summary = PlacementSummary { parts: mine.len(), ..Default::default() };
        let mut open = Vec::new();
        for &at in &mine {
            match record.find(&parts[at], &targets[at]) {
                Some(found) => summary.add_earlier(&found),
                None => open.push(at),
            }
        }
        placer.check_first_rows(open.iter().map(|&at| parts[at].as_path()))?;
        console.keep_map_on_stop();
        let (mut failure, count) = (None, open.len());
        let stage = console.run_stage("placing", |progress| {
            for (done, &at) in open.iter().enumerate() {
                progress(done as f64 / count as f64)?;
                match placer.place_part(&parts[at], &targets[at], progress, (done as f64, count as f64)) {
                    Ok(Some(placed)) => {
                        summary.add(&placed);
                        if let Err(error) = record.add(&parts[at], &targets[at], &placed) {
                            failure = Some(error);
                            break;
                        }
                    }
                    Ok(None) => summary.empty_parts.push(parts[at].clone()),
                    Err(PlaceError::Stopped(error)) => return Err(error),
                    Err(PlaceError::Failed(error)) => {
                        failure = Some(error);
                        break;
                    }
                }
            }
            Ok(())
        });
        console.finish();
        summary.stopped = match stage {
            Ok(()) => false,
            Err(lowland::Error::Stopped { .. }) => true,
            Err(error) => return Err(error.into()),
        };
        for part in &summary.empty_parts {
            console.warn(&format!("{}: no rows; the part is left out", display_path(part)));
        }
        match failure {
            Some(failure) => Err(failure.with_advice(&format!(
                "{} of {} parts are in {}; the same command continues with the others",
                summary.placed_parts,
                summary.parts,
                display_path(folder)
            ))),
            None => Ok(summary),
        }
    }

    /// Places all parts into one file.
    pub fn place_into_file(
        &self,
        parts: &[PathBuf],
        path: &Path,
        console: &mut Console,
    ) -> Result<PlacementSummary, Failure> {
        let placer = self.placer(parts, console)?;
        placer.check_first_rows(parts.iter().map(PathBuf::as_path))?;
        let mut summary = PlacementSummary { parts: parts.len(), ..Default::default() };
        let mut failure = None;
        let stage =
            console.run_stage("placing", |progress| match placer.place_all(parts, path, &mut summary, progress) {
                Ok(()) => Ok(()),
                Err(PlaceError::Stopped(error)) => Err(error),
                Err(PlaceError::Failed(error)) => {
                    failure = Some(error);
                    Ok(())
                }
            });
        console.finish();
        stage?;
        failure.map_or(Ok(summary), Err)
    }

    /// The file of each part in `folder`.
    fn targets(&self, parts: &[PathBuf], folder: &Path) -> Result<Vec<PathBuf>, Failure> {
        let target = |part: &PathBuf| {
            let unpacked = if extension(part) == "gz" { part.with_extension("") } else { part.clone() };
            let own = extension(&unpacked);
            let ending =
                self.args.part_format.clone().unwrap_or_else(|| {
                    if MAP_EXTENSIONS.contains(&own.as_str()) { own.clone() } else { "parquet".into() }
                });
            let known = FileFormat::guess(&unpacked).is_some();
            let name = if known { unpacked.file_stem() } else { unpacked.file_name() };
            let mut name = name.unwrap_or_default().to_os_string();
            name.push(".");
            name.push(ending);
            folder.join(name)
        };
        let targets: Vec<PathBuf> = parts.iter().map(target).collect();
        let mut sorted: Vec<(&PathBuf, &PathBuf)> = targets.iter().zip(parts).collect();
        sorted.sort();
        if let Some(&[a, b]) = sorted.windows(2).find(|pair| pair[0].0 == pair[1].0).and_then(|pair| pair.first_chunk())
        {
            return Err(Failure::flag(format!(
                "{} and {} would both be written to {}; rename one, or place them separately",
                display_path(a.1),
                display_path(b.1),
                display_path(a.0)
            )));
        }
        if let Some((target, part)) = sorted.iter().find(|(target, part)| crate::paths::is_same_file(target, part)) {
            return Err(Failure::flag(format!(
                "{} would replace the part {}; choose another folder",
                display_path(target),
                display_path(part)
            )));
        }
        Ok(targets)
    }
}

/// Why the placement of a part ended early.
enum PlaceError {
    /// The user stopped the run.
    Stopped(lowland::Error),
    Failed(Failure),
}

impl From<Failure> for PlaceError {
    fn from(failure: Failure) -> Self {
        PlaceError::Failed(failure)
    }
}

impl From<lowland_io::FileError> for PlaceError {
    fn from(error: lowland_io::FileError) -> Self {
        // A file that is written: those that are read are reported where they are read.
        PlaceError::Failed(Failure::write(error))
    }
}

/// Whether a part cannot be read because it has no rows.
fn is_empty_part(error: &lowland_io::FileError) -> bool {
    matches!(error.kind, FileErrorKind::Empty(_))
}

impl PlacementSummary {
    fn add(&mut self, part: &PartRecord) {
        self.placed_parts += 1;
        self.rows += part.rows;
        self.far_rows += part.far_rows;
    }

    fn add_earlier(&mut self, part: &PartRecord) {
        self.add(part);
        self.earlier_parts += 1;
    }
}
