//! Scores of a map.

use lowland::Seed;
use lowland::method::Method;
use lowland::methods::Tsm;
use lowland::quality::{self, AnalogyQuestions, PrecomputedGraphs, QualityParams};
use numpy::PyReadonlyArray2;
use pyo3::prelude::*;

use crate::error::Failure;
use crate::graph::Graph;
use crate::rows::{Rows, to_map};
use crate::watch::{Listeners, watch};

type ScoreLine = (&'static str, f64, Option<usize>, Option<usize>, bool, &'static str);

type ReportParts = (Vec<ScoreLine>, Vec<(u32, usize, f64)>, Vec<(&'static str, String)>);

/// Scores as `(name, value, k, sampled, higher is better, meaning)`, class shares as `(code, points, share)`, and what was
/// left out, as `(name, reason)`.
#[pyfunction]
#[pyo3(signature = (rows, map, labels, n_neighbors, metric, seed, threads=None, graph=None))]
pub fn report(
    py: Python<'_>,
    rows: Rows,
    map: PyReadonlyArray2<f64>,
    labels: Option<Vec<u32>>,
    n_neighbors: usize,
    metric: &str,
    seed: u64,
    threads: Option<usize>,
    graph: Option<&Bound<'_, Graph>>,
) -> PyResult<ReportParts> {
    let (data, map) = (rows.to_data()?, to_map(&map)?);
    drop(rows);
    let metric = metric.parse().map_err(Failure::from)?;
    let params = QualityParams { n_neighbors, metric, seed: Seed(seed), ..QualityParams::default() };
    let graph = graph.map(|graph| graph.get().inner.clone());
    let scored = watch(py, threads, &Listeners::default(), |watcher| {
        let known = PrecomputedGraphs { data: graph.as_deref(), map: None };
        let progress = &mut |done| watcher.progress("scores", done);
        Ok(quality::report_with(&data, map.points(), labels.as_deref(), known, &params, progress)?)
    })?;
    if let Some(error) = scored.raised {
        return Err(error);
    }
    let report = scored.result;
    let line =
        |s: &quality::Score| (s.kind.name(), s.value, s.k, s.sampled, s.kind.higher_is_better(), s.kind.meaning());
    Ok((
        report.scores.iter().map(line).collect(),
        report.classes.iter().map(|class| (class.code, class.points, class.share)).collect(),
        report.omitted.into_iter().map(|omitted| (omitted.kind.name(), omitted.reason)).collect(),
    ))
}

/// What is left between two maps after the best shift, rotation and scale, 0 to 1.
#[pyfunction]
pub fn procrustes(a: PyReadonlyArray2<f64>, b: PyReadonlyArray2<f64>) -> PyResult<f64> {
    let (a, b) = (to_map(&a)?, to_map(&b)?);
    Ok(quality::procrustes(a.points(), b.points()).map_err(Failure::from)?.disparity)
}

/// Mean change of small angles in degrees, Jaccard index of the similar pairs, error of the norms, and pairs counted.
#[pyfunction]
#[pyo3(signature = (rows, map, tau, threads=None))]
pub fn angles(
    py: Python<'_>,
    rows: Rows,
    map: PyReadonlyArray2<f64>,
    tau: f64,
    threads: Option<usize>,
) -> PyResult<(f64, f64, f64, u64)> {
    let (data, map) = (rows.to_data()?, to_map(&map)?);
    drop(rows);
    let found = watch(py, threads, &Listeners::default(), |watcher| {
        data.check_finite()?;
        Ok(quality::angle_scores_with(&data, map.points(), tau, &mut |done| watcher.progress("scores", done))?)
    })?;
    found.raised.map_or(Ok(()), Err)?;
    let angles = found.result;
    Ok((angles.deviation, angles.jaccard, angles.norm_error, angles.pairs))
}

/// Pairs of nearest neighbours and other pairs by whole degrees, the rows compared with all, and the threshold.
#[pyfunction]
#[pyo3(signature = (rows, density, seed, threads=None))]
pub fn angle_histogram(
    py: Python<'_>,
    rows: Rows,
    density: f64,
    seed: u64,
    threads: Option<usize>,
) -> PyResult<(Vec<u64>, Vec<u64>, usize, f64)> {
    let data = rows.to_data()?;
    drop(rows);
    let found = watch(py, threads, &Listeners::default(), |watcher| {
        data.check_finite()?;
        Tsm { density, ..Tsm::default() }.validate()?;
        Ok(Tsm::angles(&data, Seed(seed), &mut |done| watcher.progress("angles", done))?)
    })?;
    found.raised.map_or(Ok(()), Err)?;
    let (angles, tau) = (&found.result, found.result.threshold(density));
    Ok((angles.nearest.clone(), angles.others.clone(), angles.rows, tau))
}

/// For each category of the questions its name, right answers, questions asked, and those left out for want of a word.
#[pyfunction]
#[pyo3(signature = (vectors, words, questions, threads=None))]
pub fn analogies(
    py: Python<'_>,
    vectors: PyReadonlyArray2<f64>,
    words: Vec<String>,
    questions: &str,
    threads: Option<usize>,
) -> PyResult<Vec<(String, usize, usize, usize)>> {
    let vectors = to_map(&vectors)?;
    let asked = AnalogyQuestions::parse(questions).map_err(Failure::from)?;
    let found = watch(py, threads, &Listeners::default(), |watcher| {
        Ok(quality::score_analogies_with(vectors.points(), &words, &asked, &mut |done| {
            watcher.progress("analogies", done)
        })?)
    })?;
    found.raised.map_or(Ok(()), Err)?;
    Ok(found.result.into_iter().map(|score| (score.category, score.correct, score.asked, score.skipped)).collect())
}
