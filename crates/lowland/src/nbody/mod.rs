//! Kernel sums: `out[i, c] = sum_j K(|t_i - s_j|^2) q[j, c]`, exactly or fast.
//!
//! The repulsion of every embedding here is made of such sums (Carreira-Perpiñán & Vladymyrov 2014). An [`engine`] takes
//! several kernels and several charges at once, because what costs is the pass over the points.

mod barnes_hut;
#[cfg(test)]
mod engine_tests;
mod exact;
mod fft;
mod kernel;

use crate::params::choice;
use crate::points::{Error, Points, Result};

pub use barnes_hut::BarnesHut;
pub use exact::Exact;
pub use fft::Fft;
pub use kernel::Kernel;

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
        /// Interpolation on a grid and fast convolution, for every smooth kernel, in 1 and 2 dimensions.
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
