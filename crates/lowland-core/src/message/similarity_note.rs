//! Notes of thresholded similarity matching.

use super::{NoteLevel, Terms};
use crate::format_bytes;

/// How matrices of all pairs are stored, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PairMatrixStorage {
    /// In tiles.
    Tiles,
    /// As factors, as requested.
    Factors,
    /// As factors, because there are many rows.
    FactorsForManyRows,
    /// As factors, because tiles would not fit into memory.
    FactorsForMemory,
}

/// Information or a warning about thresholded similarity matching.
#[derive(Debug, Clone, PartialEq)]
pub enum SimilarityNote {
    /// The next notes are about this layer.
    Layer {
        /// Number of the layer, from 1.
        layer: usize,
        /// Number of layers.
        layers: usize,
        /// Number of dimensions of its output.
        n_components: usize,
    },
    /// The angles between rows, from which the threshold was chosen.
    AngleHistogram {
        /// The requested fraction of similar pairs.
        density: f64,
        /// The histogram as lines of text.
        histogram: String,
    },
    /// Similar rows, before virtual rows were added.
    SimilarRows {
        /// The threshold of the cosine.
        tau: f64,
        /// Similar rows per row: median, mean and maximum.
        neighbors: [f64; 3],
        /// Fraction of all pairs, including a row with itself, that are not similar.
        dissimilar: f64,
        /// Number of rows with one similar row.
        single: usize,
        /// Number of rows without a similar row.
        isolated: usize,
        /// Number of virtual rows that connect isolated rows to their nearest rows.
        virtual_rows: usize,
        /// Number of isolated rows for which no virtual rows were added.
        unconnected: usize,
        /// Maximum number of virtual rows for an isolated row.
        max_virtual_rows: usize,
        /// Number of zero rows.
        zero_rows: usize,
    },
    /// Storage of the matrices of all pairs.
    PairMatrices {
        /// How they are stored.
        storage: PairMatrixStorage,
        /// Bytes of the run with tiles.
        tile_bytes: u64,
    },
    /// The Gram matrix has negative eigenvalues, which were dropped.
    NegativeEigenvalues {
        /// The most negative eigenvalue, as a fraction of the largest.
        share: f64,
        /// Number of coordinates of the embedding.
        n_components: usize,
        /// Number of coordinates with a positive eigenvalue; the others are zero.
        positive: usize,
        /// A number of dimensions to try; `None` if the data has no more.
        suggested: Option<usize>,
    },
    /// Rows at the origin, which cannot be scaled to the norms of the data.
    NormsNotScaled {
        /// Number of such rows.
        count: usize,
    },
}

impl SimilarityNote {
    /// Returns the severity of the note.
    pub fn level(&self) -> NoteLevel {
        match self {
            SimilarityNote::NegativeEigenvalues { .. } | SimilarityNote::NormsNotScaled { .. } => NoteLevel::Warning,
            _ => NoteLevel::Info,
        }
    }

    /// Returns the note in the terms of an interface.
    pub fn describe(&self, terms: &dyn Terms) -> String {
        match self {
            SimilarityNote::Layer { layer, layers, n_components } => {
                format!("layer {layer} of {layers}, in {n_components} dimensions")
            }
            SimilarityNote::AngleHistogram { density, histogram } => {
                let density = terms.setting("density", density);
                format!("angles between rows, with the threshold (<) that {density} selects:\n{histogram}")
            }
            SimilarityNote::SimilarRows { .. } => self.describe_similar_rows(terms),
            SimilarityNote::PairMatrices { storage, tile_bytes } => {
                let bytes = format_bytes(*tile_bytes);
                match storage {
                    PairMatrixStorage::Tiles => format!("matrices in tiles: about {bytes} in total"),
                    PairMatrixStorage::Factors => format!("matrices from factors (in tiles: about {bytes} in total)"),
                    PairMatrixStorage::FactorsForManyRows => format!(
                        "matrices from factors, as there are many rows ({}: about {bytes})",
                        terms.setting("matrices", &"tiles")
                    ),
                    PairMatrixStorage::FactorsForMemory => format!(
                        "matrices from factors: tiles would not fit into memory (about {bytes}, see {})",
                        terms.parameter("max_memory")
                    ),
                }
            }
            SimilarityNote::NegativeEigenvalues { share, n_components, positive, suggested } => {
                let lost = match n_components.saturating_sub(*positive) {
                    0 => String::new(),
                    zero => format!(
                        "{zero} of {n_components} coordinates are zero, so that {} would hold this map; ",
                        terms.setting("n_components", positive)
                    ),
                };
                let remedy = match suggested {
                    Some(more) => format!("needs more dimensions: try {}", terms.setting("n_components", more)),
                    None => format!("may need a larger {}", terms.parameter("tau")),
                };
                format!(
                    "the Gram matrix has negative eigenvalues, down to {:.2} % of the largest, which were dropped; {lost}a map \
                     that keeps the angles {remedy}",
                    100.0 * share
                )
            }
            SimilarityNote::NormsNotScaled { count } => format!(
                "{count} rows are mapped to zero, whose norm cannot be that of the data; {} scales the others",
                terms.setting("norms", &"exact")
            ),
        }
    }

