//! Renders figures as interactive pages.

use std::borrow::Cow;

use lowland::neighbors::{NeighborGraph, NeighborParams, Search, nearest_points, nearest_with, search_memory};
use lowland::{Data, Labels, Metric, Points};
use lowland_io::Table;
use lowland_view::page::{
    ColumnData, InitialColor, InitialView, Page, PageColumn, PageMap, PageSlider, detect_images, render_html,
};

use super::coloring::{has_many_values, known_reliability, parse_scale};
use super::figure::Figure;
use super::picture;
use crate::args::{FlaggedArg, PictureArgs, RunArgs, UncertaintyArg};
use crate::console::Console;
use crate::failure::Failure;
use crate::terms::FlagTerms;

/// Number of neighbors of each point in a page, as in the scores.
const NEIGHBORS: usize = 15;
/// Largest number of multiplications of a neighbor search for a page (minutes).
const MAX_MULTIPLICATIONS: f64 = 1e13;
/// Largest number of strings whose neighbors are searched for a page; they are slow to compare.
const MAX_STRINGS: usize = 5_000;
/// Largest number of named columns of the data in a page.
const MAX_COLUMNS: usize = 64;
/// Largest number of values in these columns.
const MAX_VALUES: usize = 8 << 20;

/// Where the true neighbors of a page come from.
pub struct NeighborSource<'a> {
    /// The data that the methods were fitted to.
    pub data: &'a Data,
    pub metric: Metric,
    /// An exact neighbor graph of the data, if there is one.
    pub known: Option<&'a NeighborGraph>,
}

/// The values of a column that points can be colored by: many distinct numbers form a scale, anything else classes, as in pictures.
enum ColorColumn<'a> {
    Numbers(Vec<f32>),
    Classes(Cow<'a, Labels>),
}

impl ColorColumn<'_> {
    fn from_texts(cells: &[String]) -> Self {
        match parse_scale(&[cells]) {
            Some(columns) => ColorColumn::Numbers(columns.iter().flatten().map(|&number| number as f32).collect()),
            None => ColorColumn::Classes(Cow::Owned(Labels::new(cells))),
        }
    }

    fn from_numbers(numbers: Vec<f32>) -> Self {
        match has_many_values(numbers.iter().map(|&number| f64::from(number))) {
            true => ColorColumn::Numbers(numbers),
            false => ColorColumn::Classes(Cow::Owned(Labels::new(numbers.iter().map(f32::to_string)))),
        }
    }

    fn to_data(&self) -> ColumnData<'_> {
        match self {
            ColorColumn::Numbers(numbers) => ColumnData::Numbers(numbers.clone()),
            ColorColumn::Classes(labels) => ColumnData::Classes(labels),
        }
    }
}

type NamedColumn<'a> = (String, ColorColumn<'a>);

fn page_columns<'a>(columns: &'a [NamedColumn]) -> Vec<PageColumn<'a>> {
    columns.iter().map(|(name, cells)| PageColumn { name: name.clone(), values: cells.to_data() }).collect()
}

/// The columns that points can be colored by: classes, true coordinates, named columns of the data.
fn known_columns<'a>(labels: Option<&'a Labels>, table: Option<&Table>) -> Vec<NamedColumn<'a>> {
    let mut columns = Vec::new();
    columns.extend(labels.map(|labels| ("label".into(), ColorColumn::Classes(Cow::Borrowed(labels)))));
    let Some(table) = table else { return columns };
    if let Some(truth) = &table.truth {
        let numbers = |c: usize| (0..truth.rows()).map(|i| truth.row(i)[c] as f32).collect();
        let column = |c: usize| (format!("true coordinate {}", c + 1), ColorColumn::from_numbers(numbers(c)));
        columns.extend((0..truth.dim()).map(column));
    }
    if let (Some(names), Data::Dense(dense)) = (&table.columns, &table.data)
        && names.len() <= MAX_COLUMNS
        && dense.values().len() <= MAX_VALUES
    {
        let numbers = |c: usize| (0..dense.rows()).map(|i| dense.value(i, c) as f32).collect();
        let names = names.iter().enumerate();
        columns.extend(names.map(|(c, name)| (name.clone(), ColorColumn::from_numbers(numbers(c)))));
    }
    columns
}

