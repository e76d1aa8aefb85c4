//! The linear terms of both posteriors, from the maps and latent coordinates of all points.

use rayon::prelude::*;

use super::graph::ModelGraph;
use super::problem::ScaledRows;
use super::sums::{add_edge, sum};

/// `<b>` (S49).
pub(super) fn latent_linear_term(graph: &ModelGraph, rows: &ScaledRows, maps: &[f64], gamma: f64) -> Vec<f64> {
    let (n, columns) = (graph.points(), rows.columns());
    let map = |r: usize, i: usize| &maps[(r * n + i) * columns..(r * n + i + 1) * columns];
    let entry = |sums: &mut Vec<f64>, a: usize| -> f64 {
        let (r, i) = (a / n, a % n);
        sums.fill(0.0);
        for &j in graph.neighbors(i) {
            let j = j as usize;
            add_edge(sums, (map(r, i), map(r, j)), (rows.row(i), rows.row(j)));
        }
        gamma * sum(sums)
    };
    (0..maps.len() / columns).into_par_iter().map_init(|| vec![0.0; columns], entry).collect()
}

/// `H' = sum_j G_ij (x_j - x_i) (y_j - y_i)'` (S62).
pub(super) fn map_linear_term(graph: &ModelGraph, rows: &ScaledRows, latents: &[f64], h: &mut [f64]) {
    let (n, columns) = (graph.points(), rows.columns());
    h.par_chunks_mut(columns).enumerate().for_each(|(a, h)| {
        let (first, i) = (a / n * n, a % n);
        h.fill(0.0);
        for &j in graph.neighbors(i) {
            let step = latents[first + j as usize] - latents[a];
            let (y, z) = (rows.row(i), rows.row(j as usize));
            h.iter_mut().zip(y.iter().zip(z)).for_each(|(h, (y, z))| *h += step * (z - y));
        }
    });
}

/// `sum_j (C_i + C_j)(x_i - x_j)` of a row and column, for the means of both.
pub(super) fn offset(
    graph: &ModelGraph,
    (maps, columns): (&[f64], usize),
    latents: &[f64],
    (i, c): (usize, usize),
) -> f64 {
    let n = graph.points();
    let part = |r: usize| {
        let edge = |&j: &u32| {
            let (a, b) = (r * n + i, r * n + j as usize);
            (maps[a * columns + c] + maps[b * columns + c]) * (latents[a] - latents[b])
        };
        graph.neighbors(i).iter().map(edge).sum::<f64>()
    };
    (0..latents.len() / n).map(part).sum()
}
