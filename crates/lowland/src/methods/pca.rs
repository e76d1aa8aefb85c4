//! Principal component analysis.

use lowland_core::archive::Archive;
use lowland_core::params::{at_least_one, check_tolerance};
use lowland_core::run::{Context, Stage, StopRule};
use lowland_core::{DataShape, Result};

use super::component_count::ComponentCount;
use super::linear::{COMPONENTS, LinearSolver, fit, linear_method, pca_algorithm};
use super::linear_transformer::LinearTransformer;
use crate::method::{FitInput, FitOutput, Method};

linear_method!(
    /// Principal component analysis.
    Pca, "pca", "PCA", centered: true, count: ComponentCount = "Number of dimensions of the embedding, or the share of the variance that they explain (0.95).",
    "Principal component analysis: the directions of largest variance.",
    "Linear, fast and reproducible: a good first look at the data, and a good preprocessing step for other methods."
);
