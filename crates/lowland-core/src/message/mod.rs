//! Messages to users: remedies for errors and notes about a run, as values that every front end renders in its own terms.

mod note;
mod remedy;
mod similarity_note;
mod terms;
mod text;

pub use note::{Note, NoteLevel, ToleranceMiss};
pub use remedy::Remedy;
pub use similarity_note::{PairMatrixStorage, SimilarityNote};
pub use terms::{RustTerms, Terms};
pub use text::{display_path, escape_control, escape_control_in_lines, excerpt, excerpt_of_sentence, list_names};
