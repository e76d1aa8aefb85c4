//! Kernel sums: `out[i, c] = sum_j K(|t_i - s_j|^2) q[j, c]`, exactly or fast.
//!
//! The repulsion of every embedding here is made of such sums (Carreira-Perpiñán & Vladymyrov 2014). An [`engine`] takes
//! several kernels and several charges at once, because what costs is the pass over the points.

mod auto;
mod barnes_hut;
#[cfg(test)]
mod engine_tests;
mod exact;
pub mod fast_gauss;
mod fft;
mod kernel;
pub mod pairs;

use lowland_core::params::choice;
use lowland_core::{Error, Points, Result};

pub use auto::engine;
pub use barnes_hut::BarnesHut;
pub use exact::Exact;
pub use fast_gauss::FastGauss;
pub use fft::Fft;
pub use kernel::Kernel;

/// Coordinates that engines with cells accept: the squares of these are numbers.
const MAX_COORDINATE: f64 = 1e100;

/// One kernel, summed with the first few charges.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Term {
    /// The kernel.
    pub kernel: Kernel,
    /// How many of the charges it is summed with: the first ones.
    pub charges: usize,
}

/// Charges of the sources, row-major: a row of `per_point` numbers for each.
#[derive(Debug, Clone, Copy)]
pub struct Charges<'a> {
    /// All of them.
    pub values: &'a [f64],
    /// Charges of each source.
    pub per_point: usize,
}

/// What an engine knows about its error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ErrorReport {
    /// Certified: every value is within this times `sum_j |q[j, c]|` of the exact sum. `None` where the engine has no
    /// bound, and its error has to be measured.
    pub bound: Option<f64>,
    /// What the sum cost, counted in the engine's own operations: comparable between sums of one engine.
    pub work: f64,
}

impl ErrorReport {
    /// Of a sum with nothing to add up.
    fn nothing() -> Self {
        Self { bound: Some(0.0), work: 0.0 }
    }
}

/// An engine.
pub trait KernelSum: Send {
    /// Its name on the command line.
    fn name(&self) -> &'static str;

    /// Asks for an error of about `accuracy` relative to `sum_j |q[j, c]| K(|t - s_j|^2)`. An engine with a bound keeps to
    /// it; others turn it into their own setting, and their error is measured.
    fn set_accuracy(&mut self, accuracy: f64);

    /// The sums: for each target a row with the columns of the first term, then those of the second, and so on. A source
    /// at the target's place counts with `K(0) = 1`; targets may be the sources themselves.
    fn sum(
        &mut self,
        terms: &[Term],
        targets: Points,
        sources: Points,
        charges: Charges,
        out: &mut [f64],
    ) -> Result<ErrorReport>;

    /// The potential `values[i] = sum_j K(|t_i - s_j|^2) q_j` and its gradients by the targets: all that the repulsion of
    /// an embedding asks for.
    fn potential(
        &mut self,
        kernel: Kernel,
        targets: Points,
        sources: Points,
        charges: &[f64],
        values: &mut [f64],
        gradients: &mut [f64],
    ) -> Result<ErrorReport> {
        potential_by_sums(self, kernel, targets, sources, charges, values, gradients)
    }
}

/// The potential by the sums of the kernel and of its derivative: the gradient is `-2 slope (t S0 - S1)`, with `S0` and
/// `S1` the sums of the derivative with the charges `q` and `q s`.
fn potential_by_sums<E: KernelSum + ?Sized>(
    engine: &mut E,
    kernel: Kernel,
    targets: Points,
    sources: Points,
    charges: &[f64],
    values: &mut [f64],
    gradients: &mut [f64],
) -> Result<ErrorReport> {
    let d = sources.dim();
    for (what, expected, found) in [
        ("charges of a potential", sources.rows(), charges.len()),
        ("values of a potential", targets.rows(), values.len()),
        ("gradients of a potential", targets.values().len(), gradients.len()),
    ] {
        if expected != found {
            return Err(Error::Shape { what, expected, found });
        }
    }
    let (slope, next) = kernel.derivative();
    let force = Term { kernel: next, charges: 1 + d };
    let terms = [Term { kernel, charges: 1 }, force];
    let terms = if kernel == next { &terms[1..] } else { &terms[..] };
    let moments: Vec<f64> = charges
        .iter()
        .zip(sources.values().chunks_exact(d))
        .flat_map(|(&q, s)| std::iter::once(q).chain(s.iter().map(move |s| q * s)))
        .collect();
    let width = columns(terms);
    let mut sums = vec![0.0; targets.rows() * width];
    let report = engine.sum(terms, targets, sources, Charges { values: &moments, per_point: 1 + d }, &mut sums)?;
    let rows = values.iter_mut().zip(gradients.chunks_exact_mut(d)).zip(targets.values().chunks_exact(d));
    for (((value, gradient), target), sums) in rows.zip(sums.chunks_exact(width)) {
        *value = sums[0];
        let force = &sums[width - 1 - d..];
        for c in 0..d {
            gradient[c] = -2.0 * slope * (target[c] * force[0] - force[1 + c]);
        }
    }
    Ok(report)
}

choice! {
    /// Which engine sums the repulsion.
    pub enum Engine ("auto, exact, fast-gauss, barnes-hut or fft") {
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
    }
}

/// Columns of the output.
pub fn columns(terms: &[Term]) -> usize {
    terms.iter().map(|term| term.charges).sum()
}

/// Refuses sizes that do not belong together; every engine begins with this.
fn check(terms: &[Term], targets: Points, sources: Points, charges: Charges, out: &[f64]) -> Result<()> {
    let fits = |what: &'static str, expected: usize, found: usize| {
        if expected == found { Ok(()) } else { Err(Error::Shape { what, expected, found }) }
    };
    fits("dimension of the targets of a kernel sum", sources.dim(), targets.dim())?;
    fits("charges of a kernel sum", sources.rows() * charges.per_point, charges.values.len())?;
    fits("values of a kernel sum", targets.rows() * columns(terms), out.len())?;
    let most = terms.iter().map(|term| term.charges).max().unwrap_or(0);
    if most > charges.per_point {
        return fits("charges of each point", most, charges.per_point);
    }
    Ok(())
}
