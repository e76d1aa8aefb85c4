//! Maps that grow: rows that are on an earlier map keep their positions or stay near them, and new rows join them.
//!
//! ```
//! use lowland::growth::{self, AnchorStrength};
//! use lowland::methods::Umap;
//! use lowland::{Data, FitOptions, Seed};
//!
//! let rows = |range: std::ops::Range<usize>| -> lowland::Result<Data> {
//!     let values = Seed(1).normals(4 * 200);
//!     Data::dense(values[4 * range.start..4 * range.end].iter().map(|&v| v as f32).collect(), 4)
//! };
//! let umap = Umap { n_epochs: lowland::params::Auto::Value(20), ..Umap::default() };
//! let old = umap.fit(&rows(0..150)?)?;
//! let data = rows(50..200)?;
//! let shared = growth::rows_with_values(&old, &data);
//! let anchors = growth::anchors(&old, &data, &shared, AnchorStrength::Exact, &mut |_| Ok(()))?;
//! let new = umap.fit_with(&data, FitOptions { anchors: Some(&anchors), ..FitOptions::default() })?;
//! assert_eq!((shared.len(), new.embedding().row(0)), (100, old.embedding().row(50)));
//! # Ok::<(), lowland::Error>(())
//! ```

use std::collections::HashMap;

use lowland_algorithms::anchors::Anchors;
use lowland_core::message::Remedy;
use lowland_core::params::ParamValue;
use lowland_core::run::Progress;
use lowland_core::{Data, Embedding, Error, Result};

use crate::fixed::FixedPositions;
use crate::model::Model;

/// How rows are tied to their positions of an earlier map.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum AnchorStrength {
    /// They keep their positions.
    Exact,
    /// Their positions attract them: a strength of one is that of all their neighbors together.
    Tied(f64),
}

/// What to do if nothing is shared.
const SAME_IDS: &str = "pass data with some of the same rows: with equal ids, or without ids with equal values";

/// A row of the data, and the row of an earlier map that it is.
pub type SharedRow = (usize, usize);

impl AnchorStrength {
    /// Returns the strength as a number, infinite for exact positions.
    pub fn value(self) -> f64 {
        match self {
            Self::Exact => f64::INFINITY,
            Self::Tied(strength) => strength,
        }
    }
}

impl ParamValue for AnchorStrength {
    const EXPECTS: &'static str = "exact or a number above 0";

    fn parse(text: &str) -> Option<Self> {
        match text.trim() {
            "exact" => Some(Self::Exact),
            number => number.parse().ok().filter(|&value: &f64| value > 0.0 && value.is_finite()).map(Self::Tied),
        }
    }

    fn to_text(&self) -> String {
        match self {
            Self::Exact => "exact".into(),
            Self::Tied(strength) => strength.to_text(),
        }
    }
}

/// Finds the rows of `data` that a model was fitted to, by their values. Of equal rows, each is found once.
pub fn rows_with_values(old: &Model, data: &Data) -> Vec<SharedRow> {
    match_keys(&data.with_offsets(old.offsets().map(|offsets| &offsets[..])).row_hashes(), old.training_hashes())
}

/// Finds the rows that are in two data sets, by their values. Of equal rows, each is found once.
pub fn rows_with_row_values(before: &Data, after: &Data) -> Vec<SharedRow> {
    match_keys(&after.with_offsets(before.offsets()).row_hashes(), &before.row_hashes())
}

/// Finds the rows that are in two tables, by their ids. Fails if several rows of a table have an id that is in both.
pub fn rows_with_ids(ids: &[String], old: &[String]) -> Result<Vec<SharedRow>> {
    let mut places: HashMap<&str, (usize, usize)> = HashMap::with_capacity(old.len());
    for (row, id) in old.iter().enumerate() {
        places.entry(id).or_insert((row, 0)).1 += 1;
    }
    let mut seen: HashMap<&str, usize> = HashMap::with_capacity(ids.len());
    let mut shared = Vec::new();
    for (row, id) in ids.iter().enumerate() {
        let Some(&(old_row, count)) = places.get(id.as_str()) else { continue };
        *seen.entry(id).or_insert(0) += 1;
        if count > 1 || seen[id.as_str()] > 1 {
            let id = lowland_core::message::excerpt(id);
            let allowed = format!("several rows have the id '{id}'; give ids that differ");
            return Err(Error::Parameter { name: "ids", value: id, allowed });
        }
        shared.push((row, old_row));
    }
    Ok(shared)
}

fn match_keys(keys: &[u64], old: &[u64]) -> Vec<SharedRow> {
    let mut places: HashMap<u64, Vec<usize>> = HashMap::with_capacity(old.len());
    // In descending order, so that the first is taken first.
    old.iter().enumerate().rev().for_each(|(row, &key)| places.entry(key).or_default().push(row));
    let mut take = |(row, key): (usize, &u64)| Some((row, places.get_mut(key)?.pop()?));
    keys.iter().enumerate().filter_map(&mut take).collect()
}

/// Ties the shared rows of `data` to their positions on the map of `old`; the others start where the model places them.
///
/// The coordinates are those that the method has computed, without an [alignment](Model::align_to).
pub fn anchors(
    old: &Model,
    data: &Data,
    shared: &[SharedRow],
    strength: AnchorStrength,
    progress: &mut Progress,
) -> Result<Anchors> {
    if shared.is_empty() {
        return Err(no_shared_rows("the data and the map that is continued"));
    }
    let (map, n) = (old.own_embedding(), data.rows());
    let dim = map.dim();
    let mut start = vec![0.0; n * dim];
    let mut strengths = vec![0.0; n];
    for &(row, old_row) in shared {
        start[row * dim..][..dim].copy_from_slice(map.row(old_row));
        strengths[row] = strength.value();
    }
    let new: Vec<usize> = (0..n).filter(|&i| strengths[i] == 0.0).collect();
    if !new.is_empty() {
        let placed = old.place_own(&data.select(&new), progress)?.embedding;
        for (at, &i) in new.iter().enumerate() {
            start[i * dim..][..dim].copy_from_slice(placed.row(at));
        }
    }
    let start = Embedding::new(start, dim)?;
    Anchors::new(start.clone(), start, strengths)
}

/// Matches the rows of a map with those of data by their ids, for [`Model::align_to`]: rows that are only in one of them do not matter.
pub fn shared_positions(ids: &[String], old_ids: &[String], old: &Embedding) -> Result<FixedPositions> {
    let shared = rows_with_ids(ids, old_ids)?;
    if shared.is_empty() {
        return Err(no_shared_rows("the data and the map to align to"));
    }
    let positions = shared.iter().flat_map(|&(_, row)| old.row(row)).copied().collect();
    FixedPositions::new(shared.iter().map(|&(row, _)| row).collect(), Embedding::new(positions, old.dim())?)
}

pub(crate) fn no_shared_rows(what: &str) -> Error {
    Error::NoSharedRows { what: what.into(), remedies: vec![Remedy::Other(SAME_IDS)] }
}

#[cfg(test)]
#[path = "growth_tests.rs"]
mod tests;
