//! Records of what has been placed, in the hidden folder `.lowland` of the output: a run that is started again continues.

use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use lowland::message::display_path;
use serde_json::{Value, json};

use super::Placement;
use crate::failure::Failure;

/// The name of the folder with the records.
const FOLDER: &str = ".lowland";
/// The name of the record of the run.
const RUN: &str = "run.json";

/// The records of an output folder.
pub struct RunRecord {
    folder: PathBuf,
}

/// What was placed of a part.
#[derive(Debug, Clone, Copy, Default)]
pub struct PartRecord {
    pub rows: usize,
    pub far_rows: usize,
}

/// FNV-1a, which identifies a model.
pub fn fingerprint(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

impl RunRecord {
    /// Creates the folder, or continues a run with the same model and flags.
    pub fn open(output: &Path, placement: &Placement) -> Result<Self, Failure> {
        let folder = output.join(FOLDER);
        std::fs::create_dir_all(&folder)
            .map_err(|error| Failure::runtime(format!("{}: {error}", display_path(&folder))))?;
        let read = &placement.input.read;
        let run = json!({
            "model": format!("{:016x}", placement.fingerprint),
            "label_column": read.label_column,
            "id_column": read.id_column,
            "key": read.key,
            "format": read.format,
            "header": read.header as u8,
            "missing": read.missing as u8,
            "max_rows": read.max_rows,
            "escape_formulas": placement.write.escape_formulas,
            "exact": placement.exact,
            "far": placement.far.is_some(),
        });
        let path = folder.join(RUN);
        match read_json(&path) {
            Some(earlier) if earlier != run => {
                let which = if earlier["model"] == run["model"] { "other flags" } else { "another model" };
                Err(Failure::flag(format!(
                    "--out {}: an earlier run placed parts there with {which}; choose another folder, or delete this one",
                    display_path(output)
                )))
            }
            Some(_) => Ok(Self { folder }),
            None => {
                lowland_io::write_bytes(&path, run.to_string().as_bytes()).map_err(Failure::write)?;
                Ok(Self { folder })
            }
        }
    }

    fn path(&self, target: &Path) -> PathBuf {
        let mut name = target.file_name().unwrap_or_default().to_os_string();
        name.push(".json");
        self.folder.join(name)
    }

    /// Returns the record of a part if it has been placed, neither the part nor the result having changed since.
    pub fn find(&self, part: &Path, target: &Path) -> Option<PartRecord> {
        let record = read_json(&self.path(target))?;
        let count = |name: &str| record[name].as_u64().map(|count| count as usize);
        let is_current = record["part"] == describe(part)? && record["target"] == describe(target)?["bytes"];
        is_current.then_some(PartRecord { rows: count("rows")?, far_rows: count("far_rows")? })
    }

    /// Records that a part has been placed.
    pub fn add(&self, part: &Path, target: &Path, placed: &PartRecord) -> Result<(), Failure> {
        let (Some(about_part), Some(about_target)) = (describe(part), describe(target)) else { return Ok(()) };
        let record = json!({
            "part": about_part, "target": about_target["bytes"], "rows": placed.rows, "far_rows": placed.far_rows,
        });
        lowland_io::write_bytes(&self.path(target), record.to_string().as_bytes()).map_err(Failure::write)
    }
}

fn read_json(path: &Path) -> Option<Value> {
    serde_json::from_slice(&std::fs::read(path).ok()?).ok()
}

/// Name, size and time of the last change of a file.
fn describe(path: &Path) -> Option<Value> {
    let about = std::fs::metadata(path).ok()?;
    let changed = about.modified().ok()?.duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos() as u64);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    Some(json!({ "name": name, "bytes": about.len(), "changed": changed }))
}
