//! Maps that are drawn together, with what is known about their points.

use lowland::quality::{Procrustes, procrustes};
use lowland::{AnnotatedEmbedding, Data};
use lowland_io::Table;
use lowland_view::TextTable;

use crate::console::Console;
use crate::terms::FlagTerms;

/// Maps that are drawn together in one picture or page.
#[derive(Default)]
pub struct Figure {
    pub maps: Vec<FigureMap>,
    /// The data of all maps, in the order of their points.
    pub data: Option<Table>,
    pub title: String,
    /// Caption of a picture.
    pub caption: String,
    /// Scores of the maps.
    pub scores: Option<TextTable>,
    /// The exaggeration of each map, if a page shows one map at a time with a slider between them; empty otherwise.
    pub slider: Vec<f64>,
}

/// One map of a figure.
pub struct FigureMap {
    pub name: String,
    /// Caption of the map on a page.
    pub caption: String,
    pub map: AnnotatedEmbedding,
}

impl Figure {
    /// Aligns all maps to the first where they have the same points; prints a message where they do not.
    pub fn align(&mut self, console: &mut Console) {
        let Some((first, others)) = self.maps.split_first_mut() else { return };
        for other in others {
            if let (Some(ours), Some(theirs)) = (&first.map.ids, &other.map.ids)
                && ours != theirs
            {
                console.info(&format!("{} is not aligned to {}: their ids differ", other.name, first.name));
                continue;
            }
            match procrustes(first.map.points(), other.map.points()) {
                Ok(alignment) => apply_alignment(&mut other.map, alignment),
                Err(error) => console.info(&format!(
                    "{} is not aligned to {}: {}",
                    other.name,
                    first.name,
                    error.describe(&FlagTerms)
                )),
            }
        }
    }

    /// A column of the data by name or by number.
    pub fn data_column(&self, name: &str) -> Option<Vec<f32>> {
        let table = self.data.as_ref()?;
        let named = table.columns.as_ref().and_then(|names| names.iter().position(|known| known == name));
        let column = named.or_else(|| name.parse().ok()).filter(|&column| column < table.data.dim())?;
        match &table.data {
            Data::Dense(rows) => Some((0..rows.rows()).map(|i| rows.value(i, column) as f32).collect()),
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
}

/// Replaces a map by the aligned one, with standard deviations and covariances transformed alike.
fn apply_alignment(map: &mut AnnotatedEmbedding, Procrustes { aligned, linear_map, .. }: Procrustes) {
    let dim = aligned.dim();
    // A scaled rotation: the length of each row is the scale.
    let scale = linear_map[..dim].iter().map(|v| v * v).sum::<f64>().sqrt();
    map.std.iter_mut().flatten().for_each(|std| *std *= scale);
    for covariance in map.covariances.iter_mut().flat_map(|all| all.chunks_exact_mut(dim * dim)) {
        rotate_covariance(covariance, &linear_map, dim);
    }
    map.embedding = aligned;
}

/// The covariance of a row vector after multiplication by a matrix from the right: `rotation' covariance rotation`.
fn rotate_covariance(covariance: &mut [f64], rotation: &[f64], dim: usize) {
    let entry = |at: usize| -> f64 {
        let (r, s) = (at / dim, at % dim);
        let row = |p: usize| (0..dim).map(|q| covariance[p * dim + q] * rotation[q * dim + s]).sum::<f64>();
        (0..dim).map(|p| rotation[p * dim + r] * row(p)).sum()
    };
    let all: Vec<f64> = (0..dim * dim).map(entry).collect();
    covariance.copy_from_slice(&all);
}
