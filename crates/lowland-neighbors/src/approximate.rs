//! Approximate search: descent for a few neighbours, from there to many along the graph, or candidates by projection; and the
//! recall of the result.

use super::descent::Effort;
use super::space::{self, Space, SpaceWork};
use super::{Algorithm, NeighborParams, Recall, choose, descent, distance, forest, nearest_to, projected, widen};
use lowland_core::run::{Progress, in_batches};
use lowland_core::{Data, Metric, Result, Seed};

/// Lists longer than this cost the descent more (it compares all pairs of a list) than widening them costs.
const LONGEST_LIST: usize = 24;

/// What was found, how, and the recall.
type Searched = (Vec<(f32, u32)>, Algorithm, Recall);

/// The approximately nearest rows of every row, and the recall; `None` where the exact search is the better choice.
pub(super) fn search(data: &Data, params: &NeighborParams, progress: &mut Progress) -> Result<Option<Searched>> {
    let NeighborParams { n_neighbors: k, metric, seed, .. } = *params;
    let pays = choose::approximate(data, params);
    let guessing: &mut Progress = &mut |part| progress(0.9 * part);
    let projected = match data {
        Data::Dense(x) if pays.projected => projected::candidates(x, params, guessing)?,
        _ => None,
    };
    let (found, algorithm) = match projected {
        Some(found) => (found, Algorithm::Projected),
        None if pays.descent => {
            (space::with_space(data, metric, Guess { k, seed, progress: guessing })?, Algorithm::Descent)
        }
        None => return Ok(None),
    };
    let mut rows = order(data, metric, k, &found, progress)?;
    complete(data, metric, k, &mut rows, progress)?;
    let recall = measure_recall(data, metric, k, &rows, seed, progress)?;
    Ok(Some((rows.concat(), algorithm, recall)))
}

/// For each row at least `k` rows that are likely near, or all that were found.
struct Guess<'a, 'b> {
    k: usize,
    seed: Seed,
    progress: &'a mut Progress<'b>,
}

impl SpaceWork<Result<Vec<Vec<u32>>>> for Guess<'_, '_> {
    fn run<S: Space>(self, mut space: S) -> Result<Vec<Vec<u32>>> {
        let Guess { k, seed, progress } = self;
        let rows = space.rows();
        let order = forest::order(&space, seed.stream("order"));
        space.arrange(&order);
        let arranged: Vec<Vec<u32>> = if k + 3 <= LONGEST_LIST || rows <= LONGEST_LIST + 1 {
            // Short lists hold too little for the descent to find its way; the last of a list are found least often.
            let effort = Effort::thorough((k + 3).max(12).min(rows - 1));
            let lists = descent::build(&space, effort, seed, progress)?;
            (0..rows).map(|i| lists.neighbors(i).collect()).collect()
        } else {
            let effort = if S::BLOCKS_ARE_CHEAP {
                // Longer lists make up for rougher ones: on 70,000 images with k = 90, one round with lists of 30 ends
                // with a recall of .995, five with lists of 15 at .97, in the same time.
                Effort { listed: (k / 3).clamp(30, 100).min(rows - 1), sample: 14, rounds: 1 }
            } else {
                Effort::thorough(LONGEST_LIST)
            };
            let lists = descent::build(&space, effort, seed, &mut |part| progress(0.5 * part))?;
            widen::nearest(&space, &lists, k + SPARE, &mut |part| progress(0.5 + 0.5 * part))?
        };
        let mut found = vec![Vec::new(); rows];
        for (&i, row) in order.iter().zip(arranged) {
            found[i as usize] = row.into_iter().map(|j| order[j as usize]).collect();
        }
        Ok(found)
    }
}

/// The space rounds; a few rows more than wanted let the true distances decide.
const SPARE: usize = 4;

/// Orders what was found by the distance itself.
fn order(
    data: &Data,
    metric: Metric,
    k: usize,
    found: &[Vec<u32>],
    progress: &mut Progress,
) -> Result<Vec<Vec<(f32, u32)>>> {
    let row = |i: usize| {
        let measure = |&j: &u32| (distance(data, i, data, j as usize, metric) as f32, j);
        let mut row: Vec<(f32, u32)> = found[i].iter().map(measure).collect();
        row.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        row.truncate(k);
        row
    };
    in_batches(found.len(), &mut |part| progress(0.9 + 0.05 * part), row)
}

/// Searches exactly for rows that did not find `k` others (a graph of small islands).
fn complete(
    data: &Data,
    metric: Metric,
    k: usize,
    rows: &mut [Vec<(f32, u32)>],
    progress: &mut Progress,
) -> Result<()> {
    let short: Vec<usize> = (0..rows.len()).filter(|&i| rows[i].len() < k).collect();
    if !short.is_empty() {
        for (i, row) in short.iter().zip(exact_rows(data, metric, k, &short, progress)?) {
            rows[*i] = row;
        }
    }
    Ok(())
}

/// The exact neighbours of some rows.
fn exact_rows(
    data: &Data,
    metric: Metric,
    k: usize,
    rows: &[usize],
    progress: &mut Progress,
) -> Result<Vec<Vec<(f32, u32)>>> {
    let graph = nearest_to(&data.select(rows), data, k + 1, metric, &mut |part| progress(0.95 + 0.05 * part))?;
    let others = |(at, &i): (usize, &usize)| {
        let (columns, lengths) = graph.row(at);
        let edges = lengths.iter().copied().zip(columns.iter().copied());
        edges.filter(|&(_, j)| j as usize != i).take(k).collect()
    };
    Ok(rows.iter().enumerate().map(others).collect())
}

/// The share of the rows found that are as near as the exact `k`-th, on a sample drawn with the seed.
fn measure_recall(
    data: &Data,
    metric: Metric,
    k: usize,
    rows: &[Vec<(f32, u32)>],
    seed: Seed,
    progress: &mut Progress,
) -> Result<Recall> {
    // About half a second of exact search, within reason.
    let affordable = 5e8 / (space::cost(data, metric) * rows.len() as f64);
    let mut sample: Vec<usize> = (0..rows.len()).collect();
    let priority = seed.stream("recall");
    sample.sort_unstable_by_key(|&i| (priority.item(i).0, i));
    sample.truncate((affordable as usize).clamp(100, 500));
    let exact = exact_rows(data, metric, k, &sample, progress)?;
    let share = |(&i, exact): (&usize, &Vec<(f32, u32)>)| {
        let reach = exact.last().map_or(0.0, |edge| edge.0);
        rows[i].iter().filter(|edge| edge.0 <= reach).count() as f64 / k as f64
    };
    let value = sample.iter().zip(&exact).map(share).sum::<f64>() / sample.len() as f64;
    Ok(Recall { value, sampled_rows: sample.len() })
}
