//! Chooses a method: fits a few candidates to a part of the rows and compares their maps.
//!
//! ```
//! use lowland::method_choice::{ChoiceOptions, choose_method};
//! use lowland::{Data, Seed};
//!
//! let x = Data::dense(Seed(1).normals(400).into_iter().map(|v| v as f32).collect(), 4)?;
//! let choice = choose_method(&x, &[("n_components", "2")], ChoiceOptions::default())?;
//! println!("{}: {}", choice.method, choice.reason());
//! # Ok::<(), lowland::Error>(())
//! ```

use std::fmt::Write as _;
use std::ops::ControlFlow;

use lowland_core::message::Note;
use lowland_core::params::parse;
use lowland_core::run::{Context, Event, NoObserver, Observer, StopReason};
use lowland_core::{Data, Embedding, Error, MemoryBudget, Metric, Result, Seed};
use lowland_neighbors::{NeighborGraph, NeighborParams, Search, nearest, nearest_to};
use lowland_quality::{PrecomputedGraphs, QualityParams, ScoreKind, knn_recall, report_with};

use crate::fit::{FitOptions, check_memory, fit};
use crate::preprocessing::Preprocessing;
use crate::registry::{DEFAULT_METHOD, MethodInfo, ParsedMethod};
use crate::select::draw_rows;

/// The name that stands for the choice of a method.
pub const AUTO: &str = "auto";

/// The methods that are compared, the preferred one first, and the largest number of rows they are considered for.
const CANDIDATES: [(&str, usize); 7] = [
    ("tsne", usize::MAX),
    ("umap", usize::MAX),
    ("pacmap", usize::MAX),
    ("lvm", usize::MAX),
    ("spectral", usize::MAX),
    // Its time and memory grow with the square of the number of rows.
    ("isomap", 10_000),
    ("pca", usize::MAX),
];

/// Largest number of rows that candidates are fitted to and compared on.
const SAMPLE_ROWS: usize = 2500;
/// One of this many rows is held out.
const HELD_OUT: usize = 5;
/// Smallest number of rows for which candidates are compared.
const MIN_ROWS: usize = 60;
/// Number of neighbors in the scores.
const NEIGHBORS: usize = 15;

/// Options of [`choose_method`].
#[derive(Default)]
pub struct ChoiceOptions<'a> {
    /// Seed of all random numbers.
    pub seed: Seed,
    /// Steps applied to the data before the methods.
    pub preprocessing: Preprocessing,
    /// Whether only methods that can use a precomputed neighbor graph are considered.
    pub uses_neighbors: bool,
    /// Memory that a fit to all rows may use; methods that need more are left out.
    pub memory: MemoryBudget,
    /// Receives progress, and can stop the work.
    pub observer: Option<&'a mut dyn Observer>,
}

/// Scores of a method on a part of the rows, each from 0 (chance) to 1.
#[derive(Debug, Clone, PartialEq)]
pub struct MethodScores {
    /// Name of the method.
    pub method: &'static str,
    /// Share of the nearest neighbors of a row in the data that are among its nearest on the map.
    pub kept: f64,
    /// The same for rows that were held out of the fit and placed by `transform`: share of their nearest fitted rows.
    pub placed: f64,
    /// Global order: twice the share of triplets whose order of distance the map keeps, less one.
    pub order: f64,
}

impl MethodScores {
    /// Mean of the three scores, by which methods are compared.
    pub fn mean(&self) -> f64 {
        (self.kept + self.placed + self.order) / 3.0
    }
}

/// A method that was not compared.
#[derive(Debug, Clone, PartialEq)]
pub struct SkippedMethod {
    /// Name of the method.
    pub method: &'static str,
    /// Why it was left out.
    pub reason: SkipReason,
}

/// Why a method was not compared.
#[derive(Debug, Clone, PartialEq)]
pub enum SkipReason {
    /// The data has more rows than this, for which the method would take too long.
    TooManyRows(usize),
    /// It does not use neighbors, and there is a precomputed neighbor graph.
    NoNeighbors,
    /// It cannot be fitted to these data with these parameters.
    Failed(Error),
}

/// The result of [`choose_method`].
#[derive(Debug, Clone, PartialEq)]
pub struct MethodChoice {
    /// Name of the chosen method.
    pub method: &'static str,
    /// Scores of the methods that were compared, in the order of preference among equals; empty if there were too few rows.
    pub scores: Vec<MethodScores>,
    /// The methods that were not compared.
    pub skipped: Vec<SkippedMethod>,
    /// Number of rows that the candidates were fitted to.
    pub fitted_rows: usize,
    /// Number of rows that were held out.
    pub held_out_rows: usize,
}

