//! The expectations of the squared-exponential kernel over Gaussian latent coordinates (Titsias & Lawrence 2010, eqs
//! 23-25) and their derivatives.

/// A kernel `s exp(-sum_q alpha_q (x_q - x'_q)^2 / 2)` with its inducing points.
#[derive(Debug, Clone, PartialEq)]
pub struct InducingKernel {
    /// `alpha`: one inverse squared length scale per dimension.
    pub weights: Vec<f64>,
    /// `s`, the signal variance.
    pub signal: f64,
    /// The inducing points, row-major.
    pub inducing: Vec<f64>,
}

/// Derivatives with respect to the parameters of an [`InducingKernel`] and the latent coordinates of a point.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct KernelGradient {
    /// With respect to the mean of the latent coordinates.
    pub mean: Vec<f64>,
    /// With respect to their variances.
    pub variance: Vec<f64>,
    /// With respect to the kernel's weights.
    pub weights: Vec<f64>,
    /// With respect to its signal variance.
    pub signal: f64,
    /// With respect to the inducing points.
    pub inducing: Vec<f64>,
}

impl KernelGradient {
    /// A gradient of zero.
    pub(super) fn new(psi: &InducingKernel) -> Self {
        let q = psi.weights.len();
        let inducing = vec![0.0; psi.inducing.len()];
        Self { mean: vec![0.0; q], variance: vec![0.0; q], weights: vec![0.0; q], signal: 0.0, inducing }
    }
}

impl InducingKernel {
    /// Number of inducing points.
    pub(super) fn inducing_count(&self) -> usize {
        self.inducing.len() / self.weights.len()
    }

    fn point(&self, m: usize) -> &[f64] {
        let q = self.weights.len();
        &self.inducing[m * q..(m + 1) * q]
    }

    /// The kernel matrix of the inducing points.
    pub(super) fn kernel(&self) -> Vec<f64> {
        let m = self.inducing_count();
        let value = |a: usize, b: usize| {
            let terms = self.point(a).iter().zip(self.point(b)).zip(&self.weights);
            self.signal * (-0.5 * terms.map(|((x, y), w)| w * (x - y).powi(2)).sum::<f64>()).exp()
        };
        (0..m * m).map(|at| value(at / m, at % m)).collect()
    }

    /// Adds the gradient that follows from `derivatives`, those with respect to the entries of
    /// [`InducingKernel::kernel`].
    pub(super) fn add_kernel_gradient(&self, kernel: &[f64], derivatives: &[f64], gradient: &mut KernelGradient) {
        let (m, q) = (self.inducing_count(), self.weights.len());
        for (at, (k, g)) in kernel.iter().zip(derivatives).enumerate() {
            let (a, b, product) = (at / m, at % m, k * g);
            gradient.signal += product / self.signal;
            for c in 0..q {
                let gap = self.point(a)[c] - self.point(b)[c];
                gradient.weights[c] -= 0.5 * product * gap * gap;
                gradient.inducing[a * q + c] -= product * self.weights[c] * gap;
                gradient.inducing[b * q + c] += product * self.weights[c] * gap;
            }
        }
    }

    /// Writes the expectation of the kernel at each inducing point to `psi1`, and adds the expectations of the
    /// products of two to the lower triangle of `psi2`.
    pub(super) fn add_psi_statistics(&self, mean: &[f64], variance: &[f64], psi1: &mut [f64], psi2: &mut [f64]) {
        for (m, psi1) in psi1.iter_mut().enumerate() {
            *psi1 = self.psi1(mean, variance, m);
        }
        self.for_each_product(mean, variance, |a, b, value| psi2[a * self.inducing_count() + b] += value);
    }

    /// `E[k(x, z_m)]`.
    fn psi1(&self, mean: &[f64], variance: &[f64], m: usize) -> f64 {
        let (mut exponent, mut volume) = (0.0, 1.0);
        for (c, z) in self.point(m).iter().enumerate() {
            let width = self.weights[c] * variance[c] + 1.0;
            exponent -= 0.5 * self.weights[c] * (mean[c] - z).powi(2) / width;
            volume *= width;
        }
        self.signal * exponent.exp() / volume.sqrt()
    }

    /// Calls `visit` with `E[k(x, z_a) k(x, z_b)]` for all `b <= a`.
    fn for_each_product(&self, mean: &[f64], variance: &[f64], mut visit: impl FnMut(usize, usize, f64)) {
        let volume: f64 = variance.iter().zip(&self.weights).map(|(s, w)| 2.0 * w * s + 1.0).product();
        let scale = self.signal * self.signal / volume.sqrt();
        for a in 0..self.inducing_count() {
            for b in 0..=a {
                let mut exponent = 0.0;
                for (c, (x, y)) in self.point(a).iter().zip(self.point(b)).enumerate() {
                    let offset = mean[c] - 0.5 * (x + y);
                    let width = 2.0 * self.weights[c] * variance[c] + 1.0;
                    exponent -= self.weights[c] * (0.25 * (x - y).powi(2) + offset * offset / width);
                }
                visit(a, b, scale * exponent.exp());
            }
        }
    }

    /// Adds the gradient that follows from the derivatives with respect to the expectations: `grad_psi1` for `psi1`,
    /// and the symmetric `grad_psi2` for `psi2`.
    pub(super) fn add_gradient(
        &self,
        mean: &[f64],
        variance: &[f64],
        grad_psi1: &[f64],
        grad_psi2: &[f64],
        gradient: &mut KernelGradient,
    ) {
        let q = self.weights.len();
        for (m, derivative) in grad_psi1.iter().enumerate() {
            let product = derivative * self.psi1(mean, variance, m);
            gradient.signal += product / self.signal;
            for (c, z) in self.point(m).iter().enumerate() {
                let (weight, gap) = (self.weights[c], mean[c] - z);
                let width = weight * variance[c] + 1.0;
                let term = product * weight * gap / width;
                gradient.mean[c] -= term;
                gradient.inducing[m * q + c] += term;
                gradient.variance[c] += 0.5 * product * weight * (weight * gap * gap / width - 1.0) / width;
                gradient.weights[c] -= 0.5 * product * (variance[c] + gap * gap / width) / width;
            }
        }
        let m = self.inducing_count();
        self.for_each_product(mean, variance, |a, b, value| {
            let multiplicity = if a == b { 1.0 } else { 2.0 };
            let product = multiplicity * grad_psi2[a * m + b] * value;
            gradient.signal += 2.0 * product / self.signal;
            for c in 0..q {
                let (x, y) = (self.point(a)[c], self.point(b)[c]);
                let (weight, gap, offset) = (self.weights[c], x - y, mean[c] - 0.5 * (x + y));
                let width = 2.0 * weight * variance[c] + 1.0;
                gradient.mean[c] -= 2.0 * product * weight * offset / width;
                gradient.inducing[a * q + c] += product * weight * (offset / width - 0.5 * gap);
                gradient.inducing[b * q + c] += product * weight * (offset / width + 0.5 * gap);
                gradient.variance[c] += product * weight * (2.0 * weight * offset * offset / width - 1.0) / width;
                gradient.weights[c] -= product * (variance[c] / width + 0.25 * gap * gap + (offset / width).powi(2));
            }
        });
    }
}
