//! `Z` where `S` is zero: `B_t = min(0, L_t) + gamma (B_(t-1) - B_(t-2))`, in tiles of the upper triangle.
//!
//! Each tile of `L` is a product of its factors; it is made, clamped, and multiplied into the block while it is in the cache.
//! With memory for two matrices the tiles are kept (momentum needs them); without, they are made again whenever `Z` is
//! applied, and nothing of size `n^2` exists.

use std::ops::{Add, AddAssign, Mul, Range, Sub};

use rayon::prelude::*;

use lowland_core::Result;
use lowland_core::archive::Archive;
use lowland_core::simd::simd_dispatch;
use lowland_linalg::Csr;
use lowland_linalg::dense::{Real, product_nn_add, product_nt, product_tn_add};

/// Rows and columns of a tile: three of them in `f32` fill the second-level cache.
const TILE: usize = 256;
/// Row blocks are dealt to this many groups, each with its own sums: fixed, because sums depend on it.
const GROUPS: usize = 16;
/// Sums side by side, whatever the width of the registers.
const LANES: usize = 16;

/// `f32` or `f64`, with its arithmetic.
pub(super) trait Number:
    Real + AddAssign + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + PartialOrd + Default + Into<f64>
{
    fn of(value: f64) -> Self;
}

impl Number for f32 {
    fn of(value: f64) -> Self {
        value as f32
    }
}

impl Number for f64 {
    fn of(value: f64) -> Self {
        value
    }
}

/// One tile of the upper triangle.
#[derive(Clone)]
struct Tile {
    rows: Range<usize>,
    columns: Range<usize>,
    /// Where it lies in its group's storage.
    at: usize,
    /// Its part of the group's holes.
    holes: Range<usize>,
}

impl Tile {
    fn len(&self) -> usize {
        self.rows.len() * self.columns.len()
    }

    /// How often each of its values stands in the whole matrix.
    fn times(&self) -> f64 {
        if self.rows.start == self.columns.start { 1.0 } else { 2.0 }
    }
}

/// The tiles of some row blocks, their holes (places of `S`'s entries, which are zero here), and sums.
struct Group<T> {
    tiles: Vec<Tile>,
    holes: Vec<u32>,
    /// `B_t` and `B_(t-1)`; empty when tiles are not kept.
    newer: Vec<T>,
    older: Vec<T>,
    scratch: Vec<T>,
    product: Vec<T>,
}

/// Sums over the places where `S` is zero.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Sums {
    /// Of `min(0, L)`.
    pub clamped: f64,
    /// Of `B`.
    pub linear: f64,
    /// Of `B^2`.
    pub square: f64,
}

impl Sums {
    fn add(&mut self, other: Sums, times: f64) {
        self.clamped += times * other.clamped;
        self.linear += times * other.linear;
        self.square += times * other.square;
    }
}

/// `B`, and what is needed to make and apply it.
pub(super) struct OffPattern<T> {
    rows: usize,
    groups: Vec<Group<T>>,
    kept: bool,
    /// `L = left right'`, both `n x rank`.
    left: Vec<T>,
    right: Vec<T>,
    rank: usize,
}

/// What a pass over the tiles does before it multiplies.
#[derive(Clone, Copy)]
enum Pass<T> {
    /// Makes the next `B`.
    Advance { momentum: T },
    /// Uses the `B` there is.
    Apply,
}

impl<T: Number> OffPattern<T> {
    /// All zero, beside the pattern of `similar`; `kept` says whether tiles are stored.
    pub fn new(similar: &Csr, kept: bool) -> Self {
        let n = similar.rows();
        let blocks: Vec<Range<usize>> = (0..n).step_by(TILE).map(|start| start..n.min(start + TILE)).collect();
        let count = GROUPS.min(blocks.len());
        let groups = (0..count).into_par_iter().map(|group| {
            let (mut tiles, mut holes, mut at) = (Vec::new(), Vec::new(), 0);
            for rows in blocks.iter().skip(group).step_by(GROUPS) {
                for columns in blocks.iter().filter(|columns| columns.start >= rows.start) {
                    let first = holes.len();
                    for i in rows.clone() {
                        let entries = similar.row(i).0;
                        let from = entries.partition_point(|&j| (j as usize) < columns.start);
                        let inside = entries[from..].iter().take_while(|&&j| (j as usize) < columns.end);
                        let line = (i - rows.start) * columns.len();
                        holes.extend(inside.map(|&j| (line + j as usize - columns.start) as u32));
                    }
                    let tile = Tile { rows: rows.clone(), columns: columns.clone(), at, holes: first..holes.len() };
                    at += tile.len();
                    tiles.push(tile);
                }
            }
            let stored = if kept { at } else { 0 };
            let (newer, older) = (vec![T::default(); stored], vec![T::default(); stored]);
            Group { tiles, holes, newer, older, scratch: vec![T::default(); TILE * TILE], product: Vec::new() }
        });
        Self { rows: n, groups: groups.collect(), kept, left: Vec::new(), right: Vec::new(), rank: 0 }
    }

