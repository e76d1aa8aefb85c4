//! What the transform certifies.
//!
//! The Gaussian is a product over the dimensions, so errors are bounded in one dimension and combined. With the source at
//! `u` and the target at `v` from the middles of their boxes, `|u|, |v| <= r / sqrt(2)`, and Indritz's inequality
//! `|h_n(x)| <= sqrt(2^n n!) exp(-x^2 / 2)`, the terms left out sum to at most
//!
//! - `exp(-x^2/2) sum_{n >= p} r^n / sqrt(n!)` in a Hermite or a Taylor series, `x` the distance of the point from the
//!   other box's middle (eqs 5 and 6 bound the sum by a geometric series),
//! - that plus `exp(-x^2/2) sum_{n < p <= m} r^(n+m) sqrt((n+m)!) / (n! m!)` after a translation, `x` the distance of the
//!   middles (eq 7 likewise; these sums converge for any `r`, eq 7 needs `sqrt(2) r < 1`).

use super::plan::Method;

/// Rounding is not part of the mathematics; this much of `sum |q|` is added for it.
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

/// Sum of the terms from `p` on, given the first and the ratio of a term to the one before, which falls below a half.
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

/// Bounds of the error between two boxes, by how many sides they are apart in each dimension.
#[derive(Debug, Clone)]
pub(super) struct PairBounds {
    /// The largest value of the kernel in one dimension.
    kernel: Vec<f64>,
    /// The error of one series.
    series: Vec<f64>,
    /// The error of a series translated.
    translated: Vec<f64>,
}

impl PairBounds {
    pub fn new(side: f64, order: usize, radius: usize) -> Self {
        let r = side * std::f64::consts::FRAC_1_SQRT_2;
        let (one, two) = (series_tail(r, order), translation_tail(r, order));
        let mut bounds = Self { kernel: Vec::new(), series: Vec::new(), translated: Vec::new() };
        for k in 0..=radius {
            let gap = k.saturating_sub(1) as f64 * side;
            let to_middle = (k as f64 - 0.5).max(0.0) * side;
            let middles = k as f64 * side;
            let series = one * (-0.5 * to_middle * to_middle).exp();
            bounds.kernel.push((-gap * gap).exp());
            bounds.series.push(series);
            bounds.translated.push(series + two * (-0.5 * middles * middles).exp());
        }
        bounds
    }

    /// The bound for boxes this many sides apart, per unit of charge: `prod(K + e) - prod K` over the dimensions.
    #[inline]
    pub fn error(&self, method: Method, apart: impl Iterator<Item = usize>) -> f64 {
        let errors = match method {
            Method::Direct => return 0.0,
            Method::Hermite | Method::Taylor => &self.series,
            Method::Translate => &self.translated,
        };
        let (_, error) = apart.fold((1.0, 0.0), |(product, error), k| {
            (product * self.kernel[k], error * (self.kernel[k] + errors[k]) + product * errors[k])
        });
        error
    }

    /// The largest value of the kernel between boxes this many sides apart: the error of leaving one out.
    #[inline]
    pub fn left_out(&self, apart: impl Iterator<Item = usize>) -> f64 {
        apart.map(|k| self.kernel[k]).product()
    }

    /// The error of translations, relative to the sum itself where the density is even: the sum of the bounds over all
    /// offsets against the integral of the kernel, at least that of one pair.
    pub fn even_density(&self, side: f64, dim: usize) -> f64 {
        let sums = |values: &dyn Fn(usize) -> f64| (1..self.kernel.len()).map(values).sum::<f64>() * 2.0 + values(0);
        let kernel = sums(&|k| self.kernel[k]);
        let both = sums(&|k| self.kernel[k] + self.translated[k]);
        let sum = both.powi(dim as i32) - kernel.powi(dim as i32);
        let integral = std::f64::consts::PI.powf(dim as f64 / 2.0);
        (sum * side.powi(dim as i32) / integral).max(self.error(Method::Translate, (0..dim).map(|_| 0)))
    }
}
