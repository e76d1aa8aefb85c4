//! A balanced tree: every cell is halved at the median of its widest axis.
//!
//! Cells are numbered as in a heap, and the points of a cell follow from its number, so that nothing but what the sums need
//! is stored. Halving by count ends whatever the points: many at one place make small cells, not deep ones.

use rayon::prelude::*;

use lowland_core::Points;

/// Most points of a leaf.
pub(super) const LEAF: usize = 32;

/// Points of a run that one task takes.
const CHUNK: usize = 4096;

/// A point in the tree's order, and its row.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place<const D: usize> {
    pub(super) at: [f64; D],
    pub(super) row: u32,
}

/// A cell: the mean of its points, and how far the farthest is from it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cell<const D: usize> {
    pub(super) centre: [f64; D],
    pub(super) radius: f64,
}

/// The tree of some points, at least one.
#[derive(Debug, Default)]
pub(super) struct Tree<const D: usize> {
    pub(super) places: Vec<Place<D>>,
    pub(super) cells: Vec<Cell<D>>,
    depth: u32,
}

impl<const D: usize> Tree<D> {
    /// Builds the tree; coordinates beyond those of the points are zero.
    pub(super) fn fill(&mut self, points: Points) {
        let dim = points.dim();
        let place = |(row, point): (usize, &[f64])| {
            let mut at = [0.0; D];
            at[..dim].copy_from_slice(point);
            Place { at, row: row as u32 }
        };
        points.values().par_chunks_exact(dim).enumerate().map(place).collect_into_vec(&mut self.places);
        let leaves = points.rows().div_ceil(LEAF).next_power_of_two();
        self.depth = leaves.trailing_zeros();
        self.cells.clear();
        self.cells.resize(2 * leaves - 1, Cell { centre: [0.0; D], radius: 0.0 });
        for level in 0..=self.depth {
            let (depth, count) = (self.depth, points.rows());
            let cells = &mut self.cells[(1 << level) - 1..(1 << (level + 1)) - 1];
            let ranges = (0..cells.len()).map(|k| range(count, level, k).len());
            let slices = split(&mut self.places, ranges);
            cells.par_iter_mut().zip(slices).enumerate().for_each(|(k, (cell, places))| {
                *cell = enclose(places);
                if level < depth {
                    let half = range(count, level + 1, 2 * k).len();
                    halve(places, half);
                }
            });
        }
    }

    /// The points of a leaf, by the leaf's number among the cells.
    pub(super) fn points(&self, cell: usize) -> std::ops::Range<usize> {
        range(self.places.len(), self.depth, cell + 1 - self.leaves())
    }

    /// Number of leaves: the last cells.
    pub(super) fn leaves(&self) -> usize {
        1 << self.depth
    }

    /// Whether a cell is a leaf.
    pub(super) fn is_leaf(&self, cell: usize) -> bool {
        cell + 1 >= self.leaves()
    }

    /// Splits a slice of `width` numbers a place among the leaves.
    pub(super) fn by_leaf<'a, T>(&self, values: &'a mut [T], width: usize) -> Vec<&'a mut [T]> {
        let first = self.leaves() - 1;
        split(values, (0..self.leaves()).map(|leaf| self.points(first + leaf).len() * width))
    }
}

/// The places of cell `k` of a level.
fn range(count: usize, level: u32, k: usize) -> std::ops::Range<usize> {
    let start = |k: usize| ((count as u128 * k as u128) >> level) as usize;
    start(k)..start(k + 1)
}

/// Cuts a slice into pieces of these lengths.
fn split<T>(mut values: &mut [T], lengths: impl Iterator<Item = usize>) -> Vec<&mut [T]> {
    lengths
        .map(|length| {
            let (head, tail) = std::mem::take(&mut values).split_at_mut(length);
            values = tail;
            head
        })
        .collect()
}

fn enclose<const D: usize>(places: &[Place<D>]) -> Cell<D> {
    let sum = |places: &[Place<D>]| {
        let mut sum = [0.0; D];
        places.iter().for_each(|place| (0..D).for_each(|axis| sum[axis] += place.at[axis]));
        sum
    };
    let mut centre = [0.0; D];
    for part in places.par_chunks(CHUNK).map(sum).collect::<Vec<_>>() {
        (0..D).for_each(|axis| centre[axis] += part[axis]);
    }
    centre.iter_mut().for_each(|x| *x /= places.len().max(1) as f64);
    let farthest = places.iter().map(|place| squared(&place.at, &centre)).fold(0.0, f64::max);
    Cell { centre, radius: farthest.sqrt() }
}

/// Moves the `half` points that come first on the widest axis to the front; equal coordinates go by row.
fn halve<const D: usize>(places: &mut [Place<D>], half: usize) {
    let mut bounds = [[f64::INFINITY, f64::NEG_INFINITY]; D];
    for place in places.iter() {
        for axis in 0..D {
            bounds[axis] = [bounds[axis][0].min(place.at[axis]), bounds[axis][1].max(place.at[axis])];
        }
    }
    let width = |axis: &usize| bounds[*axis][1] - bounds[*axis][0];
    let widest = (0..D).max_by(|a, b| width(a).total_cmp(&width(b))).unwrap_or(0);
    if half > 0 && half < places.len() {
        places.select_nth_unstable_by(half, |a, b| a.at[widest].total_cmp(&b.at[widest]).then(a.row.cmp(&b.row)));
    }
}

/// The squared distance.
#[inline(always)]
pub(super) fn squared<const D: usize>(a: &[f64; D], b: &[f64; D]) -> f64 {
    (0..D).map(|axis| (a[axis] - b[axis]) * (a[axis] - b[axis])).sum()
}
