//! Notes: information and warnings about a run.

use super::{RustTerms, SimilarityNote, Terms};
use crate::archive::Archive;
use crate::{Result, format_bytes};

/// Severity of a note.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoteLevel {
    /// Information: sizes, measured errors, automatic choices.
    Info,
    /// The result differs from the request: a parameter was adjusted, or a computation did not converge.
    Warning,
}

impl NoteLevel {
    /// Returns `info` or `warning`.
    pub fn name(self) -> &'static str {
        match self {
            NoteLevel::Info => "info",
            NoteLevel::Warning => "warning",
        }
    }
}

/// Why a measured error exceeds the tolerance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToleranceMiss {
    /// The accuracy schedule had not reached the tolerance when the iterations ended.
    ScheduleUnfinished,
    /// The engine cannot compute more accurately.
    EngineLimit,
    /// The engine sums a sample of the pairs, drawn anew along the iterations: the error of one sum is that of a sample.
    Sample,
}

/// Information or a warning about a run.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Note {
    /// Estimated memory of the run.
    MemoryEstimate {
        /// Number of bytes.
        bytes: u64,
    },
    /// Some rows are copies of earlier ones.
    DuplicateRows {
        /// Number of such rows.
        count: usize,
        /// Total number of rows.
        rows: usize,
    },
    /// Cells are missing, and the model infers them.
    MissingCells {
        /// Number of missing cells.
        cells: usize,
        /// Number of all cells.
        of: usize,
    },
    /// Standardization of sparse data scales the columns but does not center them.
    SparseNotCentered,
    /// The data has fewer columns than the requested number of principal components.
    FewerColumnsThanComponents {
        /// Number of columns, all of which are kept.
        columns: usize,
    },
    /// Columns whose differences are small against their values were rounded to single precision, since what follows depends on
    /// the origin.
    ColumnsRounded {
        /// The columns.
        columns: Vec<usize>,
        /// What depends on the origin.
        cause: String,
    },
    /// There are fewer points than requested neighbors.
    NeighborsReduced {
        /// Number of neighbors requested.
        requested: usize,
        /// Number of neighbors used.
        used: usize,
        /// Number of points.
        points: usize,
    },
    /// The precomputed neighbor graph has fewer neighbors than requested.
    NeighborsOfGraph {
        /// Number of neighbors requested.
        requested: usize,
        /// Number of neighbors used.
        used: usize,
    },
    /// The neighbor graph was changed by a target.
    Supervised {
        /// Number of rows whose target is known.
        known: usize,
        /// Number of rows.
        rows: usize,
        /// Number of classes, if the target is one.
        classes: Option<usize>,
    },
    /// There are fewer rows than landmarks.
    LandmarksReduced {
        /// Number of landmarks requested.
        requested: usize,
        /// Number of rows, all of which are fitted.
        rows: usize,
    },
    /// Fewer threads were started than requested.
    ThreadsLimited {
        /// Number of threads requested.
        requested: usize,
        /// Number of threads used.
        used: usize,
    },
    /// The share of the variance that each principal component explains.
    ExplainedVariance {
        /// Share of each component, in descending order.
        ratios: Vec<f64>,
    },
    /// The neighbor search was approximate.
    ApproximateNeighbors {
        /// Name of the algorithm.
        algorithm: String,
        /// Fraction of the true neighbors that were found.
        recall: f64,
        /// Number of rows on which the recall was measured.
        sampled_rows: usize,
    },
    /// The neighbor graph was not connected; its components were joined.
    ComponentsJoined {
        /// Number of components before joining.
        components: usize,
    },
    /// Only the largest component was fitted.
    LargestComponentFitted {
        /// Number of components of the graph.
        components: usize,
        /// Rows of the other components, which were transformed afterwards.
        other_rows: Vec<usize>,
    },
    /// The neighbor graph is not connected, and some coordinates only separate its components.
    ComponentsInCoordinates {
        /// Number of components of the graph.
        components: usize,
        /// Number of coordinates that are constant on each component.
        constant: usize,
        /// Total number of coordinates.
        n_components: usize,
    },
    /// The perplexity was larger than the neighbors allow.
    PerplexityReduced {
        /// The largest perplexity used.
        perplexity: f64,
        /// Number of neighbors of each point.
        neighbors: usize,
    },
    /// The exaggeration of t-SNE was chosen by the number of rows.
    ExaggerationChosen {
        /// The factor of the attraction.
        exaggeration: f64,
    },
    /// How well the map preserves density.
    DensityCorrelation {
        /// Correlation of the logarithms of the local radii in the data and on the map.
        correlation: f64,
    },
    /// More samples per point were requested than there are other points.
    SamplesReduced {
        /// Number of samples requested.
        requested: f64,
        /// Number of samples used.
        used: usize,
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
    /// Some coordinates are zero because the data has fewer dimensions.
    ZeroCoordinates {
        /// Number of coordinates that are zero.
        zero: usize,
        /// Number of coordinates requested.
        requested: usize,
        /// Why they are zero.
        reason: String,
    },
    /// An iterative computation ended before it converged.
    Approximate {
        /// What is approximate, as a plural noun.
        what: &'static str,
        /// Number of iterations, if known.
        iterations: Option<usize>,
        /// Largest residual, if measured.
        residual: Option<f64>,
    },
    /// The measured error of the repulsive forces.
    RepulsionError {
        /// Name of the engine.
        engine: String,
        /// Relative error.
        error: f64,
        /// Certified bound of the same error; infinite if it exceeds the force.
        certified: Option<f64>,
        /// Why the error exceeds the tolerance; `None` if it does not.
        missed: Option<ToleranceMiss>,
    },
    /// Curvature of the objective at the embedding, and what the error of the repulsion does to its value.
    PredictedNoise {
        /// Trace of the Hessian divided by the number of coordinates.
        mean_curvature: f64,
        /// Standard deviation of the error of each coordinate that an inexact step leaves.
        deviation: f64,
        /// Expected change of the objective relative to its value.
        relative_change: f64,
        /// Standard deviation of the change relative to the value.
        relative_deviation: f64,
        /// Bound of the absolute expected change relative to the value, where the curvature has a bound.
        relative_bound: Option<f64>,
    },
    /// The iterations ended while the objective was still modified.
    ObjectiveModified {
        /// How it was modified, for example "attraction was exaggerated".
        reason: String,
    },
    /// All points ended at nearly the same position.
    EmbeddingCollapsed {
        /// Number of neighbors used.
        n_neighbors: usize,
    },
    /// All points ended at one place.
    PointsCoincide,
    /// The posterior collapsed onto a point.
    PosteriorCollapsed {
        /// Precision of the prior at which it collapsed.
        alpha: f64,
    },
    /// The noise of the model is at its lower limit: the rows repeat, or lie in clusters far apart.
    NoiseAtLimit,
    /// Lower bounds of several random starts.
    StartBounds(Vec<f64>),
    /// Relevance of each dimension: the inverse squared length scale.
    Relevance(Vec<f64>),
    /// Negative eigenvalues of a Gram matrix of distances that no embedding has exactly.
    NegativeEigenvalues {
        /// Number of negative eigenvalues that are at least as large, in magnitude, as the smallest of a coordinate.
        count: usize,
        /// Whether there may be more of them.
        more: bool,
        /// Their sum, as a fraction of the sum of the magnitudes of these and of those of the coordinates.
        share: f64,
        /// The most negative eigenvalue, as a fraction of the largest.
        most_negative: f64,
        /// Number of coordinates whose eigenvalue is larger than the magnitude of the most negative one.
        supported: usize,
        /// Number of coordinates.
        n_components: usize,
    },
    /// Some rows are not connected to any landmark, so that their positions are arbitrary.
    NotConnectedToLandmarks {
        /// The rows.
        rows: Vec<usize>,
    },
    /// A note of thresholded similarity matching.
    Similarity(SimilarityNote),
    /// Parts of the run were computed on a graphics card.
    DeviceUsed {
        /// Number and name of the card.
        device: String,
        /// What was computed there.
        work: Vec<&'static str>,
    },
    /// A graphics card was asked for, and nothing was computed there.
    DeviceUnused {
        /// The card.
        device: String,
    },
    /// A graphics card failed, and what it was to compute was computed on the processor.
    DeviceFailed {
        /// The error.
        reason: String,
    },
    /// A note of an earlier run, from a model file.
    Recorded {
        /// Severity of the note.
        level: NoteLevel,
        /// What [`Note::kind`] returned.
        kind: String,
        /// Its text.
        text: String,
    },
    /// Other information.
    Info(String),
    /// Other warning.
    Warning(String),
}

