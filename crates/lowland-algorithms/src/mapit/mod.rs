//! MAP IT (Jenssen 2024): the released program, which follows a vector field, and the costs of the paper, which are
//! objectives.
//!
//! With `K` the similarity in the map, `S = -K'` its slope by the squared distance, `N(i)` the `k` largest affinities of
//! row `i`, and `p_j`, `q_j` the sums of `P_lj` and `K_lj` over `l` in `N(j)`, the program moves a point along
//! `F_i = sum_j a_ij S_ij (y_j - y_i)`, where `a_ij` is `p_j / c1 - q_j / c2` for `j` in `N(i)` and `P_ij / c1 - K_ij / c2`
//! otherwise, `c1 = sum P K` and `c2 = sum K^2` over ordered pairs. That is not the gradient of any function.
//!
//! The repulsion `sum_j K_ij S_ij (y_i - y_j)` over all points is one: `d/ds K^2 = -2 K S`, so that the potential of `K^2`
//! gives `c2` and, by its gradient divided by -4, the repulsion. The other terms of neighbors are sums over edges.

mod all_pairs;
mod cauchy_schwarz;
mod device;
mod divided;
#[cfg(test)]
mod divided_tests;
mod edges;
mod field;
mod field_edges;
mod neighborhoods;
mod out_of_sample;
mod point_loss;
mod sampling;
#[cfg(test)]
mod tests;

use lowland_core::params::param_enum;
use lowland_nbody::Kernel;

pub use cauchy_schwarz::{CauchySchwarzDivergence, MapItCost};
pub use device::DeviceMapIt;
pub use divided::{DividedMapIt, DividedMapItSettings, MapItSums};
pub use field::MapItField;
pub use out_of_sample::{MapItFittedState, MapItTransform};
pub use point_loss::{MapItLoss, MapItRow};
pub use sampling::NonNeighborSampling;

param_enum! {
    /// Similarity of points in the map.
    pub enum SimilarityKernel ("t or gaussian") {
        /// `1 / (1 + s)`, `s` the squared distance.
        Student = "t",
        /// `exp(-s)`.
        Gaussian = "gaussian",
    }
}

impl SimilarityKernel {
    /// Returns the similarity as a kernel.
    fn kernel(self) -> Kernel {
        match self {
            Self::Student => Kernel::Cauchy { power: 1.0 },
            Self::Gaussian => Kernel::Gaussian,
        }
    }

    /// Returns the squared similarity as a kernel of `s / scale`, and the scale.
    pub fn squared(self) -> (Kernel, f64) {
        match self {
            Self::Student => (Kernel::Cauchy { power: 2.0 }, 1.0),
            Self::Gaussian => (Kernel::Gaussian, 0.5),
        }
    }

    /// Returns `K(s)` and `-K'(s)`.
    fn value_and_slope(self, s: f64) -> (f64, f64) {
        let value = self.kernel().value(s);
        (value, if self == Self::Student { value * value } else { value })
    }
}

param_enum! {
    /// The pairs over which the entropy weights `c1` and `c2` are summed.
    pub enum EntropyWeights ("all or neighbors") {
        /// All pairs, as in the released program.
        All = "all",
        /// Neighbors only, as in figure 14.
        Neighbors = "neighbors",
    }
}

impl EntropyWeights {
    /// Returns the chosen entropy weights, bounded away from zero: for distant points of a Gaussian they vanish.
    fn choose(self, all: [f64; 2], near: [f64; 2]) -> [f64; 2] {
        let chosen = if self == Self::All { all } else { near };
        chosen.map(|c| c.max(MIN_ENTROPY_WEIGHT))
    }
}

/// Lower bound of entropy weights.
const MIN_ENTROPY_WEIGHT: f64 = 1e-200;
/// Numbers per task.
const CHUNK: usize = 1024;
