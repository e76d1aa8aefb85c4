//! Prepares the rows for their kind and metric, and runs the exact search on them.

use super::{PairSource, search_pairs, search_query_pairs};
use crate::distance;
use crate::inner_product::{
    self, CenterAndScale, DenseProductPairs, SparseProductPairs, TransformedRows, TransformedSparseRows, unit_scale,
};
use crate::levenshtein::Alphabet;
use crate::pairwise::{MetricPairs, TextPairs};
use crate::two_stage_exact::TwoStagePairs;
use lowland_core::run::Progress;
use lowland_core::{Data, Error, Metric, Result};

/// Returns the `k` nearest other rows of every row, laid end to end.
pub(crate) fn search_self(data: &Data, metric: Metric, k: usize, progress: &mut Progress) -> Result<Vec<(f32, u32)>> {
    run_search(data, data, metric, &mut SelfSearch { rows: data.rows(), k, progress })
}

/// Returns the `k` nearest rows of `data` for every row of `queries`, laid end to end.
pub(crate) fn search_queries(
    queries: &Data,
    data: &Data,
    metric: Metric,
    k: usize,
    progress: &mut Progress,
) -> Result<Vec<(f32, u32)>> {
    let mut search = QuerySearch { queries: queries.rows(), points: data.rows(), k, progress };
    run_search(queries, data, metric, &mut search)
}

/// A search that works with any type of pairs; [`run_search`] chooses the type.
trait PairSearch {
    fn run<P: PairSource>(&mut self, pairs: &P) -> Result<Vec<(f32, u32)>>;
    /// Progress of the preparations, if rows are searched among themselves.
    fn self_search_progress(&mut self) -> Option<&mut Progress<'_>> {
        None
    }
}

/// Every row against all others.
struct SelfSearch<'a, 'b> {
    rows: usize,
    k: usize,
    progress: &'a mut Progress<'b>,
}

impl PairSearch for SelfSearch<'_, '_> {
    fn run<P: PairSource>(&mut self, pairs: &P) -> Result<Vec<(f32, u32)>> {
        search_pairs(pairs, self.rows, self.k, self.progress)
    }

    fn self_search_progress(&mut self) -> Option<&mut Progress<'_>> {
        Some(self.progress)
    }
}

/// Queries against points.
struct QuerySearch<'a, 'b> {
    queries: usize,
    points: usize,
    k: usize,
    progress: &'a mut Progress<'b>,
}

impl PairSearch for QuerySearch<'_, '_> {
    fn run<P: PairSource>(&mut self, pairs: &P) -> Result<Vec<(f32, u32)>> {
        search_query_pairs(pairs, self.queries, self.points, self.k, self.progress)
    }
}

/// Prepares the rows for their kind and metric, and searches. `queries` and `data` may be the same object.
fn run_search(queries: &Data, data: &Data, metric: Metric, search: &mut impl PairSearch) -> Result<Vec<(f32, u32)>> {
    let same = std::ptr::eq(queries, data);
    let pair_distance = |i: usize, j: usize| distance(queries, i, data, j, metric) as f32;
    match (queries, data) {
        (Data::Dense(a), Data::Dense(b)) if inner_product::supports(metric) => {
            let center_and_scale = CenterAndScale::new(b, a);
            let points = TransformedRows::new(b, metric, &center_and_scale, false);
            let others = if same { None } else { Some(TransformedRows::new(a, metric, &center_and_scale, false)) };
            if let Some(progress) = search.self_search_progress()
                && let Some(pairs) = TwoStagePairs::new(&points, &pair_distance, &mut |_| progress(0.0))?
            {
                return search.run(&pairs);
            }
            let queries = others.as_ref().unwrap_or(&points);
            search.run(&DenseProductPairs { queries, points: &points, distance: &pair_distance })
        }
        (Data::Dense(a), Data::Dense(b)) => search.run(&MetricPairs { queries: a, points: b, metric }),
        (Data::Sparse(a), Data::Sparse(b)) if inner_product::supports(metric) => {
            let largest = |x: &[f32]| x.iter().fold(0f32, |most, v| most.max(v.abs()));
            let scale = unit_scale(f64::from(largest(a.values()).max(largest(b.values()))));
            let points = TransformedSparseRows::new(b, metric, scale);
            let others = if same { None } else { Some(TransformedSparseRows::new(a, metric, scale)) };
            let queries = others.as_ref().unwrap_or(&points);
            search.run(&SparseProductPairs::new(queries, &points, &pair_distance))
        }
        (Data::Sparse(a), Data::Sparse(b)) => search.run(&MetricPairs { queries: a, points: b, metric }),
        (Data::Text(a), Data::Text(b)) => {
            let mut alphabet = Alphabet::default();
            let points = alphabet.encode(b);
            let others = if same { None } else { Some(alphabet.encode(a)) };
            let queries = others.as_ref().unwrap_or(&points);
            search.run(&TextPairs { queries, points: &points, alphabet: alphabet.len() })
        }
        _ => Err(Error::Metric { metric: metric.to_string(), reason: "compares rows of one kind".into() }),
    }
}