/// Maximum number of rows listed by a note.
const MAX_LISTED_ROWS: usize = 20;

impl Note {
    /// Returns the severity of the note.
    pub fn level(&self) -> NoteLevel {
        match self {
            Note::MemoryEstimate { .. }
            | Note::DuplicateRows { .. }
            | Note::MissingCells { .. }
            | Note::ApproximateNeighbors { .. }
            | Note::Supervised { .. }
            | Note::ExplainedVariance { .. }
            | Note::StartBounds(_)
            | Note::Relevance(_)
            | Note::NegativeEigenvalues { count: 0, .. }
            | Note::RepulsionError { missed: None | Some(ToleranceMiss::Sample), .. }
            | Note::PredictedNoise { .. }
            | Note::ExaggerationChosen { .. }
            | Note::DensityCorrelation { .. }
            | Note::DeviceUsed { .. }
            | Note::Info(_) => NoteLevel::Info,
            Note::Similarity(note) => note.level(),
            Note::Recorded { level, .. } => *level,
            _ => NoteLevel::Warning,
        }
    }

    /// Returns the kind of the note in one word, by which programs can distinguish notes.
    pub fn kind(&self) -> &str {
        match self {
            Note::MemoryEstimate { .. } => "memory_estimate",
            Note::DuplicateRows { .. } => "duplicate_rows",
            Note::MissingCells { .. } => "missing_cells",
            Note::SparseNotCentered => "sparse_not_centered",
            Note::FewerColumnsThanComponents { .. } => "fewer_columns_than_components",
            Note::ColumnsRounded { .. } => "columns_rounded",
            Note::NeighborsReduced { .. } | Note::NeighborsOfGraph { .. } => "neighbors_reduced",
            Note::LandmarksReduced { .. } => "landmarks_reduced",
            Note::Supervised { .. } => "supervised",
            Note::ThreadsLimited { .. } => "threads_limited",
            Note::ExplainedVariance { .. } => "explained_variance",
            Note::ApproximateNeighbors { .. } => "approximate_neighbors",
            Note::ComponentsJoined { .. } => "components_joined",
            Note::LargestComponentFitted { .. } => "largest_component_fitted",
            Note::ComponentsInCoordinates { .. } => "components_in_coordinates",
            Note::PerplexityReduced { .. } => "perplexity_reduced",
            Note::ExaggerationChosen { .. } => "exaggeration_chosen",
            Note::DensityCorrelation { .. } => "density_correlation",
            Note::SamplesReduced { .. } => "samples_reduced",
            Note::AllRowsEqual => "all_rows_equal",
            Note::AllRowsZero => "all_rows_zero",
            Note::SingleRow => "single_row",
            Note::SpectralInitFailed { .. } => "spectral_init_failed",
            Note::ZeroCoordinates { .. } => "zero_coordinates",
            Note::Approximate { .. } => "approximate",
            Note::RepulsionError { .. } => "repulsion_error",
            Note::PredictedNoise { .. } => "predicted_noise",
            Note::ObjectiveModified { .. } => "objective_modified",
            Note::EmbeddingCollapsed { .. } => "embedding_collapsed",
            Note::PointsCoincide => "points_coincide",
            Note::PosteriorCollapsed { .. } => "posterior_collapsed",
            Note::NoiseAtLimit => "noise_at_limit",
            Note::StartBounds(_) => "start_bounds",
            Note::Relevance(_) => "relevance",
            Note::NegativeEigenvalues { .. } => "negative_eigenvalues",
            Note::NotConnectedToLandmarks { .. } => "not_connected_to_landmarks",
            Note::Similarity(_) => "similarity",
            Note::DeviceUsed { .. } => "device_used",
            Note::DeviceUnused { .. } => "device_unused",
            Note::DeviceFailed { .. } => "device_failed",
            Note::Recorded { kind, .. } => kind,
            Note::Info(_) | Note::Warning(_) => "other",
        }
    }

