//! `bench-spectral INDICES.npy DISTANCES.npy [THREADS]`: bottom non-trivial eigenvectors of the normalised Laplacian of a
//! neighbour graph (n x k, the point itself not among its neighbours), union-symmetrised, all weights one.
//! `peers.py` does the same with scipy and umap-learn.
#![allow(clippy::print_stdout)]

mod clock;

use std::fs::File;
use std::io::BufReader;

use anyhow::{Context, Result, ensure};
use clock::Clock;
use lowland::graph::{
    Components, SpectralCoordinates, Symmetrize, edges_of, lengths, minimum_spanning_forest, mutual_reach, symmetrize,
};
use lowland::linalg::{LaplacianKind, block};
use lowland::neighbors::NeighborGraph;
use lowland::{Metric, Seed, with_threads};

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    ensure!(arguments.len() >= 2, "usage: bench-spectral INDICES.npy DISTANCES.npy [THREADS]");
    let threads = arguments.get(2).map(|t| t.parse()).transpose()?;
    let (indices, shape) = read::<u32>(&arguments[0])?;
    let (distances, _) = read::<f32>(&arguments[1])?;
    let (n, k) = (shape[0], shape[1]);
    let graph = NeighborGraph::uniform(k, indices, distances, n, Metric::Euclidean)?;
    with_threads(threads, || -> Result<()> {
        let clock = Clock::start();
        let directed = lengths(&graph)?;
        let mut weights = symmetrize(&directed, Symmetrize::Union)?;
        weights.values_mut().fill(1.0);
        let parts = Components::of_matrix(&weights).count();
        println!("{n} points, {} links, {parts} component(s); symmetrised in {}", weights.entries(), clock.read());
        let clock = Clock::start();
        let tree = minimum_spanning_forest(n, edges_of(&directed))?;
        println!("spanning tree of {} edges in {}", tree.len(), clock.read());
        for steps in 1..=3 {
            let clock = Clock::start();
            let kept = mutual_reach(&directed, &tree, steps)?.entries();
            println!("mutual reach in {steps} step(s): {kept} of {} edges in {}", directed.entries(), clock.read());
        }
        let mut finest = std::collections::HashMap::new();
        // The finest first: the others are compared with it.
        for (dimensions, tolerance) in [(2, 1e-9), (6, 1e-9), (2, 1e-2), (2, 1e-3), (6, 1e-2), (6, 1e-3)] {
            let clock = Clock::start();
            let mut spectral =
                SpectralCoordinates::new(&weights, LaplacianKind::Normalized, dimensions, tolerance, Seed(0))?;
            let setup = clock.read();
            let found = spectral.run(&mut |_| Ok(()))?;
            let worst = found.report.residuals.iter().zip(&found.values).map(|(r, v)| r / v).fold(0.0, f64::max);
            let reference = finest.entry(dimensions).or_insert_with(|| found.vectors.clone());
            let angle = largest_angle(&found.vectors, reference, dimensions);
            println!(
                "d={dimensions} tol={tolerance:.0e}: {} (of which setup {setup}), {:?} {} iterations, converged {}, \
                 largest residual/eigenvalue {worst:.1e}, largest angle to the finest {angle:.1e}, values {:.9?}",
                clock.read(),
                found.report.solver,
                found.report.iterations,
                found.report.converged,
                &found.values[..dimensions.min(3)]
            );
        }
        Ok(())
    })?
}

/// Of each vector with its counterpart, in radians.
fn largest_angle(a: &[f64], b: &[f64], columns: usize) -> f64 {
    let difference: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
    block::column_dots(&difference, &difference, columns).into_iter().map(f64::sqrt).fold(0.0, f64::max)
}

fn read<T: npyz::Deserialize>(path: &str) -> Result<(Vec<T>, Vec<usize>)> {
    let file = npyz::NpyFile::new(BufReader::new(File::open(path).with_context(|| path.to_owned())?))?;
    let shape = file.shape().iter().map(|&size| size as usize).collect::<Vec<_>>();
    ensure!(shape.len() == 2, "{path}: expected two dimensions");
    Ok((file.into_vec()?, shape))
}
