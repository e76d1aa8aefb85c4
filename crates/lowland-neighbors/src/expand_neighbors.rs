//! Expands lists of few neighbors to many: near rows are a few edges away.

use super::candidates::CandidateLists;
use super::descent::{Adjacency, NeighborLists};
use super::distance::by_distance_then_index;
use super::row_distances::RowDistances;
use lowland_core::Result;
use lowland_core::run::Progress;

/// Number of rows of a task.
const TASK_ROWS: usize = 32;
/// Number of rows that are compared with one set of candidates.
pub(super) const GROUP_ROWS: usize = 128;

/// Maximum number of candidates of a group. Groups of structured data stay far below; without structure two steps reach
/// all rows, and the search would cost more than the exact one.
pub(super) fn max_candidates(k: usize) -> usize {
    k.saturating_mul(64).max(16_384)
}

/// Returns the `k` nearest of each row, or all that were found.
pub(super) fn expand<S: RowDistances>(
    space: &S,
    lists: &NeighborLists,
    k: usize,
    progress: &mut Progress,
) -> Result<CandidateLists> {
    let edges = lists.bidirectional();
    if S::BLOCKS_ARE_CHEAP {
        group_search(space, &edges, k, progress)
    } else {
        graph_search(space, &edges, k, progress)
    }
}

/// Returns the `k` nearest of each row among the rows within two steps of any row of its group.
///
/// Rows are in the order of a tree, so the rows of a group are near each other and share most candidates. One matrix
/// product gives all their distances, at a tenth of the cost of single distances.
fn group_search(
    space: &impl RowDistances,
    edges: &Adjacency,
    k: usize,
    progress: &mut Progress,
) -> Result<CandidateLists> {
    let rows = space.rows();
    CandidateLists::compute(rows, k, GROUP_ROWS, progress, |first, put| {
        let group: Vec<u32> = (first as u32..rows.min(first + GROUP_ROWS) as u32).collect();
        let candidates = rows_within_two_steps(edges, &group, rows, max_candidates(k));
        let mut distances = vec![0.0; group.len() * candidates.len()];
        space.distance_block(&group, &candidates, &mut distances);
        let lines = distances.chunks_exact(candidates.len());
        group.iter().zip(lines).for_each(|(&i, line)| put(&mut k_smallest(line, &candidates, i, k).into_iter()));
    })
}

/// Returns the rows of the group and those one or two edges away, up to about `most`, ascending.
///
/// The first edges of all rows are followed before the second ones, and so on. Edges are sorted from near to far, so
/// the farthest are left out.
fn rows_within_two_steps(edges: &Adjacency, group: &[u32], rows: usize, most: usize) -> Vec<u32> {
    let mut seen = vec![0u64; rows.div_ceil(64)];
    let mut all = group.to_vec();
    all.iter().for_each(|&i| seen[i as usize / 64] |= 1 << (i % 64));
    let mut from = 0;
    for _ in 0..2 {
        let end = all.len();
        let longest = all[from..end].iter().map(|&i| edges.of(i as usize).len()).max().unwrap_or(0);
        for rank in 0..longest {
            if all.len() >= most {
                break;
            }
            for at in from..end {
                let Some(&j) = edges.of(all[at] as usize).get(rank) else { continue };
                let (word, bit) = (j as usize / 64, 1u64 << (j % 64));
                if seen[word] & bit == 0 {
                    seen[word] |= bit;
                    all.push(j);
                }
            }
        }
        from = end;
    }
    // The last rank may have added a few too many.
    for &j in all.iter().skip(most) {
        seen[j as usize / 64] &= !(1 << (j % 64));
    }
    all.clear();
    for (at, &word) in seen.iter().enumerate() {
        let mut word = word;
        while word != 0 {
            all.push(at as u32 * 64 + word.trailing_zeros());
            word &= word - 1;
        }
    }
    all
}

