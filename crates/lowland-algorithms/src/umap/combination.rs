//! Union and intersection of fuzzy graphs over the same rows, for rows that are described in several ways.

use rayon::prelude::*;

use lowland_core::params::param_enum;
use lowland_core::{Error, Result};
use lowland_linalg::Csr;

param_enum! {
    /// How fuzzy graphs are combined.
    pub enum Combination ("union or intersection") {
        /// Two rows are neighbors if they are in either graph.
        Union = "union",
        /// Two rows are neighbors if they are in both graphs.
        Intersection = "intersection",
    }
}

/// Rows have the memberships that would sum to the logarithm of this number of neighbors, counting the row itself.
const NEIGHBORS: f64 = 15.0;
/// Tolerance of that sum, as in umap-learn.
const SUM_TOLERANCE: f64 = 1e-5;
const BISECTIONS: usize = 32;
/// Smallest membership of a pair that is in one graph only.
const LEAST: f64 = 1e-8;
/// Largest membership of a pair that is not in the second graph of an intersection.
const MOST_ABSENT: f64 = 1e-4;

/// Combines two graphs of memberships. The first counts with weight `1 - weight` in an intersection. Afterwards every row is scaled
/// to have a neighbor with membership one, and the sum of memberships that its fuzzy graph would have.
pub fn combine(first: &Csr, second: &Csr, how: Combination, weight: f64) -> Result<Csr> {
    if first.rows() != second.rows() {
        let what = "rows of the second graph";
        return Err(Error::Shape { what, expected: first.rows(), found: second.rows() });
    }
    if !(weight > 0.0 && weight < 1.0) {
        let (name, value) = ("weight", weight.to_string());
        return Err(Error::Parameter { name, value, allowed: "above 0 and below 1".into() });
    }
    // A pair that is not in a graph has half of its smallest membership there.
    let absent = |graph: &Csr| (graph.values().iter().copied().fold(f64::INFINITY, f64::min) / 2.0).max(LEAST);
    let (left, mut right) = (absent(first), absent(second));
    if how == Combination::Intersection {
        right = right.min(MOST_ABSENT);
    }
    let combined = first.merge(second, |a, b| {
        let (a, b) = (a.unwrap_or(left), b.unwrap_or(right));
        Some(match how {
            Combination::Union => a + b - a * b,
            Combination::Intersection if weight < 0.5 => a * b.powf(weight / (1.0 - weight)),
            Combination::Intersection => a.powf((1.0 - weight) / weight) * b,
        })
    })?;
    let directed = restore_rows(combined);
    directed.merge(&directed.transpose(), |a, b| {
        let (a, b) = (a.unwrap_or(0.0), b.unwrap_or(0.0));
        Some(a + b - a * b).filter(|&value| value > 0.0)
    })
}

/// Scales the largest membership of every row to one, and raises all of them to the power with which they have the right sum.
fn restore_rows(mut graph: Csr) -> Csr {
    let bounds: Vec<usize> = graph.indptr().to_vec();
    let target = NEIGHBORS.log2();
    let powers: Vec<(f64, f64)> = (0..graph.rows())
        .into_par_iter()
        .map(|i| {
            let row = graph.row(i).1;
            let largest = row.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
            let sum = |power: f64| row.iter().map(|v| (v / largest).powf(power)).sum::<f64>();
            let (mut low, mut high, mut power) = (0.0, f64::INFINITY, 1.0);
            for _ in 0..BISECTIONS {
                let found = sum(power);
                if (found - target).abs() < SUM_TOLERANCE {
                    break;
                }
                if found < target {
                    high = power;
                } else {
                    low = power;
                }
                power = if high.is_infinite() { 2.0 * power } else { 0.5 * (low + high) };
            }
            (largest, power)
        })
        .collect();
    let values = graph.values_mut();
    for (i, (largest, power)) in powers.into_iter().enumerate() {
        values[bounds[i]..bounds[i + 1]].iter_mut().for_each(|v| *v = (*v / largest).powf(power));
    }
    graph
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(entries: &[(u32, u32, f64)]) -> Csr {
        let both = entries.iter().flat_map(|&(i, j, v)| [(i, j, v), (j, i, v)]);
        Csr::from_triplets(4, 4, both).unwrap()
    }

    #[test]
    fn unions_have_the_pairs_of_either_graph_and_rows_have_a_full_neighbor() {
        let (a, b) = (graph(&[(0, 1, 1.0), (1, 2, 0.4)]), graph(&[(2, 3, 0.8), (0, 1, 0.5), (3, 0, 0.2)]));
        for how in [Combination::Union, Combination::Intersection] {
            let combined = combine(&a, &b, how, 0.5).unwrap();
            assert!(combined.is_symmetric() && combined.entries() == 8, "{how:?}");
            for i in 0..4 {
                let largest = combined.row(i).1.iter().copied().fold(0.0, f64::max);
                assert!((largest - 1.0).abs() < 1e-9, "{how:?} {i}: {largest}");
            }
        }
        assert!(combine(&a, &Csr::from_triplets(3, 3, []).unwrap(), Combination::Union, 0.5).is_err());
        assert!(combine(&a, &b, Combination::Intersection, 1.0).is_err());
    }
}
