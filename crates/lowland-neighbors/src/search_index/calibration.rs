//! How many rows a search has to visit.

use rayon::prelude::*;

use super::cells::evenly_spread;
use super::{SearchIndex, squared_distances};

/// Number of rows whose neighbors are searched for.
const SAMPLE_ROWS: usize = 128;
/// Largest share of the rows that a search may visit; comparing all of them at once is faster for more.
const MAX_SHARE: f64 = 0.15;
/// Factor between the numbers of rows that are tried.
const STEP: f64 = 1.25;

/// Returns the number of rows that must be visited to find the `target` share of the `k` nearest rows, on average over a sample of the
/// indexed rows, and the share that is then found. `None` if that number is too large.
pub(super) fn rows_to_visit(index: &SearchIndex, k: usize, target: f64) -> Option<(usize, f64)> {
    let n = index.cells.order.len();
    let places = evenly_spread(n, SAMPLE_ROWS);
    // For each sampled row, how many rows were visited before each of its neighbors was found.
    let mut visits: Vec<usize> =
        places.par_iter().flat_map_iter(|&place| visits_of_neighbors(index, place as usize, k)).collect();
    visits.sort_unstable();
    let share = |visited: usize| visits.partition_point(|&before| before < visited) as f64 / visits.len() as f64;
    let mut visited = (2 * k).max(64);
    while share(visited) < target {
        visited = (visited as f64 * STEP) as usize;
        if visited as f64 > MAX_SHARE * n as f64 {
            return None;
        }
    }
    Some((visited, share(visited)))
}

/// Returns, for each of the `k` nearest others of the row at a place of the order, the number of rows visited before its cell.
fn visits_of_neighbors(index: &SearchIndex, place: usize, k: usize) -> Vec<usize> {
    let stride = index.rows.stride;
    let query = &index.rows.values[place * stride..(place + 1) * stride];
    let mut distances = Vec::with_capacity(index.cells.order.len());
    squared_distances(query, &index.rows.values, &mut distances);
    distances[place] = f32::INFINITY;
    let mut nearest: Vec<(f32, usize)> = distances.into_iter().zip(0..).collect();
    nearest.select_nth_unstable_by(k - 1, |a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    nearest.truncate(k);
    let cell_of = |place: usize| index.cells.starts.partition_point(|&start| start <= place) - 1;
    let mut wanted: Vec<usize> = nearest.iter().map(|&(_, place)| cell_of(place)).collect();
    let (mut before, mut visits) = (0, Vec::with_capacity(k));
    index.visit_cells(query, |cell| {
        wanted.retain(|&other| {
            if other == cell {
                visits.push(before);
            }
            other != cell
        });
        before += index.cells.starts[cell + 1] - index.cells.starts[cell];
        !wanted.is_empty()
    });
    visits
}
