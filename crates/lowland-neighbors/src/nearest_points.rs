//! Nearest neighbors among the points of a map, whose coordinates are `f64`.

use super::inner_product::unit_scale;
use super::nearest::{check_count, to_graph};
use super::{NeighborGraph, brute_force, kdtree};
use lowland_core::run::Progress;
use lowland_core::{Error, Metric, Points, Result};

/// Returns the nearest other points of every point of a map, exactly.
///
/// Squared distances are compared in `f64`, ties by index. The graph holds the distances rounded to `f32`, and lists the
/// neighbors of a row in the order of these (ties by index). Uses a k-d tree for up to eight dimensions, and compares all
/// pairs above.
pub fn nearest_points(points: Points, n_neighbors: usize) -> Result<NeighborGraph> {
    nearest_points_with(points, n_neighbors, &mut |_| Ok(()))
}

/// Like [`nearest_points`], and reports progress.
pub fn nearest_points_with(points: Points, n_neighbors: usize, progress: &mut Progress) -> Result<NeighborGraph> {
    let (rows, dim) = (points.rows(), points.dim());
    if let Some(at) = points.values().iter().position(|x| !x.is_finite()) {
        let count = points.values().iter().filter(|x| !x.is_finite()).count();
        return Err(Error::NotFinite {
            row: at / dim,
            column: at % dim,
            value: points.values()[at] as f32,
            count,
            name: None,
        });
    }
    check_count(n_neighbors, rows, true)?;
    // Squares must neither overflow nor vanish; a power of two changes no comparison.
    let largest = points.values().iter().fold(0.0, |most: f64, x| most.max(x.abs()));
    let scale = if (1e-100..=1e100).contains(&largest) { 1.0 } else { unit_scale(largest) };
    let scaled: Vec<f64>;
    let values = if scale == 1.0 {
        points.values()
    } else {
        scaled = points.values().iter().map(|x| x * scale).collect();
        &scaled
    };
    let found = match dim {
        1 => kdtree::nearest::<1>(values, n_neighbors, progress)?,
        2 => kdtree::nearest::<2>(values, n_neighbors, progress)?,
        3 => kdtree::nearest::<3>(values, n_neighbors, progress)?,
        4 => kdtree::nearest::<4>(values, n_neighbors, progress)?,
        5 => kdtree::nearest::<5>(values, n_neighbors, progress)?,
        6 => kdtree::nearest::<6>(values, n_neighbors, progress)?,
        7 => kdtree::nearest::<7>(values, n_neighbors, progress)?,
        8 => kdtree::nearest::<8>(values, n_neighbors, progress)?,
        _ => brute_force::nearest(values, dim, n_neighbors, progress)?,
    };
    let rounded = found.into_iter().map(|(squared, j)| ((squared.sqrt() / scale) as f32, j)).collect();
    to_graph(rounded, n_neighbors, rows, Metric::Euclidean)
}

/// The `k` smallest pairs (squared distance, index) offered so far, in ascending order.
pub(super) struct NearestList {
    pub best: Vec<(f64, u32)>,
    k: usize,
}

impl NearestList {
    pub(super) fn new(k: usize) -> Self {
        Self { best: Vec::with_capacity(k + 1), k }
    }

    /// Inserts a pair if it is among the `k` smallest.
    #[inline]
    pub(super) fn offer(&mut self, squared: f64, j: u32) {
        if self.best.len() == self.k {
            let last = self.best[self.k - 1];
            if squared > last.0 || (squared == last.0 && j > last.1) {
                return;
            }
            self.best.pop();
        }
        let at = self.best.partition_point(|&(d, i)| d < squared || (d == squared && i < j));
        self.best.insert(at, (squared, j));
    }

    /// Returns the last pair of the list; infinite while the list is not full.
    pub(super) fn worst(&self) -> (f64, u32) {
        if self.best.len() < self.k { (f64::INFINITY, u32::MAX) } else { self.best[self.k - 1] }
    }
}
