//! Exact search: every pair is looked at once, in tiles, and serves both of its rows.
//!
//! A tile holds a *lower bound* of every distance in it, in whatever unit is cheap (squared and scaled for the GEMM
//! tiles). A row keeps the candidates whose lower bound does not exceed the `k`-th smallest *upper bound* it has seen, so
//! no true neighbour is ever dropped; at the end the few that are left are ordered by the distance itself, then by index.
//! The result is therefore that of comparing all `f64` distances, whatever the rounding of the tiles.

use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use multiversion::multiversion;
use rayon::prelude::*;

use crate::points::Result;
use crate::run::{Pace, Progress, in_batches};

/// Rows and columns of a tile: its `f32` values fill the second-level cache and no more.
pub(super) const TILE: usize = 512;
/// Values looked at together when a tile is searched for candidates.
const GROUP: usize = 16;

/// The pairs to search: queries `i` against points `j`.
pub(super) trait Pairs: Sync {
    /// Whether the lower bounds are the distances themselves.
    const EXACT: bool = false;
    /// Lower bounds of the distances of a tile, row by row. A value above both the row's and the column's `reach` may be
    /// replaced by anything above both.
    fn tile(&self, rows: Range<usize>, columns: Range<usize>, reach: Reach, out: &mut [f32]);
    /// How far above its lower bound the distance of a pair can be, in the unit of the tile.
    fn slack(&self, _i: usize, _j: usize) -> f32 {
        0.0
    }
    /// The distance of a pair.
    fn key(&self, i: usize, j: usize) -> f32;
    /// The distance of a pair where its lower bound alone tells it.
    #[inline]
    fn known_key(&self, _lower: f32) -> Option<f32> {
        None
    }
    /// Roughly what a pair costs, in nanoseconds.
    fn cost(&self) -> f64;
}

/// The largest lower bound that the rows and the columns of a tile still take.
#[derive(Clone, Copy)]
pub(super) struct Reach<'a> {
    pub rows: &'a [f32],
    pub columns: &'a [f32],
}

/// Candidate neighbours of a block of rows.
struct Block {
    start: usize,
    k: usize,
    capacity: usize,
    entries: Vec<(f32, u32)>,
    counts: Vec<usize>,
    reach: Vec<f32>,
    /// For rows whose first `k` entries are the nearest so far by the distance itself: the last of them.
    worst: Vec<(f32, u32)>,
    /// The distances of those entries; empty until there are any.
    keys: Vec<f32>,
}

/// The worst of a row whose candidates are known by their bounds only.
const UNSETTLED: (f32, u32) = (f32::INFINITY, u32::MAX);

/// A row's buffer: large enough that tidying it up is rare.
pub(super) fn capacity(k: usize) -> usize {
    k.saturating_mul(2).saturating_add(48)
}

impl Block {
    fn new(start: usize, rows: usize, k: usize) -> Self {
        let capacity = capacity(k);
        Self {
            start,
            k,
            capacity,
            entries: vec![(0.0, 0); rows * capacity],
            counts: vec![0; rows],
            reach: vec![f32::INFINITY; rows],
            worst: vec![UNSETTLED; rows],
            keys: Vec::new(),
        }
    }

    fn range(&self) -> Range<usize> {
        self.start..self.start + self.counts.len()
    }

    #[inline]
    fn offer<P: Pairs>(&mut self, pairs: &P, row: usize, lower: f32, j: usize) {
        // Ties go to the lower index: many equal rows, or rows that share nothing, are refused without being measured.
        if !P::EXACT && (pairs.known_key(lower).unwrap_or(0.0), j as u32) > self.worst[row] {
            return;
        }
        let count = self.counts[row];
        self.entries[row * self.capacity + count] = (lower, j as u32);
        self.counts[row] = count + 1;
        if count + 1 == self.capacity {
            self.tidy(pairs, row);
        }
    }

