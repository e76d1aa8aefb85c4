//! Neighbor graphs of a selection of rows.

use std::borrow::Cow;

use lowland_core::run::Progress;
use lowland_core::{Data, Metric, Result};
use lowland_neighbors::{NeighborGraph, nearest_to_with};

/// Returns whether a graph is over these `n` points and has at least `k` neighbors for each.
pub(super) fn has_neighbors(graph: &NeighborGraph, n: usize, k: usize) -> bool {
    graph.rows() == n && graph.targets() == n && graph.min_degree() >= k
}

/// Selects `rows` (ascending) of a graph over all rows.
pub(super) fn select_rows<'g>(graph: &'g NeighborGraph, rows: &[u32]) -> Cow<'g, NeighborGraph> {
    if rows.len() == graph.rows() {
        return Cow::Borrowed(graph);
    }
    let k = graph.min_degree();
    let (indices, distances) = rows.iter().fold((Vec::new(), Vec::new()), |(mut indices, mut distances), &i| {
        let (columns, lengths) = graph.row(i as usize);
        indices.extend_from_slice(&columns[..k]);
        distances.extend_from_slice(&lengths[..k]);
        (indices, distances)
    });
    Cow::Owned(NeighborGraph::uniform(k, indices, distances, graph.targets(), graph.metric()).expect("rows of a graph"))
}

/// Returns the `k` nearest of some rows among all, without the row itself.
pub(super) fn neighbors_of_rows(
    data: &Data,
    rows: &[u32],
    k: usize,
    metric: Metric,
    progress: &mut Progress,
) -> Result<NeighborGraph> {
    let wanted: Vec<usize> = rows.iter().map(|&i| i as usize).collect();
    let found = nearest_to_with(&data.select(&wanted), data, k + 1, metric, progress)?;
    let (mut indices, mut distances) = (Vec::with_capacity(rows.len() * k), Vec::with_capacity(rows.len() * k));
    for (s, &i) in rows.iter().enumerate() {
        let (columns, lengths) = found.row(s);
        // Among many duplicates the row itself may not have been found; then the last of the k + 1 is dropped.
        let others = columns.iter().zip(lengths).filter(|(j, _)| **j != i).take(k);
        others.for_each(|(&j, &d)| {
            indices.push(j);
            distances.push(d);
        });
    }
    NeighborGraph::uniform(k, indices, distances, data.rows(), metric)
}
