//! Scores of how well the map preserves the order of large distances, on seeded samples.

use rand::Rng;

use super::blocks::in_blocks;
use super::estimate::Estimate;
use super::metric_space::MetricSpace;
use lowland_core::run::Progress;
use lowland_core::{Error, Result, Seed};

const BLOCK: usize = 256;

/// Returns the share of random triplets whose order of distances is preserved. For each of `rows`, `per_row` pairs of
/// other points `j` and `l` are drawn; a triplet counts if `j` is nearer than, as far as, or farther than `l` in both
/// spaces.
pub fn triplet_accuracy(
    data: &MetricSpace,
    map: &MetricSpace,
    rows: &[u32],
    per_row: usize,
    seed: Seed,
) -> Result<f64> {
    Ok(triplet_accuracy_with(data, map, rows, per_row, seed, &mut |_| Ok(()))?.value)
}

/// Like [`triplet_accuracy`], as an estimate for all triplets, and reports progress.
pub(super) fn triplet_accuracy_with(
    data: &MetricSpace,
    map: &MetricSpace,
    rows: &[u32],
    per_row: usize,
    seed: Seed,
    progress: &mut Progress,
) -> Result<Estimate> {
    let n = data.rows();
    if n < 3 || rows.is_empty() || per_row == 0 {
        return Err(Error::TooFewPoints { what: "triplet accuracy".into(), needed: 3, found: n, remedies: Vec::new() });
    }
    let seed = seed.stream("triplets");
    let kept = in_blocks(rows.len(), BLOCK, progress, |range| {
        let kept_of_row = |&i: &u32| {
            let (i, mut rng) = (i as usize, seed.item(i as usize).rng());
            let mut kept = 0;
            for _ in 0..per_row {
                let j = skip(below(&mut rng, n - 1), i);
                // Skipping the two excluded points in ascending order keeps the rest equally likely.
                let l = skip(skip(below(&mut rng, n - 2), i.min(j)), i.max(j));
                let order = |space: &MetricSpace| space.key(i, j).partial_cmp(&space.key(i, l));
                kept += u64::from(order(data) == order(map));
            }
            kept
        };
        rows[range].iter().map(kept_of_row).collect::<Vec<u64>>()
    })?
    .concat();
    let share = kept.iter().sum::<u64>() as f64 / (rows.len() * per_row) as f64;
    // Triplets of other rows are not the only ones that were not drawn.
    Ok(Estimate::from_counts(share, &kept, 1.0 / per_row as f64, usize::MAX))
}

/// Returns Spearman's rank correlation between distances in the data and in the map, over pairs drawn at random with
/// replacement, or over all pairs if there are at most `pairs`. The correlation is `None` if all distances on one side
/// are equal; the second value is the number of pairs if they were drawn.
pub fn distance_correlation(
    data: &MetricSpace,
    map: &MetricSpace,
    pairs: usize,
    seed: Seed,
) -> Result<(Option<f64>, Option<usize>)> {
    distance_correlation_with(data, map, pairs, seed, &mut |_| Ok(()))
}

/// Like [`distance_correlation`], and reports progress.
pub(super) fn distance_correlation_with(
    data: &MetricSpace,
    map: &MetricSpace,
    pairs: usize,
    seed: Seed,
    progress: &mut Progress,
) -> Result<(Option<f64>, Option<usize>)> {
    let n = data.rows();
    let all = n.saturating_mul(n.saturating_sub(1)) / 2;
    let seed = seed.stream("pairs");
    let (pairs, drawn): (Vec<(usize, usize)>, _) = if all <= pairs {
        ((0..n).flat_map(|i| (i + 1..n).map(move |j| (i, j))).collect(), None)
    } else {
        let draw = |at| {
            let mut rng = seed.item(at).rng();
            let i = below(&mut rng, n);
            (i, skip(below(&mut rng, n - 1), i))
        };
        ((0..pairs).map(draw).collect(), Some(pairs))
    };
    let keys = in_blocks(pairs.len(), BLOCK, progress, |range| {
        pairs[range].iter().map(|&(i, j)| (data.key(i, j), map.key(i, j))).collect::<Vec<_>>()
    })?;
    let (a, b): (Vec<f64>, Vec<f64>) = keys.into_iter().flatten().unzip();
    Ok((correlation(&average_ranks(&a), &average_ranks(&b)), drawn))
}

