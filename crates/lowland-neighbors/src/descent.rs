//! Nearest-neighbor descent: a neighbor of a neighbor is likely a neighbor.
//!
//! Follows Dong, Moses & Li (2011), "Efficient k-nearest neighbor graph construction for generic similarity measures",
//! with a forest of random trees as the start. Each round collects the proposals of the local joins of a fixed block of
//! rows, computed against the lists before the block. A list keeps the best proposals by (distance, index), so the
//! order of the proposals, and with it the number of threads, does not matter.

use rayon::prelude::*;

use super::candidates::{CandidateLists, NO_NEIGHBOR};
use super::distance::by_distance_then_index;
use super::forest;
use super::row_distances::RowDistances;
use lowland_core::run::{Progress, in_batches};
use lowland_core::{Result, Seed};

/// The nearest rows found so far, for every row.
pub(super) struct NeighborLists {
    entries: Vec<ListEntry>,
    k: usize,
}

/// An entry of a list: distance and index of a row, and whether no local join has used it yet.
#[derive(Clone, Copy)]
struct ListEntry {
    distance: f32,
    index: u32,
    fresh: bool,
}

/// The list of one row, in ascending order.
pub(super) struct NeighborList<'a>(&'a mut [ListEntry]);

impl NeighborList<'_> {
    /// Inserts row `j` if it is among the nearest and not yet in the list; returns whether it was inserted.
    #[inline]
    pub(super) fn offer(&mut self, distance: f32, j: u32) -> bool {
        let last = self.0.len() - 1;
        let before = |entry: &ListEntry| entry.distance < distance || (entry.distance == distance && entry.index < j);
        if before(&self.0[last]) || self.0[last].index == j {
            return false;
        }
        let mut at = last;
        while at > 0 && !before(&self.0[at - 1]) {
            at -= 1;
        }
        // Equal distances come from equal computations, so the row could only be at this position.
        if self.0[at].index == j {
            return false;
        }
        self.0.copy_within(at..last, at + 1);
        self.0[at] = ListEntry { distance, index: j, fresh: true };
        true
    }
}

impl NeighborLists {
    fn new(rows: usize, k: usize) -> Self {
        Self { entries: vec![ListEntry { distance: f32::INFINITY, index: NO_NEIGHBOR, fresh: false }; rows * k], k }
    }

    /// Updates the list of every row, in parallel.
    pub(super) fn update_rows(&mut self, change: impl Fn(usize, &mut NeighborList) + Sync) {
        let k = self.k;
        self.entries
            .par_chunks_mut(k)
            .enumerate()
            .with_min_len(256)
            .for_each(|(i, list)| change(i, &mut NeighborList(list)));
    }

    fn row(&self, i: usize) -> &[ListEntry] {
        &self.entries[i * self.k..(i + 1) * self.k]
    }

    pub(super) fn rows(&self) -> usize {
        self.entries.len() / self.k
    }

    /// Returns the lists without their distances.
    pub(super) fn to_candidates(&self) -> CandidateLists {
        CandidateLists::uniform(self.entries.iter().map(|entry| entry.index).collect(), self.k)
    }

    /// Neighbors of row `i`, nearest first.
    pub(super) fn neighbors(&self, i: usize) -> impl Iterator<Item = u32> + '_ {
        self.row(i).iter().map(|entry| entry.index).filter(|&j| j != NO_NEIGHBOR)
    }

    /// Returns for each row `i` the rows with an edge from `i`, then those with an edge to it: otherwise a row that is
    /// in no list would never be found. Of the incoming edges the nearest are kept, at most twice the length of a list.
    pub(super) fn bidirectional(&self) -> Adjacency {
        let reverse = transpose(self, |_| true);
        let mut both = Adjacency { starts: vec![0], rows: Vec::with_capacity(2 * self.entries.len()) };
        let mut nearest = Vec::new();
        for i in 0..self.rows() {
            both.rows.extend(self.neighbors(i));
            let length = |&j: &u32| {
                let edge = self.row(j as usize).iter().find(|entry| entry.index as usize == i);
                (edge.map_or(f32::INFINITY, |entry| entry.distance), j)
            };
            nearest.clear();
            nearest.extend(reverse.of(i).iter().map(length));
            nearest.sort_unstable_by(by_distance_then_index);
            both.rows.extend(nearest.iter().take(2 * self.k).map(|edge| edge.1));
            both.starts.push(both.rows.len());
        }
        both
    }
}

