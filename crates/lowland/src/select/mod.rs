//! Choosing the number of neighbours and of dimensions, and judging edges, by how likely the data become.
//!
//! The locally linear latent variable model bounds the evidence for a graph and a dimension; random starts say how far its
//! local optima scatter. For more rows than that model can take, the tractable latent variable model is fitted to most of
//! them and asked how likely the others are.

mod edges;

pub use edges::{Suspect, Tested, compare, from_pairs, screen, without};

use crate::fit::FitOptions;
use crate::method::{FitInput, Method};
use crate::methods::neighbor_stage::{Neighbors, neighbors};
use crate::methods::{Lllvm, Lvm, model_edges};
use lowland_algorithms::lllvm::{LaplacianGraph, LllvmProblem, MultiStartEm, ScaledRows};
use lowland_core::message::Note;
use lowland_core::params::invalid_parameter;
use lowland_core::run::{Context, Observer, StopReason};
use lowland_core::{Data, DataShape, Error, Result, Seed};
use lowland_linalg::Csr;
use lowland_neighbors::graph::Components;

/// What was found for one number of neighbours and of dimensions.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// Neighbours a point.
    pub n_neighbors: usize,
    /// Dimensions of the map.
    pub n_components: usize,
    /// The bound of each start, or the mean log-likelihood of the rows of each fold.
    pub values: Vec<f64>,
}

impl Candidate {
    /// The mean of the values.
    pub fn mean(&self) -> f64 {
        mean(&self.values)
    }

    /// Their standard deviation.
    pub fn std(&self) -> f64 {
        deviation(&self.values)
    }

    /// The largest of them.
    pub fn best(&self) -> f64 {
        largest(&self.values)
    }
}

pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

pub(crate) fn deviation(values: &[f64]) -> f64 {
    let mean = mean(values);
    let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    (squares / values.len().saturating_sub(1).max(1) as f64).sqrt()
}

pub(crate) fn largest(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

/// How candidates are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SelectionCriterion {
    /// By the best start: a bound is true from any start, and the largest is the tightest.
    Bound,
    /// By the mean over folds.
    HeldOut,
}

impl SelectionCriterion {
    /// The number candidates are compared by.
    pub fn value(self, choice: &Candidate) -> f64 {
        match self {
            SelectionCriterion::Bound => choice.best(),
            SelectionCriterion::HeldOut => choice.mean(),
        }
    }
}

/// The best candidate's place in the list, and those that are not clearly worse: closer than the values scatter.
pub fn recommend(choices: &[Candidate], by: SelectionCriterion) -> Option<(usize, Vec<usize>)> {
    let best = (0..choices.len()).reduce(|a, b| if by.value(&choices[b]) > by.value(&choices[a]) { b } else { a })?;
    let enough = by.value(&choices[best]) - choices[best].std();
    let close = (0..choices.len()).filter(|&at| at != best && by.value(&choices[at]) >= enough).collect();
    Some((best, close))
}

/// The recommendation in words.
pub fn recommendation_text(choices: &[Candidate], by: SelectionCriterion) -> String {
    let Some((best, close)) = recommend(choices, by) else { return "there is nothing to choose from".into() };
    let name = |choice: &Candidate| format!("n_neighbors {}, n_components {}", choice.n_neighbors, choice.n_components);
    let (what, spread) = match by {
        SelectionCriterion::Bound => ("bound", "starts"),
        SelectionCriterion::HeldOut => ("held-out log-likelihood", "folds"),
    };
    let chosen = &choices[best];
    let mut text =
        format!("take {}: {what} {:.4e}, {spread} scatter by {:.2e}", name(chosen), by.value(chosen), chosen.std());
    if choices.len() == 1 {
        text.push_str("; it is the only one");
    } else if close.is_empty() {
        text.push_str("; every other choice is worse by more than that");
    } else {
        let others: Vec<String> = close.iter().take(5).map(|&at| name(&choices[at])).collect();
        text.push_str(&format!("; not clearly worse: {}", others.join("; ")));
    }
    let at_an_end = |value: fn(&Candidate) -> usize| {
        let values = choices.iter().map(value);
        let (low, high) = (values.clone().min(), values.max());
        low != high && (Some(value(chosen)) == low || Some(value(chosen)) == high)
    };
    if at_an_end(|choice| choice.n_neighbors) {
        text.push_str("; it is at the end of the numbers of neighbours tried: try more beyond it");
    }
    if at_an_end(|choice| choice.n_components) && chosen.n_components > 1 {
        text.push_str("; it is at the end of the numbers of dimensions tried: try more beyond it");
    }
    text
}

