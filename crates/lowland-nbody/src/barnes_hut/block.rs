//! The sums of the targets of one leaf.

use rayon::prelude::*;

use super::tree::{CellTree, LEAF_SIZE, TreeCell, TreePoint, squared_distance};
use crate::{Charges, Kernel, KernelTerm};
use lowland_core::simd::simd_dispatch;

/// Targets per vector.
const LANES: usize = 8;

/// Squared distance beyond which a Gaussian is below 1e-17.
const GAUSSIAN_CUTOFF: f64 = 40.0;

/// The sources: their tree, their charges in its order, and the moments of its cells.
pub(super) struct SourceTree<'a, const D: usize, const E: usize> {
    tree: &'a CellTree<D>,
    charges: Vec<f64>,
    /// Moments of each cell and charge.
    moments: Vec<CellMoments<D, E>>,
    used: usize,
}

/// The moments of a cell's charges about its center: `sum q`, `sum q (s - c)` and `sum q (s - c)(s - c)'`. The last is kept
/// only in few dimensions, where `E = D`; in more, `E = 0`, because its memory grows with the square.
#[derive(Debug, Clone, Copy)]
struct CellMoments<const D: usize, const E: usize> {
    charge: f64,
    dipole: [f64; D],
    spread: [[f64; E]; E],
}

impl<const D: usize, const E: usize> CellMoments<D, E> {
    const ZERO: Self = Self { charge: 0.0, dipole: [0.0; D], spread: [[0.0; E]; E] };

    /// Adds a moment about a point, relative to another center.
    #[inline(always)]
    fn add(&mut self, other: &Self, about: &[f64; D], center: &[f64; D]) {
        let mut shift = *about;
        (0..D).for_each(|axis| shift[axis] -= center[axis]);
        self.charge += other.charge;
        for axis in 0..D {
            self.dipole[axis] += other.dipole[axis] + other.charge * shift[axis];
        }
        for a in 0..E {
            for b in 0..E {
                self.spread[a][b] += other.spread[a][b]
                    + other.dipole[a] * shift[b]
                    + other.dipole[b] * shift[a]
                    + other.charge * shift[a] * shift[b];
            }
        }
    }
}

impl<'a, const D: usize, const E: usize> SourceTree<'a, D, E> {
    /// Computes the moments, from the leaves up.
    pub(super) fn new(tree: &'a CellTree<D>, all_charges: Charges, used: usize) -> Self {
        let mut charges = vec![0.0; tree.points.len() * used];
        if used > 0 {
            charges.par_chunks_exact_mut(used).zip(&tree.points).for_each(|(charges, point)| {
                charges.copy_from_slice(&all_charges.values[point.row as usize * all_charges.per_point..][..used]);
            });
        }
        let mut moments = vec![CellMoments::ZERO; tree.cells.len() * used];
        let mut first = tree.leaves() - 1;
        let leaves = &mut moments[first * used..];
        leaves.par_chunks_mut(used.max(1)).enumerate().for_each(|(leaf, moments)| {
            let cell = first + leaf;
            for i in tree.leaf_range(cell) {
                for (moment, &charge) in moments.iter_mut().zip(&charges[i * used..(i + 1) * used]) {
                    let single = CellMoments { charge, ..CellMoments::ZERO };
                    moment.add(&single, &tree.points[i].coordinates, &tree.cells[cell].center);
                }
            }
        });
        while first > 0 {
            let (above, below) = moments.split_at_mut(first * used);
            first = (first - 1) / 2;
            above[first * used..].par_chunks_mut(used.max(1)).enumerate().for_each(|(k, moments)| {
                let center = &tree.cells[first + k].center;
                for child in [2 * k, 2 * k + 1] {
                    let about = &tree.cells[2 * first + 1 + child].center;
                    for (charge, moment) in moments.iter_mut().enumerate() {
                        moment.add(&below[child * used + charge], about, center);
                    }
                }
            });
        }
        Self { tree, charges, moments, used }
    }
}

