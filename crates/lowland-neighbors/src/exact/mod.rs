//! Exact search: every pair is visited once, in tiles, and is a candidate for both of its rows.
//!
//! A tile holds a *lower bound* of every distance in it, in whatever unit is cheap (squared and scaled for the matrix
//! products). A row keeps the candidates whose lower bound does not exceed the `k`-th smallest *upper bound* so far,
//! its threshold, so no true neighbor is ever dropped. At the end the few remaining candidates are sorted by their true
//! distances, then by index. The result therefore equals that of comparing all `f64` distances, whatever the rounding
//! of the tiles.

mod candidates;
mod dispatch;

use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use lowland_core::simd::simd_dispatch;
use rayon::prelude::*;

use candidates::CandidateBlock;
use lowland_core::Result;
use lowland_core::run::{BatchSizer, Progress, in_batches};

pub(super) use candidates::buffer_capacity;
pub(super) use dispatch::{search_queries, search_self};

/// Number of rows and columns of a tile: its `f32` values just fit into the second-level cache.
pub(super) const TILE: usize = 512;
/// Number of values checked together when a line of a tile is scanned for candidates.
const GROUP: usize = 16;

/// A source of pairs to search: queries `i` against points `j`.
pub(super) trait PairSource: Sync {
    /// Whether the lower bounds are the distances themselves.
    const BOUNDS_ARE_EXACT: bool = false;
    /// Adds the pairs of a tile whose bound is within the threshold of their row or column. Tiles are addressed by
    /// position; everything else by row index.
    fn scan(&self, tile: &PairTile, candidates: &mut CandidatePairs);
    /// Returns the row at a position.
    #[inline]
    fn row_at_position(&self, position: usize) -> usize {
        position
    }
    /// Upper limit of the distance minus its lower bound, in the unit of the tile.
    fn slack(&self, _i: usize, _j: usize) -> f32 {
        0.0
    }
    /// Returns the true distance of a pair.
    fn distance(&self, i: usize, j: usize) -> f32;
    /// Returns the true distance of a pair if its lower bound determines it.
    #[inline]
    fn known_distance(&self, _lower: f32) -> Option<f32> {
        None
    }
    /// Approximate cost of a pair, in nanoseconds.
    fn pair_cost(&self) -> f64;
}

/// A tile of pairs: ranges of positions, and the thresholds of its rows and columns.
pub(super) struct PairTile<'a> {
    pub rows: Range<usize>,
    pub columns: Range<usize>,
    /// Largest lower bounds that the rows still accept.
    pub row_thresholds: &'a [f32],
    /// Largest lower bounds that the columns still accept.
    pub column_thresholds: &'a [f32],
}

/// A pair of a tile, with a lower bound of its distance.
#[derive(Debug, Clone, Copy)]
pub(super) struct CandidatePair {
    /// Row and column relative to the start of the tile.
    pub row: u16,
    pub column: u16,
    pub lower: f32,
}

/// The candidate pairs of a tile; the buffers are reused from tile to tile.
#[derive(Default)]
pub(super) struct CandidatePairs {
    pub pairs: Vec<CandidatePair>,
    values: Vec<f32>,
}

impl CandidatePairs {
    /// Adds the candidates of a tile whose lower bounds `fill` writes, row by row. A bound above both of its thresholds
    /// may be replaced by any value above both.
    pub(super) fn add_tile(&mut self, tile: &PairTile, fill: impl FnOnce(&mut [f32])) {
        self.values.resize(TILE * TILE, 0.0);
        let values = &mut self.values[..tile.rows.len() * tile.columns.len()];
        fill(values);
        let lines = values.chunks_exact(tile.columns.len()).zip(tile.row_thresholds);
        for (row, (line, &row_threshold)) in lines.enumerate() {
            scan_line(line, row_threshold, tile.column_thresholds, row as u16, &mut self.pairs);
        }
    }
}

/// Adds the pairs of a line within the threshold of the row or of the column.
#[simd_dispatch]
fn scan_line(
    line: &[f32],
    row_threshold: f32,
    column_threshold: &[f32],
    row: u16,
    candidates: &mut Vec<CandidatePair>,
) {
    // First one byte per value: a loop that compilers vectorize.
    let mut within = [0u8; TILE];
    for ((within, &value), &column_threshold) in within.iter_mut().zip(line).zip(column_threshold) {
        *within = u8::from((value <= row_threshold) | (value <= column_threshold));
    }
    for (group, bytes) in within.as_chunks::<GROUP>().0.iter().enumerate() {
        let mut bits = u128::from_le_bytes(*bytes);
        while bits != 0 {
            let column = group * GROUP + bits.trailing_zeros() as usize / 8;
            candidates.push(CandidatePair { row, column: column as u16, lower: line[column] });
            bits &= bits - 1;
        }
    }
}