impl MethodChoice {
    /// Returns the reason for the choice in one sentence.
    pub fn reason(&self) -> String {
        let Some(best) = self.scores.iter().find(|scores| scores.method == self.method) else {
            return format!(
                "{} is the default; fewer than {MIN_ROWS} rows are too few to compare methods",
                self.method
            );
        };
        let others = self.scores.iter().filter(|scores| scores.method != self.method);
        let next = others.reduce(|a, b| if b.mean() > a.mean() { b } else { a });
        let next = next.map_or("no other method could be compared".into(), |next| {
            format!("{} is next with {:.3}", next.method, next.mean())
        });
        format!(
            "{} has the largest mean, {:.3}, of neighbors kept ({:.3}), held-out rows placed ({:.3}) and global order ({:.3}); {next}",
            self.method,
            best.mean(),
            best.kept,
            best.placed,
            best.order,
        )
    }

    /// Returns the scores as a table; empty if no methods were compared.
    pub fn table(&self) -> String {
        let mut text = String::new();
        for (at, MethodScores { method, kept, placed, order }) in self.scores.iter().enumerate() {
            if at == 0 {
                text.push_str("method     neighbors kept  held-out rows placed  global order   mean\n");
            }
            let mean = self.scores[at].mean();
            let _ = writeln!(text, "{method:<10} {kept:>14.3}  {placed:>20.3}  {order:>12.3}  {mean:.3}");
        }
        text
    }
}

/// Fits a few methods to a part of the rows and chooses the one with the largest mean of three scores: neighbors kept, held-out rows
/// placed well, and global order.
///
/// `values` are parameters as text; each method gets those that it has. A method that cannot be fitted to these data, or whose
/// fit to all rows would need too much memory, is left out. With few rows the default method is chosen.
pub fn choose_method(data: &Data, values: &[(&str, &str)], mut options: ChoiceOptions) -> Result<MethodChoice> {
    let metric = check(data, values)?;
    let mut choice = MethodChoice {
        method: DEFAULT_METHOD,
        scores: Vec::new(),
        skipped: Vec::new(),
        fitted_rows: 0,
        held_out_rows: 0,
    };
    if data.rows() < MIN_ROWS {
        return Ok(choice);
    }
    data.check_finite()?;
    let mut no_observer = NoObserver;
    let observer: &mut dyn Observer = match options.observer.take() {
        Some(observer) => observer,
        None => &mut no_observer,
    };
    let sample = Sample::new(data, metric, &options, &mut *observer)?;
    (choice.fitted_rows, choice.held_out_rows) = (sample.fitted.rows(), sample.held_out.rows());
    let mut failure = None;
    for (name, max_rows) in CANDIDATES {
        let info = MethodInfo::find(name)?;
        let mut skip = |reason| choice.skipped.push(SkippedMethod { method: info.name, reason });
        if data.rows() > max_rows {
            skip(SkipReason::TooManyRows(max_rows));
            continue;
        }
        if options.uses_neighbors && !info.uses_neighbors() {
            skip(SkipReason::NoNeighbors);
            continue;
        }
        announce(observer, format!("candidate {name}, on {} rows:", choice.fitted_rows))?;
        match sample.score(info, values, data, &options, &mut *observer) {
            Ok(scores) => choice.scores.push(scores),
            Err(error @ Error::Stopped { .. }) => return Err(error),
            Err(error) => {
                failure = failure.or(Some(error.clone()));
                skip(SkipReason::Failed(error));
            }
        }
    }
    match (best(&choice.scores), failure) {
        (Some(method), _) => choice.method = method,
        (None, Some(error)) => return Err(error),
        (None, None) => {}
    }
    Ok(choice)
}

/// Says which fit the events that follow belong to.
fn announce(observer: &mut dyn Observer, text: String) -> Result<()> {
    match observer.on(&Event::Note(&Note::Info(text))) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(Error::Stopped { stage: "method choice" }),
    }
}

/// Returns the method with the largest mean, the first one of equals.
fn best(scores: &[MethodScores]) -> Option<&'static str> {
    scores.iter().reduce(|a, b| if b.mean() > a.mean() { b } else { a }).map(|scores| scores.method)
}

