//! Points in boxes: only boxes with points exist, sorted by their place, so that far-flung points cost nothing and the
//! boxes of a row are neighbours in memory.

use std::ops::Range;

use rayon::prelude::*;

use lowland_core::Points;

/// Coordinates up to this have exact places and centres, given a side of few bits.
pub(super) const WIDEST: f64 = (1u64 << 45) as f64;

/// Points sorted by box.
pub(super) struct Boxes<const D: usize> {
    /// Places of the boxes, in lexicographic order: multiples of the side.
    pub keys: Vec<[i64; D]>,
    /// Row of each point, box after box; in a box in the order of the rows.
    pub order: Vec<u32>,
    starts: Vec<usize>,
    side: f64,
}

impl<const D: usize> Boxes<D> {
    /// Sorts the points, whose coordinates are within [`WIDEST`]; `side` has at most six significant bits.
    pub fn new(points: Points, side: f64) -> Self {
        let place = |x: f64| {
            // The quotient is rounded; the product is exact.
            let guess = (x / side).floor();
            let guess = if guess * side > x { guess - 1.0 } else { guess };
            (if x - guess * side >= side { guess + 1.0 } else { guess }) as i64
        };
        let rows = points.values().par_chunks_exact(D).enumerate();
        let mut keyed: Vec<([i64; D], u32)> =
            rows.map(|(i, row)| (std::array::from_fn(|k| place(row[k])), i as u32)).collect();
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

    /// How many boxes there are.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Where the points of a box stand in [`Boxes::order`].
    pub fn range(&self, b: usize) -> Range<usize> {
        self.starts[b]..self.starts[b + 1]
    }

    /// The middle of a box.
    pub fn center(&self, b: usize) -> [f64; D] {
        self.keys[b].map(|key| (key as f64 + 0.5) * self.side)
    }

    /// The most points in a box.
    pub fn fullest(&self) -> usize {
        (0..self.len()).map(|b| self.range(b).len()).max().unwrap_or(0)
    }
}
