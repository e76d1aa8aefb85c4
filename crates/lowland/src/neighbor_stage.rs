//! The stage most methods begin with: the neighbours, computed, handed in, or taken from a checkpoint.

use lowland_core::message::Note;
use lowland_core::run::Context;
use lowland_core::{Data, DataShape, Error, Metric, Result};
use lowland_linalg::Csr;
use lowland_neighbors::graph::{Components, add_edges, edge_lengths, join_components_with};
use lowland_neighbors::{NeighborGraph, NeighborParams, Search, nearest_with};

use crate::method::FitInput;

/// What people see while neighbours are searched.
pub(crate) const STAGE: &str = "neighbors";

/// Seconds that the search takes on two cores, roughly.
pub(crate) fn seconds(shape: DataShape) -> f64 {
    let (n, dim) = (shape.rows as f64, shape.dim.max(10) as f64);
    (n * n * (dim + 40.0) / 2e11).min(n * 1e-4) + 1e-3
}

/// A graph, and whether it is known to hold every true neighbour.
pub(crate) struct Neighbors {
    pub graph: NeighborGraph,
    pub exact: bool,
}

/// The `n_neighbors` nearest of every row. More than there are points is not an error but reduced, and said.
pub(crate) fn neighbors(
    input: FitInput,
    n_neighbors: usize,
    metric: Metric,
    search: Search,
    context: &mut Context,
) -> Result<Neighbors> {
    let n = input.data.rows();
    let k = n_neighbors.min(n.saturating_sub(1));
    if k < n_neighbors {
        context.note(Note::NeighborsReduced { requested: n_neighbors, used: k, points: n });
    }
    if k == 0 {
        let graph = NeighborGraph::new(vec![0; n + 1], Vec::new(), Vec::new(), n, metric)?;
        return Ok(Neighbors { graph, exact: true });
    }
    let found = context.stage(STAGE, |context| {
        let given = input.neighbors.map(|graph| given(graph, n, k, metric)).transpose()?;
        if let Some(graph) = at_hand(given, context)? {
            return Ok(Neighbors { graph, exact: false });
        }
        let params = NeighborParams { n_neighbors: k, metric, search, seed: context.seed.stream("neighbors") };
        let found = context.with_progress(|progress| nearest_with(input.data, &params, progress))?;
        if let Some(recall) = found.recall {
            context.note(Note::ApproximateNeighbors {
                algorithm: found.algorithm.to_string(),
                recall: recall.value,
                sampled_rows: recall.sampled_rows,
            });
        }
        Ok(Neighbors { exact: found.recall.is_none(), graph: found.graph })
    })?;
    check_rows(&found.graph, n)?;
    context.add_to_checkpoint(|archive| found.graph.save("graph", archive));
    Ok(found)
}

/// The graph that was handed in, whole: its values need not be distances.
pub(crate) fn handed_in(input: FitInput, context: &mut Context) -> Result<Neighbors> {
    let graph = context.stage(STAGE, |context| at_hand(input.neighbors.cloned(), context))?;
    let graph = graph.ok_or(Error::Format { what: "neighbour graph", reason: "there is none".into() })?;
    check_rows(&graph, input.data.rows())?;
    context.add_to_checkpoint(|archive| graph.save("graph", archive));
    Ok(Neighbors { graph, exact: false })
}

/// The graph of the checkpoint that is resumed, which must be the one handed in, if both are there.
fn at_hand(given: Option<NeighborGraph>, context: &Context) -> Result<Option<NeighborGraph>> {
    let stored = context.checkpoint().map(|archive| NeighborGraph::load("graph", archive)).transpose()?;
    match (stored, given) {
        (Some(stored), Some(given)) if stored != given => {
            let reason = "it was made with another neighbour graph; leave the graph out to go on with its own";
            Err(Error::Format { what: "checkpoint", reason: reason.into() })
        }
        (stored, given) => Ok(stored.or(given)),
    }
}

/// The graph's distances as a matrix, connected: components are joined by their closest pairs of points.
pub(crate) fn connected_lengths(
    data: &Data,
    metric: Metric,
    graph: &NeighborGraph,
    context: &mut Context,
) -> Result<Csr> {
    let (lengths, parts) = (edge_lengths(graph)?, Components::from_neighbors(graph));
    if parts.count() < 2 {
        return Ok(lengths);
    }
    let joins = context.with_progress(|progress| join_components_with(data, metric, &parts, progress))?;
    context.note(Note::ComponentsJoined { components: parts.count() });
    add_edges(&lengths, &joins)
}

/// Whether no row differs from another. That a row's neighbours are all copies of it is not enough: others may be elsewhere.
pub(crate) fn all_equal(data: &Data, metric: Metric, graph: &NeighborGraph, context: &mut Context) -> Result<bool> {
    if graph.distances().iter().any(|&distance| distance != 0.0) {
        return Ok(false);
    }
    let parts = Components::from_neighbors(graph);
    let joins = context.with_progress(|progress| join_components_with(data, metric, &parts, progress))?;
    Ok(joins.iter().all(|join| join.length == 0.0))
}

fn given(graph: &NeighborGraph, n: usize, k: usize, metric: Metric) -> Result<NeighborGraph> {
    check_rows(graph, n)?;
    // A graph of distances that someone else computed does not know its metric.
    if graph.metric() != metric && graph.metric() != Metric::Precomputed {
        return Err(Error::Parameter {
            name: "metric",
            value: metric.to_string(),
            allowed: format!("the given neighbour graph was made with {}: use that, or another graph", graph.metric()),
        });
    }
    if graph.min_degree() < k {
        return Err(Error::Parameter {
            name: "n_neighbors",
            value: k.to_string(),
            allowed: format!("at most {}, what the given neighbour graph has for every row", graph.min_degree()),
        });
    }
    Ok(graph.truncate(k))
}

fn check_rows(graph: &NeighborGraph, n: usize) -> Result<()> {
    if graph.rows() == n && graph.targets() == n {
        return Ok(());
    }
    Err(Error::Shape { what: "rows of the neighbour graph", expected: n, found: graph.rows() })
}
