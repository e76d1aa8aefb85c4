//! Maps of a sequence of data sets, in which the rows that two consecutive ones share stay near each other.

use lowland_algorithms::anchors::Anchors;
use lowland_core::params::{at_least_one, invalid_parameter};
use lowland_core::run::{Observer, StopReason};
use lowland_core::{Data, Embedding, Error, MemoryBudget, Result, Seed};

use crate::fit::{FitOptions, fit};
use crate::growth::{AnchorStrength, SharedRow, anchors, no_shared_rows};
use crate::method::DynMethod;
use crate::model::Model;
use crate::preprocessing::Preprocessing;
use crate::registry::METHODS;

/// Options of [`fit_sequence`].
pub struct SequenceOptions<'a> {
    /// How shared rows are tied to their positions on the map before.
    pub anchor: AnchorStrength,
    /// Number of times that every map is fitted: in the first pass tied to the map before it, in further ones to both of its neighbors.
    pub passes: usize,
    /// Steps applied to every data set before the method.
    pub preprocessing: Preprocessing,
    /// Seed of everything random.
    pub seed: Seed,
    /// Names of the columns, stored in the models.
    pub feature_names: Vec<String>,
    /// Receives the progress of every fit, and can stop it.
    pub observer: Option<&'a mut dyn Observer>,
    /// Memory that a fit may use, its data included.
    pub memory: MemoryBudget,
}

impl Default for SequenceOptions<'_> {
    fn default() -> Self {
        Self {
            anchor: AnchorStrength::Tied(DEFAULT_STRENGTH),
            passes: 1,
            preprocessing: Preprocessing::default(),
            seed: Seed::default(),
            feature_names: Vec::new(),
            observer: None,
            memory: MemoryBudget::default(),
        }
    }
}

/// Default strength of the ties between consecutive maps.
pub const DEFAULT_STRENGTH: f64 = 0.1;

/// Fits a map to each of `slices`. `shared[t]` are the rows that slice `t + 1` shares with slice `t`; see
/// [`rows_with_ids`](crate::growth::rows_with_ids). All slices have the same columns.
///
/// The first map is that of a fit of its own. Each of the others starts from the map before it, where that model places its new rows,
/// and its shared rows are tied to their positions there. With further passes, every map is fitted again, tied to both of its
/// neighbors: this descends on the sum of all losses and ties.
pub fn fit_sequence(
    method: &dyn DynMethod,
    slices: &[&Data],
    shared: &[Vec<SharedRow>],
    mut options: SequenceOptions,
) -> Result<Vec<Model>> {
    check(method, slices, shared, &options)?;
    let mut models: Vec<Model> = Vec::with_capacity(slices.len());
    for pass in 0..options.passes {
        for t in 0..slices.len() {
            let ties = match (pass, t) {
                (0, 0) => None,
                (0, _) => {
                    let before = &models[t - 1];
                    Some(anchors(before, slices[t], &shared[t - 1], options.anchor, &mut |_| Ok(()))?)
                }
                _ => Some(ties_to_both(&models, shared, t, options.anchor)?),
            };
            let again = FitOptions {
                seed: options.seed,
                preprocessing: options.preprocessing.clone(),
                anchors: ties.as_ref(),
                neighbors: models.get(t).and_then(Model::neighbors),
                feature_names: options.feature_names.clone(),
                observer: options.observer.as_mut().map(|observer| &mut **observer as &mut dyn Observer),
                memory: options.memory.clone(),
                ..FitOptions::default()
            };
            let model = fit(method.clone_box(), slices[t], again)?;
            if model.outcome().stop_reason == StopReason::Stopped {
                return Err(Error::Stopped { stage: "the sequence" });
            }
            if pass == 0 { models.push(model) } else { models[t] = model }
        }
    }
    Ok(models)
}

