//! Fixtures shared by the tests of the model.

mod bound;
mod em;
mod low_rank;
mod missing;
mod posterior;

use super::posterior::Hyperparameters;
use super::*;
use lowland_core::{Data, Metric, Seed};
use lowland_linalg::Csr;
use lowland_neighbors::{NeighborGraph, nearest_to_with};

fn no_progress(_: f64) -> lowland_core::Result<()> {
    Ok(())
}

/// A ring of `n` points, each connected to the next three, with a chord.
fn graph(n: usize) -> LaplacianGraph {
    let ring = (0..n).flat_map(|i| (1..4).map(move |step| (i, (i + step) % n)));
    let both = ring.chain([(0, n / 2)]).flat_map(|(i, j)| [(i, j), (j, i)]);
    let edges = Csr::from_triplets(n, n, both.map(|(i, j)| (i as u32, j as u32, 1.0))).unwrap();
    LaplacianGraph::new(&edges).unwrap()
}

/// A bent ring in four dimensions.
fn data(n: usize) -> Data {
    let noise = Seed(5).normals(4 * n);
    let row = |i: usize| {
        let angle = std::f64::consts::TAU * i as f64 / n as f64;
        let exact = [angle.cos(), angle.sin(), 0.3 * (2.0 * angle).cos(), 0.0];
        (0..4).map(|c| (exact[c] + 0.05 * noise[4 * i + c]) as f32).collect::<Vec<_>>()
    };
    Data::dense((0..n).flat_map(row).collect(), 4).unwrap()
}

fn problem(n: usize) -> LllvmProblem {
    LllvmProblem::new(graph(n), ScaledRows::new(&data(n)).unwrap()).unwrap()
}

fn options() -> LllvmOptions {
    LllvmOptions::new(2, Alpha::Fixed(1e-3))
}

fn em(problem: &LllvmProblem) -> LllvmEm<'_> {
    LllvmEm::new(problem, options(), LllvmStart::random(problem, options(), Seed(7))).unwrap()
}

fn max_abs(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |m, v| m.max(v.abs()))
}

/// `log p(y, C, x)` of eqs 3-5 and S24 up to constants, straight from the definitions.
fn log_joint(problem: &LllvmProblem, maps: &[f64], latents: &[f64], gamma: f64, alpha: f64, epsilon: f64) -> f64 {
    let (n, columns, graph) = (problem.points(), problem.columns(), &problem.graph);
    let dim = latents.len() / n;
    let map = |r: usize, i: usize| &maps[(r * n + i) * columns..(r * n + i + 1) * columns];
    let mut e = vec![0.0; n * columns];
    let mut total = 0.0;
    for i in 0..n {
        for &j in graph.neighbors(i) {
            let j = j as usize;
            for r in 0..dim {
                let step = latents[r * n + j] - latents[r * n + i];
                total -= 0.5 * step * step;
                for c in 0..columns {
                    e[i * columns + c] -= gamma * (map(r, i)[c] + map(r, j)[c]) * step;
                    total -= 0.5 * (map(r, i)[c] - map(r, j)[c]).powi(2);
                }
            }
        }
    }
    for c in 0..columns {
        for r in 0..dim {
            total -= 0.5 * epsilon * (0..n).map(|i| map(r, i)[c]).sum::<f64>().powi(2);
        }
        for i in 0..n {
            total += problem.rows.row(i)[c] * e[i * columns + c];
            for j in 0..n {
                total -= 0.5 * e[i * columns + c] * graph.k[i * n + j] / (2.0 * gamma) * e[j * columns + c];
            }
        }
    }
    total - 0.5 * alpha * latents.iter().map(|x| x * x).sum::<f64>()
}

fn posterior(n: usize) -> (LllvmProblem, Posterior) {
    let problem = problem(n);
    let mut em = em(&problem);
    for _ in 0..60 {
        em.step().unwrap();
    }
    let posterior = em.into_posterior().unwrap();
    (problem, posterior)
}

/// The nearest rows of each row, itself included.
fn nearest(new: &Data, data: &Data, k: usize) -> NeighborGraph {
    nearest_to_with(new, data, k, Metric::Euclidean, &mut no_progress).unwrap()
}

/// The terms of the log joint of a new point and its neighbors that depend on the new point, from the definitions.
/// `latents` and `maps` start with the new point, followed by its neighbors; the rows of a map are its columns.
fn joint_of_new(
    hyperparameters: Hyperparameters,
    neighbors: &[&[f64]],
    row: &[f64],
    latents: &[f64],
    maps: &[f64],
) -> f64 {
    let (dim, columns, k) = (hyperparameters.dim, row.len(), neighbors.len() as f64);
    let (latent, others) = latents.split_at(dim);
    let (map, other_maps) = maps.split_at(dim * columns);
    let mut mean = vec![0.0; columns];
    let mut total = -0.5 * hyperparameters.alpha * latent.iter().map(|x| x * x).sum::<f64>();
    let neighbors = neighbors.iter().zip(others.chunks_exact(dim)).zip(other_maps.chunks_exact(dim * columns));
    for ((theirs, other), other_map) in neighbors {
        for c in 0..columns {
            mean[c] += theirs[c] / k;
            for r in 0..dim {
                let (ours, theirs) = (map[r * columns + c], other_map[r * columns + c]);
                mean[c] += 0.5 * (theirs + ours) * (latent[r] - other[r]) / k;
                total -= (ours - theirs).powi(2);
            }
        }
        total -= (0..dim).map(|r| (latent[r] - other[r]).powi(2)).sum::<f64>();
    }
    total - hyperparameters.gamma * k * row.iter().zip(&mean).map(|(y, m)| (y - m).powi(2)).sum::<f64>()
}
