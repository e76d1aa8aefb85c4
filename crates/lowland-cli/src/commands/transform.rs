//! `lowland transform`: places new rows on the map of a saved model.

use std::path::Path;
use std::process::ExitCode;

use lowland::message::display_path;
use lowland::method::TransformOutput;
use lowland::{AnnotatedEmbedding, MemoryBudget, Model};
use lowland_view::Density;

use super::figure::{Figure, FigureMap};
use super::output_log::OutputLog;
use super::outputs::Outputs;
use crate::args::{PictureArgs, TransformArgs};
use crate::console::Console;
use crate::failure::Failure;
use crate::input;
use crate::paths::{self, file_name};

pub fn transform(args: &TransformArgs) -> Result<ExitCode, Failure> {
    let outputs = Outputs::with_map(&args.out, &args.input.input, &args.run)?;
    paths::check(&[&args.model, args.input.input.as_path()], &outputs.files().collect::<Vec<_>>())?;
    let model = read_model(&args.model, args.run.memory())?;
    let mut console = Console::new(&args.run)?;
    let mut table = input::load_new_rows(&args.input, &model, &args.run, &mut console)?;
    let TransformOutput { embedding, std, covariances, .. } =
        console.run_stage("transform", |progress| model.transform_with(&table.data, progress))?;
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

/// Reads a model written by `embed --save`.
pub fn read_model(path: &Path, memory: &MemoryBudget) -> Result<Model, Failure> {
    let bytes = lowland_io::read_bytes(path, memory)?;
    // What the model holds is what the file holds.
    memory.reserve(bytes.len() as u64);
    Model::from_bytes(&bytes).map_err(|error| Failure::from(error).within(display_path(path)))
}
