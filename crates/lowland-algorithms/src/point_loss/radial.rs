//! Functions of the squared distance of two points of a map.

/// A function of a squared distance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Radial {
    /// `(1 + s / scale)^-power`.
    Cauchy {
        /// Exponent.
        power: f64,
        /// Squared length of the kernel's width.
        scale: f64,
    },
    /// `exp(-s / scale)`.
    Gaussian {
        /// Squared length of the kernel's width.
        scale: f64,
    },
    /// `ln((1 + x) / x)` with `x = a (s + softening)^b`: the loss of UMAP's repulsion, bounded where points coincide.
    LogRatio {
        /// Factor of the power of the distance.
        a: f64,
        /// Half of the exponent of the distance.
        b: f64,
        /// Added to squared distances.
        softening: f64,
    },
    /// `ln(1 + a (s + softening)^b)`: the loss of UMAP's attraction.
    LogPower {
        /// Factor of the power of the distance.
        a: f64,
        /// Half of the exponent of the distance.
        b: f64,
        /// Added to squared distances.
        softening: f64,
    },
}

impl Radial {
    /// Returns the value and the first two derivatives at the squared distance `s`.
    pub fn derivatives(self, s: f64) -> [f64; 3] {
        match self {
            Self::Cauchy { power, scale } => {
                let base = 1.0 / (1.0 + s / scale);
                let value = if power == 1.0 { base } else { base.powf(power) };
                let slope = -power * value * base / scale;
                [value, slope, -(power + 1.0) * slope * base / scale]
            }
            Self::Gaussian { scale } => {
                let value = (-s / scale).exp();
                [value, -value / scale, value / (scale * scale)]
            }
            Self::LogPower { a, b, softening } => {
                let t = s + softening;
                let x = a * t.powf(b);
                let slope = b * x / (t * (1.0 + x));
                [x.ln_1p(), slope, slope * ((b - 1.0) / t - slope)]
            }
            Self::LogRatio { a, b, softening } => {
                let t = s + softening;
                let x = a * t.powf(b);
                // ln(1 + x) - ln x, whose derivative is -b / (t (1 + x)).
                let slope = -b / (t * (1.0 + x));
                [(1.0 / x).ln_1p(), slope, -slope * (1.0 + b * x / (1.0 + x)) / t]
            }
        }
    }

    /// Returns the distance within which the function is smooth.
    pub fn width(self) -> f64 {
        match self {
            Self::Cauchy { power, scale } => scale.sqrt() / power.max(1.0),
            // Its second derivatives change within half of its width.
            Self::Gaussian { scale } => 0.5 * scale.sqrt(),
            Self::LogRatio { softening, .. } | Self::LogPower { softening, .. } => softening.sqrt(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn derivatives_agree_with_differences() {
        let radials = [
            Radial::Cauchy { power: 1.0, scale: 1.0 },
            Radial::Cauchy { power: 1.7, scale: 2.4 },
            Radial::Gaussian { scale: 0.5 },
            Radial::LogRatio { a: 1.6, b: 0.9, softening: 0.01 },
            Radial::LogPower { a: 1.6, b: 0.9, softening: 0.01 },
        ];
        for radial in radials {
            for s in [0.05, 0.7, 3.0, 20.0] {
                let h = 1e-5 * (1.0 + s);
                let (plus, minus, [_, slope, curvature]) =
                    (radial.derivatives(s + h), radial.derivatives(s - h), radial.derivatives(s));
                assert!(((plus[0] - minus[0]) / (2.0 * h) / slope - 1.0).abs() < 1e-5, "{radial:?} {s}");
                assert!(((plus[1] - minus[1]) / (2.0 * h) / curvature - 1.0).abs() < 1e-5, "{radial:?} {s}");
            }
        }
    }
}
