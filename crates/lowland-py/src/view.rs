//! The interactive page.

use lowland::neighbors::{NeighborGraph, nearest_points_with};
use lowland::{AnnotatedEmbedding, Data, Labels};
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
    let annotated = |(name, caption, points, std): Shown| -> PyResult<(String, String, AnnotatedEmbedding)> {
        Ok((name, caption, AnnotatedEmbedding { std, ..to_map(&points)?.into() }))
    };
    let maps = maps.into_iter().map(annotated).collect::<PyResult<Vec<_>>>()?;
    let classes: Vec<(String, Labels)> =
        classes.into_iter().map(|(name, codes, names)| (name, Labels { codes, names })).collect();
    let made = watch(py, threads, &Listeners::default(), |watcher| {
        let kept = maps.iter().map(|(_, _, map)| {
            let k = truth.as_ref().map_or(0, NeighborGraph::min_degree).min(map.rows().saturating_sub(1));
            (k > 0)
                .then(|| nearest_points_with(map.points(), k, &mut |done| watcher.progress("page", done)))
                .transpose()
        });
        let kept = kept.collect::<lowland::Result<Vec<_>>>()?;
        let by_class =
            classes.iter().map(|(name, labels)| PageColumn { name: name.clone(), values: ColumnData::Classes(labels) });
        let by_number =
            numbers.into_iter().map(|(name, values)| PageColumn { name, values: ColumnData::Numbers(values) });
        let shown = maps.iter().zip(&kept).map(|((name, caption, map), kept)| PageMap {
            name: name.clone(),
            caption: caption.clone(),
            map,
            neighbors: kept.as_ref(),
        });
        let page = Page {
            title,
            rows: maps.first().map_or(0, |(_, _, map)| map.rows()),
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
