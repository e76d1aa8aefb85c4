//! Options of the EM iteration.

use lowland_core::params::param_enum;

param_enum! {
    /// Whether each point has a variance of its own.
    pub enum Variances ("free or tied") {
        /// One variance per point.
        Free = "free",
        /// One variance shared by all points.
        Tied = "tied",
    }
}

param_enum! {
    /// Precision in which pairs are evaluated; sums over them and everything else use double precision.
    pub enum Precision ("single or double") {
        /// Relative errors of about 1e-6 in the sums of the E-step, at half the time.
        Single = "single",
        /// Double precision throughout.
        Double = "double",
    }
}

/// Options of the EM iteration.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EmOptions {
    /// Fraction of the last change of the means that is added to the next one (eq S43).
    pub momentum: f64,
    /// Whether each point has a variance of its own.
    pub variances: Variances,
    /// Reduction of the residual at which the linear system of the M-step counts as solved.
    pub solve_tolerance: f64,
    /// Maximum number of iterations of that solver.
    pub solve_iterations: usize,
    /// Precision in which dissimilar pairs are evaluated.
    pub precision: Precision,
}

impl Default for EmOptions {
    fn default() -> Self {
        Self {
            momentum: 0.9,
            variances: Variances::Free,
            solve_tolerance: 0.5,
            solve_iterations: 30,
            precision: Precision::Double,
        }
    }
}