/// Rejects parameters that no candidate has, and data that cannot be divided; returns the metric of the scores.
fn check(data: &Data, values: &[(&str, &str)]) -> Result<Metric> {
    let names = || CANDIDATES.map(|(name, _)| name).join(", ");
    for (name, value) in values {
        let known = CANDIDATES.iter().any(|(method, _)| MethodInfo::find(method).is_ok_and(|info| has(info, name)));
        if !known {
            let allowed = format!("none of the methods that are compared ({}) has a parameter {name}", names());
            return Err(Error::Parameter { name: "method", value: format!("{AUTO} with {name} = {value}"), allowed });
        }
    }
    let metric = match values.iter().find(|(name, _)| *name == "metric") {
        Some((_, text)) => parse("metric", text)?,
        None => Metric::Euclidean,
    };
    if metric == Metric::Precomputed {
        let allowed = "a matrix of distances cannot be divided into rows to fit and rows to place; name a method, such as tsne or isomap";
        return Err(Error::Parameter { name: "method", value: AUTO.into(), allowed: allowed.into() });
    }
    metric.check(data)?;
    Ok(metric)
}

fn has(info: &MethodInfo, name: &str) -> bool {
    info.params().iter().any(|spec| spec.name == name)
}

/// The rows on which the methods are compared, preprocessed, with their neighbors.
struct Sample {
    fitted: Data,
    held_out: Data,
    metric: Metric,
    /// Neighbors of the fitted rows, and neighbors of the held-out rows among them.
    neighbors: NeighborGraph,
    held_out_neighbors: NeighborGraph,
}

impl Sample {
    fn new(data: &Data, metric: Metric, options: &ChoiceOptions, observer: &mut dyn Observer) -> Result<Self> {
        let seed = options.seed.stream("method choice");
        let drawn = draw_rows((0..data.rows()).collect(), SAMPLE_ROWS.min(data.rows()), seed);
        let (mut held_out, mut fitted) =
            (drawn[..drawn.len() / HELD_OUT].to_vec(), drawn[drawn.len() / HELD_OUT..].to_vec());
        held_out.sort_unstable();
        fitted.sort_unstable();
        let (fitted, held_out) = (data.select(&fitted), data.select(&held_out));
        let mut context = Context::new(observer, options.seed, None);
        let (preprocessor, fitted) = options.preprocessing.fit(&fitted, &mut context)?;
        let held_out = preprocessor.apply(&held_out)?;
        let n_neighbors = NEIGHBORS.min(fitted.rows() / 2);
        let params = NeighborParams { n_neighbors, metric, search: Search::Exact, seed };
        let neighbors = nearest(&fitted, &params)?.graph;
        let held_out_neighbors = nearest_to(&held_out, &fitted, n_neighbors, metric)?;
        Ok(Self { fitted, held_out, metric, neighbors, held_out_neighbors })
    }

    /// Fits a method to the sample and scores its map. Fails if it could not be fitted to all rows.
    fn score(
        &self,
        info: &'static MethodInfo,
        values: &[(&str, &str)],
        data: &Data,
        options: &ChoiceOptions,
        observer: &mut dyn Observer,
    ) -> Result<MethodScores> {
        let own: Vec<(&str, &str)> = values.iter().filter(|(name, _)| has(info, name)).copied().collect();
        let ParsedMethod { method, landmarks } = info.parse(&own)?;
        let whole = FitOptions {
            preprocessing: options.preprocessing.clone(),
            landmarks,
            memory: options.memory.clone(),
            ..FitOptions::default()
        };
        check_memory(method.as_ref(), data.shape(), &whole)?;
        let landmarks = landmarks.filter(|&count| count < self.fitted.rows());
        let own_options =
            FitOptions { seed: options.seed, landmarks, observer: Some(observer), ..FitOptions::default() };
        let model = fit(method, &self.fitted, own_options)?;
        if model.outcome().stop_reason == StopReason::Stopped {
            return Err(Error::Stopped { stage: "method choice" });
        }
        let map = model.embedding();
        let placed = model.transform(&self.held_out)?;
        let k = self.neighbors.min_degree();
        let params =
            QualityParams { n_neighbors: k, metric: self.metric, seed: options.seed, ..QualityParams::default() };
        let known = PrecomputedGraphs { data: Some(&self.neighbors), map: None };
        let report = report_with(&self.fitted, map.points(), None, known, &params, &mut |_| Ok(()))?;
        let value = |kind| report.scores.iter().find(|score| score.kind == kind).map_or(0.0, |score| score.value);
        let on_map = nearest_to(&to_rows(&placed)?, &to_rows(map)?, k, Metric::Euclidean)?;
        Ok(MethodScores {
            method: info.name,
            kept: value(ScoreKind::KnnRecall),
            placed: knn_recall(&self.held_out_neighbors, &on_map, k)?,
            order: (2.0 * value(ScoreKind::TripletAccuracy) - 1.0).max(0.0),
        })
    }
}

/// Returns the points of a map as rows, for a search of neighbors.
fn to_rows(map: &Embedding) -> Result<Data> {
    Data::dense(map.values().iter().map(|&v| v as f32).collect(), map.dim())
}

#[cfg(test)]
#[path = "method_choice_tests.rs"]
mod tests;