/// Ties the rows of map `t` to their positions on the maps before and after it. They start where they are.
fn ties_to_both(models: &[Model], shared: &[Vec<SharedRow>], t: usize, strength: AnchorStrength) -> Result<Anchors> {
    let start = models[t].own_embedding();
    let dim = start.dim();
    let (mut sums, mut counts) = (vec![0.0; start.values().len()], vec![0u32; start.rows()]);
    let mut add = |row: usize, position: &[f64]| {
        sums[row * dim..][..dim].iter_mut().zip(position).for_each(|(sum, v)| *sum += v);
        counts[row] += 1;
    };
    if t > 0 {
        shared[t - 1].iter().for_each(|&(row, before)| add(row, models[t - 1].own_embedding().row(before)));
    }
    if let Some(after) = models.get(t + 1) {
        shared[t].iter().for_each(|&(after_row, row)| add(row, after.own_embedding().row(after_row)));
    }
    for (sums, &count) in sums.chunks_exact_mut(dim).zip(&counts) {
        sums.iter_mut().for_each(|sum| *sum /= f64::from(count.max(1)));
    }
    let strength = |&count: &u32| if count == 0 { 0.0 } else { f64::from(count) * strength.value() };
    Anchors::new(start.clone(), Embedding::new(sums, dim)?, counts.iter().map(strength).collect())
}

fn check(method: &dyn DynMethod, slices: &[&Data], shared: &[Vec<SharedRow>], options: &SequenceOptions) -> Result<()> {
    at_least_one("passes", options.passes)?;
    if options.passes > 1 && options.anchor == AnchorStrength::Exact {
        return invalid_parameter(
            "passes",
            &options.passes,
            "1 with exact positions, which further passes would not move",
        );
    }
    if slices.len() < 2 {
        return Err(Error::Shape { what: "data sets of a sequence (at least)", expected: 2, found: slices.len() });
    }
    if shared.len() + 1 != slices.len() {
        let what = "lists of shared rows (one less than data sets)";
        return Err(Error::Shape { what, expected: slices.len() - 1, found: shared.len() });
    }
    if !method.supports_anchors() {
        let others: Vec<&str> = METHODS.iter().filter(|info| info.supports_anchors).map(|info| info.name).collect();
        let allowed = format!("cannot continue an earlier map; these can: {}", others.join(", "));
        return Err(Error::Parameter { name: "method", value: method.name().into(), allowed });
    }
    for (t, pairs) in shared.iter().enumerate() {
        let (before, after) = (slices[t], slices[t + 1]);
        if pairs.is_empty() {
            return Err(no_shared_rows(&format!("data sets {} and {} of the sequence", t + 1, t + 2)));
        }
        if before.dim() != after.dim() {
            let what = "columns of the data sets of a sequence, which must have the same";
            return Err(Error::Shape { what, expected: before.dim(), found: after.dim() });
        }
        let outside = |&&(row, old): &&SharedRow| row >= after.rows() || old >= before.rows();
        if let Some(&(row, old)) = pairs.iter().find(outside) {
            let (expected, found) =
                if old >= before.rows() { (before.rows(), old + 1) } else { (after.rows(), row + 1) };
            return Err(Error::Shape { what: "rows that a data set of the sequence must have", expected, found });
        }
    }
    Ok(())
}

/// How far the shared rows of two consecutive maps are apart: the root mean square distance in units of that of the first map's shared
/// points from their center.
pub fn movement(before: &Embedding, after: &Embedding, shared: &[SharedRow]) -> f64 {
    let dim = before.dim();
    let n = shared.len().max(1) as f64;
    let square = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
    let mut center = vec![0.0; dim];
    shared.iter().for_each(|&(_, old)| center.iter_mut().zip(before.row(old)).for_each(|(c, v)| *c += v / n));
    let spread: f64 = shared.iter().map(|&(_, old)| square(before.row(old), &center)).sum();
    let moved: f64 = shared.iter().map(|&(row, old)| square(after.row(row), before.row(old))).sum();
    (moved / spread.max(f64::MIN_POSITIVE)).sqrt()
}

#[cfg(test)]
#[path = "sequence_tests.rs"]
mod tests;
