//! What acts on a leaf of targets, and the sums over it.

use rayon::prelude::*;

use super::tree::{Cell, LEAF, Place, Tree, squared};
use crate::{Charges, Kernel, Term};
use lowland_core::simd::simd_dispatch;

/// Targets side by side in a vector.
const LANES: usize = 8;

/// Beyond this squared distance a Gaussian is below 1e-17.
const GAUSSIAN_END: f64 = 40.0;

/// The sources: their tree, their charges in its order, and the moments of its cells.
pub(super) struct Source<'a, const D: usize, const E: usize> {
    tree: &'a Tree<D>,
    charges: Vec<f64>,
    /// For each cell and charge.
    moments: Vec<Moment<D, E>>,
    used: usize,
}

/// The moments of a cell's charges about its centre: `sum q`, `sum q (s - c)` and `sum q (s - c)(s - c)'`. The last is kept
/// in few dimensions only, where `E = D`; beyond, `E = 0`, for its memory grows as the square.
#[derive(Debug, Clone, Copy)]
struct Moment<const D: usize, const E: usize> {
    charge: f64,
    dipole: [f64; D],
    spread: [[f64; E]; E],
}

impl<const D: usize, const E: usize> Moment<D, E> {
    const ZERO: Self = Self { charge: 0.0, dipole: [0.0; D], spread: [[0.0; E]; E] };

