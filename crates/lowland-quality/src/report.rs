//! All scores of a map at once.

use std::borrow::Cow;

use super::check_finite;
use super::global::{distance_correlation, sample_rows, triplet_accuracy};
use super::labels::{ClassShare, class_shares, classification_error};
use super::local::{first_neighbor_recall, knn_recall, trustworthiness};
use super::space::Space;
use lowland_core::run::Progress;
use lowland_core::{Data, Embedding, Error, Metric, Points, Result, Seed};
use lowland_linalg::dense::power_of_two_near;
use lowland_neighbors::{NeighborGraph, NeighborParams, Search, nearest_points_with, nearest_to_with, nearest_with};

/// What to score, and how much of it.
#[derive(Debug, Clone, PartialEq)]
pub struct QualityParams {
    /// Size of the neighbourhoods compared.
    pub n_neighbors: usize,
    /// Distance between rows of the data.
    pub metric: Metric,
    /// Rows up to which neighbourhood scores are exact, over all rows; above, they are over `sample_rows` rows, each compared
    /// exactly with all. `None`: decided by the expected time, so that a report takes well under a minute on two cores (about
    /// 89,000 rows of 50 numbers, 28,000 of 784, 2,800 strings of 40 characters).
    pub max_exact: Option<usize>,
    /// Rows scored when there are too many for all; fewer when `max_exact` is `None` and comparisons are slow.
    pub sample_rows: usize,
    /// Triplets drawn for each point.
    pub triplets_per_point: usize,
    /// Pairs drawn for the correlation of distances.
    pub pairs: usize,
    /// Seed of all samples.
    pub seed: Seed,
}

impl Default for QualityParams {
    fn default() -> Self {
        Self {
            n_neighbors: 15,
            metric: Metric::Euclidean,
            max_exact: None,
            sample_rows: 5_000,
            triplets_per_point: 5,
            pairs: 100_000,
            seed: Seed(0),
        }
    }
}

/// Neighbour graphs over all rows that the caller already has. One with too few neighbours is not used.
#[derive(Debug, Clone, Copy, Default)]
pub struct KnownGraphs<'a> {
    /// Neighbours in the data; taken as the truth, even if found approximately.
    pub data: Option<&'a NeighborGraph>,
    /// Neighbours in the map.
    pub map: Option<&'a NeighborGraph>,
}

/// Whether large or small values are good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// Large values are good.
    Higher,
    /// Small values are good.
    Lower,
}

/// One score.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Score {
    /// Its name, fit for a key: `trustworthiness`.
    pub name: &'static str,
    /// Its value.
    pub value: f64,
    /// Size of the neighbourhoods, where it has them.
    pub k: Option<usize>,
    /// How many rows, triplets or pairs were drawn; `None` when the value is exact over all.
    pub sampled: Option<usize>,
    /// The good direction.
    pub better: Better,
    /// What it says, in one line.
    pub meaning: &'static str,
}

/// A score that is not defined for this map.
#[derive(Debug, Clone, PartialEq)]
pub struct Omitted {
    /// The score.
    pub name: &'static str,
    /// Why it is left out.
    pub reason: String,
}

/// Every score that is defined for the map.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// Points in the map.
    pub points: usize,
    /// The scores.
    pub scores: Vec<Score>,
    /// Neighbour share of each class, by code; empty without labels.
    pub classes: Vec<ClassShare>,
    /// The scores left out, with reasons.
    pub omitted: Vec<Omitted>,
}

impl Report {
    /// The scores, for a table.
    pub fn rows(&self) -> Vec<Score> {
        self.scores.clone()
    }

    /// The first score of this name.
    pub fn get(&self, name: &str) -> Option<f64> {
        self.scores.iter().find(|score| score.name == name).map(|score| score.value)
    }

    fn add(&mut self, name: &'static str, k: Option<usize>, sampled: Option<usize>, value: f64, meaning: &'static str) {
        let better = if name == "classification error" { Better::Lower } else { Better::Higher };
        self.scores.push(Score { name, value, k, sampled, better, meaning });
    }

    fn omit(&mut self, name: &'static str, reason: String) {
        self.omitted.push(Omitted { name, reason });
    }
}

/// Scores `map`, whose rows are those of `data`; `labels` are class codes, one a row.
pub fn report(
    data: &Data,
    map: Points,
    labels: Option<&[u32]>,
    params: &QualityParams,
    progress: &mut Progress,
) -> Result<Report> {
    report_with(data, map, labels, KnownGraphs::default(), params, progress)
}

