//! The fast Gauss transform: Gaussian sums in linear time, with a certified error (Greengard & Strain 1991; here after
//! Carreira-Perpiñán & Vladymyrov 2014, supplement, section 1).
//!
//! Points are grouped into boxes. The sources of a box are represented by a Hermite series, the targets of a box evaluate a
//! Taylor series, and a matrix product for each dimension translates the one into the other; boxes with few points are summed
//! directly. The paper swaps the two mixed cases: many sources and few targets call for the Hermite series alone, few
//! sources and many targets for the Taylor series alone.

mod bound;
mod boxes;
#[doc(hidden)]
pub mod coefficients;
mod expansion;
mod plan;
#[cfg(test)]
mod tests;
mod transform;

use self::boxes::{MAX_BOX_COORDINATE, PointBoxes};
use self::plan::{MAX_ACCURACY, MIN_ACCURACY, PROBE_SIDE, TransformPlan};
use self::transform::GaussTransform;
use super::request::are_same;
use super::{ErrorReport, Exact, Kernel, KernelSum, KernelTerm, SumRequest, column_count};
use lowland_core::{Error, Points, Result};

/// Gaussian kernel sums in 1 to 3 dimensions, in time linear in the number of points.
///
/// The error is guaranteed to be below `accuracy * sum_j |q_j|`, and for points of even density below
/// `accuracy * sum_j |q_j| K(|t - s_j|^2)`; the bounds certified for the actual points, of the sums and of the gradients of a
/// potential, are in the [`ErrorReport`]. They are far above the errors that occur: a caller who measures those can request
/// an accuracy up to 1. An accuracy
/// finer than 1e-12 and coordinates beyond 3e13 (or not finite) are left to [`Exact`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FastGauss {
    accuracy: f64,
}

impl Default for FastGauss {
    fn default() -> Self {
        Self { accuracy: 1e-4 }
    }
}

impl FastGauss {
    /// Creates an engine of this accuracy.
    pub fn new(accuracy: f64) -> Self {
        Self { accuracy }
    }

    fn sum_in_dimension<const D: usize>(self, request: SumRequest, out: &mut [f64]) -> Result<ErrorReport> {
        let SumRequest { terms, targets, sources, charges } = request;
        let max_charges = request.max_charges();
        let in_range = |points: Points| points.values().iter().all(|x| x.abs() <= MAX_BOX_COORDINATE);
        if !(self.accuracy >= MIN_ACCURACY) || !in_range(targets) || !in_range(sources) {
            return Exact.sum(request, out);
        }
        if max_charges == 0 || sources.rows() == 0 {
            out.fill(0.0);
            return Ok(ErrorReport::empty());
        }
        let probe = PointBoxes::<D>::new(sources, PROBE_SIDE);
        let accuracy = self.accuracy.min(MAX_ACCURACY);
        let Some(plan) = TransformPlan::new(D, max_charges, accuracy, sources.rows(), targets.rows(), probe.len())
        else {
            return Exact.sum(request, out);
        };
        let boxes = if plan.side == PROBE_SIDE { probe } else { PointBoxes::new(sources, plan.side) };
        let same = are_same(targets, sources);
        let count = boxes.len() as f64;
        let work = plan.total_cost(sources.rows() as f64 / count, targets.rows() as f64 / count, count);
        let certified = GaussTransform::new(plan, sources, charges, boxes).sum(terms, targets, same, out);
        Ok(ErrorReport { bound: Some(certified.values), force_bound: Some(certified.gradients), work })
    }
}

impl KernelSum for FastGauss {
    fn name(&self) -> &'static str {
        "fast-gauss"
    }

    fn set_accuracy(&mut self, accuracy: f64) {
        self.accuracy = accuracy;
    }

    fn sum(&mut self, request: SumRequest, out: &mut [f64]) -> Result<ErrorReport> {
        request.check(out)?;
        let unsupported = |allowed: &str| {
            Err(Error::Parameter { name: "engine", value: self.name().into(), allowed: allowed.into() })
        };
        if request.terms.iter().any(|term| term.kernel != Kernel::Gaussian) {
            return unsupported("sums Gaussian kernels only; use barnes-hut, fft or exact");
        }
        match request.sources.dim() {
            1 => self.sum_in_dimension::<1>(request, out),
            2 => self.sum_in_dimension::<2>(request, out),
            3 => self.sum_in_dimension::<3>(request, out),
            dim => unsupported(&format!("works in 1 to 3 dimensions, found {dim}; use barnes-hut or exact")),
        }
    }
}

/// Writes the sums of each target to the columns of the terms.
fn scatter(terms: &[KernelTerm], rows: &[u32], sums: &[f64], charges: usize, out: &mut [f64]) {
    let width = column_count(terms);
    for (&row, sums) in rows.iter().zip(sums.chunks_exact(charges)) {
        let mut out = &mut out[row as usize * width..][..width];
        for term in terms {
            let (these, rest) = out.split_at_mut(term.charges);
            these.copy_from_slice(&sums[..term.charges]);
            out = rest;
        }
    }
}
