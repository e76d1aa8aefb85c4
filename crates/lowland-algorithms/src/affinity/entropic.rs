//! Entropic affinities: Gaussian weights on each row's neighbors, with the bandwidth that gives the row a chosen perplexity.

use rayon::prelude::*;

use lowland_linalg::Csr;

/// Gaussian weights with their bandbandwidths.
#[derive(Debug, Clone, PartialEq)]
pub struct EntropicAffinities {
    /// `exp(-d^2 / (2 s_i^2))` divided by the row's sum of these; zero where the graph has no edge.
    pub rows: Csr,
    /// `s_i`; infinite if all weights of the row are equal.
    pub bandwidths: Vec<f64>,
}

/// Tolerance of the entropy, which approximates the logarithm of the perplexity.
const ENTROPY_TOLERANCE: f64 = 1e-10;

/// Returns weights of the given perplexity, a number of neighbors, for a matrix of distances. A row with fewer neighbors, or
/// with all of them at the same distance, gets equal weights; a row with more than `perplexity` nearest neighbors at the same
/// distance gets equal weights for those and zero for the others.
pub fn entropic_affinities(distances: Csr, perplexity: f64) -> EntropicAffinities {
    let mut rows = distances;
    let bounds = rows.indptr().to_vec();
    let mut parts: Vec<&mut [f64]> = Vec::with_capacity(rows.rows());
    let mut rest = rows.values_mut();
    for pair in bounds.windows(2) {
        let (row, after) = rest.split_at_mut(pair[1] - pair[0]);
        parts.push(row);
        rest = after;
    }
    let bandwidths = parts.into_par_iter().map(|row| entropic_row(row, perplexity)).collect();
    EntropicAffinities { rows, bandwidths }
}

/// Replaces the distances of one row with weights of the given perplexity; returns the bandwidth.
pub fn entropic_row(row: &mut [f64], perplexity: f64) -> f64 {
    let nearest = row.iter().copied().fold(f64::INFINITY, f64::min);
    let largest = row.iter().copied().fold(0.0, f64::max);
    // Squares relative to the smallest, in units of their mean: nothing overflows at any scale, and one exponent is 0.
    let square = |d: f64| ((d - nearest) / largest) * ((d + nearest) / largest);
    let scale = row.iter().map(|&d| square(d)).sum::<f64>() / row.len().max(1) as f64;
    if !(scale > 0.0) {
        row.fill(1.0 / row.len().max(1) as f64);
        return f64::INFINITY;
    }
    row.iter_mut().for_each(|d| *d = square(*d) / scale);
    let precision = precision(row, perplexity.ln());
    let total: f64 = row.iter().map(|x| (-precision * x).exp()).sum();
    row.iter_mut().for_each(|x| *x = (-precision * *x).exp() / total);
    largest * (scale / (2.0 * precision)).sqrt()
}

/// Returns the `b` for which the weights `exp(-b x)` have the given entropy: Newton's method in `ln b`, safeguarded by a
/// bracket.
fn precision(row: &[f64], entropy: f64) -> f64 {
    let ties = row.iter().filter(|x| **x == 0.0).count() as f64;
    if entropy >= (row.len() as f64).ln() {
        return 0.0;
    }
    if entropy <= ties.ln() {
        // So large that the weights of all others vanish.
        let next = row.iter().copied().filter(|x| *x > 0.0).fold(f64::INFINITY, f64::min);
        return (800.0 / next).min(f64::MAX);
    }
    // The entropy decreases as b grows.
    let (mut low, mut high) = (f64::NEG_INFINITY, f64::INFINITY);
    let mut log_b = 0.0f64;
    for _ in 0..200 {
        let b = log_b.exp();
        let (mut s0, mut s1, mut s2) = (0.0, 0.0, 0.0);
        for x in row {
            let weight = (-b * x).exp();
            s0 += weight;
            s1 += weight * x;
            s2 += weight * x * x;
        }
        let mean = s1 / s0;
        let excess = s0.ln() + b * mean - entropy;
        if excess.abs() < ENTROPY_TOLERANCE {
            break;
        }
        if excess > 0.0 {
            low = log_b
        } else {
            high = log_b
        }
        // dH/d(ln b) = -b^2 Var(x)
        let slope = -b * b * (s2 / s0 - mean * mean);
        let newton = log_b - excess / slope;
        log_b = if newton > low && newton < high && (newton - log_b).abs() < 4.0 {
            newton
        } else if low.is_finite() && high.is_finite() {
            0.5 * (low + high)
        } else {
            log_b + if excess > 0.0 { 2.0 } else { -2.0 }
        };
    }
    log_b.exp()
}

#[cfg(test)]
mod tests {
    use super::*;
    use lowland_core::Seed;
    use proptest::prelude::*;

    fn row_of(distances: &[f64]) -> Csr {
        let n = distances.len() + 1;
        Csr::from_triplets(n, n, distances.iter().enumerate().map(|(j, &d)| (0, j as u32 + 1, d))).unwrap()
    }

    fn entropy(weights: &[f64]) -> f64 {
        weights.iter().filter(|p| **p > 0.0).map(|p| -p * p.ln()).sum()
    }

    #[test]
    fn rows_have_the_requested_perplexity_at_any_scale() {
        let distances: Vec<f64> = Seed(1).normals(200).iter().map(|x| 5.0 + x.abs()).collect();
        let mut nearest: Vec<usize> = (0..200).collect();
        nearest.sort_by(|&a, &b| distances[a].total_cmp(&distances[b]));
        for scale in [1e-30, 1.0, 1e30] {
            for perplexity in [1.5, 30.0, 150.0] {
                let scaled: Vec<f64> = distances.iter().map(|d| d * scale).collect();
                let found = entropic_affinities(row_of(&scaled), perplexity);
                let (_, weights) = found.rows.row(0);
                assert!((entropy(weights) - perplexity.ln()).abs() < 2e-10, "{scale} {perplexity}");
                let s = found.bandwidths[0];
                let exponent = |j: usize| scaled[j] / s * (scaled[j] / s) / 2.0;
                let (first, last) = (nearest[0], nearest[1]);
                let difference = (weights[first] / weights[last]).ln() - (exponent(last) - exponent(first));
                assert!(difference.abs() < 1e-8 * exponent(last), "{difference}");
            }
        }
    }

    #[test]
    fn ties_and_too_few_neighbors_get_equal_weights() {
        let equal = entropic_affinities(row_of(&[2.0; 5]), 3.0);
        assert_eq!(equal.rows.row(0).1, [0.2; 5]);
        let few = entropic_affinities(row_of(&[1.0, 2.0, 3.0]), 10.0);
        assert!(few.rows.row(0).1.iter().all(|p| (p - 1.0 / 3.0).abs() < 1e-15));
        let tied = entropic_affinities(row_of(&[0.0, 0.0, 0.0, 0.0, 1.0, 9.0]), 2.0);
        assert_eq!(tied.rows.row(0).1, [0.25, 0.25, 0.25, 0.25, 0.0, 0.0]);
    }

    proptest! {
        #[test]
        fn every_row_gets_finite_weights_that_sum_to_one(
            distances in prop::collection::vec(prop_oneof![Just(0.0), 0.0..1e-20, 0.0..1.0, 0.0..1e30], 1..40),
            perplexity in 1.0..50.0,
        ) {
            let found = entropic_affinities(row_of(&distances), perplexity);
            let (_, weights) = found.rows.row(0);
            prop_assert!(weights.iter().all(|p| (0.0..=1.0).contains(p)));
            prop_assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        }
    }
}
