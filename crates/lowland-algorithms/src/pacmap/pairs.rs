//! The pairs of points that act on each other.

use rand::Rng;
use rayon::prelude::*;

use lowland_core::run::{Progress, in_batches};
use lowland_core::{Data, Metric, Result, Seed};
use lowland_neighbors::{NeighborGraph, distance};

/// Distances that the scale of a row is the mean of: those of its fourth to sixth neighbor.
const SCALE_NEIGHBORS: std::ops::Range<usize> = 3..6;
/// Smallest scale, relative to the mean of all.
const MIN_SCALE: f64 = 1e-10;
/// Number of rows that are drawn for a mid-near pair.
const MID_CANDIDATES: usize = 6;
/// Number of draws for a further pair that is to be near in the embedding, before the pair before is kept.
const LOCAL_DRAWS: usize = 100;

/// Number of pairs that each row draws.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PairCounts {
    /// Near pairs: neighbors by the scaled distance.
    pub near: usize,
    /// Mid-near pairs: the second nearest of six random rows.
    pub mid: usize,
    /// Further pairs: random rows that are not neighbors.
    pub further: usize,
}

/// For every row, the rows it forms pairs with.
#[derive(Debug, Clone, PartialEq)]
pub struct Pairs {
    starts: Vec<usize>,
    ends: Vec<u32>,
}

impl Pairs {
    fn from_rows(rows: Vec<Vec<u32>>) -> Self {
        let mut starts = vec![0];
        let mut ends = Vec::with_capacity(rows.iter().map(Vec::len).sum());
        for row in rows {
            ends.extend(row);
            starts.push(ends.len());
        }
        Self { starts, ends }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.starts.len() - 1
    }

    /// The rows that row `i` forms pairs with.
    pub fn row(&self, i: usize) -> &[u32] {
        &self.ends[self.starts[i]..self.starts[i + 1]]
    }

    /// The pairs of all rows, laid end to end.
    pub fn ends(&self) -> &[u32] {
        &self.ends
    }

    /// Replaces the pairs of all rows; `None` if their number differs or one does not exist.
    pub(super) fn with_ends(&self, ends: &[u32]) -> Option<Self> {
        let fits = ends.len() == self.ends.len() && ends.iter().all(|&j| (j as usize) < self.rows());
        fits.then(|| Self { starts: self.starts.clone(), ends: ends.to_vec() })
    }
}

/// The three kinds of pairs.
pub struct PointPairs {
    /// Near pairs.
    pub near: Pairs,
    /// Mid-near pairs.
    pub mid: Pairs,
    /// Further pairs.
    pub further: Pairs,
}

impl PointPairs {
    /// Draws the pairs of all rows. The graph should have some fifty neighbors more than there are near pairs.
    pub fn draw(
        data: &Data,
        metric: Metric,
        graph: &NeighborGraph,
        counts: PairCounts,
        seed: Seed,
        progress: &mut Progress,
    ) -> Result<Self> {
        let near = near_pairs(graph, counts.near);
        let mid_seed = seed.stream("mid-near");
        let mid = in_batches(data.rows(), progress, |i| mid_pairs(data, metric, i, counts.mid, mid_seed.item(i)))?;
        let further_seed = seed.stream("further");
        let further: Vec<Vec<u32>> = (0..data.rows())
            .into_par_iter()
            .map(|i| further_pairs(data.rows(), i, near.row(i), counts.further, further_seed.item(i)))
            .collect();
        Ok(Self { near, mid: Pairs::from_rows(mid), further: Pairs::from_rows(further) })
    }
}

/// Returns, for every row, the `count` neighbors with the smallest distance relative to the scales of both rows.
fn near_pairs(graph: &NeighborGraph, count: usize) -> Pairs {
    let scales = scales(graph);
    let row = |i: usize| {
        let (neighbors, distances) = graph.row(i);
        let scaled = |&d: &f32, j: u32| f64::from(d) / scales[i] * (f64::from(d) / scales[j as usize]);
        let mut row: Vec<(f64, u32)> = distances.iter().zip(neighbors).map(|(d, &j)| (scaled(d, j), j)).collect();
        // A stable sort: equal ones stay in the order of their distances.
        row.sort_by(|a, b| a.0.total_cmp(&b.0));
        row.iter().take(count).map(|&(_, j)| j).collect()
    };
    Pairs::from_rows((0..graph.rows()).into_par_iter().map(row).collect())
}

