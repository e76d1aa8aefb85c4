//! Affinities on a graphics card, if one is in effect (see `lowland_cuda`).

use rayon::prelude::*;

use lowland_core::Result;
use lowland_cuda::{
    AFFINITY_SHARED_MEMORY, AffinityRequest, MAX_NEIGHBORS, MAX_ROWS, Work, affinity_memory, entropic_affinities,
    gpu_for, or_processor,
};
use lowland_linalg::Csr;
use lowland_neighbors::NeighborGraph;

use super::Perplexities;

/// Entries of a task: fixed, because the order of summation depends on it.
const CHUNK: usize = 1 << 16;

/// Returns the joint entropic affinities of a graph with as many neighbors in every row; `None` if there is no card for it, or if the
/// graph is not regular.
pub(super) fn joint_entropic_affinities(graph: &NeighborGraph, perplexities: &Perplexities) -> Result<Option<Csr>> {
    let (n, k) = (graph.rows(), graph.min_degree());
    let regular = graph.indices().len() == n * k && graph.targets() == n;
    if !regular || k == 0 || k > MAX_NEIGHBORS || n > MAX_ROWS {
        return Ok(None);
    }
    let work = Work {
        name: "the affinities",
        cpu_seconds: 2e-7 * (n * k) as f64,
        memory: affinity_memory(n, k),
        shared_memory: AFFINITY_SHARED_MEMORY,
    };
    let Some(gpu) = gpu_for(work)? else { return Ok(None) };
    let request = AffinityRequest {
        indices: graph.indices(),
        distances: graph.distances(),
        k,
        perplexities: perplexities.values(),
    };
    let found = or_processor(entropic_affinities(&gpu, request), work.name)?;
    let Some(mut found) = found.flatten() else { return Ok(None) };
    let sums: Vec<f64> = found.values.par_chunks(CHUNK).map(|values| values.iter().sum()).collect();
    let total: f64 = sums.iter().sum();
    found.values.par_chunks_mut(CHUNK).for_each(|values| values.iter_mut().for_each(|value| *value /= total));
    let vanishes = found.values.par_chunks(CHUNK).any(|values| values.contains(&0.0));
    let mut joint = Csr::new(found.starts, found.columns, found.values, n)?;
    if vanishes {
        joint.retain(|_, _, w| w > 0.0);
    }
    Ok(Some(joint))
}
