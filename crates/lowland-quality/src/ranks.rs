//! Exact ranks of selected points by distance from a row, without a matrix of all distances.

use super::blocks::in_blocks;
use super::key_tiles::{KeyTiles, TileScratch, count_below, smallest_key};
use super::metric_space::MetricSpace;
use lowland_core::Result;
use lowland_core::run::Progress;

/// Number of rows of a task, and number of columns of a tile: the keys (768 KiB) fit into the second-level cache, and
/// both are multiples of the block sizes of a matrix product.
const BLOCK: usize = 128;
const WIDTH: usize = 1536;

/// Returns for each of `rows` the rank of each of its candidates among all other points, nearest first and counted from
/// one; of points at the same distance the one of lower index comes first. `candidates(s)` belongs to `rows[s]` and
/// does not contain the row itself.
///
/// Every pair of a row and a point is visited once, so the time grows with `rows x n`; memory is one number for each
/// candidate. Tiles of keys are computed in `f32`; a point whose key is within the rounding error of a candidate's key
/// is compared again in `f64`, so that the ranks are those of [`MetricSpace::key`].
pub(super) fn neighbor_ranks<'c>(
    space: &MetricSpace,
    rows: &[u32],
    candidates: impl Fn(usize) -> &'c [u32] + Sync,
    progress: &mut Progress,
) -> Result<Vec<Vec<u32>>> {
    let tiles = KeyTiles::new(space);
    let blocks = in_blocks(rows.len(), BLOCK, progress, |range| match &tiles {
        Some(tiles) => tiled_block(space, tiles, &rows[range.clone()], |s| candidates(range.start + s)),
        None => range.map(|s| direct_row(space, rows[s] as usize, candidates(s))).collect(),
    })?;
    Ok(blocks.into_iter().flatten().collect())
}

/// Ranks the candidates of one row by comparing all points in `f64`.
fn direct_row(space: &MetricSpace, i: usize, candidates: &[u32]) -> Vec<u32> {
    // NaN compares false with everything, so the row does not count itself.
    let keys: Vec<f64> = (0..space.rows()).map(|l| if l == i { f64::NAN } else { space.key(i, l) }).collect();
    let rank = |&j: &u32| {
        let t = keys[j as usize];
        let nearer = keys.iter().filter(|&&key| key < t).count();
        let tied = keys[..j as usize].iter().filter(|&&key| key == t).count();
        (1 + nearer + tied) as u32
    };
    candidates.iter().map(rank).collect()
}

/// A candidate and its rank so far.
struct RankedCandidate {
    id: u32,
    key: f64,
    rank: u32,
}

fn tiled_block<'c>(
    space: &MetricSpace,
    tiles: &KeyTiles,
    rows: &[u32],
    candidates: impl Fn(usize) -> &'c [u32],
) -> Vec<Vec<u32>> {
    let open = |(s, &i): (usize, &u32)| -> Vec<RankedCandidate> {
        candidates(s)
            .iter()
            .map(|&id| RankedCandidate { id, key: space.key(i as usize, id as usize), rank: 1 })
            .collect()
    };
    let mut open: Vec<Vec<RankedCandidate>> = rows.iter().enumerate().map(open).collect();
    let mut scratch = TileScratch::default();
    let mut doubtful = Vec::new();
    for start in (0..tiles.ids.len()).step_by(WIDTH) {
        let columns = start..(start + WIDTH).min(tiles.ids.len());
        tiles.fill(rows, columns.clone(), &mut scratch);
        let ids = &tiles.ids[columns.clone()];
        for ((&i, open), keys) in rows.iter().zip(&mut open).zip(scratch.keys.chunks_exact_mut(ids.len())) {
            let own = tiles.position[i as usize] as usize;
            if columns.contains(&own) {
                keys[own - columns.start] = f32::INFINITY;
            }
            let nearest = smallest_key(keys);
            for candidate in open.iter_mut() {
                let (low, high) = tiles.band(i as usize, candidate.key, &columns);
                if high <= nearest {
                    continue;
                }
                doubtful.clear();
                candidate.rank += count_below(keys, low, high, &mut doubtful);
                let nearer = |&&l: &&usize| {
                    let key = space.key(i as usize, ids[l] as usize);
                    key < candidate.key || (key == candidate.key && ids[l] < candidate.id)
                };
                candidate.rank += doubtful.iter().filter(nearer).count() as u32;
            }
        }
    }
    open.into_iter().map(|row| row.into_iter().map(|candidate| candidate.rank).collect()).collect()
}
