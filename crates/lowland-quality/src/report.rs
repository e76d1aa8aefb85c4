//! Computes all scores of a map.

use std::borrow::Cow;

use super::check_finite;
use super::class_scores::{class_shares, classification_error};
use super::estimate::Estimate;
use super::global_scores::{distance_correlation_with, sample_rows, triplet_accuracy_with};
use super::graph_rows::{has_neighbors, neighbors_of_rows, select_rows};
use super::metric_space::MetricSpace;
use super::neighborhood_scores::{first_neighbor_recall_estimate, knn_recall_estimate, trustworthiness_with};
use super::params::{PrecomputedGraphs, QualityParams, ScoredRows};
use super::score::{QualityReport, ScoreKind};
use lowland_core::run::Progress;
use lowland_core::{Data, DataShape, Embedding, Error, Metric, Points, Result};
use lowland_linalg::dense::power_of_two_near;
use lowland_neighbors::{NeighborGraph, NeighborParams, Search, nearest_points_with, nearest_with, search_memory};

/// Scores `map`, whose rows are those of `data`; `labels` are class codes, one for each row.
pub fn report(data: &Data, map: Points, labels: Option<&[u32]>, params: &QualityParams) -> Result<QualityReport> {
    report_with(data, map, labels, PrecomputedGraphs::default(), params, &mut |_| Ok(()))
}

/// Like [`report`], with neighbor graphs that the caller already has, and reports progress.
pub fn report_with(
    data: &Data,
    map: Points,
    labels: Option<&[u32]>,
    graphs: PrecomputedGraphs,
    params: &QualityParams,
    progress: &mut Progress,
) -> Result<QualityReport> {
    let (n, k) = (data.rows(), params.n_neighbors);
    let data = &params.metric.rows_to_compare(data);
    check_input(data, map, labels, params)?;
    let rescaled = rescale_map(map)?;
    let map = rescaled.points();
    let (space, plane) = (MetricSpace::Data(data, params.metric), MetricSpace::Map(map));

    let mut report = QualityReport::new(n);
    let mut stage = StagedProgress { progress, start: 0.0 };
    let wanted = if labels.is_some() { k.max(10) } else { k }.min(n.saturating_sub(1));
    let in_map = match graphs.map.filter(|graph| has_neighbors(graph, n, wanted)) {
        _ if wanted == 0 => None,
        Some(graph) => Some(Cow::Borrowed(graph)),
        None => Some(Cow::Owned(stage.run(0.03, |progress| nearest_points_with(map, wanted, progress))?)),
    };
    if k < n {
        let in_map = in_map.as_deref().expect("k < n, so there are neighbors");
        add_neighborhood_scores(&mut report, &space, &plane, in_map, graphs.data, params, &mut stage)?;
    } else {
        for kind in
            [ScoreKind::KnnRecall, ScoreKind::FirstNeighborRecall, ScoreKind::Trustworthiness, ScoreKind::Continuity]
        {
            report.omit(kind, format!("needs n_neighbors < points; n_neighbors = {k}, points = {n}"));
        }
    }

    if n < 3 {
        report.omit(ScoreKind::TripletAccuracy, format!("needs 3 points; there are {n}"));
    } else if params.triplets_per_point > 0 {
        let rows = sample_rows(n, MAX_TRIPLET_POINTS, params.seed);
        let per_row = params.triplets_per_point;
        let value =
            stage.run(0.04, |progress| triplet_accuracy_with(&space, &plane, &rows, per_row, params.seed, progress))?;
        report.add_estimate(ScoreKind::TripletAccuracy, None, Some(rows.len() * per_row), value);
    }
    match stage.run(0.03, |progress| distance_correlation_with(&space, &plane, params.pairs, params.seed, progress))? {
        (Some(value), drawn) => {
            let estimate = Estimate::correlation(value, drawn.unwrap_or_default());
            report.add_estimate(ScoreKind::DistanceCorrelation, None, drawn, estimate);
        }
        (None, _) => {
            let reason = "all distances drawn in the data or in the map are equal".into();
            report.omit(ScoreKind::DistanceCorrelation, reason);
        }
    }
    if let Some(labels) = labels {
        add_class_scores(&mut report, in_map.as_deref(), labels, k)?;
    }
    (stage.progress)(1.0)?;
    Ok(report)
}

