//! The gaps between islands: whether the data have them too.

use std::collections::BTreeMap;

use lowland_core::run::{Progress, in_batches};
use lowland_core::{Points, Result};

use super::islands::Islands;
use super::links::Links;
use super::parts::{IslandParts, reference_ratio};
use super::seam::{Seam, SeamScratch, examine};

/// Whether a gap on the map is in the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum GapVerdict {
    /// The rows are connected in the data: the gap is the map's.
    Bridged,
    /// The data have the gap too.
    Separated,
    /// The evidence does not decide.
    Undecided,
}

impl std::fmt::Display for GapVerdict {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.pad(match self {
            Self::Bridged => "bridged",
            Self::Separated => "separated",
            Self::Undecided => "undecided",
        })
    }
}

/// The gap between two islands with links between them.
#[derive(Debug, Clone, PartialEq)]
pub struct Gap {
    /// Numbers of the islands, the larger island first.
    pub islands: [u32; 2],
    /// Whether the data have the gap.
    pub verdict: GapVerdict,
    /// Number of links of the data's neighbor graph between the islands.
    pub links: usize,
    /// Number of those that count: short ones, and not of single misplaced points.
    pub counted_links: usize,
    /// Fewest links that rows connected like a line would have.
    pub links_of_a_line: usize,
    /// Links across the gap relative to links beside it, divided by the same ratio of cuts within the islands: about one
    /// where the data are connected, near zero at a gap. `None` if the islands are too small to be cut.
    pub connection: Option<f64>,
}

/// Connections from this on are those of cuts through connected rows. With those between, the thresholds were chosen on
/// generated data, see docs/methods/trust.md.
const BRIDGED: f64 = 0.4;
/// Connections below this are gaps.
const SEPARATED: f64 = 0.3;
/// Fewest rows of a group that can be cut, in units of the number of neighbors.
pub(crate) const MIN_ROWS: usize = 3;

/// Returns the verdict on a cut, given the ratio that cuts within the groups have.
pub(crate) fn verdict_of(seam: Seam, reference: f64, line: usize) -> GapVerdict {
    let connection = seam.ratio / reference;
    if connection < SEPARATED || 2 * seam.links < line {
        GapVerdict::Separated
    } else if connection >= BRIDGED && seam.links >= line {
        GapVerdict::Bridged
    } else {
        GapVerdict::Undecided
    }
}

/// Examines every pair of islands with links between them, most links first.
pub(crate) fn find_gaps(
    links: &Links,
    map: Points,
    islands: &Islands,
    parts: Option<&[IslandParts]>,
    progress: &mut Progress,
) -> Result<Vec<Gap>> {
    let members = islands.members();
    let mut counts: BTreeMap<[u32; 2], usize> = BTreeMap::new();
    for (i, &own) in islands.of_point.iter().enumerate().filter(|(_, own)| **own > 0) {
        for (j, _) in links.of(i as u32) {
            let other = islands.of_point[j as usize];
            if other > own {
                *counts.entry([own, other]).or_default() += 1;
            }
        }
    }
    let is_large = |rows: &[u32]| rows.len() >= MIN_ROWS * links.k;
    let wanted: Vec<bool> = (1..=members.len() as u32)
        .map(|a| counts.keys().any(|pair| pair.contains(&a)) && is_large(&members[a as usize - 1]))
        .collect();
    let references: Vec<Option<f64>> = match parts {
        Some(parts) => parts.iter().zip(&wanted).map(|(parts, wanted)| wanted.then_some(parts.reference)).collect(),
        None => in_batches(members.len(), &mut |done| progress(0.6 * done), |a| {
            wanted[a].then(|| reference_ratio(links, map, &members[a]))
        })?,
    };
    let pairs: Vec<([u32; 2], usize)> = counts.into_iter().collect();
    let examine_pair = |at: usize| {
        let (pair, count) = pairs[at];
        let [a, b] = pair.map(|island| &members[island as usize - 1]);
        let side = |i: u32| match islands.of_point[i as usize] {
            island if island == pair[0] => 0,
            island if island == pair[1] => 1,
            _ => 2,
        };
        // Every link has an end in the smaller island, but rows are examined on both sides.
        let smaller = if a.len() <= b.len() { a } else { b };
        let mut rows: Vec<u32> = smaller.clone();
        rows.extend(smaller.iter().flat_map(|&i| links.of(i)).map(|link| link.0).filter(|&j| side(j) != 2));
        rows.sort_unstable();
        rows.dedup();
        let scale = links.median_radius(a).max(links.median_radius(b));
        let seam = examine(links, &rows, side, scale, &mut SeamScratch::new(map.rows()));
        let known = pair.map(|island| references[island as usize - 1]);
        // Cuts within an island that merges groups are at their borders and have few links, so that any gap to it would seem
        // bridged: the verdict holds only if both islands' ratios give the same.
        let ratios = match known {
            [Some(a), Some(b)] => Some([a.max(b), a.min(b)]),
            _ => None,
        };
        let line = links.links_across_a_line();
        Gap {
            islands: pair,
            verdict: match ratios.map(|ratios| ratios.map(|ratio| verdict_of(seam, ratio, line))) {
                Some([verdict, other]) if verdict == other => verdict,
                Some(_) => GapVerdict::Undecided,
                // Too small to be cut: with hardly any links they are separated all the same.
                None if 2 * count < line => GapVerdict::Separated,
                None => GapVerdict::Undecided,
            },
            links: count,
            counted_links: seam.links,
            links_of_a_line: line,
            connection: ratios.map(|[ratio, _]| seam.ratio / ratio),
        }
    };
    let start = if parts.is_some() { 0.0 } else { 0.6 };
    let mut gaps = in_batches(pairs.len(), &mut |done| progress(start + (1.0 - start) * done), examine_pair)?;
    gaps.sort_by_key(|gap| (std::cmp::Reverse(gap.links), gap.islands));
    Ok(gaps)
}

/// Returns for each point the island to which its data neighbors lead across a bridged gap, or 0: the one with most links.
pub(crate) fn bridge_targets(links: &Links, islands: &Islands, gaps: &[Gap]) -> Vec<u32> {
    let bridged: std::collections::BTreeSet<[u32; 2]> =
        gaps.iter().filter(|gap| gap.verdict == GapVerdict::Bridged).map(|gap| gap.islands).collect();
    let target = |i: usize| {
        let own = islands.of_point[i];
        let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
        for (j, _) in links.of(i as u32) {
            let other = islands.of_point[j as usize];
            if bridged.contains(&[own.min(other), own.max(other)]) {
                *counts.entry(other).or_default() += 1;
            }
        }
        counts.into_iter().max_by_key(|&(island, count)| (count, std::cmp::Reverse(island))).map_or(0, |found| found.0)
    };
    (0..islands.of_point.len()).map(target).collect()
}
