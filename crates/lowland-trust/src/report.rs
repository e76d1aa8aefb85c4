//! Computes the reliability of a map.

use std::borrow::Cow;

use lowland_core::message::Remedy;
use lowland_core::run::Progress;
use lowland_core::{Data, DataShape, Error, Metric, Points, Reliability, ReliabilityColumn, Result, Seed};
use lowland_neighbors::{NeighborGraph, NeighborParams, Search, nearest_points_with, nearest_with, search_memory};

use super::field::grid_memory;
use super::gaps::{Gap, bridge_targets, find_gaps};
use super::islands::Islands;
use super::links::Links;
use super::loss::MapLoss;
use super::neighborhoods::{NeighborShares, compare};
use super::null::{NullSpreads, benjamini_hochberg};
use super::parts::{IslandParts, find_parts};
use super::placement::{LossUsed, MapRows, place_points, unsupported};

/// Parameters of [`assess`].
#[derive(Debug, Clone, PartialEq)]
pub struct TrustParams {
    /// Number of nearest rows of each point.
    pub n_neighbors: usize,
    /// Metric of the data.
    pub metric: Metric,
    /// False-discovery rate of the flags.
    pub fdr: f64,
    /// Whether all scores are computed: also `jump` and `fragile`, and for every island whether the data have gaps that the
    /// map does not show.
    pub everything: bool,
    /// Seed of the null.
    pub seed: Seed,
}

impl Default for TrustParams {
    fn default() -> Self {
        Self { n_neighbors: 15, metric: Metric::Euclidean, fdr: 0.05, everything: true, seed: Seed(0) }
    }
}

/// A neighbor is far if it is beyond this many times the number of neighbors.
pub(crate) const REACH: usize = 5;
/// A neighbor graph of the caller is used if it has at least this many times the number of neighbors.
const MIN_REACH: usize = 2;
/// Returns the number of neighbors in a graph of the fit that makes another search unnecessary: for all scores, or for the summary.
pub fn sufficient_neighbors(rows: usize, n_neighbors: usize, everything: bool) -> usize {
    let most = (REACH * n_neighbors).min(rows.saturating_sub(1) / 2);
    if everything { most } else { most.min(MIN_REACH * n_neighbors) }
}

/// Fewest rows whose neighbors are not arbitrary.
const MIN_KNOWN: usize = 10;
/// The mean share of neighbors kept exceeds that of unrelated points by at least this many standard deviations, if the map
/// belongs to the data.
const MIN_DEVIATIONS: f64 = 6.0;

/// What can be believed of a map.
#[derive(Debug, Clone, PartialEq)]
pub struct TrustReport {
    /// Number of nearest rows that were compared.
    pub n_neighbors: usize,
    /// Points beyond this rank are far.
    pub reach: usize,
    /// False-discovery rate of the flags.
    pub fdr: f64,
    /// The scores of every point.
    pub reliability: Reliability,
    /// The islands of the map.
    pub islands: Islands,
    /// The parts of each island in the data, if they were examined.
    pub parts: Option<Vec<IslandParts>>,
    /// The gaps between islands with links between them. Islands without links are separated.
    pub gaps: Vec<Gap>,
    /// Noise of the null map, in units of the distance between neighboring points.
    pub null_noise: f64,
    /// The loss that `jump` and `fragile` refer to.
    pub loss: Option<LossUsed>,
    /// Columns that were not computed, and why.
    pub omitted: Vec<(ReliabilityColumn, String)>,
}

