//! The neighbor graph: computed once and accepted by every method.

use super::distance::by_distance_then_index;
use lowland_core::archive::Archive;
use lowland_core::{Error, Metric, Result};

/// A directed graph that lists the neighbors of each row from near to far, without the row itself. Ties are ordered by
/// index.
///
/// The rows and the points their neighbors are taken from may differ: `transform` searches for the training points near
/// new rows.
#[derive(Debug, Clone, PartialEq)]
pub struct NeighborGraph {
    indptr: Vec<usize>,
    indices: Vec<u32>,
    distances: Vec<f32>,
    targets: usize,
    metric: Metric,
}

impl NeighborGraph {
    /// Builds a graph from its arrays. `indptr` must ascend from 0 to the number of edges, indices must be below
    /// `targets`, and distances finite and not negative. Rows are sorted by distance, then index.
    pub fn new(
        indptr: Vec<usize>,
        indices: Vec<u32>,
        distances: Vec<f32>,
        targets: usize,
        metric: Metric,
    ) -> Result<Self> {
        let bad = |reason: String| Err(Error::Format { what: "neighbor graph", reason });
        if indptr.first() != Some(&0) || indptr.last() != Some(&indices.len()) || indptr.windows(2).any(|w| w[0] > w[1])
        {
            return bad(format!("indptr must rise from 0 to the number of edges, {}", indices.len()));
        }
        if indices.len() != distances.len() {
            return bad(format!("{} indices but {} distances", indices.len(), distances.len()));
        }
        let mut graph = Self { indptr, indices, distances, targets, metric };
        for i in 0..graph.rows() {
            let (columns, lengths) = graph.row(i);
            if let Some(j) = columns.iter().find(|&&j| j as usize >= targets) {
                return bad(format!("row {i} names point {j}, there are {targets}"));
            }
            if let Some(d) = lengths.iter().find(|d| !(d.is_finite() && **d >= 0.0)) {
                return bad(format!("row {i} has the distance {d}; distances are finite and not negative"));
            }
            let mut edges: Vec<(f32, u32)> = lengths.iter().copied().zip(columns.iter().copied()).collect();
            if !edges.is_sorted_by(|a, b| a <= b) {
                edges.sort_by(by_distance_then_index);
                let start = graph.indptr[i];
                for (offset, (d, j)) in edges.into_iter().enumerate() {
                    graph.distances[start + offset] = d;
                    graph.indices[start + offset] = j;
                }
            }
        }
        Ok(graph)
    }

    /// Builds a graph from the arrays of another program: like [`NeighborGraph::new`], and no row may have a neighbor twice.
    pub fn from_other_program(
        indptr: Vec<usize>,
        indices: Vec<u32>,
        distances: Vec<f32>,
        targets: usize,
        metric: Metric,
    ) -> Result<Self> {
        let graph = Self::new(indptr, indices, distances, targets, metric)?;
        let mut last_row = vec![usize::MAX; targets];
        for i in 0..graph.rows() {
            for &j in graph.row(i).0 {
                if std::mem::replace(&mut last_row[j as usize], i) == i {
                    let reason =
                        format!("row {i} has the neighbor {j} twice; the arrays are indices first, then distances");
                    return Err(Error::Format { what: "neighbor graph", reason });
                }
            }
        }
        Ok(graph)
    }

    /// Returns the graph with another name of the metric that its distances are of.
    pub(super) fn with_metric(self, metric: Metric) -> Self {
        Self { metric, ..self }
    }

    /// Builds a graph with `k` neighbors in every row, from rows laid end to end.
    pub fn uniform(k: usize, indices: Vec<u32>, distances: Vec<f32>, targets: usize, metric: Metric) -> Result<Self> {
        let rows = indices.len().checked_div(k).unwrap_or(0);
        if rows * k != indices.len() {
            return Err(Error::Shape { what: "neighbors", expected: rows * k, found: indices.len() });
        }
        Self::new((0..=rows).map(|i| i * k).collect(), indices, distances, targets, metric)
    }

    /// Returns the neighbors and distances of row `i`.
    pub fn row(&self, i: usize) -> (&[u32], &[f32]) {
        let range = self.indptr[i]..self.indptr[i + 1];
        (&self.indices[range.clone()], &self.distances[range])
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.indptr.len() - 1
    }

    /// Number of points from which the neighbors are taken.
    pub fn targets(&self) -> usize {
        self.targets
    }

    /// Start of each row in the arrays; one entry more than there are rows.
    pub fn indptr(&self) -> &[usize] {
        &self.indptr
    }

    /// Neighbors of all rows, laid end to end.
    pub fn indices(&self) -> &[u32] {
        &self.indices
    }