/// Computes the tile of `rows` against `columns` and offers its candidates to the rows, and to the columns if they are
/// a block of rows as well.
fn scan_tile<P: PairSource>(
    pairs: &P,
    rows: &mut CandidateBlock,
    mut columns: TileColumns,
    candidates: &mut CandidatePairs,
) {
    let (row_range, column_range) = (rows.range(), columns.range());
    let tile = PairTile {
        rows: row_range.clone(),
        columns: column_range.clone(),
        row_thresholds: &rows.thresholds,
        column_thresholds: columns.thresholds(),
    };
    candidates.pairs.clear();
    pairs.scan(&tile, candidates);
    let same_block = matches!(columns, TileColumns::SameBlock(_));
    for &CandidatePair { row, column, lower } in &candidates.pairs {
        let (row, column) = (usize::from(row), usize::from(column));
        if lower <= rows.thresholds[row] && !(same_block && row == column) {
            rows.offer(pairs, row, lower, pairs.row_at_position(column_range.start + column));
        }
        if let TileColumns::Block(block) = &mut columns
            && lower <= block.thresholds[column]
        {
            block.offer(pairs, column, lower, pairs.row_at_position(row_range.start + row));
        }
    }
}

/// The columns of a tile.
enum TileColumns<'a> {
    /// Another block of the rows that are searched.
    Block(&'a mut CandidateBlock),
    /// The same block as the rows.
    SameBlock(Range<usize>),
    /// Points that are not searched for themselves.
    Points(Range<usize>),
}

impl TileColumns<'_> {
    fn range(&self) -> Range<usize> {
        match self {
            TileColumns::Block(block) => block.range(),
            TileColumns::SameBlock(range) | TileColumns::Points(range) => range.clone(),
        }
    }

    /// Thresholds of the columns; negative infinity for columns that are not searched.
    fn thresholds(&self) -> &[f32] {
        const NEVER: [f32; TILE] = [f32::NEG_INFINITY; TILE];
        match self {
            TileColumns::Block(block) => &block.thresholds,
            TileColumns::SameBlock(range) | TileColumns::Points(range) => &NEVER[..range.len()],
        }
    }
}

/// Returns the `k` nearest other rows of each of `rows` rows. `pairs` must be symmetric.
pub(super) fn search_pairs<P: PairSource>(
    pairs: &P,
    rows: usize,
    k: usize,
    progress: &mut Progress,
) -> Result<Vec<(f32, u32)>> {
    let tile_size = tile_size(pairs.pair_cost());
    let blocks: Vec<Mutex<CandidateBlock>> = (0..rows)
        .step_by(tile_size)
        .map(|start| Mutex::new(CandidateBlock::new(start, tile_size.min(rows - start), k)))
        .collect();
    let pool = BufferPool::default();
    let count = blocks.len();
    let all = (count * (count + 1) / 2) as f64;
    let (mut done, mut pace) = (0, BatchSizer::default());
    // In round r block a is paired with block a xor r: no block occurs twice in a round, and each is paired with every
    // block exactly once, first with itself and then with adjacent ones, which are the nearest if positions were
    // assigned so. Near rows lower the thresholds early.
    for round in 0..count.next_power_of_two() {
        let block_pairs: Vec<(usize, usize)> =
            (0..count).map(|a| (a, a ^ round)).filter(|&(a, b)| a <= b && b < count).collect();
        let mut left = &block_pairs[..];
        while !left.is_empty() {
            progress(0.95 * done as f64 / all)?;
            let (batch, later) = left.split_at(left.len().min(pace.batch()));
            (left, done) = (later, done + batch.len());
            pace.time(|| {
                batch
                    .par_iter()
                    .for_each(|&(a, b)| pool.with(|candidates| scan_block_pair(pairs, &blocks, a, b, candidates)))
            });
        }
    }
    let blocks: Vec<CandidateBlock> =
        blocks.into_iter().map(|block| block.into_inner().unwrap_or_else(PoisonError::into_inner)).collect();
    let by_place = collect_neighbors(pairs, &blocks, &mut |part| progress(0.95 + 0.05 * part))?;
    let mut found = vec![(0.0, 0); by_place.len()];
    for (position, row) in by_place.chunks_exact(k).enumerate() {
        found[pairs.row_at_position(position) * k..][..k].copy_from_slice(row);
    }
    Ok(found)
}

