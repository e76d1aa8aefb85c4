//! The expectations of the squared-exponential kernel over a Gaussian place (Titsias & Lawrence 2010, eqs 23-25), and what a
//! change of them means for a change of everything they depend on.

/// A kernel `s exp(-sum_q alpha_q (x_q - x'_q)^2 / 2)` and the inducing points it is looked at from.
#[derive(Debug, Clone, PartialEq)]
pub struct Psi {
    /// `alpha`: one inverse squared length scale a dimension.
    pub weights: Vec<f64>,
    /// `s`.
    pub signal: f64,
    /// Row after row.
    pub inducing: Vec<f64>,
}

/// Derivatives by what a [`Psi`] and a place are made of.
#[derive(Debug, Clone, PartialEq)]
pub struct Slopes {
    /// By the mean of the place.
    pub mean: Vec<f64>,
    /// By its variances.
    pub spread: Vec<f64>,
    /// By the kernel's weights.
    pub weights: Vec<f64>,
    /// By its signal.
    pub signal: f64,
    /// By the inducing points.
    pub inducing: Vec<f64>,
}

impl Slopes {
    /// All zero.
    pub fn new(psi: &Psi) -> Self {
        let q = psi.weights.len();
        let inducing = vec![0.0; psi.inducing.len()];
        Self { mean: vec![0.0; q], spread: vec![0.0; q], weights: vec![0.0; q], signal: 0.0, inducing }
    }
}

impl Psi {
    /// Number of inducing points.
    pub fn count(&self) -> usize {
        self.inducing.len() / self.weights.len()
    }

    fn point(&self, m: usize) -> &[f64] {
        let q = self.weights.len();
        &self.inducing[m * q..(m + 1) * q]
    }

    /// The kernel between all inducing points.
    pub fn kernel(&self) -> Vec<f64> {
        let m = self.count();
        let value = |a: usize, b: usize| {
            let terms = self.point(a).iter().zip(self.point(b)).zip(&self.weights);
            self.signal * (-0.5 * terms.map(|((x, y), w)| w * (x - y).powi(2)).sum::<f64>()).exp()
        };
        (0..m * m).map(|at| value(at / m, at % m)).collect()
    }

    /// Adds to `slopes` what `slope`, the derivative by each entry of [`Psi::kernel`], comes to.
    pub fn kernel_slopes(&self, kernel: &[f64], slope: &[f64], slopes: &mut Slopes) {
        let (m, q) = (self.count(), self.weights.len());
        for (at, (k, g)) in kernel.iter().zip(slope).enumerate() {
            let (a, b, product) = (at / m, at % m, k * g);
            slopes.signal += product / self.signal;
            for c in 0..q {
                let gap = self.point(a)[c] - self.point(b)[c];
                slopes.weights[c] -= 0.5 * product * gap * gap;
                slopes.inducing[a * q + c] -= product * self.weights[c] * gap;
                slopes.inducing[b * q + c] += product * self.weights[c] * gap;
            }
        }
    }

    /// The kernel's expectation at each inducing point, written to `first`, and the expectations of the products of
    /// two, added to the lower triangle of `second`.
    pub fn expect(&self, mean: &[f64], spread: &[f64], first: &mut [f64], second: &mut [f64]) {
        for (m, first) in first.iter_mut().enumerate() {
            *first = self.first(mean, spread, m);
        }
        self.products(mean, spread, |a, b, value| second[a * self.count() + b] += value);
    }

    fn first(&self, mean: &[f64], spread: &[f64], m: usize) -> f64 {
        let (mut exponent, mut volume) = (0.0, 1.0);
        for (c, z) in self.point(m).iter().enumerate() {
            let wide = self.weights[c] * spread[c] + 1.0;
            exponent -= 0.5 * self.weights[c] * (mean[c] - z).powi(2) / wide;
            volume *= wide;
        }
        self.signal * exponent.exp() / volume.sqrt()
    }

    /// `E[k(x, z_a) k(x, z_b)]` for `b <= a`.
    fn products(&self, mean: &[f64], spread: &[f64], mut visit: impl FnMut(usize, usize, f64)) {
        let volume: f64 = spread.iter().zip(&self.weights).map(|(s, w)| 2.0 * w * s + 1.0).product();
        let scale = self.signal * self.signal / volume.sqrt();
        for a in 0..self.count() {
            for b in 0..=a {
                let mut exponent = 0.0;
                for (c, (x, y)) in self.point(a).iter().zip(self.point(b)).enumerate() {
                    let off = mean[c] - 0.5 * (x + y);
                    let wide = 2.0 * self.weights[c] * spread[c] + 1.0;
                    exponent -= self.weights[c] * (0.25 * (x - y).powi(2) + off * off / wide);
                }
                visit(a, b, scale * exponent.exp());
            }
        }
    }

    /// Adds to `slopes` what derivatives by the expectations come to: `by_first` by each of the first, `by_second` by each
    /// of the second, symmetric.
    pub fn slopes(&self, mean: &[f64], spread: &[f64], by_first: &[f64], by_second: &[f64], slopes: &mut Slopes) {
        let q = self.weights.len();
        for (m, by) in by_first.iter().enumerate() {
            let product = by * self.first(mean, spread, m);
            slopes.signal += product / self.signal;
            for (c, z) in self.point(m).iter().enumerate() {
                let (weight, gap) = (self.weights[c], mean[c] - z);
                let wide = weight * spread[c] + 1.0;
                let pull = product * weight * gap / wide;
                slopes.mean[c] -= pull;
                slopes.inducing[m * q + c] += pull;
                slopes.spread[c] += 0.5 * product * weight * (weight * gap * gap / wide - 1.0) / wide;
                slopes.weights[c] -= 0.5 * product * (spread[c] + gap * gap / wide) / wide;
            }
        }
        let m = self.count();
        self.products(mean, spread, |a, b, value| {
            let times = if a == b { 1.0 } else { 2.0 };
            let product = times * by_second[a * m + b] * value;
            slopes.signal += 2.0 * product / self.signal;
            for c in 0..q {
                let (x, y) = (self.point(a)[c], self.point(b)[c]);
                let (weight, gap, off) = (self.weights[c], x - y, mean[c] - 0.5 * (x + y));
                let wide = 2.0 * weight * spread[c] + 1.0;
                slopes.mean[c] -= 2.0 * product * weight * off / wide;
                slopes.inducing[a * q + c] += product * weight * (off / wide - 0.5 * gap);
                slopes.inducing[b * q + c] += product * weight * (off / wide + 0.5 * gap);
                slopes.spread[c] += product * weight * (2.0 * weight * off * off / wide - 1.0) / wide;
                slopes.weights[c] -= product * (spread[c] / wide + 0.25 * gap * gap + (off / wide).powi(2));
            }
        });
    }
}
