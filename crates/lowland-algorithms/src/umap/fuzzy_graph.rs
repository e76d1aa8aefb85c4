//! The fuzzy graph: how far two neighbors belong together, from 0 to 1.

use rayon::prelude::*;

use lowland_core::Result;
use lowland_linalg::Csr;
use lowland_neighbors::NeighborGraph;

/// Parameters of the fuzzy graph.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FuzzyGraphParams {
    /// Number of nearest neighbors with membership one.
    pub local_connectivity: f64,
    /// 1 for the union of the memberships in both directions, 0 for their intersection, or a mixture.
    pub set_op_mix_ratio: f64,
}

/// Tolerance of the sum of memberships. That of umap-learn is 1e-5, so graphs agree up to that.
const SUM_TOLERANCE: f64 = 1e-9;
const BISECTIONS: usize = 64;
/// Lower bound of the bandwidth relative to the mean distance.
const MIN_BANDWIDTH: f64 = 1e-3;

/// Returns the symmetric graph of memberships of a neighbor graph whose rows do not contain themselves.
pub fn fuzzy_graph(graph: &NeighborGraph, params: FuzzyGraphParams) -> Result<Csr> {
    // Each row counts itself as a neighbor at distance zero.
    let count = graph.distances().len() + graph.rows();
    let mean = graph.distances().iter().map(|&d| f64::from(d)).sum::<f64>() / count.max(1) as f64;
    let rows: Vec<Vec<f64>> = (0..graph.rows())
        .into_par_iter()
        .map(|i| {
            let distances = graph.row(i).1;
            let (rho, sigma) = smooth_distances(distances, distances.len() + 1, params.local_connectivity, mean);
            distances.iter().map(|&d| membership(f64::from(d), rho, sigma)).collect()
        })
        .collect();
    let entries = (0..graph.rows()).flat_map(|i| {
        let columns = graph.row(i).0;
        columns.iter().zip(&rows[i]).map(move |(&j, &value)| (i as u32, j, value))
    });
    let directed = Csr::from_triplets(graph.rows(), graph.rows(), entries)?;
    drop(rows);
    let mix = params.set_op_mix_ratio;
    directed.merge(&directed.transpose(), |a, b| {
        let (a, b) = (a.unwrap_or(0.0), b.unwrap_or(0.0));
        let value = mix * (a + b - a * b) + (1.0 - mix) * a * b;
        (value > 0.0).then_some(value)
    })
}

/// Returns the membership of a neighbor at distance `d`.
pub(super) fn membership(d: f64, rho: f64, sigma: f64) -> f64 {
    if d <= rho || sigma == 0.0 { 1.0 } else { (-(d - rho) / sigma).exp() }
}

/// Returns `rho`, the distance up to which neighbors have membership one, and `sigma`, the bandwidth beyond it for which the
/// memberships of the sorted `distances` sum to `log2 k`. `mean` is the mean distance of the whole graph.
pub fn smooth_distances(distances: &[f32], k: usize, local_connectivity: f64, mean: f64) -> (f64, f64) {
    let rho = local_distance(distances, local_connectivity);
    let target = (k as f64).log2();
    // In units of the largest distance, so that the result does not depend on the unit of the data.
    let unit = distances.last().map_or(1.0, |&d| if d > 0.0 { f64::from(d) } else { 1.0 });
    let (mut low, mut high, mut sigma) = (0.0, f64::INFINITY, 1.0);
    for _ in 0..BISECTIONS {
        let sum: f64 = distances.iter().map(|&d| membership(f64::from(d) / unit, rho / unit, sigma)).sum();
        if (sum - target).abs() < SUM_TOLERANCE {
            break;
        }
        if sum > target {
            high = sigma;
        } else {
            low = sigma;
        }
        sigma = if high.is_infinite() { 2.0 * sigma } else { 0.5 * (low + high) };
    }
    let own_mean = distances.iter().map(|&d| f64::from(d)).sum::<f64>() / k.max(1) as f64;
    (rho, (sigma * unit).max(MIN_BANDWIDTH * if rho > 0.0 { own_mean } else { mean }))
}

/// Returns the distance of the `count`-th neighbor among those that are not duplicates, interpolated for fractions.
pub(super) fn local_distance(distances: &[f32], count: f64) -> f64 {
    let nonzero = &distances[distances.partition_point(|&d| d <= 0.0)..];
    let (whole, fraction) = (count.floor() as usize, count.fract());
    match nonzero {
        [] => 0.0,
        [.., last] if (nonzero.len() as f64) < count => f64::from(*last),
        [first, ..] if whole == 0 => fraction * f64::from(*first),
        _ => {
            let at = f64::from(nonzero[whole - 1]);
            match nonzero.get(whole) {
                Some(&next) => at + fraction * (f64::from(next) - at),
                _ => at,
            }
        }
    }
}
