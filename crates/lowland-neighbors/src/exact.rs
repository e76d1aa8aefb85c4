//! Exact search: every pair is looked at once, in tiles, and serves both of its rows.
//!
//! A tile holds a *lower bound* of every distance in it, in whatever unit is cheap (squared and scaled for the GEMM
//! tiles). A row keeps the candidates whose lower bound does not exceed the `k`-th smallest *upper bound* it has seen, so
//! no true neighbour is ever dropped; at the end the few that are left are ordered by the distance itself, then by index.
//! The result is therefore that of comparing all `f64` distances, whatever the rounding of the tiles.

use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rayon::prelude::*;

use lowland_core::Result;
use lowland_core::run::{Pace, Progress, in_batches};
use lowland_core::simd::simd_dispatch;

/// Rows and columns of a tile: its `f32` values fill the second-level cache and no more.
pub(super) const TILE: usize = 512;
/// Values looked at together when a line of a tile is searched for candidates.
const GROUP: usize = 16;

/// The pairs to search: queries `i` against points `j`.
pub(super) trait Pairs: Sync {
    /// Whether the lower bounds are the distances themselves.
    const EXACT: bool = false;
    /// Adds the pairs of a tile that are within reach of their row or of their column. Tiles, and they alone, go by places.
    fn scan(&self, rows: Range<usize>, columns: Range<usize>, reach: Reach, hits: &mut Hits);
    /// The row that stands at a place.
    #[inline]
    fn row_at(&self, place: usize) -> usize {
        place
    }
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

/// A row's buffer: more than `k`, so that tidying it up is rare, but not by much, or the reach would be that of more than `k`.
pub(super) fn capacity(k: usize) -> usize {
    k.saturating_add(k / 4).saturating_add(16)
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
        let i = pairs.row_at(self.start + row);
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
        pairs.known_key(lower).unwrap_or_else(|| pairs.key(pairs.row_at(self.start + row), j as usize))
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

/// A pair of a tile, with a lower bound of its distance.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hit {
    /// Counted from the first of the tile, as is the column.
    pub row: u16,
    pub column: u16,
    pub lower: f32,
}

/// The pairs of a tile that are within reach; its memory is kept from tile to tile.
#[derive(Default)]
pub(super) struct Hits {
    pub pairs: Vec<Hit>,
    values: Vec<f32>,
}

impl Hits {
    /// Adds those of a tile whose lower bounds `fill` writes, row by row. A bound above the reach of both its row and its
    /// column may be replaced by anything above both.
    pub(super) fn add_tile(&mut self, reach: Reach, fill: impl FnOnce(&mut [f32])) {
        self.values.resize(TILE * TILE, 0.0);
        let values = &mut self.values[..reach.rows.len() * reach.columns.len()];
        fill(values);
        for (row, (line, &row_reach)) in values.chunks_exact(reach.columns.len()).zip(reach.rows).enumerate() {
            within_reach(line, row_reach, reach.columns, row as u16, &mut self.pairs);
        }
    }
}

/// Adds the pairs of a line that are within reach of the row or of the column.
#[simd_dispatch]
fn within_reach(line: &[f32], row_reach: f32, column_reach: &[f32], row: u16, hits: &mut Vec<Hit>) {
    // One byte a value first: a loop that compilers turn into vectors.
    let mut within = [0u8; TILE];
    for ((within, &value), &column_reach) in within.iter_mut().zip(line).zip(column_reach) {
        *within = u8::from((value <= row_reach) | (value <= column_reach));
    }
    for (group, bytes) in within.as_chunks::<GROUP>().0.iter().enumerate() {
        let mut bits = u128::from_le_bytes(*bytes);
        while bits != 0 {
            let column = group * GROUP + bits.trailing_zeros() as usize / 8;
            hits.push(Hit { row, column: column as u16, lower: line[column] });
            bits &= bits - 1;
        }
    }
}

/// Computes the tile of `rows` against `columns` and offers its values to the rows, and to the columns where they are a
/// block of rows as well.
fn meet<P: Pairs>(pairs: &P, rows: &mut Block, mut columns: Columns, hits: &mut Hits) {
    let (row_range, column_range) = (rows.range(), columns.range());
    let reach = Reach { rows: &rows.reach, columns: columns.reach() };
    hits.pairs.clear();
    pairs.scan(row_range.clone(), column_range.clone(), reach, hits);
    let itself = matches!(columns, Columns::Itself(_));
    for &Hit { row, column, lower } in &hits.pairs {
        let (row, column) = (usize::from(row), usize::from(column));
        if lower <= rows.reach[row] && !(itself && row == column) {
            rows.offer(pairs, row, lower, pairs.row_at(column_range.start + column));
        }
        if let Columns::Block(block) = &mut columns
            && lower <= block.reach[column]
        {
            block.offer(pairs, column, lower, pairs.row_at(row_range.start + row));
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

    /// The largest lower bounds that the columns still take: none where they do not search.
    fn reach(&self) -> &[f32] {
        const NOWHERE: [f32; TILE] = [f32::NEG_INFINITY; TILE];
        match self {
            Columns::Block(block) => &block.reach,
            Columns::Itself(range) | Columns::Points(range) => &NOWHERE[..range.len()],
        }
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
    let all = (count * (count + 1) / 2) as f64;
    let (mut met, mut pace) = (0, Pace::default());
    // In round r block a meets block a xor r: no block is wanted twice in a round, each meets every block exactly once, itself
    // first and then those next to it, which are the nearest if places were given out so. What is near shortens the reach.
    for round in 0..count.next_power_of_two() {
        let meetings: Vec<(usize, usize)> =
            (0..count).map(|a| (a, a ^ round)).filter(|&(a, b)| a <= b && b < count).collect();
        let mut left = &meetings[..];
        while !left.is_empty() {
            progress(0.95 * met as f64 / all)?;
            let (batch, later) = left.split_at(left.len().min(pace.batch()));
            (left, met) = (later, met + batch.len());
            pace.time(|| batch.par_iter().for_each(|&(a, b)| pool.with(|hits| join(pairs, &blocks, a, b, hits))));
        }
    }
    let blocks: Vec<Block> =
        blocks.into_iter().map(|block| block.into_inner().unwrap_or_else(PoisonError::into_inner)).collect();
    let by_place = collect(pairs, &blocks, &mut |part| progress(0.95 + 0.05 * part))?;
    let mut found = vec![(0.0, 0); by_place.len()];
    for (place, row) in by_place.chunks_exact(k).enumerate() {
        found[pairs.row_at(place) * k..][..k].copy_from_slice(row);
    }
    Ok(found)
}

/// Lets block `a` meet block `b`.
fn join<P: Pairs>(pairs: &P, blocks: &[Mutex<Block>], a: usize, b: usize, hits: &mut Hits) {
    let mut rows = lock(&blocks[a]);
    if a == b {
        let range = rows.range();
        meet(pairs, &mut rows, Columns::Itself(range), hits);
    } else {
        meet(pairs, &mut rows, Columns::Block(&mut lock(&blocks[b])), hits);
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
            let meet_all = |block: &mut Block, hits: &mut Hits| {
                for start in (from..until).step_by(side) {
                    meet(pairs, block, Columns::Points(start..points.min(start + side)), hits);
                }
            };
            pace.time(|| blocks.par_iter_mut().for_each(|block| pool.with(|hits| meet_all(block, hits))));
            from = until;
        }
        found.extend(collect(pairs, &blocks, &mut |_| progress(end as f64 / queries as f64))?);
    }
    Ok(found)
}

/// The neighbours of all rows of the blocks, in the order of their places.
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

/// Memory handed from task to task.
#[derive(Default)]
struct Pool(Mutex<Vec<Hits>>);

impl Pool {
    fn with(&self, work: impl FnOnce(&mut Hits)) {
        let mut hits = lock(&self.0).pop().unwrap_or_default();
        work(&mut hits);
        lock(&self.0).push(hits);
    }
}

/// A lock that is never contended and whose holders do not panic.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
