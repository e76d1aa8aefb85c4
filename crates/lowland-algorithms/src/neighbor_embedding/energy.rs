//! The energies of the neighbor embeddings, and their changes along the iterations.

use super::attraction_kernel::AttractionKernel;
use lowland_nbody::Kernel;

/// The energy that is minimized.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Energy {
    /// Elastic embedding (Carreira-Perpiñán 2010): `sum p s + lambda sum w exp(-s)`.
    Elastic {
        /// Strength of the repulsion.
        lambda: f64,
    },
    /// Symmetric SNE (Cook et al. 2007): the Kullback-Leibler divergence from `q ~ exp(-s)`.
    SymmetricSne,
    /// t-SNE: the Kullback-Leibler divergence from `q ~ (1 + s/dof)^-((dof + 1)/2)`.
    StudentSne {
        /// Degrees of freedom; 1 in the original method.
        dof: f64,
    },
}

impl Energy {
    /// Returns the attraction of an edge.
    pub(super) fn attraction(self) -> AttractionKernel {
        match self {
            Self::Elastic { .. } | Self::SymmetricSne => AttractionKernel::Quadratic,
            Self::StudentSne { dof } => AttractionKernel::Student { dof },
        }
    }

    /// Returns the number that squared distances are divided by before the kernel is applied.
    pub(super) fn scale(self) -> f64 {
        match self {
            Self::StudentSne { dof } => dof,
            _ => 1.0,
        }
    }

    /// Returns the kernel of the repulsion.
    pub fn kernel(self) -> Kernel {
        match self {
            Self::Elastic { .. } | Self::SymmetricSne => Kernel::Gaussian,
            Self::StudentSne { dof } => Kernel::Cauchy { power: (dof + 1.0) / 2.0 },
        }
    }
}

/// Changes of the energy along the iterations.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EnergySchedule {
    /// Factor of the attraction in the first iterations.
    pub early_exaggeration: f64,
    /// Number of iterations with this factor.
    pub early_iter: usize,
    /// Factor of the attraction after that, which belongs to the energy that the map is a minimum of.
    pub exaggeration: f64,
    /// Number of stages, of ten iterations each, in which the elastic embedding's lambda grows to its value.
    pub homotopy: usize,
}

/// Number of iterations at each lambda of a homotopy.
const HOMOTOPY_STAGE: usize = 10;
/// Factor of lambda at the start of a homotopy.
const HOMOTOPY_START: f64 = 1e-3;

impl Default for EnergySchedule {
    /// Returns the schedule without changes.
    fn default() -> Self {
        Self { early_exaggeration: 1.0, early_iter: 0, exaggeration: 1.0, homotopy: 0 }
    }
}

/// A stage of an [`EnergySchedule`] in which the energy is not the final one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScheduleStage {
    /// The attraction has the factor of early exaggeration.
    EarlyExaggeration,
    /// Lambda has not reached its value.
    Homotopy,
    /// Density is not preserved yet.
    Density,
}

impl std::fmt::Display for ScheduleStage {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str(match self {
            Self::EarlyExaggeration => "attraction was still exaggerated as in the first iterations",
            Self::Homotopy => "lambda was still growing",
            Self::Density => "the iterations that preserve density had not begun",
        })
    }
}

/// Factors of the energy's two terms at an iteration.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct EnergyFactors {
    /// Factor of the attraction.
    pub exaggeration: f64,
    /// Factor of lambda.
    pub lambda_factor: f64,
}

impl EnergySchedule {
    /// Returns the factors at an iteration, counted from 1.
    pub(super) fn factors(&self, iteration: usize) -> EnergyFactors {
        let exaggeration = if iteration <= self.early_iter { self.early_exaggeration } else { self.exaggeration };
        let stage = iteration.saturating_sub(1) / HOMOTOPY_STAGE;
        let left = self.homotopy.saturating_sub(stage) as f64 / self.homotopy.max(1) as f64;
        EnergyFactors { exaggeration, lambda_factor: HOMOTOPY_START.powf(left) }
    }
}
