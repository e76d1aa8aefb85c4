//! Scores of how well the map preserves neighborhoods.

use super::estimate::Estimate;
use super::metric_space::MetricSpace;
use super::ranks::neighbor_ranks;
use lowland_core::message::Remedy;
use lowland_core::run::Progress;
use lowland_core::{Error, Result};
use lowland_neighbors::NeighborGraph;

/// Returns the mean share of the `k` nearest in the data that are among the `k` nearest in the map. Row `s` of one
/// graph corresponds to row `s` of the other.
pub fn knn_recall(data: &NeighborGraph, map: &NeighborGraph, k: usize) -> Result<f64> {
    Ok(knn_recall_estimate(data, map, k)?.value)
}

/// Like [`knn_recall`], as an estimate for all rows.
pub(super) fn knn_recall_estimate(data: &NeighborGraph, map: &NeighborGraph, k: usize) -> Result<Estimate> {
    check_graphs(data, map, k, k)?;
    let mut wanted = Vec::with_capacity(k);
    let kept_in_row = |s| {
        wanted.clear();
        wanted.extend_from_slice(&data.row(s).0[..k]);
        wanted.sort_unstable();
        map.row(s).0[..k].iter().filter(|j| wanted.binary_search(j).is_ok()).count() as u64
    };
    let kept: Vec<u64> = (0..data.rows()).map(kept_in_row).collect();
    let share = kept.iter().sum::<u64>() as f64 / (data.rows() * k) as f64;
    Ok(Estimate::from_counts(share, &kept, 1.0 / k as f64, data.targets()))
}

/// Returns the share of points whose nearest neighbor in the data is among the `r` nearest in the map.
pub fn first_neighbor_recall(data: &NeighborGraph, map: &NeighborGraph, r: usize) -> Result<f64> {
    Ok(first_neighbor_recall_estimate(data, map, r)?.value)
}

/// Like [`first_neighbor_recall`], as an estimate for all rows.
pub(super) fn first_neighbor_recall_estimate(data: &NeighborGraph, map: &NeighborGraph, r: usize) -> Result<Estimate> {
    check_graphs(data, map, 1, r)?;
    let found = |s| u64::from(map.row(s).0[..r].contains(&data.row(s).0[0]));
    let found: Vec<u64> = (0..data.rows()).map(found).collect();
    let share = found.iter().sum::<u64>() as f64 / data.rows() as f64;
    Ok(Estimate::from_counts(share, &found, 1.0, data.targets()))
}

/// Returns the trustworthiness of Venna and Kaski (2001): `1 - 2 / (m k (2n - 3k - 1)) sum_i sum_j max(0, r(i,j) - k)`
/// over the `m` rows and their `k` neighbors `j` in the other space, where `r(i,j)` is the rank of `j` by distance from
/// `i` in `space`. Of points at the same distance the one of lower index ranks first.
///
/// With the data as `space` and the neighbors in the map as `other` this is trustworthiness; with the two exchanged it
/// is continuity. Row `s` of `other` corresponds to point `rows[s]`. If `rows` are all points, the value is exact and
/// agrees with scikit-learn.
pub fn trustworthiness(space: &MetricSpace, other: &NeighborGraph, rows: &[u32], k: usize) -> Result<f64> {
    Ok(trustworthiness_with(space, other, rows, k, &mut |_| Ok(()))?.value)
}

/// Like [`trustworthiness`], as an estimate for all rows, and reports progress.
pub(super) fn trustworthiness_with(
    space: &MetricSpace,
    other: &NeighborGraph,
    rows: &[u32],
    k: usize,
    progress: &mut Progress,
) -> Result<Estimate> {
    let n = space.rows();
    if rows.len() != other.rows() {
        return Err(Error::Shape { what: "rows of the neighbor graph", expected: rows.len(), found: other.rows() });
    }
    if let Some(&row) = rows.iter().find(|&&i| i as usize >= n) {
        return Err(Error::Shape { what: "points scored (largest row)", expected: n, found: row as usize });
    }
    if other.targets() > n {
        return Err(Error::Shape { what: "points of the neighbor graph", expected: n, found: other.targets() });
    }
    check_graphs(other, other, k, k)?;
    // The normalization holds only if a neighborhood is less than half of the points.
    if 2 * k >= n {
        let needed = 2 * k + 1;
        let remedies = vec![Remedy::FewerNeighbors];
        return Err(Error::TooFewPoints { what: format!("trustworthiness at {k}"), needed, found: n, remedies });
    }
    let ranks = neighbor_ranks(space, rows, |s| &other.row(s).0[..k], progress)?;
    let excess_of_row = |ranks: &Vec<u32>| ranks.iter().map(|&rank| u64::from(rank).saturating_sub(k as u64)).sum();
    let excess: Vec<u64> = ranks.iter().map(excess_of_row).collect();
    let (m, size, k) = (rows.len() as f64, n as f64, k as f64);
    let normalization = k * (2.0 * size - 3.0 * k - 1.0);
    let value = 1.0 - excess.iter().sum::<u64>() as f64 * 2.0 / (m * normalization);
    Ok(Estimate::from_counts(value, &excess, 2.0 / normalization, n))
}

fn check_graphs(data: &NeighborGraph, map: &NeighborGraph, in_data: usize, in_map: usize) -> Result<()> {
    if data.rows() != map.rows() {
        return Err(Error::Shape { what: "rows of the two neighbor graphs", expected: data.rows(), found: map.rows() });
    }
    let most = data.min_degree().min(map.min_degree());
    if in_data == 0 || in_map == 0 || in_data > data.min_degree() || in_map > map.min_degree() {
        return Err(Error::Parameter {
            name: "n_neighbors",
            value: in_data.max(in_map).to_string(),
            allowed: format!("from 1 to {most}, the neighbors that every row of the graphs has"),
        });
    }
    Ok(())
}
