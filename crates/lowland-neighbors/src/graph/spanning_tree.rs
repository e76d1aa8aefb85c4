//! Edges and minimum spanning trees.

use super::components::DisjointSets;
use lowland_core::{Error, Result};
use lowland_linalg::Csr;

/// An undirected edge with `from < to`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Edge {
    /// Lower end.
    pub from: u32,
    /// Higher end.
    pub to: u32,
    /// Length.
    pub length: f64,
}

impl Edge {
    /// Creates an edge between two points given in any order. NaN counts as an infinite length.
    pub fn new(i: usize, j: usize, length: f64) -> Self {
        let length = if length.is_nan() { f64::INFINITY } else { length };
        Self { from: i.min(j) as u32, to: i.max(j) as u32, length }
    }

    /// Total order of edges: by length, then by ends. No two edges tie, so every choice is unique.
    pub fn order(&self, other: &Self) -> std::cmp::Ordering {
        let by_length = self.length.total_cmp(&other.length);
        by_length.then(self.from.cmp(&other.from)).then(self.to.cmp(&other.to))
    }
}

/// Returns the edges stored in a square matrix of lengths, in either direction, without self loops.
pub fn undirected_edges(lengths: &Csr) -> Vec<Edge> {
    lengths.iter().filter(|(i, j, _)| i != j).map(|(i, j, length)| Edge::new(i, j, length)).collect()
}

/// Returns the spanning tree of least total length, or one tree for each component (Kruskal), shortest edge first. Ties
/// go to the lower ends, so every point is joined to its nearest neighbor (ties by index).
pub fn minimum_spanning_forest(points: usize, mut edges: Vec<Edge>) -> Result<Vec<Edge>> {
    if let Some(edge) = edges.iter().find(|edge| edge.to as usize >= points) {
        return Err(Error::Format { what: "graph", reason: format!("an edge names point {} of {points}", edge.to) });
    }
    edges.sort_unstable_by(Edge::order);
    let mut sets = DisjointSets::new(points);
    edges.retain(|edge| sets.unite(edge.from as usize, edge.to as usize));
    Ok(edges)
}

/// Adds edges in both directions to a square matrix of lengths; stored entries are kept.
pub fn add_edges(lengths: &Csr, edges: &[Edge]) -> Result<Csr> {
    let both = edges.iter().flat_map(|e| [(e.from, e.to, e.length), (e.to, e.from, e.length)]);
    let added = Csr::from_triplets(lengths.rows(), lengths.columns(), both)?;
    lengths.merge(&added, |old, new| old.or(new))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_tree_is_as_short_as_prims_and_contains_every_nearest_neighbor(lengths in prop::collection::vec(0u8..6, 36)) {
            // A complete graph on 9 points with many ties.
            let mut table = [[0.0; 9]; 9];
            let mut edges = Vec::new();
            let mut next = lengths.into_iter();
            for i in 0..9 { for j in 0..i {
                let length = f64::from(next.next().unwrap());
                table[i][j] = length;
                table[j][i] = length;
                edges.push(Edge::new(i, j, length));
            } }
            let tree = minimum_spanning_forest(9, edges).unwrap();
            prop_assert_eq!(tree.len(), 8);
            let mut inside = vec![0];
            let mut total = 0.0;
            while inside.len() < 9 {
                let outside = (0..9).filter(|j| !inside.contains(j));
                let (length, j) = outside.map(|j| (inside.iter().map(|&i: &usize| table[i][j]).fold(f64::INFINITY, f64::min), j))
                    .min_by(|a, b| a.0.total_cmp(&b.0)).unwrap();
                total += length;
                inside.push(j);
            }
            prop_assert_eq!(tree.iter().map(|e| e.length).sum::<f64>(), total);
            for i in 0..9 {
                let nearest = (0..9).filter(|&j| j != i).min_by(|&a, &b| table[i][a].total_cmp(&table[i][b])).unwrap();
                let (from, to) = (i.min(nearest) as u32, i.max(nearest) as u32);
                prop_assert!(tree.iter().any(|e| (e.from, e.to) == (from, to)));
            }
        }
    }

    #[test]
    fn separate_parts_give_a_forest_and_bad_edges_an_error() {
        let edges = vec![Edge::new(0, 1, 2.0), Edge::new(2, 3, f64::NAN), Edge::new(1, 0, 1.0)];
        let forest = minimum_spanning_forest(5, edges.clone()).unwrap();
        assert_eq!(forest.iter().map(|e| (e.from, e.to)).collect::<Vec<_>>(), [(0, 1), (2, 3)]);
        assert_eq!(forest[0].length, 1.0);
        assert!(minimum_spanning_forest(3, edges).is_err());
    }

    #[test]
    fn added_edges_do_not_overwrite() {
        let lengths = Csr::from_triplets(3, 3, [(0, 1, 5.0)]).unwrap();
        let joined = add_edges(&lengths, &[Edge::new(1, 0, 7.0), Edge::new(2, 1, 3.0)]).unwrap();
        let entries: Vec<_> = joined.iter().collect();
        assert_eq!(entries, [(0, 1, 5.0), (1, 0, 7.0), (1, 2, 3.0), (2, 1, 3.0)]);
    }
}
