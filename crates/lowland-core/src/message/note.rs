//! What is worth knowing about a run, as values.

use super::Terms;
use crate::format_bytes;

/// How much a note matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoteLevel {
    /// Information: sizes, measured errors, choices made as asked.
    Info,
    /// The result is not quite what was asked for: a parameter was adjusted, or a computation did not finish.
    Warning,
}

/// Why a measured error is above the tolerance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToleranceMiss {
    /// The accuracy schedule had not reached the tolerance when the iterations ended.
    ScheduleUnfinished,
    /// The engine cannot compute more accurately.
    EngineLimit,
}

/// Something worth knowing about a run.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Note {
    /// Estimated memory of the whole run.
    MemoryEstimate {
        /// Bytes.
        bytes: u64,
    },
    /// Some rows are copies of earlier ones.
    DuplicateRows {
        /// How many.
        count: usize,
        /// Rows in all.
        rows: usize,
    },
    /// Standardization of sparse data scales the columns but does not center them.
    SparseNotCentered,
    /// The data have fewer columns than the principal components asked for.
    FewerColumnsThanComponents {
        /// Columns, all of which are kept.
        columns: usize,
    },
    /// There are fewer points than neighbors asked for.
    NeighborsReduced {
        /// Neighbors asked for.
        requested: usize,
        /// Neighbors used.
        used: usize,
        /// Points there are.
        points: usize,
    },
    /// The neighbor search was approximate.
    ApproximateNeighbors {
        /// Name of the algorithm.
        algorithm: String,
        /// Share of the true neighbors that it found.
        recall: f64,
        /// Rows on which the recall was measured.
        sampled_rows: usize,
    },
    /// The neighbor graph was not connected; its components were joined.
    ComponentsJoined {
        /// Components before joining.
        components: usize,
    },
    /// Only the largest component was fitted.
    LargestComponentFitted {
        /// Components of the graph.
        components: usize,
        /// Rows outside the largest one, which were placed afterwards.
        other_rows: Vec<usize>,
    },
    /// The neighbor graph is not connected, and some coordinates only separate its components.
    ComponentsInCoordinates {
        /// Components of the graph.
        components: usize,
        /// Coordinates that are constant on each component.
        constant: usize,
        /// Coordinates in all.
        n_components: usize,
    },
    /// The perplexity was larger than the neighbors allow.
    PerplexityReduced {
        /// The largest perplexity used.
        perplexity: f64,
        /// Neighbors of each point.
        neighbors: usize,
    },
    /// All rows are equal.
    AllRowsEqual,
    /// All rows are zero.
    AllRowsZero,
    /// There is only one row.
    SingleRow,
    /// The spectral initialization failed and a random one was used.
    SpectralInitFailed {
        /// Why it failed.
        reason: String,
    },
    /// Some coordinates are zero because the data do not have as many.
    ZeroCoordinates {
        /// Coordinates that are zero.
        zero: usize,
        /// Coordinates asked for.
        requested: usize,
        /// Why.
        reason: String,
    },
    /// An iterative computation ended before it converged.
    Approximate {
        /// What is approximate, in the plural.
        what: &'static str,
        /// Iterations made, where they are counted.
        iterations: Option<usize>,
        /// The largest residual, where it is measured.
        residual: Option<f64>,
    },
    /// The measured error of the repulsive forces.
    RepulsionError {
        /// Name of the engine.
        engine: String,
        /// Relative error.
        error: f64,
        /// A certified bound on the potential, per point.
        certified: Option<f64>,
        /// Why the error is above the tolerance, if it is.
        missed: Option<ToleranceMiss>,
    },
    /// The iterations ended while the objective was still modified.
    ObjectiveModified {
        /// How: "attraction was exaggerated", for instance.
        reason: String,
    },
    /// All points ended at nearly the same position.
    EmbeddingCollapsed {
        /// Neighbors that were used.
        n_neighbors: usize,
    },
    /// The posterior collapsed onto a point.
    PosteriorCollapsed {
        /// The scale at which it did.
        alpha: f64,
    },
    /// Lower bounds of several random starts.
    StartBounds(Vec<f64>),
    /// Relevance of each dimension: the inverse squared length scale.
    Relevance(Vec<f64>),
    /// Any other information.
    Info(String),
    /// Any other warning.
    Warning(String),
}

/// Rows listed by a note, at most.
const LISTED: usize = 20;

impl Note {
    /// How much the note matters.
    pub fn level(&self) -> NoteLevel {
        match self {
            Note::MemoryEstimate { .. }
            | Note::DuplicateRows { .. }
            | Note::ApproximateNeighbors { .. }
            | Note::StartBounds(_)
            | Note::Relevance(_)
            | Note::RepulsionError { missed: None, .. }
            | Note::Info(_) => NoteLevel::Info,
            _ => NoteLevel::Warning,
        }
    }