/// [`report`], with neighbour graphs that are already known.
pub fn report_with(
    data: &Data,
    map: Points,
    labels: Option<&[u32]>,
    known: KnownGraphs,
    params: &QualityParams,
    progress: &mut Progress,
) -> Result<Report> {
    let (n, k) = (data.rows(), params.n_neighbors);
    check(data, map, labels, params)?;
    let tamed = tame(map)?;
    let map = tamed.points();
    let (space, plane) = (Space::Data(data, params.metric), Space::Map(map));

    let mut report = Report { points: n, scores: Vec::new(), classes: Vec::new(), omitted: Vec::new() };
    let mut stage = Stages { progress, start: 0.0 };
    let wanted = if labels.is_some() { k.max(10) } else { k }.min(n.saturating_sub(1));
    let in_map = match known.map.filter(|graph| fits(graph, n, wanted)) {
        _ if wanted == 0 => None,
        Some(graph) => Some(Cow::Borrowed(graph)),
        None => Some(Cow::Owned(stage.run(0.03, |progress| nearest_points_with(map, wanted, progress))?)),
    };
    if k < n {
        let in_map = in_map.as_deref().expect("k < n, so there are neighbours");
        neighborhoods(&mut report, &space, &plane, in_map, known.data, params, &mut stage)?;
    } else {
        for name in ["knn recall", "first neighbour recall", "trustworthiness", "continuity"] {
            report.omit(name, format!("needs n_neighbors < points; n_neighbors = {k}, points = {n}"));
        }
    }

    if n < 3 {
        report.omit("triplet accuracy", format!("needs 3 points; there are {n}"));
    } else if params.triplets_per_point > 0 {
        let rows = sample_rows(n, TRIPLET_POINTS, params.seed);
        let per_row = params.triplets_per_point;
        let value =
            stage.run(0.04, |progress| triplet_accuracy(&space, &plane, &rows, per_row, params.seed, progress))?;
        let meaning = "share of random triplets whose order of distance the map keeps; 0.5 is chance";
        report.add("triplet accuracy", None, Some(rows.len() * per_row), value, meaning);
    }
    match stage.run(0.03, |progress| distance_correlation(&space, &plane, params.pairs, params.seed, progress))? {
        (Some(value), drawn) => {
            let meaning = "Spearman's correlation between distances in the data and in the map";
            report.add("distance correlation", None, drawn, value, meaning);
        }
        (None, _) => {
            report.omit("distance correlation", "all distances drawn in the data or in the map are equal".into())
        }
    }
    if let Some(labels) = labels {
        classes(&mut report, in_map.as_deref(), labels, k)?;
    }
    (stage.progress)(1.0)?;
    Ok(report)
}

/// Points that get triplets, at most: the error of the share is then below a thousandth.
const TRIPLET_POINTS: usize = 100_000;

/// Nanoseconds of one core that one comparison of rows with all points may take; a report makes two or three.
const EXACT_BUDGET: f64 = 2e10;

/// The fewest rows in a sample, however long they take: the error of a share is then below three hundredths.
const FEWEST_ROWS: usize = 300;

fn neighborhoods(
    report: &mut Report,
    space: &Space,
    plane: &Space,
    in_map: &NeighborGraph,
    known: Option<&NeighborGraph>,
    params: &QualityParams,
    stage: &mut Stages,
) -> Result<()> {
    let Space::Data(data, metric) = *space else { return Ok(()) };
    let (n, k) = (data.rows(), params.n_neighbors);
    let rows = sample_rows(n, rows_scored(space, params), params.seed);
    let sampled = (rows.len() < n).then_some(rows.len());
    let in_data = stage.run(0.45, |progress| match known.filter(|graph| fits(graph, n, k)) {
        Some(graph) => Ok(rows_of(graph, &rows)),
        None if sampled.is_none() => {
            let search = NeighborParams { n_neighbors: k, metric, search: Search::Exact, seed: params.seed };
            Ok(Cow::Owned(nearest_with(data, &search, progress)?.graph))
        }
        None => neighbors_of_rows(data, &rows, k, metric, progress).map(Cow::Owned),
    })?;
    let in_map = rows_of(in_map, &rows);

    let recall = knn_recall(&in_data, &in_map, k)?;
    report.add(
        "knn recall",
        Some(k),
        sampled,
        recall,
        "share of the k nearest in the data that are the k nearest in the map",
    );
    for r in if k == 1 { vec![1] } else { vec![1, k] } {
        let value = first_neighbor_recall(&in_data, &in_map, r)?;
        let meaning = "share of points whose nearest in the data is among the k nearest in the map";
        report.add("first neighbour recall", Some(r), sampled, value, meaning);
    }
    if 2 * k >= n {
        for name in ["trustworthiness", "continuity"] {
            report.omit(name, format!("needs n_neighbors < points / 2; n_neighbors = {k}, points = {n}"));
        }
        return Ok(());
    }
    let trust = stage.run(0.30, |progress| trustworthiness(space, &in_map, &rows, k, progress))?;
    let meaning = "1 less the penalty for neighbours in the map that are far apart in the data";
    report.add("trustworthiness", Some(k), sampled, trust, meaning);
    let continuity = stage.run(0.15, |progress| trustworthiness(plane, &in_data, &rows, k, progress))?;
    let meaning = "1 less the penalty for neighbours in the data that are far apart in the map";
    report.add("continuity", Some(k), sampled, continuity, meaning);
    Ok(())
}

