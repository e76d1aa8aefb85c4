//! What computations on a card are given, and what they return.

use crate::launch::THREADS;
use crate::ptx::map_unit;

/// Largest dimension of a map.
pub const MAX_DIM: usize = 64;
/// Largest number of rows: kernels count in 32 bits, with room for the last block.
pub const MAX_ROWS: usize = i32::MAX as usize - 4096;
/// Largest number of neighbors of a search.
pub const MAX_NEIGHBORS: usize = 600;

/// The metrics of the neighbor search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowMetric {
    /// Euclidean distance.
    Euclidean,
    /// One minus the cosine.
    Cosine,
    /// One minus the correlation.
    Correlation,
}

/// Rows of a neighbor search.
#[derive(Debug, Clone, Copy)]
pub struct NearestRows<'a> {
    /// The rows, laid end to end.
    pub rows: &'a [f32],
    /// The rows transformed so that squared distances order the points, laid end to end.
    pub transformed: &'a [f32],
    /// For each row, a term of the lower bounds: `floor_i + floor_j - 2 <i, j>` is at most the squared distance.
    pub floor: &'a [f32],
    /// For each row, its share of the error: the lower bound plus `2 (margin_i + margin_j)` is at least the squared distance.
    pub margin: &'a [f32],
}

/// A neighbor search.
#[derive(Debug, Clone, Copy)]
pub struct NearestRequest<'a> {
    /// The points to search.
    pub points: NearestRows<'a>,
    /// The queries; `None` searches for the neighbors of each point among the others.
    pub queries: Option<NearestRows<'a>>,
    /// Number of columns of the rows.
    pub dim: usize,
    /// Number of columns of the transformed rows.
    pub transformed_dim: usize,
    /// The metric.
    pub metric: RowMetric,
    /// Number of neighbors.
    pub k: usize,
}

/// The result of a neighbor search.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct NearestOutput {
    /// Neighbors of each query, from near to far, laid end to end.
    pub indices: Vec<u32>,
    /// Their distances.
    pub distances: Vec<f32>,
    /// Queries whose neighbors are uncertain, because single precision does not tell enough of the points apart.
    pub uncertain: Vec<u32>,
}

/// Affinities to compute from a neighbor graph.
#[derive(Debug, Clone, Copy)]
pub struct AffinityRequest<'a> {
    /// Neighbors of each row, laid end to end.
    pub indices: &'a [u32],
    /// Their distances.
    pub distances: &'a [f32],
    /// Number of neighbors of each row, at most [`MAX_NEIGHBORS`].
    pub k: usize,
    /// Perplexities, whose weights are averaged.
    pub perplexities: &'a [f64],
}

/// A sparse matrix.
#[derive(Debug, Clone, PartialEq)]
pub struct SparseMatrix {
    /// Start of each row; one entry more than there are rows.
    pub starts: Vec<usize>,
    /// Column of each entry.
    pub columns: Vec<u32>,
    /// Value of each entry.
    pub values: Vec<f64>,
}

/// The kernel of the repulsion, a function of the squared distance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PairKernel {
    /// `exp(-s)`.
    Gaussian,
    /// `(1 + s)^-power`.
    Cauchy {
        /// The exponent.
        power: f64,
    },
}

impl PairKernel {
    /// The factor of the derivative: it is `-slope` times what the sums contain.
    pub fn slope(self) -> f64 {
        match self {
            Self::Gaussian => 1.0,
            Self::Cauchy { power } => power,
        }
    }
}

/// The attraction of an edge.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum EdgeAttraction {
    /// `s`, the squared length.
    Quadratic,
    /// `(dof + 1)/2 ln(1 + s/dof)`.
    Student {
        /// Degrees of freedom.
        dof: f64,
    },
}

/// The forces of a neighbor embedding.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MapForces {
    /// Kernel of the repulsion.
    pub kernel: PairKernel,
    /// Squared distances are divided by this before the kernel is applied.
    pub scale: f64,
    /// Attraction of the edges.
    pub attraction: EdgeAttraction,
    /// Whether the repulsion is divided by the sum of the kernel over all pairs.
    pub normalized: bool,
}

/// Weighted edges by point, in the form of a sparse matrix.
#[derive(Debug, Clone, Copy)]
pub struct DeviceEdges<'a> {
    /// Start of each row; one entry more than there are rows.
    pub starts: &'a [usize],
    /// The other point of each edge.
    pub columns: &'a [u32],
    /// Weight of each edge.
    pub weights: &'a [f64],
}

