//! Every pair: the oracle the other engines are tested against, and the engine of few points and many dimensions.

use rayon::prelude::*;

use super::{Charges, ErrorReport, KernelSum, Term, check, columns};
use crate::points::{Points, Result};

/// Sums over every pair.
#[derive(Debug, Clone, Copy, Default)]
pub struct Exact;

impl KernelSum for Exact {
    fn name(&self) -> &'static str {
        "exact"
    }

    fn set_accuracy(&mut self, _accuracy: f64) {}

    fn sum(
        &mut self,
        terms: &[Term],
        targets: Points,
        sources: Points,
        charges: Charges,
        out: &mut [f64],
    ) -> Result<ErrorReport> {
        check(terms, targets, sources, charges, out)?;
        let width = columns(terms);
        if width == 0 {
            return Ok(ErrorReport { bound: Some(0.0) });
        }
        out.par_chunks_mut(width).enumerate().for_each(|(i, out)| {
            out.fill(0.0);
            let target = targets.row(i);
            for j in 0..sources.rows() {
                let squared = target.iter().zip(sources.row(j)).map(|(t, s)| (t - s) * (t - s)).sum();
                let charges = &charges.values[j * charges.per_point..];
                let mut at = 0;
                for term in terms {
                    let value = term.kernel.value(squared);
                    for c in 0..term.charges {
                        out[at + c] += value * charges[c];
                    }
                    at += term.charges;
                }
            }
        });
        Ok(ErrorReport { bound: Some(0.0) })
    }
}