    /// Bytes for `n` rows, `block` columns, tiles kept or not.
    pub fn memory(n: f64, block: f64, kept: bool) -> f64 {
        let size = size_of::<T>() as f64;
        let stored = if kept { n * (n + TILE as f64) * size } else { 0.0 };
        stored + GROUPS as f64 * (n * block + (TILE * TILE) as f64) * size
    }

    /// Makes `B` of the next `L = left right'` (row-major, `rank` columns) and adds `B x` to `out` (both `n x columns`).
    pub fn advance(
        &mut self,
        (left, right, rank): (&[f64], &[f64], usize),
        momentum: f64,
        x: &[f64],
        columns: usize,
        out: &mut [f64],
    ) -> Sums {
        self.left = left.iter().map(|&v| T::of(v)).collect();
        self.right = right.iter().map(|&v| T::of(v)).collect();
        self.rank = rank;
        let sums = self.sweep(Pass::Advance { momentum: T::of(momentum) }, x, columns, out);
        self.groups.iter_mut().for_each(|group| std::mem::swap(&mut group.newer, &mut group.older));
        sums
    }

    /// Adds `B x` to `out`.
    pub fn apply(&mut self, x: &[f64], columns: usize, out: &mut [f64]) {
        self.sweep(Pass::Apply, x, columns, out);
    }

    fn sweep(&mut self, pass: Pass<T>, x: &[f64], columns: usize, out: &mut [f64]) -> Sums {
        let x: Vec<T> = x.iter().map(|&v| T::of(v)).collect();
        let size = self.rows * columns;
        let (left, right, rank, kept) = (&self.left, &self.right, self.rank, self.kept);
        let sums: Vec<Sums> = self
            .groups
            .par_iter_mut()
            .with_max_len(1)
            .map(|group| {
                group.product.clear();
                group.product.resize(size, T::default());
                group.run(pass, (left, right, rank), kept, &x, columns)
            })
            .collect();
        out.par_chunks_mut(4096).enumerate().for_each(|(chunk, out)| {
            for group in &self.groups {
                let part = &group.product[chunk * 4096..][..out.len()];
                out.iter_mut().zip(part).for_each(|(out, &part)| *out += part.into());
            }
        });
        sums.into_iter().fold(Sums::default(), |mut total, part| {
            total.add(part, 1.0);
            total
        })
    }

    /// The stored tiles, oldest first, for a checkpoint.
    pub fn stored(&self) -> [Vec<T>; 2] {
        let all = |which: fn(&Group<T>) -> &Vec<T>| self.groups.iter().flat_map(|g| which(g).iter().copied()).collect();
        [all(|group| &group.older), all(|group| &group.newer)]
    }

    /// Takes up what [`Self::stored`] gave; `false` when the sizes differ.
    pub fn restore(&mut self, older: &[T], newer: &[T]) -> bool {
        let size: usize = self.groups.iter().map(|group| group.newer.len()).sum();
        if older.len() != size || newer.len() != size {
            return false;
        }
        let mut at = 0;
        for group in &mut self.groups {
            let len = group.newer.len();
            group.older.copy_from_slice(&older[at..at + len]);
            group.newer.copy_from_slice(&newer[at..at + len]);
            at += len;
        }
        true
    }
}

