//! `.html`: the interactive page of maps and their data.

use std::path::PathBuf;

use lowland::neighbors::{NeighborGraph, NeighborParams, Search, nearest, nearest_points};
use lowland::{Data, Metric, Points};
use lowland_io::Table;
use lowland_view::page::{self, ColumnData, InitialColor, InitialView, Page, PageColumn, PageMap, detect_images};
use lowland_view::{ClassLabels, TextTable};

use super::picture::{self, ending};
use super::shown::{self, Shown};
use super::written::Written;
use crate::args::RunArgs;
use crate::failure::Failure;
use crate::observer::Console;
use crate::picture_args::{PictureArgs, UncertaintyArg};

/// Neighbours a point in a page, as in the scores.
const NEIGHBORS: usize = 15;
/// A search that multiplies more numbers than this (minutes) is not made for the sake of a page, nor among more strings,
/// which are slow to compare, than this.
const MOST_WORK: f64 = 1e13;
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

/// What a table knows of each point: names, classes, true coordinates, named columns, images.
pub struct Known<'a> {
    table: &'a Table,
    columns: Vec<(String, Cells)>,
}

impl<'a> Known<'a> {
    pub fn of(table: &'a Table) -> Self {
        let mut columns = Vec::new();
        if let Some(labels) = &table.labels {
            columns.push(("label".into(), Cells::Classes(labels.clone())));
        }
        if let Some(truth) = &table.truth {
            let numbers = |c: usize| (0..truth.rows()).map(|i| truth.row(i)[c] as f32).collect();
            columns.extend(
                (0..truth.dim()).map(|c| (format!("true coordinate {}", c + 1), Cells::of_numbers(numbers(c)))),
            );
        }
        if let (Some(names), Data::Dense(dense)) = (&table.columns, &table.data)
            && names.len() <= MOST_COLUMNS
            && dense.values().len() <= MOST_NUMBERS
        {
            let numbers = |c: usize| dense.values().iter().skip(c).step_by(dense.dim()).copied().collect();
            columns.extend(names.iter().enumerate().map(|(c, name)| (name.clone(), Cells::of_numbers(numbers(c)))));
        }
        Self { table, columns }
    }

    /// A page of it, without maps.
    pub fn page(&self, title: String) -> Page<'_> {
        let images = if let Data::Dense(dense) = &self.table.data { detect_images(dense) } else { None };
        let (rows, ids, columns) = (self.table.rows(), self.table.ids.as_deref(), columns(&self.columns));
        Page { title, rows, ids, columns, images, ..Page::default() }
    }
}

fn columns(cells: &[(String, Cells)]) -> Vec<PageColumn<'_>> {
    cells.iter().map(|(name, cells)| PageColumn { name: name.clone(), values: cells.values() }).collect()
}

/// The true neighbours: those that are known to be, or searched for here, exactly, where that takes no more than minutes. A
/// stop or an error leaves them out and says so.
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
    if n_neighbors == 0 {
        return None;
    }
    let rows = data.rows() as f64;
    let too_many = match data {
        Data::Text(lines) => lines.len() > MOST_STRINGS,
        Data::Dense(dense) => rows * rows * dense.dim() as f64 > MOST_WORK,
        Data::Sparse(_) => rows * data.shape().bytes as f64 / 8.0 > MOST_WORK,
    };
    if too_many {
        console.note("the page is without true neighbours: finding all of them would take too long");
        return None;
    }
    let params = NeighborParams { n_neighbors, metric, search: Search::Exact, seed: run.seed() };
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
    /// unless they are known already, all of them.
    pub known: Option<&'a NeighborGraph>,
    /// Scores of the maps.
    pub table: Option<&'a TextTable>,
    /// What the page shows first.
    pub picture: &'a PictureArgs,
}

/// Writes the page of maps that belong together.
pub fn write(
    paths: &[PathBuf],
    shown: &Shown,
    besides: &Besides,
    run: &RunArgs,
    console: &mut Console,
    written: &mut Written,
) {
    if paths.is_empty() || shown.maps.is_empty() {
        return;
    }
    match made(shown, besides, run, console) {
        Ok(html) => paths.iter().for_each(|path| written.bytes(path, &html)),
        Err(failure) => written.fail(failure),
    }
}

