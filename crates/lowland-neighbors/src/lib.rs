//! Nearest neighbours: one graph type, exact and approximate searches.
//!
//! The distance of a pair is [`distance`], computed in `f64` and rounded to `f32`; neighbours are ordered by it, then by
//! index. The exact search returns precisely that order; the approximate one returns it among the neighbours it finds.

mod all_pairs;
mod approximate;
mod choose;
mod coarse;
pub mod cosines;
mod descent;
mod direct;
mod distance;
mod exact;
mod forest;
pub mod graph;
mod inner;
mod kdtree;
mod neighbor_graph;
mod precomputed;
mod projected;
mod shadow;
mod space;
mod text;
mod widen;

use std::fmt;
use std::str::FromStr;

pub use choose::memory;
pub use distance::distance;
pub use kdtree::nearest_points;
pub use neighbor_graph::NeighborGraph;

use exact::Pairs;
use lowland_core::message::Remedy;
use lowland_core::run::Progress;
use lowland_core::{Data, Error, Metric, Result, Seed};

/// How to search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Search {
    /// Whichever is expected to be faster; always exact for a few thousand rows. An approximate search that misses more than a
    /// tenth (of half a million rows and more: a quarter) is followed by the exact one.
    #[default]
    Auto,
    /// All pairs.
    Exact,
    /// A few neighbours may be missed; the share is measured.
    Approximate,
}

impl fmt::Display for Search {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Search::Auto => "auto",
            Search::Exact => "exact",
            Search::Approximate => "approximate",
        })
    }
}

impl lowland_core::params::ParamValue for Search {
    const EXPECTS: &'static str = "auto, exact or approximate";
    fn parse(text: &str) -> Option<Self> {
        text.trim().parse().ok()
    }
    fn show(&self) -> String {
        self.to_string()
    }
}

impl FromStr for Search {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        [Search::Auto, Search::Exact, Search::Approximate].into_iter().find(|s| s.to_string() == name).ok_or_else(
            || Error::Parameter {
                name: "search",
                value: name.into(),
                allowed: "one of auto, exact, approximate".into(),
            },
        )
    }
}

/// What to search for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NeighborParams {
    /// Neighbours of each row, the row itself not counted.
    pub n_neighbors: usize,
    /// The distance.
    pub metric: Metric,
    /// How to search.
    pub search: Search,
    /// For the approximate search and the sample its recall is measured on.
    pub seed: Seed,
}

impl Default for NeighborParams {
    fn default() -> Self {
        Self { n_neighbors: 15, metric: Metric::Euclidean, search: Search::Auto, seed: Seed(0) }
    }
}

/// How the neighbours were found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Algorithm {
    /// All pairs were compared.
    Exact,
    /// Nearest-neighbour descent.
    Descent,
    /// The nearest along the main directions of the rows were compared.
    Projected,
    /// They were read from a matrix of distances.
    Precomputed,
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Algorithm::Exact => "exact",
            Algorithm::Descent => "nearest-neighbour descent",
            Algorithm::Projected => "projection",
            Algorithm::Precomputed => "precomputed",
        })
    }
}

/// The share of true neighbours that were found, measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Recall {
    /// Share, between 0 and 1.
    pub value: f64,
    /// Rows it was measured on, drawn with the seed.
    pub sampled_rows: usize,
}

/// Neighbours, and how they were come by.
#[derive(Debug, Clone)]
pub struct Found {
    /// The neighbours.
    pub graph: NeighborGraph,
    /// How they were found.
    pub algorithm: Algorithm,
    /// The measured share found; `None` when the search was exact.
    pub recall: Option<Recall>,
}

/// The measured recall below which [`Search::Auto`] searches exactly after all.
fn acceptable_recall(rows: usize) -> f64 {
    // Half a million rows are where the exact search begins to take the better part of an hour.
    if rows < 500_000 { 0.9 } else { 0.75 }
}

/// The nearest other rows of every row. Equal rows are each other's neighbours, at distance zero.
pub fn nearest(data: &Data, params: &NeighborParams, progress: &mut Progress) -> Result<Found> {
    let NeighborParams { n_neighbors: k, metric, .. } = *params;
    check_metric(metric, data)?;
    data.check_finite()?;
    check_count(k, data.rows(), true)?;
    if metric == Metric::Precomputed {
        let graph = to_graph(precomputed::nearest(data, k, true, progress)?, k, data.rows(), metric)?;
        return Ok(Found { graph, algorithm: Algorithm::Precomputed, recall: None });
    }
    if let Some((found, algorithm, recall)) = approximate::search(data, params, progress)? {
        // Data without any structure defeat the approximate search. Who did not ask for it gets the exact one then.
        if params.search == Search::Approximate || recall.value >= acceptable_recall(data.rows()) {
            let graph = to_graph(found, k, data.rows(), metric)?;
            return Ok(Found { graph, algorithm, recall: Some(recall) });
        }
    }
    let found = exact_search(data, data, metric, &mut Within { rows: data.rows(), k, progress })?;
    Ok(Found { graph: to_graph(found, k, data.rows(), metric)?, algorithm: Algorithm::Exact, recall: None })
}

