//! `.html`: the interactive page of maps and their data.

use lowland::neighbors::{NeighborGraph, NeighborParams, nearest, nearest_points};
use lowland::{Data, Metric, Points};
use lowland_io::Table;
use lowland_view::Labels;
use lowland_view::page::{Column, Images, Page, Values};

use crate::args::RunArgs;
use crate::observer::Console;

/// Neighbours a point in a page, as in the scores.
const NEIGHBORS: usize = 15;
/// More rows than this are not searched for the sake of a page, and of strings, which are slow to compare, far fewer.
const MOST_ROWS: usize = 200_000;
const MOST_STRINGS: usize = 5_000;
/// Named columns of the data that a page can colour by.
const MOST_COLUMNS: usize = 64;
/// And the numbers in all of them together.
const MOST_NUMBERS: usize = 8 << 20;

/// What the table knows of each point: names, classes, true coordinates, named columns, images.
pub fn about<'a>(title: String, table: &'a Table) -> Page<'a> {
    let mut columns = Vec::new();
    if let Some(labels) = &table.labels {
        let labels = Labels { codes: &labels.codes, names: &labels.names };
        columns.push(Column { name: "label".into(), values: Values::Classes(labels) });
    }
    if let Some(truth) = &table.truth {
        columns.extend((0..truth.dim()).map(|c| Column {
            name: format!("true coordinate {}", c + 1),
            values: Values::Numbers((0..truth.rows()).map(|i| truth.row(i)[c] as f32).collect()),
        }));
    }
    let dense = if let Data::Dense(dense) = &table.data { Some(dense) } else { None };
    if let (Some(names), Some(dense)) = (&table.columns, dense)
        && names.len() <= MOST_COLUMNS
        && dense.values().len() <= MOST_NUMBERS
    {
        let numbers = |c: usize| dense.values().iter().skip(c).step_by(dense.dim()).copied().collect();
        columns.extend(
            names.iter().enumerate().map(|(c, name)| Column { name: name.clone(), values: Values::Numbers(numbers(c)) }),
        );
    }
    let images = dense.and_then(Images::guess);
    Page { title, rows: table.rows(), ids: table.ids.as_deref(), columns, images, ..Page::default() }
}

/// The true neighbours: those the method found exactly, or searched for here where that is quick. A stop or an error leaves
/// them out and says so.
pub fn true_neighbors(
    data: &Data,
    metric: Metric,
    known: Option<&NeighborGraph>,
    run: &RunArgs,
    console: &mut Console,
) -> Option<NeighborGraph> {
    let n_neighbors = NEIGHBORS.min(data.rows().saturating_sub(1));
    if let Some(graph) = known.filter(|graph| graph.min_degree() >= n_neighbors) {
        return Some(graph.clone());
    }
    let most = if matches!(data, Data::Text(_)) { MOST_STRINGS } else { MOST_ROWS };
    if n_neighbors == 0 || data.rows() > most {
        console.note(&format!("the page is without true neighbours: they are searched for up to {most} rows"));
        return None;
    }
    let params = NeighborParams { n_neighbors, metric, seed: run.seed(), ..NeighborParams::default() };
    let found = lowland::with_threads(run.threads(), || {
        console.progress("page", |progress| nearest(data, &params, progress)).map(|found| found.graph)
    });
    let found = found.and_then(|graph| graph);
    found.map_err(|error| console.note(&format!("warning: the page is without true neighbours: {error}"))).ok()
}

/// The neighbours in a map, to tell which of the true ones it keeps.
pub fn map_neighbors(
    map: Points,
    truth: Option<&NeighborGraph>,
    run: &RunArgs,
    console: &mut Console,
) -> Option<NeighborGraph> {
    let n_neighbors = truth?.min_degree().min(NEIGHBORS);
    let found = lowland::with_threads(run.threads(), || nearest_points(map, n_neighbors, &mut |_| Ok(())));
    let found = found.and_then(|graph| graph);
    found.map_err(|error| console.note(&format!("warning: the page does not know what the map keeps: {error}"))).ok()
}
