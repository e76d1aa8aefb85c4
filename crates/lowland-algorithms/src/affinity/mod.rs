//! Affinities: weights of the attraction between neighbors, first row by row, then as one symmetric matrix of sum one.

mod device;
mod entropic;
mod perplexity;
mod transpose_average;

use lowland_core::params::param_enum;
use lowland_core::{Error, Result};
use lowland_linalg::Csr;
use lowland_neighbors::NeighborGraph;
use lowland_neighbors::graph::edge_lengths;

pub use entropic::{EntropicAffinities, entropic_affinities, entropic_row};
pub use perplexity::Perplexities;
use transpose_average::average_with_transpose;

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

/// Returns the joint affinities of a neighbor graph, and the graph if it is to be kept: for a million points it takes a gigabyte,
/// and so do the affinities.
pub fn joint_affinities_of_graph(
    graph: NeighborGraph,
    kind: AffinityKind,
    perplexity: &Perplexities,
    keep_graph: bool,
) -> Result<(Csr, Option<NeighborGraph>)> {
    if kind == AffinityKind::Entropic
        && let Some(joint) = device::joint_entropic_affinities(&graph, perplexity)?
    {
        return Ok((joint, keep_graph.then_some(graph)));
    }
    let lengths = edge_lengths(&graph)?;
    let graph = keep_graph.then_some(graph);
    Ok((joint_affinities(affinities_from_distances(lengths, kind, perplexity)?)?, graph))
}

/// Returns `(P + P') / 2`, scaled to sum to one, without entries that are zero.
pub fn joint_affinities(rows: Csr) -> Result<Csr> {
    let mut joint = average_with_transpose(&rows)?;
    drop(rows);
    let total: f64 = joint.values().iter().sum();
    if !(total > 0.0 && total.is_finite()) {
        let reason = format!("the weights sum to {total}: at least one must be positive");
        return Err(Error::Format { what: "graph of affinities", reason });
    }
    joint.scale(1.0 / total);
    joint.retain(|i, j, w| i != j && w > 0.0);
    Ok(joint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joint_affinities_are_symmetric_and_sum_to_one() {
        let rows = Csr::from_triplets(3, 3, [(0, 1, 0.7), (0, 2, 0.3), (1, 0, 1.0), (2, 1, 1.0)]).unwrap();
        let joint = joint_affinities(rows).unwrap();
        assert!(joint.is_symmetric());
        assert!((joint.values().iter().sum::<f64>() - 1.0).abs() < 1e-15);
        assert!((joint.get(0, 1) - 1.7 / 6.0).abs() < 1e-15);
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
