//! Truncated singular value decomposition: principal components without centering.

use lowland_core::archive::Archive;
use lowland_core::params::{at_least_one, check_tolerance};
use lowland_core::run::{Context, Stage, StopRule};
use lowland_core::{DataShape, Result};
use lowland_linalg::LinearMap;

use super::linear::{COMPONENTS, LinearSolver, fit, linear_method, route};
use crate::method::{FitInput, FitOutput, Method};

linear_method!(
    /// Truncated singular value decomposition, uncentred.
    Svd, "svd", "TruncatedSVD", centred: false,
    "Singular vectors: as pca, but the origin stays where it is",
    "For data whose zero means something (counts, angles, sparse words); norms and angles to the origin are kept as well as a line can."
);
