//! The kernels.

/// A function of the squared distance that is one at zero.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kernel {
    /// `exp(-d^2)`.
    Gaussian,
    /// `(1 + d^2)^-power`, `power` above zero. t-SNE uses 1 and 2, MAP IT 2 and 3; other degrees of freedom give halves.
    Cauchy {
        /// The exponent.
        power: f64,
    },
}

impl Kernel {
    /// Returns the value at a squared distance.
    pub fn value(self, squared: f64) -> f64 {
        match self {
            Self::Gaussian => (-squared).exp(),
            Self::Cauchy { power: 1.0 } => 1.0 / (1.0 + squared),
            Self::Cauchy { power: 2.0 } => (1.0 / (1.0 + squared)).powi(2),
            Self::Cauchy { power: 3.0 } => (1.0 / (1.0 + squared)).powi(3),
            Self::Cauchy { power } => (1.0 + squared).powf(-power),
        }
    }

    /// Returns `(slope, next)` with `dK/d(d^2) = -slope * next`.
    pub fn derivative(self) -> (f64, Self) {
        match self {
            Self::Gaussian => (1.0, self),
            Self::Cauchy { power } => (power, Self::Cauchy { power: power + 1.0 }),
        }
    }
}
