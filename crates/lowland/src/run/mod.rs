//! Running: progress, stopping, observing.

use crate::points::Result;

/// Told how much of the present stage is done (0 to 1); an error means that someone asked to stop.
pub type Progress<'a> = dyn FnMut(f64) -> Result<()> + 'a;
