//! The number of coordinates that are available from the data.

use lowland_core::Result;
use lowland_core::message::Note;
use lowland_core::params::invalid_parameter;
use lowland_core::run::Context;

/// Missing coordinates are filled with zeros up to this many, so that small data sets can still be drawn.
pub(super) const MAX_PADDED_COMPONENTS: usize = 3;

/// Returns how many of the `requested` coordinates are available. `limit` names the limiting quantity, such as `the number
/// of columns`.
pub(super) fn available_components(
    requested: usize,
    available: usize,
    limit: &str,
    context: &mut Context,
) -> Result<usize> {
    if requested > available.max(MAX_PADDED_COMPONENTS) {
        return invalid_parameter("n_components", &requested, format!("at most {available} ({limit})"));
    }
    if requested > available {
        let reason = format!("{limit} is {available}");
        context.note(Note::ZeroCoordinates { zero: requested - available, requested, reason });
    }
    Ok(requested.min(available))
}