/// A page of the data, without maps.
fn data_page<'a>(
    title: String,
    rows: usize,
    ids: Option<&'a [String]>,
    columns: &'a [NamedColumn],
    table: Option<&'a Table>,
) -> Page<'a> {
    let images = table.and_then(|table| if let Data::Dense(dense) = &table.data { detect_images(dense) } else { None });
    Page { title, rows, ids, columns: page_columns(columns), images, ..Page::default() }
}

/// Estimates the bytes of a page of `maps` maps of `points` points: each section as it is, compressed and encoded, and the
/// search for true neighbors.
pub fn memory(table: Option<&Table>, points: usize, maps: usize) -> u64 {
    const VIEWER: u64 = 4 << 20;
    let points = points as u64;
    let neighbors = NEIGHBORS as u64 * 24;
    let each_map = points.saturating_mul(64 + neighbors).saturating_mul(maps as u64);
    let Some(table) = table else { return VIEWER.saturating_add(each_map) };
    let shape = table.data.shape();
    let search = search_memory(shape, Metric::Euclidean, NEIGHBORS, Search::Exact);
    // Columns to color by, and rows that are images.
    let rows = if shape.sparse { 0 } else { shape.bytes.saturating_mul(3) };
    let sections = rows.saturating_add(table.memory_besides_rows().saturating_mul(3));
    VIEWER.saturating_add(each_map).saturating_add(sections.max(search))
}

/// Renders the page of a run that has no map yet and will receive maps from a server.
pub fn render_live(table: &Table, title: String) -> Result<Vec<u8>, Failure> {
    let columns = known_columns(table.labels.as_ref(), Some(table));
    let page = data_page(title, table.rows(), table.ids.as_deref(), &columns, Some(table));
    Ok(render_html(&Page { live: true, ..page })?)
}

/// Rejects names on the map that a page does not have: it writes those of the classes that its points are colored by.
pub fn check_names(style: &PictureArgs) -> Result<(), Failure> {
    let what = style.figure.map_labels.as_str();
    let remedy = "or write the page by a command without --map-labels";
    if what.contains(',') {
        return Err(Failure::flag(format!(
            "--map-labels {what}: pages have names of one level: give one column, {remedy}"
        )));
    }
    if is_level(what) && style.color.as_deref().is_some_and(|color| color != what) {
        return Err(Failure::flag(format!(
            "--map-labels {what}: pages have the names of the classes that their points are colored by: leave out --color, {remedy}"
        )));
    }
    Ok(())
}

/// Whether names on the map are those of a column or of islands.
fn is_level(what: &str) -> bool {
    !["auto", "on", "off"].contains(&what)
}

/// Renders the page of a figure.
pub fn render(
    figure: &Figure,
    style: &PictureArgs,
    neighbors: Option<NeighborSource>,
    run: &RunArgs,
    console: &mut Console,
) -> Result<Vec<u8>, Failure> {
    check_names(style)?;
    let (first, table) = (&figure.maps[0].map, figure.data.as_ref());
    let truth = neighbors.and_then(|source| true_neighbors(&source, run, console));
    let found: Vec<Option<NeighborGraph>> =
        figure.maps.iter().map(|each| map_neighbors(each.map.points(), truth.as_ref(), console)).collect();
    let mut columns = known_columns(first.labels.as_ref(), table);
    columns.extend(first.columns.iter().map(|(name, cells)| (name.clone(), ColorColumn::from_texts(cells))));
    // A column that is asked for is included, however many there are.
    let requested = style.color.as_deref().filter(|name| !["none", "std"].contains(name));
    if let Some(name) = requested.filter(|name| !columns.iter().any(|(other, _)| other == name))
        && let Some(numbers) = figure.data_column(name)
    {
        columns.push((name.into(), ColorColumn::from_numbers(numbers)));
    }
    let named = style.figure.map_labels.as_str();
    if is_level(named) && !columns.iter().any(|(name, cells)| name == named && matches!(cells, ColorColumn::Classes(_)))
    {
        // Islands, or a column of numbers. The first map names them for all.
        let levels = picture::label_levels(figure, style)?;
        let names = levels.into_iter().next().and_then(|mut levels| levels.pop()).unwrap_or_default();
        columns.retain(|(name, _)| name != named);
        columns.push((named.into(), ColorColumn::Classes(Cow::Owned(names))));
    }
    let title = style.title.clone().unwrap_or_else(|| figure.title.clone());
    let ids = first.ids.as_deref().or_else(|| table?.ids.as_deref());
    let mut page = data_page(title, first.rows(), ids, &columns, table);
    page.images = picture::images(figure, style)?.or(page.images);
    page.table = figure.scores.as_ref();
    let slider =
        (!figure.slider.is_empty()).then(|| PageSlider { label: "exaggeration", values: figure.slider.clone() });
    page.slider = slider;
    page.palette = picture::palette(style)?;
    page.neighbors = truth.as_ref();
    page.start = initial_view(figure, &page.columns, style, console);
    let captions = captions(figure, style, console);
    let maps = figure.maps.iter().zip(&found).zip(captions);
    page.maps = maps
        .map(|((each, neighbors), caption)| PageMap {
            name: each.name.clone(),
            caption,
            map: &each.map,
            neighbors: neighbors.as_ref(),
        })
        .collect();
    Ok(render_html(&page)?)
}

