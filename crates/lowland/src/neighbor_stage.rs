//! The first stage of most methods: the neighbor graph, computed, precomputed by the caller, or from a checkpoint.

use lowland_core::message::Note;
use lowland_core::run::Context;
use lowland_core::{Data, DataShape, Error, Metric, Result};
use lowland_linalg::Csr;
use lowland_neighbors::graph::{ConnectedComponents, add_edges, edge_lengths, join_components_with};
use lowland_neighbors::{NeighborGraph, NeighborParams, Search, is_exact, nearest_with};

use crate::method::FitInput;
use crate::target::Supervision;

/// Name of the stage shown to users.
pub(crate) const STAGE: &str = "neighbors";

/// Estimates the time of the search in seconds on two cores.
pub(crate) fn seconds(shape: DataShape) -> f64 {
    let (n, dim) = (shape.rows as f64, shape.dim.max(10) as f64);
    (n * n * (dim + 40.0) / 2e11).min(n * 1e-4) + 1e-3
}

/// A neighbor graph, and whether it was computed exactly.
pub(crate) struct Neighbors {
    pub graph: NeighborGraph,
    pub exact: bool,
    /// The graph before it was reduced to the neighbors of the method, if the caller of the fit wants more.
    pub wider: Option<NeighborGraph>,
}

impl Neighbors {
    fn precomputed(graph: NeighborGraph) -> Self {
        Self { graph, exact: false, wider: None }
    }
}

/// Returns the `n_neighbors` nearest neighbors of every row, as [`neighbors`] does. If there is a target, they are chosen from
/// more of them, by distances that the target increases; the graph does not count as exact, since it is not that of the data.
pub(crate) fn supervised_neighbors(
    input: FitInput,
    supervision: Supervision,
    n_neighbors: usize,
    metric: Metric,
    search: Search,
    context: &mut Context,
) -> Result<Neighbors> {
    let Some(target) = input.target else { return neighbors(input, n_neighbors, metric, search, context) };
    let n = input.data.rows();
    let differences = supervision.differences(target, n)?;
    if supervision.weight == 0.0 {
        return neighbors(input, n_neighbors, metric, search, context);
    }
    let k = n_neighbors.min(n.saturating_sub(1));
    let available = input.neighbors.map_or(usize::MAX, |graph| graph.min_degree().max(k)).min(n.saturating_sub(1));
    let mut wanted = Supervision::candidates(k).min(available);
    if k < n_neighbors {
        // The note of the unsupervised search.
        wanted = n_neighbors;
    }
    let candidates = neighbors(input, wanted, metric, search, context)?.graph;
    context.note(differences.note());
    Ok(Neighbors { graph: differences.apply(&candidates, k)?, exact: false, wider: None })
}

/// Returns the `n_neighbors` nearest neighbors of every row. If there are fewer points, the number is reduced with a note.
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
        return Ok(Neighbors { graph, exact: true, wider: None });
    }
    let found = context.stage(STAGE, |context| {
        let precomputed = match input.neighbors {
            Some(graph) => Some(truncate_precomputed(graph, n, k, metric, context)?),
            None => None,
        };
        if let Some(graph) = available_graph(precomputed, context)? {
            return Ok(Neighbors::precomputed(graph));
        }
        let mut params = NeighborParams { n_neighbors: k, metric, search, seed: context.seed.stream("neighbors") };
        // The nearest of more neighbors are the same only if they are found exactly.
        let more = NeighborParams { n_neighbors: input.reported_neighbors.min(n - 1), ..params };
        if more.n_neighbors > k && [&params, &more].iter().all(|params| is_exact(input.data.shape(), params)) {
            params = more;
        }
        let found = context.with_progress(|progress| nearest_with(input.data, &params, progress))?;
        if let Some(recall) = found.recall {
            context.note(Note::ApproximateNeighbors {
                algorithm: found.algorithm.to_string(),
                recall: recall.value,
                sampled_rows: recall.sampled_rows,
            });
        }
        let exact = found.recall.is_none();
        Ok(match params.n_neighbors > k {
            true => Neighbors { graph: found.graph.truncate(k), exact, wider: Some(found.graph) },
            false => Neighbors { graph: found.graph, exact, wider: None },
        })
    })?;
    check_rows(&found.graph, n)?;
    context.add_to_checkpoint(|archive| found.graph.save("graph", archive));
    Ok(found)
}

/// Returns the complete precomputed graph, whose values need not be distances.
pub(super) fn precomputed_graph(input: FitInput, context: &mut Context) -> Result<Neighbors> {
    let graph = context.stage(STAGE, |context| available_graph(input.neighbors.cloned(), context))?;
    let graph = graph.ok_or(Error::Format { what: "neighbor graph", reason: "it is missing".into() })?;
    check_rows(&graph, input.data.rows())?;
    context.add_to_checkpoint(|archive| graph.save("graph", archive));
    Ok(Neighbors::precomputed(graph))
}

