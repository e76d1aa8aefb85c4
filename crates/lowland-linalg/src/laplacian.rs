//! Graph Laplacians of symmetric weights.

use rayon::prelude::*;

use super::block::CHUNK;
use super::{Csr, SymmetricOperator};
use lowland_core::{Error, Result};

/// Kind of Laplacian.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LaplacianKind {
    /// `L = D - W`.
    Plain,
    /// `I - D^(-1/2) W D^(-1/2)`; its eigenvalues lie between 0 and 2.
    Normalized,
}

/// Laplacian of a graph with symmetric weights. Self loops do not contribute and are dropped.
#[derive(Debug, Clone)]
pub struct Laplacian {
    kind: LaplacianKind,
    /// `W`, or `D^(-1/2) W D^(-1/2)`.
    links: Csr,
    degrees: Vec<f64>,
    /// `D`, or the identity (0 for a point without edges).
    diagonal: Vec<f64>,
}

impl Laplacian {
    /// Builds the Laplacian; an error unless the weights are symmetric, finite and not negative.
    pub fn new(weights: &Csr, kind: LaplacianKind) -> Result<Self> {
        let bad = |reason: String| Err(Error::Format { what: "graph", reason });
        if let Some((i, j, w)) = weights.iter().find(|&(_, _, w)| !(w >= 0.0 && w.is_finite())) {
            return bad(format!("the weight between {i} and {j} is {w}; weights are finite and not negative"));
        }
        if !weights.is_symmetric() {
            return bad("the weights are not symmetric".into());
        }
        let mut links = weights.filter(|i, j, w| i != j && w > 0.0);
        let degrees = links.row_sums();
        if let Some(i) = degrees.iter().position(|d| !d.is_finite()) {
            return bad(format!("the weights of point {i} sum to infinity"));
        }
        let diagonal = match kind {
            LaplacianKind::Plain => degrees.clone(),
            LaplacianKind::Normalized => {
                // A square root for each, since the product of two degrees could leave the range.
                links = links.map(|i, j, w| w / degrees[i].sqrt() / degrees[j].sqrt());
                degrees.iter().map(|&d| if d > 0.0 { 1.0 } else { 0.0 }).collect()
            }
        };
        Ok(Self { kind, links, degrees, diagonal })
    }

    /// Kind of Laplacian.
    pub fn kind(&self) -> LaplacianKind {
        self.kind
    }

    /// Sum of the weights of each point.
    pub fn degrees(&self) -> &[f64] {
        &self.degrees
    }

    /// Diagonal of the matrix.
    pub fn diagonal(&self) -> &[f64] {
        &self.diagonal
    }

    /// Negated off-diagonal part.
    pub fn links(&self) -> &Csr {
        &self.links
    }

    /// Unit vector in the null space of the Laplacian of a connected graph: constant, or `D^(1/2) 1`.
    pub fn null_vector(&self) -> Vec<f64> {
        let total: f64 = match self.kind {
            LaplacianKind::Plain => self.dim() as f64,
            LaplacianKind::Normalized => self.degrees.iter().sum(),
        };
        match self.kind {
            LaplacianKind::Plain => vec![(1.0 / total).sqrt(); self.dim()],
            LaplacianKind::Normalized => self.degrees.iter().map(|d| (d / total).sqrt()).collect(),
        }
    }
}

impl SymmetricOperator for Laplacian {
    fn dim(&self) -> usize {
        self.degrees.len()
    }

    fn apply(&self, x: &[f64], columns: usize, out: &mut [f64]) {
        if columns == 0 {
            return;
        }
        self.links.multiply(x, columns, out);
        let width = CHUNK * columns;
        out.par_chunks_mut(width).zip(x.par_chunks(width)).zip(self.diagonal.par_chunks(CHUNK)).for_each(
            |((out, x), diagonal)| {
                let rows = out.chunks_exact_mut(columns).zip(x.chunks_exact(columns)).zip(diagonal);
                for ((out, x), d) in rows {
                    out.iter_mut().zip(x).for_each(|(o, x)| *o = d * x - *o);
                }
            },
        );
    }

    fn norm(&self) -> f64 {
        2.0 * self.diagonal.iter().fold(0.0f64, |m, d| m.max(*d))
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A graph with both directions of each edge.
    pub fn graph(n: usize, edges: impl IntoIterator<Item = (u32, u32, f64)>) -> Csr {
        Csr::from_triplets(n, n, edges.into_iter().flat_map(|(i, j, w)| [(i, j, w), (j, i, w)])).unwrap()
    }

    /// A path with ends 0 and `n - 1`.
    pub fn path(n: usize) -> Csr {
        graph(n, (1..n as u32).map(|i| (i - 1, i, 1.0)))
    }

    /// A grid of `rows` times `columns` points.
    pub fn grid(rows: u32, columns: u32) -> Csr {
        let right = (0..rows).flat_map(move |r| (1..columns).map(move |c| (r * columns + c - 1, r * columns + c, 1.0)));
        let down =
            (1..rows).flat_map(move |r| (0..columns).map(move |c| ((r - 1) * columns + c, r * columns + c, 1.0)));
        graph((rows * columns) as usize, right.chain(down))
    }

    #[test]
    fn the_laplacian_maps_its_null_vector_to_zero_and_matches_the_matrix() {
        let weights = graph(4, [(0, 1, 2.0), (1, 2, 0.5), (0, 2, 1.0), (2, 3, 4.0), (1, 1, 9.0)]);
        for kind in [LaplacianKind::Plain, LaplacianKind::Normalized] {
            let laplacian = Laplacian::new(&weights, kind).unwrap();
            let mut image = vec![1.0; 4];
            laplacian.apply(&laplacian.null_vector(), 1, &mut image);
            assert!(image.iter().all(|v| v.abs() < 1e-15), "{image:?}");
        }
        let mut image = vec![0.0; 8];
        let plain = Laplacian::new(&weights, LaplacianKind::Plain).unwrap();
        plain.apply(&[1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0], 2, &mut image);
        assert_eq!(image, [3.0, -2.0, -2.0, 2.5, -1.0, -0.5, 0.0, 0.0]);
    }

    #[test]
    fn asymmetric_or_negative_weights_are_rejected() {
        let one_way = Csr::from_triplets(2, 2, [(0, 1, 1.0)]).unwrap();
        assert!(Laplacian::new(&one_way, LaplacianKind::Plain).is_err());
        for w in [-1.0, f64::NAN, f64::INFINITY] {
            assert!(Laplacian::new(&graph(2, [(0, 1, w)]), LaplacianKind::Plain).is_err());
        }
    }
}
