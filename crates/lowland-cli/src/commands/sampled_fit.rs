//! `embed --fit-rows`: a fit to a sample of a data set, on whose map all rows are placed.

use std::path::PathBuf;

use lowland::message::display_path;
use lowland::{Data, Model};
use lowland_io::Table;
use serde_json::{Value, json};

use super::placement::{self, FarRows, HeldOutScore, Placement, PlacementSummary, fingerprint, score_held_out};
use crate::args::{EmbedArgs, InputArgs, RunArgs};
use crate::console::Console;
use crate::failure::Failure;
use crate::input;

/// What was asked for: the number of rows, the folder for all rows, and the files for the map of the sample.
pub struct SampledFit {
    rows: usize,
    folder: PathBuf,
    pub files: Vec<PathBuf>,
    block_rows: usize,
}

/// What was placed, and how well.
pub struct PlacedRows {
    summary: PlacementSummary,
    folder: PathBuf,
    held_out: Option<HeldOutScore>,
    /// The distance beyond which rows are far, and the share of the rows of the fit that are.
    far: Option<(f32, f64)>,
}

/// Most rows that are held out of the fit to be scored.
const MAX_HELD_OUT: usize = 1000;

impl SampledFit {
    /// Reads the flags; `None` without --fit-rows.
    pub fn new(args: &EmbedArgs) -> Result<Option<Self>, Failure> {
        let (folders, files): (Vec<PathBuf>, Vec<PathBuf>) =
            args.out.iter().cloned().partition(|path| placement::is_folder(path));
        match (args.fit_rows, &folders[..]) {
            (None, []) => Ok(None),
            (None, [folder, ..]) => Err(Failure::flag(format!(
                "--out {}: a folder takes the rows of --fit-rows N, or of `lowland transform`",
                display_path(folder)
            ))),
            (Some(rows), [folder]) => Ok(Some(Self {
                rows: rows as usize,
                folder: folder.clone(),
                files,
                block_rows: args.placement.block_rows.map_or(input::BLOCK_ROWS, |rows| rows as usize),
            })),
            (Some(_), _) => Err(Failure::flag(
                "--fit-rows places all rows into one folder: name it with --out, with a slash at the end (--out placed/)",
            )),
        }
    }

    /// Draws the sample, and rows that are held out.
    pub fn draw(
        &self,
        input: &InputArgs,
        run: &RunArgs,
        console: &mut Console,
    ) -> Result<(Table, Option<Table>), Failure> {
        let held_out = (self.rows / 10).clamp(1, MAX_HELD_OUT);
        input::load_sample(input, run, (self.rows, held_out), self.block_rows, console)
    }

    /// Scores the rows that were held out, and places all rows.
    pub fn place(
        &self,
        args: &EmbedArgs,
        model: &Model,
        fitted: &Data,
        held_out: Option<&Table>,
        run: &RunArgs,
        console: &mut Console,
    ) -> Result<PlacedRows, Failure> {
        let score = match held_out {
            Some(table) => console.run_stage("held-out rows", |_| score_held_out(model, fitted, &table.data))?,
            None => None,
        };
        let far = FarRows::new(model, fitted)?;
        let placement = Placement {
            model,
            fingerprint: fingerprint(&model.to_bytes()),
            input: &args.common.input,
            args: &args.placement,
            write: args.write.options(),
            run,
            exact: false,
            far: far.as_ref(),
        };
        let parts = input::list_parts(&args.common.input)?;
        let summary = placement.place_into_folder(&parts, &self.folder, None, console)?;
        let far = far.as_ref().map(|far| (far.limit, far.fitted_share));
        Ok(PlacedRows { summary, folder: self.folder.clone(), held_out: score, far })
    }
}

impl PlacedRows {
    /// Describes what was placed, in lines of text.
    pub fn summary(&self) -> String {
        let PlacementSummary { parts, placed_parts, rows, far_rows, .. } = &self.summary;
        let mut text = format!("{rows} rows of {placed_parts} of {parts} parts in {}\n", display_path(&self.folder));
        if let Some(HeldOutScore { neighbors, rows, placed, fitted }) = &self.held_out {
            text += &format!(
                "rows that were not in the fit keep {:.1} % of their {neighbors} nearest rows of it ({rows} rows), rows of the fit {:.1} %\n",
                100.0 * placed,
                100.0 * fitted
            );
        }
        if let Some((limit, fitted_share)) = self.far {
            text += &format!(
                "{far_rows} rows ({:.2} %) are farther than {limit:.4} from every row of the fit (column far); of the rows of the fit, {:.2} % are as far from each other\n",
                100.0 * *far_rows as f64 / (*rows).max(1) as f64,
                100.0 * fitted_share
            );
        }
        text
    }

    /// The same for reports.
    pub fn to_json(&self) -> Value {
        let PlacementSummary { parts, earlier_parts, placed_parts, rows, far_rows, empty_parts, stopped } =
            &self.summary;
        json!({
            "folder": self.folder.display().to_string(), "parts": parts, "placed_parts": placed_parts,
            "earlier_parts": earlier_parts, "empty_parts": empty_parts.len(), "rows": rows, "far_rows": far_rows,
            "far_limit": self.far.map(|far| far.0), "fitted_far_share": self.far.map(|far| far.1), "stopped": stopped,
            "held_out": self.held_out.as_ref().map(|score| json!({
                "neighbors": score.neighbors, "rows": score.rows, "placed": score.placed, "fitted": score.fitted,
            })),
        })
    }
}