/// How many rows the neighbourhood scores are taken over.
pub(super) fn rows_scored(space: &Space, params: &QualityParams) -> usize {
    let n = space.rows();
    let affordable = EXACT_BUDGET / (n as f64 * space.pair_cost());
    match params.max_exact {
        // The matrix is there, and selected rows of it would no longer be square.
        _ if matches!(space, Space::Data(_, Metric::Precomputed)) => n,
        Some(most) if n <= most => n,
        Some(_) => params.sample_rows.clamp(1, n),
        None if n as f64 <= affordable => n,
        None => params.sample_rows.min((affordable as usize).max(FEWEST_ROWS)).clamp(1, n),
    }
}

fn classes(report: &mut Report, in_map: Option<&NeighborGraph>, labels: &[u32], k: usize) -> Result<()> {
    let most = in_map.map_or(0, NeighborGraph::min_degree);
    let too_few = |needed: usize| format!("needs more than {needed} points; there are {}", labels.len());
    for votes in [1, 10] {
        match in_map.filter(|_| votes <= most) {
            Some(graph) => {
                let value = classification_error(graph, labels, votes)?;
                let meaning = "share of points whose k nearest in the map mostly have another class";
                report.add("classification error", Some(votes), None, value, meaning);
            }
            None => report.omit("classification error", too_few(votes)),
        }
    }
    match in_map.filter(|_| k <= most) {
        Some(graph) => {
            report.classes = class_shares(graph, labels, k)?;
            let count = report.classes.len() as f64;
            let mean = report.classes.iter().map(|class| class.share).sum::<f64>() / count;
            let meaning = "share of a point's k nearest in the map that have its class, mean over classes";
            report.add("class neighbour share", Some(k), None, mean, meaning);
        }
        None => report.omit("class neighbour share", too_few(k)),
    }
    Ok(())
}

fn check(data: &Data, map: Points, labels: Option<&[u32]>, params: &QualityParams) -> Result<()> {
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

/// The map, in units in which the squares of its distances can be written down.
fn tame(map: Points) -> Result<Embedding> {
    let largest = map.values().iter().fold(0.0f64, |most, v| most.max(v.abs()));
    let unit = if (1e-100..1e100).contains(&largest) { 1.0 } else { power_of_two_near(largest) };
    Embedding::new(map.values().iter().map(|v| v / unit).collect(), map.dim())
}

/// Whether a graph is one of neighbours among these `n` points, with at least `k` for each.
fn fits(graph: &NeighborGraph, n: usize, k: usize) -> bool {
    graph.rows() == n && graph.targets() == n && graph.min_degree() >= k
}

/// The rows named (ascending) of a graph over all rows.
fn rows_of<'g>(graph: &'g NeighborGraph, rows: &[u32]) -> Cow<'g, NeighborGraph> {
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

/// The `k` nearest of some rows among all, the row itself left out.
fn neighbors_of_rows(
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
        // Among many duplicates the row itself may not have been found; then the last of the k + 1 goes.
        let others = columns.iter().zip(lengths).filter(|(j, _)| **j != i).take(k);
        others.for_each(|(&j, &d)| {
            indices.push(j);
            distances.push(d);
        });
    }
    NeighborGraph::uniform(k, indices, distances, data.rows(), metric)
}

/// Divides one progress bar among several stages.
struct Stages<'p, 'q> {
    progress: &'p mut Progress<'q>,
    start: f64,
}

impl Stages<'_, '_> {
    fn run<T>(&mut self, share: f64, work: impl FnOnce(&mut Progress) -> Result<T>) -> Result<T> {
        let start = self.start;
        let value = work(&mut |done| (self.progress)(start + share * done))?;
        self.start += share;
        (self.progress)(self.start)?;
        Ok(value)
    }
}
