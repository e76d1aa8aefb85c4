//! Searches for nearest neighbors once and fits several methods to the same graph.
//!
//! ```sh
//! cargo run --release --example precomputed_neighbors
//! ```
#![allow(clippy::print_stdout)]

use lowland::methods::{Lvm, Spectral};
use lowland::neighbors::{NeighborGraph, NeighborParams, nearest, nearest_points};
use lowland::quality::knn_recall;
use lowland::{Data, FitOptions, Metric, Result, Seed};

const NEIGHBORS: usize = 15;

fn main() -> Result<()> {
    let data = Data::dense(Seed(1).normals(400 * 4).into_iter().map(|v| v as f32).collect(), 4)?;

    // Small data are searched exactly; larger data approximately, and then `recall` says how well.
    let found = nearest(&data, &NeighborParams { n_neighbors: NEIGHBORS, ..NeighborParams::default() })?;
    println!("{}: recall {:?}", found.algorithm, found.recall);
    let graph = &found.graph;

    // Methods use the nearest of the neighbors in the graph, as many as they need.
    let options = || FitOptions { neighbors: Some(graph), ..FitOptions::default() };
    let lvm = Lvm { n_neighbors: NEIGHBORS, ..Lvm::default() }.fit_with(&data, options())?;
    let spectral = Spectral { n_neighbors: 10, ..Spectral::default() }.fit_with(&data, options())?;

    // The same graph serves to score both embeddings.
    for model in [&lvm, &spectral] {
        let kept = knn_recall(graph, &nearest_points(model.embedding().points(), NEIGHBORS)?, NEIGHBORS)?;
        println!("{} keeps {:.0} % of the neighbors", model.method().name(), 100.0 * kept);
        assert!(kept > 0.1);
    }

    // The result is the same as if the method had searched for itself.
    let own_search = Lvm { n_neighbors: NEIGHBORS, ..Lvm::default() }.fit(&data)?;
    assert_eq!(lvm.embedding(), own_search.embedding());

    // Neighbors from elsewhere, such as a search index, are given as arrays: `NEIGHBORS` of each row, laid end to end.
    let (indices, distances) = (graph.indices().to_vec(), graph.distances().to_vec());
    let imported = NeighborGraph::uniform(NEIGHBORS, indices, distances, data.rows(), Metric::Euclidean)?;
    assert_eq!(&imported, graph);
    Ok(())
}
