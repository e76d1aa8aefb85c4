//! Entry points of the neighbor search: rows among themselves, and new rows against data.

use std::fmt;

use super::exact::{search_queries, search_self};
use super::{NeighborGraph, NeighborParams, Search, approximate, device, precomputed};
use lowland_core::message::Remedy;
use lowland_core::run::Progress;
use lowland_core::{Data, Error, Metric, Result};

/// How the neighbors were found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SearchAlgorithm {
    /// All pairs were compared.
    Exact,
    /// Nearest-neighbor descent.
    Descent,
    /// Candidates were the nearest rows along the principal directions of the data.
    Projection,
    /// Distances were read from a precomputed matrix.
    Precomputed,
}

impl fmt::Display for SearchAlgorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SearchAlgorithm::Exact => "exact",
            SearchAlgorithm::Descent => "nearest-neighbor descent",
            SearchAlgorithm::Projection => "projection",
            SearchAlgorithm::Precomputed => "precomputed",
        })
    }
}

/// Measured share of the true neighbors that an approximate search found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Recall {
    /// Share, between 0 and 1.
    pub value: f64,
    /// Number of rows it was measured on, drawn with the seed.
    pub sampled_rows: usize,
}

/// Result of [`nearest`].
#[derive(Debug, Clone)]
pub struct NeighborSearchResult {
    /// The neighbors.
    pub graph: NeighborGraph,
    /// How they were found.
    pub algorithm: SearchAlgorithm,
    /// Measured recall; `None` if the search was exact.
    pub recall: Option<Recall>,
}

/// Recall below which [`Search::Auto`] falls back to the exact search.
fn acceptable_recall(rows: usize) -> f64 {
    // From half a million rows on the exact search takes the better part of an hour.
    if rows < 500_000 { 0.9 } else { 0.75 }
}

/// Returns the nearest other rows of every row. Equal rows are neighbors of each other, at distance zero.
pub fn nearest(data: &Data, params: &NeighborParams) -> Result<NeighborSearchResult> {
    nearest_with(data, params, &mut |_| Ok(()))
}

/// Like [`nearest`], and reports progress.
pub fn nearest_with(data: &Data, params: &NeighborParams, progress: &mut Progress) -> Result<NeighborSearchResult> {
    if params.metric == Metric::Mahalanobis {
        // Of rows with unit covariance these are the Euclidean distances, for which there are faster searches.
        check_metric(params.metric, data)?;
        let euclidean = NeighborParams { metric: Metric::Euclidean, ..*params };
        let found = nearest_with(data, &euclidean, progress)?;
        return Ok(NeighborSearchResult { graph: found.graph.with_metric(params.metric), ..found });
    }
    let NeighborParams { n_neighbors: k, metric, .. } = *params;
    let data = &metric.rows_to_compare(data);
    check_metric(metric, data)?;
    data.check_finite()?;
    check_count(k, data.rows(), true)?;
    if metric == Metric::Precomputed {
        let graph = to_graph(precomputed::nearest(data, k, true, progress)?, k, data.rows(), metric)?;
        return Ok(NeighborSearchResult { graph, algorithm: SearchAlgorithm::Precomputed, recall: None });
    }
    let seconds = device::seconds(data.rows(), data.rows(), data.dim());
    if (params.search == Search::Exact || (params.search == Search::Auto && seconds <= device::PATIENCE))
        && let Some(neighbors) = device::search(None, data, metric, k, params.search == Search::Auto, progress)?
    {
        let graph = to_graph(neighbors, k, data.rows(), metric)?;
        return Ok(NeighborSearchResult { graph, algorithm: SearchAlgorithm::Exact, recall: None });
    }
    if let Some((neighbors, algorithm, recall)) = approximate::search(data, params, progress)? {
        // Data without structure defeat the approximate search: unless it was asked for, the exact search follows.
        if params.search == Search::Approximate || recall.value >= acceptable_recall(data.rows()) {
            let graph = to_graph(neighbors, k, data.rows(), metric)?;
            return Ok(NeighborSearchResult { graph, algorithm, recall: Some(recall) });
        }
    }
    let neighbors = search_self(data, metric, k, progress)?;
    let graph = to_graph(neighbors, k, data.rows(), metric)?;
    Ok(NeighborSearchResult { graph, algorithm: SearchAlgorithm::Exact, recall: None })
}

