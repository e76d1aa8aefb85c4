//! Nearest neighbors among points of many dimensions: all pairs are compared in `f64`.

use lowland_core::simd::simd_dispatch;

use super::nearest_points::NearestList;
use lowland_core::Result;
use lowland_core::run::{Progress, in_batches};

/// Number of points compared with a query at once.
const LANES: usize = 16;
/// Number of queries of a task; they share the memory traffic of reading the points.
const TASK_QUERIES: usize = 32;

/// Returns the `k` nearest other points of each point by (squared distance, index), with the squared distances.
///
/// Points are stored in panels of [`LANES`], column by column. Each lane sums the squares of one pair in the order of
/// the columns, so vector instructions do not change the sums.
pub(super) fn nearest(values: &[f64], dim: usize, k: usize, progress: &mut Progress) -> Result<Vec<(f64, u32)>> {
    let rows = values.len() / dim;
    let mut panels = vec![[f64::NAN; LANES]; rows.div_ceil(LANES) * dim];
    for (j, point) in values.chunks_exact(dim).enumerate() {
        let panel = &mut panels[j / LANES * dim..][..dim];
        panel.iter_mut().zip(point).for_each(|(column, &x)| column[j % LANES] = x);
    }
    let found = in_batches(rows.div_ceil(TASK_QUERIES), progress, |task| {
        let queries = task * TASK_QUERIES..rows.min((task + 1) * TASK_QUERIES);
        let mut nearest: Vec<NearestList> = queries.clone().map(|_| NearestList::new(k)).collect();
        for (at, panel) in panels.chunks_exact(dim).enumerate() {
            for (i, nearest) in queries.clone().zip(&mut nearest) {
                let squares = squared_distances(&values[i * dim..(i + 1) * dim], panel);
                let worst = nearest.worst().0;
                // Indices ascend, so a tie with the worst always loses. The lanes after the last point are NaN and
                // never smaller.
                if squares.iter().any(|&squared| squared < worst) {
                    let others = (0..LANES).map(|lane| (squares[lane], at * LANES + lane));
                    others
                        .filter(|&(squared, j)| squared < worst && j != i)
                        .for_each(|(s, j)| nearest.offer(s, j as u32));
                }
            }
        }
        nearest.into_iter().flat_map(|nearest| nearest.best).collect::<Vec<_>>()
    })?;
    Ok(found.concat())
}

#[simd_dispatch]
fn squared_distances(query: &[f64], panel: &[[f64; LANES]]) -> [f64; LANES] {
    let mut sums = [0.0; LANES];
    for (&x, column) in query.iter().zip(panel) {
        for lane in 0..LANES {
            sums[lane] += (x - column[lane]) * (x - column[lane]);
        }
    }
    sums
}
