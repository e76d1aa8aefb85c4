//! Positions of points on the grid, and the order in which points are visited.
//!
//! Points are sorted by bands of planes within chunks of a fixed size: the points of a band are then visited chunk by chunk,
//! always in the same order, and each chunk writes only to its own part of the output.

use rayon::prelude::*;

use lowland_core::Points;

/// Points sorted together.
pub(super) const CHUNK: usize = 4096;

/// Where the grid lies in space: `node = coordinate / spacing - first`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct GridFrame {
    /// Nodes per unit of length.
    pub(super) per_unit: f64,
    /// Index of the first node of each axis, counted from the coordinate zero.
    pub(super) first: [f64; 3],
}

impl GridFrame {
    /// The cell of a point on one axis, and its position in the cell, from 0 to 1.
    #[inline(always)]
    pub(super) fn locate(&self, axis: usize, coordinate: f64) -> (usize, f64) {
        let at = coordinate * self.per_unit - self.first[axis];
        let cell = at as u32;
        (cell as usize, at - f64::from(cell))
    }
}

/// Points sorted by their bands within each chunk.
#[derive(Debug, Default)]
pub(super) struct BinnedPoints {
    order: Vec<u32>,
    /// For each chunk, where each of its bands begins, and the end of the last.
    starts: Vec<u32>,
    bands: usize,
}

impl BinnedPoints {
    /// Sorts the points by bands of `height` planes.
    pub(super) fn fill(&mut self, points: Points, frame: &GridFrame, height: usize, bands: usize) {
        self.bands = bands;
        self.order.resize(points.rows(), 0);
        self.starts.clear();
        self.starts.resize(points.rows().div_ceil(CHUNK) * (bands + 1), 0);
        let chunks = self.order.par_chunks_mut(CHUNK).zip(self.starts.par_chunks_mut(bands + 1)).enumerate();
        chunks.for_each(|(chunk, (order, starts))| {
            let first = chunk * CHUNK;
            let band = |i: usize| frame.locate(0, points.values()[i * points.dim()]).0 / height;
            let mut bands = [0u16; CHUNK];
            for at in 0..order.len() {
                bands[at] = band(first + at) as u16;
                starts[bands[at] as usize + 1] += 1;
            }
            (1..starts.len()).for_each(|b| starts[b] += starts[b - 1]);
            // Counting up the start of each band leaves there the start of the next: shifted back afterwards.
            for at in 0..order.len() {
                let next = &mut starts[bands[at] as usize];
                order[*next as usize] = (first + at) as u32;
                *next += 1;
            }
            starts.copy_within(..starts.len() - 1, 1);
            starts[0] = 0;
        });
    }

    /// The points of a band, a run from each chunk.
    pub(super) fn band(&self, band: usize) -> impl Iterator<Item = &[u32]> {
        let starts = self.starts.chunks_exact(self.bands + 1);
        self.order
            .chunks(CHUNK)
            .zip(starts)
            .map(move |(order, starts)| &order[starts[band] as usize..starts[band + 1] as usize])
    }

    /// Number of bands.
    pub(super) fn bands(&self) -> usize {
        self.bands
    }

    /// The points, chunk by chunk.
    pub(super) fn order(&self) -> &[u32] {
        &self.order
    }
}
