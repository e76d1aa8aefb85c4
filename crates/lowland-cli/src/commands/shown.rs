//! Maps to be shown together, and what is known about their points.

use std::path::Path;

use lowland::Data;
use lowland::quality::{Procrustes, procrustes};
use lowland_io::{Labels, MapTable, Table};

use crate::failure::Failure;
use crate::observer::Console;

/// Maps to be shown together.
pub struct Shown {
    pub maps: Vec<ShownMap>,
    /// The data of all of them, in the order of their rows.
    pub table: Option<Table>,
    pub title: String,
    pub caption: String,
}

/// One map.
pub struct ShownMap {
    pub name: String,
    pub map: MapTable,
}

impl Shown {
    /// Lays all maps over the first where they are of the same points; says where they are not.
    pub fn align(&mut self, console: &mut Console) {
        let Some((first, others)) = self.maps.split_first_mut() else { return };
        for other in others {
            if let (Some(ours), Some(theirs)) = (&first.map.ids, &other.map.ids)
                && ours != theirs
            {
                console.note(&format!("{} is not aligned to {}: their ids are not the same", other.name, first.name));
                continue;
            }
            match procrustes(first.map.map.points(), other.map.map.points()) {
                Ok(Procrustes { aligned, turn, .. }) => {
                    let dim = aligned.dim();
                    // A rotation by one scale: each of its rows is as long as that.
                    let scale = turn[..dim].iter().map(|v| v * v).sum::<f64>().sqrt();
                    other.map.std.iter_mut().flatten().for_each(|std| *std *= scale);
                    for own in other.map.covariances.iter_mut().flat_map(|all| all.chunks_exact_mut(dim * dim)) {
                        turned(own, &turn, dim);
                    }
                    other.map.map = aligned;
                }
                Err(error) => console.note(&format!("{} is not aligned to {}: {error}", other.name, first.name)),
            }
        }
    }
}

/// The covariance of what is multiplied by `turn` from the right: `turn' covariance turn`.
fn turned(covariance: &mut [f64], turn: &[f64], dim: usize) {
    let entry = |at: usize| -> f64 {
        let (r, s) = (at / dim, at % dim);
        let row = |p: usize| (0..dim).map(|q| covariance[p * dim + q] * turn[q * dim + s]).sum::<f64>();
        (0..dim).map(|p| turn[p * dim + r] * row(p)).sum()
    };
    let all: Vec<f64> = (0..dim * dim).map(entry).collect();
    covariance.copy_from_slice(&all);
}

/// What the points of each map are coloured by.
pub enum Coloring {
    Plain,
    /// One set of classes for all maps: names, and the codes of each map.
    Classes(Vec<String>, Vec<Vec<u32>>),
    /// A name, and the values of each map.
    Values(String, Vec<Vec<f64>>),
}

/// More distinct numbers than this are a scale, not classes.
const MOST_NUMBERED_CLASSES: usize = 20;

impl Coloring {
    /// By a column; by the labels where none is named and there are any.
    pub fn new(shown: &Shown, column: Option<&str>) -> Result<Self, Failure> {
        let labelled = shown.maps.iter().all(|each| each.map.labels.is_some());
        match column {
            Some("none") => Ok(Coloring::Plain),
            None if !labelled => Ok(Coloring::Plain),
            None | Some("label") if labelled => {
                let texts = shown.maps.iter().map(|each| {
                    let labels = each.map.labels.as_ref();
                    labels.map_or(Vec::new(), |labels| (0..labels.codes.len()).map(|i| labels.name(i)).collect())
                });
                Ok(Self::classes(texts.collect()))
            }
            Some("std") if shown.maps.iter().all(|each| each.map.std.is_some()) => {
                let values = shown.maps.iter().filter_map(|each| each.map.std.clone());
                Ok(Coloring::Values("std".into(), values.collect()))
            }
            Some(name) => Self::by_column(shown, name),
            None => Ok(Coloring::Plain),
        }
    }

