//! The interactive page.

use lowland::neighbors::{NeighborGraph, nearest_points};
use lowland::{Data, Embedding};
use lowland_view::ClassLabels;
use lowland_view::page::{ColumnData, Page, PageColumn, PageMap, detect_images, render_html};
use numpy::PyReadonlyArray2;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::graph::Graph;
use crate::rows::{Rows, to_map};
use crate::watch::{Listeners, watch};

/// Neighbours a point in a page, as in the scores.
const NEIGHBORS: usize = 15;

/// Name, caption, points, standard deviations.
type Shown<'py> = (String, String, PyReadonlyArray2<'py, f64>, Option<Vec<f64>>);

/// A page of maps of the same rows. Images are shown where `rows` look like images; with `graph`, the true neighbours and
/// which of them each map keeps.
#[pyfunction]
#[pyo3(signature = (title, maps, *, rows=None, classes=Vec::new(), numbers=Vec::new(), ids=None, graph=None, threads=None))]
pub fn page<'py>(
    py: Python<'py>,
    title: String,
    maps: Vec<Shown<'py>>,
    rows: Option<Rows<'py>>,
    classes: Vec<(String, Vec<u32>, Vec<String>)>,
    numbers: Vec<(String, Vec<f32>)>,
    ids: Option<Vec<String>>,
    graph: Option<&Bound<'py, Graph>>,
    threads: Option<usize>,
) -> PyResult<Bound<'py, PyBytes>> {
    let data = rows.as_ref().map(Rows::to_data).transpose()?;
    let truth = graph.map(|graph| graph.get().inner.truncate(NEIGHBORS));
    let points = maps.iter().map(|map| to_map(&map.2)).collect::<PyResult<Vec<Embedding>>>()?;
    let about: Vec<(String, String, Option<Vec<f64>>)> =
        maps.into_iter().map(|(name, caption, _, std)| (name, caption, std)).collect();
    let made = watch(py, threads, &Listeners::default(), |watcher| {
        let kept = points.iter().map(|map| {
            let k = truth.as_ref().map_or(0, NeighborGraph::min_degree).min(map.rows().saturating_sub(1));
            (k > 0).then(|| nearest_points(map.points(), k, &mut |done| watcher.progress("page", done))).transpose()
        });
        let kept = kept.collect::<lowland::Result<Vec<_>>>()?;
        let by_class = classes.iter().map(|(name, codes, names)| PageColumn {
            name: name.clone(),
            values: ColumnData::Classes(ClassLabels { codes, names }),
        });
        let by_number =
            numbers.into_iter().map(|(name, values)| PageColumn { name, values: ColumnData::Numbers(values) });
        let shown = about.iter().zip(&points).zip(&kept).map(|(((name, caption, std), map), kept)| PageMap {
            name: name.clone(),
            caption: caption.clone(),
            points: map.points(),
            std: std.as_deref(),
            covariances: None,
            neighbors: kept.as_ref(),
        });
        let page = Page {
            title,
            rows: points.first().map_or(0, Embedding::rows),
            maps: shown.collect(),
            ids: ids.as_deref(),
            columns: by_class.chain(by_number).collect(),
            neighbors: truth.as_ref(),
            images: data
                .as_ref()
                .and_then(|data| if let Data::Dense(rows) = data { detect_images(rows) } else { None }),
            ..Page::default()
        };
        Ok(render_html(&page)?)
    })?;
    made.raised.map_or(Ok(PyBytes::new(py, &made.result)), Err)
}
