//! Scores of a map that was just computed.

use lowland::message::Remedy;
use lowland::neighbors::NeighborGraph;
use lowland::quality::{self, PrecomputedGraphs, QualityParams, QualityReport, ScoredRows};
use lowland::{AnnotatedEmbedding, Data, Error, Metric};

use crate::args::RunArgs;
use crate::console::Console;
use crate::terms::FlagTerms;

/// Scores a map against the data that the method was fitted to. `exact_graph` must have all true neighbors: a graph that
/// misses some would favor the map that was computed from it. A stop or an error only omits the scores.
pub fn score(
    data: &Data,
    map: &AnnotatedEmbedding,
    metric: Metric,
    exact_graph: Option<&NeighborGraph>,
    rows: ScoredRows,
    run: &RunArgs,
    console: &mut Console,
) -> Option<QualityReport> {
    let default = QualityParams::default();
    // Most scores need k below half the number of points.
    let n_neighbors = default.n_neighbors.min((data.rows().saturating_sub(1) / 2).max(1));
    let params = QualityParams { n_neighbors, metric, rows, seed: run.seed(), ..default };
    let labels = map.labels.as_ref().map(|labels| labels.codes.as_slice());
    let needed = quality::memory(data.shape(), map.points().dim(), exact_graph, &params);
    let remedies = [Remedy::RaiseMaxMemory, Remedy::FewerRows];
    if let Err(error) = run.memory().check("scoring", needed.saturating_add(data.shape().bytes), &remedies) {
        console.warn(&format!("the scores are omitted: {}", error.describe(&FlagTerms)));
        return None;
    }
    let known = PrecomputedGraphs { data: exact_graph, map: None };
    let scored = console
        .run_stage("scores", |progress| quality::report_with(data, map.points(), labels, known, &params, progress));
    match scored {
        Ok(report) => return Some(report),
        Err(Error::Stopped { .. }) => console.info("stopped while scoring; the map is kept, the scores are omitted"),
        Err(error) => console.warn(&format!("the scores are omitted: {}", error.describe(&FlagTerms))),
    }
    None
}