/// The true neighbors: known ones, or the result of an exact search, if that takes minutes at most. A stop or an error leaves
/// them out, with a warning.
fn true_neighbors(source: &NeighborSource, run: &RunArgs, console: &mut Console) -> Option<NeighborGraph> {
    let data = source.data;
    let n_neighbors = NEIGHBORS.min(data.rows().saturating_sub(1));
    if let Some(graph) = source.known.filter(|graph| graph.min_degree() >= n_neighbors) {
        return Some(graph.clone());
    }
    if n_neighbors == 0 {
        return None;
    }
    let rows = data.rows() as f64;
    let takes_too_long = match data {
        Data::Text(lines) => lines.len() > MAX_STRINGS,
        Data::Dense(dense) => rows * rows * dense.dim() as f64 > MAX_MULTIPLICATIONS,
        Data::Sparse(_) => rows * data.shape().bytes as f64 / 8.0 > MAX_MULTIPLICATIONS,
    };
    if takes_too_long {
        console.info("the page has no true neighbors: finding them all would take too long");
        return None;
    }
    let params = NeighborParams { n_neighbors, metric: source.metric, search: Search::Exact, seed: run.seed() };
    let found = console.run_stage("page", |progress| nearest_with(data, &params, progress));
    found
        .map(|found| found.graph)
        .map_err(|error| console.warn(&format!("the page has no true neighbors: {}", error.describe(&FlagTerms))))
        .ok()
}

/// The neighbors in a map, to tell which of the true ones are preserved.
fn map_neighbors(map: Points, truth: Option<&NeighborGraph>, console: &mut Console) -> Option<NeighborGraph> {
    let n_neighbors = truth?.min_degree().min(NEIGHBORS);
    let found = nearest_points(map, n_neighbors);
    found
        .map_err(|error| {
            let reason = error.describe(&FlagTerms);
            console.warn(&format!("the page does not show which neighbors the map preserves: {reason}"));
        })
        .ok()
}

/// The initial view that the flags ask for.
fn initial_view(figure: &Figure, columns: &[PageColumn], style: &PictureArgs, console: &mut Console) -> InitialView {
    let named = Some(style.figure.map_labels.as_str()).filter(|what| is_level(what));
    let color = style.color.as_deref().or(named).and_then(|name| match name {
        "none" => Some(InitialColor::None),
        "std" => Some(InitialColor::Std),
        name => match known_reliability(figure, name) {
            Some(column) => Some(InitialColor::Reliability(column)),
            None => columns.iter().position(|column| column.name == name).map(InitialColor::Column),
        },
    });
    if style.uncertainty == UncertaintyArg::Fade {
        console.info("pages do not fade points: they hide the least certain ones, or draw ellipses");
    }
    InitialView {
        color,
        hide: style.certain.map_or(0, |share| (100.0 * (1.0 - share)).round() as u32),
        circles: style.uncertainty == UncertaintyArg::Ellipses,
        words: style.words,
        dark: style.background.iter().all(|&part| part < 128),
        plain_flagged: style.flagged == FlaggedArg::None,
        no_bridges: style.no_bridges,
        no_names: style.figure.map_labels == "off",
    }
}

/// A caption for each map: that of the flags if there is one map.
fn captions(figure: &Figure, style: &PictureArgs, console: &mut Console) -> Vec<String> {
    match &style.caption {
        Some(caption) if figure.maps.len() == 1 => return vec![caption.clone()],
        Some(_) => console.info("--caption is not in the page, which has a caption for each map"),
        None => {}
    }
    figure.maps.iter().map(|each| each.caption.clone()).collect()
}
