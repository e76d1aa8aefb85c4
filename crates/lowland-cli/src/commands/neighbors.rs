//! `lowland neighbors`: the graph, computed once.

use std::path::Path;
use std::process::ExitCode;

use lowland::neighbors::{self, NeighborParams, Search};

use crate::args::NeighborArgs;
use crate::failure::Failure;
use crate::input;
use crate::observer::{Console, duration};
use crate::paths;
use crate::usage::Stopwatch;

pub fn neighbors(args: &NeighborArgs) -> Result<ExitCode, Failure> {
    let watch = Stopwatch::start();
    paths::check(&[Path::new(&args.input.input)], &[&args.out])?;
    if args.out.extension().is_none_or(|ending| ending != "npz") {
        return Err(Failure::flag(format!("--out {}: a neighbour graph is an .npz file", args.out.display())));
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
        seed: args.run.seed().stream("neighbors"),
    };
    let mut console = Console::new(&args.run)?;
    let table = input::load(&args.input, &args.run, &mut console)?;
    let steps = args.prepare.steps();
    let shape = table.data.shape();
    let searched = steps.output(shape);
    let parts =
        [shape.bytes, steps.memory(shape), neighbors::search_memory(searched, args.metric, args.n_neighbors, search)];
    let needed = parts.into_iter().fold(0, u64::saturating_add);
    console.note(&format!("memory: about {}", lowland::points::bytes(needed)));
    if let Some(limit) = args.memory.limit().filter(|&limit| needed > limit) {
        let remedy = "Raise --max-memory, or use fewer rows or neighbours";
        return Err(lowland::Error::Memory { what: "the search".into(), needed, limit, remedy }.into());
    }
    let found = lowland::with_threads(args.run.threads(), || {
        let data = args.prepare.apply(&table.data, &args.run)?;
        let found = console.progress("neighbours", |progress| neighbors::nearest_with(&data, &params, progress));
        found.map_err(Failure::from)
    })??;
    lowland_io::write_graph(&args.out, &found.graph).map_err(Failure::write)?;
    console.finish();
    let recall = found.recall.map_or(String::new(), |recall| {
        format!(", recall {:.4} measured on {} rows", recall.value, recall.sampled_rows)
    });
    console.note(&format!(
        "{} neighbours of {} rows by {}{recall}: {} in {}",
        args.n_neighbors,
        found.graph.rows(),
        found.algorithm,
        args.out.display(),
        duration(watch.used().wall_seconds)
    ));
    Ok(ExitCode::SUCCESS)
}