/// Returns a local scale of the distances around each row.
fn scales(graph: &NeighborGraph) -> Vec<f64> {
    let scale = |i: usize| {
        let distances = graph.row(i).1;
        let last = SCALE_NEIGHBORS.end.min(distances.len());
        let used = &distances[SCALE_NEIGHBORS.start.min(last.saturating_sub(1))..last];
        used.iter().map(|&d| f64::from(d)).sum::<f64>() / used.len().max(1) as f64
    };
    let scales: Vec<f64> = (0..graph.rows()).map(scale).collect();
    let mean = scales.iter().sum::<f64>() / scales.len().max(1) as f64;
    let least = if mean > 0.0 { MIN_SCALE * mean } else { 1.0 };
    scales.into_iter().map(|scale| scale.max(least)).collect()
}

/// Returns `count` rows, each the second nearest of six random ones.
fn mid_pairs(data: &Data, metric: Metric, i: usize, count: usize, seed: Seed) -> Vec<u32> {
    let (n, mut rng) = (data.rows(), seed.rng());
    let mut chosen: Vec<u32> = Vec::with_capacity(count);
    while chosen.len() < count.min(n - 1) {
        let candidates = MID_CANDIDATES.min(n - 1 - chosen.len());
        let mut drawn: Vec<u32> = Vec::with_capacity(candidates);
        while drawn.len() < candidates {
            let j = draw(&mut rng, n);
            if j as usize != i && !drawn.contains(&j) && !chosen.contains(&j) {
                drawn.push(j);
            }
        }
        let mut by_distance: Vec<(f32, u32)> =
            drawn.into_iter().map(|j| (distance(data, i, data, j as usize, metric) as f32, j)).collect();
        by_distance.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        chosen.push(by_distance[1.min(by_distance.len() - 1)].1);
    }
    chosen
}

/// Returns `count` random rows that are not near; of so few rows that there are not as many, any others.
fn further_pairs(n: usize, i: usize, near: &[u32], count: usize, seed: Seed) -> Vec<u32> {
    let excluded = if n > near.len() + count { near } else { &[] };
    let mut rng = seed.rng();
    let mut chosen: Vec<u32> = Vec::with_capacity(count);
    while chosen.len() < count.min(n - 1 - excluded.len()) {
        let j = draw(&mut rng, n);
        if j as usize != i && !excluded.contains(&j) && !chosen.contains(&j) {
            chosen.push(j);
        }
    }
    chosen
}

/// Draws the further pairs again, from points that are nearer than `threshold` in the embedding. A pair for which none is found
/// in a hundred draws stays as it is.
pub(super) fn local_further_pairs(
    near: &Pairs,
    further: &Pairs,
    is_close: impl Fn(usize, usize) -> bool + Sync,
    seed: Seed,
) -> Pairs {
    let n = near.rows();
    let row = |i: usize| {
        let mut rng = seed.item(i).rng();
        let mut chosen: Vec<u32> = Vec::with_capacity(further.row(i).len());
        for &before in further.row(i) {
            let is_new = |&j: &u32| {
                j as usize != i && !chosen.contains(&j) && !near.row(i).contains(&j) && is_close(i, j as usize)
            };
            let found = (0..LOCAL_DRAWS).map(|_| draw(&mut rng, n)).find(is_new);
            chosen.push(found.unwrap_or(before));
        }
        chosen
    };
    Pairs::from_rows((0..n).into_par_iter().map(row).collect())
}

/// Returns a random row: the high half of a product, whose deviation from the uniform distribution is at most 2^-32.
#[inline(always)]
fn draw(rng: &mut impl Rng, n: usize) -> u32 {
    (((rng.next_u64() >> 32) * n as u64) >> 32) as u32
}
