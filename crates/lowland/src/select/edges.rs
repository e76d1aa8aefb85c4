//! Edges as hypotheses: what the bound says without them, and which ones look wrong.

use crate::methods::Lllvm;
use lowland_algorithms::lllvm::{LaplacianGraph, LllvmProblem, Posterior};
use lowland_core::run::{Context, StopReason};
use lowland_core::{Data, Error, Result};
use lowland_linalg::Csr;

use super::{BOUNDS, deviation, fitted, in_one_part, largest, mean, rows_of, stopped, warn_of_collapse};

/// A graph, by the bounds its starts reach.
#[derive(Debug, Clone, PartialEq)]
pub struct Tested {
    /// What it is called.
    pub name: String,
    /// The bound of each start.
    pub values: Vec<f64>,
}

impl Tested {
    /// The largest bound.
    pub fn best(&self) -> f64 {
        largest(&self.values)
    }

    /// The mean bound.
    pub fn mean(&self) -> f64 {
        mean(&self.values)
    }

    /// The bounds' standard deviation.
    pub fn std(&self) -> f64 {
        deviation(&self.values)
    }
}

/// The graph less some edges, which must be in it and must not be all that holds it together.
pub fn without(edges: &Csr, pairs: &[(usize, usize)]) -> Result<Csr> {
    for &(i, j) in pairs {
        if i.max(j) >= edges.rows() || edges.get(i, j) == 0.0 && edges.row(i).0.binary_search(&(j as u32)).is_err() {
            return Err(unusable(format!("it has no edge {i},{j} (rows count from 0; --screen-edges lists edges)")));
        }
    }
    let kept = edges.filter(|i, j, _| !pairs.contains(&(i, j)) && !pairs.contains(&(j, i)));
    if in_one_part(&kept) { Ok(kept) } else { Err(unusable("without these edges it falls apart".into())) }
}

/// A graph of `n` points with these edges.
pub fn from_pairs(n: usize, pairs: &[(usize, usize)]) -> Result<Csr> {
    if let Some((i, j)) = pairs.iter().find(|(i, j)| i == j || *i.max(j) >= n) {
        return Err(unusable(format!("there is no edge {i},{j} between {n} points: rows count from 0 to {}", n - 1)));
    }
    let both = pairs.iter().flat_map(|&(i, j)| [(i, j), (j, i)]);
    let edges = Csr::from_triplets(n, n, both.map(|(i, j)| (i as u32, j as u32, 1.0)))?;
    if in_one_part(&edges) { Ok(edges) } else { Err(unusable("its edges do not join all points".into())) }
}

fn unusable(reason: String) -> Error {
    Error::Format { what: "neighbour graph", reason }
}

/// The bounds of several graphs of the same rows.
pub fn compare(data: &Data, params: &Lllvm, graphs: &[(String, Csr)], context: &mut Context) -> Result<Vec<Tested>> {
    let rows = rows_of(data)?;
    context.stage(BOUNDS, |context| {
        let (mut tested, mut collapsed) = (Vec::new(), Vec::new());
        for (name, edges) in graphs {
            let problem = LllvmProblem::new(LaplacianGraph::new(edges)?, rows.clone())?;
            let (starts, ended) = fitted(&problem, params, context)?;
            if ended == StopReason::Stopped {
                warn_of_collapse(&collapsed, context);
                return stopped(tested, context);
            }
            collapsed.extend(starts.collapsed_alpha().map(|_| name.clone()));
            tested.push(Tested { name: name.clone(), values: starts.bounds() });
        }
        warn_of_collapse(&collapsed, context);
        Ok(tested)
    })
}

/// An edge and how much the model would rather be without it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Suspect {
    /// One end.
    pub i: usize,
    /// The other.
    pub j: usize,
    /// What the priors of places and maps would gain, to first order, if the edge were weaker: what its ends differ by on
    /// the map and in their maps, less what priors of this graph expect.
    pub score: f64,
    /// The effective resistance between its ends; near 1 when hardly another path joins them.
    pub resistance: f64,
}

/// All edges of a graph, the most suspicious first: fits the model, whose bounds it returns too, and compares each edge's
/// ends.
pub fn screen(
    data: &Data,
    params: &Lllvm,
    (name, edges): &(String, Csr),
    context: &mut Context,
) -> Result<(Tested, Vec<Suspect>)> {
    let problem = LllvmProblem::new(LaplacianGraph::new(edges)?, rows_of(data)?)?;
    context.stage(BOUNDS, |context| {
        let (starts, ended) = fitted(&problem, params, context)?;
        if ended == StopReason::Stopped {
            return Err(Error::Stopped { stage: BOUNDS });
        }
        warn_of_collapse(&starts.collapsed_alpha().map(|_| name.clone()).into_iter().collect::<Vec<_>>(), context);
        let tested = Tested { name: name.clone(), values: starts.bounds() };
        Ok((tested, ranked(&problem.graph, &starts.into_posterior()?)))
    })
}

/// The derivative of the priors' logarithms by the weight of an edge is
/// `(d_x + d_x d_y) R / 2 - E|x_i - x_j|^2 - E|C_i - C_j|^2`, `R` the effective resistance: its negative is the score.
fn ranked(network: &LaplacianGraph, posterior: &Posterior) -> Vec<Suspect> {
    let freedom = 0.5 * posterior.degrees_of_freedom() as f64;
    let mut suspects: Vec<Suspect> = network
        .edges()
        .map(|(i, j)| {
            let resistance = network.resistance(i, j);
            Suspect { i, j, score: posterior.expected_difference(i, j) - freedom * resistance, resistance }
        })
        .collect();
    suspects.sort_by(|a, b| b.score.total_cmp(&a.score));
    suspects
}
