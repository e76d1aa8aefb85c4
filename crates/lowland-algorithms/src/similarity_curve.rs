//! The similarity of two points of the embedding as a function of their distance.

use lowland_core::{Error, Result};

/// Number of distances at which the curve is fitted.
const SAMPLES: usize = 300;
/// The curve is fitted from zero to this multiple of `spread`.
const RANGE: f64 = 3.0;
const MAX_ITERATIONS: usize = 500;

/// The similarity `1 / (1 + a d^(2b))` of points at distance `d`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SimilarityCurve {
    /// Factor of the power of the distance.
    pub a: f64,
    /// Half of the exponent of the distance.
    pub b: f64,
}

impl SimilarityCurve {
    /// Fits the curve by least squares to one up to `min_dist`, and to `exp(-(d - min_dist) / spread)` beyond.
    pub fn fit(min_dist: f64, spread: f64) -> Result<Self> {
        let samples: Vec<(f64, f64)> = (0..SAMPLES)
            .map(|i| RANGE * spread * i as f64 / (SAMPLES - 1) as f64)
            .map(|d| (d, if d < min_dist { 1.0 } else { (-(d - min_dist) / spread).exp() }))
            .collect();
        let error = |curve: &Self| samples.iter().map(|&(d, s)| (curve.similarity(d * d) - s).powi(2)).sum::<f64>();
        // Levenberg and Marquardt: Gauss-Newton steps, shortened towards the gradient until the error decreases.
        let mut curve = Self { a: 1.0, b: 1.0 };
        let (mut damping, mut current) = (1e-3, error(&curve));
        for _ in 0..MAX_ITERATIONS {
            let [aa, ab, bb, ga, gb] = curve.normal_equations(&samples);
            let (saa, sbb) = (aa * (1.0 + damping), bb * (1.0 + damping));
            let determinant = saa * sbb - ab * ab;
            let step = [(ab * gb - sbb * ga) / determinant, (ab * ga - saa * gb) / determinant];
            let next = Self { a: curve.a + step[0], b: curve.b + step[1] };
            let found = if next.a > 0.0 && next.b > 0.0 { error(&next) } else { f64::INFINITY };
            if found <= current {
                let small = step[0].abs() <= 1e-12 * next.a && step[1].abs() <= 1e-12 * next.b;
                (curve, current, damping) = (next, found, damping * 0.1);
                if small {
                    return Ok(curve);
                }
            } else {
                damping *= 10.0;
                // No shorter step helps: the error is minimal up to rounding.
                if damping > 1e12 {
                    return Ok(curve);
                }
            }
        }
        let reason = format!("no similarity curve was found for min_dist {min_dist} and spread {spread}");
        Err(Error::Numerical { what: "the similarity curve", reason })
    }

    /// Returns the similarity at a squared distance.
    pub fn similarity(&self, square: f64) -> f64 {
        1.0 / (1.0 + self.a * square.powf(self.b))
    }

    /// Returns `J'J` (three values) and `J'r` (two values) of the least squares problem.
    fn normal_equations(&self, samples: &[(f64, f64)]) -> [f64; 5] {
        let mut sums = [0.0; 5];
        for &(d, wanted) in samples.iter().filter(|(d, _)| *d > 0.0) {
            let power = (d * d).powf(self.b);
            let similarity = 1.0 / (1.0 + self.a * power);
            let by_a = -similarity * similarity * power;
            let by_b = by_a * self.a * (d * d).ln();
            let residual = similarity - wanted;
            let terms = [by_a * by_a, by_a * by_b, by_b * by_b, by_a * residual, by_b * residual];
            sums.iter_mut().zip(terms).for_each(|(sum, term)| *sum += term);
        }
        sums
    }
}
