//! Supervision: what is known about the rows besides their values, and how it changes the neighbor graph.
//!
//! Only the neighbor graph changes, so that every method that is based on it can be supervised in the same way. New rows are
//! placed without a target.

use rayon::prelude::*;

use lowland_core::message::{Note, Remedy};
use lowland_core::params::{invalid_parameter, param_enum};
use lowland_core::{Error, Labels, Result};
use lowland_neighbors::NeighborGraph;

param_enum! {
    /// What a target is.
    pub enum TargetMetric ("auto, categorical or numeric") {
        /// Numeric if all values are numbers and some are not whole; categorical otherwise.
        Auto = "auto",
        /// Classes: two rows are of the same class or not. -1 and empty values are unknown.
        Categorical = "categorical",
        /// Numbers: two rows are as different as the numbers are. Empty values are unknown.
        Numeric = "numeric",
    }
}

/// A class or a number for every row, or for some of them.
///
/// ```
/// use lowland::methods::Umap;
/// use lowland::{Data, FitOptions, Labels, Target};
///
/// let x = Data::dense((0..80).map(|i| (i * i % 97) as f32).collect(), 2)?;
/// // The classes of two rows in three are known.
/// let target = Target::new(Labels::new((0..40).map(|i| ["a", "b", ""][i % 3])));
/// let model = Umap::default().fit_with(&x, FitOptions { target: Some(&target), ..FitOptions::default() })?;
/// assert_eq!(model.embedding().rows(), 40);
/// # Ok::<(), lowland::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    labels: Labels,
}

/// Distance of rows of different classes for `target_weight` 0.5, in units of the bandwidth.
const DIFFERENT: f64 = 5.0;
/// Distance of a row whose target is unknown, for the same weight.
const UNKNOWN: f64 = 1.0;
/// Largest of these distances, which a weight of one has.
const MOST: f64 = 1000.0;
/// The bandwidth of the affinities is about this part of the range of the distances to the neighbors.
const BANDWIDTH: f64 = 1.0 / 3.0;
/// Number of further neighbors among which those of the same class are looked for; at most as many as there are neighbors.
const MORE_NEIGHBORS: usize = 30;
/// Code of an unknown class.
const NO_CLASS: u32 = u32::MAX;

impl Target {
    /// Creates a target from texts, such as the cells of a column.
    pub fn new(labels: Labels) -> Self {
        Self { labels }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.labels.codes.len()
    }

    /// Returns the target of the given rows, in that order.
    pub fn select(&self, rows: &[usize]) -> Self {
        Self { labels: self.labels.select(rows) }
    }

    /// A number that depends on the target of every row.
    pub(crate) fn fingerprint(&self) -> u64 {
        let mut hash = 0xcbf2_9ce4_8422_2325u64;
        let mut add = |byte: u8| hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        self.labels.names.iter().for_each(|name| name.bytes().chain([0]).for_each(&mut add));
        self.labels.codes.iter().for_each(|code| code.to_le_bytes().into_iter().for_each(&mut add));
        hash
    }
}

/// How a method uses a target: its parameters of that name.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Supervision {
    pub weight: f64,
    pub metric: TargetMetric,
}

impl Supervision {
    pub fn validate(&self) -> Result<()> {
        if (0.0..=1.0).contains(&self.weight) {
            Ok(())
        } else {
            invalid_parameter("target_weight", &self.weight, "from 0 (the target does not matter) to 1")
        }
    }

    /// Number of neighbors among which those of a row are chosen.
    pub fn candidates(neighbors: usize) -> usize {
        neighbors.saturating_add(neighbors.min(MORE_NEIGHBORS))
    }

    /// Returns the differences between the targets of the rows. Fails if there is nothing to learn from them.
    pub fn differences(&self, target: &Target, rows: usize) -> Result<TargetDifferences> {
        if target.rows() != rows {
            return Err(Error::Shape {
                what: "values of the target (one per row)",
                expected: rows,
                found: target.rows(),
            });
        }
        let values = match self.metric {
            TargetMetric::Categorical => classes(&target.labels)?,
            TargetMetric::Numeric => numbers(&target.labels)?,
            TargetMetric::Auto if is_numeric(&target.labels) => numbers(&target.labels)?,
            TargetMetric::Auto => classes(&target.labels)?,
        };
        let odds = self.weight / (1.0 - self.weight);
        let different = (DIFFERENT * odds).min(MOST);
        Ok(TargetDifferences { values, different, unknown: UNKNOWN * 2.0 * self.weight })
    }
}

