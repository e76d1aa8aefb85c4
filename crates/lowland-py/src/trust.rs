//! Reliability of embeddings.

use lowland::reruns::RerunOptions;
use lowland::trust::{self, TrustParams};
use lowland::{Labels, MemoryBudget, Seed, Target};
use numpy::PyReadonlyArray2;
use pyo3::prelude::*;

use crate::error::PyFailure;
use crate::graph::Graph;
use crate::model::PyModel;
use crate::panics::catch_panics;
use crate::rows::{Rows, to_embedding};
use crate::watch::{Callbacks, watch};

type ColumnLine = (&'static str, &'static str, Vec<f64>);
type IslandLine = (usize, Option<Vec<usize>>, Option<f64>);
type GapLine = ([u32; 2], String, usize, usize, Option<f64>);
type LossLine = Option<(&'static str, bool)>;
/// Rank of far points, width of the gaps, fewest points of an island, noise of the null.
type NumbersLine = (usize, f64, usize, f64);
type TrustParts =
    (Vec<ColumnLine>, Vec<IslandLine>, Vec<GapLine>, [String; 3], Vec<(&'static str, String)>, LossLine, NumbersLine);

/// Returns the columns as `(name, meaning, values)`, islands as `(points, sizes of the parts, weakest connection)`, gaps as
/// `(islands, verdict, links, counted links, connection)`, the summary, omitted columns as `(name, reason)`, the method whose
/// loss was used with whether it is that of `model`, and the numbers that islands and flags were found by.
#[pyfunction]
#[pyo3(signature = (rows, map, n_neighbors, metric, fdr, everything, seed, threads=None, graph=None, model=None))]
pub fn assess(
    py: Python<'_>,
    rows: Rows,
    map: PyReadonlyArray2<f64>,
    n_neighbors: usize,
    metric: &str,
    fdr: f64,
    everything: bool,
    seed: u64,
    threads: Option<usize>,
    graph: Option<&Bound<'_, Graph>>,
    model: Option<&Bound<'_, PyModel>>,
) -> PyResult<TrustParts> {
    catch_panics(|| {
        let (data, map) = (rows.to_data()?, to_embedding(&map)?);
        drop(rows);
        let metric = metric.parse().map_err(PyFailure::from)?;
        let params = TrustParams { n_neighbors, metric, fdr, everything, seed: Seed(seed) };
        let graph = graph.map(|graph| graph.get().inner.clone());
        // Reliability does not depend on an alignment of the map, and the loss is that of the map without it.
        let map = match model {
            Some(model) => model.get().inner.own_points(map.points()).map_err(PyFailure::from)?,
            None => map,
        };
        let loss = model.and_then(|model| model.get().inner.point_loss(map.points()));
        let output = watch(py, threads, &Callbacks::default(), |watcher| {
            let progress = &mut |done| watcher.progress("reliability", done);
            Ok(trust::assess(&data, map.points(), graph.as_deref(), loss.as_ref(), &params, progress)?)
        })?;
        output.raised.map_or(Ok(()), Err)?;
        let report = output.result;
        let island = |(at, &points): (usize, &usize)| {
            let parts = report.parts.as_ref().map(|parts| &parts[at]);
            (points, parts.map(|parts| parts.sizes.clone()), parts.and_then(|parts| parts.weakest_connection))
        };
        let gap =
            |gap: &trust::Gap| (gap.islands, gap.verdict.to_string(), gap.links, gap.counted_links, gap.connection);
        Ok((
            report
                .reliability
                .iter()
                .map(|(column, values)| (column.name(), column.meaning(), values.to_vec()))
                .collect(),
            report.islands.sizes.iter().enumerate().map(island).collect(),
            report.gaps.iter().map(gap).collect(),
            report.summary(),
            report.omitted.iter().map(|(column, reason)| (column.name(), reason.clone())).collect(),
            report.loss.map(|loss| (loss.method, loss.is_own)),
            (report.reach, report.islands.gap_width, report.islands.min_size, report.null_noise),
        ))
    })
}

/// Returns how far each point of a fitted model moves over reruns without a tenth of the rows.
#[pyfunction]
#[pyo3(signature = (rows, model, reruns, threads=None, target=None))]
pub fn instability(
    py: Python<'_>,
    rows: Rows,
    model: &Bound<'_, PyModel>,
    reruns: usize,
    threads: Option<usize>,
    target: Option<Vec<String>>,
) -> PyResult<Vec<f64>> {
    catch_panics(|| {
        let data = rows.to_data()?;
        drop(rows);
        let target = target.map(|texts| Target::new(Labels::new(texts)));
        let model = &model.get().inner;
        let output = watch(py, threads, &Callbacks::default(), |watcher| {
            let memory = MemoryBudget::new(lowland::available_memory());
            let options = RerunOptions { reruns, target: target.as_ref(), observer: Some(watcher), memory };
            Ok(lowland::reruns::instability(model.pipeline(), &data, model.embedding(), options)?)
        })?;
        output.raised.map_or(Ok(()), Err)?;
        Ok(output.result)
    })
}