    /// Lowers the reach of a row and drops what is beyond it.
    #[cold]
    fn tidy<P: Pairs>(&mut self, pairs: &P, row: usize) {
        let i = self.start + row;
        let entries = &mut self.entries[row * self.capacity..][..self.counts[row]];
        let by_distance = |a: &(f32, u32), b: &(f32, u32)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
        if P::EXACT {
            self.reach[row] = entries.select_nth_unstable_by(self.k - 1, by_distance).1.0;
            self.counts[row] = self.k;
            return;
        }
        let mut upper: Vec<f32> = entries.iter().map(|&(lower, j)| lower + pairs.slack(i, j as usize)).collect();
        let (_, &mut bound, _) = upper.select_nth_unstable_by(self.k - 1, f32::total_cmp);
        let reach = bound.min(self.reach[row]);
        self.reach[row] = reach;
        let settled = self.settled(row);
        let entries = &mut self.entries[row * self.capacity..][..self.counts[row]];
        let mut kept = settled;
        for at in settled..entries.len() {
            if entries[at].0 <= reach {
                entries[kept] = entries[at];
                kept += 1;
            }
        }
        self.counts[row] = kept;
        // Many equal or indistinguishable distances: only the distances themselves can make room.
        if settled > 0 || kept > (self.k + self.capacity) / 2 {
            self.settle(pairs, row);
        }
    }

    /// Keeps the `k` nearest of a row by the distance itself, and remembers their distances.
    fn settle<P: Pairs>(&mut self, pairs: &P, row: usize) {
        let k = self.k;
        let mut exact: Vec<(f32, u32, f32)> = (0..self.counts[row])
            .map(|at| (self.key(pairs, row, at), self.entries[row * self.capacity + at]))
            .map(|(key, (lower, j))| (key, j, lower))
            .collect();
        let (_, worst, _) = exact.select_nth_unstable_by(k - 1, |a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        self.worst[row] = (worst.0, worst.1);
        self.counts[row] = k;
        self.keys.resize(self.reach.len() * k, 0.0);
        let entries = &mut self.entries[row * self.capacity..][..k];
        let kept = entries.iter_mut().zip(&mut self.keys[row * k..][..k]);
        kept.zip(&exact).for_each(|((entry, known), &(key, j, lower))| (*entry, *known) = ((lower, j), key));
    }

    /// How many of a row's entries have known distances.
    fn settled(&self, row: usize) -> usize {
        if self.worst[row] == UNSETTLED { 0 } else { self.k }
    }

    /// The distance of a candidate.
    fn key<P: Pairs>(&self, pairs: &P, row: usize, at: usize) -> f32 {
        if at < self.settled(row) {
            return self.keys[row * self.k + at];
        }
        let (lower, j) = self.entries[row * self.capacity + at];
        pairs.known_key(lower).unwrap_or_else(|| pairs.key(self.start + row, j as usize))
    }

    /// The `k` nearest of a row, in order.
    fn nearest<P: Pairs>(&self, pairs: &P, row: usize) -> Vec<(f32, u32)> {
        let first = row * self.capacity;
        let mut exact: Vec<(f32, u32)> =
            (0..self.counts[row]).map(|at| (self.key(pairs, row, at), self.entries[first + at].1)).collect();
        exact.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        exact.truncate(self.k);
        exact
    }
}

/// Memory that tiles need while they are looked at; kept from tile to tile.
#[derive(Default)]
struct Scratch {
    values: Vec<f32>,
    flags: Vec<bool>,
}

/// Computes the tile of `rows` against `columns` and offers its values to the rows, and to the columns where they are a
/// block of rows as well.
fn meet<P: Pairs>(pairs: &P, rows: &mut Block, columns: Columns, scratch: &mut Scratch) {
    let (row_range, mut columns) = (rows.range(), columns);
    let column_range = columns.range();
    let width = column_range.len();
    let groups = width.div_ceil(GROUP);
    scratch.values.resize(TILE * TILE, 0.0);
    scratch.flags.resize(TILE * TILE / GROUP, false);
    let values = &mut scratch.values[..row_range.len() * width];
    let flags = &mut scratch.flags[..row_range.len() * groups];

    const NOWHERE: [f32; TILE] = [f32::NEG_INFINITY; TILE];
    let reach = match &columns {
        Columns::Block(block) => Reach { rows: &rows.reach, columns: &block.reach },
        _ => Reach { rows: &rows.reach, columns: &NOWHERE[..width] },
    };
    pairs.tile(row_range.clone(), column_range.clone(), reach, values);
    flag_groups(values, reach, flags);

    let itself = matches!(columns, Columns::Itself(_));
    for row in 0..row_range.len() {
        let (line, flags) = (&values[row * width..][..width], &flags[row * groups..][..groups]);
        for group in flags.iter().enumerate().filter(|(_, flag)| **flag).map(|(group, _)| group) {
            for column in group * GROUP..((group + 1) * GROUP).min(width) {
                let lower = line[column];
                if lower <= rows.reach[row] && !(itself && row == column) {
                    rows.offer(pairs, row, lower, column_range.start + column);
                }
                if let Columns::Block(block) = &mut columns
                    && lower <= block.reach[column]
                {
                    block.offer(pairs, column, lower, row_range.start + row);
                }
            }
        }
    }
}

/// The other side of a tile.
enum Columns<'a> {
    /// Another block of the rows searched for.
    Block(&'a mut Block),
    /// The block of rows itself.
    Itself(Range<usize>),
    /// Points that do not search.
    Points(Range<usize>),
}

impl Columns<'_> {
    fn range(&self) -> Range<usize> {
        match self {
            Columns::Block(block) => block.range(),
            Columns::Itself(range) | Columns::Points(range) => range.clone(),
        }
    }
}

