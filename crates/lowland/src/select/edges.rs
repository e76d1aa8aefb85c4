//! Tests of edges: the bound of graphs without them, and the edges that are probably wrong.

use crate::methods::Lllvm;
use lowland_algorithms::lllvm::{LaplacianGraph, LllvmProblem, Posterior};
use lowland_core::run::{Context, StopReason};
use lowland_core::{Data, Error, Result};
use lowland_linalg::Csr;

use super::recommendation::{largest, mean, standard_deviation};
use super::{BOUNDS, completed_candidates, fit_starts, is_connected, model_graph, scaled_rows, warn_of_collapse};

/// The lower bounds of a graph.
#[derive(Debug, Clone, PartialEq)]
pub struct GraphBounds {
    /// Name of the graph.
    pub name: String,
    /// Bound of each random start.
    pub values: Vec<f64>,
}

impl GraphBounds {
    /// Returns the largest bound.
    pub fn best(&self) -> f64 {
        largest(&self.values)
    }

    /// Returns the mean bound.
    pub fn mean(&self) -> f64 {
        mean(&self.values)
    }

    /// Returns the standard standard_deviation of the bounds.
    pub fn std(&self) -> f64 {
        standard_deviation(&self.values)
    }
}

/// Which edges [`compare_edges`] looks at.
#[derive(Debug, Clone, Default)]
pub struct EdgeQuestions {
    /// Edges to remove: each on its own, and all together.
    pub without: Vec<(usize, usize)>,
    /// Another graph with a name to compare with, which is then also the one that is screened.
    pub other: Option<(String, Csr)>,
    /// Number of edges to list that are probably wrong; `None` for none.
    pub screen: Option<usize>,
}

/// Bounds of the graph of the data, of the same graph without some edges, and of another graph; and the edges that are
/// probably wrong, the most suspicious first.
pub fn compare_edges(
    data: &Data,
    params: &Lllvm,
    questions: EdgeQuestions,
    context: &mut Context,
) -> Result<(Vec<GraphBounds>, Vec<EdgeScore>)> {
    let EdgeQuestions { without, other, screen } = questions;
    let graph = model_graph(data, params, context)?;
    let mut graphs = vec![("all edges".to_string(), graph.clone())];
    for (i, j) in &without {
        graphs.push((format!("without {i},{j}"), remove_edges(&graph, &[(*i, *j)])?));
    }
    if without.len() > 1 {
        graphs.push(("without all of these".into(), remove_edges(&graph, &without)?));
    }
    let screened_at = if other.is_some() { graphs.len() } else { 0 };
    graphs.extend(other);
    let Some(count) = screen else {
        return Ok((compare_graphs(data, params, &graphs, context)?, Vec::new()));
    };
    // Screening computes the bounds as well, so this graph is not fitted again.
    let screened = graphs.remove(screened_at);
    let (known, mut suspects) = screen_edges(data, params, &screened, context)?;
    suspects.truncate(count);
    if suspects.len() > 1 && without.is_empty() {
        let all: Vec<(usize, usize)> = suspects.iter().map(|suspect| (suspect.i, suspect.j)).collect();
        if let Ok(rest) = remove_edges(&screened.1, &all) {
            graphs.push((format!("without the first {}", all.len()), rest));
        }
    }
    let mut tested = if graphs.is_empty() { Vec::new() } else { compare_graphs(data, params, &graphs, context)? };
    tested.insert(screened_at.min(tested.len()), known);
    Ok((tested, suspects))
}

/// The conclusion from the bounds of several graphs, the first of which is the graph of the data.
pub fn edges_text(tested: &[GraphBounds]) -> String {
    let best = tested.iter().reduce(|a, b| if b.best() > a.best() { b } else { a });
    let Some((best, base)) = best.zip(tested.first()) else { return String::new() };
    if best.name == base.name {
        return "the graph as it is has the largest bound".into();
    }
    let (gain, spread) = (best.best() - base.best(), base.std().max(best.std()));
    let comparison = if gain > spread { "more" } else { "less" };
    format!("{}: the largest bound, by {gain:.3}; {comparison} than the spread of the starts ({spread:.3})", best.name)
}