    /// By a column of every map, or else of the data.
    fn by_column(shown: &Shown, name: &str) -> Result<Self, Failure> {
        let columns = shown.maps.iter().map(|each| each.map.others.iter().find(|(known, _)| known == name));
        if let Some(columns) = columns.collect::<Option<Vec<_>>>() {
            let texts = columns.iter().map(|(_, cells)| cells.iter().map(String::as_str).collect());
            return Ok(Self::of_texts(name, texts.collect()));
        }
        if let Some(values) = shown.table.as_ref().and_then(|table| numbers(table, name)) {
            let maps = shown.maps.len();
            let wide: Vec<f64> = values.iter().map(|&value| f64::from(value)).collect();
            if has_many(wide.iter().copied()) {
                return Ok(Coloring::Values(name.into(), vec![wide; maps]));
            }
            let labels = Labels::new(values.iter().map(f32::to_string));
            return Ok(Coloring::Classes(labels.names, vec![labels.codes; maps]));
        }
        let all = |has: fn(&MapTable) -> bool| shown.maps.iter().all(|each| has(&each.map));
        let mut known: Vec<String> = shown.maps[0].map.others.iter().map(|(name, _)| name.clone()).collect();
        known.extend(all(|map| map.labels.is_some()).then(|| "label".into()));
        known.extend(all(|map| map.std.is_some()).then(|| "std".into()));
        let columns = shown.table.as_ref().and_then(|table| table.columns.as_deref()).unwrap_or_default();
        known.extend(columns.iter().take(20).cloned());
        known.push("none".into());
        Err(Failure::flag(format!("--color {name}: not every map has such a column; there is {}", known.join(", "))))
    }

    /// Many different numbers are a scale; anything else is classes.
    fn of_texts(name: &str, texts: Vec<Vec<&str>>) -> Self {
        match scale(texts.iter().map(|column| column.iter().copied())) {
            Some(values) => Coloring::Values(name.into(), values),
            None => Self::classes(texts),
        }
    }

    fn classes(texts: Vec<Vec<&str>>) -> Self {
        let all = Labels::new(texts.iter().flatten());
        let mut codes = all.codes.into_iter();
        let codes = texts.iter().map(|map| codes.by_ref().take(map.len()).collect()).collect();
        Coloring::Classes(all.names, codes)
    }

    /// The colours of one of the maps.
    pub fn of_map(&self, at: usize) -> lowland_view::Color<'_> {
        match self {
            Coloring::Plain => lowland_view::Color::Plain,
            Coloring::Classes(names, codes) => {
                lowland_view::Color::Classes(lowland_view::ClassLabels { codes: &codes[at], names })
            }
            Coloring::Values(name, values) => lowland_view::Color::Values { name, values: &values[at] },
        }
    }
}

/// The numbers of columns that are shown on one scale: all their cells are numbers, an empty one a missing number, and many
/// of them differ.
pub fn scale<'a>(columns: impl IntoIterator<Item = impl Iterator<Item = &'a str>>) -> Option<Vec<Vec<f64>>> {
    let number = |text: &str| match text.trim() {
        "" => Some(f64::NAN),
        text => text.parse::<f64>().ok(),
    };
    let values: Vec<Vec<f64>> = columns.into_iter().map(|cells| cells.map(number).collect()).collect::<Option<_>>()?;
    has_many(values.iter().flatten().copied()).then_some(values)
}

/// Whether numbers are so many different ones that they are a scale, not classes.
pub fn has_many(values: impl Iterator<Item = f64>) -> bool {
    let mut seen: Vec<u64> = Vec::new();
    for value in values.filter(|v| !v.is_nan()) {
        if !seen.contains(&value.to_bits()) {
            seen.push(value.to_bits());
        }
        if seen.len() > MOST_NUMBERED_CLASSES {
            return true;
        }
    }
    false
}

/// A column of the data, by name or by number.
pub fn numbers(table: &Table, name: &str) -> Option<Vec<f32>> {
    let named = table.columns.as_ref().and_then(|names| names.iter().position(|known| known == name));
    let column = named.or_else(|| name.parse().ok()).filter(|&column| column < table.data.dim())?;
    match &table.data {
        Data::Dense(rows) => Some((0..rows.rows()).map(|i| rows.row(i)[column]).collect()),
        Data::Sparse(rows) => {
            let cell = |i: usize| {
                let (columns, values) = rows.row(i);
                columns.binary_search(&(column as u32)).map_or(0.0, |at| values[at])
            };
            Some((0..rows.rows()).map(cell).collect())
        }
        Data::Text(_) => None,
    }
}

/// Of a path the name, without the ending that says what kind of file it is.
pub fn stem(path: &Path) -> String {
    path.file_stem().map_or_else(|| path.display().to_string(), |stem| stem.to_string_lossy().into_owned())
}
