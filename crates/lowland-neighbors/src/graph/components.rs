//! Connected components.

use crate::NeighborGraph;
use lowland_linalg::Csr;

/// Connected components of a graph, numbered in the order of their first points.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Components {
    labels: Vec<u32>,
    sizes: Vec<usize>,
}

impl Components {
    /// Components of `points` points joined by edges of any direction.
    pub(crate) fn from_edges(points: usize, edges: impl IntoIterator<Item = (usize, usize)>) -> Self {
        let mut sets = DisjointSets::new(points);
        edges.into_iter().for_each(|(i, j)| {
            sets.unite(i, j);
        });
        sets.components()
    }

    /// Components of a square matrix, in which each stored entry is an edge of any value and direction.
    pub fn from_matrix(matrix: &Csr) -> Self {
        Self::from_edges(matrix.rows(), matrix.iter().map(|(i, j, _)| (i, j)))
    }

    /// Components of a neighbor graph over its own rows, ignoring the direction of edges.
    pub fn from_neighbors(graph: &NeighborGraph) -> Self {
        let edges = (0..graph.rows()).flat_map(|i| graph.row(i).0.iter().map(move |&j| (i, j as usize)));
        Self::from_edges(graph.rows().max(graph.targets()), edges)
    }

    /// Component of each point.
    pub fn labels(&self) -> &[u32] {
        &self.labels
    }

    /// Number of points in each component.
    pub fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    /// Number of components.
    pub fn count(&self) -> usize {
        self.sizes.len()
    }

    /// Returns the component with the most points; the first of several.
    pub fn largest(&self) -> Option<usize> {
        (0..self.count()).rev().max_by_key(|&c| self.sizes[c])
    }

    /// Returns the points of a component, ascending.
    pub fn members(&self, component: usize) -> Vec<usize> {
        (0..self.labels.len()).filter(|&i| self.labels[i] as usize == component).collect()
    }
}

/// Union-find with path halving, in which the smaller root is kept.
pub(super) struct DisjointSets {
    parent: Vec<u32>,
}

impl DisjointSets {
    pub(super) fn new(points: usize) -> Self {
        Self { parent: (0..points as u32).collect() }
    }

    pub(super) fn root(&mut self, mut i: usize) -> usize {
        while self.parent[i] as usize != i {
            self.parent[i] = self.parent[self.parent[i] as usize];
            i = self.parent[i] as usize;
        }
        i
    }

    /// Merges the sets of two points; returns whether they were separate.
    pub(super) fn unite(&mut self, i: usize, j: usize) -> bool {
        let (i, j) = (self.root(i), self.root(j));
        self.parent[i.max(j)] = i.min(j) as u32;
        i != j
    }

    pub(super) fn components(&mut self) -> Components {
        let mut labels = vec![0u32; self.parent.len()];
        let mut sizes = Vec::new();
        // A root is the smallest of its set, so its number is known before the others need it.
        for i in 0..labels.len() {
            let root = self.root(i);
            if root == i {
                labels[i] = sizes.len() as u32;
                sizes.push(0);
            } else {
                labels[i] = labels[root];
            }
            sizes[labels[i] as usize] += 1;
        }
        Components { labels, sizes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn components_are_numbered_by_their_first_points() {
        let parts = Components::from_edges(6, [(5, 1), (3, 4), (4, 2)]);
        assert_eq!(parts.labels(), [0, 1, 2, 2, 2, 1]);
        assert_eq!(parts.sizes(), [1, 2, 3]);
        assert_eq!(parts.largest(), Some(2));
        assert_eq!(parts.members(1), [1, 5]);
        assert_eq!(Components::from_edges(0, []).largest(), None);
    }

    proptest! {
        #[test]
        fn two_points_share_a_component_exactly_if_a_path_joins_them(edges in prop::collection::vec((0usize..9, 0usize..9), 0..10)) {
            let parts = Components::from_edges(9, edges.clone());
            let mut reach = [[false; 9]; 9];
            (0..9).for_each(|i| reach[i][i] = true);
            edges.iter().for_each(|&(i, j)| { reach[i][j] = true; reach[j][i] = true; });
            for k in 0..9 { for i in 0..9 { for j in 0..9 { reach[i][j] |= reach[i][k] && reach[k][j]; } } }
            for i in 0..9 { for j in 0..9 { prop_assert_eq!(reach[i][j], parts.labels()[i] == parts.labels()[j]); } }
        }
    }
}
