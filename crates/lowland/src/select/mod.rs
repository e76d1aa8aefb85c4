//! Model selection by the bound of `lllvm`: the numbers of neighbors and dimensions, and the edges of the neighbor graph.
//!
//! The locally linear latent variable model (`lllvm`) has a lower bound on the evidence for a graph and a number of
//! dimensions; random starts show how much its local optima differ, and, for data of any size, subsamples how much the data do.

mod edges;
mod recommendation;
mod subsamples;

pub use edges::{
    EdgeQuestions, EdgeScore, GraphBounds, compare_edges, compare_graphs, edges_text, graph_from_pairs, remove_edges,
    screen_edges,
};
pub use recommendation::{Candidate, recommend, recommendation_text};
pub(crate) use subsamples::draw_rows;
pub use subsamples::{SubsampleKind, Subsamples};

use crate::method::{FitInput, Method};
use crate::methods::{Lllvm, model_edges};
use crate::neighbor_stage::{Neighbors, STAGE, neighbors};
use lowland_algorithms::lllvm::{LaplacianGraph, LllvmEm, LllvmProblem, MultiStartEm, ScaledRows};
use lowland_core::message::Note;
use lowland_core::params::{at_least_one, invalid_parameter};
use lowland_core::run::{Context, StopReason};
use lowland_core::{Data, DataShape, Error, Result};
use lowland_linalg::Csr;
use lowland_neighbors::graph::ConnectedComponents;
use lowland_neighbors::{NeighborGraph, NeighborParams, nearest_with};

pub(crate) const BOUNDS: &str = "bounds";

/// Returns the number of bytes that [`by_bound`] needs besides the data.
pub fn memory(
    params: &Lllvm,
    shape: DataShape,
    n_neighbors: &[usize],
    n_components: &[usize],
    subsamples: Subsamples,
) -> u64 {
    let largest = |values: &[usize]| values.iter().copied().max().unwrap_or(1);
    let params = Lllvm { n_neighbors: largest(n_neighbors), n_components: largest(n_components), ..params.clone() };
    let rows = subsamples.rows_of(shape.rows);
    let bytes = (shape.bytes as f64 * rows as f64 / shape.rows.max(1) as f64) as u64;
    // Every subsample has a copy of its rows and a neighbor graph; drawing them sorts the numbers of all rows.
    let copies = subsamples.count as u64 * (bytes + (rows * params.n_neighbors * 12) as u64);
    Method::memory(&params, DataShape { rows, bytes, ..shape }).saturating_add(copies + shape.rows as u64 * 24)
}

/// A part of the rows with its neighbor graph.
struct Subsample {
    data: Data,
    graph: NeighborGraph,
}

/// Computes the bound of every combination on every subsample, from `params.starts` random starts each. If the run is stopped,
/// the subsamples completed for all candidates are returned, or else the candidates completed on the first.
pub fn by_bound(
    data: &Data,
    params: &Lllvm,
    n_neighbors: &[usize],
    n_components: &[usize],
    subsamples: Subsamples,
    context: &mut Context,
) -> Result<Vec<Candidate>> {
    at_least_one("subsamples", subsamples.count)?;
    let data = &params.metric.rows_to_compare(data);
    check_lists(subsamples.rows_of(data.rows()), n_neighbors, n_components)?;
    let max_neighbors = n_neighbors.iter().copied().max().unwrap_or(1);
    let parts = context.stage(STAGE, |context| draw_subsamples(data, params, max_neighbors, subsamples, context))?;
    let combinations = n_neighbors.iter().flat_map(|&k| n_components.iter().map(move |&d| (k, d)));
    let candidate = |(n_neighbors, n_components)| Candidate { n_neighbors, n_components, bounds: Vec::new() };
    let mut candidates: Vec<Candidate> = combinations.map(candidate).collect();
    context.stage(BOUNDS, |context| {
        let mut collapsed = Vec::new();
        for part in &parts {
            if !add_bounds(part, params, &mut candidates, &mut collapsed, context)? {
                warn_of_collapse(&collapsed, context);
                return completed_subsamples(candidates, context);
            }
        }
        warn_of_collapse(&collapsed, context);
        Ok(candidates)
    })
}

