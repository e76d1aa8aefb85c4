//! The matrix `B`, which is `Z` where `S` is zero and zero elsewhere, in tiles of the upper triangle.
//!
//! With memory for two matrices the tiles are stored, because momentum needs them; otherwise they are computed again
//! whenever `Z` is applied, and nothing of size `n^2` is allocated.

use std::ops::Range;

use rayon::prelude::*;

use super::tiles::{MatrixTile, TILE, TileGroup, TileNumber, TilePass, TileSums};
use lowland_core::Result;
use lowland_core::archive::Archive;
use lowland_linalg::Csr;

/// Number of groups that row blocks are assigned to, each with its own sums. Fixed, because the sums depend on it.
const GROUP_COUNT: usize = 16;

/// Checkpoint keys of the stored tiles: `B_(t-1)` and `B_t`.
const STORED_KEYS: [&str; 2] = ["tsm/older", "tsm/newer"];

/// `B` in either precision.
pub(super) trait OffPatternMatrix: Send {
    /// Computes `B` of the next `L = left right'` (row-major, `rank` columns) and adds `B x` to `out` (both `n x
    /// columns`).
    fn advance(
        &mut self,
        factors: (&[f64], &[f64], usize),
        momentum: f64,
        x: &[f64],
        columns: usize,
        out: &mut [f64],
    ) -> TileSums;
    /// Adds `B x` to `out`.
    fn apply(&mut self, x: &[f64], columns: usize, out: &mut [f64]);
    /// Whether tiles are stored, and with them the momentum of every entry.
    fn is_stored(&self) -> bool;
    /// Writes the stored tiles to a checkpoint.
    fn save(&self, archive: &mut Archive);
    /// Reads the stored tiles from a checkpoint.
    fn restore(&mut self, archive: &Archive) -> Result<()>;
}

/// `B` in tiles of type `T`.
pub(super) struct OffPatternTiles<T> {
    rows: usize,
    groups: Vec<TileGroup<T>>,
    stored: bool,
    /// `L = left right'`, both `n x rank`.
    left: Vec<T>,
    right: Vec<T>,
    rank: usize,
}

impl<T: TileNumber> OffPatternTiles<T> {
    /// A matrix of zeros off the pattern of `similarities`; `stored` says whether tiles are stored.
    pub fn new(similarities: &Csr, stored: bool) -> Self {
        let n = similarities.rows();
        let blocks: Vec<Range<usize>> = (0..n).step_by(TILE).map(|start| start..n.min(start + TILE)).collect();
        let count = GROUP_COUNT.min(blocks.len());
        let groups = (0..count).into_par_iter().map(|group| {
            let (mut tiles, mut pattern, mut at) = (Vec::new(), Vec::new(), 0);
            for rows in blocks.iter().skip(group).step_by(GROUP_COUNT) {
                for columns in blocks.iter().filter(|columns| columns.start >= rows.start) {
                    let first = pattern.len();
                    for i in rows.clone() {
                        let entries = similarities.row(i).0;
                        let from = entries.partition_point(|&j| (j as usize) < columns.start);
                        let inside = entries[from..].iter().take_while(|&&j| (j as usize) < columns.end);
                        let row_start = (i - rows.start) * columns.len();
                        pattern.extend(inside.map(|&j| (row_start + j as usize - columns.start) as u32));
                    }
                    let (rows, columns) = (rows.clone(), columns.clone());
                    let tile = MatrixTile { rows, columns, at, pattern: first..pattern.len() };
                    at += tile.len();
                    tiles.push(tile);
                }
            }
            let size = if stored { at } else { 0 };
            let (newer, older) = (vec![T::default(); size], vec![T::default(); size]);
            TileGroup { tiles, pattern, newer, older, scratch: vec![T::default(); TILE * TILE], product: Vec::new() }
        });
        Self { rows: n, groups: groups.collect(), stored, left: Vec::new(), right: Vec::new(), rank: 0 }
    }

    /// Bytes needed for `n` rows and `block` columns, with tiles stored or not.
    pub fn memory(n: f64, block: f64, stored: bool) -> f64 {
        let size = size_of::<T>() as f64;
        let tile = n.min(TILE as f64);
        let tiles = if stored { n * (n + tile) * size } else { 0.0 };
        let groups = (n / TILE as f64).ceil().min(GROUP_COUNT as f64);
        // Products of the groups with a block, and the factors.
        tiles + groups * (n * block + (TILE * TILE) as f64) * size + 2.0 * n * block * size
    }

    /// Processes all groups, adds `B x` to `out`, and returns the sums of all tiles.
    fn process(&mut self, pass: TilePass<T>, x: &[f64], columns: usize, out: &mut [f64]) -> TileSums {
        let x: Vec<T> = x.iter().map(|&v| T::of(v)).collect();
        let size = self.rows * columns;
        let (left, right, rank, stored) = (&self.left, &self.right, self.rank, self.stored);
        let sums: Vec<TileSums> = self
            .groups
            .par_iter_mut()
            .with_max_len(1)
            .map(|group| {
                group.product.clear();
                group.product.resize(size, T::default());
                group.run(pass, (left, right, rank), stored, &x, columns)
            })
            .collect();
        out.par_chunks_mut(4096).enumerate().for_each(|(chunk, out)| {
            for group in &self.groups {
                let part = &group.product[chunk * 4096..][..out.len()];
                out.iter_mut().zip(part).for_each(|(out, &part)| *out += part.into());
            }
        });
        sums.into_iter().fold(TileSums::default(), |mut total, part| {
            total.add(part, 1.0);
            total
        })
    }
}

impl<T: TileNumber> OffPatternMatrix for OffPatternTiles<T> {
    fn advance(
        &mut self,
        (left, right, rank): (&[f64], &[f64], usize),
        momentum: f64,
        x: &[f64],
        columns: usize,
        out: &mut [f64],
    ) -> TileSums {
        self.left = left.iter().map(|&v| T::of(v)).collect();
        self.right = right.iter().map(|&v| T::of(v)).collect();
        self.rank = rank;
        let sums = self.process(TilePass::Advance { momentum: T::of(momentum) }, x, columns, out);
        self.groups.iter_mut().for_each(|group| std::mem::swap(&mut group.newer, &mut group.older));
        sums
    }

    fn apply(&mut self, x: &[f64], columns: usize, out: &mut [f64]) {
        self.process(TilePass::Apply, x, columns, out);
    }

    fn is_stored(&self) -> bool {
        self.stored
    }

    fn save(&self, archive: &mut Archive) {
        if self.stored {
            let all = |tiles: fn(&TileGroup<T>) -> &Vec<T>| self.groups.iter().flat_map(tiles).copied().collect();
            T::put(archive, STORED_KEYS[0], all(|group| &group.older));
            T::put(archive, STORED_KEYS[1], all(|group| &group.newer));
        }
    }

    fn restore(&mut self, archive: &Archive) -> Result<()> {
        if !self.stored {
            return Ok(());
        }
        let (older, newer) = (T::get(archive, STORED_KEYS[0])?, T::get(archive, STORED_KEYS[1])?);
        let size: usize = self.groups.iter().map(|group| group.newer.len()).sum();
        if older.len() != size || newer.len() != size {
            return Err(archive.invalid("its tiles are of another size".into()));
        }
        let mut at = 0;
        for group in &mut self.groups {
            let len = group.newer.len();
            group.older.copy_from_slice(&older[at..at + len]);
            group.newer.copy_from_slice(&newer[at..at + len]);
            at += len;
        }
        Ok(())
    }
}
