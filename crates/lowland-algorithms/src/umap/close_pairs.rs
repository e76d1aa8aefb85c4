//! Pairs of points that are closer than a given distance, found in sorted cells.

use rayon::prelude::*;

use lowland_core::Points;

use crate::objective::squared_distance;

/// Rows per task: fixed, because the order of summation depends on it.
const ROWS: usize = 256;
/// Cells along each of the first axes; points further out share the last ones.
const CELLS: f64 = (1u64 << 20) as f64;

/// The points of a map, sorted by cells as wide as the distance. Cells in a row are next to each other, so that all points near
/// another are in few ranges.
pub(super) struct ClosePairs {
    /// The cell of each sorted point, and the point.
    sorted: Vec<(u64, u32)>,
    low: [f64; 3],
    width: f64,
}

impl ClosePairs {
    /// Sorts points in one to three dimensions; `square` is the squared distance of close pairs.
    pub fn new(y: Points, square: f64) -> Self {
        let mut low = [f64::INFINITY; 3];
        for row in y.values().chunks_exact(y.dim()) {
            low.iter_mut().zip(row).for_each(|(low, v)| *low = low.min(*v));
        }
        let mut pairs = Self { sorted: Vec::new(), low, width: square.sqrt() };
        let key = |i: usize| (pairs.key(pairs.cell(y.row(i))), i as u32);
        let mut sorted: Vec<(u64, u32)> = (0..y.rows()).into_par_iter().map(key).collect();
        sorted.par_sort_unstable();
        pairs.sorted = sorted;
        pairs
    }

    /// Calls a function with every point and the points close to it, the point itself left out, and a number to add to; returns the sum
    /// of these numbers. `out` has `dim` numbers for each point, which the function may change.
    pub fn sum(&self, y: Points, out: &mut [f64], visit: impl Fn(usize, usize, f64, &mut [f64]) -> f64 + Sync) -> f64 {
        let (dim, square) = (y.dim(), self.width * self.width);
        let parts: Vec<f64> = out
            .par_chunks_mut(ROWS * dim)
            .enumerate()
            .map(|(chunk, out)| {
                let mut sum = 0.0;
                for (at, out) in out.chunks_exact_mut(dim).enumerate() {
                    let i = chunk * ROWS + at;
                    for range in self.ranges(self.cell(y.row(i)), dim) {
                        for &(_, j) in &self.sorted[range] {
                            let s = squared_distance(y.row(i), y.row(j as usize));
                            if s < square && j as usize != i {
                                sum += visit(i, j as usize, s, out);
                            }
                        }
                    }
                }
                sum
            })
            .collect();
        parts.iter().sum()
    }

    /// The cell of a point, counted from one, so that there is one before it.
    fn cell(&self, point: &[f64]) -> [u64; 3] {
        let mut cell = [1; 3];
        for (cell, (v, low)) in cell.iter_mut().zip(point.iter().zip(&self.low)) {
            *cell = 1 + ((v - low) / self.width).min(CELLS - 3.0) as u64;
        }
        cell
    }

    fn key(&self, [a, b, c]: [u64; 3]) -> u64 {
        (a << 42) | (b << 21) | c
    }

    /// The ranges of sorted points in the cell and those around it. The last axis of the keys is contiguous.
    fn ranges(&self, [a, b, c]: [u64; 3], dim: usize) -> impl Iterator<Item = std::ops::Range<usize>> {
        let around = |cell: u64, used: bool| if used { cell - 1..=cell + 1 } else { cell..=cell };
        let (third, second) = (around(c, dim > 2), around(b, dim > 1));
        let cells = around(a, true).flat_map(move |a| second.clone().map(move |b| (a, b)));
        cells.map(move |(a, b)| {
            let (first, last) = (self.key([a, b, *third.start()]), self.key([a, b, *third.end()]));
            let start = self.sorted.partition_point(|entry| entry.0 < first);
            start..start + self.sorted[start..].partition_point(|entry| entry.0 <= last)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lowland_core::Seed;

    #[test]
    fn every_close_pair_is_found_once_in_each_direction() {
        for dim in 1..=3 {
            let values: Vec<f64> = Seed(dim as u64).normals(200 * dim).iter().map(|v| 2.0 * v - 5.0).collect();
            let y = Points::new(&values, dim).unwrap();
            let square = 0.5;
            let pairs = ClosePairs::new(y, square);
            let mut counts = vec![0.0; values.len()];
            let total = pairs.sum(y, &mut counts, |_, _, s, out| {
                out[0] += 1.0;
                s
            });
            let near = |i: usize| (0..200).filter(move |&j| j != i).map(move |j| squared_distance(y.row(i), y.row(j)));
            let expected: f64 = (0..200).flat_map(near).filter(|&s| s < square).sum();
            assert!((total - expected).abs() < 1e-9, "{dim}: {total} {expected}");
            assert!((0..200).all(|i| counts[i * dim] == near(i).filter(|&s| s < square).count() as f64));
        }
    }
}
