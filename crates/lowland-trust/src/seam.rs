//! Whether a cut between two groups of rows runs through connected rows or through a gap.
//!
//! At a cut through evenly spread rows, as many links lead across it as lead from the rows beside it to those one step further.
//! In a gap there are fewer: links across are rare where there are few rows, and rows on both sides are linked with their
//! own side. The ratio of these numbers does not depend on the length of the cut, and what it is without a gap, which depends
//! on the dimension of the data, is found by cutting within the groups.

use super::links::Links;

/// Links longer than this, in units of the median distance to the `k`-th nearest row, do not count: neighbor graphs adapt to
/// any density, and would lead across a gap by long steps.
const MAX_LENGTH: f32 = 1.25;
/// Rounds in which rows on the wrong side of the cut change sides.
const ROUNDS: usize = 2;
/// Ratios above this are not told apart.
const MAX_RATIO: f64 = 1000.0;

/// The cut between two groups.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Seam {
    /// Number of links across the cut.
    pub links: usize,
    /// That number divided by the links from the rows at the cut to the others of their group; the larger of the two ratios.
    pub ratio: f64,
}

const UNKNOWN: u8 = u8::MAX;
const NEITHER: u8 = 2;

/// Buffers of one byte per row.
pub(crate) struct SeamScratch {
    side: Vec<u8>,
    touched: Vec<u32>,
    active: Vec<bool>,
}

impl SeamScratch {
    pub fn new(rows: usize) -> Self {
        Self { side: vec![UNKNOWN; rows], touched: Vec::new(), active: vec![false; rows] }
    }

    fn side(&mut self, i: u32, side_of: &impl Fn(u32) -> u8) -> u8 {
        if self.side[i as usize] == UNKNOWN {
            self.side[i as usize] = side_of(i);
            self.touched.push(i);
        }
        self.side[i as usize]
    }
}

/// Links that count, of row `i`, where `scale` is the median distance to the `k`-th nearest row.
pub(crate) fn near(links: &Links, i: u32, scale: f32) -> impl Iterator<Item = u32> + '_ {
    let limit = MAX_LENGTH * scale;
    links.of(i).filter(move |link| link.1 <= limit).map(|link| link.0)
}

/// Examines the cut between the rows of side 0 and those of side 1; `side_of` is 2 for all others. `rows` are those of both
/// groups, or at least all with a link to the other side. `scale` is the median distance to the `k`-th nearest row.
pub(crate) fn examine(
    links: &Links,
    rows: &[u32],
    side_of: impl Fn(u32) -> u8,
    scale: f32,
    scratch: &mut SeamScratch,
) -> Seam {
    let crosses = |&&i: &&u32| {
        let other = 1 - side_of(i).min(1);
        side_of(i) != NEITHER && near(links, i, scale).any(|j| side_of(j) == other)
    };
    let active = rows.iter().filter(crosses).copied().collect();
    examine_active(links, active, side_of, scale, scratch)
}

/// Like [`examine`], given the rows with a link across the cut: only they can change sides or count.
pub(crate) fn examine_active(
    links: &Links,
    mut active: Vec<u32>,
    side_of: impl Fn(u32) -> u8,
    scale: f32,
    scratch: &mut SeamScratch,
) -> Seam {
    let near = |i: u32| near(links, i, scale);
    for &i in &active {
        scratch.side(i, &side_of);
        scratch.active[i as usize] = true;
    }
    // Rows most of whose links lead to the other side are misplaced on the map, and no evidence of a connection.
    for _ in 0..ROUNDS {
        let changes: Vec<(u32, u8)> = active
            .iter()
            .filter_map(|&i| {
                let (mut counts, own) = ([0usize; 3], scratch.side[i as usize]);
                near(i).for_each(|j| counts[usize::from(scratch.side(j, &side_of))] += 1);
                (counts[usize::from(1 - own)] > counts[usize::from(own)]).then_some((i, 1 - own))
            })
            .collect();
        changes.iter().for_each(|&(i, side)| scratch.side[i as usize] = side);
        // Rows that are linked with a row that changed sides may have a link across now.
        for j in changes.iter().flat_map(|change| near(change.0)) {
            if scratch.side(j, &side_of) != NEITHER && !scratch.active[j as usize] {
                scratch.active[j as usize] = true;
                active.push(j);
            }
        }
    }
    let mut at_cut = vec![false; active.len()];
    let mut across = 0;
    for (&i, at_cut) in active.iter().zip(&mut at_cut) {
        let own = scratch.side[i as usize];
        let count = near(i).filter(|&j| scratch.side(j, &side_of) == 1 - own).count();
        *at_cut = count > 0;
        across += if own == 0 { count } else { 0 };
    }
    active.iter().zip(&at_cut).for_each(|(&i, &at_cut)| scratch.active[i as usize] = at_cut);
    let mut behind = [0usize; 2];
    for (&i, _) in active.iter().zip(&at_cut).filter(|(_, at_cut)| **at_cut) {
        let own = scratch.side[i as usize];
        behind[usize::from(own)] +=
            near(i).filter(|&j| scratch.side(j, &side_of) == own && !scratch.active[j as usize]).count();
    }
    for i in scratch.touched.drain(..) {
        (scratch.side[i as usize], scratch.active[i as usize]) = (UNKNOWN, false);
    }
    let ratio = if across == 0 { 0.0 } else { across as f64 / (behind[0].min(behind[1]) as f64).max(1e-3) };
    Seam { links: across, ratio: ratio.min(MAX_RATIO) }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use lowland_core::{Data, Metric, Seed};
    use lowland_neighbors::{NeighborParams, Search, nearest};

    pub fn links_of(values: Vec<f32>, dim: usize, k: usize) -> Links {
        let params = NeighborParams { n_neighbors: k, metric: Metric::Euclidean, search: Search::Exact, seed: Seed(0) };
        Links::new(&nearest(&Data::dense(values, dim).unwrap(), &params).unwrap().graph, k)
    }

    #[test]
    fn a_cut_through_a_sheet_has_more_links_than_a_gap_between_clusters() {
        let n = 1000;
        let normals = Seed(5).normals(n * 10);
        let sheet: Vec<f32> = (0..2 * n).map(|at| (Seed(3).item(at).0 >> 40) as f32).collect();
        let clusters: Vec<f32> = (0..n * 10)
            .map(|at| normals[at] as f32 + if at % 10 == 0 && at / 10 >= n / 2 { 6.0 } else { 0.0 })
            .collect();
        let mut scratch = SeamScratch::new(n);
        let mut seam = |links: &Links, side: &dyn Fn(u32) -> bool| {
            let rows: Vec<u32> = (0..n as u32).collect();
            let found = examine(links, &rows, |i| u8::from(side(i)), links.median_radius(&rows), &mut scratch);
            assert!(scratch.touched.is_empty() && scratch.active.iter().all(|active| !active));
            found
        };
        let middle = (1u64 << 23) as f32;
        let links = links_of(sheet.clone(), 2, 15);
        let through_sheet = seam(&links, &|i| sheet[2 * i as usize] > middle);
        let links = links_of(clusters.clone(), 10, 15);
        let between = seam(&links, &|i| i as usize >= n / 2);
        let within = seam(&links, &|i| clusters[10 * i as usize + 1] > 0.0);
        assert!(through_sheet.ratio > 0.4 && through_sheet.links > 100, "{through_sheet:?}");
        assert!(between.ratio < 0.1 * within.ratio, "{between:?} {within:?}");
    }
}
