//! Candidate neighbors of a block of rows, pruned by bounds of their distances.

use std::ops::Range;

use super::PairSource;
use crate::distance::by_distance_then_index;

/// Candidate neighbors of a block of rows.
pub(super) struct CandidateBlock {
    start: usize,
    k: usize,
    capacity: usize,
    entries: Vec<(f32, u32)>,
    counts: Vec<usize>,
    pub(super) thresholds: Vec<f32>,
    /// For rows whose first `k` entries are the nearest so far by their true distances: the last of these entries.
    worst: Vec<(f32, u32)>,
    /// The true distances of these entries; empty until there are any.
    keys: Vec<f32>,
}

/// Value of `worst` for rows whose candidates are known only by their bounds.
const UNRESOLVED: (f32, u32) = (f32::INFINITY, u32::MAX);

/// Capacity of a row's buffer: above `k`, so that pruning is rare, but only by a quarter, so that thresholds stay
/// tight.
pub(crate) fn buffer_capacity(k: usize) -> usize {
    k.saturating_add(k / 4).saturating_add(16)
}

impl CandidateBlock {
    pub(super) fn new(start: usize, rows: usize, k: usize) -> Self {
        let capacity = buffer_capacity(k);
        Self {
            start,
            k,
            capacity,
            entries: vec![(0.0, 0); rows * capacity],
            counts: vec![0; rows],
            thresholds: vec![f32::INFINITY; rows],
            worst: vec![UNRESOLVED; rows],
            keys: Vec::new(),
        }
    }

    /// Number of rows.
    pub(super) fn rows(&self) -> usize {
        self.counts.len()
    }

    pub(super) fn range(&self) -> Range<usize> {
        self.start..self.start + self.counts.len()
    }

    #[inline]
    pub(super) fn offer<P: PairSource>(&mut self, pairs: &P, row: usize, lower: f32, j: usize) {
        // Ties go to the lower index: equal rows, or rows without a common entry, are rejected without computing the
        // distance.
        if !P::BOUNDS_ARE_EXACT && (pairs.known_distance(lower).unwrap_or(0.0), j as u32) > self.worst[row] {
            return;
        }
        let count = self.counts[row];
        self.entries[row * self.capacity + count] = (lower, j as u32);
        self.counts[row] = count + 1;
        if count + 1 == self.capacity {
            self.prune(pairs, row);
        }
    }

    /// Lowers the threshold of a row and drops the candidates above it.
    #[cold]
    fn prune<P: PairSource>(&mut self, pairs: &P, row: usize) {
        let i = pairs.row_at_position(self.start + row);
        let entries = &mut self.entries[row * self.capacity..][..self.counts[row]];
        if P::BOUNDS_ARE_EXACT {
            self.thresholds[row] = entries.select_nth_unstable_by(self.k - 1, by_distance_then_index).1.0;
            self.counts[row] = self.k;
            return;
        }
        let mut upper: Vec<f32> = entries.iter().map(|&(lower, j)| lower + pairs.slack(i, j as usize)).collect();
        let (_, &mut bound, _) = upper.select_nth_unstable_by(self.k - 1, f32::total_cmp);
        let thresholds = bound.min(self.thresholds[row]);
        self.thresholds[row] = thresholds;
        let resolved = self.resolved(row);
        let entries = &mut self.entries[row * self.capacity..][..self.counts[row]];
        let mut kept = resolved;
        for at in resolved..entries.len() {
            if entries[at].0 <= thresholds {
                entries[kept] = entries[at];
                kept += 1;
            }
        }
        self.counts[row] = kept;
        // If many distances are equal or indistinguishable, only the true distances can free space.
        if resolved > 0 || kept > (self.k + self.capacity) / 2 {
            self.resolve(pairs, row);
        }
    }

    /// Keeps the `k` nearest of a row by their true distances, and stores these.
    fn resolve<P: PairSource>(&mut self, pairs: &P, row: usize) {
        let k = self.k;
        let mut exact: Vec<(f32, u32, f32)> = (0..self.counts[row])
            .map(|at| (self.key(pairs, row, at), self.entries[row * self.capacity + at]))
            .map(|(key, (lower, j))| (key, j, lower))
            .collect();
        let (_, worst, _) = exact.select_nth_unstable_by(k - 1, |a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        self.worst[row] = (worst.0, worst.1);
        self.counts[row] = k;
        self.keys.resize(self.thresholds.len() * k, 0.0);
        let entries = &mut self.entries[row * self.capacity..][..k];
        let kept = entries.iter_mut().zip(&mut self.keys[row * k..][..k]);
        kept.zip(&exact).for_each(|((entry, known), &(key, j, lower))| (*entry, *known) = ((lower, j), key));
    }

    /// Number of entries of a row whose true distances are known.
    fn resolved(&self, row: usize) -> usize {
        if self.worst[row] == UNRESOLVED { 0 } else { self.k }
    }

    /// Returns the true distance of a candidate.
    fn key<P: PairSource>(&self, pairs: &P, row: usize, at: usize) -> f32 {
        if at < self.resolved(row) {
            return self.keys[row * self.k + at];
        }
        let (lower, j) = self.entries[row * self.capacity + at];
        pairs
            .known_distance(lower)
            .unwrap_or_else(|| pairs.distance(pairs.row_at_position(self.start + row), j as usize))
    }

    /// Returns the `k` nearest of a row, in ascending order.
    pub(super) fn nearest<P: PairSource>(&self, pairs: &P, row: usize) -> Vec<(f32, u32)> {
        let first = row * self.capacity;
        let mut exact: Vec<(f32, u32)> =
            (0..self.counts[row]).map(|at| (self.key(pairs, row, at), self.entries[first + at].1)).collect();
        exact.sort_unstable_by(by_distance_then_index);
        exact.truncate(self.k);
        exact
    }
}