/// Rounds stop if fewer than this share of the entries change.
const CONVERGED_SHARE: f64 = 0.001;
/// Number of rows whose local joins are collected before the lists are updated.
const BLOCK_ROWS: usize = 8192;
/// Number of rows of a task.
const TASK_ROWS: usize = 32;
/// Number of partitions of the lists that are updated in parallel.
const PARTITIONS: usize = 32;

/// Number of trees of the forest: on 70,000 images fewer need more rounds, and more take longer to build than they
/// save.
const TREES: usize = 8;

/// Parameters of the descent.
pub(super) struct DescentParams {
    /// Number of neighbors in the list of each row.
    pub listed: usize,
    /// Maximum number of fresh and of old rows in a local join.
    pub sample: usize,
    /// Maximum number of rounds.
    pub rounds: usize,
}

impl DescentParams {
    /// Parameters for running until hardly anything changes.
    pub(super) fn thorough(listed: usize) -> Self {
        Self { listed, sample: listed + 4, rounds: 20 }
    }
}

/// Builds the lists: a forest of random trees, then rounds of local joins.
pub(super) fn build<S: RowDistances>(
    space: &S,
    effort: DescentParams,
    seed: Seed,
    progress: &mut Progress,
) -> Result<NeighborLists> {
    let DescentParams { listed: k, sample, rounds } = effort;
    let rows = space.rows();
    let mut lists = NeighborLists::new(rows, k);
    forest::fill_lists(space, &mut lists, TREES, seed.stream("forest"), &mut |part| progress(0.3 * part))?;
    for round in 0..rounds {
        let mut changed = 0;
        let (fresh, old) = candidates(&mut lists, sample, seed.stream("sample").item(round));
        for start in (0..rows).step_by(BLOCK_ROWS) {
            // Each round is expected to take half as long as the previous one.
            let part = 1.0 - 0.5f64.powf(round as f64 + start as f64 / rows as f64);
            let mut listen = |_| progress(0.3 + 0.7 * part);
            let block = start..rows.min(start + BLOCK_ROWS);
            let proposed = proposals(space, &lists, &fresh, &old, block, &mut listen)?;
            changed += apply(&mut lists, &proposed);
        }
        if (changed as f64) < CONVERGED_SHARE * (rows * k) as f64 {
            break;
        }
    }
    Ok(lists)
}

/// For each row a list of rows, laid end to end.
pub(super) struct Adjacency {
    starts: Vec<usize>,
    rows: Vec<u32>,
}

impl Adjacency {
    #[cfg(test)]
    pub(super) fn new(lists: impl Iterator<Item = Vec<u32>>) -> Self {
        let mut sample = Self { starts: vec![0], rows: Vec::new() };
        for list in lists {
            sample.rows.extend(list);
            sample.starts.push(sample.rows.len());
        }
        sample
    }

    pub(super) fn of(&self, i: usize) -> &[u32] {
        &self.rows[self.starts[i]..self.starts[i + 1]]
    }
}

/// Draws for each row up to `sample` of the fresh and of the old rows that are in its list or have it in theirs. Fresh
/// entries that are drawn become old.
fn candidates(lists: &mut NeighborLists, sample: usize, seed: Seed) -> (CandidateLists, CandidateLists) {
    let reverse = [true, false].map(|fresh| transpose(lists, |entry| entry.fresh == fresh));
    let rows = lists.rows();
    let draw = |i: usize, list: &[ListEntry], fresh: bool, out: &mut [u32]| {
        let listed =
            list.iter().filter(|entry| entry.index != NO_NEIGHBOR && entry.fresh == fresh).map(|entry| entry.index);
        let mut drawn: Vec<(u64, u32)> = listed
            .chain(reverse[usize::from(!fresh)].of(i).iter().copied())
            .map(|j| (seed.item(i).item(j as usize).0, j))
            .collect();
        drawn.sort_unstable();
        drawn.dedup();
        drawn.into_iter().zip(out).for_each(|((_, j), out)| *out = j);
    };
    let k = lists.k;
    let (mut fresh, mut old) = (CandidateLists::new(rows, sample), CandidateLists::new(rows, sample));
    let drawn = fresh.entries_mut().par_chunks_mut(sample).zip(old.entries_mut().par_chunks_mut(sample));
    lists.entries.par_chunks_mut(k).zip(drawn).enumerate().with_min_len(TASK_ROWS).for_each(|(i, (list, drawn))| {
        draw(i, list, true, drawn.0);
        draw(i, list, false, drawn.1);
        for entry in list.iter_mut().filter(|entry| entry.fresh) {
            entry.fresh = !drawn.0.contains(&entry.index);
        }
    });
    (fresh, old)
}