/// Estimates the bytes of [`report_with`] besides the data and the map of `map_dim` dimensions, with a neighbor graph of the
/// data if the caller has one.
pub fn memory(shape: DataShape, map_dim: usize, known: Option<&NeighborGraph>, params: &QualityParams) -> u64 {
    let (n, k) = (shape.rows as f64, params.n_neighbors.min(shape.rows));
    // The neighbors in the map, with those in the data; a copy of the map, and a tree of it.
    let graphs = n * k.max(10) as f64 * 8.0 * 2.0 + n * (map_dim as f64 * 24.0 + 32.0);
    let is_known = known.is_some_and(|graph| has_neighbors(graph, shape.rows, k));
    let search = if is_known { 0 } else { search_memory(shape, params.metric, k, Search::Exact) };
    // Rounded copies of dense rows with their norms, ranks of the neighbors, and the tiles of each thread.
    let rounded = if shape.sparse { 0.0 } else { n * shape.dim as f64 * 4.0 };
    let ranks = rounded + n * (k as f64 * 40.0 + 40.0) + rayon::current_num_threads() as f64 * f64::from(4 << 20);
    let pairs = params.pairs as f64 * 80.0;
    (graphs + pairs.max(ranks).max(search as f64)) as u64
}

/// Maximum number of points for which triplets are drawn: the error of the share is then below a thousandth.
const MAX_TRIPLET_POINTS: usize = 100_000;

/// Time in nanoseconds of one core that a comparison of rows with all points may take; a report makes two or three.
const EXACT_BUDGET: f64 = 2e10;

/// Minimum number of rows in a sample, however long it takes: the error of a share is then below three hundredths.
const MIN_SAMPLE_ROWS: usize = 300;

/// Maximum number of rows in a sample that is drawn because comparisons are slow.
const MAX_SAMPLE_ROWS: usize = 5_000;

/// Adds the scores that compare neighborhoods in the data and in the map.
fn add_neighborhood_scores(
    report: &mut QualityReport,
    space: &MetricSpace,
    plane: &MetricSpace,
    in_map: &NeighborGraph,
    precomputed: Option<&NeighborGraph>,
    params: &QualityParams,
    stage: &mut StagedProgress,
) -> Result<()> {
    let MetricSpace::Data(data, metric) = *space else { return Ok(()) };
    let (n, k) = (data.rows(), params.n_neighbors);
    let rows = sample_rows(n, rows_scored(space, params), params.seed);
    let sampled = (rows.len() < n).then_some(rows.len());
    let in_data = stage.run(0.45, |progress| match precomputed.filter(|graph| has_neighbors(graph, n, k)) {
        Some(graph) => Ok(select_rows(graph, &rows)),
        None if sampled.is_none() => {
            let search = NeighborParams { n_neighbors: k, metric, search: Search::Exact, seed: params.seed };
            Ok(Cow::Owned(nearest_with(data, &search, progress)?.graph))
        }
        None => neighbors_of_rows(data, &rows, k, metric, progress).map(Cow::Owned),
    })?;
    let in_map = select_rows(in_map, &rows);

    let recall = knn_recall_estimate(&in_data, &in_map, k)?;
    report.add_estimate(ScoreKind::KnnRecall, Some(k), sampled, recall);
    for r in if k == 1 { vec![1] } else { vec![1, k] } {
        let value = first_neighbor_recall_estimate(&in_data, &in_map, r)?;
        report.add_estimate(ScoreKind::FirstNeighborRecall, Some(r), sampled, value);
    }
    if 2 * k >= n {
        for kind in [ScoreKind::Trustworthiness, ScoreKind::Continuity] {
            report.omit(kind, format!("needs n_neighbors < points / 2; n_neighbors = {k}, points = {n}"));
        }
        return Ok(());
    }
    let trust = stage.run(0.30, |progress| trustworthiness_with(space, &in_map, &rows, k, progress))?;
    report.add_estimate(ScoreKind::Trustworthiness, Some(k), sampled, trust);
    let continuity = stage.run(0.15, |progress| trustworthiness_with(plane, &in_data, &rows, k, progress))?;
    report.add_estimate(ScoreKind::Continuity, Some(k), sampled, continuity);
    Ok(())
}