fn draw_subsamples(
    data: &Data,
    params: &Lllvm,
    n_neighbors: usize,
    subsamples: Subsamples,
    context: &mut Context,
) -> Result<Vec<Subsample>> {
    let seed = context.seed.stream("subsamples");
    let rows = context
        .with_progress(|progress| subsamples.draw(data, params.metric, seed, &mut |done| progress(0.5 * done)))?;
    let search = NeighborParams { n_neighbors, metric: params.metric, search: params.search, seed };
    let count = rows.len() as f64;
    let mut parts = Vec::new();
    for rows in rows {
        let data = data.select(&rows);
        let done = parts.len() as f64;
        let found = context.with_progress(|progress| {
            nearest_with(&data, &search, &mut |part| progress(0.5 + 0.5 * (done + part) / count))
        })?;
        parts.push(Subsample { data, graph: found.graph });
    }
    Ok(parts)
}

/// Adds the bounds of one subsample to every candidate; returns false if the run was stopped before that.
fn add_bounds(
    part: &Subsample,
    params: &Lllvm,
    candidates: &mut [Candidate],
    collapsed: &mut Vec<String>,
    context: &mut Context,
) -> Result<bool> {
    let rows = scaled_rows(&part.data)?;
    let mut problem: Option<(usize, LllvmProblem)> = None;
    for candidate in candidates {
        let (n_neighbors, n_components) = (candidate.n_neighbors, candidate.n_components);
        let problem = match problem.take() {
            Some((k, known)) if k == n_neighbors => &problem.insert((k, known)).1,
            _ => {
                let graph = part.graph.truncate(n_neighbors);
                let edges = model_edges(&part.data, &graph, params.metric, context)?;
                &problem.insert((n_neighbors, LllvmProblem::new(LaplacianGraph::new(&edges)?, rows.clone())?)).1
            }
        };
        let params = Lllvm { n_neighbors, n_components, ..params.clone() };
        let (starts, stop_reason) = fit_starts(problem, &params, context)?;
        if stop_reason == StopReason::Stopped {
            return Ok(false);
        }
        let name = format!("n_neighbors {n_neighbors}, n_components {n_components}");
        if starts.collapsed_alpha().is_some() && !collapsed.contains(&name) {
            collapsed.push(name);
        }
        candidate.bounds.push(starts.bounds());
    }
    Ok(true)
}

/// Returns what can be compared after a stop: the subsamples that all candidates have, or the candidates with a bound.
fn completed_subsamples(mut candidates: Vec<Candidate>, context: &mut Context) -> Result<Vec<Candidate>> {
    let complete = candidates.iter().map(|candidate| candidate.bounds.len()).min().unwrap_or(0);
    if complete == 0 {
        candidates.retain(|candidate| !candidate.bounds.is_empty());
        return completed_candidates(candidates, context);
    }
    candidates.iter_mut().for_each(|candidate| candidate.bounds.truncate(complete));
    context.note(Note::Warning(format!("stopped: the bounds are those of the first {complete} subsamples")));
    Ok(candidates)
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
) -> Result<(MultiStartEm<LllvmEm<'a>>, StopReason)> {
    params.validate()?;
    let (starts, outcome) = params.run_starts(problem, BOUNDS, context)?;
    Ok((starts, outcome.stop_reason))
}

/// Returns the graph that the model is fitted to.
pub fn model_graph(data: &Data, params: &Lllvm, context: &mut Context) -> Result<Csr> {
    check_lists(data.rows(), &[params.n_neighbors], &[params.n_components])?;
    let input = FitInput { data, neighbors: None, target: None, anchors: None, reported_neighbors: 0 };
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
        return invalid_parameter(
            "n_neighbors",
            k,
            format!("from 1 to {max_neighbors}, the number of rows compared minus one"),
        );
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