/// Returns for each row the rows that have it in their list, through entries for which `counts` holds.
fn transpose(lists: &NeighborLists, counts: impl Fn(&ListEntry) -> bool) -> Adjacency {
    let listed = || lists.entries.iter().enumerate().filter(|(_, entry)| entry.index != NO_NEIGHBOR && counts(entry));
    let mut starts = vec![0; lists.rows() + 1];
    listed().for_each(|(_, entry)| starts[entry.index as usize + 1] += 1);
    for i in 0..lists.rows() {
        starts[i + 1] += starts[i];
    }
    let mut next = starts.clone();
    let mut rows = vec![0; starts[lists.rows()]];
    for (at, entry) in listed() {
        let position = &mut next[entry.index as usize];
        rows[*position] = (at / lists.k) as u32;
        *position += 1;
    }
    Adjacency { starts, rows }
}

/// A row, its proposed neighbor, and their distance.
type Proposal = (u32, u32, f32);

/// Returns the proposals of the local joins of a block, by task and by partition.
fn proposals<S: RowDistances>(
    space: &S,
    lists: &NeighborLists,
    fresh: &CandidateLists,
    old: &CandidateLists,
    block: std::ops::Range<usize>,
    progress: &mut Progress,
) -> Result<Vec<Vec<Vec<Proposal>>>> {
    let part_rows = lists.rows().div_ceil(PARTITIONS);
    in_batches(block.len().div_ceil(TASK_ROWS), progress, |task| {
        let start = block.start + task * TASK_ROWS;
        let mut out = vec![Vec::new(); PARTITIONS];
        let (mut others, mut distance) = (Vec::new(), Vec::new());
        let worst = |i: u32| lists.entries[(i as usize + 1) * lists.k - 1].distance;
        for i in start..block.end.min(start + TASK_ROWS) {
            // Fresh rows are compared with each other and with old ones; old rows have been compared before.
            others.clear();
            others.extend_from_slice(fresh.row(i));
            others.extend_from_slice(old.row(i));
            for (at, &a) in fresh.row(i).iter().enumerate() {
                let others = &others[at + 1..];
                let worst_a = worst(a);
                space.distances(a as usize, others, &mut distance);
                for (&b, &d) in others.iter().zip(&distance) {
                    if a != b {
                        if d <= worst_a {
                            out[a as usize / part_rows].push((a, b, d));
                        }
                        if d <= worst(b) {
                            out[b as usize / part_rows].push((b, a, d));
                        }
                    }
                }
            }
        }
        out
    })
}

/// Applies the proposals to the lists; returns the number that were inserted.
fn apply(lists: &mut NeighborLists, proposals: &[Vec<Vec<Proposal>>]) -> usize {
    let k = lists.k;
    let part_rows = lists.rows().div_ceil(PARTITIONS);
    let taken: Vec<usize> = lists
        .entries
        .par_chunks_mut(part_rows * k)
        .enumerate()
        .map(|(part, entries)| {
            let mut taken = 0;
            for &(i, j, distance) in proposals.iter().flat_map(|task| &task[part]) {
                let row = i as usize - part * part_rows;
                taken += usize::from(NeighborList(&mut entries[row * k..(row + 1) * k]).offer(distance, j));
            }
            taken
        })
        .collect();
    taken.iter().sum()
}
