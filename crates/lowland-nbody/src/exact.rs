//! Exact sums over all pairs: the reference for the other engines, and the engine for few points or many dimensions.

use rayon::prelude::*;

use super::pairs::{PairScratch, SourceColumns, TILE, add_pairs};
use super::{ErrorReport, KernelSum, KernelTerm, SumRequest, column_count};
use lowland_core::Result;
use lowland_core::simd::simd_dispatch;

/// Targets that share a tile of sources while it is in the cache.
const BLOCK_TARGETS: usize = 32;

/// Kernel sums over all pairs.
#[derive(Debug, Clone, Copy, Default)]
pub struct Exact;

impl KernelSum for Exact {
    fn name(&self) -> &'static str {
        "exact"
    }

    fn set_accuracy(&mut self, _accuracy: f64) {}

    fn sum(&mut self, request: SumRequest, out: &mut [f64]) -> Result<ErrorReport> {
        request.check(out)?;
        let SumRequest { terms, targets, sources, charges } = request;
        let (dim, width) = (targets.dim(), column_count(terms));
        if width > 0 {
            let sources = SourceColumns::new(sources, charges, request.max_charges(), |row| row);
            let blocks =
                out.par_chunks_mut(width * BLOCK_TARGETS).zip(targets.values().par_chunks(dim * BLOCK_TARGETS));
            blocks.for_each(|(out, targets)| match dim {
                1 => sum_block::<1>(terms, targets, dim, &sources, out),
                2 => sum_block::<2>(terms, targets, dim, &sources, out),
                3 => sum_block::<3>(terms, targets, dim, &sources, out),
                _ => sum_block::<0>(terms, targets, dim, &sources, out),
            });
        }
        let work = targets.rows() as f64 * sources.rows() as f64;
        Ok(ErrorReport { bound: Some(0.0), force_bound: Some(0.0), work })
    }
}

/// Sums all sources for a few targets; the order of the additions does not depend on the block.
#[simd_dispatch]
fn sum_block<const D: usize>(
    terms: &[KernelTerm],
    targets: &[f64],
    dim: usize,
    sources: &SourceColumns,
    out: &mut [f64],
) {
    let width = column_count(terms);
    let mut scratch = PairScratch::new();
    out.fill(0.0);
    for tile in (0..sources.rows()).step_by(TILE) {
        let range = tile..sources.rows().min(tile + TILE);
        for (target, out) in targets.chunks_exact(dim).zip(out.chunks_exact_mut(width)) {
            add_pairs::<D>(terms, target, sources, range.clone(), &mut scratch, out);
        }
    }
}

/// The double loop that the engines are tested against, and the tests of the exact engine.
#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Charges, Kernel};
    use lowland_core::{Points, Seed};

    /// The sums by a double loop.
    pub fn double_loop(request: SumRequest) -> Vec<f64> {
        let SumRequest { terms, targets, sources, charges } = request;
        let mut out = Vec::new();
        for i in 0..targets.rows() {
            for term in terms {
                for c in 0..term.charges {
                    let value = |j: usize| {
                        let pairs = targets.row(i).iter().zip(sources.row(j));
                        term.kernel.value(pairs.map(|(t, s)| (t - s) * (t - s)).sum())
                    };
                    out.push((0..sources.rows()).map(|j| value(j) * charges.values[j * charges.per_point + c]).sum());
                }
            }
        }
        out
    }

    fn cauchy(power: f64, charges: usize) -> KernelTerm {
        KernelTerm { kernel: Kernel::Cauchy { power }, charges }
    }

    fn terms() -> Vec<KernelTerm> {
        let powers = [1.0, 2.0, 3.0, 0.5, 1.5, 2.5, 0.7, 4.0].into_iter().zip([1, 3, 0, 5, 2, 1, 4, 2]);
        let cauchy = powers.map(|(power, charges)| cauchy(power, charges));
        cauchy.chain([KernelTerm { kernel: Kernel::Gaussian, charges: 3 }]).collect()
    }

    #[test]
    fn sums_match_the_double_loop() {
        // Counts around the sizes of lanes, blocks and tiles.
        for (dim, m, n) in [(1, 33, 7), (2, 5, 513), (3, 31, 64), (5, 9, 100), (2, 65, 1), (2, 3, 0), (4, 0, 5)] {
            let (t, s) = (Seed(1).normals(m * dim), Seed(2).normals(n * dim));
            let q = Seed(3).normals(n * 5);
            let (targets, sources) = (Points::new(&t, dim).unwrap(), Points::new(&s, dim).unwrap());
            let charges = Charges { values: &q, per_point: 5 };
            let request = SumRequest { terms: &terms(), targets, sources, charges };
            let mut out = vec![f64::NAN; m * column_count(&terms())];
            let report = Exact.sum(request, &mut out).unwrap();
            assert_eq!(report.bound, Some(0.0));
            for (found, expected) in out.iter().zip(double_loop(request)) {
                assert!((found - expected).abs() < 1e-12, "{dim} {m} {n}: {found} {expected}");
            }
        }
    }

    #[test]
    fn sums_do_not_depend_on_threads_or_other_targets() {
        let (x, q) = (Seed(1).normals(700 * 2), Seed(2).normals(700 * 3));
        let terms = [cauchy(1.0, 1), cauchy(2.0, 3), KernelTerm { kernel: Kernel::Gaussian, charges: 3 }];
        let sums = |threads, rows: std::ops::Range<usize>| {
            lowland_core::with_threads(Some(threads), || {
                let targets = Points::new(&x[2 * rows.start..2 * rows.end], 2).unwrap();
                let sources = Points::new(&x, 2).unwrap();
                let mut out = vec![0.0; rows.len() * 7];
                let charges = Charges { values: &q, per_point: 3 };
                Exact.sum(SumRequest { terms: &terms, targets, sources, charges }, &mut out).unwrap();
                out
            })
            .unwrap()
        };
        let all = sums(1, 0..700);
        assert_eq!(all, sums(2, 0..700));
        assert_eq!(all, sums(3, 0..700));
        assert_eq!(all[7 * 100..7 * 101], sums(1, 100..101));
    }

    proptest! {
        #[test]
        fn finite_coordinates_give_finite_sums(x in prop::collection::vec(prop::num::f64::ANY, 2..60)) {
            let x = &x[..x.len() / 2 * 2];
            let points = Points::new(x, 2).unwrap();
            let mut out = vec![0.0; points.rows() * column_count(&terms())];
            let q = vec![1.0; points.rows() * 5];
            let charges = Charges { values: &q, per_point: 5 };
            let request = SumRequest { terms: &terms(), targets: points, sources: points, charges };
            Exact.sum(request, &mut out).unwrap();
            let all_finite = x.iter().all(|v| v.is_finite());
            prop_assert!(!all_finite || out.iter().all(|v| v.is_finite()), "{out:?}");
        }
    }
}
