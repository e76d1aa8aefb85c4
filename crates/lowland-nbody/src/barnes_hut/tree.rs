//! A balanced tree: every cell is split at the median of its widest axis.
//!
//! Cells are numbered as in a heap, and the points of a cell follow from its number, so that only what the sums need is
//! stored. Splitting by count terminates for any points: coincident points lead to small cells, not to deep trees.

use rayon::prelude::*;

use lowland_core::Points;

/// Maximum number of points of a leaf.
pub(super) const LEAF_SIZE: usize = 32;

/// Points per task.
const CHUNK: usize = 4096;

/// A point and its row.
#[derive(Debug, Clone, Copy)]
pub(super) struct TreePoint<const D: usize> {
    pub(super) coordinates: [f64; D],
    pub(super) row: u32,
}

/// A cell: the mean of its points, and the distance of the farthest point from it.
#[derive(Debug, Clone, Copy)]
pub(super) struct TreeCell<const D: usize> {
    pub(super) center: [f64; D],
    pub(super) radius: f64,
}

/// The tree of at least one point.
#[derive(Debug, Default)]
pub(super) struct CellTree<const D: usize> {
    pub(super) points: Vec<TreePoint<D>>,
    pub(super) cells: Vec<TreeCell<D>>,
    depth: u32,
}

impl<const D: usize> CellTree<D> {
    /// Builds the tree; coordinates beyond those of the points are zero.
    pub(super) fn fill(&mut self, points: Points) {
        let dim = points.dim();
        let tree_point = |(row, point): (usize, &[f64])| {
            let mut coordinates = [0.0; D];
            coordinates[..dim].copy_from_slice(point);
            TreePoint { coordinates, row: row as u32 }
        };
        points.values().par_chunks_exact(dim).enumerate().map(tree_point).collect_into_vec(&mut self.points);
        let leaves = points.rows().div_ceil(LEAF_SIZE).next_power_of_two();
        self.depth = leaves.trailing_zeros();
        self.cells.clear();
        self.cells.resize(2 * leaves - 1, TreeCell { center: [0.0; D], radius: 0.0 });
        for level in 0..=self.depth {
            let (depth, count) = (self.depth, points.rows());
            let cells = &mut self.cells[(1 << level) - 1..(1 << (level + 1)) - 1];
            let lengths = (0..cells.len()).map(|k| cell_range(count, level, k).len());
            let slices = split_lengths(&mut self.points, lengths);
            cells.par_iter_mut().zip(slices).enumerate().for_each(|(k, (cell, cell_points))| {
                *cell = bounding_cell(cell_points);
                if level < depth {
                    let half = cell_range(count, level + 1, 2 * k).len();
                    split_widest_axis(cell_points, half);
                }
            });
        }
    }

    /// The range of the points of a leaf, given its cell number.
    pub(super) fn leaf_range(&self, cell: usize) -> std::ops::Range<usize> {
        cell_range(self.points.len(), self.depth, cell + 1 - self.leaves())
    }

    /// Number of leaves: the last cells.
    pub(super) fn leaves(&self) -> usize {
        1 << self.depth
    }

    /// Whether a cell is a leaf.
    pub(super) fn is_leaf(&self, cell: usize) -> bool {
        cell + 1 >= self.leaves()
    }

    /// Splits a slice of `width` numbers per point into one slice per leaf.
    pub(super) fn split_by_leaf<'a, T>(&self, values: &'a mut [T], width: usize) -> Vec<&'a mut [T]> {
        let first = self.leaves() - 1;
        split_lengths(values, (0..self.leaves()).map(|leaf| self.leaf_range(first + leaf).len() * width))
    }
}

/// The range of the points of cell `k` of a level.
fn cell_range(count: usize, level: u32, k: usize) -> std::ops::Range<usize> {
    let start = |k: usize| ((count as u128 * k as u128) >> level) as usize;
    start(k)..start(k + 1)
}

/// Splits a slice into pieces of the given lengths.
fn split_lengths<T>(mut values: &mut [T], lengths: impl Iterator<Item = usize>) -> Vec<&mut [T]> {
    lengths
        .map(|length| {
            let (head, tail) = std::mem::take(&mut values).split_at_mut(length);
            values = tail;
            head
        })
        .collect()
}

/// The cell around some points.
fn bounding_cell<const D: usize>(points: &[TreePoint<D>]) -> TreeCell<D> {
    let sum = |points: &[TreePoint<D>]| {
        let mut sum = [0.0; D];
        points.iter().for_each(|point| (0..D).for_each(|axis| sum[axis] += point.coordinates[axis]));
        sum
    };
    let mut center = [0.0; D];
    for part in points.par_chunks(CHUNK).map(sum).collect::<Vec<_>>() {
        (0..D).for_each(|axis| center[axis] += part[axis]);
    }
    center.iter_mut().for_each(|x| *x /= points.len().max(1) as f64);
    let farthest = points.iter().map(|point| squared_distance(&point.coordinates, &center)).fold(0.0, f64::max);
    TreeCell { center, radius: farthest.sqrt() }
}

/// Moves the `half` points with the smallest coordinates on the widest axis to the front; ties are broken by row.
fn split_widest_axis<const D: usize>(points: &mut [TreePoint<D>], half: usize) {
    let mut bounds = [[f64::INFINITY, f64::NEG_INFINITY]; D];
    for point in points.iter() {
        for axis in 0..D {
            bounds[axis] = [bounds[axis][0].min(point.coordinates[axis]), bounds[axis][1].max(point.coordinates[axis])];
        }
    }
    let width = |axis: &usize| bounds[*axis][1] - bounds[*axis][0];
    let widest = (0..D).max_by(|a, b| width(a).total_cmp(&width(b))).unwrap_or(0);
    if half > 0 && half < points.len() {
        points.select_nth_unstable_by(half, |a, b| {
            a.coordinates[widest].total_cmp(&b.coordinates[widest]).then(a.row.cmp(&b.row))
        });
    }
}

/// The squared distance between two points.
#[inline(always)]
pub(super) fn squared_distance<const D: usize>(a: &[f64; D], b: &[f64; D]) -> f64 {
    (0..D).map(|axis| (a[axis] - b[axis]) * (a[axis] - b[axis])).sum()
}