/// Ranks from one; equal values get the mean of their ranks.
fn average_ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_unstable_by(|&a, &b| values[a].total_cmp(&values[b]).then(a.cmp(&b)));
    let mut ranks = vec![0.0; values.len()];
    let mut start = 0;
    for run in order.chunk_by(|&a, &b| values[a] == values[b]) {
        let shared = start as f64 + (run.len() + 1) as f64 / 2.0;
        run.iter().for_each(|&at| ranks[at] = shared);
        start += run.len();
    }
    ranks
}

/// Pearson's correlation; `None` if one side is constant.
fn correlation(a: &[f64], b: &[f64]) -> Option<f64> {
    let count = a.len() as f64;
    let (mean_a, mean_b) = (a.iter().sum::<f64>() / count, b.iter().sum::<f64>() / count);
    let (mut ab, mut aa, mut bb) = (0.0, 0.0, 0.0);
    for (x, y) in a.iter().zip(b) {
        let (x, y) = (x - mean_a, y - mean_b);
        ab += x * y;
        aa += x * x;
        bb += y * y;
    }
    (aa > 0.0 && bb > 0.0).then(|| ab / (aa.sqrt() * bb.sqrt()))
}

/// Returns a random number below `bound`, uniform to within 2^-64.
pub(super) fn below(rng: &mut impl Rng, bound: usize) -> usize {
    ((u128::from(rng.next_u64()) * bound as u128) >> 64) as usize
}

/// Maps `0..n-1` to `0..n` without `hole`.
fn skip(index: usize, hole: usize) -> usize {
    index + usize::from(index >= hole)
}

/// Returns `count` distinct rows of `n`, ascending (all of them if `count >= n`).
pub(super) fn sample_rows(n: usize, count: usize, seed: Seed) -> Vec<u32> {
    let mut rows: Vec<u32> = (0..n as u32).collect();
    if count < n {
        let mut rng = seed.stream("rows").rng();
        for at in 0..count {
            let other = at + below(&mut rng, n - at);
            rows.swap(at, other);
        }
        rows.truncate(count);
        rows.sort_unstable();
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_share_their_mean_rank() {
        assert_eq!(average_ranks(&[3.0, 1.0, 3.0, 2.0, 3.0]), [4.0, 1.0, 4.0, 2.0, 4.0]);
    }

    #[test]
    fn a_sample_has_different_rows_in_order_and_repeats() {
        let rows = sample_rows(1000, 100, Seed(3));
        assert_eq!(rows.len(), 100);
        assert!(rows.is_sorted_by(|a, b| a < b));
        assert_eq!(rows, sample_rows(1000, 100, Seed(3)));
        assert_ne!(rows, sample_rows(1000, 100, Seed(4)));
        assert_eq!(sample_rows(5, 9, Seed(0)), [0, 1, 2, 3, 4]);
    }

    #[test]
    fn triplets_never_repeat_a_point_and_reach_all() {
        let mut rng = Seed(1).rng();
        let mut seen = [[false; 5]; 5];
        for _ in 0..2000 {
            let i = 2;
            let j = skip(below(&mut rng, 4), i);
            let l = skip(skip(below(&mut rng, 3), i.min(j)), i.max(j));
            assert!(i != j && i != l && j != l && l < 5);
            seen[j][l] = true;
        }
        assert_eq!(seen.iter().flatten().filter(|s| **s).count(), 12);
    }
}
