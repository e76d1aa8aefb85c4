//! Quality scores of embeddings.

use lowland::method::Method;
use lowland::methods::Tsm;
use lowland::neighbors::NeighborGraph;
use lowland::preprocessing::rows_for_metric;
use lowland::quality::{self, AnalogyQuestions, PrecomputedGraphs, QualityParams, QualityReport};
use lowland::{Data, Metric, Points, Seed};
use numpy::PyReadonlyArray2;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::error::PyFailure;
use crate::graph::Graph;
use crate::model::PyModel;
use crate::panics::catch_panics;
use crate::rows::{Rows, to_embedding};
use crate::watch::{Callbacks, watch};

type ScoreLine = (&'static str, f64, Option<usize>, Option<usize>, Option<f64>, bool, &'static str);

/// Scores, class shares and omitted scores.
pub type ReportParts = (Vec<ScoreLine>, Vec<(u32, usize, f64)>, Vec<(&'static str, String)>);

/// Returns the scores as `(name, value, k, sampled, standard error, higher is better, meaning)`, class shares as `(code, points, share)`,
/// and omitted scores as `(name, reason)`.
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
    catch_panics(|| {
        let (data, map) = (rows.to_data()?, to_embedding(&map)?);
        drop(rows);
        let metric = metric.parse().map_err(PyFailure::from)?;
        let params = QualityParams { n_neighbors, metric, seed: Seed(seed), ..QualityParams::default() };
        let graph = graph.map(|graph| graph.get().inner.clone());
        compute_report(py, &data, map.points(), labels.as_deref(), graph.as_deref(), params, threads)
    })
}

/// Returns the same for a fitted model and the preprocessed rows that it was fitted to.
#[pyfunction]
#[pyo3(signature = (model, labels, n_neighbors, metric, seed, threads=None, graph=None))]
pub fn report_of_model(
    py: Python<'_>,
    model: &Bound<'_, PyModel>,
    labels: Option<Vec<u32>>,
    n_neighbors: usize,
    metric: &str,
    seed: u64,
    threads: Option<usize>,
    graph: Option<&Bound<'_, Graph>>,
) -> PyResult<ReportParts> {
    catch_panics(|| {
        let model = &model.get().inner;
        let metric: Metric = metric.parse().map_err(PyFailure::from)?;
        let params = QualityParams { n_neighbors, metric, seed: Seed(seed), ..QualityParams::default() };
        let given = graph.map(|graph| graph.get().inner.clone());
        let known = given.as_deref().or(model.neighbors()).filter(|graph| graph.metric() == metric);
        match model.training_data() {
            Some(data) => {
                compute_report(py, data, model.embedding().points(), labels.as_deref(), known, params, threads)
            }
            None => Err(PyValueError::new_err("a model that was loaded from a file does not have its training rows")),
        }
    })
}

fn compute_report(
    py: Python<'_>,
    data: &Data,
    map: Points,
    labels: Option<&[u32]>,
    graph: Option<&NeighborGraph>,
    params: QualityParams,
    threads: Option<usize>,
) -> PyResult<ReportParts> {
    let output = watch(py, threads, &Callbacks::default(), |watcher| {
        let known = PrecomputedGraphs { data: graph, map: None };
        let progress = &mut |done| watcher.progress("scores", done);
        let data = rows_for_metric(data, params.metric, None)?;
        Ok(quality::report_with(&data, map, labels, known, &params, progress)?)
    })?;
    if let Some(error) = output.raised {
        return Err(error);
    }
    Ok(report_parts(output.result))
}

/// The parts of a report, as Python receives them.
pub fn report_parts(report: QualityReport) -> ReportParts {
    let line = |s: &quality::Score| {
        let kind = s.kind;
        (kind.name(), s.value, s.k, s.sampled, s.standard_error, kind.higher_is_better(), kind.meaning())
    };
    (
        report.scores.iter().map(line).collect(),
        report.classes.iter().map(|class| (class.code, class.points, class.share)).collect(),
        report.omitted.into_iter().map(|omitted| (omitted.kind.name(), omitted.reason)).collect(),
    )
}

/// Returns the disparity of two embeddings after the best translation, rotation and scaling, 0 to 1.
#[pyfunction]
pub fn procrustes(a: PyReadonlyArray2<f64>, b: PyReadonlyArray2<f64>) -> PyResult<f64> {
    catch_panics(|| {
        let (a, b) = (to_embedding(&a)?, to_embedding(&b)?);
        Ok(quality::procrustes(a.points(), b.points()).map_err(PyFailure::from)?.disparity)
    })
}

/// Returns the mean change of small angles in degrees, the Jaccard index of similar pairs, the error of the norms, and the
/// number of pairs.
#[pyfunction]
#[pyo3(signature = (rows, map, tau, threads=None))]
pub fn angles(
    py: Python<'_>,
    rows: Rows,
    map: PyReadonlyArray2<f64>,
    tau: f64,
    threads: Option<usize>,
) -> PyResult<(f64, f64, f64, u64)> {
    catch_panics(|| {
        let (data, map) = (rows.to_data()?, to_embedding(&map)?);
        drop(rows);
        let output = watch(py, threads, &Callbacks::default(), |watcher| {
            data.check_finite()?;
            Ok(quality::angle_scores_with(&data, map.points(), tau, &mut |done| watcher.progress("scores", done))?)
        })?;
        output.raised.map_or(Ok(()), Err)?;
        let angles = output.result;
        Ok((angles.deviation, angles.jaccard, angles.norm_error, angles.pairs))
    })
}

/// Returns histograms of the angles, in degrees, of nearest neighbors and of other pairs, the number of sampled rows, and
/// the threshold.
#[pyfunction]
#[pyo3(signature = (rows, density, seed, threads=None))]
pub fn angle_histogram(
    py: Python<'_>,
    rows: Rows,
    density: f64,
    seed: u64,
    threads: Option<usize>,
) -> PyResult<(Vec<u64>, Vec<u64>, usize, f64)> {
    catch_panics(|| {
        let data = rows.to_data()?;
        drop(rows);
        let output = watch(py, threads, &Callbacks::default(), |watcher| {
            data.check_finite()?;
            Tsm { density, ..Tsm::default() }.validate()?;
            Ok(Tsm::angles(&data, Seed(seed), &mut |done| watcher.progress("angles", done))?)
        })?;
        output.raised.map_or(Ok(()), Err)?;
        let (angles, tau) = (&output.result, output.result.threshold(density));
        Ok((angles.nearest.clone(), angles.others.clone(), angles.rows, tau))
    })
}

/// Returns, for each category of questions, its name, the numbers of correct answers and questions, and the number of
/// questions skipped because of a missing word.
#[pyfunction]
#[pyo3(signature = (vectors, words, questions, threads=None))]
pub fn analogies(
    py: Python<'_>,
    vectors: PyReadonlyArray2<f64>,
    words: Vec<String>,
    questions: &str,
    threads: Option<usize>,
) -> PyResult<Vec<(String, usize, usize, usize)>> {
    catch_panics(|| {
        let vectors = to_embedding(&vectors)?;
        let parsed_questions = AnalogyQuestions::parse(questions).map_err(PyFailure::from)?;
        let output = watch(py, threads, &Callbacks::default(), |watcher| {
            Ok(quality::score_analogies_with(vectors.points(), &words, &parsed_questions, &mut |done| {
                watcher.progress("analogies", done)
            })?)
        })?;
        output.raised.map_or(Ok(()), Err)?;
        Ok(output.result.into_iter().map(|score| (score.category, score.correct, score.asked, score.skipped)).collect())
    })
}
