//! Edge lengths and symmetric weights of a neighbor graph.

use crate::NeighborGraph;
use lowland_core::{Error, Result};
use lowland_linalg::Csr;

/// How two directed edges are combined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Symmetrization {
    /// An edge if either direction has one; the larger of two values.
    Union,
    /// An edge if both directions have one; the smaller value.
    Mutual,
    /// `(A + A') / 2`.
    Average,
}

/// Returns the distances of a neighbor graph as a square matrix. Self loops are left out; of repeated edges the shorter
/// counts.
pub fn edge_lengths(graph: &NeighborGraph) -> Result<Csr> {
    if graph.rows() != graph.targets() {
        return Err(Error::Shape {
            what: "neighbors among the rows themselves",
            expected: graph.rows(),
            found: graph.targets(),
        });
    }
    let edges = graph.indices().len();
    let (mut indptr, mut indices, mut values) = (vec![0], Vec::with_capacity(edges), Vec::with_capacity(edges));
    let mut row: Vec<(u32, f32)> = Vec::new();
    for i in 0..graph.rows() {
        let (columns, distances) = graph.row(i);
        row.clear();
        row.extend(columns.iter().copied().zip(distances.iter().copied()).filter(|(j, _)| *j as usize != i));
        // The sort is stable, so of equal columns the nearer stays first.
        row.sort_by_key(|entry| entry.0);
        row.dedup_by_key(|entry| entry.0);
        indices.extend(row.iter().map(|entry| entry.0));
        values.extend(row.iter().map(|entry| f64::from(entry.1)));
        indptr.push(indices.len());
    }
    Csr::new(indptr, indices, values, graph.rows())
}

/// Makes a matrix symmetric.
pub fn symmetrize(matrix: &Csr, how: Symmetrization) -> Result<Csr> {
    matrix.merge(&matrix.transpose(), |here, there| match (how, here, there) {
        (Symmetrization::Union, Some(a), Some(b)) => Some(a.max(b)),
        (Symmetrization::Union, a, b) => a.or(b),
        (Symmetrization::Mutual, Some(a), Some(b)) => Some(a.min(b)),
        (Symmetrization::Mutual, _, _) => None,
        (Symmetrization::Average, a, b) => Some(0.5 * a.unwrap_or(0.0) + 0.5 * b.unwrap_or(0.0)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use lowland_core::Metric;

    #[test]
    fn symmetrization_by_union_intersection_and_average() {
        let a = Csr::from_triplets(3, 3, [(0, 1, 4.0), (1, 0, 2.0), (1, 2, 6.0), (2, 2, 1.0)]).unwrap();
        let entries = |how| symmetrize(&a, how).unwrap().iter().collect::<Vec<_>>();
        assert_eq!(entries(Symmetrization::Union), [(0, 1, 4.0), (1, 0, 4.0), (1, 2, 6.0), (2, 1, 6.0), (2, 2, 1.0)]);
        assert_eq!(entries(Symmetrization::Mutual), [(0, 1, 2.0), (1, 0, 2.0), (2, 2, 1.0)]);
        assert_eq!(entries(Symmetrization::Average), [(0, 1, 3.0), (1, 0, 3.0), (1, 2, 3.0), (2, 1, 3.0), (2, 2, 1.0)]);
    }

    #[test]
    fn lengths_leave_out_self_loops_and_keep_the_shorter_of_two() {
        let graph =
            NeighborGraph::uniform(3, vec![1, 0, 1, 0, 0, 1], vec![3.0, 0.0, 2.0, 1.0, 1.0, 0.0], 2, Metric::Euclidean);
        let matrix = edge_lengths(&graph.unwrap()).unwrap();
        assert_eq!(matrix.iter().collect::<Vec<_>>(), [(0, 1, 2.0), (1, 0, 1.0)]);
        let other = NeighborGraph::uniform(1, vec![4], vec![1.0], 5, Metric::Euclidean).unwrap();
        assert!(edge_lengths(&other).is_err());
    }
}