/// Removes edges from a graph, which must stay connected.
pub fn remove_edges(edges: &Csr, pairs: &[(usize, usize)]) -> Result<Csr> {
    for &(i, j) in pairs {
        if i.max(j) >= edges.rows() || edges.get(i, j) == 0.0 && edges.row(i).0.binary_search(&(j as u32)).is_err() {
            return Err(invalid_graph(format!("it has no edge {i},{j} (rows count from 0)")));
        }
    }
    let kept = edges.filter(|i, j, _| !pairs.contains(&(i, j)) && !pairs.contains(&(j, i)));
    if is_connected(&kept) { Ok(kept) } else { Err(invalid_graph("it is not connected without these edges".into())) }
}

/// Creates a graph of `n` points from its edges.
pub fn graph_from_pairs(n: usize, pairs: &[(usize, usize)]) -> Result<Csr> {
    if let Some((i, j)) = pairs.iter().find(|(i, j)| i == j || *i.max(j) >= n) {
        return Err(invalid_graph(format!(
            "there is no edge {i},{j} between {n} points: rows count from 0 to {}",
            n - 1
        )));
    }
    let both = pairs.iter().flat_map(|&(i, j)| [(i, j), (j, i)]);
    let edges = Csr::from_triplets(n, n, both.map(|(i, j)| (i as u32, j as u32, 1.0)))?;
    if is_connected(&edges) { Ok(edges) } else { Err(invalid_graph("its edges do not connect all points".into())) }
}

fn invalid_graph(reason: String) -> Error {
    Error::Format { what: "neighbor graph", reason }
}

/// Computes the bounds of several graphs of the same rows.
pub fn compare_graphs(
    data: &Data,
    params: &Lllvm,
    graphs: &[(String, Csr)],
    context: &mut Context,
) -> Result<Vec<GraphBounds>> {
    let rows = scaled_rows(data)?;
    context.stage(BOUNDS, |context| {
        let (mut bounds, mut collapsed) = (Vec::new(), Vec::new());
        for (name, edges) in graphs {
            let problem = LllvmProblem::new(LaplacianGraph::new(edges)?, rows.clone())?;
            let (starts, stop_reason) = fit_starts(&problem, params, context)?;
            if stop_reason == StopReason::Stopped {
                warn_of_collapse(&collapsed, context);
                return completed_candidates(bounds, context);
            }
            collapsed.extend(starts.collapsed_alpha().map(|_| name.clone()));
            bounds.push(GraphBounds { name: name.clone(), values: starts.bounds() });
        }
        warn_of_collapse(&collapsed, context);
        Ok(bounds)
    })
}

/// An edge with a score of how likely it is to be wrong.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EdgeScore {
    /// First end.
    pub i: usize,
    /// Second end.
    pub j: usize,
    /// First-order gain of the log-priors of coordinates and linear maps if the edge is weakened: the difference between
    /// its ends in coordinates and maps, minus the difference expected under the priors.
    pub score: f64,
    /// Effective resistance between the ends; close to 1 if few other paths connect them.
    pub resistance: f64,
}

/// Fits the model to a graph. Returns its bounds and all edges, the most suspicious first.
pub fn screen_edges(
    data: &Data,
    params: &Lllvm,
    (name, edges): &(String, Csr),
    context: &mut Context,
) -> Result<(GraphBounds, Vec<EdgeScore>)> {
    let problem = LllvmProblem::new(LaplacianGraph::new(edges)?, scaled_rows(data)?)?;
    context.stage(BOUNDS, |context| {
        let (starts, stop_reason) = fit_starts(&problem, params, context)?;
        if stop_reason == StopReason::Stopped {
            return Err(Error::Stopped { stage: BOUNDS });
        }
        warn_of_collapse(&starts.collapsed_alpha().map(|_| name.clone()).into_iter().collect::<Vec<_>>(), context);
        let bounds = GraphBounds { name: name.clone(), values: starts.bounds() };
        Ok((bounds, rank_edges(&problem.graph, &starts.into_posterior()?)))
    })
}

/// Sorts the edges by score, the negative derivative of the log-priors with respect to the weight of an edge:
/// `E|x_i - x_j|^2 + E|C_i - C_j|^2 - (d_x + d_x d_y) R / 2`, where `R` is the effective resistance.
fn rank_edges(graph: &LaplacianGraph, posterior: &Posterior) -> Vec<EdgeScore> {
    let freedom = 0.5 * posterior.degrees_of_freedom() as f64;
    let mut scores: Vec<EdgeScore> = graph
        .edges()
        .map(|(i, j)| {
            let resistance = graph.resistance(i, j);
            EdgeScore { i, j, score: posterior.expected_difference(i, j) - freedom * resistance, resistance }
        })
        .collect();
    scores.sort_by(|a, b| b.score.total_cmp(&a.score));
    scores
}
