//! `lowland transform`: places new rows on the map of a saved model.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use lowland::message::display_path;
use lowland::method::TransformOutput;
use lowland::{AnnotatedEmbedding, MemoryBudget, Model};
use lowland_view::Density;
use serde_json::json;

use super::figure::{Figure, FigureMap};
use super::output_log::OutputLog;
use super::outputs::{MAP_EXTENSIONS, Outputs};
use super::placement::{self, Placement, PlacementSummary};
use crate::args::{PictureArgs, TransformArgs};
use crate::console::Console;
use crate::failure::Failure;
use crate::input;
use crate::paths::{self, extension, file_name};
use crate::print::print_json;

pub fn transform(args: &TransformArgs) -> Result<ExitCode, Failure> {
    let folder = args.out.iter().find(|path| placement::is_folder(path));
    if folder.is_some() || args.shard.is_some() || placement::is_data_set(&args.input.input) {
        return transform_parts(args, folder);
    }
    let outputs = Outputs::with_map(&args.out, &args.input.input, &args.run)?;
    paths::check(&[&args.model, args.input.input.as_path()], &outputs.files().collect::<Vec<_>>())?;
    let model = read_model(&args.model, args.run.memory())?;
    let mut console = Console::new(&args.run)?;
    let mut table = input::load_new_rows(&args.input, &model, &args.run, &mut console)?;
    let TransformOutput { embedding, std, covariances, .. } =
        console.run_stage("transform", |progress| match args.exact {
            false => model.transform_with(&table.data, progress),
            true => model.transform_exactly_with(&table.data, progress),
        })?;
    let (ids, labels) = (table.ids.take(), table.labels.take());
    let map = AnnotatedEmbedding { std, covariances, ids, labels, ..embedding.into() };
    let mut log = OutputLog::default();
    outputs.write_map(&map, &args.write.options(), &mut log);
    let caption = format!("{} rows placed on a map of {}", map.rows(), model.embedding().rows());
    let figure = Figure {
        maps: vec![FigureMap { name: model.method().name().into(), caption: caption.clone(), map }],
        data: Some(table),
        title: file_name(&args.input.input),
        caption,
        ..Figure::default()
    };
    let style = PictureArgs::default();
    outputs.write_figure(&figure, &style, Density::Auto, None, &args.run, &mut console, &mut log);
    log.finish(&mut console)?;
    Ok(ExitCode::SUCCESS)
}

/// Places the parts of a data set: each into a file of its own in `folder`, or all into one file.
fn transform_parts(args: &TransformArgs, folder: Option<&PathBuf>) -> Result<ExitCode, Failure> {
    let parts = input::list_parts(&args.input)?;
    let [out] = &args.out[..] else {
        return Err(Failure::flag(
            "several files are placed into a folder (--out placed/), or into one file (--out all.parquet); give one --out",
        ));
    };
    if folder.is_none() {
        let is_map = MAP_EXTENSIONS.contains(&extension(out).as_str());
        if !is_map || args.shard.is_some() {
            return Err(Failure::flag(format!(
                "--out {}: {}; end the name of a folder with a slash",
                display_path(out),
                if is_map {
                    "shards are placed into a folder"
                } else {
                    "several files are placed into a folder or a table"
                },
            )));
        }
        let inputs: Vec<&Path> = parts.iter().map(PathBuf::as_path).chain([args.model.as_path()]).collect();
        paths::check(&inputs, &[out])?;
    }
    let bytes = lowland_io::read_bytes(&args.model, args.run.memory())?;
    let fingerprint = placement::fingerprint(&bytes);
    let model = model_from_bytes(&args.model, bytes, args.run.memory())?;
    let mut console = Console::new(&args.run)?;
    let place = Placement {
        model: &model,
        fingerprint,
        input: &args.input,
        args: &args.placement,
        write: args.write.options(),
        run: &args.run,
        exact: args.exact,
        far: None,
    };
    let summary = match folder {
        Some(folder) => place.place_into_folder(&parts, folder, args.shard, &mut console)?,
        None => place.place_into_file(&parts, out, &mut console)?,
    };
    report_placement(&summary, out, &mut console);
    Ok(console.exit_code())
}

/// Says what was placed.
pub fn report_placement(summary: &PlacementSummary, out: &Path, console: &mut Console) {
    let PlacementSummary { parts, earlier_parts, placed_parts, rows, far_rows, .. } = summary;
    let earlier =
        if *earlier_parts > 0 { format!(", {earlier_parts} of them by an earlier run") } else { String::new() };
    let ending = if summary.stopped { "; stopped: the same command continues with the others" } else { "" };
    console.info(&format!("{placed_parts} of {parts} parts{earlier}, {rows} rows: {}{ending}", display_path(out)));
    if console.is_json() {
        print_json(&json!({
            "event": "placed", "out": out.display().to_string(), "parts": parts, "placed_parts": placed_parts,
            "earlier_parts": earlier_parts, "empty_parts": summary.empty_parts.len(), "rows": rows, "far_rows": far_rows,
            "stopped": summary.stopped,
        }));
    }
}

/// Reads a model written by `embed --save`.
pub fn read_model(path: &Path, memory: &MemoryBudget) -> Result<Model, Failure> {
    model_from_bytes(path, lowland_io::read_bytes(path, memory)?, memory)
}

fn model_from_bytes(path: &Path, bytes: Vec<u8>, memory: &MemoryBudget) -> Result<Model, Failure> {
    // What the model holds is what the file holds.
    memory.reserve(bytes.len() as u64);
    Model::from_bytes(&bytes).map_err(|error| Failure::from(error).within(display_path(path)))
}
