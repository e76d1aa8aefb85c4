//! The parts of an island: whether its rows are one group in the data.

use lowland_core::run::{Progress, in_batches};
use lowland_core::{Points, Result, Seed};

use super::gaps::{GapVerdict, MIN_ROWS, verdict_of};
use super::islands::Islands;
use super::links::Links;
use super::seam::{SeamScratch, examine, examine_active, near};

/// The parts of an island in the data.
#[derive(Debug, Clone, PartialEq)]
pub struct IslandParts {
    /// Number of points of each part, largest first; a single number if the rows are one group.
    pub sizes: Vec<usize>,
    /// Connection across the weakest place of the island, as in [`Gap::connection`](crate::Gap::connection); `None` if the
    /// island is too small to be cut.
    pub weakest_connection: Option<f64>,
    /// Ratio of links across and beside a cut within a part.
    pub(crate) reference: f64,
}

/// Directions in which an island is cut on the map, and the shares of its points on one side.
const DIRECTIONS: usize = 6;
const SHARES: [f64; 3] = [0.3, 0.5, 0.7];
/// The reference is this lower quantile of the ratios of all cuts.
const LOWER_QUANTILE: f64 = 0.1;
/// Where the weakest place of a group has at least this share of the ratio of ordinary cuts, which are this upper quantile, its
/// parts are not examined: twice as much as would be a gap.
const CLEARLY_CONNECTED: f64 = 0.6;
const UPPER_QUANTILE: f64 = 0.8;
/// Most levels at which parts are cut again: up to sixteen parts.
const MAX_DEPTH: usize = 4;
/// Steps of the power iteration for the vector by which rows are divided.
const POWER_STEPS: usize = 60;

/// Ratios of links across and beside straight cuts through rows on the map, ascending.
struct CutRatios(Vec<f64>);

impl CutRatios {
    fn new(links: &Links, map: Points, rows: &[u32]) -> Self {
        let dim = map.dim();
        let scale = links.median_radius(rows);
        let mut scratch = SeamScratch::new(map.rows());
        // Position of each row along the direction; that of rows outside of the group.
        let mut position = vec![u32::MAX; map.rows()];
        let mut ratios = Vec::with_capacity(DIRECTIONS * SHARES.len());
        for direction in 0..DIRECTIONS {
            let (sin, cos) = (std::f64::consts::PI * direction as f64 / DIRECTIONS as f64).sin_cos();
            // In more than two dimensions, the plane of the cut turns through all pairs of neighboring coordinates.
            let first = direction % dim;
            let height = |i: u32| {
                let y = map.row(i as usize);
                if dim == 1 { y[0] } else { cos * y[first] + sin * y[(first + 1) % dim] }
            };
            let mut order: Vec<(f64, u32)> = rows.iter().map(|&i| (height(i), i)).collect();
            order.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            order.iter().zip(0..).for_each(|(&(_, i), at)| position[i as usize] = at);
            // Positions of the lowest and the highest row that each row is linked with, or its own.
            let extent = |i: u32| {
                let own = position[i as usize];
                near(links, i, scale).fold((own, own), |(low, high), j| match position[j as usize] {
                    u32::MAX => (low, high),
                    at => (low.min(at), high.max(at)),
                })
            };
            let extents: Vec<(u32, u32)> = rows.iter().map(|&i| extent(i)).collect();
            for share in SHARES {
                let middle = (share * rows.len() as f64) as u32;
                let side = |i: u32| match position[i as usize] {
                    u32::MAX => 2,
                    at => u8::from(at >= middle),
                };
                let crosses = |&(_, &(low, high)): &(&u32, &(u32, u32))| low < middle && middle <= high;
                let active = rows.iter().zip(&extents).filter(crosses).map(|(&i, _)| i).collect();
                ratios.push(examine_active(links, active, side, scale, &mut scratch).ratio);
            }
        }
        ratios.sort_unstable_by(f64::total_cmp);
        Self(ratios)
    }

    fn quantile(&self, share: f64) -> f64 {
        self.0[(share * (self.0.len() - 1) as f64) as usize]
    }

    /// The ratio of cuts through connected rows.
    fn reference(&self) -> f64 {
        self.quantile(LOWER_QUANTILE).max(MIN_REFERENCE)
    }
}

/// Returns the ratio of links across and beside a cut (see [`examine`]) that straight cuts through rows on the map have.
pub(crate) fn reference_ratio(links: &Links, map: Points, rows: &[u32]) -> f64 {
    CutRatios::new(links, map, rows).reference()
}

/// Ratios of cuts through connected rows are above this; a lower one is that of an island of several parts.
const MIN_REFERENCE: f64 = 0.1;

/// Divides the rows of every island into parts.
pub(crate) fn find_parts(
    links: &Links,
    map: Points,
    islands: &Islands,
    seed: Seed,
    progress: &mut Progress,
) -> Result<Vec<IslandParts>> {
    let members = islands.members();
    in_batches(members.len(), progress, |a| {
        let rows = &members[a];
        if rows.len() < 2 * MIN_ROWS * links.k {
            let reference = if rows.len() < MIN_ROWS * links.k { f64::NAN } else { reference_ratio(links, map, rows) };
            return IslandParts { sizes: vec![rows.len()], weakest_connection: None, reference };
        }
        let division = divide(links, map, rows, seed, 0);
        let mut sizes: Vec<usize> = division.parts.iter().map(|part| part.0).collect();
        sizes.sort_unstable_by(|a, b| b.cmp(a));
        let mut references: Vec<f64> = division.parts.iter().map(|part| part.1).collect();
        references.sort_unstable_by(f64::total_cmp);
        let reference = references[references.len() / 2];
        IslandParts { sizes, weakest_connection: division.connection, reference }
    })
}

