//! Approximate search and its recall: candidates come from nearest-neighbor descent, expanded along the graph for many
//! neighbors, or from a projection.

use super::candidates::{CandidateLists, NO_NEIGHBOR};
use super::descent::DescentParams;
use super::distance::by_distance_then_index;
use super::row_distances::{self, RowDistances, RowDistancesTask};
use super::{
    NeighborParams, Recall, SearchAlgorithm, descent, distance, expand_neighbors, forest, nearest_to_with,
    projection_search, strategy,
};
use lowland_core::run::{Progress, fill_in_batches};
use lowland_core::{Data, Metric, Result, Seed};

/// Maximum length of the lists of the descent. It compares all pairs of a list, so longer lists cost more than
/// expanding short ones.
const MAX_LIST_LENGTH: usize = 24;

/// Neighbors laid end to end, how they were found, and the recall.
type ApproximateResult = (Vec<(f32, u32)>, SearchAlgorithm, Recall);

/// Returns the approximate nearest rows of every row, and the recall; `None` if the exact search is the better choice.
pub(super) fn search(
    data: &Data,
    params: &NeighborParams,
    progress: &mut Progress,
) -> Result<Option<ApproximateResult>> {
    let NeighborParams { n_neighbors: k, metric, seed, .. } = *params;
    let plan = strategy::plan_approximate(data.shape(), params);
    let search_progress: &mut Progress = &mut |part| progress(0.9 * part);
    let projection = match data {
        Data::Dense(x) if plan.projection => projection_search::candidates(x, params, search_progress)?,
        _ => None,
    };
    let (found, algorithm) = match projection {
        Some(found) => (found, SearchAlgorithm::Projection),
        None if plan.descent => (
            row_distances::with_row_distances(data, metric, CandidateSearch { k, seed, progress: search_progress })?,
            SearchAlgorithm::Descent,
        ),
        None => return Ok(None),
    };
    let mut neighbors = sort_by_distance(data, metric, k, &found, progress)?;
    drop(found);
    complete_rows(data, metric, k, &mut neighbors, progress)?;
    let recall = measure_recall(data, metric, k, &neighbors, seed, progress)?;
    Ok(Some((neighbors, algorithm, recall)))
}

/// Finds for each row at least `k` rows that are likely near, or as many as can be found.
struct CandidateSearch<'a, 'b> {
    k: usize,
    seed: Seed,
    progress: &'a mut Progress<'b>,
}

impl RowDistancesTask<Result<CandidateLists>> for CandidateSearch<'_, '_> {
    fn run<S: RowDistances>(self, mut space: S) -> Result<CandidateLists> {
        let CandidateSearch { k, seed, progress } = self;
        let rows = space.rows();
        let order = forest::leaf_order(&space, seed.stream("order"));
        space.reorder(&order);
        let arranged = if k + 3 <= MAX_LIST_LENGTH || rows <= MAX_LIST_LENGTH + 1 {
            // With shorter lists the descent converges badly, and the last entries of a list are found least often.
            let params = DescentParams::thorough((k + 3).max(12).min(rows - 1));
            descent::build(&space, params, seed, progress)?.to_candidates()
        } else {
            let params = if S::BLOCKS_ARE_CHEAP {
                // Longer lists make up for less accurate ones: on 70,000 images with k = 90, one round with lists of 30
                // ends at a recall of .995, five rounds with lists of 15 at .97, in the same time.
                DescentParams { listed: (k / 3).clamp(30, 100).min(rows - 1), sample: 14, rounds: 1 }
            } else {
                DescentParams::thorough(MAX_LIST_LENGTH)
            };
            let lists = descent::build(&space, params, seed, &mut |part| progress(0.5 * part))?;
            expand_neighbors::expand(&space, &lists, k + EXTRA_CANDIDATES, &mut |part| progress(0.5 + 0.5 * part))?
        };
        Ok(arranged.in_original_order(&order))
    }
}