    /// Whether the note is about the run and not about its result: about the machine, or about the neighbor search, which a
    /// resumed run does not repeat.
    fn is_about_run(&self) -> bool {
        matches!(
            self,
            Note::MemoryEstimate { .. }
                | Note::ThreadsLimited { .. }
                | Note::ApproximateNeighbors { .. }
                | Note::DeviceUsed { .. }
                | Note::DeviceUnused { .. }
                | Note::DeviceFailed { .. }
        )
    }

    /// Writes notes to an archive as the entry `name`, except those about the run, so that the same result has the same bytes:
    /// their number, then level, kind and text of each.
    pub fn save_all(notes: &[Note], name: &str, archive: &mut Archive) {
        let kept = notes.iter().filter(|note| !note.is_about_run());
        let record = |note: &Note| [note.level().name().into(), note.kind().into(), note.describe(&RustTerms)];
        let mut texts: Vec<String> = vec![kept.clone().count().to_string()];
        texts.extend(kept.flat_map(record));
        archive.put(name, texts);
    }

    /// Reads notes that were saved as the entry `name`; there are none in files of earlier versions.
    pub fn load_all(name: &str, archive: &Archive) -> Result<Vec<Note>> {
        if archive.version() < 3 {
            return Ok(Vec::new());
        }
        let texts = archive.texts(name)?;
        let records = texts.get(1..).unwrap_or_default();
        if !records.len().is_multiple_of(3) || texts.first() != Some(&(records.len() / 3).to_string()) {
            return Err(archive.invalid(format!("the size of '{name}' is not that of its notes")));
        }
        let note = |record: &[String]| Note::Recorded {
            level: if record[0] == NoteLevel::Info.name() { NoteLevel::Info } else { NoteLevel::Warning },
            kind: record[1].clone(),
            text: record[2].clone(),
        };
        Ok(records.chunks_exact(3).map(note).collect())
    }

