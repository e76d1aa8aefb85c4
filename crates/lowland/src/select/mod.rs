//! Model selection by likelihood: the numbers of neighbors and dimensions, and the edges of the neighbor graph.
//!
//! The locally linear latent variable model (`lllvm`) has a lower bound on the evidence for a graph and a number of
//! dimensions; random starts show how much its local optima differ.

mod edges;
mod recommendation;

pub use edges::{EdgeScore, GraphBounds, compare_graphs, graph_from_pairs, remove_edges, screen_edges};
pub use recommendation::{Candidate, recommend, recommendation_text};

use crate::method::{FitInput, Method};
use crate::methods::{Lllvm, model_edges};
use crate::neighbor_stage::{Neighbors, neighbors};
use lowland_algorithms::lllvm::{LaplacianGraph, LllvmProblem, MultiStartEm, ScaledRows};
use lowland_core::message::Note;
use lowland_core::params::invalid_parameter;
use lowland_core::run::{Context, StopReason};
use lowland_core::{Data, DataShape, Error, Result};
use lowland_linalg::Csr;
use lowland_neighbors::graph::ConnectedComponents;

pub(crate) const BOUNDS: &str = "bounds";

/// Returns the number of bytes that [`by_bound`] needs besides the data.
pub fn memory(params: &Lllvm, shape: DataShape, n_neighbors: &[usize], n_components: &[usize]) -> u64 {
    let largest = |values: &[usize]| values.iter().copied().max().unwrap_or(1);
    let params = Lllvm { n_neighbors: largest(n_neighbors), n_components: largest(n_components), ..params.clone() };
    Method::memory(&params, shape)
}

/// Computes the bound of every combination from `params.starts` random starts each. If the run is stopped, the completed
/// candidates are returned.
pub fn by_bound(
    data: &Data,
    params: &Lllvm,
    n_neighbors: &[usize],
    n_components: &[usize],
    context: &mut Context,
) -> Result<Vec<Candidate>> {
    check_lists(data.rows(), n_neighbors, n_components)?;
    let max_neighbors = n_neighbors.iter().copied().max().unwrap_or(1);
    let rows = scaled_rows(data)?;
    let input = FitInput { data, neighbors: None };
    let Neighbors { graph, .. } = neighbors(input, max_neighbors, params.metric, params.search, context)?;
    context.stage(BOUNDS, |context| {
        let (mut candidates, mut collapsed) = (Vec::new(), Vec::new());
        for &n_neighbors in n_neighbors {
            let edges = model_edges(data, &graph.truncate(n_neighbors), params.metric, context)?;
            let problem = LllvmProblem::new(LaplacianGraph::new(&edges)?, rows.clone())?;
            for &n_components in n_components {
                let params = Lllvm { n_neighbors, n_components, ..params.clone() };
                let (starts, stop_reason) = fit_starts(&problem, &params, context)?;
                // An incomplete candidate cannot be compared with others.
                if stop_reason == StopReason::Stopped {
                    warn_of_collapse(&collapsed, context);
                    return completed_candidates(candidates, context);
                }
                if starts.collapsed_alpha().is_some() {
                    collapsed.push(format!("n_neighbors {n_neighbors}, n_components {n_components}"));
                }
                candidates.push(Candidate { n_neighbors, n_components, values: starts.bounds() });
            }
        }
        warn_of_collapse(&collapsed, context);
        Ok(candidates)
    })
}

/// Returns the candidates completed before a stop; an error if there are none.
pub(crate) fn completed_candidates<T>(found: Vec<T>, context: &mut Context) -> Result<Vec<T>> {
    if found.is_empty() {
        return Err(Error::Stopped { stage: BOUNDS });
    }
    context.note(Note::Warning("stopped: only candidates that were completed are kept".into()));
    Ok(found)
}

/// Warns about fits that collapsed onto a point, whose bounds are meaningless.
fn warn_of_collapse(names: &[String], context: &mut Context) {
    const MAX_SHOWN: usize = 5;
    let Some(more) = names.len().checked_sub(1) else { return };
    let shown = names[..names.len().min(MAX_SHOWN)].join("; ");
    let rest = if more >= MAX_SHOWN { format!("; and {} more", names.len() - MAX_SHOWN) } else { String::new() };
    context.note(Note::Warning(format!(
        "the embedding collapsed onto a point ({shown}{rest}), and its bound is meaningless; fix alpha, for example at 1e-3"
    )));
}

/// Runs EM from the same starts for every candidate.
fn fit_starts<'a>(
    problem: &'a LllvmProblem,
    params: &Lllvm,
    context: &mut Context,
) -> Result<(MultiStartEm<'a>, StopReason)> {
    params.validate()?;
    let (starts, outcome) = params.run_starts(problem, BOUNDS, context)?;
    Ok((starts, outcome.stop_reason))
}

/// Returns the graph that the model is fitted to.
pub fn model_graph(data: &Data, params: &Lllvm, context: &mut Context) -> Result<Csr> {
    check_lists(data.rows(), &[params.n_neighbors], &[params.n_components])?;
    let input = FitInput { data, neighbors: None };
    let Neighbors { graph, .. } = neighbors(input, params.n_neighbors, params.metric, params.search, context)?;
    model_edges(data, &graph, params.metric, context)
}

fn scaled_rows(data: &Data) -> Result<ScaledRows> {
    let rows = ScaledRows::new(data)?;
    if rows.values.iter().all(|&v| v == 0.0) {
        return Err(Error::TooFewPoints {
            what: "a selection with distinct rows".into(),
            needed: 2,
            found: 1,
            remedies: Vec::new(),
        });
    }
    Ok(rows)
}

fn check_lists(rows: usize, n_neighbors: &[usize], n_components: &[usize]) -> Result<()> {
    let max_neighbors = rows.saturating_sub(1);
    if max_neighbors == 0 {
        return Err(Error::TooFewPoints { what: "a selection".into(), needed: 2, found: rows, remedies: Vec::new() });
    }
    if let Some(k) = n_neighbors.iter().find(|&&k| k == 0 || k > max_neighbors) {
        return invalid_parameter("n_neighbors", k, format!("from 1 to {max_neighbors}, the number of rows minus one"));
    }
    match n_components.iter().find(|&&d| d == 0) {
        Some(d) => invalid_parameter("n_components", d, "at least 1"),
        None => Ok(()),
    }
}

/// Returns whether a graph is connected.
fn is_connected(edges: &Csr) -> bool {
    ConnectedComponents::from_matrix(edges).count() == 1
}

#[cfg(test)]
mod tests;