    /// The note in the words of an interface.
    pub fn describe(&self, terms: &dyn Terms) -> String {
        let join = |values: &[f64], digits: usize| {
            values.iter().map(|value| format!("{value:.digits$}")).collect::<Vec<_>>().join(", ")
        };
        match self {
            Note::MemoryEstimate { bytes: count } => format!("memory: about {}", format_bytes(*count)),
            Note::DuplicateRows { count, rows } => {
                format!("{count} of {rows} rows repeat an earlier row; they are kept")
            }
            Note::SparseNotCentered => {
                format!(
                    "{}: the data are sparse, so columns are scaled but not centered",
                    terms.parameter("standardize")
                )
            }
            Note::FewerColumnsThanComponents { columns } => {
                format!("{}: the data have only {columns} columns; all directions are kept", terms.parameter("pca"))
            }
            Note::NeighborsReduced { requested, used, points } => {
                let name = terms.parameter("n_neighbors");
                format!("{name} reduced from {requested} to {used}: there are only {points} points")
            }
            Note::ApproximateNeighbors { algorithm, recall, sampled_rows } => {
                format!("neighbors by {algorithm}: recall {recall:.4}, measured on {sampled_rows} rows")
            }
            Note::ComponentsJoined { components } => {
                format!("the neighbor graph has {components} components; they were joined at their closest points")
            }
            Note::LargestComponentFitted { components, other_rows } => {
                let listed: Vec<String> = other_rows.iter().take(LISTED).map(usize::to_string).collect();
                let more = if other_rows.len() > LISTED { ", ..." } else { "" };
                format!(
                    "the neighbor graph has {components} components; the largest was fitted, and {} rows were placed \
                     afterwards: {}{more}",
                    other_rows.len(),
                    listed.join(", ")
                )
            }
            Note::ComponentsInCoordinates { components, constant, n_components } => format!(
                "the neighbor graph has {components} components, and {constant} of {n_components} coordinates only \
                 separate them: raise {}, or use a method that joins components, such as lvm or isomap",
                terms.parameter("n_neighbors")
            ),
            Note::PerplexityReduced { perplexity, neighbors } => {
                let name = terms.parameter("perplexity");
                format!("{name} reduced to {perplexity:.4}: each point has {neighbors} neighbors")
            }
            Note::AllRowsEqual => "all rows are equal: they share one position".into(),
            Note::AllRowsZero => "all rows are zero: they share one position".into(),
            Note::SingleRow => "there is one row: its position is the origin".into(),
            Note::SpectralInitFailed { reason } => {
                format!("the spectral initialization failed ({reason}); a random one is used")
            }
            Note::ZeroCoordinates { zero, requested, reason } => {
                format!("{zero} of {requested} coordinates are zero: {reason}")
            }
            Note::Approximate { what, iterations, residual } => {
                let after = iterations.map_or(String::new(), |count| format!(" after {count} iterations"));
                let residual = residual.map_or(String::new(), |residual| format!(": residual {residual:.1e}"));
                format!("{what}{after} are approximate{residual}")
            }
            Note::RepulsionError { engine, error, certified, missed } => {
                let certified = certified
                    .map_or(String::new(), |bound| format!("; certified within {bound:.1e} n of the potential"));
                let missed = match missed {
                    None => String::new(),
                    Some(ToleranceMiss::ScheduleUnfinished) => format!(
                        "; the schedule had not reached the tolerance by the last iteration: raise {} or use {}",
                        terms.parameter("max_iter"),
                        terms.setting("accuracy", &"fixed")
                    ),
                    Some(ToleranceMiss::EngineLimit) => {
                        format!("; this engine cannot reach the tolerance: use {}", terms.setting("engine", &"exact"))
                    }
                };
                format!("repulsion by {engine}: relative error {error:.1e} of the force, measured{certified}{missed}")
            }
            Note::ObjectiveModified { reason } => {
                format!("the iterations ended while {reason}: the embedding does not minimize the objective itself")
            }
            Note::EmbeddingCollapsed { n_neighbors } => format!(
                "all points collapsed: neighborhoods of {n_neighbors} do not distinguish them; lower {}, change {}, \
                 or raise {}",
                terms.parameter("n_neighbors"),
                terms.parameter("metric"),
                terms.parameter("max_iter")
            ),
            Note::PosteriorCollapsed { alpha } => format!(
                "the embedding collapsed onto a point (alpha {alpha:.3e}); fix it, for instance with {}",
                terms.setting("alpha", &"1e-3")
            ),
            Note::StartBounds(bounds) => format!("lower bounds of the starts: {}", join(bounds, 2)),
            Note::Relevance(weights) => {
                format!("relevance of each dimension (inverse squared length scale): {}", join(weights, 3))
            }
            Note::Info(text) | Note::Warning(text) => text.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::RustTerms;
    use super::*;

    #[test]
    fn adjusted_parameters_are_warnings() {
        assert_eq!(Note::PerplexityReduced { perplexity: 5.0, neighbors: 15 }.level(), NoteLevel::Warning);
        assert_eq!(Note::MemoryEstimate { bytes: 1 }.level(), NoteLevel::Info);
    }

    #[test]
    fn long_lists_of_rows_are_cut() {
        let note = Note::LargestComponentFitted { components: 2, other_rows: (0..30).collect() };
        let text = note.describe(&RustTerms);
        assert!(text.contains("30 rows") && text.ends_with("18, 19, ..."), "{text}");
    }
}