pub(crate) const BOUNDS: &str = "bounds";

/// Bytes that [`by_bound`] needs beyond the data.
pub fn memory(params: &Lllvm, shape: DataShape, n_neighbors: &[usize], n_components: &[usize]) -> u64 {
    let most = |values: &[usize]| values.iter().copied().max().unwrap_or(1);
    let largest = Lllvm { n_neighbors: most(n_neighbors), n_components: most(n_components), ..params.clone() };
    Method::memory(&largest, shape)
}

/// The bound of every combination, from `params.starts` random starts each. What was found before a stop is returned.
pub fn by_bound(
    data: &Data,
    params: &Lllvm,
    n_neighbors: &[usize],
    n_components: &[usize],
    context: &mut Context,
) -> Result<Vec<Candidate>> {
    check_lists(data.rows(), n_neighbors, n_components)?;
    let most = n_neighbors.iter().copied().max().unwrap_or(1);
    let rows = rows_of(data)?;
    let input = FitInput { data, neighbors: None };
    let Neighbors { graph, .. } = neighbors(input, most, params.metric, params.search, context)?;
    context.stage(BOUNDS, |context| {
        let (mut choices, mut collapsed) = (Vec::new(), Vec::new());
        for &n_neighbors in n_neighbors {
            let edges = model_edges(data, &graph.truncate(n_neighbors), params.metric, context)?;
            let problem = LllvmProblem::new(LaplacianGraph::new(&edges)?, rows.clone())?;
            for &n_components in n_components {
                let params = Lllvm { n_neighbors, n_components, ..params.clone() };
                let (starts, ended) = fitted(&problem, &params, context)?;
                // A choice that was not tried to the end cannot be compared with others.
                if ended == StopReason::Stopped {
                    warn_of_collapse(&collapsed, context);
                    return stopped(choices, context);
                }
                if starts.collapsed_alpha().is_some() {
                    collapsed.push(format!("n_neighbors {n_neighbors}, n_components {n_components}"));
                }
                choices.push(Candidate { n_neighbors, n_components, values: starts.bounds() });
            }
        }
        warn_of_collapse(&collapsed, context);
        Ok(choices)
    })
}

/// What was found before a stop, if anything was.
pub(crate) fn stopped<T>(found: Vec<T>, context: &mut Context) -> Result<Vec<T>> {
    if found.is_empty() {
        return Err(Error::Stopped { stage: BOUNDS });
    }
    context.note(Note::Warning("stopped: only candidates that were completed are kept".into()));
    Ok(found)
}

/// Says once which fits have come to nothing: their bounds are those of a point.
fn warn_of_collapse(names: &[String], context: &mut Context) {
    const SHOWN: usize = 5;
    let Some(more) = names.len().checked_sub(1) else { return };
    let shown = names[..names.len().min(SHOWN)].join("; ");
    let rest = if more >= SHOWN { format!("; and {} more", names.len() - SHOWN) } else { String::new() };
    context.note(Note::Warning(format!(
        "the embedding collapsed onto a point ({shown}{rest}), and its bound means nothing; fix alpha, for instance at 1e-3"
    )));
}

/// The same starts for every candidate, as far as they can be.
fn fitted<'a>(
    problem: &'a LllvmProblem,
    params: &Lllvm,
    context: &mut Context,
) -> Result<(MultiStartEm<'a>, StopReason)> {
    params.validate()?;
    let (starts, outcome) = params.run_starts(problem, BOUNDS, context)?;
    Ok((starts, outcome.stop_reason))
}