/// Assesses `map`, whose rows are those of `data`. `known` is a neighbor graph of the data, used if it is large enough. `loss` is the
/// loss of the method that made the map; without it, `jump` and `fragile` refer to that of t-SNE.
pub fn assess(
    data: &Data,
    map: Points,
    known: Option<&NeighborGraph>,
    loss: Option<&MapLoss>,
    params: &TrustParams,
    progress: &mut Progress,
) -> Result<TrustReport> {
    let (n, k) = (data.rows(), params.n_neighbors);
    check(data, map, params)?;
    let usable = known.filter(|graph| graph.rows() == n && graph.targets() == n && graph.metric() == params.metric);
    let degree = usable.map_or(0, NeighborGraph::min_degree);
    let most = (REACH * k).min((n - 1) / 2).max(k + 1);
    let searched = most.max(loss_neighbors(loss, params)).min(n - 1);
    let (in_data, reach) = if degree >= (MIN_REACH * k).min(most) {
        (Cow::Borrowed(usable.expect("it has neighbors")), most.min(degree))
    } else {
        let search =
            NeighborParams { n_neighbors: searched, metric: params.metric, search: search_for(n), seed: params.seed };
        (Cow::Owned(nearest_with(data, &search, &mut |done| progress(0.5 * done))?.graph), most)
    };
    let in_map = nearest_points_with(map, reach, &mut |done| progress(0.5 + 0.1 * done))?;
    let NeighborShares { kept, lost, intruders, spread, certain_spread } =
        compare(&in_data, &in_map, map, None, k, reach);
    // Among rows that are all equal, the nearest are arbitrary, and so is what they say.
    let is_arbitrary = |i: usize| in_data.row(i).1[k - 1] == 0.0 || in_map.row(i).1[k - 1] == 0.0;
    let kept_where_known: Vec<f64> = (0..n).filter(|&i| !is_arbitrary(i)).map(|i| kept[i]).collect();
    check_related(&kept_where_known, n, n, k)?;
    let null = NullSpreads::new(&kept_where_known, n, map.dim(), k, params.seed)?;
    let p_value = |(i, &spread): (usize, &f64)| if is_arbitrary(i) { f64::NAN } else { null.p_value(spread) };
    let p_values: Vec<f64> = certain_spread.iter().enumerate().map(p_value).collect();
    let flags = benjamini_hochberg(&p_values, params.fdr);

    let links = Links::new(&in_data, k);
    let islands = Islands::find(&in_map, map.dim(), k);
    let mut omitted = Vec::new();
    let placement = if params.everything {
        let reason = unsupported(data, map, params.metric == Metric::Euclidean, reach);
        match (data, reason) {
            (Data::Dense(rows), None) => {
                let degree = in_data.min_degree().min(searched);
                let spacing = islands.spacing;
                let rows = MapRows { data: rows, map, graph: &in_data, degree, spacing };
                Some(place_points(&rows, loss, &mut |done| progress(0.6 + 0.2 * done))?)
            }
            (_, reason) => {
                let reason = reason.unwrap_or_default();
                omitted.push((ReliabilityColumn::Jump, reason.clone()));
                omitted.push((ReliabilityColumn::Fragile, reason));
                None
            }
        }
    } else {
        None
    };
    drop((in_data, in_map));
    let parts = if params.everything {
        Some(find_parts(&links, map, &islands, params.seed, &mut |done| progress(0.8 + 0.1 * done))?)
    } else {
        None
    };
    let gaps = find_gaps(&links, map, &islands, parts.as_deref(), &mut |done| progress(0.9 + 0.1 * done))?;
    let targets = bridge_targets(&links, &islands, &gaps);

    let numbers = |values: &[u32]| values.iter().map(|&v| f64::from(v)).collect::<Vec<f64>>();
    let mut reliability = Reliability::default();
    reliability.set(ReliabilityColumn::Kept, kept);
    reliability.set(ReliabilityColumn::Lost, lost);
    reliability.set(ReliabilityColumn::Intruders, intruders);
    reliability.set(ReliabilityColumn::Spread, spread);
    let loss = placement.map(|placement| {
        reliability.set(ReliabilityColumn::Jump, placement.jump);
        reliability.set(ReliabilityColumn::Fragile, placement.fragile);
        placement.loss
    });
    reliability.set(ReliabilityColumn::PValue, p_values);
    reliability.set(ReliabilityColumn::Flagged, flags.iter().map(|&flag| f64::from(u8::from(flag))).collect());
    reliability.set(ReliabilityColumn::Island, numbers(&islands.of_point));
    reliability.set(ReliabilityColumn::BridgeTo, numbers(&targets));
    progress(1.0)?;
    Ok(TrustReport {
        n_neighbors: k,
        reach,
        fdr: params.fdr,
        reliability,
        islands,
        parts,
        gaps,
        null_noise: null.noise,
        loss,
        omitted,
    })
}

/// Most neighbors that are searched for a loss; larger perplexities are limited to what these allow.
const MAX_LOSS_NEIGHBORS: usize = 300;