    /// Distances of all rows, laid end to end.
    pub fn distances(&self) -> &[f32] {
        &self.distances
    }

    /// Metric of the distances.
    pub fn metric(&self) -> Metric {
        self.metric
    }

    /// Smallest number of neighbors of a row.
    pub fn min_degree(&self) -> usize {
        self.indptr.windows(2).map(|w| w[1] - w[0]).min().unwrap_or(0)
    }

    /// Returns a graph with only the nearest `k` neighbors of every row.
    pub fn truncate(&self, k: usize) -> Self {
        let mut indptr = vec![0];
        let (mut indices, mut distances) = (Vec::new(), Vec::new());
        for i in 0..self.rows() {
            let (columns, lengths) = self.row(i);
            let keep = k.min(columns.len());
            indices.extend_from_slice(&columns[..keep]);
            distances.extend_from_slice(&lengths[..keep]);
            indptr.push(indices.len());
        }
        Self { indptr, indices, distances, targets: self.targets, metric: self.metric }
    }

    /// Saves the graph under `name/`.
    pub fn save(&self, name: &str, archive: &mut Archive) {
        archive.put(format!("{name}/indptr"), self.indptr.iter().map(|&v| v as u64).collect::<Vec<_>>());
        archive.put(format!("{name}/indices"), self.indices.as_slice());
        archive.put(format!("{name}/distances"), self.distances.as_slice());
        archive.put(format!("{name}/targets"), self.targets as u64);
        archive.put(format!("{name}/metric"), self.metric.to_string().as_str());
    }

    /// Loads a graph saved under `name/`.
    pub fn load(name: &str, archive: &Archive) -> Result<Self> {
        Self::new(
            archive.sizes(&format!("{name}/indptr"))?,
            archive.u32s(&format!("{name}/indices"))?.to_vec(),
            archive.f32s(&format!("{name}/distances"))?.to_vec(),
            archive.size(&format!("{name}/targets"))?,
            archive.text(&format!("{name}/metric"))?.parse()?,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_sorted_and_invalid_arrays_are_rejected() {
        let build = |indices: Vec<u32>, distances: Vec<f32>| {
            NeighborGraph::uniform(2, indices, distances, 3, Metric::Euclidean)
        };
        let graph = build(vec![2, 1, 0, 2], vec![2.0, 1.0, 1.0, 1.0]).unwrap();
        assert_eq!(graph.row(0), (&[1, 2][..], &[1.0, 2.0][..]));
        assert_eq!(graph.truncate(1).row(1), (&[0][..], &[1.0][..]));
        assert!(build(vec![3, 1], vec![0.0, 0.0]).is_err());
        assert!(build(vec![0, 1], vec![f32::NAN, 0.0]).is_err());
        assert!(build(vec![0, 1], vec![-1.0, 0.0]).is_err());
        let uneven = build(vec![0, 1, 2], vec![0.0; 3]);
        assert!(matches!(uneven, Err(Error::Shape { expected: 2, found: 3, .. })), "{uneven:?}");
    }

    #[test]
    fn a_graph_of_another_program_has_each_neighbor_once() {
        let build = |indices| {
            NeighborGraph::from_other_program(vec![0, 2, 4, 4], indices, vec![1.0; 4], 3, Metric::Precomputed)
        };
        assert!(build(vec![1, 2, 0, 2]).is_ok());
        // Distances in the place of indices repeat.
        let error = build(vec![1, 2, 0, 0]).unwrap_err().to_string();
        assert!(error.contains("row 1 has the neighbor 0 twice"), "{error}");
    }

    #[test]
    fn graphs_round_trip_through_an_archive_and_give_their_arrays() {
        // Rows of different lengths.
        let (indptr, indices, distances) = (vec![0, 2, 3], vec![1, 3, 0], vec![0.5, 2.0, 0.25]);
        let graph = NeighborGraph::new(indptr.clone(), indices.clone(), distances.clone(), 4, Metric::Cosine).unwrap();
        let mut archive = Archive::new(lowland_core::archive::ArchiveKind::Model);
        graph.save("graph", &mut archive);
        for graph in [&graph, &NeighborGraph::load("graph", &archive).unwrap()] {
            assert_eq!((graph.indptr(), graph.indices()), (&indptr[..], &indices[..]));
            assert_eq!((graph.distances(), graph.metric()), (&distances[..], Metric::Cosine));
            assert_eq!((graph.rows(), graph.targets(), graph.min_degree()), (2, 4, 1));
        }
        assert!(NeighborGraph::load("other", &archive).is_err());
    }
}
