//! The fast Gauss transform: Gaussian sums in linear time, with a certified error (Greengard & Strain 1991; here after
//! Carreira-Perpiñán & Vladymyrov 2014, supplement, section 1).
//!
//! Points are put into boxes. The sources of a box act through a Hermite series, the targets of a box read a Taylor
//! series, and a matrix product for each dimension leads from the one to the other; boxes with few points are summed
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

use self::boxes::{Boxes, WIDEST};
use self::plan::{FINEST, PROBE_SIDE, Plan};
use self::transform::Transform;
use super::{Charges, ErrorReport, Exact, Kernel, KernelSum, Term, check, columns};
use lowland_core::{Error, Points, Result};

/// Sums of Gaussians in 1 to 3 dimensions, in time linear in the number of points.
///
/// The error is below `accuracy * sum_j |q_j|` for certain, and where points lie evenly below
/// `accuracy * sum_j |q_j| K(|t - s_j|^2)`; what it certifies for the points at hand is in the [`ErrorReport`]. An accuracy
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
    /// An engine of this accuracy.
    pub fn new(accuracy: f64) -> Self {
        Self { accuracy }
    }

    fn sum_in<const D: usize>(
        self,
        terms: &[Term],
        targets: Points,
        sources: Points,
        charges: Charges,
        out: &mut [f64],
    ) -> Result<ErrorReport> {
        let most = terms.iter().map(|term| term.charges).max().unwrap_or(0);
        let in_range = |points: Points| points.values().iter().all(|x| x.abs() <= WIDEST);
        if !(self.accuracy >= FINEST) || !in_range(targets) || !in_range(sources) {
            return Exact.sum(terms, targets, sources, charges, out);
        }
        if most == 0 || sources.rows() == 0 {
            out.fill(0.0);
            return Ok(ErrorReport::nothing());
        }
        let probe = Boxes::<D>::new(sources, PROBE_SIDE);
        let accuracy = self.accuracy.min(0.5);
        let Some(plan) = Plan::new(D, most, accuracy, sources.rows(), targets.rows(), probe.len()) else {
            return Exact.sum(terms, targets, sources, charges, out);
        };
        let boxes = if plan.side == PROBE_SIDE { probe } else { Boxes::new(sources, plan.side) };
        let same = std::ptr::eq(targets.values(), sources.values());
        let work = plan.total_cost(sources.rows() as f64, targets.rows() as f64, boxes.len() as f64);
        let bound = Transform::new(plan, sources, charges, boxes).sum(terms, targets, same, out);
        Ok(ErrorReport { bound: Some(bound), work })
    }
}

impl KernelSum for FastGauss {
    fn name(&self) -> &'static str {
        "fast-gauss"
    }

    fn set_accuracy(&mut self, accuracy: f64) {
        self.accuracy = accuracy;
    }

    fn sum(
        &mut self,
        terms: &[Term],
        targets: Points,
        sources: Points,
        charges: Charges,
        out: &mut [f64],
    ) -> Result<ErrorReport> {
        check(terms, targets, sources, charges, out)?;
        let refuse = |allowed: &str| {
            Err(Error::Parameter { name: "engine", value: self.name().into(), allowed: allowed.into() })
        };
        if terms.iter().any(|term| term.kernel != Kernel::Gaussian) {
            return refuse("sums Gaussian kernels only; use barnes-hut, fft or exact");
        }
        match sources.dim() {
            1 => self.sum_in::<1>(terms, targets, sources, charges, out),
            2 => self.sum_in::<2>(terms, targets, sources, charges, out),
            3 => self.sum_in::<3>(terms, targets, sources, charges, out),
            dim => refuse(&format!("works in 1 to 3 dimensions, found {dim}; use barnes-hut or exact")),
        }
    }
}

/// Writes each target's charges to the columns of its terms.
fn scatter(terms: &[Term], rows: &[u32], sums: &[f64], charges: usize, out: &mut [f64]) {
    let width = columns(terms);
    for (&row, sums) in rows.iter().zip(sums.chunks_exact(charges)) {
        let mut out = &mut out[row as usize * width..][..width];
        for term in terms {
            let (these, rest) = out.split_at_mut(term.charges);
            these.copy_from_slice(&sums[..term.charges]);
            out = rest;
        }
    }
}