fn made(shown: &Shown, besides: &Besides, run: &RunArgs, console: &mut Console) -> Result<Vec<u8>, Failure> {
    let (first, flags) = (&shown.maps[0].map, besides.picture);
    let truth = besides.data.and_then(|data| true_neighbors(data, besides.metric, besides.known, run, console));
    let kept: Vec<Option<NeighborGraph>> =
        shown.maps.iter().map(|each| map_neighbors(each.map.map.points(), truth.as_ref(), run, console)).collect();
    let mut own: Vec<(String, Cells)> = Vec::new();
    let known = shown.table.as_ref().map(Known::of);
    let has = |name: &str| known.as_ref().is_some_and(|known| known.columns.iter().any(|(other, _)| other == name));
    if let Some(labels) = first.labels.as_ref().filter(|_| !has("label")) {
        own.push(("label".into(), Cells::Classes(labels.clone())));
    }
    own.extend(first.others.iter().map(|(name, cells)| (name.clone(), Cells::of_texts(cells))));
    // A column of the data that is asked for is there, however many there are.
    let asked = flags.color.as_deref().filter(|name| !["none", "std"].contains(name) && !has(name));
    if let Some(name) = asked.filter(|name| !own.iter().any(|(other, _)| other == name))
        && let Some(numbers) = shown.table.as_ref().and_then(|table| shown::numbers(table, name))
    {
        own.push((name.into(), Cells::of_numbers(numbers)));
    }
    let title = flags.title.clone().unwrap_or_else(|| shown.title.clone());
    let bare = || Page { title: title.clone(), rows: first.map.rows(), ..Page::default() };
    let mut page = known.as_ref().map_or_else(bare, |known| known.page(title.clone()));
    page.ids = page.ids.or(first.ids.as_deref());
    // Classes stand first, where the page looks for what to show.
    let (labels, others) = own.split_at(own.iter().take_while(|(name, _)| name == "label").count());
    page.columns.splice(..0, columns(labels));
    page.columns.extend(columns(others));
    if let Some(size) = &flags.images {
        page.images = Some(picture::images(shown, size)?);
    }
    page.table = besides.table;
    page.neighbors = truth.as_ref();
    page.start = start(&page.columns, flags, console);
    let captions = captions(shown, besides, console);
    page.maps = shown
        .maps
        .iter()
        .zip(&kept)
        .zip(captions)
        .map(|((each, kept), caption)| PageMap {
            name: each.name.clone(),
            caption,
            points: each.map.map.points(),
            std: each.map.std.as_deref(),
            covariances: each.map.covariances.as_deref(),
            neighbors: kept.as_ref(),
        })
        .collect();
    Ok(page::render_html(&page)?)
}

/// What the flags ask the page to show first.
fn start(columns: &[PageColumn], flags: &PictureArgs, console: &mut Console) -> InitialView {
    let color = flags.color.as_deref().and_then(|name| match name {
        "none" => Some(InitialColor::None),
        "std" => Some(InitialColor::Std),
        name => columns.iter().position(|column| column.name == name).map(InitialColor::Column),
    });
    if flags.uncertainty == UncertaintyArg::Fade {
        console.note("the page fades no points: it hides the least certain, or draws ellipses");
    }
    InitialView {
        color,
        hide: flags.certain.map_or(0, |share| (100.0 * (1.0 - share)).round() as u32),
        circles: flags.uncertainty == UncertaintyArg::Ellipses,
        words: flags.words,
        dark: flags.background.iter().all(|&part| part < 128),
    }
}

/// A caption for each map: that of the flags, where there is one map.
fn captions(shown: &Shown, besides: &Besides, console: &mut Console) -> Vec<String> {
    match &besides.picture.caption {
        Some(caption) if shown.maps.len() == 1 => return vec![caption.clone()],
        Some(_) => console.note("--caption is not in the page: it has a caption for each map"),
        None => {}
    }
    (0..shown.maps.len()).map(|at| besides.captions.get(at).cloned().unwrap_or_default()).collect()
}

/// The cells of a column, as pictures show them, too: many different numbers are a scale, anything else is classes.
enum Cells {
    Numbers(Vec<f32>),
    Classes(lowland_io::Labels),
}

impl Cells {
    fn of_texts(cells: &[String]) -> Self {
        match shown::scale([cells.iter().map(String::as_str)]) {
            Some(numbers) => Cells::Numbers(numbers.iter().flatten().map(|&number| number as f32).collect()),
            None => Cells::Classes(lowland_io::Labels::new(cells)),
        }
    }

    fn of_numbers(numbers: Vec<f32>) -> Self {
        match shown::has_many(numbers.iter().map(|&number| f64::from(number))) {
            true => Cells::Numbers(numbers),
            false => Cells::Classes(lowland_io::Labels::new(numbers.iter().map(f32::to_string))),
        }
    }

    fn values(&self) -> ColumnData<'_> {
        match self {
            Cells::Numbers(numbers) => ColumnData::Numbers(numbers.clone()),
            Cells::Classes(labels) => ColumnData::Classes(ClassLabels { codes: &labels.codes, names: &labels.names }),
        }
    }
}
