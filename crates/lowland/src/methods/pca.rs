//! Principal component analysis.

use lowland_core::archive::Archive;
use lowland_core::params::{at_least_one, check_tolerance};
use lowland_core::run::{Context, Stage, StopRule};
use lowland_core::{DataShape, Result};
use lowland_linalg::LinearMap;

use super::linear::{COMPONENTS, LinearSolver, fit, linear_method, route};
use crate::method::{FitInput, FitOutput, Method};

linear_method!(
    /// Principal component analysis.
    Pca, "pca", "PCA", centred: true,
    "Principal components: the directions of largest variance",
    "Linear, instant, and the same everywhere: the first thing to look at, and a good preprocessing step for the others."
);
