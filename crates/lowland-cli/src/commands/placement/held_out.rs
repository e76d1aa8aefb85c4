//! Scores of rows that were not part of the fit, so that it is known how well new rows are placed.

use lowland::neighbors::{IndexedRows, QuerySearch};
use lowland::{Data, Metric, Model};

/// How many of a row's nearest rows of the fit are also nearest on the map.
pub struct HeldOutScore {
    /// Number of neighbors.
    pub neighbors: usize,
    pub rows: usize,
    /// Mean share for rows that were placed.
    pub placed: f64,
    /// The same for as many rows of the fit itself.
    pub fitted: f64,
}

const NEIGHBORS: usize = 10;

/// Scores the placement of `held_out` rows on the map of `fitted` rows; `None` if there are too few of them.
pub fn score_held_out(model: &Model, fitted: &Data, held_out: &Data) -> lowland::Result<Option<HeldOutScore>> {
    let n = fitted.rows();
    let metric = model.method().metric().unwrap_or(Metric::Euclidean);
    if n < 3 * NEIGHBORS || held_out.rows() == 0 || metric == Metric::Precomputed {
        return Ok(None);
    }
    let placed = model.transform(held_out)?;
    let data = IndexedRows::new(model.preprocess(fitted)?, metric, NEIGHBORS);
    let dim = placed.dim();
    let points = |values: &[f64]| Data::dense(values.iter().map(|&v| v as f32).collect(), dim);
    let map = IndexedRows::new(points(model.embedding().values())?, Metric::Euclidean, NEIGHBORS);
    // As many rows of the fit, evenly spaced. Their nearest row is the row itself, which is left out.
    let count = held_out.rows().min(n);
    let own: Vec<usize> = (0..count).map(|i| (i as u64 * n as u64 / count as u64) as usize).collect();
    let own_points = points(&own.iter().flat_map(|&i| model.embedding().row(i)).copied().collect::<Vec<_>>())?;
    let recall = |rows: &Data, points: &Data, own: Option<&[usize]>| -> lowland::Result<f64> {
        let k = NEIGHBORS + usize::from(own.is_some());
        let near = data.nearest(rows, k, QuerySearch::Exact, &mut |_| Ok(()))?;
        let on_map = map.nearest(points, k, QuerySearch::Exact, &mut |_| Ok(()))?;
        let share = |i: usize| {
            let others = |graph: &lowland::neighbors::NeighborGraph| -> Vec<u32> {
                let own = own.map(|own| own[i] as u32);
                graph.row(i).0.iter().copied().filter(|&j| Some(j) != own).take(NEIGHBORS).collect()
            };
            let (near, on_map) = (others(&near), others(&on_map));
            near.iter().filter(|j| on_map.contains(j)).count() as f64 / NEIGHBORS as f64
        };
        Ok((0..rows.rows()).map(share).sum::<f64>() / rows.rows() as f64)
    };
    Ok(Some(HeldOutScore {
        neighbors: NEIGHBORS,
        rows: held_out.rows(),
        placed: recall(&model.preprocess(held_out)?, &points(placed.values())?, None)?,
        fitted: recall(&data.data().select(&own), &own_points, Some(&own))?,
    }))
}