/// Returns the graph of the checkpoint or the precomputed graph. If there are both, they must be equal.
fn available_graph(precomputed: Option<NeighborGraph>, context: &Context) -> Result<Option<NeighborGraph>> {
    let saved = context.checkpoint().map(|archive| NeighborGraph::load("graph", archive)).transpose()?;
    match (saved, precomputed) {
        (Some(saved), Some(precomputed)) if saved != precomputed => {
            let reason = "it was created with another neighbor graph; leave out the graph to continue with its own";
            Err(Error::Format { what: "checkpoint", reason: reason.into() })
        }
        (saved, precomputed) => Ok(saved.or(precomputed)),
    }
}

/// Returns the distances of the graph as a matrix. Components are joined at their closest pairs of points.
pub(super) fn connected_lengths(
    data: &Data,
    metric: Metric,
    graph: &NeighborGraph,
    context: &mut Context,
) -> Result<Csr> {
    let (lengths, components) = (edge_lengths(graph)?, ConnectedComponents::from_neighbors(graph));
    if components.count() < 2 {
        return Ok(lengths);
    }
    let joins = context.with_progress(|progress| join_components_with(data, metric, &components, progress))?;
    context.note(Note::ComponentsJoined { components: components.count() });
    add_edges(&lengths, &joins)
}

/// Returns whether all rows are equal. It is not enough that all neighbors are duplicates: there may be several groups.
pub(super) fn all_equal(data: &Data, metric: Metric, graph: &NeighborGraph, context: &mut Context) -> Result<bool> {
    if graph.distances().iter().any(|&distance| distance != 0.0) {
        return Ok(false);
    }
    let components = ConnectedComponents::from_neighbors(graph);
    let joins = context.with_progress(|progress| join_components_with(data, metric, &components, progress))?;
    Ok(joins.iter().all(|join| join.length == 0.0))
}

/// Checks a precomputed graph and reduces it to `k` neighbors per row, or to as many as every row has, with a note.
fn truncate_precomputed(
    graph: &NeighborGraph,
    n: usize,
    k: usize,
    metric: Metric,
    context: &mut Context,
) -> Result<NeighborGraph> {
    check_rows(graph, n)?;
    // Graphs of externally computed distances have metric `Precomputed`.
    if graph.metric() != metric && graph.metric() != Metric::Precomputed {
        return Err(Error::Parameter {
            name: "metric",
            value: metric.to_string(),
            allowed: format!(
                "the precomputed neighbor graph was made with {}: use this metric, or another graph",
                graph.metric()
            ),
        });
    }
    let used = k.min(graph.min_degree());
    if used == 0 {
        let isolated = (0..graph.rows()).find(|&i| graph.row(i).0.is_empty()).unwrap_or(0);
        return Err(Error::Format { what: "neighbor graph", reason: format!("row {isolated} has no neighbors") });
    }
    if used < k {
        context.note(Note::NeighborsOfGraph { requested: k, used });
    }
    Ok(graph.truncate(used))
}

fn check_rows(graph: &NeighborGraph, n: usize) -> Result<()> {
    let sizes =
        [("rows of the neighbor graph", graph.rows()), ("points that the neighbor graph refers to", graph.targets())];
    match sizes.into_iter().find(|&(_, found)| found != n) {
        None => Ok(()),
        Some((what, found)) => Err(Error::Shape { what, expected: n, found }),
    }
}

#[cfg(test)]
mod tests {
    use crate::fit::fit;
    use crate::methods::{Lvm, Spectral, Tsne, Umap};
    use crate::{Data, FitOptions, Seed};

    #[test]
    fn more_neighbors_are_reported_without_a_change_of_the_map() {
        let values = Seed(4).normals(300 * 4).into_iter().map(|v| v as f32).collect();
        let data = Data::dense(values, 4).unwrap();
        let methods: [Box<dyn crate::method::DynMethod>; 4] = [
            Box::new(Lvm { max_iter: 3, ..Lvm::default() }),
            Box::new(Umap::default()),
            Box::new(Spectral::default()),
            Box::new(Tsne { max_iter: 30, ..Tsne::default() }),
        ];
        for method in methods {
            let model = |reported_neighbors| {
                let options = FitOptions { reported_neighbors, ..FitOptions::default() };
                fit(method.clone_box(), &data, options).unwrap()
            };
            let [few, many] = [0, 120].map(model);
            assert_eq!(few.embedding(), many.embedding(), "{}", method.name());
            let [few, many] = [&few, &many].map(|model| model.neighbors().unwrap());
            assert_eq!(many.min_degree(), 120, "{}", method.name());
            assert_eq!(many.truncate(few.min_degree()), *few, "{}", method.name());
        }
    }
}