impl<T: Number> Group<T> {
    fn run(
        &mut self,
        pass: Pass<T>,
        (left, right, rank): (&[T], &[T], usize),
        kept: bool,
        x: &[T],
        columns: usize,
    ) -> Sums {
        let mut sums = Sums::default();
        for tile in &self.tiles {
            let (width, place) = (tile.columns.len(), tile.at..tile.at + tile.len());
            if !kept || matches!(pass, Pass::Advance { .. }) {
                let fresh = &mut self.scratch[..tile.len()];
                let (rows, others) = (block(&tile.rows, rank), block(&tile.columns, rank));
                product_nt(&left[rows], &right[others], rank, fresh);
                self.holes[tile.holes.clone()].iter().for_each(|&hole| fresh[hole as usize] = T::default());
                let part = match pass {
                    Pass::Advance { momentum } if kept => {
                        advance(fresh, &self.newer[place.clone()], &mut self.older[place.clone()], momentum, width)
                    }
                    _ => clamp(fresh, width),
                };
                sums.add(part, tile.times());
            }
            let values = match pass {
                _ if !kept => &self.scratch[..tile.len()],
                Pass::Advance { .. } => &self.older[place],
                Pass::Apply => &self.newer[place],
            };
            let (rows, others) = (block(&tile.rows, columns), block(&tile.columns, columns));
            product_nn_add(values, &x[others.clone()], width, &mut self.product[rows.clone()]);
            if tile.times() > 1.0 {
                product_tn_add(values, &x[rows], tile.rows.len(), &mut self.product[others]);
            }
        }
        sums
    }
}

fn block(range: &Range<usize>, columns: usize) -> Range<usize> {
    range.start * columns..range.end * columns
}

/// `older = min(0, low) + momentum (newer - older)`, row by row, with its sums.
#[simd_dispatch]
fn advance<T: Number>(low: &[T], newer: &[T], older: &mut [T], momentum: T, width: usize) -> Sums {
    let mut sums = Sums::default();
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
        sums.add(total(lanes), 1.0);
    }
    sums
}

/// `low = min(0, low)`, row by row, with its sums.
#[simd_dispatch]
fn clamp<T: Number>(low: &mut [T], width: usize) -> Sums {
    let mut sums = Sums::default();
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
        sums.add(total(lanes), 1.0);
    }
    sums
}

fn total<T: Number>(lanes: [[T; LANES]; 3]) -> Sums {
    let [clamped, linear, square] = lanes.map(|lanes| lanes.into_iter().map(Into::<f64>::into).sum());
    Sums { clamped, linear, square }
}

/// [`OffPattern`] in either precision.
pub(super) trait Tiles: Send {
    /// [`OffPattern::advance`].
    fn advance(
        &mut self,
        low: (&[f64], &[f64], usize),
        momentum: f64,
        x: &[f64],
        columns: usize,
        out: &mut [f64],
    ) -> Sums;
    /// [`OffPattern::apply`].
    fn apply(&mut self, x: &[f64], columns: usize, out: &mut [f64]);
    /// Whether tiles are stored, and with them the momentum of every entry.
    fn kept(&self) -> bool;
    /// Puts the stored tiles into a checkpoint.
    fn save(&self, archive: &mut Archive);
    /// Takes them up.
    fn restore(&mut self, archive: &Archive) -> Result<()>;
}

const STORED: [&str; 2] = ["tsm/older", "tsm/newer"];

macro_rules! tiles {
    ($type:ty, $read:ident) => {
        impl Tiles for OffPattern<$type> {
            fn advance(
                &mut self,
                low: (&[f64], &[f64], usize),
                momentum: f64,
                x: &[f64],
                columns: usize,
                out: &mut [f64],
            ) -> Sums {
                OffPattern::advance(self, low, momentum, x, columns, out)
            }

            fn apply(&mut self, x: &[f64], columns: usize, out: &mut [f64]) {
                OffPattern::apply(self, x, columns, out);
            }

            fn kept(&self) -> bool {
                self.kept
            }

            fn save(&self, archive: &mut Archive) {
                if self.kept {
                    STORED.into_iter().zip(self.stored()).for_each(|(name, tiles)| archive.put(name, tiles));
                }
            }

            fn restore(&mut self, archive: &Archive) -> Result<()> {
                if self.kept && !OffPattern::restore(self, archive.$read(STORED[0])?, archive.$read(STORED[1])?) {
                    return Err(archive.bad("its tiles are of another size".into()));
                }
                Ok(())
            }
        }
    };
}

tiles!(f32, f32s);
tiles!(f64, f64s);
