//! Points grouped into boxes. Only boxes with points are stored, sorted by position, so that outliers cost nothing and the
//! boxes of a row are adjacent in memory.

use std::ops::Range;

use rayon::prelude::*;

use lowland_core::Points;

/// Coordinates up to this have exact box positions and centers, given a side of few bits.
pub(super) const MAX_BOX_COORDINATE: f64 = (1u64 << 45) as f64;

/// Points sorted by box.
pub(super) struct PointBoxes<const D: usize> {
    /// Positions of the boxes in lexicographic order, in multiples of the side.
    pub keys: Vec<[i64; D]>,
    /// Row of each point, box by box; within a box in increasing order.
    pub order: Vec<u32>,
    starts: Vec<usize>,
    side: f64,
}

impl<const D: usize> PointBoxes<D> {
    /// Sorts the points, whose coordinates are within [`MAX_BOX_COORDINATE`]; `side` has at most six significant bits.
    pub fn new(points: Points, side: f64) -> Self {
        let position = |x: f64| {
            // The quotient is rounded; the product is exact.
            let guess = (x / side).floor();
            let guess = if guess * side > x { guess - 1.0 } else { guess };
            (if x - guess * side >= side { guess + 1.0 } else { guess }) as i64
        };
        let rows = points.values().par_chunks_exact(D).enumerate();
        let mut keyed: Vec<([i64; D], u32)> =
            rows.map(|(i, row)| (std::array::from_fn(|k| position(row[k])), i as u32)).collect();
        keyed.par_sort_unstable();
        let mut keys: Vec<[i64; D]> = Vec::new();
        let mut starts = Vec::new();
        for (at, (key, _)) in keyed.iter().enumerate() {
            if keys.last() != Some(key) {
                keys.push(*key);
                starts.push(at);
            }
        }
        starts.push(keyed.len());
        Self { keys, order: keyed.into_iter().map(|(_, row)| row).collect(), starts, side }
    }

    /// Number of boxes.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// The range of the points of a box in [`PointBoxes::order`].
    pub fn range(&self, b: usize) -> Range<usize> {
        self.starts[b]..self.starts[b + 1]
    }

    /// The center of a box.
    pub fn center(&self, b: usize) -> [f64; D] {
        self.keys[b].map(|key| (key as f64 + 0.5) * self.side)
    }

    /// The maximum number of points in a box.
    pub fn max_points(&self) -> usize {
        (0..self.len()).map(|b| self.range(b).len()).max().unwrap_or(0)
    }
}
