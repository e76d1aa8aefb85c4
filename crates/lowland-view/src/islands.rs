//! Dense regions of a map, named by what is characteristic of their points.

mod naming;

use lowland::Points;

use crate::axis_range::AxisRange;

pub use naming::{IslandContent, name_islands};

/// Cells per side of the grid on which the density is estimated.
const CELLS: usize = 128;
/// A peak is an island of its own if its density is at least this many times that of the saddle to a higher peak.
const PROMINENCE: f32 = 1.7;
/// Smallest share of the points in an island.
const MIN_SHARE: f64 = 0.004;
/// Fewest points of an island.
const MIN_POINTS: usize = 10;

/// Returns the island of each point in the first two dimensions of a map: from 1 by size, or 0 for points in none.
///
/// The density on a grid is flooded from its peaks downward; where two peaks meet, the lower one joins the higher unless it is prominent.
pub fn find_islands(map: Points) -> Vec<u32> {
    let n = map.rows();
    if n == 0 || map.dim() < 2 {
        return vec![0; n];
    }
    let axis = |c: usize| AxisRange::from_values(map.values().iter().skip(c).step_by(map.dim()).copied());
    let axes = [axis(0), axis(1)];
    let longest = axes[0].half_span().max(axes[1].half_span());
    let position = |i: usize, c: usize| {
        // Both axes have the same units, and a margin for smoothing.
        let share =
            if longest > 0.0 { axes[c].normalize(map.row(i)[c]) * (axes[c].half_span() / longest) } else { 0.0 };
        (((share.clamp(-1.0, 1.0) * 0.9 + 1.0) / 2.0 * CELLS as f64) as usize).min(CELLS - 1)
    };
    let cells: Vec<usize> = (0..n).map(|i| position(i, 1) * CELLS + position(i, 0)).collect();
    let mut counts = vec![0f32; CELLS * CELLS];
    cells.iter().for_each(|&cell| counts[cell] += 1.0);
    let of_cell = flood(&smoothed(counts, n));
    let mut sizes = std::collections::HashMap::<u32, usize>::new();
    cells.iter().for_each(|&cell| *sizes.entry(of_cell[cell]).or_default() += 1);
    let fewest = ((n as f64 * MIN_SHARE) as usize).max(MIN_POINTS);
    let mut order: Vec<(u32, usize)> =
        sizes.into_iter().filter(|&(peak, size)| peak != NONE && size >= fewest).collect();
    order.sort_by_key(|&(peak, size)| (std::cmp::Reverse(size), peak));
    let number: std::collections::HashMap<u32, u32> =
        order.iter().zip(1..).map(|(&(peak, _), island)| (peak, island)).collect();
    cells.iter().map(|&cell| number.get(&of_cell[cell]).copied().unwrap_or(0)).collect()
}

/// Averages over so many cells that there are about a dozen points.
fn smoothed(mut counts: Vec<f32>, n: usize) -> Vec<f32> {
    let occupied = counts.iter().filter(|&&count| count > 0.0).count();
    let reach = ((0.5 * (12.0 * occupied as f64 / n as f64).sqrt()).round() as usize).clamp(1, 8);
    for _ in 0..3 {
        crate::raster::box_blur(&mut counts, CELLS, reach);
    }
    counts
}

/// No island.
const NONE: u32 = u32::MAX;

/// Returns the peak of each cell, as the index of its highest cell.
fn flood(density: &[f32]) -> Vec<u32> {
    let highest = density.iter().copied().fold(0.0, f32::max);
    let mut order: Vec<u32> =
        (0..density.len() as u32).filter(|&cell| density[cell as usize] > 1e-3 * highest).collect();
    order.sort_by(|&a, &b| density[b as usize].total_cmp(&density[a as usize]).then(a.cmp(&b)));
    let mut parent = vec![NONE; density.len()];
    for cell in order {
        let (row, column) = (cell as usize / CELLS, cell as usize % CELLS);
        let near = |at: usize| at.saturating_sub(1)..(at + 2).min(CELLS);
        let mut peaks: Vec<u32> = Vec::new();
        for other in near(row).flat_map(|r| near(column).map(move |c| r * CELLS + c)) {
            if parent[other] != NONE {
                peaks.push(root(&mut parent, other as u32));
            }
        }
        peaks.sort_by(|&a, &b| density[b as usize].total_cmp(&density[a as usize]).then(a.cmp(&b)));
        peaks.dedup();
        let Some((&first, others)) = peaks.split_first() else {
            parent[cell as usize] = cell;
            continue;
        };
        parent[cell as usize] = first;
        for &other in others {
            if density[other as usize] < PROMINENCE * density[cell as usize] {
                parent[other as usize] = first;
            }
        }
    }
    (0..density.len() as u32)
        .map(|cell| if parent[cell as usize] == NONE { NONE } else { root(&mut parent, cell) })
        .collect()
}

/// Returns the peak that a cell belongs to, and shortens the way to it.
fn root(parent: &mut [u32], cell: u32) -> u32 {
    let mut at = cell;
    while parent[at as usize] != at {
        let next = parent[at as usize];
        parent[at as usize] = parent[next as usize];
        at = next;
    }
    at
}

#[cfg(test)]
mod tests;
