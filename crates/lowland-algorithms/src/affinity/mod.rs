//! Affinities: weights of the attraction between neighbors, first row by row, then as one symmetric matrix of sum one.

mod entropic;
mod perplexity;

use lowland_core::params::param_enum;
use lowland_core::{Error, Result};
use lowland_linalg::Csr;

pub use entropic::{EntropicAffinities, entropic_affinities};
pub use perplexity::Perplexities;

param_enum! {
    /// How the affinities of a row are computed from its distances.
    pub enum AffinityKind ("entropic, uniform or precomputed") {
        /// Gaussian weights whose bandwidth gives each row the requested perplexity.
        Entropic = "entropic",
        /// The same weight for every neighbor.
        Uniform = "uniform",
        /// The values of the given neighbor graph are the weights.
        Precomputed = "precomputed",
    }
}

/// Number of neighbors per unit of perplexity: the weights of further ones are negligible.
pub const NEIGHBORS_PER_PERPLEXITY: f64 = 3.0;

/// Returns the number of neighbors that each point needs for a perplexity.
pub fn neighbors_for(kind: AffinityKind, perplexity: &Perplexities) -> usize {
    let factor = if kind == AffinityKind::Uniform { 1.0 } else { NEIGHBORS_PER_PERPLEXITY };
    (factor * perplexity.max()).ceil() as usize
}

/// Returns the affinities for a matrix of distances (of affinities, if they are precomputed); rows sum to one. Entropic
/// affinities are averaged over the perplexities.
pub fn affinities_from_distances(distances: Csr, kind: AffinityKind, perplexity: &Perplexities) -> Result<Csr> {
    match kind {
        AffinityKind::Precomputed => precomputed_affinities(&distances),
        AffinityKind::Uniform => Ok(uniform_affinities(&distances)),
        AffinityKind::Entropic => {
            let (&last, others) = perplexity.values().split_last().expect("at least one");
            let mut sum: Option<Csr> = None;
            let add = |sum: Option<Csr>, mut rows: Csr| {
                if let Some(sum) = sum {
                    rows.values_mut().iter_mut().zip(sum.values()).for_each(|(p, sum)| *p += sum);
                }
                rows
            };
            for &other in others {
                sum = Some(add(sum, entropic_affinities(distances.clone(), other).rows));
            }
            let mut rows = add(sum, entropic_affinities(distances, last).rows);
            rows.scale(1.0 / perplexity.values().len() as f64);
            Ok(rows)
        }
    }
}

/// Returns affinities with the same weight for every neighbor of a row; rows sum to one.
pub fn uniform_affinities(distances: &Csr) -> Csr {
    distances.map(|i, _, _| 1.0 / distances.row(i).0.len() as f64)
}

/// Returns the weights of a graph's edges, scaled so that rows sum to one. A row without weight keeps none.
pub fn precomputed_affinities(weights: &Csr) -> Result<Csr> {
    if let Some((i, j, w)) = weights.iter().find(|&(_, _, w)| !(w >= 0.0)) {
        let reason = format!("the affinity of row {i} to row {j} is {w}; affinities are not negative");
        return Err(Error::Format { what: "graph of affinities", reason });
    }
    let sums = weights.row_sums();
    Ok(weights.map(|i, _, w| if sums[i] > 0.0 { w / sums[i] } else { 0.0 }))
}

/// Returns `(P + P') / 2`, scaled to sum to one, without entries that are zero.
pub fn joint_affinities(rows: Csr) -> Result<Csr> {
    let mut joint = average_with_transpose(rows)?;
    let total: f64 = joint.values().iter().sum();
    if !(total > 0.0 && total.is_finite()) {
        let reason = format!("the weights sum to {total}: at least one must be positive");
        return Err(Error::Format { what: "graph of affinities", reason });
    }
    joint.scale(1.0 / total);
    joint.retain(|i, j, w| i != j && w > 0.0);
    Ok(joint)
}

/// Returns `(A + A') / 2`. These are the largest arrays of all: the entries and their mirror images are written to one array
/// and merged there, instead of to a transpose and a third matrix.
fn average_with_transpose(a: Csr) -> Result<Csr> {
    let n = a.rows();
    let mut starts = vec![0usize; n + 1];
    for i in 0..n {
        let (columns, _) = a.row(i);
        starts[i + 1] += columns.len();
        columns.iter().for_each(|&j| starts[j as usize + 1] += 1);
    }
    (0..n).for_each(|i| starts[i + 1] += starts[i]);
    let mut next = starts[..n].to_vec();
    let (mut indices, mut values) = (vec![0u32; starts[n]], vec![0.0; starts[n]]);
    let mut put = |i: usize, j: usize, v: f64| {
        (indices[next[i]], values[next[i]]) = (j as u32, 0.5 * v);
        next[i] += 1;
    };
    for (i, j, v) in a.iter() {
        put(i, j, v);
        put(j, i, v);
    }
    drop(a);
    let (mut indptr, mut end) = (Vec::with_capacity(n + 1), 0);
    indptr.push(0);
    let mut row: Vec<(u32, f64)> = Vec::new();
    for bounds in starts.windows(2) {
        let range = bounds[0]..bounds[1];
        row.clear();
        row.extend(indices[range.clone()].iter().copied().zip(values[range].iter().copied()));
        row.sort_unstable_by_key(|entry| entry.0);
        for merged in row.chunk_by(|a, b| a.0 == b.0) {
            (indices[end], values[end]) = (merged[0].0, merged.iter().map(|entry| entry.1).sum());
            end += 1;
        }
        indptr.push(end);
    }
    indices.truncate(end);
    values.truncate(end);
    indices.shrink_to_fit();
    values.shrink_to_fit();
    Csr::new(indptr, indices, values, n)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lowland_neighbors::graph::{Symmetrization, symmetrize};

    #[test]
    fn joint_affinities_are_symmetric_and_sum_to_one() {
        let rows = Csr::from_triplets(3, 3, [(0, 1, 0.7), (0, 2, 0.3), (1, 0, 1.0), (2, 1, 1.0)]).unwrap();
        let joint = joint_affinities(rows).unwrap();
        assert!(joint.is_symmetric());
        assert!((joint.values().iter().sum::<f64>() - 1.0).abs() < 1e-15);
        assert!((joint.get(0, 1) - 1.7 / 6.0).abs() < 1e-15);
    }

    #[test]
    fn the_average_with_the_transpose_is_that_of_the_dense_matrices() {
        let n = 60u32;
        let links = (0..n).flat_map(|i| (0..7).map(move |k| (i, (i * 17 + k * k * 5) % n, f64::from(i + 3 * k) + 0.1)));
        let a = Csr::from_triplets(60, 60, links.filter(|(i, j, _)| i % 9 != 0 || i == j)).unwrap();
        let found = average_with_transpose(a.clone()).unwrap();
        assert_eq!(found, symmetrize(&a, Symmetrization::Average).unwrap());
    }

    #[test]
    fn negative_and_vanishing_affinities_are_rejected() {
        let graph = |a: f64, b: f64| Csr::from_triplets(2, 2, [(0, 1, a), (1, 0, b)]).unwrap();
        assert!(precomputed_affinities(&graph(1.0, -1.0)).is_err());
        assert!(precomputed_affinities(&graph(1.0, f64::NAN)).is_err());
        assert!(joint_affinities(precomputed_affinities(&graph(0.0, 0.0)).unwrap()).is_err());
        assert_eq!(precomputed_affinities(&graph(4.0, 0.5)).unwrap().values(), [1.0, 1.0]);
    }
}
