//! `.html`: the interactive page of maps and their data.

use std::path::PathBuf;

use lowland::neighbors::{NeighborGraph, NeighborParams, nearest, nearest_points};
use lowland::{Data, Metric, Points};
use lowland_io::Table;
use lowland_view::page::{self, Column, Page, PageMap, Values, guess_images};
use lowland_view::{Labels, TextTable};

use super::picture::{self, ending};
use super::shown::Shown;
use crate::args::RunArgs;
use crate::failure::Failure;
use crate::observer::Console;
use crate::picture_args::PictureArgs;

/// Neighbours a point in a page, as in the scores.
const NEIGHBORS: usize = 15;
/// More rows than this are not searched for the sake of a page, and of strings, which are slow to compare, far fewer.
const MOST_ROWS: usize = 200_000;
const MOST_STRINGS: usize = 5_000;
/// Named columns of the data that a page can colour by.
const MOST_COLUMNS: usize = 64;
/// And the numbers in all of them together.
const MOST_NUMBERS: usize = 8 << 20;

/// The ending of a page.
pub const ENDING: &str = "html";

/// Pages and pictures among the files asked for.
pub fn split(paths: &[PathBuf]) -> (Vec<PathBuf>, Vec<PathBuf>) {
    paths.iter().cloned().partition(|path| ending(path) == ENDING)
}

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
            names
                .iter()
                .enumerate()
                .map(|(c, name)| Column { name: name.clone(), values: Values::Numbers(numbers(c)) }),
        );
    }
    let images = dense.and_then(guess_images);
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
    if n_neighbors == 0 {
        return None;
    }
    if data.rows() > most {
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

/// What a page tells besides its maps.
pub struct Besides<'a> {
    /// A caption for each map.
    pub captions: &'a [String],
    /// The data as the methods saw them, and their metric: the true neighbours are searched for in them,
    pub data: Option<&'a Data>,
    pub metric: Metric,
    /// unless they are known, exactly.
    pub known: Option<&'a NeighborGraph>,
    /// Scores of the maps.
    pub table: Option<&'a TextTable>,
    /// Title and images.
    pub picture: &'a PictureArgs,
}

/// Writes the page of maps that belong together, and says how large it is.
pub fn write(
    paths: &[PathBuf],
    shown: &Shown,
    besides: &Besides,
    run: &RunArgs,
    console: &mut Console,
) -> Result<(), Failure> {
    let Some(first) = shown.maps.first().filter(|_| !paths.is_empty()) else { return Ok(()) };
    let truth = besides.data.and_then(|data| true_neighbors(data, besides.metric, besides.known, run, console));
    let kept: Vec<Option<NeighborGraph>> =
        shown.maps.iter().map(|each| map_neighbors(each.map.map.points(), truth.as_ref(), run, console)).collect();
    let others: Vec<(&String, Cells)> =
        first.map.others.iter().map(|(name, cells)| (name, Cells::new(cells))).collect();
    let bare = || Page { title: shown.title.clone(), rows: first.map.map.rows(), ..Page::default() };
    let mut page = shown.table.as_ref().map_or_else(bare, |table| about(shown.title.clone(), table));
    page.ids = page.ids.or(first.map.ids.as_deref());
    if let Some(labels) = first.map.labels.as_ref().filter(|_| page.columns.iter().all(|column| column.name != "label"))
    {
        let values = Values::Classes(Labels { codes: &labels.codes, names: &labels.names });
        page.columns.insert(0, Column { name: "label".into(), values });
    }
    page.columns.extend(others.iter().map(|(name, cells)| Column { name: name.to_string(), values: cells.values() }));
    if let Some(title) = &besides.picture.title {
        page.title.clone_from(title);
    }
    if let Some(size) = &besides.picture.images {
        page.images = Some(picture::images(shown, size)?);
    }
    page.table = besides.table;
    page.neighbors = truth.as_ref();
    page.maps = shown
        .maps
        .iter()
        .zip(&kept)
        .enumerate()
        .map(|(at, (each, kept))| PageMap {
            name: each.name.clone(),
            caption: besides.captions.get(at).cloned().unwrap_or_default(),
            points: each.map.map.points(),
            std: each.map.std.as_deref(),
            neighbors: kept.as_ref(),
        })
        .collect();
    let html = page::html(&page)?;
    console.note(&format!("the page takes {}", lowland::points::bytes(html.len() as u64)));
    paths.iter().try_for_each(|path| lowland_io::write_bytes(path, &html).map_err(Failure::write))
}

/// Cells of a column that a map file has besides.
enum Cells {
    Numbers(Vec<f32>),
    Classes(lowland_io::Labels),
}

impl Cells {
    /// Numbers if all are, where an empty cell is a missing number; else classes.
    fn new(cells: &[String]) -> Self {
        let number = |cell: &String| if cell.trim().is_empty() { Some(f32::NAN) } else { cell.trim().parse().ok() };
        match cells.iter().map(number).collect() {
            Some(numbers) => Cells::Numbers(numbers),
            None => Cells::Classes(lowland_io::Labels::new(cells)),
        }
    }

    fn values(&self) -> Values<'_> {
        match self {
            Cells::Numbers(numbers) => Values::Numbers(numbers.clone()),
            Cells::Classes(labels) => Values::Classes(Labels { codes: &labels.codes, names: &labels.names }),
        }
    }
}