/// Marks each group of values in which some value is within reach of its row or its column.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512vl", "x86_64+avx2", "aarch64+neon"))]
fn flag_groups(values: &[f32], reach: Reach, flags: &mut [bool]) {
    let width = reach.columns.len();
    let lines = values.chunks_exact(width).zip(flags.chunks_exact_mut(width.div_ceil(GROUP)));
    // One byte a value first: a loop that compilers turn into vectors.
    let mut within = [0u8; TILE];
    for ((line, flags), &row_reach) in lines.zip(reach.rows) {
        for ((within, &value), &column_reach) in within.iter_mut().zip(line).zip(reach.columns) {
            *within = u8::from((value <= row_reach) | (value <= column_reach));
        }
        let (groups, _) = within.as_chunks::<GROUP>();
        flags.iter_mut().zip(groups).for_each(|(flag, group)| *flag = u128::from_ne_bytes(*group) != 0);
    }
}

/// The `k` nearest other rows of each of `rows` rows. `pairs` is symmetric.
pub(super) fn search_within<P: Pairs>(
    pairs: &P,
    rows: usize,
    k: usize,
    progress: &mut Progress,
) -> Result<Vec<(f32, u32)>> {
    let side = side(pairs.cost());
    let blocks: Vec<Mutex<Block>> =
        (0..rows).step_by(side).map(|start| Mutex::new(Block::new(start, side.min(rows - start), k))).collect();
    let pool = Pool::default();
    let count = blocks.len();
    let mut pace = Pace::default();
    // In round r block a meets block r - a (modulo the number of blocks): no block is wanted twice in a round, and each
    // meets every block, itself included, exactly once.
    for round in 0..count {
        let meetings: Vec<(usize, usize)> =
            (0..count).map(|a| (a, (round + count - a) % count)).filter(|(a, b)| a <= b).collect();
        let mut met = 0;
        while met < meetings.len() {
            progress(0.95 * (round as f64 + met as f64 / meetings.len() as f64) / count as f64)?;
            let batch = &meetings[met..meetings.len().min(met.saturating_add(pace.batch()))];
            met += batch.len();
            pace.time(|| batch.par_iter().for_each(|&(a, b)| pool.with(|scratch| join(pairs, &blocks, a, b, scratch))));
        }
    }
    let blocks: Vec<Block> =
        blocks.into_iter().map(|block| block.into_inner().unwrap_or_else(PoisonError::into_inner)).collect();
    collect(pairs, &blocks, &mut |part| progress(0.95 + 0.05 * part))
}

