//! The exact search on a graphics card, if one is in effect (see `lowland_cuda`). Its results are those of the processor.

use lowland_core::run::Progress;
use lowland_core::{Data, Dense, Metric, Result};
use lowland_cuda::{
    MAX_NEIGHBORS, MAX_ROWS, NearestOutput, NearestRequest, NearestRows, RowMetric, Work, gpu_for, nearest,
    nearest_memory, nearest_shared_memory, or_processor,
};

use super::exact::search_queries;
use super::inner_product::{self, CenterAndScale, TransformedRows};

/// Inner products of a card per second, in columns, for the choice between this and an approximate search.
const CARD_RATE: f64 = 1e13;
/// Seconds on a card beyond which an approximate search on the processor is preferred, unless the exact one was asked for.
pub(super) const PATIENCE: f64 = 600.0;

/// Share of queries with uncertain neighbors beyond which an approximate search on the processor takes less time.
const MOST_UNCERTAIN: f64 = 0.1;

/// Estimated seconds of a search on a card.
pub(super) fn seconds(queries: usize, points: usize, dim: usize) -> f64 {
    queries as f64 * points as f64 * dim as f64 / CARD_RATE
}

/// Returns the nearest rows of `data` for every row of `queries`, or the nearest other rows of every row of `data`, laid end to end;
/// `None` if there is no card for it, or if `may_give_up` is set and most neighbors need a second, exact search on the processor.
pub(super) fn search(
    queries: Option<&Data>,
    data: &Data,
    metric: Metric,
    k: usize,
    may_give_up: bool,
    progress: &mut Progress,
) -> Result<Option<Vec<(f32, u32)>>> {
    let row_metric = match metric {
        Metric::Euclidean => RowMetric::Euclidean,
        Metric::Cosine => RowMetric::Cosine,
        Metric::Correlation => RowMetric::Correlation,
        _ => return Ok(None),
    };
    let Data::Dense(points) = data else { return Ok(None) };
    let others = match queries {
        Some(Data::Dense(queries)) => Some(queries),
        Some(_) => return Ok(None),
        None => None,
    };
    let count = others.unwrap_or(points).rows();
    if k > MAX_NEIGHBORS || count.max(points.rows()) > MAX_ROWS {
        return Ok(None);
    }
    let pairs = count as f64 * points.rows() as f64 / if others.is_some() { 1.0 } else { 2.0 };
    let work = Work {
        name: "the neighbor search",
        cpu_seconds: 1e-9 * pairs * inner_product::dense_cost(points.dim()),
        memory: nearest_memory(points.rows(), others.map(Dense::rows), points.dim(), k),
        shared_memory: nearest_shared_memory(k),
    };
    let Some(gpu) = gpu_for(work)? else { return Ok(None) };
    let center_and_scale = CenterAndScale::new(points, others.unwrap_or(points));
    let transformed = TransformedRows::new(points, metric, &center_and_scale, false);
    let transformed_queries = others.map(|queries| TransformedRows::new(queries, metric, &center_and_scale, false));
    let request = NearestRequest {
        points: rows(points, &transformed),
        queries: others.zip(transformed_queries.as_ref()).map(|(queries, transformed)| rows(queries, transformed)),
        dim: points.dim(),
        transformed_dim: transformed.dim,
        metric: row_metric,
        k,
    };
    let found = nearest(&gpu, request, progress);
    let Some(NearestOutput { indices, distances, uncertain }) = or_processor(found, work.name)? else {
        return Ok(None);
    };
    if may_give_up && uncertain.len() as f64 > MOST_UNCERTAIN * count as f64 {
        return Ok(None);
    }
    let mut found: Vec<(f32, u32)> = distances.into_iter().zip(indices).collect();
    replace_uncertain(&mut found, &uncertain, queries, data, metric, k, progress)?;
    Ok(Some(found))
}

fn rows<'a>(rows: &'a Dense, transformed: &'a TransformedRows) -> NearestRows<'a> {
    NearestRows {
        rows: rows.values(),
        transformed: &transformed.values,
        floor: &transformed.bounds.floor,
        margin: &transformed.bounds.margin,
    }
}

/// Searches again, on the processor, for queries whose neighbors single precision does not tell apart: many equal rows, say.
fn replace_uncertain(
    found: &mut [(f32, u32)],
    uncertain: &[u32],
    queries: Option<&Data>,
    data: &Data,
    metric: Metric,
    k: usize,
    progress: &mut Progress,
) -> Result<()> {
    if uncertain.is_empty() {
        return Ok(());
    }
    let rows: Vec<usize> = uncertain.iter().map(|&i| i as usize).collect();
    let selected = queries.unwrap_or(data).select(&rows);
    // A row is among its own neighbors, or at least at the same distance as those.
    let wanted = if queries.is_some() { k } else { k + 1 };
    let nearest = search_queries(&selected, data, metric, wanted, progress)?;
    for (&row, nearest) in rows.iter().zip(nearest.chunks_exact(wanted)) {
        let others = nearest.iter().filter(|&&(_, j)| queries.is_some() || j as usize != row);
        found[row * k..(row + 1) * k].iter_mut().zip(others).for_each(|(out, &neighbor)| *out = neighbor);
    }
    Ok(())
}