/// Returns the nearest rows of `data` for every row of `queries`, exactly. The result for a query depends only on the
/// query and `data`, down to the last bit. Under [`Metric::Precomputed`], `queries` holds the distances to the rows of
/// `data`.
pub fn nearest_to(queries: &Data, data: &Data, n_neighbors: usize, metric: Metric) -> Result<NeighborGraph> {
    nearest_to_with(queries, data, n_neighbors, metric, &mut |_| Ok(()))
}

/// Like [`nearest_to`], and reports progress.
pub fn nearest_to_with(
    queries: &Data,
    data: &Data,
    n_neighbors: usize,
    metric: Metric,
    progress: &mut Progress,
) -> Result<NeighborGraph> {
    let points = data.rows();
    if metric == Metric::Mahalanobis {
        let graph = nearest_to_with(queries, data, n_neighbors, Metric::Euclidean, progress)?;
        return Ok(graph.with_metric(metric));
    }
    if metric == Metric::Precomputed {
        if queries.dim() != points {
            return Err(Error::Shape {
                what: "columns of the distances to the data",
                expected: points,
                found: queries.dim(),
            });
        }
    } else {
        check_metric(metric, data)?;
        check_metric(metric, queries)?;
        data.check_finite()?;
        if queries.kind() != data.kind() {
            return Err(Error::Metric {
                metric: metric.to_string(),
                reason: format!(
                    "compares rows of one kind; the data are {}, the new rows {}",
                    data.kind(),
                    queries.kind()
                ),
            });
        }
        if queries.dim() != data.dim() {
            return Err(Error::Shape { what: "columns of the new rows", expected: data.dim(), found: queries.dim() });
        }
    }
    queries.check_finite()?;
    check_count(n_neighbors, points, false)?;
    let neighbors = if metric == Metric::Precomputed {
        precomputed::nearest(queries, n_neighbors, false, progress)?
    } else if let Some(found) = device::search(Some(queries), data, metric, n_neighbors, false, progress)? {
        found
    } else {
        search_queries(queries, data, metric, n_neighbors, progress)?
    };
    to_graph(neighbors, n_neighbors, points, metric)
}

/// Checks that the parameters of the metric are valid and that it applies to the data.
fn check_metric(metric: Metric, data: &Data) -> Result<()> {
    match metric {
        Metric::Minkowski(p) if !(p >= 1.0 && p.is_finite()) => Err(Error::Parameter {
            name: "metric",
            value: metric.to_string(),
            allowed: "the p of minkowski(p) is a number of at least 1".into(),
        }),
        _ => metric.check(data),
    }
}

/// Checks that every row can have `k` neighbors among `points` points; `within` if a row is one of the points.
pub(super) fn check_count(k: usize, points: usize, within: bool) -> Result<()> {
    let most = if within { points.saturating_sub(1) } else { points };
    if k == 0 {
        return Err(Error::Parameter {
            name: "n_neighbors",
            value: "0".into(),
            allowed: format!("from 1 to {most} for {points} points"),
        });
    }
    if points > u32::MAX as usize {
        return Err(Error::Shape { what: "points (at most)", expected: u32::MAX as usize, found: points });
    }
    if k > most {
        return Err(Error::TooFewPoints {
            what: format!("n_neighbors = {k}"),
            needed: k.saturating_add(usize::from(within)),
            found: points,
            remedies: vec![Remedy::FewerNeighbors],
        });
    }
    Ok(())
}

/// Builds a graph from rows of `k` neighbors laid end to end; refuses distances that are not finite.
pub(super) fn to_graph(found: Vec<(f32, u32)>, k: usize, targets: usize, metric: Metric) -> Result<NeighborGraph> {
    if let Some(at) = found.iter().position(|(d, _)| !d.is_finite()) {
        return Err(Error::Metric {
            metric: metric.to_string(),
            reason: format!(
                "gives no finite distance between row {} and its neighbor {}; scale the data, or use another metric",
                at / k,
                found[at].1
            ),
        });
    }
    let (distances, indices) = found.into_iter().unzip();
    NeighborGraph::uniform(k, indices, distances, targets, metric)
}