/// Lets block `a` meet block `b`.
fn join<P: Pairs>(pairs: &P, blocks: &[Mutex<Block>], a: usize, b: usize, scratch: &mut Scratch) {
    let mut rows = lock(&blocks[a]);
    if a == b {
        let range = rows.range();
        meet(pairs, &mut rows, Columns::Itself(range), scratch);
    } else {
        meet(pairs, &mut rows, Columns::Block(&mut lock(&blocks[b])), scratch);
    }
}

/// The `k` nearest of `points` points for each of `queries` queries.
pub(super) fn search_among<P: Pairs>(
    pairs: &P,
    queries: usize,
    points: usize,
    k: usize,
    progress: &mut Progress,
) -> Result<Vec<(f32, u32)>> {
    let mut found = Vec::with_capacity(queries * k);
    let pool = Pool::default();
    let side = side(pairs.cost());
    let mut pace = Pace::default();
    // A bounded number of queries at a time keeps the buffers small.
    const BLOCKS_AT_A_TIME: usize = 64;
    for first in (0..queries).step_by(side * BLOCKS_AT_A_TIME) {
        let end = queries.min(first + side * BLOCKS_AT_A_TIME);
        // Few queries are spread over the threads in smaller blocks.
        let height = (end - first).div_ceil(8).clamp(1, side);
        let mut blocks: Vec<Block> =
            (first..end).step_by(height).map(|start| Block::new(start, height.min(end - start), k)).collect();
        let mut from = 0;
        while from < points {
            let done = first as f64 + (end - first) as f64 * from as f64 / points as f64;
            progress(done / queries as f64)?;
            let span = side.saturating_mul((pace.batch() / blocks.len()).max(1));
            let until = points.min(from.saturating_add(span));
            let meet_all = |block: &mut Block, scratch: &mut Scratch| {
                for start in (from..until).step_by(side) {
                    meet(pairs, block, Columns::Points(start..points.min(start + side)), scratch);
                }
            };
            pace.time(|| blocks.par_iter_mut().for_each(|block| pool.with(|scratch| meet_all(block, scratch))));
            from = until;
        }
        found.extend(collect(pairs, &blocks, &mut |_| progress(end as f64 / queries as f64))?);
    }
    Ok(found)
}

/// The neighbours of all rows of the blocks, in order.
fn collect<P: Pairs>(pairs: &P, blocks: &[Block], progress: &mut Progress) -> Result<Vec<(f32, u32)>> {
    let nearest = in_batches(blocks.len(), progress, |at| {
        let block = &blocks[at];
        (0..block.counts.len()).flat_map(|row| block.nearest(pairs, row)).collect::<Vec<_>>()
    })?;
    Ok(nearest.concat())
}

/// Rows and columns of a tile of pairs that take `cost` nanoseconds each: [`TILE`], or fewer where a tile would take so
/// long that nobody could stop it.
pub(super) fn side(cost: f64) -> usize {
    const LONGEST: f64 = 1e8;
    let mut side = TILE;
    while side > GROUP && (side * side) as f64 * cost > LONGEST {
        side /= 2;
    }
    side
}

/// Scratch memory handed from task to task.
#[derive(Default)]
struct Pool(Mutex<Vec<Scratch>>);

impl Pool {
    fn with(&self, work: impl FnOnce(&mut Scratch)) {
        let mut scratch = lock(&self.0).pop().unwrap_or_default();
        work(&mut scratch);
        lock(&self.0).push(scratch);
    }
}

/// A lock that is never contended and whose holders do not panic.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