/// Number of candidates beyond `k`: the search rounds, so the true distances decide among a few more rows than needed.
const EXTRA_CANDIDATES: usize = 4;

/// A neighbor that has not been found.
const NOT_FOUND: (f32, u32) = (f32::INFINITY, NO_NEIGHBOR);

/// Sorts the candidates of each row by their true distances and keeps `k`, which are returned end to end. Rows with fewer candidates
/// end with [`NOT_FOUND`].
fn sort_by_distance(
    data: &Data,
    metric: Metric,
    k: usize,
    found: &CandidateLists,
    progress: &mut Progress,
) -> Result<Vec<(f32, u32)>> {
    let mut neighbors = vec![NOT_FOUND; found.rows() * k];
    fill_in_batches(&mut neighbors, k, &mut |part| progress(0.9 + 0.05 * part), |i, out| {
        let measure = |&j: &u32| (distance(data, i, data, j as usize, metric) as f32, j);
        let mut row: Vec<(f32, u32)> = found.row(i).iter().map(measure).collect();
        row.sort_unstable_by(by_distance_then_index);
        out.iter_mut().zip(row).for_each(|(out, neighbor)| *out = neighbor);
    })?;
    Ok(neighbors)
}

/// Searches exactly for rows with fewer than `k` neighbors (in graphs with small components).
fn complete_rows(
    data: &Data,
    metric: Metric,
    k: usize,
    neighbors: &mut [(f32, u32)],
    progress: &mut Progress,
) -> Result<()> {
    let is_short = |&i: &usize| neighbors[(i + 1) * k - 1].1 == NO_NEIGHBOR;
    let short: Vec<usize> = (0..data.rows()).filter(is_short).collect();
    if !short.is_empty() {
        for (i, row) in short.iter().zip(exact_rows(data, metric, k, &short, progress)?) {
            neighbors[i * k..(i + 1) * k].copy_from_slice(&row);
        }
    }
    Ok(())
}

/// Returns the exact neighbors of some rows.
fn exact_rows(
    data: &Data,
    metric: Metric,
    k: usize,
    rows: &[usize],
    progress: &mut Progress,
) -> Result<Vec<Vec<(f32, u32)>>> {
    let graph = nearest_to_with(&data.select(rows), data, k + 1, metric, &mut |part| progress(0.95 + 0.05 * part))?;
    let others = |(at, &i): (usize, &usize)| {
        let (columns, lengths) = graph.row(at);
        let edges = lengths.iter().copied().zip(columns.iter().copied());
        edges.filter(|&(_, j)| j as usize != i).take(k).collect()
    };
    Ok(rows.iter().enumerate().map(others).collect())
}

/// Measures the share of neighbors that are as near as the exact `k`-th, on a sample drawn with the seed.
fn measure_recall(
    data: &Data,
    metric: Metric,
    k: usize,
    neighbors: &[(f32, u32)],
    seed: Seed,
    progress: &mut Progress,
) -> Result<Recall> {
    // As many rows as take about half a second, within limits.
    let affordable = 5e8 / (row_distances::distance_cost(data.shape(), metric) * data.rows() as f64);
    let mut sample: Vec<usize> = (0..data.rows()).collect();
    let priority = seed.stream("recall");
    sample.sort_unstable_by_key(|&i| (priority.item(i).0, i));
    sample.truncate((affordable as usize).clamp(100, 500));
    let exact = exact_rows(data, metric, k, &sample, progress)?;
    let share = |(&i, exact): (&usize, &Vec<(f32, u32)>)| {
        let reach = exact.last().map_or(0.0, |edge| edge.0);
        neighbors[i * k..(i + 1) * k].iter().filter(|edge| edge.0 <= reach).count() as f64 / k as f64
    };
    let value = sample.iter().zip(&exact).map(share).sum::<f64>() / sample.len() as f64;
    Ok(Recall { value, sampled_rows: sample.len() })
}
