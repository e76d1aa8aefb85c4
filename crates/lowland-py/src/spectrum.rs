//! t-SNE at several exaggerations.

use lowland::methods::Tsne;
use lowland::params::Params;
use lowland::preprocessing::Preprocessing;
use lowland::quality::{self, PrecomputedGraphs, QualityParams};
use lowland::spectrum::{self, SpectrumMap};
use lowland::{FitOptions, MemoryBudget, Seed};
use numpy::PyArray2;
use pyo3::exceptions::PyBaseException;
use pyo3::prelude::*;

use crate::error::PyFailure;
use crate::graph::Graph;
use crate::panics::catch_panics;
use crate::quality::{ReportParts, report_parts};
use crate::rows::{Rows, embedding_to_array};
use crate::watch::{Callbacks, WatchOutput, watch};

/// Exaggeration, aligned map and scores of a fit.
type SpectrumMapTuple<'py> = (f64, Bound<'py, PyArray2<f64>>, ReportParts);

/// The maps, the exact neighbors of the rows if they were found, and the exception that ended the fits early, if any.
type SpectrumTuple<'py> = (Vec<SpectrumMapTuple<'py>>, Option<Graph>, Option<Bound<'py, PyBaseException>>);

/// Fits t-SNE at ascending exaggerations. `params` are the parameters of t-SNE as text.
#[pyfunction]
#[pyo3(signature = (
    params, exaggerations, rows, *, labels=None, preprocessing=Vec::new(), graph=None, seed=0, threads=None, max_memory=None,
    on_progress=None, on_note=None
))]
pub fn fit_spectrum<'py>(
    py: Python<'py>,
    params: Vec<(String, String)>,
    exaggerations: Vec<f64>,
    rows: Rows<'py>,
    labels: Option<Vec<u32>>,
    preprocessing: Vec<(String, String)>,
    graph: Option<&Bound<'py, Graph>>,
    seed: u64,
    threads: Option<usize>,
    max_memory: Option<u64>,
    on_progress: Option<Bound<'py, PyAny>>,
    on_note: Option<Bound<'py, PyAny>>,
) -> PyResult<SpectrumTuple<'py>> {
    catch_panics(|| {
        let mut method = Tsne::default();
        for (name, text) in &params {
            method.set(name, text).map_err(PyFailure::from)?;
        }
        let mut steps = Preprocessing::default();
        for (name, text) in &preprocessing {
            steps.set(name, text).map_err(PyFailure::from)?;
        }
        let data = rows.to_data()?;
        drop(rows);
        let graph = graph.map(|graph| graph.get().inner.clone());
        let callbacks = Callbacks { on_progress, on_note, ..Callbacks::default() };
        let WatchOutput { result, raised } = watch(py, threads, &callbacks, |watcher| {
            let options = FitOptions {
                seed: Seed(seed),
                preprocessing: steps,
                neighbors: graph.as_deref(),
                observer: Some(watcher),
                memory: MemoryBudget::new(max_memory.or_else(lowland::available_memory)),
                ..FitOptions::default()
            };
            let found = spectrum::fit(&method, &exaggerations, &data, options)?;
            // Most scores need fewer neighbors than half the number of points.
            let n_neighbors = QualityParams::default().n_neighbors.min((data.rows().saturating_sub(1) / 2).max(1));
            let params =
                QualityParams { n_neighbors, metric: method.metric, seed: Seed(seed), ..QualityParams::default() };
            let known = PrecomputedGraphs { data: found.neighbors.as_ref(), map: None };
            let score = |map: &SpectrumMap| {
                let (points, codes) = (map.embedding.points(), labels.as_deref());
                quality::report_with(&found.data, points, codes, known, &params, &mut |_| Ok(())).map(report_parts)
            };
            let scores = found.maps.iter().map(score).collect::<lowland::Result<Vec<ReportParts>>>()?;
            Ok((found.maps, found.neighbors, scores))
        })?;
        let (maps, neighbors, scores) = result;
        let map = |(map, scores): (&SpectrumMap, ReportParts)| {
            Ok((map.exaggeration, embedding_to_array(py, &map.embedding)?, scores))
        };
        let maps = maps.iter().zip(scores).map(map).collect::<PyResult<_>>()?;
        Ok((maps, neighbors.map(Graph::new), raised.map(|error| error.into_value(py).into_bound(py))))
    })
}