/// The targets of the rows, and what differences of them add to distances.
pub(crate) struct TargetDifferences {
    values: TargetValues,
    /// Distance of rows with different targets, in units of the bandwidth.
    different: f64,
    /// Distance of rows if the target of one is unknown.
    unknown: f64,
}

enum TargetValues {
    /// The class of each row, or [`NO_CLASS`].
    Classes { codes: Vec<u32>, count: usize },
    /// The number of each row, or NaN, and their standard deviation.
    Numbers { values: Vec<f64>, deviation: f64 },
}

impl TargetDifferences {
    /// What the targets of two rows add to their distance, in units of the bandwidth.
    fn between(&self, i: usize, j: usize) -> f64 {
        match &self.values {
            TargetValues::Classes { codes, .. } if codes[i] == NO_CLASS || codes[j] == NO_CLASS => self.unknown,
            TargetValues::Classes { codes, .. } if codes[i] == codes[j] => 0.0,
            TargetValues::Classes { .. } => self.different,
            TargetValues::Numbers { values, .. } if values[i].is_nan() || values[j].is_nan() => self.unknown,
            TargetValues::Numbers { values, deviation } => {
                self.different * ((values[i] - values[j]).abs() / deviation).min(1.0)
            }
        }
    }

    /// Chooses the `k` nearest of the candidates, where distances are increased by the differences of the targets. Distances to
    /// rows with the same target are as they were.
    pub fn apply(&self, candidates: &NeighborGraph, k: usize) -> Result<NeighborGraph> {
        let bandwidths = bandwidths(candidates, k);
        let row = |i: usize| {
            let (neighbors, distances) = candidates.row(i);
            let distance = |j: u32, d: f32| (f64::from(d) + bandwidths[i] * self.between(i, j as usize)) as f32;
            let mut row: Vec<(f32, u32)> =
                neighbors.iter().zip(distances).map(|(&j, &d)| (distance(j, d).min(f32::MAX), j)).collect();
            row.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            row.truncate(k);
            row
        };
        let rows: Vec<Vec<(f32, u32)>> = (0..candidates.rows()).into_par_iter().map(row).collect();
        let mut indptr = vec![0];
        let (mut indices, mut distances) = (Vec::new(), Vec::new());
        for row in rows {
            indices.extend(row.iter().map(|entry| entry.1));
            distances.extend(row.iter().map(|entry| entry.0));
            indptr.push(indices.len());
        }
        NeighborGraph::new(indptr, indices, distances, candidates.targets(), candidates.metric())
    }

    /// What a user should know about the map.
    pub fn note(&self) -> Note {
        match &self.values {
            TargetValues::Classes { codes, count } => Note::Supervised {
                known: codes.iter().filter(|&&code| code != NO_CLASS).count(),
                rows: codes.len(),
                classes: Some(*count),
            },
            TargetValues::Numbers { values, .. } => Note::Supervised {
                known: values.iter().filter(|value| !value.is_nan()).count(),
                rows: values.len(),
                classes: None,
            },
        }
    }
}

/// Returns a bandwidth for every row: a part of the range of the distances to its `k` nearest neighbors.
fn bandwidths(graph: &NeighborGraph, k: usize) -> Vec<f64> {
    let range = |i: usize| {
        let distances = &graph.row(i).1[..k.min(graph.row(i).1.len())];
        let (first, last) = (distances.first().copied().unwrap_or(0.0), distances.last().copied().unwrap_or(0.0));
        f64::from(if last > first { last - first } else { last })
    };
    let ranges: Vec<f64> = (0..graph.rows()).map(range).collect();
    // Duplicates only: as large as elsewhere.
    let positive = ranges.iter().filter(|&&range| range > 0.0);
    let (sum, count) = positive.fold((0.0, 0usize), |(sum, count), range| (sum + range, count + 1));
    let mean = if count > 0 { sum / count as f64 } else { 1.0 };
    ranges.into_iter().map(|range| BANDWIDTH * if range > 0.0 { range } else { mean }).collect()
}

