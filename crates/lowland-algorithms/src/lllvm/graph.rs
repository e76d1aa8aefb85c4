//! The neighbor graph of the model.

use lowland_core::archive::Archive;
use lowland_core::{Error, Result};
use lowland_linalg::Csr;
use lowland_neighbors::graph::ConnectedComponents;

/// A connected, symmetric, unweighted graph.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelGraph {
    starts: Vec<usize>,
    neighbors: Vec<u32>,
}

impl ModelGraph {
    /// Builds the graph from the off-diagonal pattern of a symmetric matrix.
    pub fn new(edges: &Csr) -> Result<Self> {
        let n = edges.rows();
        let graph = edges.filter(|i, j, _| i != j).map(|_, _, _| 1.0);
        if !graph.is_symmetric() {
            return Err(Error::Format { what: "neighbor graph", reason: "it is not symmetric".into() });
        }
        let parts = ConnectedComponents::from_matrix(&graph).count();
        if parts != 1 {
            let reason = format!("it has {n} points in {parts} parts; one part is needed");
            return Err(Error::Format { what: "neighbor graph", reason });
        }
        Ok(Self { starts: graph.indptr().to_vec(), neighbors: graph.indices().to_vec() })
    }

    /// Number of points.
    pub fn points(&self) -> usize {
        self.starts.len() - 1
    }

    /// The neighbors of a point, in ascending order.
    pub fn neighbors(&self, i: usize) -> &[u32] {
        &self.neighbors[self.starts[i]..self.starts[i + 1]]
    }

    /// Every edge once, with the smaller index first.
    pub fn edges(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let larger = move |i: usize| self.neighbors(i).iter().map(move |&j| (i, j as usize)).filter(|(i, j)| i < j);
        (0..self.points()).flat_map(larger)
    }

    /// The Laplacian.
    pub fn laplacian(&self) -> Csr {
        let n = self.points();
        let entries = (0..n).flat_map(|i| {
            let own = (i as u32, i as u32, self.neighbors(i).len() as f64);
            self.neighbors(i).iter().map(move |&j| (i as u32, j, -1.0)).chain([own])
        });
        Csr::from_triplets(n, n, entries).expect("indices below n")
    }

    /// Writes the graph under `name/`.
    pub(super) fn save(&self, name: &str, archive: &mut Archive) {
        archive.put(format!("{name}/starts"), self.starts.iter().map(|&at| at as u64).collect::<Vec<_>>());
        archive.put(format!("{name}/neighbors"), self.neighbors.as_slice());
    }

    /// Reads the graph of `n` points that [`Self::save`] has written.
    pub(super) fn load(name: &str, archive: &Archive, n: usize) -> Result<Self> {
        let starts: Vec<usize> = archive.u64s(&format!("{name}/starts"))?.iter().map(|&at| at as usize).collect();
        let neighbors = archive.u32s(&format!("{name}/neighbors"))?.to_vec();
        let ones = vec![1.0; neighbors.len()];
        let edges = Csr::new(starts, neighbors, ones, n)?;
        if edges.rows() != n {
            return Err(archive.invalid(format!("'{name}' is not a graph of {n} points")));
        }
        Self::new(&edges)
    }

    /// `tr(L Z Z')` for rows `z`: the sum over edges of squared differences.
    pub(super) fn roughness(&self, z: &[f64], columns: usize) -> f64 {
        let difference = |(i, j): (usize, usize)| -> f64 {
            let (a, b) = (&z[i * columns..(i + 1) * columns], &z[j * columns..(j + 1) * columns]);
            a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum()
        };
        self.edges().map(difference).sum()
    }
}
