//! Exact nearest neighbors.

use lowland_core::Result;
use lowland_core::run::Progress;

use crate::gpu::{Buffer, Gpu};
use crate::launch::{Arg, Kernel, Shape, THREADS};
use crate::{NearestOutput, NearestRequest, NearestRows, RowMetric};

/// Queries of a block, and points that it compares at a time: the macro TILE.
const TILE: usize = 128;
/// Columns that are read at a time: the macro SLICE.
const SLICE: usize = 8;
const WARPS: usize = THREADS / 32;
/// Memory of the candidates of a launch, in bytes.
const CANDIDATE_MEMORY: usize = 1 << 30;
/// Shared memory that the kernels declare, in bytes: two pairs of slices, and three numbers for each query.
const DECLARED_SHARED: usize = 4 * 4 * SLICE * (TILE + 4) + 12 * TILE + 16;
/// Inner products of a launch, in columns: some tenths of a second, after which the search can be stopped.
const LAUNCH_WORK: f64 = 5e12;

/// Rows on the card.
struct Rows {
    rows: Buffer<f32>,
    transformed: Buffer<f32>,
    floor: Buffer<f32>,
    margin: Buffer<f32>,
    count: usize,
}

impl Rows {
    fn upload(gpu: &Gpu, rows: NearestRows, dim: usize) -> Result<Self> {
        let padded = dim.next_multiple_of(SLICE);
        let transformed = if padded == dim {
            gpu.upload(rows.transformed)?
        } else {
            let mut values = vec![0.0; rows.floor.len() * padded];
            for (out, row) in values.chunks_exact_mut(padded).zip(rows.transformed.chunks_exact(dim)) {
                out[..dim].copy_from_slice(row);
            }
            gpu.upload(&values)?
        };
        Ok(Self {
            rows: gpu.upload(rows.rows)?,
            transformed,
            floor: gpu.upload(rows.floor)?,
            margin: gpu.upload(rows.margin)?,
            count: rows.floor.len(),
        })
    }
}

/// Number of candidates that are kept: enough for the rounding errors of the lower bounds.
fn kept(k: usize) -> usize {
    k + (k / 4).max(16)
}

/// Room for the candidates of a query: a tile beyond what is kept, so that pruning is rare.
fn capacity(k: usize) -> usize {
    (kept(k) + 2 * TILE).next_power_of_two()
}

/// Largest number of queries of a launch by the memory of their candidates.
fn most_queries(k: usize) -> usize {
    CANDIDATE_MEMORY / (capacity(k) * size_of::<u64>())
}

/// Memory of a search on the card, in bytes; `queries` is `None` if each point is a query.
pub fn nearest_memory(points: usize, queries: Option<usize>, dim: usize, k: usize) -> u64 {
    let row = (2 * dim as u64 + 32) * 4;
    let launch = queries.unwrap_or(points).next_multiple_of(TILE).min(most_queries(k)) as u64;
    let of_query = capacity(k) * size_of::<u64>() + 8 * k + 12;
    (points + queries.unwrap_or(0)) as u64 * row + launch * of_query as u64 + (1 << 26)
}

/// Memory that the blocks of a search share, in bytes.
pub fn nearest_shared_memory(k: usize) -> usize {
    WARPS * capacity(k) * size_of::<u64>() + DECLARED_SHARED
}

