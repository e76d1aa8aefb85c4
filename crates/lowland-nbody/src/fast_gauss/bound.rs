//! Certified bounds of the error of the transform.
//!
//! The Gaussian is a product over the dimensions, so errors are bounded in one dimension and combined. With the source at
//! `u` and the target at `v` from the centers of their boxes, `|u|, |v| <= r / sqrt(2)`, and Indritz's inequality
//! `|h_n(x)| <= sqrt(2^n n!) exp(-x^2 / 2)`, the terms left out sum to at most
//!
//! - `exp(-x^2/2) sum_{n >= p} r^n / sqrt(n!)` in a Hermite or a Taylor series, `x` the distance of the point from the
//!   center of the other box (eqs 5 and 6 bound the sum by a geometric series),
//! - that plus `exp(-x^2/2) sum_{n < p <= m} r^(n+m) sqrt((n+m)!) / (n! m!)` after a translation, `x` the distance of the
//!   centers (eq 7 likewise; these sums converge for any `r`, eq 7 needs `sqrt(2) r < 1`).

use super::plan::BoxMethod;

/// Allowance for rounding, which the bounds do not cover, relative to `sum |q|`.
pub(super) const ROUNDING: f64 = 1e-14;

/// `sum_{n >= p} r^n / sqrt(n!)`.
pub(super) fn series_tail(r: f64, p: usize) -> f64 {
    tail(p, 1.0, |n| r / (n as f64).sqrt())
}

/// `sum_{n < p <= m} r^(n+m) sqrt((n+m)!) / (n! m!)`.
pub(super) fn translation_tail(r: f64, p: usize) -> f64 {
    let mut first = 1.0;
    let mut sum = 0.0;
    for n in 0..p {
        // From the term of (n, 0), r^n / sqrt(n!), m upward.
        sum += tail(p, first, |m| r * ((n + m) as f64).sqrt() / m as f64);
        first *= r / ((n + 1) as f64).sqrt();
    }
    sum
}

/// Sum of the terms from `p` on, given the first term and the ratio of each term to the one before, which falls below a half.
fn tail(p: usize, first: f64, ratio: impl Fn(usize) -> f64) -> f64 {
    let mut term = first;
    let mut sum = 0.0;
    for n in 1.. {
        if n > p {
            sum += term;
        }
        let ratio = ratio(n);
        term *= ratio;
        // Once each term is less than half of the one before, the rest is less than twice the next.
        if n >= p && ratio < 0.5 && term < 1e-3 * sum {
            return sum + 2.0 * term;
        }
    }
    sum
}

/// Bounds of the error between two boxes, by their distance in sides in each dimension.
#[derive(Debug, Clone)]
pub(super) struct PairBounds {
    /// Maximum of the kernel in one dimension.
    kernel: Vec<f64>,
    /// Error of one series.
    series: Vec<f64>,
    /// Error of a translated series.
    translated: Vec<f64>,
}

impl PairBounds {
    pub fn new(side: f64, order: usize, radius: usize) -> Self {
        let r = side * std::f64::consts::FRAC_1_SQRT_2;
        let (one, two) = (series_tail(r, order), translation_tail(r, order));
        let mut bounds = Self { kernel: Vec::new(), series: Vec::new(), translated: Vec::new() };
        for k in 0..=radius {
            let gap = k.saturating_sub(1) as f64 * side;
            let to_center = (k as f64 - 0.5).max(0.0) * side;
            let centers = k as f64 * side;
            let series = one * (-0.5 * to_center * to_center).exp();
            bounds.kernel.push((-gap * gap).exp());
            bounds.series.push(series);
            bounds.translated.push(series + two * (-0.5 * centers * centers).exp());
        }
        bounds
    }

    /// The bound for boxes at this distance, per unit of charge: `prod(K + e) - prod K` over the dimensions.
    #[inline]
    pub fn error(&self, method: BoxMethod, distances: impl Iterator<Item = usize>) -> f64 {
        let errors = match method {
            BoxMethod::Direct => return 0.0,
            BoxMethod::Hermite | BoxMethod::Taylor => &self.series,
            BoxMethod::Translate => &self.translated,
        };
        let (_, error) = distances.fold((1.0, 0.0), |(product, error), k| {
            (product * self.kernel[k], error * (self.kernel[k] + errors[k]) + product * errors[k])
        });
        error
    }

    /// The maximum of the kernel between boxes at this distance: the error of omitting the box.
    #[inline]
    pub fn omission_error(&self, distances: impl Iterator<Item = usize>) -> f64 {
        distances.map(|k| self.kernel[k]).product()
    }

    /// The error of translations, relative to the sum itself, for points of even density: the sum of the bounds over all
    /// offsets divided by the integral of the kernel, at least that of one pair.
    pub fn even_density_error(&self, side: f64, dim: usize) -> f64 {
        let sums = |values: &dyn Fn(usize) -> f64| (1..self.kernel.len()).map(values).sum::<f64>() * 2.0 + values(0);
        let kernel = sums(&|k| self.kernel[k]);
        let both = sums(&|k| self.kernel[k] + self.translated[k]);
        let sum = both.powi(dim as i32) - kernel.powi(dim as i32);
        let integral = std::f64::consts::PI.powf(dim as f64 / 2.0);
        (sum * side.powi(dim as i32) / integral).max(self.error(BoxMethod::Translate, (0..dim).map(|_| 0)))
    }
}
