//! Smallest nontrivial eigenvectors of the normalized Laplacian of the graph of 15 exact nearest neighbors (symmetrized by
//! union, all weights one), and other operations on such a graph.
//!
//! The graph is stored in the file that the environment variable `GRAPH` names, if it is set, for later cases and the peers.

use std::path::PathBuf;

use anyhow::Result;
use lowland::data::{Data, Dense, Metric, Seed};
use lowland::neighbors::{NeighborGraph, NeighborParams, Search, nearest};
use lowland_bench::{Measurement, ResourceUsage, timed, value};
use lowland_linalg::{Csr, Eigenpairs, LaplacianKind, block};
use lowland_neighbors::graph::{
    ConnectedComponents, SpectralCoordinates, Symmetrization, edge_lengths, minimum_spanning_forest, mutual_reach,
    symmetrize, undirected_edges,
};
use serde_json::json;

const CASES: [&str; 12] = [
    "search graph",
    "symmetrize graph",
    "tree graph",
    "reach=1 graph",
    "reach=2 graph",
    "reach=3 graph",
    "d=2 tolerance=1e-3",
    "d=2 tolerance=1e-2",
    "d=2 tolerance=1e-9",
    "d=6 tolerance=1e-3",
    "d=6 tolerance=1e-2",
    "d=6 tolerance=1e-9",
];

/// Tolerance of the solution that others are compared with.
const FINEST: f64 = 1e-9;

fn main() -> Result<()> {
    lowland_bench::main(&CASES, measure)
}

fn measure(rows: &Dense, [setting, way]: [&str; 2]) -> Result<Measurement> {
    if setting == "search" {
        let (graph, used) = search(rows)?;
        return Ok(Measurement { used, found: json!({ "edges": graph.indices().len() }) });
    }
    let directed = edge_lengths(&graph(rows)?)?;
    if way == "graph" {
        edge_operation(&directed, setting)
    } else {
        eigenvectors(&directed, value(setting)?, value(way)?)
    }
}

/// Computes the graph and stores it in the file.
fn search(rows: &Dense) -> Result<(NeighborGraph, ResourceUsage)> {
    let params = NeighborParams { n_neighbors: 15, metric: Metric::Euclidean, search: Search::Exact, seed: Seed(0) };
    let data = Data::Dense(rows.clone());
    let (found, used) = timed(|| nearest(&data, &params))?;
    if let Some(path) = graph_path() {
        lowland_io::write_graph(&path, &found.graph)?;
    }
    Ok((found.graph, used))
}

/// Reads the graph from the file, or computes it.
fn graph(rows: &Dense) -> Result<NeighborGraph> {
    match graph_path().filter(|path| path.exists()) {
        Some(path) => Ok(lowland_io::read_graph(&path)?),
        None => Ok(search(rows)?.0),
    }
}

fn graph_path() -> Option<PathBuf> {
    std::env::var_os("GRAPH").map(PathBuf::from)
}

/// Measures an operation on the edges of the graph.
fn edge_operation(directed: &Csr, task: &str) -> Result<Measurement> {
    if task == "symmetrize" {
        let (weights, used) = timed(|| symmetrize(directed, Symmetrization::Union))?;
        let components = ConnectedComponents::from_matrix(&weights).count();
        return Ok(Measurement { used, found: json!({ "links": weights.entries(), "components": components }) });
    }
    let (tree, used) = timed(|| minimum_spanning_forest(directed.rows(), undirected_edges(directed)))?;
    if task == "tree" {
        return Ok(Measurement { used, found: json!({ "edges": tree.len() }) });
    }
    let steps = value(task)?;
    let (kept, used) = timed(|| mutual_reach(directed, &tree, steps))?;
    Ok(Measurement { used, found: json!({ "kept": kept.entries(), "of": directed.entries() }) })
}

fn eigenvectors(directed: &Csr, dimensions: usize, tolerance: f64) -> Result<Measurement> {
    let mut weights = symmetrize(directed, Symmetrization::Union)?;
    weights.values_mut().fill(1.0);
    let solve = |tolerance| -> lowland::Result<Eigenpairs> {
        SpectralCoordinates::new(&weights, LaplacianKind::Normalized, dimensions, tolerance, Seed(0))?
            .run(&mut |_| Ok(()))
    };
    let (found, used) = timed(|| solve(tolerance))?;
    let finest = solve(FINEST)?;
    let residual = found.report.residuals.iter().zip(&found.values).map(|(r, v)| r / v).fold(0.0, f64::max);
    let found = json!({
        "iterations": found.report.iterations,
        "converged": found.report.converged,
        "residual": residual,
        "angle to the finest": largest_angle(&found.vectors, &finest.vectors, dimensions),
        "smallest": found.values[0],
    });
    Ok(Measurement { used, found })
}

/// Returns the largest angle between a vector and its counterpart in radians, which for small angles is the length of the
/// difference of the unit vectors.
fn largest_angle(a: &[f64], b: &[f64], columns: usize) -> f64 {
    let difference: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
    block::column_dots(&difference, &difference, columns).into_iter().map(f64::sqrt).fold(0.0, f64::max)
}
