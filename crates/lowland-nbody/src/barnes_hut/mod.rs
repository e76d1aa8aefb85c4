//! Kernel sums by a tree of cells (Barnes & Hut 1986): a cell that is small for its distance is used as a whole.
//!
//! Differences from the usual implementation: a cell is represented by its charge, its dipole and, in up to three dimensions,
//! its second moments, all about the mean of its points, so that forces from charges `{1, x}` keep their accuracy wherever the
//! map lies; the tree is traversed once per leaf of targets, whose targets fill the lanes of a vector; and since kernels are
//! smooth on the scale of one unit, a cell well below it is used as a whole however near it is, which keeps dense maps cheap.

mod block;
mod tree;

use rayon::prelude::*;

use self::block::{SourceTree, TargetBlock};
use self::tree::CellTree;
use super::request::are_same;
use super::{ErrorReport, Kernel, KernelSum, KernelTerm, MAX_COORDINATE, SumRequest, column_count};
use lowland_core::{Error, Result};

/// Maximum number of dimensions: in more, so few cells are small for their distance that summing every pair is faster.
const MAX_DIMENSIONS: usize = 10;

/// Kernel sums by a tree, in up to ten dimensions.
#[derive(Debug, Clone, Copy)]
pub struct BarnesHut {
    accuracy: f64,
}

impl Default for BarnesHut {
    fn default() -> Self {
        Self { accuracy: 1e-3 }
    }
}

impl BarnesHut {
    fn run<const D: usize, const E: usize>(&self, request: SumRequest, out: &mut [f64]) -> f64 {
        let SumRequest { terms, targets, sources, charges } = request;
        let width = column_count(terms);
        let mut tree = CellTree::<D>::default();
        tree.fill(sources);
        let source = SourceTree::<D, E>::new(&tree, charges, request.max_charges());
        let mut target_tree = CellTree::<D>::default();
        let same = are_same(targets, sources);
        if !same {
            target_tree.fill(targets);
        }
        let blocks = if same { &tree } else { &target_tree };
        let mut sums = vec![0.0; out.len()];
        let leaves = blocks.split_by_leaf(&mut sums, width);
        let theta = opening_angle(self.accuracy, if E > 0 { 4.0 } else { 2.0 }) / narrowness(terms).sqrt();
        // Integers: their sum does not depend on the order.
        let work = leaves.into_par_iter().enumerate().map_init(TargetBlock::default, |block, (leaf, sums)| {
            let cell = blocks.leaves() - 1 + leaf;
            block.load(&blocks.cells[cell], &blocks.points[blocks.leaf_range(cell)], width);
            block.find_cells(&source, terms, theta);
            block.sum(&source, terms);
            block.store(width, sums);
            block.work()
        });
        let work: usize = work.sum();
        for (point, sums) in blocks.points.iter().zip(sums.chunks_exact(width)) {
            out[point.row as usize * width..][..width].copy_from_slice(sums);
        }
        work as f64
    }
}

impl KernelSum for BarnesHut {
    fn name(&self) -> &'static str {
        "barnes-hut"
    }

    fn set_accuracy(&mut self, accuracy: f64) {
        if accuracy > 0.0 {
            self.accuracy = accuracy;
        }
    }

    fn sum(&mut self, request: SumRequest, out: &mut [f64]) -> Result<ErrorReport> {
        request.check(out)?;
        let SumRequest { targets, sources, .. } = request;
        out.fill(0.0);
        if out.is_empty() || sources.rows() == 0 {
            return Ok(ErrorReport::empty());
        }
        if !targets.values().iter().chain(sources.values()).all(|x| x.abs() < MAX_COORDINATE) {
            return Err(Error::Numerical {
                what: "a kernel sum by a tree",
                reason: format!("a coordinate is not within {MAX_COORDINATE:e} of zero"),
            });
        }
        // Padding with zeros changes no distance: a few widths serve all dimensions.
        let work = match sources.dim() {
            1 | 2 => self.run::<2, 2>(request, out),
            3 => self.run::<3, 3>(request, out),
            4..=6 => self.run::<6, 0>(request, out),
            7..=MAX_DIMENSIONS => self.run::<MAX_DIMENSIONS, 0>(request, out),
            dim => {
                return Err(Error::Parameter {
                    name: "engine",
                    value: "barnes-hut".into(),
                    allowed: format!("a tree is for up to {MAX_DIMENSIONS} dimensions, not {dim}: use exact"),
                });
            }
        };
        Ok(ErrorReport { bound: None, force_bound: None, work })
    }
}

/// Maximum size of a cell relative to its distance. Measured on clustered maps of 10,000 and 70,000 points, the error of the force
/// is about `0.09 theta^4` with second moments, `0.3 theta^2` without.
fn opening_angle(accuracy: f64, order: f64) -> f64 {
    (1.7 * accuracy.powf(order.recip())).min(1.0)
}

/// The square of how much narrower the narrowest kernel is than Cauchy 1.
fn narrowness(terms: &[KernelTerm]) -> f64 {
    let of_term = |term: &KernelTerm| match term.kernel {
        Kernel::Gaussian => 2.0,
        Kernel::Cauchy { power } => power,
    };
    terms.iter().map(of_term).fold(1.0, f64::max)
}
