//! Neighbors of each point in the data and on the map.

use lowland_core::Points;
use lowland_neighbors::NeighborGraph;
use rayon::prelude::*;

/// How the neighbors of each point in the data and on the map agree.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct NeighborShares {
    /// Share of the `k` nearest rows in the data that are among the `k` nearest on the map.
    pub kept: Vec<f64>,
    /// Share of the `k` nearest rows in the data that are not among the `reach` nearest on the map.
    pub lost: Vec<f64>,
    /// Share of the `k` nearest points on the map that are not among the `reach` nearest in the data.
    pub intruders: Vec<f64>,
    /// Distance on the map at which or beyond which a fifth of the nearest rows in the data are, in units of the distance to the
    /// `k`-th nearest point on the map.
    pub spread: Vec<f64>,
    /// The same with one more of the nearest rows: of a point whose neighbors in the data differ from the true ones by one, a
    /// fifth is far only by chance.
    pub certain_spread: Vec<f64>,
}

/// Share of the neighbors that must be far for a large spread, as a divisor: neighbors on the other side of a tear are at least
/// this share of a torn neighborhood, and single misplaced neighbors are fewer.
const SPREAD_SHARE: usize = 5;

/// Compares neighborhoods. Both graphs have at least `reach` neighbors in every row, and `k <= reach`. The rows of the graphs are
/// those of `sampled` points, or all.
pub(crate) fn compare(
    in_data: &NeighborGraph,
    in_map: &NeighborGraph,
    map: Points,
    sampled: Option<&[usize]>,
    k: usize,
    reach: usize,
) -> NeighborShares {
    let row = |(near, far): &mut (Vec<u32>, Vec<u32>), i: usize| {
        let (data, _) = in_data.row(i);
        let (drawn, lengths) = in_map.row(i);
        let share = |points: &[u32], others: &[u32], sorted: &mut Vec<u32>| {
            sorted.clear();
            sorted.extend_from_slice(others);
            sorted.sort_unstable();
            points.iter().filter(|j| sorted.binary_search(j).is_ok()).count() as f64 / k as f64
        };
        let [spread, certain_spread] =
            spreads(map, sampled.map_or(i, |points| points[i]), &data[..k], f64::from(lengths[k - 1]));
        [
            share(&data[..k], &drawn[..k], near),
            1.0 - share(&data[..k], &drawn[..reach], far),
            1.0 - share(&drawn[..k], &data[..reach], far),
            spread,
            certain_spread,
        ]
    };
    let rows: Vec<[f64; 5]> = (0..in_data.rows()).into_par_iter().map_init(Default::default, row).collect();
    let column = |c: usize| rows.iter().map(|row| row[c]).collect();
    NeighborShares {
        kept: column(0),
        lost: column(1),
        intruders: column(2),
        spread: column(3),
        certain_spread: column(4),
    }
}

/// Returns [`NeighborShares::spread`] and [`NeighborShares::certain_spread`] of point `i`; `scale` is the distance to its `k`-th
/// nearest point on the map.
fn spreads(map: Points, i: usize, neighbors: &[u32], scale: f64) -> [f64; 2] {
    let own = map.row(i);
    let distance = |&j: &u32| own.iter().zip(map.row(j as usize)).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt();
    let mut distances: Vec<f64> = neighbors.iter().map(distance).collect();
    distances.sort_unstable_by(f64::total_cmp);
    let fifth = (distances.len() / SPREAD_SHARE).max(1);
    [fifth, fifth + 1].map(|count| match distances[distances.len().saturating_sub(count)] {
        // Neighbors at the place of the point itself are as near as can be, however small the scale.
        0.0 => 0.0,
        distance => (distance / scale).min(MAX_SPREAD),
    })
}

/// The spread where the scale is zero: a finite number that exceeds all others.
const MAX_SPREAD: f64 = 1e12;

#[cfg(test)]
mod tests {
    use super::*;
    use lowland_core::{Data, Metric, Seed};
    use lowland_neighbors::{NeighborParams, Search, nearest, nearest_points};

    #[test]
    fn shares_are_those_of_the_ranks_among_all_points() {
        let (n, k, reach) = (120, 6, 20);
        let rows: Vec<f32> = Seed(1).normals(n * 5).into_iter().map(|v| v as f32).collect();
        let map: Vec<f64> = (0..n).flat_map(|i| [f64::from(rows[5 * i]), f64::from(rows[5 * i + 1])]).collect();
        let points = Points::new(&map, 2).unwrap();
        let data = Data::dense(rows.clone(), 5).unwrap();
        let search = |n_neighbors| NeighborParams {
            n_neighbors,
            metric: Metric::Euclidean,
            search: Search::Exact,
            seed: Seed(0),
        };
        let in_data = nearest(&data, &search(reach)).unwrap().graph;
        let found = compare(&in_data, &nearest_points(points, reach).unwrap(), points, None, k, reach);
        let square = |row: &dyn Fn(usize, usize) -> f64, dim: usize, i: usize, j: usize| {
            (0..dim).map(|c| (row(i, c) - row(j, c)).powi(2)).sum::<f64>()
        };
        let (in_rows, on_map) = (|i: usize, c: usize| f64::from(rows[5 * i + c]), |i: usize, c: usize| map[2 * i + c]);
        for i in 0..n {
            let order = |row: &dyn Fn(usize, usize) -> f64, dim: usize| {
                let mut others: Vec<usize> = (0..n).filter(|&j| j != i).collect();
                others.sort_by(|&a, &b| square(row, dim, i, a).total_cmp(&square(row, dim, i, b)));
                others
            };
            let (data, drawn) = (order(&in_rows, 5), order(&on_map, 2));
            let inside = |a: &[usize], b: &[usize]| a.iter().filter(|j| b.contains(j)).count() as f64 / k as f64;
            assert_eq!(found.kept[i], inside(&data[..k], &drawn[..k]));
            assert_eq!(found.lost[i], 1.0 - inside(&data[..k], &drawn[..reach]));
            assert_eq!(found.intruders[i], 1.0 - inside(&drawn[..k], &data[..reach]));
            let mut lengths: Vec<f64> = data[..k].iter().map(|&j| square(&on_map, 2, i, j).sqrt()).collect();
            lengths.sort_by(f64::total_cmp);
            let scale = square(&on_map, 2, i, drawn[k - 1]).sqrt();
            assert!((found.spread[i] / (lengths[k - 1] / scale) - 1.0).abs() < 1e-6);
            assert!((found.certain_spread[i] / (lengths[k - 2] / scale) - 1.0).abs() < 1e-6);
        }
    }
}
