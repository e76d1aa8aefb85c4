//! Truncated singular value decomposition: principal components without centering.

use lowland_core::archive::Archive;
use lowland_core::params::{at_least_one, check_tolerance};
use lowland_core::run::{Context, Stage, StopRule};
use lowland_core::{DataShape, Result};

use super::component_count::ComponentCount;
use super::linear::{COMPONENTS, LinearSolver, fit, linear_method, pca_algorithm};
use super::linear_transformer::LinearTransformer;
use crate::method::{FitInput, FitOutput, Method};

linear_method!(
/// Truncated singular value decomposition, without centering.
    Svd, "svd", "TruncatedSVD", centered: false, count: usize = "Number of dimensions of the embedding.",
    "Truncated singular value decomposition: like pca, but without centering.",
    "For data with a meaningful zero (counts, angles, sparse word counts): norms and angles are preserved as well as a linear map can."
);