/// Returns the candidates of the `k` smallest values, without row `itself`, in no particular order.
fn k_smallest(values: &[f32], candidates: &[u32], itself: u32, k: usize) -> Vec<u32> {
    const STRIDE: usize = 16;
    // A sample of the values gives a bound below which the k + 1 smallest almost surely are.
    let mut sample: Vec<f32> = values.iter().step_by(STRIDE).copied().collect();
    let rank = k * 3 / (2 * STRIDE) + 4;
    let bound =
        if rank < sample.len() { *sample.select_nth_unstable_by(rank, f32::total_cmp).1 } else { f32::INFINITY };
    let mut kept: Vec<(f32, u32)> = Vec::with_capacity(3 * k);
    let mut keep = |bound: f32| {
        kept.clear();
        let within = values.iter().zip(candidates).filter(|(value, j)| **value <= bound && **j != itself);
        kept.extend(within.map(|(&value, &j)| (value, j)));
        kept.len() >= k
    };
    if !keep(bound) {
        keep(f32::INFINITY);
    }
    if kept.len() > k {
        kept.select_nth_unstable_by(k, by_distance_then_index);
        kept.truncate(k);
    }
    kept.into_iter().map(|(_, j)| j).collect()
}

/// Returns the `k` nearest of each row by best-first search along the edges, continuing from the nearest row not yet
/// expanded.
fn graph_search(
    space: &impl RowDistances,
    edges: &Adjacency,
    k: usize,
    progress: &mut Progress,
) -> Result<CandidateLists> {
    let rows = space.rows();
    CandidateLists::compute(rows, k, TASK_ROWS, progress, |first, put| {
        let mut walk = GraphSearch { seen: vec![NOT_VISITED; rows], ..GraphSearch::default() };
        for i in first..rows.min(first + TASK_ROWS) {
            put(&mut walk.nearest(space, edges, i, k));
        }
    })
}

const NOT_VISITED: u32 = u32::MAX;

/// Buffers of a graph search, reused by the next one.
#[derive(Default)]
struct GraphSearch {
    /// The last row whose search visited each row.
    seen: Vec<u32>,
    /// The nearest rows so far, in ascending order, and whether they have been expanded.
    best: Vec<(f32, u32, bool)>,
    batch: Vec<u32>,
    distances: Vec<f32>,
}

impl GraphSearch {
    fn nearest<S: RowDistances>(
        &mut self,
        space: &S,
        edges: &Adjacency,
        i: usize,
        k: usize,
    ) -> impl Iterator<Item = u32> {
        self.best.clear();
        self.seen[i] = i as u32;
        self.visit(space, edges, i, i, k);
        let mut at = 0;
        while at < self.best.len() {
            if self.best[at].2 {
                at += 1;
                continue;
            }
            self.best[at].2 = true;
            let nearest_changed = self.visit(space, edges, i, self.best[at].1 as usize, k);
            at = at.min(nearest_changed);
        }
        self.best.iter().map(|entry| entry.1)
    }

    /// Computes the distances to the rows one edge away from `from`; returns the first changed position of `best`.
    fn visit<S: RowDistances>(&mut self, space: &S, edges: &Adjacency, i: usize, from: usize, k: usize) -> usize {
        self.batch.clear();
        for &j in edges.of(from) {
            if self.seen[j as usize] != i as u32 {
                self.seen[j as usize] = i as u32;
                self.batch.push(j);
            }
        }
        space.distances(i, &self.batch, &mut self.distances);
        let mut changed = usize::MAX;
        for (&j, &distances) in self.batch.iter().zip(&self.distances) {
            let before = |entry: &(f32, u32, bool)| entry.0 < distances || (entry.0 == distances && entry.1 < j);
            if self.best.len() == k {
                if before(&self.best[k - 1]) {
                    continue;
                }
                self.best.pop();
            }
            let at = self.best.partition_point(before);
            self.best.insert(at, (distances, j, false));
            changed = changed.min(at);
        }
        changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn candidates_are_bounded_and_the_nearest_edges_are_followed_first() {
        // Row i lists i + 1, i + 2, ... i + 20 of a ring of 1000.
        let edges = Adjacency::new((0..1000u32).map(|i| (1..=20).map(|step| (i + step) % 1000).collect()));
        let all = rows_within_two_steps(&edges, &[0, 100], 1000, usize::MAX);
        assert!(all.iter().copied().eq((0..=40).chain(100..=140)));
        let some = rows_within_two_steps(&edges, &[0, 100], 1000, 30);
        assert!(some.iter().copied().eq((0..15).chain(100..115)), "{some:?}");
    }
}
