//! `lowland neighbors`: computes a neighbor graph, for use with `embed --neighbors`.

use std::process::ExitCode;

use lowland::message::display_path;
use lowland::message::{Note, Remedy};
use lowland::neighbors::{self, NeighborParams, Search};
use lowland::preprocessing::rows_for_metric;

use crate::args::NeighborArgs;
use crate::console::Console;
use crate::failure::Failure;
use crate::input;
use crate::paths::{self, extension};
use crate::print::format_duration;
use crate::usage::Stopwatch;

pub fn neighbors(args: &NeighborArgs) -> Result<ExitCode, Failure> {
    let watch = Stopwatch::start();
    paths::check(&[args.common.input.input.as_path()], &[&args.out])?;
    if extension(&args.out) != "npz" {
        return Err(Failure::flag(format!("--out {}: a neighbor graph is an .npz file", display_path(&args.out))));
    }
    let search = match (args.exact, args.approximate) {
        (true, _) => Search::Exact,
        (_, true) => Search::Approximate,
        _ => Search::Auto,
    };
    let params = NeighborParams {
        n_neighbors: args.n_neighbors,
        metric: args.metric,
        search,
        seed: args.common.run.seed().stream("neighbors"),
    };
    let mut console = Console::new(&args.common.run)?;
    let table = input::load(&args.common.input, &args.common.run, &mut console)?;
    let (steps, shape) = (args.common.preprocessing.steps(), table.data.shape());
    let output = steps.output(shape);
    let search_memory = neighbors::search_memory(output, args.metric, args.n_neighbors, search);
    let prepared = if steps.is_empty() { 0 } else { output.bytes };
    let needed = steps.memory(shape).max(prepared.saturating_add(search_memory)).saturating_add(shape.bytes);
    let total = args.common.run.memory().check("the neighbor search", needed, &SEARCH_REMEDIES)?;
    console.note(&Note::MemoryEstimate { bytes: total });
    let data = args.common.preprocessing.apply(&table.data, &args.common.run)?;
    let data = rows_for_metric(&data, args.metric, None)?;
    let found = console.run_stage("neighbors", |progress| neighbors::nearest_with(&data, &params, progress))?;
    lowland_io::write_graph(&args.out, &found.graph).map_err(Failure::write)?;
    console.finish();
    let recall = found.recall.map_or(String::new(), |recall| {
        format!(", recall {:.4} measured on {} rows", recall.value, recall.sampled_rows)
    });
    console.info(&format!(
        "{} neighbors of {} rows by {}{recall}: {} in {}",
        args.n_neighbors,
        found.graph.rows(),
        found.algorithm,
        display_path(&args.out),
        format_duration(watch.elapsed().wall_seconds)
    ));
    Ok(ExitCode::SUCCESS)
}

/// What to do if a neighbor search needs too much memory.
pub const SEARCH_REMEDIES: [Remedy; 3] = [Remedy::RaiseMaxMemory, Remedy::FewerRows, Remedy::FewerNeighbors];