/// The targets of a leaf, with the cells whose contributions they receive.
pub(super) struct TargetBlock<const D: usize> {
    cell: TreeCell<D>,
    count: usize,
    /// `targets[group][axis]`, padded with the last target.
    targets: [[[f64; LANES]; D]; LEAF_SIZE / LANES],
    /// `sums[group * columns + column]`.
    sums: Vec<[f64; LANES]>,
    stack: Vec<usize>,
    far: Vec<usize>,
    near: Vec<usize>,
}

impl<const D: usize> Default for TargetBlock<D> {
    fn default() -> Self {
        Self {
            cell: TreeCell { center: [0.0; D], radius: 0.0 },
            count: 0,
            targets: [[[0.0; LANES]; D]; LEAF_SIZE / LANES],
            sums: Vec::new(),
            stack: Vec::new(),
            far: Vec::new(),
            near: Vec::new(),
        }
    }
}

impl<const D: usize> TargetBlock<D> {
    /// Loads the targets of a leaf.
    pub(super) fn load(&mut self, cell: &TreeCell<D>, points: &[TreePoint<D>], columns: usize) {
        self.cell = *cell;
        self.count = points.len();
        let groups = points.len().div_ceil(LANES);
        for lane in 0..groups * LANES {
            let point = &points[lane.min(points.len() - 1)];
            (0..D).for_each(|axis| self.targets[lane / LANES][axis][lane % LANES] = point.coordinates[axis]);
        }
        self.sums.clear();
        self.sums.resize(groups * columns, [0.0; LANES]);
    }

    /// Finds the far cells, which are used as a whole, and the near leaves, whose points are summed one by one.
    pub(super) fn find_cells<const E: usize>(&mut self, source: &SourceTree<D, E>, terms: &[KernelTerm], theta: f64) {
        let gaussian = terms.iter().all(|term| term.kernel == Kernel::Gaussian);
        self.far.clear();
        self.near.clear();
        self.stack.push(0);
        while let Some(at) = self.stack.pop() {
            let cell = &source.tree.cells[at];
            let distance = squared_distance(&cell.center, &self.cell.center).sqrt();
            let gap = (distance - self.cell.radius).max(0.0);
            let empty = (distance - self.cell.radius - cell.radius).max(0.0);
            if gaussian && empty * empty > GAUSSIAN_CUTOFF {
                continue;
            }
            // A kernel changes over a distance of sqrt(1 + d^2).
            if cell.radius * cell.radius <= theta * theta * (1.0 + gap * gap) {
                self.far.push(at);
            } else if source.tree.is_leaf(at) {
                self.near.push(at);
            } else {
                self.stack.extend([2 * at + 2, 2 * at + 1]);
            }
        }
    }

    /// Sums the contributions of both.
    pub(super) fn sum<const E: usize>(&mut self, source: &SourceTree<D, E>, terms: &[KernelTerm]) {
        let columns = super::column_count(terms);
        for (group, sums) in self.sums.chunks_exact_mut(columns).enumerate() {
            let targets = &self.targets[group];
            let mut first = 0;
            for term in terms {
                let sums = &mut sums[first..first + term.charges];
                first += term.charges;
                add_contributions(source, targets, &self.far, &self.near, term.kernel, sums);
            }
        }
    }

    /// Number of contributions of cells and points, over all targets.
    pub(super) fn work(&self) -> usize {
        self.count * (self.far.len() + self.near.len() * LEAF_SIZE)
    }

    /// Writes the sums, target by target.
    pub(super) fn store(&self, columns: usize, out: &mut [f64]) {
        for (i, out) in out.chunks_exact_mut(columns).enumerate() {
            let sums = &self.sums[i / LANES * columns..][..columns];
            out.iter_mut().zip(sums).for_each(|(out, sum)| *out = sum[i % LANES]);
        }
    }
}

/// `1 / (1 + d^2)`, of which Cauchy kernels are powers.
#[inline(always)]
fn cauchy_base(squared: &[f64; LANES]) -> [f64; LANES] {
    let mut base = [0.0; LANES];
    for lane in 0..LANES {
        base[lane] = 1.0 / (1.0 + squared[lane]);
    }
    base
}