/// What a gradient is computed for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gradient {
    /// Factor of the attraction.
    pub exaggeration: f64,
    /// Factor of the repulsion.
    pub repulsion: f64,
    /// Whether the attractive part of the value is needed.
    pub with_value: bool,
    /// Relative error of the repulsive force that is allowed.
    pub tolerance: f64,
}

/// A step of gradient descent with momentum and gains.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GainStep {
    /// Learning rate.
    pub rate: f64,
    /// Share of the last step that is repeated.
    pub momentum: f64,
    /// Lower bound of the gains.
    pub min_gain: f64,
    /// Maximal change of a coordinate.
    pub max_step: f64,
    /// The same relative to the size of the map; infinite for no such limit.
    pub max_relative_step: f64,
}

/// A step with momentum.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MomentumStep {
    /// Learning rate.
    pub rate: f64,
    /// Share of the last step that is repeated.
    pub momentum: f64,
    /// Maximal change of a coordinate.
    pub max_step: f64,
}

/// The result of a step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepResult {
    /// Sum of the kernel over ordered pairs of different points, before the step.
    pub total: f64,
    /// Attractive part of the value before the step, if it was computed.
    pub attraction: f64,
    /// Length of the step relative to the length of the map before it.
    pub change: f64,
}

/// Edges by point, with the rates at which they attract.
#[derive(Debug, Clone, Copy)]
pub struct RatedEdges<'a> {
    /// Start of each row; one entry more than there are rows.
    pub starts: &'a [usize],
    /// The other point of each edge.
    pub columns: &'a [u32],
    /// How often each edge attracts, per epoch.
    pub rates: &'a [f32],
}

/// The forces of a layout with sampled repulsion, for similarities `1 / (1 + a d^(2b))`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LayoutForces {
    /// Factor of the similarity curve.
    pub a: f32,
    /// Half of its exponent.
    pub b: f32,
    /// Weight of the repulsion.
    pub repulsion: f32,
    /// Number of repelling points that are drawn for each attraction.
    pub samples: usize,
}

/// An epoch of a layout.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LayoutEpoch {
    /// Its number, from zero.
    pub number: usize,
    /// Learning rate.
    pub rate: f32,
    /// Seed of the draws.
    pub seed: u64,
    /// Seed of the draws for the loss.
    pub loss_seed: u64,
}

/// Pairs of points by point, from both of their ends.
#[derive(Debug, Clone, Copy)]
pub struct PairEnds<'a> {
    /// Start of each point's pairs; one entry more than there are points.
    pub starts: &'a [usize],
    /// The other end of each pair.
    pub ends: &'a [u32],
}

/// A step of a layout of pairs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PairStep {
    /// Weight of near pairs.
    pub near: f32,
    /// Threshold of the attraction of near pairs in the final phase of LocalMAP.
    pub local_threshold: Option<f32>,
    /// Weight of mid-near pairs.
    pub mid: f32,
    /// Weight of further pairs.
    pub further: f32,
    /// Learning rate, with the correction of the moments.
    pub rate: f32,
}

/// Memory of a layout of pairs on the card, in bytes; `ends` counts every pair from both ends.
pub fn pairs_memory(rows: usize, ends: usize, dim: usize) -> u64 {
    ends as u64 * 4 + rows as u64 * (24 + 16 * dim as u64) + (1 << 24)
}

/// Memory of a layout on the card, in bytes.
pub fn layout_memory(rows: usize, edges: usize, dim: usize) -> u64 {
    edges as u64 * 8 + rows as u64 * (8 + 5 * dim as u64) + (1 << 24)
}

/// Memory of a map on the card with its edges, in bytes, for the exact sums and for a grid.
pub fn map_memory(rows: usize, edges: usize, dim: usize) -> u64 {
    let (n, edges, dim) = (rows as u64, edges as u64, dim.next_power_of_two() as u64);
    // Positions, forces, gradient, last step and gains; partial sums of up to 64 chunks, fewer with more points; a grid.
    let chunks = (2_200_000 / n.max(1)).clamp(4, 64);
    edges * 8 + n * (8 + dim * 5 * 4) + n * (dim + 1) * 4 * chunks + if dim == 2 { 1 << 30 } else { 1 << 26 }
}

/// Memory that blocks share when they sum over all pairs of points of a map, in bytes.
pub fn map_shared_memory(dim: usize) -> usize {
    THREADS * map_unit(dim).0 * size_of::<f32>()
}

/// Memory of [`entropic_affinities`](crate::entropic_affinities) on the card, in bytes.
pub fn affinity_memory(rows: usize, k: usize) -> u64 {
    (rows * k) as u64 * (8 + 12 + 2 * 12) + rows as u64 * 32 + (1 << 26)
}
