//! Scores of a map that was just made.

use std::str::FromStr;

use lowland::methods::Method;
use lowland::neighbors::NeighborGraph;
use lowland::quality::{self, PrecomputedGraphs, QualityParams, QualityReport};
use lowland::{Data, Error, Metric, Points};
use lowland_io::Table;

use crate::args::RunArgs;
use crate::observer::Console;

/// A parameter of a method, where it has it.
pub fn parameter<T: FromStr>(method: &dyn Method, name: &str) -> Option<T> {
    method.values().iter().find(|(known, _)| *known == name).and_then(|(_, text)| text.parse().ok())
}

/// The metric of a method, where it has one.
pub fn metric_of(method: &dyn Method) -> Option<Metric> {
    parameter(method, "metric")
}

/// Scores against the data as the method saw them. `known` holds every true neighbour: a graph that may miss some would
/// flatter the map that was made from it. A stop or an error costs nothing but the scores.
pub fn score(
    data: &Data,
    map: Points,
    table: &Table,
    metric: Metric,
    known: Option<&NeighborGraph>,
    run: &RunArgs,
    console: &mut Console,
) -> Option<QualityReport> {
    let usual = QualityParams::default();
    // Few points have small neighbourhoods: most scores need k below half of the points.
    let n_neighbors = usual.n_neighbors.min((data.rows().saturating_sub(1) / 2).max(1));
    let params = QualityParams { n_neighbors, metric, seed: run.seed(), ..usual };
    let labels = table.labels.as_ref().map(|labels| labels.codes.as_slice());
    let known = PrecomputedGraphs { data: known, map: None };
    let scored =
        console.progress("scores", |progress| quality::report_with(data, map, labels, known, &params, progress));
    match scored {
        Ok(report) => return Some(report),
        Err(Error::Stopped { .. }) => console.note("stopped while scoring; the map is kept, the scores are left out"),
        Err(error) => console.note(&format!("warning: the scores are left out: {error}")),
    }
    None
}