fn loss_neighbors(loss: Option<&MapLoss>, params: &TrustParams) -> usize {
    loss.filter(|_| params.everything).map_or(0, |loss| loss.n_neighbors().min(MAX_LOSS_NEIGHBORS))
}

/// Up to this many rows the neighbors are searched exactly.
const MAX_EXACT_ROWS: usize = 200_000;

fn search_for(rows: usize) -> Search {
    if rows <= MAX_EXACT_ROWS { Search::Exact } else { Search::Auto }
}

/// Estimates the bytes of [`assess`] besides the data and the map.
pub fn memory(shape: DataShape, known: Option<&NeighborGraph>, loss: Option<&MapLoss>, params: &TrustParams) -> u64 {
    let (n, k) = (shape.rows as u64, params.n_neighbors as u64);
    let reach = (REACH as u64 * k).max(loss_neighbors(loss, params) as u64);
    let is_known = known.is_some_and(|graph| graph.min_degree() >= MIN_REACH * params.n_neighbors);
    let search =
        if is_known { 0 } else { search_memory(shape, params.metric, reach.min(n) as usize, search_for(shape.rows)) };
    // The neighbors on the map and in the data, the links twice, the columns, and the buffers of the threads.
    let graphs = n * reach * 8 * if is_known { 1 } else { 2 };
    let links = n * k * 2 * 8 * 2;
    let buffers = n * 16 * rayon::current_num_threads() as u64;
    let grids = if params.everything { grid_memory(shape.rows) } else { 0 };
    search.max(graphs + grids) + links + n * 8 * 16 + buffers
}

/// Checks sizes and that there is something to compare.
pub(crate) fn check(data: &Data, map: Points, params: &TrustParams) -> Result<()> {
    let (n, k) = (data.rows(), params.n_neighbors);
    if map.rows() != n {
        return Err(Error::Shape {
            what: "points of the map (one per row of the data)",
            expected: n,
            found: map.rows(),
        });
    }
    data.check_finite()?;
    map.check_finite()?;
    if !(params.fdr > 0.0 && params.fdr < 1.0) {
        let (value, allowed) = (params.fdr.to_string(), "above 0 and below 1".into());
        return Err(Error::Parameter { name: "fdr", value, allowed });
    }
    if k < 2 {
        return Err(Error::Parameter { name: "n_neighbors", value: k.to_string(), allowed: "at least 2".into() });
    }
    if n < 2 * k + 4 {
        return Err(Error::TooFewPoints {
            what: format!("reliability with n_neighbors = {k}"),
            needed: 2 * k + 4,
            found: n,
            remedies: vec![Remedy::Other("compare fewer neighbors")],
        });
    }
    let first = map.row(0);
    if (1..n).all(|i| map.row(i) == first) {
        let reason = format!("all {n} points are at one place; nothing can be said about their distances");
        return Err(Error::Format { what: "map", reason });
    }
    Ok(())
}

/// Returns an error if neighbors are not kept better than by a map of other rows. `kept` are the shares of those of the `compared` rows
/// whose neighbors are not arbitrary.
pub(crate) fn check_related(kept: &[f64], compared: usize, n: usize, k: usize) -> Result<()> {
    if kept.len() < MIN_KNOWN {
        let reason = format!(
            "{} of the {compared} rows have {k} or more copies in the data or on the map, among which the nearest are arbitrary; too few \
             are left to compare",
            compared - kept.len()
        );
        return Err(Error::Format { what: "data and map", reason });
    }
    let chance = k as f64 / (n - 1) as f64;
    let recall = kept.iter().sum::<f64>() / kept.len() as f64;
    // Hypergeometric: k of n - 1 are near in the data, and k are drawn.
    let deviation = (chance * (1.0 - chance) / k as f64 / kept.len() as f64).sqrt();
    if recall <= chance + MIN_DEVIATIONS * deviation {
        let reason = format!(
            "it keeps {:.2}% of the {k} nearest rows, and a map of other rows would keep {:.2}%: its points are not these \
             rows, or are in another order",
            100.0 * recall,
            100.0 * chance
        );
        return Err(Error::Format { what: "map of these data", reason });
    }
    Ok(())
}
