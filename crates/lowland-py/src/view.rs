//! The interactive page.

use std::path::PathBuf;

use lowland::neighbors::{NeighborGraph, nearest_points_with};
use lowland::{AnnotatedEmbedding, Data, Labels, Reliability, ReliabilityColumn};
use lowland_view::page::{ColumnData, Page, PageColumn, PageMap, PageSlider, detect_images, render_html};
use numpy::PyReadonlyArray2;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error::PyFailure;
use crate::graph::Graph;
use crate::panics::catch_panics;
use crate::picture::to_palette;
use crate::rows::{Rows, to_embedding};
use crate::watch::{Callbacks, watch};

/// Number of neighbors of each point in a page, as in the scores.
const NEIGHBORS: usize = 15;

/// Name, caption, coordinates, standard deviations, covariances (row by row), and columns of reliability by name.
pub(crate) type EmbeddingTuple<'py> =
    (String, String, PyReadonlyArray2<'py, f64>, Option<Vec<f64>>, Option<Vec<f64>>, Vec<(String, Vec<f64>)>);

/// Name, caption, map.
pub(crate) type NamedMap = (String, String, AnnotatedEmbedding);

/// Writes a file atomically.
#[pyfunction]
pub fn write_file(py: Python<'_>, path: PathBuf, content: &[u8]) -> PyResult<()> {
    catch_panics(|| Ok(py.detach(|| lowland_io::write_bytes(&path, content)).map_err(PyFailure::from)?))
}

/// Renders a page of embeddings of the same rows. Shows images if `rows` look like images, and, with `graph`, the true
/// neighbors and which of them each embedding preserves. `slider` are the exaggerations of the embeddings, for a slider between them.
#[pyfunction]
#[pyo3(signature = (title, maps, *, rows=None, classes=Vec::new(), numbers=Vec::new(), ids=None, graph=None, slider=None, palette="default", threads=None))]
pub fn page<'py>(
    py: Python<'py>,
    title: String,
    maps: Vec<EmbeddingTuple<'py>>,
    rows: Option<Rows<'py>>,
    classes: Vec<(String, Vec<u32>, Vec<String>)>,
    numbers: Vec<(String, Vec<f32>)>,
    ids: Option<Vec<String>>,
    graph: Option<&Bound<'py, Graph>>,
    slider: Option<Vec<f64>>,
    palette: &str,
    threads: Option<usize>,
) -> PyResult<Bound<'py, PyBytes>> {
    catch_panics(|| {
        let palette = to_palette(palette)?;
        let data = rows.as_ref().map(Rows::to_data).transpose()?;
        let truth = graph.map(|graph| graph.get().inner.truncate(NEIGHBORS));
        let maps = maps.into_iter().map(annotated).collect::<PyResult<Vec<_>>>()?;
        let classes: Vec<(String, Labels)> =
            classes.into_iter().map(|(name, codes, names)| (name, Labels { codes, names })).collect();
        let output = watch(py, threads, &Callbacks::default(), |watcher| {
            let graphs = maps.iter().map(|(_, _, map)| {
                let k = truth.as_ref().map_or(0, NeighborGraph::min_degree).min(map.rows().saturating_sub(1));
                (k > 0)
                    .then(|| nearest_points_with(map.points(), k, &mut |done| watcher.progress("page", done)))
                    .transpose()
            });
            let graphs = graphs.collect::<lowland::Result<Vec<_>>>()?;
            let by_class = classes
                .iter()
                .map(|(name, labels)| PageColumn { name: name.clone(), values: ColumnData::Classes(labels) });
            let by_number =
                numbers.into_iter().map(|(name, values)| PageColumn { name, values: ColumnData::Numbers(values) });
            let page_maps = maps.iter().zip(&graphs).map(|((name, caption, map), graph)| PageMap {
                name: name.clone(),
                caption: caption.clone(),
                map,
                neighbors: graph.as_ref(),
            });
            let page = Page {
                title,
                rows: maps.first().map_or(0, |(_, _, map)| map.rows()),
                maps: page_maps.collect(),
                ids: ids.as_deref(),
                palette,
                columns: by_class.chain(by_number).collect(),
                neighbors: truth.as_ref(),
                slider: slider.map(|values| PageSlider { label: "exaggeration", values }),
                images: data
                    .as_ref()
                    .and_then(|data| if let Data::Dense(rows) = data { detect_images(rows) } else { None }),
                ..Page::default()
            };
            Ok(render_html(&page)?)
        })?;
        output.raised.map_or(Ok(PyBytes::new(py, &output.result)), Err)
    })
}

/// Converts a map from Python.
pub(crate) fn annotated((name, caption, points, std, covariances, columns): EmbeddingTuple) -> PyResult<NamedMap> {
    let reliability = to_reliability(columns)?;
    Ok((name, caption, AnnotatedEmbedding { std, covariances, reliability, ..to_embedding(&points)?.into() }))
}

/// The columns of reliability of a map.
fn to_reliability(columns: Vec<(String, Vec<f64>)>) -> PyResult<Option<Reliability>> {
    let mut reliability = Reliability::default();
    for (name, values) in columns {
        let column = ReliabilityColumn::from_name(&name).ok_or_else(|| {
            let known = ReliabilityColumn::ALL.map(ReliabilityColumn::name).join(", ");
            PyValueError::new_err(format!("reliability: there is no column '{name}'; expected {known}"))
        })?;
        reliability.set(column, values);
    }
    Ok((!reliability.is_empty()).then_some(reliability))
}