/// Scans the tile of block `a` against block `b`.
fn scan_block_pair<P: PairSource>(
    pairs: &P,
    blocks: &[Mutex<CandidateBlock>],
    a: usize,
    b: usize,
    candidates: &mut CandidatePairs,
) {
    let mut rows = lock(&blocks[a]);
    if a == b {
        let range = rows.range();
        scan_tile(pairs, &mut rows, TileColumns::SameBlock(range), candidates);
    } else {
        scan_tile(pairs, &mut rows, TileColumns::Block(&mut lock(&blocks[b])), candidates);
    }
}

/// Returns the `k` nearest of `points` points for each of `queries` queries.
pub(super) fn search_query_pairs<P: PairSource>(
    pairs: &P,
    queries: usize,
    points: usize,
    k: usize,
    progress: &mut Progress,
) -> Result<Vec<(f32, u32)>> {
    let mut found = Vec::with_capacity(queries * k);
    let pool = BufferPool::default();
    let tile_size = tile_size(pairs.pair_cost());
    let mut pace = BatchSizer::default();
    // Processing a bounded number of queries at a time keeps the buffers small.
    const BLOCKS_AT_A_TIME: usize = 64;
    for first in (0..queries).step_by(tile_size * BLOCKS_AT_A_TIME) {
        let end = queries.min(first + tile_size * BLOCKS_AT_A_TIME);
        // A small number of queries is divided into smaller blocks, to use all threads.
        let height = (end - first).div_ceil(8).clamp(1, tile_size);
        let mut blocks: Vec<CandidateBlock> =
            (first..end).step_by(height).map(|start| CandidateBlock::new(start, height.min(end - start), k)).collect();
        let mut from = 0;
        while from < points {
            let done = first as f64 + (end - first) as f64 * from as f64 / points as f64;
            progress(done / queries as f64)?;
            let span = tile_size.saturating_mul((pace.batch() / blocks.len()).max(1));
            let until = points.min(from.saturating_add(span));
            let scan_tiles = |block: &mut CandidateBlock, candidates: &mut CandidatePairs| {
                for start in (from..until).step_by(tile_size) {
                    scan_tile(pairs, block, TileColumns::Points(start..points.min(start + tile_size)), candidates);
                }
            };
            pace.time(|| blocks.par_iter_mut().for_each(|block| pool.with(|candidates| scan_tiles(block, candidates))));
            from = until;
        }
        found.extend(collect_neighbors(pairs, &blocks, &mut |_| progress(end as f64 / queries as f64))?);
    }
    Ok(found)
}

/// Returns the neighbors of all rows of the blocks, in the order of their positions.
fn collect_neighbors<P: PairSource>(
    pairs: &P,
    blocks: &[CandidateBlock],
    progress: &mut Progress,
) -> Result<Vec<(f32, u32)>> {
    let nearest = in_batches(blocks.len(), progress, |at| {
        let block = &blocks[at];
        (0..block.rows()).flat_map(|row| block.nearest(pairs, row)).collect::<Vec<_>>()
    })?;
    Ok(nearest.concat())
}

/// Number of rows and columns of a tile whose pairs take `cost` nanoseconds each: [`TILE`], or fewer if a tile would
/// take too long to be stopped.
pub(super) fn tile_size(cost: f64) -> usize {
    const LONGEST: f64 = 1e8;
    let mut tile_size = TILE;
    while tile_size > GROUP && (tile_size * tile_size) as f64 * cost > LONGEST {
        tile_size /= 2;
    }
    tile_size
}

/// Buffers passed from task to task.
#[derive(Default)]
struct BufferPool(Mutex<Vec<CandidatePairs>>);

impl BufferPool {
    fn with(&self, work: impl FnOnce(&mut CandidatePairs)) {
        let mut candidates = lock(&self.0).pop().unwrap_or_default();
        work(&mut candidates);
        lock(&self.0).push(candidates);
    }
}

/// Locks a mutex that is never contended and whose holders do not panic.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
