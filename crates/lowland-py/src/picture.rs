//! Pictures, and the colors and places of names for matplotlib.

use lowland::{AnnotatedEmbedding, Labels};
use lowland_view::islands::{IslandContent, find_islands, name_islands};
use lowland_view::{
    Color, Density, FlaggedPoints, LegendPlace, MapLabels, MapPanel, Palette, PictureFormat, PictureOptions,
    PlacedMark, PlacedName, Uncertainty, class_colors, draw_picture, place_names, scale_colors,
};
use numpy::PyReadonlyArray2;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error::PyFailure;
use crate::panics::catch_panics;
use crate::rows::{Rows, to_embedding};
use crate::view::{EmbeddingTuple, annotated};
use crate::watch::{Callbacks, watch};

/// Codes of the points and names of the codes.
type Classes = (Vec<u32>, Vec<String>);

/// A line of text: content, position of the middle of its baseline, relative size, color, color of its class.
type NameTuple = (String, [f64; 2], f32, [f32; 3], Option<MarkTuple>);
/// The color in front of a name: offset of its center and length of its sides, relative to the font size, and color.
type MarkTuple = ([f32; 2], f32, [f32; 3]);

/// Both ends of a line from a name to its points.
type Leader = [[f64; 2]; 2];

/// Options of a picture by name, as the command line spells them.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Options {
    title: String,
    caption: String,
    width: u32,
    height: Option<u32>,
    dpi: Option<f32>,
    font_size: Option<f32>,
    columns: Option<usize>,
    point_size: Option<f32>,
    density: String,
    uncertainty: String,
    flagged: String,
    bridges: bool,
    certain: f64,
    plain: bool,
    border: Option<bool>,
    letters: bool,
    legend: String,
    map_labels: String,
    inset: Option<[f64; 4]>,
    palette: String,
    background: [u8; 3],
}

/// Returns the value of an option that has one of a few names.
fn choice<T: Copy>(option: &str, value: &str, known: &[(&str, T)]) -> PyResult<T> {
    known.iter().find(|(name, _)| *name == value).map(|(_, value)| *value).ok_or_else(|| {
        let names: Vec<String> = known.iter().map(|(name, _)| format!("'{name}'")).collect();
        PyValueError::new_err(format!("{option}={value:?}: expected {}", names.join(", ")))
    })
}

/// Returns a palette by name, or from the content of a file.
pub(crate) fn to_palette(text: &str) -> PyResult<Palette> {
    if let Some(palette) = Palette::named(text) {
        return Ok(palette);
    }
    let names: Vec<&str> = Palette::names().collect();
    Palette::parse(text)
        .map_err(|error| PyValueError::new_err(format!("palette: {error} (or a name: {})", names.join(", "))))
}

impl Options {
    fn to_picture_options(&self) -> PyResult<PictureOptions> {
        let densities = [("auto", Density::Auto), ("on", Density::On), ("off", Density::Off)];
        let uncertainties =
            [("none", Uncertainty::None), ("fade", Uncertainty::Fade), ("ellipses", Uncertainty::Ellipses)];
        let flags = [("none", FlaggedPoints::None), ("hollow", FlaggedPoints::Hollow), ("fade", FlaggedPoints::Fade)];
        let places = [
            ("auto", LegendPlace::Auto),
            ("right", LegendPlace::Right),
            ("below", LegendPlace::Below),
            ("none", LegendPlace::None),
        ];
        let labels = [("auto", MapLabels::Auto), ("on", MapLabels::On), ("off", MapLabels::Off)];
        Ok(PictureOptions {
            width: self.width,
            height: self.height,
            dpi: self.dpi,
            font_size: self.font_size,
            title: self.title.clone(),
            caption: self.caption.clone(),
            note: !self.plain,
            border: self.border,
            letters: self.letters,
            legend: choice("legend", &self.legend, &places)?,
            map_labels: choice("map_labels", &self.map_labels, &labels)?,
            inset: self.inset,
            columns: self.columns,
            point_size: self.point_size,
            density: choice("density", &self.density, &densities)?,
            uncertainty: choice("uncertainty", &self.uncertainty, &uncertainties)?,
            flagged: choice("flagged", &self.flagged, &flags)?,
            bridges: self.bridges,
            certain: self.certain,
            palette: to_palette(&self.palette)?,
            background: self.background,
            ..PictureOptions::default()
        })
    }
}