    fn describe_similar_rows(&self, terms: &dyn Terms) -> String {
        let &SimilarityNote::SimilarRows {
            tau,
            neighbors: [median, mean, most],
            dissimilar,
            single,
            isolated,
            virtual_rows,
            unconnected,
            max_virtual_rows,
            zero_rows,
        } = self
        else {
            return String::new();
        };
        let mut text = format!(
            "{} ({:.1} degrees): neighbors median {median}, mean {mean:.1}, most {most}; {:.2} % of the pairs are \
             dissimilar; {single} rows have one neighbor, {isolated} none",
            terms.setting("tau", &format_args!("{tau:.4}")),
            tau.acos().to_degrees(),
            100.0 * dissimilar,
        );
        if virtual_rows > 0 {
            text.push_str(&format!(", and got {virtual_rows} virtual ones on the way to their nearest"));
        }
        if unconnected > 0 {
            text.push_str(&format!(
                "; {unconnected} of them stay alone: their nearest is opposite, or {max_virtual_rows} and more such angles away"
            ));
        }
        if zero_rows > 0 {
            text.push_str(&format!("; {zero_rows} zero rows map to zero"));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::super::RustTerms;
    use super::*;

    /// Terms that no interface has, so that every parameter of a note is recognized.
    struct Brackets;

    impl Terms for Brackets {
        fn parameter(&self, name: &str) -> String {
            format!("[{name}]")
        }

        fn setting(&self, name: &str, value: &dyn std::fmt::Display) -> String {
            format!("[{name}|{value}]")
        }
    }

    #[test]
    fn negative_eigenvalues_suggest_more_dimensions_in_the_terms_of_the_interface() {
        let note = |positive, suggested| SimilarityNote::NegativeEigenvalues {
            share: 0.176,
            n_components: 3,
            positive,
            suggested,
        };
        let text = note(2, Some(6)).describe(&Brackets);
        assert!(text.contains("17.60 %") && text.contains("1 of 3 coordinates are zero"), "{text}");
        assert!(text.contains("[n_components|2]") && text.contains("try [n_components|6]"), "{text}");
        assert!(!text.replace("[n_components|", "").contains("n_components"), "{text}");
        assert!(note(3, None).describe(&Brackets).ends_with("may need a larger [tau]"));
        assert_eq!(note(3, None).level(), NoteLevel::Warning);
    }

    #[test]
    fn similar_rows_name_what_was_done_about_isolated_ones() {
        let note = SimilarityNote::SimilarRows {
            tau: 0.75,
            neighbors: [74.0, 132.5, 685.0],
            dissimilar: 0.990463,
            single: 242,
            isolated: 403,
            virtual_rows: 400,
            unconnected: 3,
            max_virtual_rows: 64,
            zero_rows: 1,
        };
        let text = note.describe(&RustTerms);
        for part in ["tau = 0.7500 (41.4 degrees)", "99.05 %", "242 rows", "400 virtual", "3 of them", "1 zero rows"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert_eq!(note.level(), NoteLevel::Info);
    }
}
