//! The losses of pairs as functions of `d = 1 + |y_i - y_j|^2`.

/// Where the attraction of near pairs levels off.
const NEAR_SCALE: f32 = 10.0;
/// Where the attraction of mid-near pairs levels off.
const MID_SCALE: f32 = 10_000.0;

/// The loss of a pair of points.
pub(super) trait PairLoss: Copy + Sync {
    /// The factor of `y_i - y_j` in the gradient of the loss by `y_i`.
    fn factor(self, d: f32) -> f32;
    /// The loss.
    fn loss(self, d: f64) -> f64;
}

/// `weight d / (scale + d)`.
#[derive(Clone, Copy)]
pub(super) struct Attraction {
    pub weight: f32,
    scale: f32,
}

impl Attraction {
    pub fn near(weight: f64) -> Self {
        Self { weight: weight as f32, scale: NEAR_SCALE }
    }

    pub fn mid(weight: f64) -> Self {
        Self { weight: weight as f32, scale: MID_SCALE }
    }
}

impl PairLoss for Attraction {
    #[inline(always)]
    fn factor(self, d: f32) -> f32 {
        let inverse = 1.0 / (self.scale + d);
        2.0 * self.weight * self.scale * (inverse * inverse)
    }

    fn loss(self, d: f64) -> f64 {
        f64::from(self.weight) * d / (f64::from(self.scale) + d)
    }
}

/// The attraction of near pairs in the final phase of LocalMAP: its gradient is that of [`Attraction::near`], multiplied by
/// `threshold / (2 sqrt d)`, so that pairs that are far apart, and perhaps wrong, attract less.
#[derive(Clone, Copy)]
pub(super) struct LocalAttraction {
    pub weight: f32,
    pub threshold: f32,
}

impl PairLoss for LocalAttraction {
    #[inline(always)]
    fn factor(self, d: f32) -> f32 {
        Attraction { weight: self.weight, scale: NEAR_SCALE }.factor(d) * (0.5 * self.threshold / d.sqrt())
    }

    /// The integral of the gradient.
    fn loss(self, d: f64) -> f64 {
        let (root, scale) = (d.sqrt(), f64::from(NEAR_SCALE));
        let integral = root / (scale + d) + (root / scale.sqrt()).atan() / scale.sqrt();
        0.5 * f64::from(self.weight) * f64::from(self.threshold) * integral
    }
}

/// `weight / (1 + d)`.
#[derive(Clone, Copy)]
pub(super) struct Repulsion {
    pub weight: f32,
}

impl PairLoss for Repulsion {
    #[inline(always)]
    fn factor(self, d: f32) -> f32 {
        let inverse = 1.0 / (1.0 + d);
        -2.0 * self.weight * (inverse * inverse)
    }

    fn loss(self, d: f64) -> f64 {
        f64::from(self.weight) / (1.0 + d)
    }
}
