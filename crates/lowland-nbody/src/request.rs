//! The input of an engine: kernels, points and charges.

use super::Kernel;
use lowland_core::{Error, Points, Result};

/// A kernel, summed with the first few charges.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KernelTerm {
    /// The kernel.
    pub kernel: Kernel,
    /// Number of charges it is summed with, from the first.
    pub charges: usize,
}

/// Charges of the sources, row-major: a row of `per_point` numbers for each source.
#[derive(Debug, Clone, Copy)]
pub struct Charges<'a> {
    /// All charges.
    pub values: &'a [f64],
    /// Number of charges of each source.
    pub per_point: usize,
}

/// The input of [`KernelSum::sum`](super::KernelSum::sum).
#[derive(Debug, Clone, Copy)]
pub struct SumRequest<'a> {
    /// Kernels, each with the number of charges it is summed with.
    pub terms: &'a [KernelTerm],
    /// Points at which the sums are computed.
    pub targets: Points<'a>,
    /// Points that are summed over.
    pub sources: Points<'a>,
    /// Charges of the sources.
    pub charges: Charges<'a>,
}

impl SumRequest<'_> {
    /// Returns an error if the sizes do not match; every engine begins with this.
    pub(super) fn check(&self, out: &[f64]) -> Result<()> {
        let Self { terms, targets, sources, charges } = self;
        check_size("dimension of the targets of a kernel sum", sources.dim(), targets.dim())?;
        check_size("charges of a kernel sum", sources.rows() * charges.per_point, charges.values.len())?;
        check_size("values of a kernel sum", targets.rows() * column_count(terms), out.len())?;
        if self.max_charges() > charges.per_point {
            return check_size("charges of each point", self.max_charges(), charges.per_point);
        }
        Ok(())
    }

    /// Number of charges that occur in a term.
    pub(super) fn max_charges(&self) -> usize {
        self.terms.iter().map(|term| term.charges).max().unwrap_or(0)
    }

    /// The kernel of each term.
    pub(super) fn kernels(&self) -> Vec<Kernel> {
        self.terms.iter().map(|term| term.kernel).collect()
    }
}

/// The input of [`KernelSum::potential`](super::KernelSum::potential).
#[derive(Debug, Clone, Copy)]
pub struct PotentialRequest<'a> {
    /// The kernel.
    pub kernel: Kernel,
    /// Points at which the potential is computed.
    pub targets: Points<'a>,
    /// Points that are summed over.
    pub sources: Points<'a>,
    /// Charge of each source.
    pub charges: &'a [f64],
}

impl PotentialRequest<'_> {
    /// Returns an error if the sizes do not match.
    pub(super) fn check(&self, out: &PotentialOutput) -> Result<()> {
        let Self { targets, sources, charges, .. } = self;
        check_size("dimension of the targets of a potential", sources.dim(), targets.dim())?;
        check_size("charges of a potential", sources.rows(), charges.len())?;
        check_size("values of a potential", targets.rows(), out.values.len())?;
        check_size("gradients of a potential", targets.values().len(), out.gradients.len())
    }
}

/// The output of [`KernelSum::potential`](super::KernelSum::potential).
#[derive(Debug)]
pub struct PotentialOutput<'a> {
    /// Potential at each target.
    pub values: &'a mut [f64],
    /// Gradient of the potential at each target, row-major.
    pub gradients: &'a mut [f64],
}

/// Number of columns of the output.
pub fn column_count(terms: &[KernelTerm]) -> usize {
    terms.iter().map(|term| term.charges).sum()
}

/// Whether targets and sources are the same points.
pub(super) fn are_same(targets: Points, sources: Points) -> bool {
    std::ptr::eq(targets.values(), sources.values())
}

fn check_size(what: &'static str, expected: usize, found: usize) -> Result<()> {
    if expected == found { Ok(()) } else { Err(Error::Shape { what, expected, found }) }
}