/// The kernel at the squared distances of a group of targets. It is matched once per group: a branch that is always predicted,
/// where a function for each kernel would be five times the code.
#[inline(always)]
fn kernel_values(kernel: Kernel, squared: &[f64; LANES], base: &[f64; LANES]) -> [f64; LANES] {
    let mut values = *base;
    match kernel {
        Kernel::Gaussian => {
            for lane in 0..LANES {
                values[lane] = (-squared[lane]).exp();
            }
        }
        Kernel::Cauchy { power: 1.0 } => {}
        Kernel::Cauchy { power: 2.0 } => {
            for lane in 0..LANES {
                values[lane] = base[lane] * base[lane];
            }
        }
        Kernel::Cauchy { power: 3.0 } => {
            for lane in 0..LANES {
                values[lane] = base[lane] * base[lane] * base[lane];
            }
        }
        Kernel::Cauchy { power } => {
            for lane in 0..LANES {
                values[lane] = (1.0 + squared[lane]).powf(-power);
            }
        }
    }
    values
}

/// `-2 f'` and `2 f''` of a kernel with the values `f`.
#[inline(always)]
fn kernel_derivatives(kernel: Kernel, values: &[f64; LANES], base: &[f64; LANES]) -> [[f64; LANES]; 2] {
    let (mut first, mut second) = ([0.0; LANES], [0.0; LANES]);
    match kernel {
        Kernel::Gaussian => {
            for lane in 0..LANES {
                first[lane] = 2.0 * values[lane];
                second[lane] = 2.0 * values[lane];
            }
        }
        Kernel::Cauchy { power } => {
            for lane in 0..LANES {
                first[lane] = 2.0 * power * values[lane] * base[lane];
                second[lane] = first[lane] * (power + 1.0) * base[lane];
            }
        }
    }
    [first, second]
}

/// The squared lengths of differences.
#[inline(always)]
fn squared_lengths<const D: usize>(differences: &[[f64; LANES]; D]) -> [f64; LANES] {
    let mut squared = [0.0; LANES];
    for lane in 0..LANES {
        squared[lane] = (0..D).map(|axis| differences[axis][lane] * differences[axis][lane]).sum();
    }
    squared
}

/// Adds the contributions of far cells and of the points of near leaves to the sums of a group of targets.
#[simd_dispatch]
fn add_contributions<const D: usize, const E: usize>(
    source: &SourceTree<D, E>,
    targets: &[[f64; LANES]; D],
    far: &[usize],
    near: &[usize],
    kernel: Kernel,
    sums: &mut [[f64; LANES]],
) {
    for &cell in far {
        let w = differences(targets, &source.tree.cells[cell].center);
        let squared = squared_lengths(&w);
        let base = cauchy_base(&squared);
        let values = kernel_values(kernel, &squared, &base);
        let [first, second] = kernel_derivatives(kernel, &values, &base);
        for (sums, moment) in sums.iter_mut().zip(&source.moments[cell * source.used..]) {
            let trace: f64 = (0..E).map(|axis| moment.spread[axis][axis]).sum();
            for lane in 0..LANES {
                // K(t - s) about the center c, with w = t - c and u = s - c: f - 2 f' w.u + f' u.u + 2 f'' (w.u)^2 ..
                let mut along = -0.5 * trace;
                let mut across = 0.0;
                for a in 0..D {
                    along += w[a][lane] * moment.dipole[a];
                }
                for a in 0..E {
                    for b in 0..E {
                        across += w[a][lane] * w[b][lane] * moment.spread[a][b];
                    }
                }
                sums[lane] += values[lane] * moment.charge + first[lane] * along + second[lane] * across;
            }
        }
    }
    for &leaf in near {
        for i in source.tree.leaf_range(leaf) {
            let squared = squared_lengths(&differences(targets, &source.tree.points[i].coordinates));
            let values = kernel_values(kernel, &squared, &cauchy_base(&squared));
            for (sums, &charge) in sums.iter_mut().zip(&source.charges[i * source.used..]) {
                for lane in 0..LANES {
                    sums[lane] += values[lane] * charge;
                }
            }
        }
    }
}

/// Each target minus a point.
#[inline(always)]
fn differences<const D: usize>(targets: &[[f64; LANES]; D], point: &[f64; D]) -> [[f64; LANES]; D] {
    let mut differences = *targets;
    for axis in 0..D {
        differences[axis].iter_mut().for_each(|x| *x -= point[axis]);
    }
    differences
}