/// The nearest rows of `data` for every row of `queries`, exactly. What a query gets depends on nothing but the query and
/// `data`, down to the last bit. Under [`Metric::Precomputed`] `queries` holds the distances to the rows of `data`.
pub fn nearest_to(
    queries: &Data,
    data: &Data,
    n_neighbors: usize,
    metric: Metric,
    progress: &mut Progress,
) -> Result<NeighborGraph> {
    let points = data.rows();
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
    let found = if metric == Metric::Precomputed {
        precomputed::nearest(queries, n_neighbors, false, progress)?
    } else {
        let mut among = Among { queries: queries.rows(), points, k: n_neighbors, progress };
        exact_search(queries, data, metric, &mut among)?
    };
    to_graph(found, n_neighbors, points, metric)
}

/// The metric must be one, and fit the data.
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

/// `k` neighbours must exist.
fn check_count(k: usize, points: usize, within: bool) -> Result<()> {
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

/// Rows of `k` neighbours as a graph; refuses distances that are not finite.
fn to_graph(found: Vec<(f32, u32)>, k: usize, targets: usize, metric: Metric) -> Result<NeighborGraph> {
    if let Some(at) = found.iter().position(|(d, _)| !d.is_finite()) {
        return Err(Error::Metric {
            metric: metric.to_string(),
            reason: format!(
                "gives no finite distance between row {} and its neighbour {}; scale the data, or use another metric",
                at / k,
                found[at].1
            ),
        });
    }
    let (distances, indices) = found.into_iter().unzip();
    NeighborGraph::uniform(k, indices, distances, targets, metric)
}

/// A search over pairs whose kind is only known to [`exact_search`].
trait PairSearch {
    fn run<P: Pairs>(&mut self, pairs: &P) -> Result<Vec<(f32, u32)>>;
    /// Where rows search among themselves: what to tell of the preparations for that.
    fn within(&mut self) -> Option<&mut Progress<'_>> {
        None
    }
}

/// Every row against all others.
struct Within<'a, 'b> {
    rows: usize,
    k: usize,
    progress: &'a mut Progress<'b>,
}

impl PairSearch for Within<'_, '_> {
    fn run<P: Pairs>(&mut self, pairs: &P) -> Result<Vec<(f32, u32)>> {
        exact::search_within(pairs, self.rows, self.k, self.progress)
    }

    fn within(&mut self) -> Option<&mut Progress<'_>> {
        Some(self.progress)
    }
}

/// Queries against points.
struct Among<'a, 'b> {
    queries: usize,
    points: usize,
    k: usize,
    progress: &'a mut Progress<'b>,
}

impl PairSearch for Among<'_, '_> {
    fn run<P: Pairs>(&mut self, pairs: &P) -> Result<Vec<(f32, u32)>> {
        exact::search_among(pairs, self.queries, self.points, self.k, self.progress)
    }
}

/// Prepares the rows for their kind and metric, and searches. `queries` and `data` may be one and the same.
fn exact_search(queries: &Data, data: &Data, metric: Metric, search: &mut impl PairSearch) -> Result<Vec<(f32, u32)>> {
    let same = std::ptr::eq(queries, data);
    let key = |i: usize, j: usize| distance(queries, i, data, j, metric) as f32;
    match (queries, data) {
        (Data::Dense(a), Data::Dense(b)) if inner::applies(metric) => {
            let frame = inner::Frame::new(b, a);
            let points = inner::Flat::new(b, metric, &frame, false);
            let others = if same { None } else { Some(inner::Flat::new(a, metric, &frame, false)) };
            if let Some(progress) = search.within()
                && let Some(pairs) = coarse::Coarse::new(&points, &key, &mut |_| progress(0.0))?
            {
                return search.run(&pairs);
            }
            let queries = others.as_ref().unwrap_or(&points);
            search.run(&inner::DenseInner { queries, points: &points, key: &key })
        }
        (Data::Dense(a), Data::Dense(b)) => search.run(&direct::DenseDirect { queries: a, points: b, metric }),
        (Data::Sparse(a), Data::Sparse(b)) if inner::applies(metric) => {
            let largest = |x: &[f32]| x.iter().fold(0f32, |most, v| most.max(v.abs()));
            let scale = inner::scale_to_one(f64::from(largest(a.values()).max(largest(b.values()))));
            let points = inner::SparseFlat::new(b, metric, scale);
            let others = if same { None } else { Some(inner::SparseFlat::new(a, metric, scale)) };
            let queries = others.as_ref().unwrap_or(&points);
            search.run(&inner::SparseInner::new(queries, &points, &key))
        }
        (Data::Sparse(a), Data::Sparse(b)) => search.run(&direct::SparseDirect { queries: a, points: b, metric }),
        (Data::Text(a), Data::Text(b)) => {
            let mut alphabet = text::Alphabet::default();
            let points = alphabet.words(b);
            let others = if same { None } else { Some(alphabet.words(a)) };
            let queries = others.as_ref().unwrap_or(&points);
            search.run(&direct::TextPairs { queries, points: &points, alphabet: alphabet.len() })
        }
        _ => Err(Error::Metric { metric: metric.to_string(), reason: "compares rows of one kind".into() }),
    }
}

#[cfg(test)]
mod tests;