/// Whether a cell has no value.
fn is_empty(name: &str) -> bool {
    let name = name.trim();
    name.is_empty() || ["nan", "na", "none", "null", "<na>"].iter().any(|empty| name.eq_ignore_ascii_case(empty))
}

/// Whether a cell names no class.
fn is_unknown_class(name: &str) -> bool {
    is_empty(name) || name.trim().parse() == Ok(-1.0)
}

/// Whether all cells are numbers, and not all are whole.
fn is_numeric(labels: &Labels) -> bool {
    let cells = || labels.names.iter().filter(|name| !is_empty(name));
    let numbers: Option<Vec<f64>> = cells().map(|name| name.trim().parse().ok()).collect();
    numbers.is_some_and(|numbers| numbers.iter().any(|number: &f64| number.fract() != 0.0))
}

fn refuse<T>(reason: String, remedies: Vec<Remedy>) -> Result<T> {
    Err(Error::Target { reason, remedies })
}

fn classes(labels: &Labels) -> Result<TargetValues> {
    let unknown: Vec<bool> = labels.names.iter().map(|name| is_unknown_class(name)).collect();
    let codes: Vec<u32> =
        labels.codes.iter().map(|&code| if unknown[code as usize] { NO_CLASS } else { code }).collect();
    let mut present = vec![0usize; labels.names.len()];
    codes.iter().filter(|&&code| code != NO_CLASS).for_each(|&code| present[code as usize] += 1);
    let known: usize = present.iter().sum();
    let count = present.iter().filter(|&&rows| rows > 0).count();
    match count {
        0 => refuse("all values are unknown (-1 or empty)".into(), vec![Remedy::Omit("target")]),
        1 => {
            let at = present.iter().position(|&rows| rows > 0).unwrap_or(0);
            let name = lowland_core::message::excerpt(&labels.names[at]);
            let rows = if known == 1 { "1 row".into() } else { format!("{known} rows") };
            refuse(format!("it has one class only, '{name}' ({rows})"), vec![Remedy::Omit("target")])
        }
        _ if count == known => refuse(
            format!("each of the {known} rows whose class is known has a class of its own"),
            vec![Remedy::Set { name: "target_metric", value: "numeric" }, Remedy::Other("use another column")],
        ),
        _ => Ok(TargetValues::Classes { codes, count }),
    }
}

fn numbers(labels: &Labels) -> Result<TargetValues> {
    let mut of_names = Vec::with_capacity(labels.names.len());
    for (code, name) in labels.names.iter().enumerate() {
        let number = if is_empty(name) { Some(f64::NAN) } else { name.trim().parse().ok() };
        let Some(number) = number.filter(|number: &f64| !number.is_infinite()) else {
            let row = labels.codes.iter().position(|&found| found as usize == code).unwrap_or(0);
            let name = lowland_core::message::excerpt(name);
            return refuse(
                format!("'{name}' of row {row} is not a number"),
                vec![Remedy::Set { name: "target_metric", value: "categorical" }],
            );
        };
        of_names.push(number);
    }
    let values: Vec<f64> = labels.codes.iter().map(|&code| of_names[code as usize]).collect();
    let known: Vec<f64> = values.iter().copied().filter(|value| !value.is_nan()).collect();
    if known.is_empty() {
        return refuse("all values are unknown (empty)".into(), vec![Remedy::Omit("target")]);
    }
    // In units of the largest, so that squares do not overflow.
    let largest = known.iter().fold(f64::MIN_POSITIVE, |most, value| most.max(value.abs()));
    let mean = known.iter().map(|value| value / largest).sum::<f64>() / known.len() as f64;
    let variance = known.iter().map(|value| (value / largest - mean).powi(2)).sum::<f64>() / known.len() as f64;
    let deviation = largest * variance.sqrt();
    if deviation > 0.0 && known.iter().any(|value| *value != known[0]) {
        Ok(TargetValues::Numbers { values, deviation })
    } else {
        refuse(format!("it has one value only, {}", known[0]), vec![Remedy::Omit("target")])
    }
}

#[cfg(test)]
#[path = "target_tests.rs"]
mod tests;