/// Draws embeddings; also returns the characters that no font has.
#[pyfunction]
#[pyo3(signature = (format, maps, options, *, classes=None, values=None, levels=Vec::new(), ids=None, threads=None))]
pub fn draw<'py>(
    py: Python<'py>,
    format: &str,
    maps: Vec<EmbeddingTuple<'py>>,
    options: Options,
    classes: Option<Classes>,
    values: Option<(String, Vec<f64>)>,
    levels: Vec<Classes>,
    ids: Option<Vec<String>>,
    threads: Option<usize>,
) -> PyResult<(Bound<'py, PyBytes>, Vec<char>)> {
    catch_panics(|| {
        let format = PictureFormat::from_extension(format).ok_or_else(|| {
            PyValueError::new_err(format!("format={format:?}: expected {}", PictureFormat::EXTENSIONS.join(", ")))
        })?;
        let options = options.to_picture_options()?;
        let maps = maps.into_iter().map(annotated).collect::<PyResult<Vec<_>>>()?;
        let maps: Vec<(String, AnnotatedEmbedding)> =
            maps.into_iter().map(|(name, _, map)| (name, AnnotatedEmbedding { ids: ids.clone(), ..map })).collect();
        let labels = classes.map(|(codes, names)| Labels { codes, names });
        let levels: Vec<Labels> = levels.into_iter().map(|(codes, names)| Labels { codes, names }).collect();
        let output = watch(py, threads, &Callbacks::default(), |_| {
            let panels: Vec<MapPanel> = maps
                .iter()
                .map(|(name, map)| MapPanel {
                    map,
                    title: if maps.len() > 1 { name.clone() } else { String::new() },
                    color: match (&labels, &values) {
                        (Some(labels), _) => Color::Classes(labels),
                        (None, Some((name, values))) => Color::Values { name, values },
                        (None, None) => Color::Plain,
                    },
                    label_levels: levels.iter().collect(),
                    show_ids: ids.is_some(),
                    images: None,
                })
                .collect();
            Ok(draw_picture(&panels, &options, format)?)
        })?;
        let picture = output.raised.map_or(Ok(output.result), Err)?;
        Ok((PyBytes::new(py, &picture.file), picture.missing_characters))
    })
}

/// Returns the color of each class by code, as in pictures.
#[pyfunction]
pub fn palette_classes(
    codes: Vec<u32>,
    names: Vec<String>,
    name: &str,
    background: [u8; 3],
) -> PyResult<Vec<[f32; 3]>> {
    catch_panics(|| Ok(class_colors(&Labels { codes, names }, &to_palette(name)?, background)))
}

/// Returns colors of the scale of numbers, and whether it is diverging.
#[pyfunction]
pub fn palette_scale(count: usize, name: &str, background: [u8; 3]) -> PyResult<(Vec<[f32; 3]>, bool)> {
    catch_panics(|| {
        let palette = to_palette(name)?;
        Ok((scale_colors(count, &palette, background), palette.is_diverging()))
    })
}

/// Returns the names of the built-in palettes.
#[pyfunction]
pub fn palette_names() -> Vec<&'static str> {
    Palette::names().collect()
}

/// Returns the PostScript names and files of the fonts of pictures.
#[pyfunction]
pub fn embedded_fonts(py: Python<'_>) -> Vec<(&'static str, Bound<'_, PyBytes>)> {
    lowland_view::embedded_fonts().map(|(name, file)| (name, PyBytes::new(py, file))).into()
}

/// Returns text as pictures show it: a line without control and directional formatting characters.
#[pyfunction]
pub fn plain_text(text: &str) -> String {
    lowland_view::plain_text(text)
}

/// Places the names of classes on a map: lines of text, lines to the points, and whether every class has its name.
#[pyfunction]
pub fn label_places(
    points: PyReadonlyArray2<'_, f64>,
    codes: Vec<u32>,
    names: Vec<String>,
    name: &str,
    background: [u8; 3],
    font_size: f32,
) -> PyResult<(Vec<NameTuple>, Vec<Leader>, bool)> {
    catch_panics(|| {
        let map = AnnotatedEmbedding::from(to_embedding(&points)?);
        let placed = place_names(&map, &Labels { codes, names }, &to_palette(name)?, background, font_size);
        let placed = placed.map_err(PyFailure::from)?;
        let mark = |mark: PlacedMark| (mark.offset, mark.side, mark.color);
        let tuple = |line: PlacedName| (line.text, line.position, line.scale, line.color, line.mark.map(mark));
        let lines = placed.names.into_iter().map(tuple);
        Ok((lines.collect(), placed.leaders, placed.is_complete))
    })
}

/// Finds the islands of a map, and names them by texts, columns or ids: the island of each point, and the names.
#[pyfunction]
#[pyo3(signature = (points, *, rows=None, columns=None, ids=None))]
pub fn islands(
    points: PyReadonlyArray2<'_, f64>,
    rows: Option<Rows<'_>>,
    columns: Option<Vec<String>>,
    ids: Option<Vec<String>>,
) -> PyResult<Classes> {
    catch_panics(|| {
        let map = to_embedding(&points)?;
        let data = rows.as_ref().map(Rows::to_data).transpose()?;
        let content = match (&data, &columns, &ids) {
            (Some(lowland::Data::Text(texts)), _, _) => IslandContent::Texts(texts),
            (Some(lowland::Data::Dense(dense)), Some(columns), _) if columns.len() == dense.dim() => {
                IslandContent::Columns(columns, dense)
            }
            (_, _, Some(ids)) => IslandContent::Ids(ids),
            _ => return Err(PyValueError::new_err("map_labels='islands' needs X with named columns, texts or ids")),
        };
        let found = find_islands(map.points());
        let Labels { codes, names } = name_islands(map.points(), &found, content);
        Ok((codes, names))
    })
}
