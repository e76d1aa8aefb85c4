//! `lowland combine`: union and intersection of neighbor graphs over the same rows.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use lowland::message::{Remedy, display_path};
use lowland::neighbors::{NeighborGraph, combine_graphs};

use crate::args::CombineArgs;
use crate::console::Console;
use crate::failure::Failure;
use crate::paths::{self, extension};

/// Bytes of an edge while graphs are combined: memberships, their transpose and the result, in both directions.
const EDGE_BYTES: u64 = 120;

pub fn combine(args: &CombineArgs) -> Result<ExitCode, Failure> {
    let inputs: Vec<&Path> = args.graphs.iter().map(PathBuf::as_path).collect();
    paths::check(&inputs, &[&args.out])?;
    if extension(&args.out) != "npz" {
        return Err(Failure::flag(format!("--out {}: a neighbor graph is an .npz file", display_path(&args.out))));
    }
    let memory = args.run.memory();
    let read = |path: &PathBuf| lowland_io::read_graph_within(path, memory);
    let graphs = args.graphs.iter().map(read).collect::<Result<Vec<NeighborGraph>, _>>()?;
    if let Some(other) = graphs.iter().position(|graph| graph.rows() != graphs[0].rows()) {
        return Err(Failure::input(format!(
            "{} has {} rows and {} has {}; graphs of the same rows can be combined",
            display_path(&args.graphs[0]),
            graphs[0].rows(),
            display_path(&args.graphs[other]),
            graphs[other].rows()
        )));
    }
    let edges: u64 = graphs.iter().map(|graph| graph.indices().len() as u64).sum();
    memory.check("the combined graph", edges.saturating_mul(EDGE_BYTES), &[Remedy::RaiseMaxMemory])?;
    let mut console = Console::new(&args.run)?;
    let graphs: Vec<&NeighborGraph> = graphs.iter().collect();
    let combined = combine_graphs(&graphs, args.how, args.weight)?;
    lowland_io::write_graph(&args.out, &combined).map_err(Failure::write)?;
    console.finish();
    let (rows, edges) = (combined.rows(), combined.indices().len());
    console.info(&format!("{edges} edges between {rows} rows: {}", display_path(&args.out)));
    Ok(ExitCode::SUCCESS)
}
