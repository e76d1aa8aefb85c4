//! Kernel sums: `out[i, c] = sum_j K(|t_i - s_j|^2) q[j, c]`, exactly or approximately.
//!
//! The repulsion of neighbor embeddings is made of such sums (Carreira-Perpiñán & Vladymyrov 2014). An engine ([`KernelSum`])
//! takes several kernels and several charges at once, because the pass over the points dominates the cost.

mod auto;
mod barnes_hut;
#[cfg(test)]
mod engine_tests;
mod exact;
pub mod fast_gauss;
mod fft;
mod fused;
mod kernel;
mod pairs;
mod request;
mod sampled;

use lowland_core::Result;
use lowland_core::params::param_enum;

pub use auto::new_engine;
pub use barnes_hut::BarnesHut;
pub use exact::Exact;
pub use fast_gauss::FastGauss;
pub use fft::{DividedPotential, Fft};
pub use kernel::Kernel;
pub use request::{Charges, KernelTerm, PotentialOutput, PotentialRequest, SumRequest, column_count};
pub use sampled::{NearPairs, Sampled};

/// Bound of the coordinates that approximate engines accept: their squares are finite.
const MAX_COORDINATE: f64 = 1e100;

/// The error bound and the cost of a sum.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ErrorReport {
    /// Certified bound: every value is within this times `sum_j |q[j, c]|` of the exact sum. `None` where the engine has no
    /// bound, and its error has to be measured.
    pub bound: Option<f64>,
    /// Certified bound of the gradients of the first charge's potential, as [`KernelSum::potential`] computes them: the root of
    /// the sum, over all targets, of the squared lengths of their errors is at most this. `None` without a bound.
    pub force_bound: Option<f64>,
    /// Cost of the sum in units of the engine: comparable between sums of the same engine.
    pub work: f64,
}

impl ErrorReport {
    /// The report of an empty sum.
    fn empty() -> Self {
        Self { bound: Some(0.0), force_bound: Some(0.0), work: 0.0 }
    }
}

/// An engine: an algorithm for kernel sums.
pub trait KernelSum: Send {
    /// Name of the engine on the command line.
    fn name(&self) -> &'static str;

    /// Requests an error of about `accuracy` relative to `sum_j |q[j, c]| K(|t - s_j|^2)`. An engine with a bound guarantees
    /// it; others choose their parameters by it, and their error has to be measured.
    fn set_accuracy(&mut self, accuracy: f64);

    /// Whether potentials of this many points on each other are those of a sample of the pairs.
    fn samples(&self, _points: usize) -> bool {
        false
    }

    /// Sets the pairs of this many points that a sample always contains; an engine that will not sample does not ask for them.
    fn set_near_pairs(&mut self, _points: usize, _pairs: &dyn Fn() -> NearPairs) {}

    /// Sets the sample: it depends on this number and on the number of points.
    fn begin_round(&mut self, _round: u64) {}

    /// Computes the sums: for each target a row with the columns of the first term, then those of the second, and so on. A
    /// source at the position of the target counts with `K(0) = 1`; targets may be the sources themselves.
    fn sum(&mut self, request: SumRequest, out: &mut [f64]) -> Result<ErrorReport>;

    /// Computes the potential `values[i] = sum_j K(|t_i - s_j|^2) q_j` and its gradients with respect to the targets: all that
    /// the repulsion of an embedding needs.
    fn potential(&mut self, request: PotentialRequest, out: PotentialOutput) -> Result<ErrorReport> {
        potential_by_sums(self, request, out)
    }
}

/// Computes the potential from the sums of the kernel and of its derivative: the gradient is `-2 slope (t S0 - S1)`, with `S0` and
/// `S1` the sums of the derivative with the charges `q` and `q s`.
fn potential_by_sums<E: KernelSum + ?Sized>(
    engine: &mut E,
    request: PotentialRequest,
    out: PotentialOutput,
) -> Result<ErrorReport> {
    request.check(&out)?;
    let PotentialRequest { kernel, targets, sources, charges } = request;
    let d = sources.dim();
    let (slope, next) = kernel.derivative();
    let force = KernelTerm { kernel: next, charges: 1 + d };
    let terms = [KernelTerm { kernel, charges: 1 }, force];
    let terms = if kernel == next { &terms[1..] } else { &terms[..] };
    let moments: Vec<f64> = charges
        .iter()
        .zip(sources.values().chunks_exact(d))
        .flat_map(|(&q, s)| std::iter::once(q).chain(s.iter().map(move |s| q * s)))
        .collect();
    let width = column_count(terms);
    let mut sums = vec![0.0; targets.rows() * width];
    let charges = Charges { values: &moments, per_point: 1 + d };
    let report = engine.sum(SumRequest { terms, targets, sources, charges }, &mut sums)?;
    let rows = out.values.iter_mut().zip(out.gradients.chunks_exact_mut(d)).zip(targets.values().chunks_exact(d));
    for (((value, gradient), target), sums) in rows.zip(sums.chunks_exact(width)) {
        *value = sums[0];
        let force = &sums[width - 1 - d..];
        for c in 0..d {
            gradient[c] = -2.0 * slope * (target[c] * force[0] - force[1 + c]);
        }
    }
    Ok(report)
}

param_enum! {
    /// The engine that sums the repulsion.
    pub enum Engine ("auto, exact, fast-gauss, barnes-hut, fft or sampled") {
        /// By the number of points, the dimension, the kernel and the tolerance.
        Auto = "auto",
        /// Every pair.
        Exact = "exact",
        /// The fast Gauss transform, with a certified error; Gaussian kernels in 1 to 3 dimensions.
        FastGauss = "fast-gauss",
        /// A tree of cells, for every kernel, in up to ten dimensions or so.
        BarnesHut = "barnes-hut",
        /// Interpolation on a grid and fast convolution, for every smooth kernel, in 1 to 3 dimensions.
        Fft = "fft",
        /// A sample of the pairs, for every kernel and dimension, with an error that is measured but not controlled.
        Sampled = "sampled",
    }
}