/// The parts of a group of rows.
struct GroupDivision {
    /// Number of rows and reference ratio of each part.
    parts: Vec<(usize, f64)>,
    /// Connection across the first division.
    connection: Option<f64>,
}

/// Divides rows where they are connected least, and the parts again. A division stands if the data have a gap there, compared
/// with cuts within the parts: those of the whole cross other gaps.
fn divide(links: &Links, map: Points, rows: &[u32], seed: Seed, depth: usize) -> GroupDivision {
    let cuts = CutRatios::new(links, map, rows);
    let reference = cuts.reference();
    let whole = |connection| GroupDivision { parts: vec![(rows.len(), reference)], connection };
    let fewest = MIN_ROWS * links.k;
    if depth == MAX_DEPTH || rows.len() < 2 * fewest {
        return whole(None);
    }
    let Some(second) = weakest_cut(links, rows, fewest, map.rows(), seed) else { return whole(None) };
    let mut side = vec![2u8; map.rows()];
    rows.iter().zip(&second).for_each(|(&i, &second)| side[i as usize] = u8::from(second));
    let group = |second: u8| rows.iter().copied().filter(|&i| side[i as usize] == second).collect::<Vec<u32>>();
    let (a, b) = (group(0), group(1));
    let scale = links.median_radius(&a).max(links.median_radius(&b));
    let seam = examine(links, rows, |i| side[i as usize], scale, &mut SeamScratch::new(map.rows()));
    // Cuts within the parts have at most about the ratios of the highest ones of the whole.
    if seam.ratio > CLEARLY_CONNECTED * cuts.quantile(UPPER_QUANTILE) {
        return whole(Some(seam.ratio / reference));
    }
    let (a, b) = (divide(links, map, &a, seed, depth + 1), divide(links, map, &b, seed, depth + 1));
    let largest = |division: &GroupDivision| division.parts.iter().map(|part| part.1).fold(0.0, f64::max);
    let within = largest(&a).min(largest(&b));
    let connection = Some(seam.ratio / within);
    match verdict_of(seam, within, links.links_across_a_line()) {
        GapVerdict::Separated => GroupDivision { parts: a.parts.into_iter().chain(b.parts).collect(), connection },
        _ => whole(connection),
    }
}

/// Returns for each of `rows` whether it is in the second of two groups with few links between them: the sweep cut of the
/// second eigenvector of the random walk, with at least `fewest` rows in each group.
fn weakest_cut(links: &Links, rows: &[u32], fewest: usize, n: usize, seed: Seed) -> Option<Vec<bool>> {
    let m = rows.len();
    let mut local = vec![u32::MAX; n];
    rows.iter().zip(0..).for_each(|(&i, at)| local[i as usize] = at);
    // The links within the rows, numbered by their order.
    let (mut starts, mut ends) = (Vec::with_capacity(m + 1), Vec::new());
    starts.push(0);
    for &i in rows {
        ends.extend(links.of(i).map(|link| local[link.0 as usize]).filter(|&j| j != u32::MAX));
        starts.push(ends.len());
    }
    let inside = |at: usize| &ends[starts[at]..starts[at + 1]];
    let degree: Vec<f64> = (0..m).map(|at| inside(at).len().max(1) as f64).collect();
    let total: f64 = degree.iter().sum();
    let mut v = seed.stream("weakest cut").normals(m);
    for _ in 0..POWER_STEPS {
        // Without its mean, the vector has no part in the first eigenvector.
        let mean = v.iter().zip(&degree).map(|(v, d)| v * d).sum::<f64>() / total;
        v.iter_mut().for_each(|v| *v -= mean);
        let mut next: Vec<f64> = (0..m)
            .map(|at| 0.5 * (v[at] + inside(at).iter().map(|&j| v[j as usize]).sum::<f64>() / degree[at]))
            .collect();
        let size = next.iter().map(|v| v * v).sum::<f64>().sqrt().max(f64::MIN_POSITIVE);
        next.iter_mut().for_each(|v| *v /= size);
        v = next;
    }
    let mut order: Vec<u32> = (0..m as u32).collect();
    order.sort_unstable_by(|&a, &b| v[a as usize].total_cmp(&v[b as usize]).then(a.cmp(&b)));
    let mut position = vec![0u32; m];
    order.iter().zip(0..).for_each(|(&at, place)| position[at as usize] = place);
    let (mut across, mut volume) = (0i64, 0.0);
    let mut best: Option<(f64, u32)> = None;
    for (place, &at) in order.iter().enumerate().take(m - fewest) {
        let before = inside(at as usize).iter().filter(|&&j| position[j as usize] < place as u32).count() as i64;
        across += inside(at as usize).len() as i64 - 2 * before;
        volume += degree[at as usize];
        if place + 1 >= fewest {
            let conductance = across as f64 / volume.min(total - volume).max(1.0);
            if best.is_none_or(|(least, _)| conductance < least) {
                best = Some((conductance, place as u32));
            }
        }
    }
    best.map(|(_, last)| position.iter().map(|&place| place > last).collect())
}
