//! The scale at which the t-SNE loss describes a map best: maps of unknown origin have any unit.

use lowland_algorithms::affinity::entropic_row;
use lowland_core::Points;
use lowland_neighbors::NeighborGraph;
use rayon::prelude::*;

/// Rows from which the scale is determined.
const ROWS: usize = 200;
/// Squared distances are counted in bins whose limits grow by this factor.
const BIN: f64 = 1.1;
/// Neighboring points are at least and at most so far apart, in units of the kernel.
const RANGE: (f64, f64) = (1e-3, 1e2);

/// The t-SNE loss for a map of unknown origin.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct FittedScale {
    /// Factor by which the map is multiplied.
    pub factor: f64,
    /// Mean over the points of the sum of the kernel over the others.
    pub kernel_mean: f64,
}

/// Of one row: numbers of points in each bin of the squared distance, and squared distances to its neighbors with affinities.
type RowDistances = (Vec<u32>, Vec<(f64, f64)>);

/// Returns the scale at which the map has the smallest divergence from affinities of this perplexity to `degree` neighbors.
pub(crate) fn fit_scale(
    map: Points,
    graph: &NeighborGraph,
    degree: usize,
    perplexity: f64,
    spacing: f64,
) -> FittedScale {
    let n = map.rows();
    let rows: Vec<usize> = (0..n).step_by(n.div_ceil(ROWS)).collect();
    let square = |i: usize, j: usize| {
        let (a, b) = (map.row(i), map.row(j));
        (a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1])
    };
    // Bins of the squared distances by their logarithm, the first for all that are shorter.
    let smallest = (1e-3 * spacing).powi(2);
    let inverse = 1.0 / BIN.ln();
    let bin = |square: f64| 1 + ((square / smallest).max(1.0).ln() * inverse) as usize;
    let parts: Vec<RowDistances> = rows
        .par_iter()
        .map(|&i| {
            let mut counts = Vec::new();
            for j in (0..n).filter(|&j| j != i) {
                let at = if square(i, j) < smallest { 0 } else { bin(square(i, j)) };
                if at >= counts.len() {
                    counts.resize(at + 1, 0u32);
                }
                counts[at] += 1;
            }
            let (columns, lengths) = graph.row(i);
            let mut weights: Vec<f64> = lengths[..degree].iter().map(|&d| f64::from(d)).collect();
            entropic_row(&mut weights, perplexity);
            let edges = columns.iter().zip(weights).map(|(&j, w)| (square(i, j as usize), w)).collect();
            (counts, edges)
        })
        .collect();
    let mut counts = vec![0u64; parts.iter().map(|part| part.0.len()).max().unwrap_or(0)];
    parts.iter().for_each(|part| counts.iter_mut().zip(&part.0).for_each(|(sum, &count)| *sum += u64::from(count)));
    let centers: Vec<f64> =
        (0..counts.len()).map(|at| if at == 0 { 0.0 } else { smallest * BIN.powf(at as f64 - 0.5) }).collect();
    let evaluate = |log_scale: f64| {
        let c = (2.0 * log_scale).exp();
        let count = rows.len() as f64;
        let attraction: f64 = parts.iter().flat_map(|part| &part.1).map(|(s, w)| w * (c * s).ln_1p()).sum();
        let kernel: f64 = centers.iter().zip(&counts).map(|(s, &count)| count as f64 / (1.0 + c * s)).sum();
        (attraction / count + (kernel / count).ln(), kernel / count)
    };
    // Golden-section search of the logarithm of the scale.
    let ratio = 0.5 * (5f64.sqrt() - 1.0);
    let (mut low, mut high) = ((RANGE.0 / spacing).ln(), (RANGE.1 / spacing).ln());
    let (mut a, mut b) = (high - ratio * (high - low), low + ratio * (high - low));
    let (mut at_a, mut at_b) = (evaluate(a).0, evaluate(b).0);
    while high - low > 0.02 {
        if at_a < at_b {
            (high, b, at_b) = (b, a, at_a);
            a = high - ratio * (high - low);
            at_a = evaluate(a).0;
        } else {
            (low, a, at_a) = (a, b, at_b);
            b = low + ratio * (high - low);
            at_b = evaluate(b).0;
        }
    }
    let log_scale = 0.5 * (low + high);
    FittedScale { factor: log_scale.exp(), kernel_mean: evaluate(log_scale).1 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lowland_core::{Data, Metric, Seed};
    use lowland_neighbors::{NeighborParams, Search, nearest};

    #[test]
    fn the_scale_undoes_that_of_the_map_and_the_kernel_mean_is_that_of_all_pairs() {
        let rows: Vec<f32> = Seed(3).normals(1200 * 3).into_iter().map(|v| v as f32).collect();
        let params =
            NeighborParams { n_neighbors: 45, metric: Metric::Euclidean, search: Search::Exact, seed: Seed(0) };
        let graph = nearest(&Data::dense(rows.clone(), 3).unwrap(), &params).unwrap().graph;
        let map: Vec<f64> = rows.chunks(3).flat_map(|row| [f64::from(row[0]), f64::from(row[1])]).collect();
        let fit = |map: &[f64], spacing: f64| fit_scale(Points::new(map, 2).unwrap(), &graph, 45, 15.0, spacing);
        let found = fit(&map, 0.05);
        let scaled: Vec<f64> = map.iter().map(|v| 7.0 * v).collect();
        assert!((7.0 * fit(&scaled, 0.35).factor / found.factor - 1.0).abs() < 0.03);
        let c = found.factor * found.factor;
        let square = |i: usize, j: usize| (map[2 * i] - map[2 * j]).powi(2) + (map[2 * i + 1] - map[2 * j + 1]).powi(2);
        let kernel = |i: usize| (0..1200).filter(|&j| j != i).map(|j| 1.0 / (1.0 + c * square(i, j))).sum::<f64>();
        let exact = (0..1200).step_by(6).map(kernel).sum::<f64>() / 200.0;
        assert!((found.kernel_mean / exact - 1.0).abs() < 0.01, "{} {exact}", found.kernel_mean);
    }
}
