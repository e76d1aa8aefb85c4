//! Attraction and repulsion between two points.

use lowland_core::simd::FastFloat;
use lowland_cuda::LayoutForces;

use super::SimilarityCurve;

/// Bound of each component of a step before it is multiplied by the learning rate.
const MAX_STEP: f32 = 4.0;
/// Keeps the repulsion of close points finite.
const MIN_SQUARE: f32 = 1e-3;

/// Number of repelling points that are processed together.
const LANES: usize = 8;

/// The forces of the cross entropy between memberships and similarities `1 / (1 + a d^(2b))`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Forces {
    a: f32,
    b: f32,
    repulsion: f32,
}

impl Forces {
    /// Creates the forces of a curve; `repulsion` is the weight of the repulsion.
    pub fn new(curve: SimilarityCurve, repulsion: f64) -> Self {
        Self { a: curve.a as f32, b: curve.b as f32, repulsion: repulsion as f32 }
    }

    /// Returns the forces for a graphics card, with this number of repelling points for each attraction.
    pub(super) fn on_device(&self, samples: usize) -> LayoutForces {
        LayoutForces { a: self.a, b: self.b, repulsion: self.repulsion, samples }
    }

    /// Returns the factor of `y_j - y_i` in the attraction of point i by j: the derivative of `ln(1 + a d^(2b))`.
    #[inline(always)]
    pub fn attraction(&self, square: f32) -> f32 {
        if square > 0.0 {
            let power = power(square, self.b);
            2.0 * self.a * self.b * power / (square * (1.0 + self.a * power))
        } else {
            0.0
        }
    }

    /// Returns the factor of `y_i - y_j` in the repulsion of point i by j: the derivative of `ln(1 - similarity)`.
    #[inline(always)]
    pub fn repulsion(&self, square: f32) -> f32 {
        let factor = 2.0 * self.repulsion * self.b / ((MIN_SQUARE + square) * (1.0 + self.a * power(square, self.b)));
        if square > 0.0 { factor } else { 0.0 }
    }

    /// Moves `point` towards `other`, by at most `share` of their distance.
    #[inline(always)]
    pub(super) fn attract(&self, point: &mut [f32], other: &[f32], rate: f32, share: f32) {
        let factor = self.attraction(square(point, other)).min(share / rate);
        step(point, other, -factor, rate);
    }

    /// Moves `point` away from `count` other points. A point at the same place has no effect.
    #[inline(always)]
    pub(super) fn repel<'a>(&self, point: &mut [f32], count: usize, rate: f32, mut draw: impl FnMut() -> &'a [f32]) {
        let mut left = count;
        while left > 0 {
            let batch = left.min(LANES);
            let (mut others, mut squares, mut factors) = ([&[] as &[f32]; LANES], [0.0; LANES], [0.0; LANES]);
            for (other, distance) in others.iter_mut().zip(&mut squares).take(batch) {
                *other = draw();
                *distance = square(point, other);
            }
            // A loop of its own, which does not wait for the point to move: most of the time is spent here.
            factors.iter_mut().zip(squares).for_each(|(factor, square)| *factor = self.repulsion(square));
            others.iter().zip(factors).take(batch).for_each(|(other, factor)| step(point, other, factor, rate));
            left -= batch;
        }
    }

    /// Returns `-ln(similarity)` and `-ln(1 - similarity)`, the latter bounded.
    pub(super) fn losses(&self, square: f32) -> (f64, f64) {
        let x = f64::from(self.a) * f64::from(square).powf(f64::from(self.b));
        ((1.0 + x).ln(), f64::from(self.repulsion) * ((1.0 + x) / (f64::from(MIN_SQUARE) + x)).ln())
    }
}

/// Moves `point` by `rate` times the bounded components of `factor (point - other)`.
#[inline(always)]
fn step(point: &mut [f32], other: &[f32], factor: f32, rate: f32) {
    for (p, o) in point.iter_mut().zip(other) {
        *p += rate * limited(factor * (*p - o));
    }
}

/// Returns a component of a step within its bound.
#[inline(always)]
pub(super) fn limited(component: f32) -> f32 {
    component.clamp(-MAX_STEP, MAX_STEP)
}

/// Returns `x^b` for normal positive numbers.
#[inline(always)]
pub(super) fn power(x: f32, b: f32) -> f32 {
    let exponent = b * FastFloat::ln(x.max(f32::MIN_POSITIVE));
    let (small, _) = exponent.abs().exp_neg();
    if exponent < 0.0 { small } else { 1.0 / small }
}

/// Returns the squared distance.
#[inline(always)]
pub(super) fn square(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}
