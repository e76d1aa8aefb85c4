//! Reliability estimated from a sample of the rows, where a comparison of all takes longer than the fit.

use lowland_core::run::Progress;
use lowland_core::{Data, DataShape, Metric, Points, Result, Seed};
use lowland_neighbors::{NeighborGraph, nearest_to_with};
use rayon::prelude::*;

use super::neighborhoods::{NeighborShares, compare};
use super::null::{NullSpreads, benjamini_hochberg};
use super::report::{REACH, TrustParams, check, check_related};
use super::summary::{keeps_most, percent};

/// Shares of the points, estimated from a sample of the rows whose neighbors among all rows were found exactly.
#[derive(Debug, Clone, PartialEq)]
pub struct SampledTrust {
    /// Number of rows that were compared.
    pub sampled: usize,
    /// Number of all rows.
    pub rows: usize,
    /// Number of nearest rows that were compared.
    pub n_neighbors: usize,
    /// Points beyond this rank are far.
    pub reach: usize,
    /// Number of sampled points that keep most of their neighbors.
    pub keeping: usize,
    /// Number of sampled points that are flagged.
    pub flagged: usize,
    /// False-discovery rate of the flags.
    pub fdr: f64,
    /// Noise of the null map, in units of the distance between neighboring points.
    pub null_noise: f64,
}

impl SampledTrust {
    /// Returns three sentences: how neighbors are kept, that gaps were not examined, and how many points are flagged.
    pub fn summary(&self) -> [String; 3] {
        let share = |count| percent(count, self.sampled);
        let error = 100.0 * self.standard_error(self.keeping);
        [
            format!(
                "About {} of the points (standard error {error:.1}%, from {} of {} rows) keep most of their neighbors: of the {} \
                 nearest rows, more than half are among the {} nearest points.",
                share(self.keeping),
                self.sampled,
                self.rows,
                self.n_neighbors,
                self.reach
            ),
            "Whether the gaps of the map are in the data was not examined: that takes the neighbors of all rows."
                .into(),
            match self.flagged {
                0 => "No sampled point has its nearest rows at several places of the map.".into(),
                count => format!(
                    "About {} of the points could equally well be placed elsewhere: their nearest rows are at several places.",
                    share(count)
                ),
            },
        ]
    }

    /// Standard error of the share of `count` points among those sampled.
    fn standard_error(&self, count: usize) -> f64 {
        let (sampled, share) = (self.sampled as f64, count as f64 / self.sampled as f64);
        let finite = (self.rows - self.sampled) as f64 / (self.rows - 1) as f64;
        (share * (1.0 - share) / sampled * finite).sqrt()
    }
}

/// Estimates the reliability of `map` from `sampled` rows, or all if there are fewer.
pub fn assess_sample(
    data: &Data,
    map: Points,
    sampled: usize,
    params: &TrustParams,
    progress: &mut Progress,
) -> Result<SampledTrust> {
    check(data, map, params)?;
    let (n, k) = (data.rows(), params.n_neighbors);
    let reach = (REACH * k).min((n - 1) / 2).max(k + 1);
    let rows = draw(n, sampled.min(n), params.seed);
    // A row is among its own nearest, unless it has many copies.
    let found = nearest_to_with(&data.select(&rows), data, reach + 1, params.metric, &mut |done| progress(0.7 * done))?;
    let in_data = without_own(&found, &rows, reach)?;
    let in_map = nearest_to_points(map, &rows, reach)?;
    progress(0.9)?;
    let NeighborShares { kept, lost, certain_spread, .. } = compare(&in_data, &in_map, map, Some(&rows), k, reach);
    let is_arbitrary = |at: usize| in_data.row(at).1[k - 1] == 0.0 || in_map.row(at).1[k - 1] == 0.0;
    let known: Vec<usize> = (0..rows.len()).filter(|&at| !is_arbitrary(at)).collect();
    let kept: Vec<f64> = known.iter().map(|&at| kept[at]).collect();
    check_related(&kept, rows.len(), n, k)?;
    let null = NullSpreads::new(&kept, n, map.dim(), k, params.seed)?;
    let p_values: Vec<f64> = known.iter().map(|&at| null.p_value(certain_spread[at])).collect();
    progress(1.0)?;
    Ok(SampledTrust {
        sampled: rows.len(),
        rows: n,
        n_neighbors: k,
        reach,
        keeping: lost.iter().filter(|&&lost| keeps_most(lost)).count(),
        flagged: benjamini_hochberg(&p_values, params.fdr).iter().filter(|&&flag| flag).count(),
        fdr: params.fdr,
        null_noise: null.noise,
    })
}

/// Bytes of the searches and of the simulated null, which do not grow with the data.
const BUFFERS: u64 = 16 << 20;

/// Estimates the bytes of [`assess_sample`] besides the data and the map.
pub fn sample_memory(shape: DataShape, sampled: usize, params: &TrustParams) -> u64 {
    let (n, sampled, reach) = (shape.rows as u64, sampled.min(shape.rows) as u64, (REACH * params.n_neighbors) as u64);
    // The order in which rows are drawn, or distances of each thread to all points; the copied rows; both graphs.
    let buffers = n * 16 * rayon::current_num_threads().max(1) as u64;
    BUFFERS + buffers + shape.bytes / n.max(1) * sampled + sampled * reach * 8 * 4
}

