//! From neighbours to symmetric weights.

use crate::NeighborGraph;
use lowland_core::{Error, Result};
use lowland_linalg::Csr;

/// How two directed edges become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Symmetrization {
    /// An edge where either direction has one; of two values, the larger.
    Union,
    /// An edge where both directions have one; the smaller value.
    Mutual,
    /// `(A + A') / 2`.
    Average,
}

/// The graph as a square matrix: each edge from a row to its neighbour with its distance. A row's edge to itself is left
/// out; of an edge named twice the shorter counts.
pub fn edge_lengths(graph: &NeighborGraph) -> Result<Csr> {
    if graph.rows() != graph.targets() {
        return Err(Error::Shape {
            what: "neighbours among the rows themselves",
            expected: graph.rows(),
            found: graph.targets(),
        });
    }
    let (mut indptr, mut indices, mut values) = (vec![0], Vec::with_capacity(graph.indices().len()), Vec::new());
    let mut row: Vec<(u32, f32)> = Vec::new();
    for i in 0..graph.rows() {
        let (columns, distances) = graph.row(i);
        row.clear();
        row.extend(columns.iter().copied().zip(distances.iter().copied()).filter(|(j, _)| *j as usize != i));
        // Stable: of equal columns the nearer stays first.
        row.sort_by_key(|entry| entry.0);
        row.dedup_by_key(|entry| entry.0);
        indices.extend(row.iter().map(|entry| entry.0));
        values.extend(row.iter().map(|entry| f64::from(entry.1)));
        indptr.push(indices.len());
    }
    Csr::new(indptr, indices, values, graph.rows())
}

/// A symmetric matrix from one that is not.
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
    fn the_three_ways_to_symmetry() {
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
