//! The interactive page: one HTML file that needs neither a server nor a network connection.
//!
//! Script and style are built from `viewer/` into `assets/page.html`. The data follow as sections, each compressed with deflate and
//! encoded in base64, so that no text of the data is ever parsed as markup; a JSON header describes the sections.

mod header;
mod images;
mod neighbor_retention;
mod quantize;
mod sections;

use lowland::neighbors::NeighborGraph;
use lowland::{AnnotatedEmbedding, Labels, ReliabilityColumn};

use crate::check::{check_len, check_map};
use crate::error::{PictureError, Result};
use crate::{Images, Palette, TextTable};
use sections::Sections;

pub use images::detect_images;
pub use quantize::{QuantizedPoints, quantize};
pub use sections::base64;

/// The page with its script and style, and with placeholders for the network policy and the data.
const TEMPLATE: &str = include_str!("../assets/page.html");
const CONNECT: &str = "{{connect}}";
const DATA: &str = "<!--data-->";

/// Contents of a page.
#[derive(Debug, Clone, Default)]
pub struct Page<'a> {
    /// Name of the data.
    pub title: String,
    /// Number of points, the same in every map.
    pub rows: usize,
    /// Maps, shown side by side; empty while a live page waits for the first map.
    pub maps: Vec<PageMap<'a>>,
    /// Name of each point, or its text for text data.
    pub ids: Option<&'a [String]>,
    /// Columns by which points can be colored.
    pub columns: Vec<PageColumn<'a>>,
    /// True neighbors, in the data.
    pub neighbors: Option<&'a NeighborGraph>,
    /// Grayscale image of each point.
    pub images: Option<Images<'a>>,
    /// Scores of the maps: one row per map, starting with its name.
    pub table: Option<&'a TextTable>,
    /// A slider that moves the points from one map to the next; `None` shows the maps side by side.
    pub slider: Option<PageSlider>,
    /// Colors of classes and values.
    pub palette: Palette,
    /// Initial state of the page.
    pub start: InitialView,
    /// Whether the page receives maps from a server during the fit.
    pub live: bool,
}

/// Initial state of a page, where it differs from the default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InitialView {
    /// What points are colored by.
    pub color: Option<InitialColor>,
    /// Percentage of points to hide, the least certain first.
    pub hide: u32,
    /// Whether to draw ellipses or circles of one standard deviation.
    pub circles: bool,
    /// Whether to write ids next to points even if they are long.
    pub words: bool,
    /// Whether to use the dark theme regardless of the system setting.
    pub dark: bool,
    /// Whether flagged points look like the others instead of hollow.
    pub plain_flagged: bool,
    /// Whether to leave out the lines between islands that are connected in the data.
    pub no_bridges: bool,
    /// Whether to leave out the names of classes.
    pub no_names: bool,
}

/// What the points of a page are initially colored by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InitialColor {
    /// All points have the same color.
    None,
    /// Standard deviation.
    Std,
    /// A column of reliability.
    Reliability(ReliabilityColumn),
    /// The column with this index.
    Column(usize),
}

/// A slider from one map to the next.
#[derive(Debug, Clone, PartialEq)]
pub struct PageSlider {
    /// What the values are.
    pub label: &'static str,
    /// Value of each map.
    pub values: Vec<f64>,
}

/// One map of a page.
#[derive(Debug, Clone)]
pub struct PageMap<'a> {
    /// Name of the map, usually the method.
    pub name: String,
    /// Parameters and scores.
    pub caption: String,
    /// The points, with their standard deviations and covariances; only the first three dimensions are shown.
    pub map: &'a AnnotatedEmbedding,
    /// Neighbors in the map, to determine which true neighbors are preserved.
    pub neighbors: Option<&'a NeighborGraph>,
}

/// A column of data about the points.
#[derive(Debug, Clone)]
pub struct PageColumn<'a> {
    /// Name shown to the user.
    pub name: String,
    /// Value of each point.
    pub values: ColumnData<'a>,
}

/// Values of a column.
#[derive(Debug, Clone)]
pub enum ColumnData<'a> {
    /// Classes; a code without a name is shown as a number.
    Classes(&'a Labels),
    /// Numbers; values that are not finite are shown as missing.
    Numbers(Vec<f32>),
}

/// Renders a page as HTML.
pub fn render_html(page: &Page) -> Result<Vec<u8>> {
    check_page(page)?;
    let mut sections = Sections::default();
    let header = header::build_header(page, &mut sections);
    let (head, tail) = TEMPLATE.split_once(DATA).unwrap_or((TEMPLATE, ""));
    let connect = if page.live { "'self'" } else { "'none'" };
    let mut html = head.replacen(CONNECT, connect, 1).into_bytes();
    sections.write(&header, &mut html);
    html.extend_from_slice(tail.as_bytes());
    Ok(html)
}

fn check_page(page: &Page) -> Result<()> {
    let check_rows = |what: &'static str, found: usize| check_len(what, found, page.rows);
    for map in &page.maps {
        check_rows("points of a map", map.map.rows())?;
        check_map(map.map)?;
        map.neighbors.map_or(Ok(()), |graph| check_rows("rows of a map's neighbors", graph.rows()))?;
    }
    for column in &page.columns {
        let count = match &column.values {
            ColumnData::Classes(labels) => labels.codes.len(),
            ColumnData::Numbers(numbers) => numbers.len(),
        };
        check_rows("values of a column", count)?;
    }
    if let Some(InitialColor::Column(column)) = page.start.color.filter(|_| !page.live)
        && column >= page.columns.len()
    {
        return Err(PictureError::MissingColumn { column, columns: page.columns.len() });
    }
    if let Some(slider) = &page.slider {
        check_len("values of the slider", slider.values.len(), page.maps.len())?;
    }
    page.ids.map_or(Ok(()), |ids| check_rows("ids", ids.len()))?;
    page.neighbors.map_or(Ok(()), |graph| check_rows("rows of the neighbors", graph.rows()))?;
    page.neighbors.map_or(Ok(()), |graph| check_rows("points of the neighbors", graph.targets()))?;
    page.images.map_or(Ok(()), |images| check_rows("images", images::image_count(images)))
}

#[cfg(test)]
mod tests;
