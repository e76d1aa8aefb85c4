//! Tiles of `Z` where `S` is zero: `B_t = min(0, L_t) + gamma (B_(t-1) - B_(t-2))`.
//!
//! Each tile of `L` is a product of its factors; it is computed, clamped, and multiplied with the block while it is
//! in the cache.

use std::ops::{Add, AddAssign, Mul, Range, Sub};

use lowland_core::simd::simd_dispatch;

use lowland_core::Result;
use lowland_core::archive::Archive;
use lowland_linalg::dense::{Real, product_nn_add, product_nt, product_tn_add};

/// Rows and columns of a tile: three of them in `f32` fill the second-level cache.
pub(super) const TILE: usize = 256;
/// Number of partial sums, whatever the width of the registers.
const LANES: usize = 16;

/// The precision of the tiles, `f32` or `f64`.
pub(super) trait TileNumber:
    Real + AddAssign + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + PartialOrd + Default + Into<f64>
{
    /// Rounds to this type.
    fn of(value: f64) -> Self;
    /// Writes values to an archive.
    fn put(archive: &mut Archive, name: &str, values: Vec<Self>);
    /// Reads values from an archive.
    fn get<'a>(archive: &'a Archive, name: &str) -> Result<&'a [Self]>;
}

impl TileNumber for f32 {
    fn of(value: f64) -> Self {
        value as f32
    }

    fn put(archive: &mut Archive, name: &str, values: Vec<Self>) {
        archive.put(name, values);
    }

    fn get<'a>(archive: &'a Archive, name: &str) -> Result<&'a [Self]> {
        archive.f32s(name)
    }
}

impl TileNumber for f64 {
    fn of(value: f64) -> Self {
        value
    }

    fn put(archive: &mut Archive, name: &str, values: Vec<Self>) {
        archive.put(name, values);
    }

    fn get<'a>(archive: &'a Archive, name: &str) -> Result<&'a [Self]> {
        archive.f64s(name)
    }
}

/// One tile of the upper triangle.
#[derive(Clone)]
pub(super) struct MatrixTile {
    pub rows: Range<usize>,
    pub columns: Range<usize>,
    /// Its offset in the storage of its group.
    pub at: usize,
    /// Its range in the pattern of its group.
    pub pattern: Range<usize>,
}

impl MatrixTile {
    /// Number of values.
    pub fn len(&self) -> usize {
        self.rows.len() * self.columns.len()
    }

    /// How often each of its values occurs in the whole matrix.
    fn multiplicity(&self) -> f64 {
        if self.rows.start == self.columns.start { 1.0 } else { 2.0 }
    }
}

/// The tiles of some row blocks, processed by one task.
pub(super) struct TileGroup<T> {
    pub tiles: Vec<MatrixTile>,
    /// The positions of the entries of `S` in the tiles, which are zero here.
    pub pattern: Vec<u32>,
    /// `B_t` and `B_(t-1)`; empty if tiles are not stored.
    pub newer: Vec<T>,
    pub older: Vec<T>,
    /// A buffer of one tile.
    pub scratch: Vec<T>,
    /// The product of the group's tiles with the block.
    pub product: Vec<T>,
}

/// Sums over the entries where `S` is zero.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct TileSums {
    /// The sum of `min(0, L)`.
    pub clamped: f64,
    /// The sum of `B`.
    pub linear: f64,
    /// The sum of `B^2`.
    pub square: f64,
}

impl TileSums {
    /// Adds `factor` times other sums.
    pub fn add(&mut self, other: TileSums, factor: f64) {
        self.clamped += factor * other.clamped;
        self.linear += factor * other.linear;
        self.square += factor * other.square;
    }
}

/// What to do with each tile before multiplying.
#[derive(Clone, Copy)]
pub(super) enum TilePass<T> {
    /// Compute the next `B`.
    Advance { momentum: T },
    /// Use the current `B`.
    Apply,
}