/// Number of rows over which the neighborhood scores are taken.
pub(super) fn rows_scored(space: &MetricSpace, params: &QualityParams) -> usize {
    let n = space.rows();
    let affordable = (EXACT_BUDGET / (n as f64 * space.pair_cost())) as usize;
    match params.rows {
        // The matrix is available anyway, and a selection of its rows would no longer be square.
        _ if matches!(space, MetricSpace::Data(_, Metric::Precomputed)) => n,
        ScoredRows::All => n,
        ScoredRows::Affordable if n <= affordable => n,
        ScoredRows::Affordable => affordable.clamp(MIN_SAMPLE_ROWS, MAX_SAMPLE_ROWS).min(n),
        ScoredRows::Sample(count) => count.clamp(1, n),
    }
}

/// Adds the scores that need labels.
fn add_class_scores(
    report: &mut QualityReport,
    in_map: Option<&NeighborGraph>,
    labels: &[u32],
    k: usize,
) -> Result<()> {
    let most = in_map.map_or(0, NeighborGraph::min_degree);
    let too_few = |needed: usize| format!("needs more than {needed} points; there are {}", labels.len());
    for votes in [1, 10] {
        match in_map.filter(|_| votes <= most) {
            Some(graph) => {
                let value = classification_error(graph, labels, votes)?;
                report.add(ScoreKind::ClassificationError, Some(votes), value);
            }
            None => report.omit(ScoreKind::ClassificationError, too_few(votes)),
        }
    }
    match in_map.filter(|_| k <= most) {
        Some(graph) => {
            report.classes = class_shares(graph, labels, k)?;
            let count = report.classes.len() as f64;
            let mean = report.classes.iter().map(|class| class.share).sum::<f64>() / count;
            report.add(ScoreKind::ClassNeighborShare, Some(k), mean);
        }
        None => report.omit(ScoreKind::ClassNeighborShare, too_few(k)),
    }
    Ok(())
}

/// Checks that the parameters are valid and that data, map and labels fit together.
fn check_input(data: &Data, map: Points, labels: Option<&[u32]>, params: &QualityParams) -> Result<()> {
    let n = data.rows();
    if params.n_neighbors == 0 {
        let allowed = "at least 1".into();
        return Err(Error::Parameter { name: "n_neighbors", value: "0".into(), allowed });
    }
    if map.rows() != n {
        return Err(Error::Shape { what: "rows of the map", expected: n, found: map.rows() });
    }
    if let Some(labels) = labels.filter(|labels| labels.len() != n) {
        return Err(Error::Shape { what: "labels", expected: n, found: labels.len() });
    }
    check_finite(map)?;
    data.check_finite()?;
    params.metric.check(data)
}

/// Returns the map in units in which the squares of its distances neither overflow nor vanish.
fn rescale_map(map: Points) -> Result<Embedding> {
    let largest = map.values().iter().fold(0.0f64, |most, v| most.max(v.abs()));
    let unit = if (1e-100..1e100).contains(&largest) { 1.0 } else { power_of_two_near(largest) };
    Embedding::new(map.values().iter().map(|v| v / unit).collect(), map.dim())
}

/// Divides one progress bar among several stages.
struct StagedProgress<'p, 'q> {
    progress: &'p mut Progress<'q>,
    start: f64,
}

impl StagedProgress<'_, '_> {
    fn run<T>(&mut self, share: f64, work: impl FnOnce(&mut Progress) -> Result<T>) -> Result<T> {
        let start = self.start;
        let value = work(&mut |done| (self.progress)(start + share * done))?;
        self.start += share;
        (self.progress)(self.start)?;
        Ok(value)
    }
}