    /// Adds a moment about a point, seen from another centre.
    #[inline(always)]
    fn add(&mut self, other: &Self, about: &[f64; D], centre: &[f64; D]) {
        let mut shift = *about;
        (0..D).for_each(|axis| shift[axis] -= centre[axis]);
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

impl<'a, const D: usize, const E: usize> Source<'a, D, E> {
    /// The moments, from the leaves up.
    pub(super) fn new(tree: &'a Tree<D>, given: Charges, used: usize) -> Self {
        let mut charges = vec![0.0; tree.places.len() * used];
        if used > 0 {
            charges.par_chunks_exact_mut(used).zip(&tree.places).for_each(|(charges, place)| {
                charges.copy_from_slice(&given.values[place.row as usize * given.per_point..][..used]);
            });
        }
        let mut moments = vec![Moment::ZERO; tree.cells.len() * used];
        let mut first = tree.leaves() - 1;
        let leaves = &mut moments[first * used..];
        leaves.par_chunks_mut(used.max(1)).enumerate().for_each(|(leaf, moments)| {
            let cell = first + leaf;
            for i in tree.points(cell) {
                for (moment, &charge) in moments.iter_mut().zip(&charges[i * used..(i + 1) * used]) {
                    let single = Moment { charge, ..Moment::ZERO };
                    moment.add(&single, &tree.places[i].at, &tree.cells[cell].centre);
                }
            }
        });
        while first > 0 {
            let (above, below) = moments.split_at_mut(first * used);
            first = (first - 1) / 2;
            above[first * used..].par_chunks_mut(used.max(1)).enumerate().for_each(|(k, moments)| {
                let centre = &tree.cells[first + k].centre;
                for child in [2 * k, 2 * k + 1] {
                    let about = &tree.cells[2 * first + 1 + child].centre;
                    for (charge, moment) in moments.iter_mut().enumerate() {
                        moment.add(&below[child * used + charge], about, centre);
                    }
                }
            });
        }
        Self { tree, charges, moments, used }
    }
}

/// A leaf of targets with the cells that act on it.
pub(super) struct Block<const D: usize> {
    cell: Cell<D>,
    count: usize,
    /// `targets[group][axis]`, padded by the last target.
    targets: [[[f64; LANES]; D]; LEAF / LANES],
    /// `sums[group * columns + column]`.
    sums: Vec<[f64; LANES]>,
    stack: Vec<usize>,
    far: Vec<usize>,
    near: Vec<usize>,
}

impl<const D: usize> Default for Block<D> {
    fn default() -> Self {
        Self {
            cell: Cell { centre: [0.0; D], radius: 0.0 },
            count: 0,
            targets: [[[0.0; LANES]; D]; LEAF / LANES],
            sums: Vec::new(),
            stack: Vec::new(),
            far: Vec::new(),
            near: Vec::new(),
        }
    }
}

impl<const D: usize> Block<D> {
    /// Takes the targets of a leaf.
    pub(super) fn load(&mut self, cell: &Cell<D>, places: &[Place<D>], columns: usize) {
        self.cell = *cell;
        self.count = places.len();
        let groups = places.len().div_ceil(LANES);
        for lane in 0..groups * LANES {
            let place = &places[lane.min(places.len() - 1)];
            (0..D).for_each(|axis| self.targets[lane / LANES][axis][lane % LANES] = place.at[axis]);
        }
        self.sums.clear();
        self.sums.resize(groups * columns, [0.0; LANES]);
    }

    /// Finds the cells that act as a whole, and the leaves that do not.
    pub(super) fn walk<const E: usize>(&mut self, source: &Source<D, E>, terms: &[Term], theta: f64) {
        let gaussian = terms.iter().all(|term| term.kernel == Kernel::Gaussian);
        self.far.clear();
        self.near.clear();
        self.stack.push(0);
        while let Some(at) = self.stack.pop() {
            let cell = &source.tree.cells[at];
            let distance = squared(&cell.centre, &self.cell.centre).sqrt();
            let gap = (distance - self.cell.radius).max(0.0);
            let empty = (distance - self.cell.radius - cell.radius).max(0.0);
            if gaussian && empty * empty > GAUSSIAN_END {
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

    /// Sums over both.
    pub(super) fn sum<const E: usize>(&mut self, source: &Source<D, E>, terms: &[Term]) {
        let columns = super::columns(terms);
        for (group, sums) in self.sums.chunks_exact_mut(columns).enumerate() {
            let targets = &self.targets[group];
            let mut first = 0;
            for term in terms {
                let sums = &mut sums[first..first + term.charges];
                first += term.charges;
                match term.kernel {
                    Kernel::Gaussian => act(source, targets, &self.far, &self.near, gaussian, sums),
                    Kernel::Cauchy { power: 1.0 } => act(source, targets, &self.far, &self.near, cauchy_1, sums),
                    Kernel::Cauchy { power: 2.0 } => act(source, targets, &self.far, &self.near, cauchy_2, sums),
                    Kernel::Cauchy { power: 3.0 } => act(source, targets, &self.far, &self.near, cauchy_3, sums),
                    Kernel::Cauchy { power } => act(source, targets, &self.far, &self.near, |s| cauchy(power, s), sums),
                }
            }
        }
    }

    /// Cells and points that met a target, over all targets.
    pub(super) fn work(&self) -> usize {
        self.count * (self.far.len() + self.near.len() * LEAF)
    }

    /// Gives the sums, target by target.
    pub(super) fn store(&self, columns: usize, out: &mut [f64]) {
        for (i, out) in out.chunks_exact_mut(columns).enumerate() {
            let sums = &self.sums[i / LANES * columns..][..columns];
            out.iter_mut().zip(sums).for_each(|(out, sum)| *out = sum[i % LANES]);
        }
    }
}

/// A kernel `f`, `-2 f'` and `2 f''` at a squared distance.
#[inline(always)]
fn gaussian(squared: f64) -> (f64, f64, f64) {
    let value = (-squared).exp();
    (value, 2.0 * value, 2.0 * value)
}

#[inline(always)]
fn cauchy_1(squared: f64) -> (f64, f64, f64) {
    let base = 1.0 / (1.0 + squared);
    derivatives(1.0, base, base)
}

#[inline(always)]
fn cauchy_2(squared: f64) -> (f64, f64, f64) {
    let base = 1.0 / (1.0 + squared);
    derivatives(2.0, base, base * base)
}

#[inline(always)]
fn cauchy_3(squared: f64) -> (f64, f64, f64) {
    let base = 1.0 / (1.0 + squared);
    derivatives(3.0, base, base * base * base)
}

#[inline(always)]
fn cauchy(power: f64, squared: f64) -> (f64, f64, f64) {
    derivatives(power, 1.0 / (1.0 + squared), (1.0 + squared).powf(-power))
}

/// Of `value = base^power`, where `base = 1 / (1 + d^2)`.
#[inline(always)]
fn derivatives(power: f64, base: f64, value: f64) -> (f64, f64, f64) {
    let slope = 2.0 * power * value * base;
    (value, slope, slope * (power + 1.0) * base)
}

/// Adds what cells and points do to a group of targets.
#[simd_dispatch]
fn act<const D: usize, const E: usize, F: Fn(f64) -> (f64, f64, f64)>(
    source: &Source<D, E>,
    targets: &[[f64; LANES]; D],
    far: &[usize],
    near: &[usize],
    kernel: F,
    sums: &mut [[f64; LANES]],
) {
    for &cell in far {
        let way = ways(targets, &source.tree.cells[cell].centre);
        let (mut values, mut slopes, mut bends) = ([0.0; LANES], [0.0; LANES], [0.0; LANES]);
        for lane in 0..LANES {
            (values[lane], slopes[lane], bends[lane]) =
                kernel((0..D).map(|axis| way[axis][lane] * way[axis][lane]).sum());
        }
        for (sums, moment) in sums.iter_mut().zip(&source.moments[cell * source.used..]) {
            let trace: f64 = (0..E).map(|axis| moment.spread[axis][axis]).sum();
            for lane in 0..LANES {
                // K(t - s) about the centre c, with w = t - c and u = s - c: f - 2 f' w.u + f' u.u + 2 f'' (w.u)^2 ..
                let mut along = -0.5 * trace;
                let mut across = 0.0;
                for a in 0..D {
                    along += way[a][lane] * moment.dipole[a];
                }
                for a in 0..E {
                    for b in 0..E {
                        across += way[a][lane] * way[b][lane] * moment.spread[a][b];
                    }
                }
                sums[lane] += values[lane] * moment.charge + slopes[lane] * along + bends[lane] * across;
            }
        }
    }
    for &leaf in near {
        for i in source.tree.points(leaf) {
            let way = ways(targets, &source.tree.places[i].at);
            let mut values = [0.0; LANES];
            for lane in 0..LANES {
                values[lane] = kernel((0..D).map(|axis| way[axis][lane] * way[axis][lane]).sum()).0;
            }
            for (sums, &charge) in sums.iter_mut().zip(&source.charges[i * source.used..]) {
                for lane in 0..LANES {
                    sums[lane] += values[lane] * charge;
                }
            }
        }
    }
}

/// From a place to each target.
#[inline(always)]
fn ways<const D: usize>(targets: &[[f64; LANES]; D], place: &[f64; D]) -> [[f64; LANES]; D] {
    let mut ways = *targets;
    for axis in 0..D {
        ways[axis].iter_mut().for_each(|x| *x -= place[axis]);
    }
    ways
}