/// Draws `count` of `n` rows, ascending.
fn draw(n: usize, count: usize, seed: Seed) -> Vec<usize> {
    let keys = seed.stream("reliability sample");
    let mut order: Vec<(u64, usize)> = (0..n).map(|i| (keys.item(i).0, i)).collect();
    if count < n {
        order.select_nth_unstable(count);
    }
    let mut rows: Vec<usize> = order[..count].iter().map(|&(_, i)| i).collect();
    rows.sort_unstable();
    rows
}

/// Leaves out each row itself, or the farthest of its neighbors.
fn without_own(found: &NeighborGraph, rows: &[usize], count: usize) -> Result<NeighborGraph> {
    let (mut columns, mut distances) = (Vec::new(), Vec::new());
    for (at, &own) in rows.iter().enumerate() {
        let (near, lengths) = found.row(at);
        let others = near.iter().zip(lengths).filter(|(j, _)| **j as usize != own).take(count);
        others.for_each(|(&j, &length)| {
            columns.push(j);
            distances.push(length);
        });
    }
    NeighborGraph::uniform(count, columns, distances, found.targets(), found.metric())
}

/// Returns the nearest other points of some points of a map, ties by index.
fn nearest_to_points(map: Points, rows: &[usize], count: usize) -> Result<NeighborGraph> {
    let nearest = |squares: &mut Vec<(f64, u32)>, &i: &usize| {
        let own = map.row(i);
        let square = |j: usize| own.iter().zip(map.row(j)).map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
        squares.clear();
        squares.extend((0..map.rows()).filter(|&j| j != i).map(|j| (square(j), j as u32)));
        let order = |a: &(f64, u32), b: &(f64, u32)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
        if count < squares.len() {
            squares.select_nth_unstable_by(count, order);
        }
        squares[..count].sort_unstable_by(order);
        squares[..count].to_vec()
    };
    let found: Vec<(f64, u32)> = rows.par_iter().map_init(Vec::new, nearest).flatten_iter().collect();
    let (columns, distances) = found.into_iter().map(|(square, j)| (j, square.sqrt() as f32)).unzip();
    NeighborGraph::uniform(count, columns, distances, map.rows(), Metric::Euclidean)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{assess, tests::torn_sheet};
    use lowland_core::ReliabilityColumn;

    fn estimate(sampled: usize) -> (SampledTrust, crate::TrustReport) {
        let (sheet, map) = torn_sheet(1500);
        let data = Data::dense(sheet.iter().map(|&v| v as f32).collect(), 2).unwrap();
        let (map, params) = (Points::new(&map, 2).unwrap(), TrustParams { everything: false, ..Default::default() });
        let all = assess(&data, map, None, None, &params, &mut |_| Ok(())).unwrap();
        (assess_sample(&data, map, sampled, &params, &mut |_| Ok(())).unwrap(), all)
    }

    #[test]
    fn a_sample_of_all_rows_finds_what_the_report_finds() {
        let (found, all) = estimate(2000);
        assert_eq!((found.sampled, found.rows, found.reach), (1500, 1500, all.reach));
        assert_eq!((found.flagged, found.null_noise), (all.flagged(), all.null_noise));
        let lost = all.reliability.get(ReliabilityColumn::Lost).unwrap();
        assert_eq!(found.keeping, lost.iter().filter(|&&lost| lost < 0.5).count());
        assert_eq!(found.standard_error(found.keeping), 0.0);
    }

    #[test]
    fn a_part_of_the_rows_estimates_the_shares() {
        let (found, all) = estimate(500);
        let share = found.flagged as f64 / 500.0;
        let truth = all.flagged() as f64 / 1500.0;
        assert!(
            found.flagged > 0 && (share - truth).abs() < 4.0 * found.standard_error(found.flagged),
            "{share} {truth}"
        );
        let summary = found.summary();
        assert!(summary[0].contains("from 500 of 1500 rows"), "{summary:?}");
        assert!(summary[1].contains("not examined") && summary[2].starts_with("About "), "{summary:?}");
    }

    #[test]
    fn maps_of_other_rows_and_copies_are_refused() {
        let (sheet, map) = torn_sheet(600);
        let refuse = |rows: &[f64], map: &[f64]| {
            let data = Data::dense(rows.iter().map(|&v| v as f32).collect(), 2).unwrap();
            let map = Points::new(map, 2).unwrap();
            assess_sample(&data, map, 200, &TrustParams::default(), &mut |_| Ok(())).unwrap_err().to_string()
        };
        let reversed: Vec<f64> = map.chunks(2).rev().flatten().copied().collect();
        assert!(refuse(&sheet, &reversed).contains("are in another order"));
        assert!(refuse(&[0.5; 1200], &map).contains("200 of the 200 rows have 15 or more copies"));
        assert!(refuse(&sheet, &map[2..]).contains("expected 600, found 599"));
    }
}
