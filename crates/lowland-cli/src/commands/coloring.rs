//! What the points of a figure are colored by.

use lowland::{AnnotatedEmbedding, Labels, ReliabilityColumn};

use super::figure::{Figure, FigureMap};
use crate::failure::Failure;

/// What the points of each map are colored by.
pub enum Coloring {
    None,
    /// The classes of each map, with the same names for all of them.
    Classes(Vec<Labels>),
    /// A name, and the values of each map.
    Values(String, Vec<Vec<f64>>),
}

/// Columns with more distinct numbers than this are drawn on a scale, others as classes.
const MAX_NUMERIC_CLASSES: usize = 20;

impl Coloring {
    /// Colors by a column, or by the labels if there are any and no column is named.
    pub fn new(figure: &Figure, column: Option<&str>) -> Result<Self, Failure> {
        let has_labels = all_maps(figure, |map| map.labels.is_some());
        match column {
            Some("none") => Ok(Coloring::None),
            None if !has_labels => Ok(Coloring::None),
            None | Some("label") if has_labels => {
                let labels: Vec<&Labels> = figure.maps.iter().filter_map(|each| each.map.labels.as_ref()).collect();
                let names = |labels: &&Labels| (0..labels.codes.len()).map(|i| labels.name(i).to_string()).collect();
                match labels[..] {
                    [labels] => Ok(Coloring::Classes(vec![labels.clone()])),
                    _ => Ok(Self::by_class(&labels.iter().map(names).collect::<Vec<Vec<String>>>())),
                }
            }
            Some("std") if all_maps(figure, |map| map.std.is_some()) => {
                let values = figure.maps.iter().filter_map(|each| each.map.std.clone());
                Ok(Coloring::Values("std".into(), values.collect()))
            }
            Some(name) => match known_reliability(figure, name) {
                Some(column) => Ok(Self::by_reliability(figure, column)),
                None => Self::by_column(figure, name),
            },
            None => Ok(Coloring::None),
        }
    }

    /// Colors by a column of reliability: numbers of islands and flags as classes, everything else on a scale.
    fn by_reliability(figure: &Figure, column: ReliabilityColumn) -> Self {
        let values = |each: &FigureMap| -> Vec<f64> {
            each.map.reliability.as_ref().and_then(|known| known.get(column)).unwrap_or_default().to_vec()
        };
        let values: Vec<Vec<f64>> = figure.maps.iter().map(values).collect();
        match column {
            ReliabilityColumn::Flagged | ReliabilityColumn::Island | ReliabilityColumn::BridgeTo => {
                let texts = |values: &Vec<f64>| values.iter().map(f64::to_string).collect::<Vec<_>>();
                Self::by_class(&values.iter().map(texts).collect::<Vec<_>>())
            }
            _ => Coloring::Values(column.name().into(), values),
        }
    }

    /// Colors by a column of every map, or else of the data.
    fn by_column(figure: &Figure, name: &str) -> Result<Self, Failure> {
        let columns = figure.maps.iter().map(|each| each.map.columns.iter().find(|(known, _)| known == name));
        if let Some(columns) = columns.collect::<Option<Vec<_>>>() {
            let cells: Vec<&Vec<String>> = columns.iter().map(|(_, cells)| cells).collect();
            return Ok(match parse_scale(&cells) {
                Some(values) => Coloring::Values(name.into(), values),
                None => Self::by_class(&cells),
            });
        }
        if let Some(values) = figure.data_column(name) {
            let maps = figure.maps.len();
            if has_many_values(values.iter().map(|&value| f64::from(value))) {
                let values = values.iter().map(|&value| f64::from(value)).collect();
                return Ok(Coloring::Values(name.into(), vec![values; maps]));
            }
            return Ok(Coloring::Classes(vec![Labels::new(values.iter().map(f32::to_string)); maps]));
        }
        let mut known: Vec<String> = figure.maps[0].map.columns.iter().map(|(name, _)| name.clone()).collect();
        known.extend(all_maps(figure, |map| map.labels.is_some()).then(|| "label".into()));
        known.extend(all_maps(figure, |map| map.std.is_some()).then(|| "std".into()));
        let is_known = |column: &ReliabilityColumn| known_reliability(figure, column.name()).is_some();
        known.extend(ReliabilityColumn::ALL.into_iter().filter(is_known).map(|column| column.name().into()));
        let columns = figure.data.as_ref().and_then(|table| table.columns.as_deref()).unwrap_or_default();
        known.extend(columns.iter().take(20).cloned());
        known.push("none".into());
        Err(Failure::flag(format!("--color {name}: not every map has this column; available: {}", known.join(", "))))
    }

    /// Colors by class, with the classes of all maps in common.
    fn by_class<T: AsRef<[String]>>(columns: &[T]) -> Self {
        let Labels { codes, names } = Labels::new(columns.iter().flat_map(|cells| cells.as_ref()));
        let mut codes = codes.into_iter();
        let labels = columns.iter().map(|cells| {
            let codes = codes.by_ref().take(cells.as_ref().len()).collect();
            Labels { codes, names: names.clone() }
        });
        Coloring::Classes(labels.collect())
    }

    /// The colors of one of the maps.
    pub fn map_color(&self, at: usize) -> lowland_view::Color<'_> {
        match self {
            Coloring::None => lowland_view::Color::Plain,
            Coloring::Classes(labels) => lowland_view::Color::Classes(&labels[at]),
            Coloring::Values(name, values) => lowland_view::Color::Values { name, values: &values[at] },
        }
    }
}

/// The column of reliability with this name, if every map has it.
pub fn known_reliability(figure: &Figure, name: &str) -> Option<ReliabilityColumn> {
    let column = ReliabilityColumn::from_name(name)?;
    let has = |each: &FigureMap| each.map.reliability.as_ref().is_some_and(|known| known.get(column).is_some());
    figure.maps.iter().all(has).then_some(column)
}

fn all_maps(figure: &Figure, has: fn(&AnnotatedEmbedding) -> bool) -> bool {
    figure.maps.iter().all(|each| has(&each.map))
}

/// Parses columns that are drawn on one scale: all cells are numbers, or empty for missing ones, and there are many distinct
/// values.
pub fn parse_scale<T: AsRef<[String]>>(columns: &[T]) -> Option<Vec<Vec<f64>>> {
    let parse = |text: &String| match text.trim() {
        "" => Some(f64::NAN),
        text => text.parse::<f64>().ok(),
    };
    let parse_column = |cells: &T| cells.as_ref().iter().map(parse).collect();
    let values: Vec<Vec<f64>> = columns.iter().map(parse_column).collect::<Option<_>>()?;
    has_many_values(values.iter().flatten().copied()).then_some(values)
}

/// Whether there are so many distinct numbers that they form a scale rather than classes.
pub fn has_many_values(values: impl Iterator<Item = f64>) -> bool {
    let mut seen: Vec<u64> = Vec::new();
    for value in values.filter(|v| !v.is_nan()) {
        if !seen.contains(&value.to_bits()) {
            seen.push(value.to_bits());
        }
        if seen.len() > MAX_NUMERIC_CLASSES {
            return true;
        }
    }
    false
}