impl<T: TileNumber> TileGroup<T> {
    /// Processes all tiles for `L = left right'` and adds their products with `x` to `product`.
    pub fn run(
        &mut self,
        pass: TilePass<T>,
        (left, right, rank): (&[T], &[T], usize),
        stored: bool,
        x: &[T],
        columns: usize,
    ) -> TileSums {
        let mut sums = TileSums::default();
        for tile in &self.tiles {
            let (width, range) = (tile.columns.len(), tile.at..tile.at + tile.len());
            if !stored || matches!(pass, TilePass::Advance { .. }) {
                let low = &mut self.scratch[..tile.len()];
                let (rows, others) = (row_range(&tile.rows, rank), row_range(&tile.columns, rank));
                product_nt(&left[rows], &right[others], rank, low);
                self.pattern[tile.pattern.clone()].iter().for_each(|&at| low[at as usize] = T::default());
                let part = match pass {
                    TilePass::Advance { momentum } if stored => {
                        advance(low, &self.newer[range.clone()], &mut self.older[range.clone()], momentum, width)
                    }
                    _ => clamp(low, width),
                };
                sums.add(part, tile.multiplicity());
            }
            let values = match pass {
                _ if !stored => &self.scratch[..tile.len()],
                TilePass::Advance { .. } => &self.older[range],
                TilePass::Apply => &self.newer[range],
            };
            let (rows, others) = (row_range(&tile.rows, columns), row_range(&tile.columns, columns));
            product_nn_add(values, &x[others.clone()], width, &mut self.product[rows.clone()]);
            if tile.multiplicity() > 1.0 {
                product_tn_add(values, &x[rows], tile.rows.len(), &mut self.product[others]);
            }
        }
        sums
    }
}

/// The range of the values of some rows in a row-major matrix.
fn row_range(rows: &Range<usize>, columns: usize) -> Range<usize> {
    rows.start * columns..rows.end * columns
}

/// `older = min(0, low) + momentum (newer - older)`, row by row; returns the sums.
#[simd_dispatch]
fn advance<T: TileNumber>(low: &[T], newer: &[T], older: &mut [T], momentum: T, width: usize) -> TileSums {
    let mut sums = TileSums::default();
    let rows = low.chunks_exact(width).zip(newer.chunks_exact(width)).zip(older.chunks_exact_mut(width));
    for ((low, newer), older) in rows {
        let mut lanes = [[T::default(); LANES]; 3];
        let (mut low, mut newer, mut older) =
            (low.chunks_exact(LANES), newer.chunks_exact(LANES), older.chunks_exact_mut(LANES));
        for ((low, newer), older) in (&mut low).zip(&mut newer).zip(&mut older) {
            for lane in 0..LANES {
                let clamped = if low[lane] < T::default() { low[lane] } else { T::default() };
                let value = clamped + momentum * (newer[lane] - older[lane]);
                older[lane] = value;
                lanes[0][lane] += clamped;
                lanes[1][lane] += value;
                lanes[2][lane] += value * value;
            }
        }
        let rest = low.remainder().iter().zip(newer.remainder()).zip(older.into_remainder());
        for (lane, ((&low, &newer), older)) in rest.enumerate() {
            let clamped = if low < T::default() { low } else { T::default() };
            let value = clamped + momentum * (newer - *older);
            *older = value;
            lanes[0][lane] += clamped;
            lanes[1][lane] += value;
            lanes[2][lane] += value * value;
        }
        sums.add(sum_lanes(lanes), 1.0);
    }
    sums
}

/// `low = min(0, low)`, row by row; returns the sums.
#[simd_dispatch]
fn clamp<T: TileNumber>(low: &mut [T], width: usize) -> TileSums {
    let mut sums = TileSums::default();
    for row in low.chunks_exact_mut(width) {
        let mut lanes = [[T::default(); LANES]; 3];
        for group in row.chunks_mut(LANES) {
            for (lane, value) in group.iter_mut().enumerate() {
                *value = if *value < T::default() { *value } else { T::default() };
                lanes[1][lane] += *value;
                lanes[2][lane] += *value * *value;
            }
        }
        lanes[0] = lanes[1];
        sums.add(sum_lanes(lanes), 1.0);
    }
    sums
}

/// Adds up the lanes of the three sums.
fn sum_lanes<T: TileNumber>(lanes: [[T; LANES]; 3]) -> TileSums {
    let [clamped, linear, square] = lanes.map(|lanes| lanes.into_iter().map(Into::<f64>::into).sum());
    TileSums { clamped, linear, square }
}