/// The graph the model would be fitted to.
pub fn graph(data: &Data, params: &Lllvm, context: &mut Context) -> Result<Csr> {
    check_lists(data.rows(), &[params.n_neighbors], &[params.n_components])?;
    let input = FitInput { data, neighbors: None };
    let Neighbors { graph, .. } = neighbors(input, params.n_neighbors, params.metric, params.search, context)?;
    model_edges(data, &graph, params.metric, context)
}

fn rows_of(data: &Data) -> Result<ScaledRows> {
    let rows = ScaledRows::new(data)?;
    if rows.values.iter().all(|&v| v == 0.0) {
        return Err(Error::TooFewPoints {
            what: "a selection among different rows".into(),
            needed: 2,
            found: 1,
            remedies: Vec::new(),
        });
    }
    Ok(rows)
}

fn check_lists(rows: usize, n_neighbors: &[usize], n_components: &[usize]) -> Result<()> {
    let most = rows.saturating_sub(1);
    if most == 0 {
        return Err(Error::TooFewPoints { what: "a selection".into(), needed: 2, found: rows, remedies: Vec::new() });
    }
    if let Some(k) = n_neighbors.iter().find(|&&k| k == 0 || k > most) {
        return invalid_parameter(
            "n_neighbors",
            k,
            format!("from 1 to {most}, the number of rows that are fitted, less one"),
        );
    }
    match n_components.iter().find(|&&d| d == 0) {
        Some(d) => invalid_parameter("n_components", d, "at least 1"),
        None => Ok(()),
    }
}

/// Scores every combination by cross-validation under the tractable latent variable model: for each of `folds` parts of the
/// rows (row `i` is in part `i mod folds`), the mean log-likelihood of a row of that part under a model of the others.
/// `params` has the other parameters.
pub fn by_held_out(
    data: &Data,
    params: &Lvm,
    n_neighbors: &[usize],
    n_components: &[usize],
    folds: usize,
    seed: Seed,
    max_memory: Option<u64>,
    observer: &mut dyn Observer,
) -> Result<Vec<Candidate>> {
    if folds < 2 || folds > data.rows() {
        return invalid_parameter("folds", &folds, format!("from 2 to {}, the number of rows", data.rows()));
    }
    // Each model has the rows of the other parts.
    let fitted_rows = data.rows() - data.rows().div_ceil(folds);
    check_lists(fitted_rows, n_neighbors, n_components)?;
    let mut choices = Vec::new();
    for &n_neighbors in n_neighbors {
        for &n_components in n_components {
            let candidate = Lvm { n_neighbors, n_components, ..params.clone() };
            let mut scores = Vec::new();
            for fold in 0..folds {
                let (held, kept): (Vec<usize>, Vec<usize>) = (0..data.rows()).partition(|i| i % folds == fold);
                let options = FitOptions { seed, max_memory, observer: Some(&mut *observer), ..FitOptions::default() };
                let model = match candidate.fit_with(&data.select(&kept), options) {
                    // A candidate that was not completed cannot be compared with others.
                    Err(Error::Stopped { .. }) if !choices.is_empty() => return Ok(choices),
                    Ok(model) if model.outcome().stop_reason == StopReason::Stopped => {
                        let nothing = Error::Stopped { stage: BOUNDS };
                        return if choices.is_empty() { Err(nothing) } else { Ok(choices) };
                    }
                    model => model?,
                };
                scores.push(mean(&model.score(&data.select(&held))?));
            }
            choices.push(Candidate { n_neighbors, n_components, values: scores });
        }
    }
    Ok(choices)
}

/// Whether leaving the rows' graph like this keeps it in one part.
fn in_one_part(edges: &Csr) -> bool {
    Components::from_matrix(edges).count() == 1
}

#[cfg(test)]
mod tests;