    /// Returns the note in the terms of an interface.
    pub fn describe(&self, terms: &dyn Terms) -> String {
        let join = |values: &[f64], digits: usize| {
            values.iter().map(|value| format!("{value:.digits$}")).collect::<Vec<_>>().join(", ")
        };
        match self {
            Note::MemoryEstimate { bytes: count } => format!("memory: about {}", format_bytes(*count)),
            Note::DuplicateRows { count, rows } => {
                format!("{count} of {rows} rows repeat an earlier row; they are kept")
            }
            Note::MissingCells { cells, of } => {
                format!("{cells} of {of} cells are missing; the model infers them with the rest")
            }
            Note::SparseNotCentered => {
                format!(
                    "{}: the data is sparse, so columns are scaled but not centered",
                    terms.parameter("standardize")
                )
            }
            Note::FewerColumnsThanComponents { columns } => {
                format!("{}: the data has only {columns} columns; all directions are kept", terms.parameter("pca"))
            }
            Note::ColumnsRounded { columns, cause } => format!(
                "the differences in {} {} are small against the values and are lost in part in single precision, since {cause} \
                 depends on the origin: subtract a constant from such columns, or use {}",
                if columns.len() == 1 { "column" } else { "columns" },
                list_rows(columns),
                terms.setting("standardize", &"true")
            ),
            Note::NeighborsReduced { requested, used, points } => {
                let name = terms.parameter("n_neighbors");
                format!("{name} reduced from {requested} to {used}: there are only {points} points")
            }
            Note::NeighborsOfGraph { requested, used } => {
                let name = terms.parameter("n_neighbors");
                format!(
                    "{name} reduced from {requested} to {used}: the precomputed neighbor graph has no more for every row"
                )
            }
            Note::Supervised { known, rows, classes } => {
                let what = classes.map_or("a number".into(), |count| format!("one of {count} classes"));
                format!(
                    "supervised: the neighbors were chosen with {what} for {known} of {rows} rows; the map shows what it was told, \
                     so that its gaps between classes are no evidence"
                )
            }
            Note::LandmarksReduced { requested, rows } => {
                format!("{}: there are only {rows} rows, and all are fitted", terms.setting("landmarks", requested))
            }
            Note::ThreadsLimited { requested, used } => format!(
                "{used} threads instead of {requested}: more than a few per core only take memory, and results do not depend \
                 on their number"
            ),
            Note::ExplainedVariance { ratios } => {
                let percent: Vec<f64> = ratios.iter().take(MAX_LISTED_ROWS).map(|ratio| 100.0 * ratio).collect();
                let more = if ratios.len() > MAX_LISTED_ROWS { ", ..." } else { "" };
                format!(
                    "explained variance: {:.1} % in all ({}{more} %)",
                    100.0 * ratios.iter().sum::<f64>(),
                    join(&percent, 1)
                )
            }
            Note::ApproximateNeighbors { algorithm, recall, sampled_rows } => {
                format!("neighbors by {algorithm}: recall {recall:.4}, measured on {sampled_rows} rows")
            }
            Note::ComponentsJoined { components } => {
                format!("the neighbor graph has {components} components; they were joined at their closest points")
            }
            Note::LargestComponentFitted { components, other_rows } => {
                format!(
                    "the neighbor graph has {components} components; the largest was fitted, and {} rows were \
                     transformed afterwards: {}",
                    other_rows.len(),
                    list_rows(other_rows)
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
            Note::ExaggerationChosen { exaggeration } => {
                let (chosen, plain) = (terms.setting("exaggeration", exaggeration), terms.setting("exaggeration", &1));
                format!("{chosen}, with which clusters of so many rows can be seen; {plain} keeps more neighbors")
            }
            Note::DensityCorrelation { correlation } => {
                format!("local radii in the data and on the map have a correlation of {correlation:.3}")
            }
            Note::SamplesReduced { requested, used } => {
                let name = terms.parameter("samples");
                format!("{name}: {used} draws per point instead of {requested:.4}, one for each of the other points")
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
                let certified = match certified {
                    None => String::new(),
                    Some(bound) if *bound < 1.0 => format!("; certified to be at most {bound:.1e}"),
                    Some(_) => {
                        format!("; the certified bound exceeds the force: lower {}", terms.parameter("tolerance"))
                    }
                };
                let missed = match missed {
                    None => String::new(),
                    Some(ToleranceMiss::ScheduleUnfinished) => format!(
                        "; the schedule had not reached the tolerance by the last iteration: raise {} or use {}",
                        terms.parameter("max_iter"),
                        terms.setting("accuracy", &"fixed")
                    ),
                    Some(ToleranceMiss::Sample) => format!(
                        " in one sample; the iterations draw it anew. For all pairs use {}",
                        terms.setting("engine", &"exact")
                    ),
                    Some(ToleranceMiss::EngineLimit) => {
                        format!("; this engine cannot reach the tolerance: use {}", terms.setting("engine", &"exact"))
                    }
                };
                format!("repulsion by {engine}: relative error {error:.1e} of the force, measured{certified}{missed}")
            }
            Note::PredictedNoise { mean_curvature, deviation, relative_change, .. } => format!(
                "mean curvature {mean_curvature:.1e}: the error of the repulsion moves coordinates by about {deviation:.1e} \
                 a step, which changes the objective by {relative_change:+.1e} of its value (predicted)"
            ),
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
            Note::PointsCoincide => {
                "all points of the embedding are at one place: the attraction outweighs the repulsion everywhere".into()
            }
            Note::PosteriorCollapsed { alpha } => format!(
                "the embedding collapsed onto a point (alpha {alpha:.3e}); fix it, for instance with {}",
                terms.setting("alpha", &"1e-3")
            ),
            Note::NoiseAtLimit => {
                "the noise is at its lower limit, since the rows repeat or lie in clusters that are far apart; the \
                embedding shows hardly more than that: remove repeated rows, or embed each cluster on its own"
                    .into()
            }
            Note::StartBounds(bounds) => format!("lower bounds of the starts: {}", join(bounds, 2)),
            Note::Relevance(weights) => {
                format!("relevance of each dimension (inverse squared length scale): {}", join(weights, 3))
            }
            Note::NegativeEigenvalues { count, more, share, most_negative, supported, n_components } => {
                let most = format!("the most negative eigenvalue is {:.2} % of the largest", 100.0 * most_negative);
                if *count == 0 {
                    return format!(
                        "the distances are not those of points in a Euclidean space: {most}, and smaller than those of the {n_components} \
                         coordinates"
                    );
                }
                let least = if *more { "at least " } else { "" };
                let advice = match supported {
                    0 => "no number of dimensions keeps them".into(),
                    _ => format!("use {}", terms.setting("n_components", supported)),
                };
                format!(
                    "the distances are not those of points in a Euclidean space: {least}{count} negative eigenvalues are as large as those of the \
                     {n_components} coordinates ({:.2} % of the sum of their magnitudes; {most}); {advice}",
                    100.0 * share
                )
            }
            Note::NotConnectedToLandmarks { rows } => format!(
                "{} rows are not connected to any landmark by their neighbors, so that their positions are arbitrary; raise {}: {}",
                rows.len(),
                terms.parameter("landmarks"),
                list_rows(rows)
            ),
            Note::Similarity(note) => note.describe(terms),
            Note::DeviceUsed { device, work } => format!("computed on {device}: {}", work.join(", ")),
            Note::DeviceUnused { device } => {
                format!("computed on the processor: nothing of this can be computed on {device}, or it was too little")
            }
            Note::DeviceFailed { reason } => format!("computed on the processor, because a card failed: {reason}"),
            Note::Recorded { text, .. } | Note::Info(text) | Note::Warning(text) => text.clone(),
        }
    }
}

/// The first rows of a list, and an ellipsis if there are more.
fn list_rows(rows: &[usize]) -> String {
    let listed: Vec<String> = rows.iter().take(MAX_LISTED_ROWS).map(usize::to_string).collect();
    listed.join(", ") + if rows.len() > MAX_LISTED_ROWS { ", ..." } else { "" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adjusted_parameters_are_warnings() {
        assert_eq!(Note::PerplexityReduced { perplexity: 5.0, neighbors: 15 }.level(), NoteLevel::Warning);
        assert_eq!(Note::MemoryEstimate { bytes: 1 }.level(), NoteLevel::Info);
    }

    #[test]
    fn notes_keep_level_kind_and_text_in_an_archive() {
        let notes = [Note::PerplexityReduced { perplexity: 5.0, neighbors: 15 }, Note::Info("a".into())];
        let mut archive = Archive::new(crate::archive::ArchiveKind::Model);
        Note::save_all(&notes, "notes", &mut archive);
        let loaded = Note::load_all("notes", &archive).unwrap();
        for (note, loaded) in notes.iter().zip(&loaded) {
            assert_eq!((note.level(), note.kind()), (loaded.level(), loaded.kind()));
            assert_eq!(note.describe(&RustTerms), loaded.describe(&RustTerms));
        }
        assert!(Note::load_all("other", &archive).is_err());
        Note::save_all(&[Note::MemoryEstimate { bytes: 1 }], "notes", &mut archive);
        assert_eq!(Note::load_all("notes", &archive).unwrap(), [], "this differs from machine to machine");
    }

    #[test]
    fn long_lists_of_rows_are_truncated() {
        let note = Note::LargestComponentFitted { components: 2, other_rows: (0..30).collect() };
        let text = note.describe(&RustTerms);
        assert!(text.contains("30 rows") && text.ends_with("18, 19, ..."), "{text}");
    }
}
