//! The number of coordinates that data can have.

use lowland_core::Result;
use lowland_core::message::Note;
use lowland_core::params::invalid_parameter;
use lowland_core::run::Context;

/// Coordinates that the data do not have are filled with zeros up to this many, so that small data can still be drawn.
const FILLED: usize = 3;

/// How many of the `requested` coordinates there are. `limit` names what limits them, as in `the number of columns`.
pub(super) fn available_components(
    requested: usize,
    available: usize,
    limit: &str,
    context: &mut Context,
) -> Result<usize> {
    if requested > available.max(FILLED) {
        return invalid_parameter("n_components", &requested, format!("at most {available}, {limit}"));
    }
    if requested > available {
        let reason = format!("{limit} is {available}");
        context.note(Note::ZeroCoordinates { zero: requested - available, requested, reason });
    }
    Ok(requested.min(available))
}
