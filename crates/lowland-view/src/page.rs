//! The interactive page: one HTML file that needs no server and no network.
//!
//! The script and the style are built from `viewer/` and lie in `assets/page.html`. The data follow as sections, each
//! packed by deflate and written in base64, so that no text of the data is ever markup; a small header in JSON says
//! what each section holds.

mod header;
mod images;
mod kept;
mod sections;

use lowland::neighbors::NeighborGraph;
use lowland::{Error, Points, Result};

use crate::{Images, Labels, TextTable};
use sections::Sections;

pub use header::{Quantised, quantised};
pub use images::guess_images;
pub use sections::base64;

/// The page with its script, its style, and places for what may be asked of the network and for the data.
const TEMPLATE: &str = include_str!("../assets/page.html");
const CONNECT: &str = "{{connect}}";
const DATA: &str = "<!--data-->";

/// What the page shows.
#[derive(Debug, Clone, Default)]
pub struct Page<'a> {
    /// Name of the data.
    pub title: String,
    /// Number of points, the same in every map.
    pub rows: usize,
    /// The maps, side by side; none while a live page waits for its first.
    pub maps: Vec<PageMap<'a>>,
    /// A name for each point; of text data, the text.
    pub ids: Option<&'a [String]>,
    /// What the points can be coloured by.
    pub columns: Vec<Column<'a>>,
    /// The true neighbours, in the data.
    pub neighbors: Option<&'a NeighborGraph>,
    /// A grey image for each point.
    pub images: Option<Images<'a>>,
    /// Scores of the maps: a row for each map, its name first.
    pub table: Option<&'a TextTable>,
    /// What it shows first.
    pub start: Start,
    /// Whether the maps come from a server, while they are fitted.
    pub live: bool,
}

/// What a page shows first, where it is not the usual.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Start {
    /// What the points are coloured by.
    pub color: Option<StartColor>,
    /// Per cent of the points that are hidden, the least certain first.
    pub hide: u32,
    /// Whether ellipses of one standard deviation are drawn, or circles.
    pub circles: bool,
    /// Whether ids stand beside points, however long they are.
    pub words: bool,
    /// Whether the ground is dark, whatever the reader's system says.
    pub dark: bool,
}

/// What the points of a page are coloured by at first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartColor {
    /// One colour.
    Nothing,
    /// The standard deviation.
    Std,
    /// The column of this number.
    Column(usize),
}

/// One map of a page.
#[derive(Debug, Clone)]
pub struct PageMap<'a> {
    /// Its name: the method.
    pub name: String,
    /// Parameters and scores.
    pub caption: String,
    /// The points. Of more than three dimensions the first three are shown.
    pub points: Points<'a>,
    /// A standard deviation for each point.
    pub std: Option<&'a [f64]>,
    /// A covariance for each point, of all dimensions of the map.
    pub covariances: Option<&'a [f64]>,
    /// The neighbours in the map, to tell which true ones are kept.
    pub neighbors: Option<&'a NeighborGraph>,
}

/// Something known about each point.
#[derive(Debug, Clone)]
pub struct Column<'a> {
    /// What people see.
    pub name: String,
    /// One a point.
    pub values: Values<'a>,
}

/// The values of a column.
#[derive(Debug, Clone)]
pub enum Values<'a> {
    /// Classes.
    Classes(Labels<'a>),
    /// Numbers; those that are not finite are shown as missing.
    Numbers(Vec<f32>),
}

/// Makes the page.
pub fn html(page: &Page) -> Result<Vec<u8>> {
    check(page)?;
    let mut sections = Sections::default();
    let header = header::of(page, &mut sections);
    let (head, tail) = TEMPLATE.split_once(DATA).unwrap_or((TEMPLATE, ""));
    let connect = if page.live { "'self'" } else { "'none'" };
    let mut html = head.replacen(CONNECT, connect, 1).into_bytes();
    sections.write(&header, &mut html);
    html.extend_from_slice(tail.as_bytes());
    Ok(html)
}

fn check(page: &Page) -> Result<()> {
    let count = |what: &'static str, found: usize| match found == page.rows {
        true => Ok(()),
        false => Err(Error::Shape { what, expected: page.rows, found }),
    };
    for map in &page.maps {
        crate::check::finite(map.points)?;
        count("points of a map", map.points.rows())?;
        if let Some(std) = map.std {
            count("standard deviations", std.len())?;
            crate::check::standard_deviations(std)?;
        }
        if let Some(all) = map.covariances {
            let dim = map.points.dim();
            count("covariances", if all.len() % (dim * dim) == 0 { all.len() / (dim * dim) } else { usize::MAX })?;
            crate::check::covariances(all, dim)?;
        }
        map.neighbors.map_or(Ok(()), |graph| count("rows of a map's neighbours", graph.rows()))?;
    }
    for column in &page.columns {
        count(
            "values of a column",
            match &column.values {
                Values::Classes(labels) => labels.codes.len(),
                Values::Numbers(numbers) => numbers.len(),
            },
        )?;
    }
    if let Some(StartColor::Column(column)) = page.start.color.filter(|_| !page.live)
        && column >= page.columns.len()
    {
        let reason = format!("it begins with column {column} of {}", page.columns.len());
        return Err(Error::Format { what: "page", reason });
    }
    page.ids.map_or(Ok(()), |ids| count("ids", ids.len()))?;
    page.neighbors.map_or(Ok(()), |graph| count("rows of the neighbours", graph.rows()))?;
    page.neighbors.map_or(Ok(()), |graph| count("points of the neighbours", graph.targets()))?;
    page.images.map_or(Ok(()), |images| count("images", images::rows(images)))
}

#[cfg(test)]
mod tests;