/// Searches for the nearest neighbors; ties are ordered by index. There are at least `k` points besides a query, and at most
/// 2^31 rows of either kind; `k` is at most [`MAX_NEIGHBORS`](crate::MAX_NEIGHBORS).
pub fn nearest(gpu: &Gpu, request: NearestRequest, progress: &mut Progress) -> Result<NearestOutput> {
    let NearestRequest { dim, transformed_dim, metric, k, .. } = request;
    let points = Rows::upload(gpu, request.points, transformed_dim)?;
    let other_queries = request.queries.map(|rows| Rows::upload(gpu, rows, transformed_dim)).transpose()?;
    let (own, queries) = (other_queries.is_none(), other_queries.as_ref().unwrap_or(&points));
    let padded = transformed_dim.next_multiple_of(SLICE);
    let (kept, capacity) = (kept(k), capacity(k));
    let by_work = LAUNCH_WORK / (TILE as f64 * points.count as f64 * padded as f64);
    let most = queries.count.div_ceil(TILE).min(most_queries(k) / TILE);
    let blocks = (by_work as usize).clamp(gpu.processors(), 16 * gpu.processors()).min(most);
    let launch = blocks * TILE;
    let candidates: Buffer<u64> = gpu.zeros(launch * capacity)?;
    let counts: Buffer<i32> = gpu.zeros(launch)?;
    let bounds: Buffer<f32> = gpu.zeros(launch)?;
    let indices: Buffer<u32> = gpu.zeros(launch * k)?;
    let distances: Buffer<f32> = gpu.zeros(launch * k)?;
    let uncertain: Buffer<u32> = gpu.zeros(launch)?;
    let metric = match metric {
        RowMetric::Euclidean => 0,
        RowMetric::Cosine => 1,
        RowMetric::Correlation => 2,
    };
    let mut found = NearestOutput {
        indices: vec![0; queries.count * k],
        distances: vec![0.0; queries.count * k],
        uncertain: Vec::new(),
    };
    let mut flags = vec![0; launch];
    let shared = WARPS * capacity * size_of::<u64>();
    for first in (0..queries.count).step_by(launch) {
        progress(first as f64 / queries.count as f64)?;
        let here = launch.min(queries.count - first);
        let scan: [Arg; 14] = [
            queries.transformed.arg(),
            queries.floor.arg(),
            queries.count.into(),
            first.into(),
            points.transformed.arg(),
            points.floor.arg(),
            points.count.into(),
            padded.into(),
            own.into(),
            kept.into(),
            capacity.into(),
            candidates.arg(),
            counts.arg(),
            bounds.arg(),
        ];
        let shape = Shape { blocks: (here.div_ceil(TILE), 1), threads: THREADS, shared };
        gpu.launch(Kernel("nearest", "scan_points"), shape, &scan)?;
        let rank: [Arg; 17] = [
            queries.rows.arg(),
            queries.count.into(),
            first.into(),
            points.rows.arg(),
            dim.into(),
            Arg::Int(metric),
            queries.margin.arg(),
            points.margin.arg(),
            k.into(),
            capacity.into(),
            candidates.arg(),
            counts.arg(),
            bounds.arg(),
            here.into(),
            indices.arg(),
            distances.arg(),
            uncertain.arg(),
        ];
        let shape = Shape { blocks: (here.div_ceil(WARPS), 1), threads: THREADS, shared };
        gpu.launch(Kernel("nearest", "rank_candidates"), shape, &rank)?;
        gpu.download(&indices, &mut found.indices[first * k..(first + here) * k])?;
        gpu.download(&distances, &mut found.distances[first * k..(first + here) * k])?;
        gpu.download(&uncertain, &mut flags[..here])?;
        let wrong = flags[..here].iter().enumerate().filter(|(_, flag)| **flag != 0);
        found.uncertain.extend(wrong.map(|(at, _)| (first + at) as u32));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_candidates_of_a_launch_are_in_the_estimate_and_bounded() {
        let rows = |points: usize, dim: usize| (points * (2 * dim + 32) * 4) as u64;
        // Every point is a query: 70,000 lists of 512 candidates of eight bytes.
        let own = nearest_memory(70_000, None, 50, 90);
        assert!(own >= rows(70_000, 50) + 70_000 * 512 * 8, "{own}");
        // Many rows are searched in several launches.
        let many = nearest_memory(10_000_000, None, 50, 600);
        assert!(many < rows(10_000_000, 50) + (3 << 30), "{many}");
        assert!(most_queries(crate::MAX_NEIGHBORS) >= TILE);
    }

    #[test]
    fn cards_with_64_kib_of_shared_memory_search_few_neighbors() {
        assert!(nearest_shared_memory(90) <= 64 << 10);
        assert!(nearest_shared_memory(600) > 64 << 10);
    }
}
