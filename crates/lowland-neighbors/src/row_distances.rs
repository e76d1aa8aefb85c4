//! Distances between rows for the approximate search.

use lowland_core::simd::simd_dispatch;

use super::inner_product::{CenterAndScale, TransformedRows};
use super::levenshtein::{EditDistanceMatcher, EncodedStrings};
use super::{distance, inner_product, levenshtein, pairwise};
use lowland_core::{Data, DataShape, Metric};
use lowland_linalg::dense::product_nt;

/// Rows with a distance between them.
pub(super) trait RowDistances: Sync {
    /// Number of rows.
    fn rows(&self) -> usize;
    /// Computes the distances from row `i` to each of `others`, in any unit that increases with the distance.
    fn distances(&self, i: usize, others: &[u32], out: &mut Vec<f32>);
    /// Computes the distances from every row of `rows` to each of `others`, row by row.
    fn distance_block(&self, rows: &[u32], others: &[u32], out: &mut [f32]) {
        let mut line = Vec::new();
        for (&i, out) in rows.iter().zip(out.chunks_exact_mut(others.len())) {
            self.distances(i as usize, others, &mut line);
            out.copy_from_slice(&line);
        }
    }
    /// Whether a block costs much less than its pairs one by one.
    const BLOCKS_ARE_CHEAP: bool = false;
    /// Renumbers the rows: row `order[at]` becomes row `at`. Near rows should be close in memory, since the search is
    /// limited by how fast rows are read.
    fn reorder(&mut self, order: &[u32]);
}

/// A task that works with any type of rows; [`with_row_distances`] chooses the type.
pub(super) trait RowDistancesTask<T> {
    fn run<S: RowDistances>(self, space: S) -> T;
}

/// Prepares the rows for their kind and metric, and runs the task on them.
pub(super) fn with_row_distances<T>(data: &Data, metric: Metric, task: impl RowDistancesTask<T>) -> T {
    match data {
        Data::Dense(x) if inner_product::supports(metric) => {
            let center_and_scale = CenterAndScale::new(x, x);
            task.run(EuclideanRows::new(TransformedRows::new(x, metric, &center_and_scale, true)))
        }
        Data::Text(lines) => {
            let mut alphabet = levenshtein::Alphabet::default();
            let strings = alphabet.encode(lines);
            task.run(TextRows { strings, order: (0..lines.len() as u32).collect(), alphabet: alphabet.len() })
        }
        _ => task.run(MetricRows { data, order: (0..data.rows() as u32).collect(), metric }),
    }
}

/// Cost of one distance as [`with_row_distances`] prepares the rows, in nanoseconds.
pub(super) fn distance_cost(shape: DataShape, metric: Metric) -> f64 {
    match RowSize::new(shape, metric) {
        RowSize::Dense if inner_product::supports(metric) => 5.0 + 0.2 * shape.dim as f64,
        RowSize::Dense => pairwise::dense_cost(metric, shape.dim) + 5.0,
        RowSize::Sparse { entries } => pairwise::sparse_cost(entries, shape.rows) + 10.0,
        RowSize::Text { letters } => pairwise::text_cost(letters, shape.rows) + 50.0,
    }
}

/// Kind of rows and what the cost of comparing them depends on besides the number of columns.
pub(super) enum RowSize {
    Dense,
    Sparse { entries: usize },
    Text { letters: usize },
}

impl RowSize {
    /// Derives the sizes from the bytes of the data, as [`Data::shape`](lowland_core::Data::shape) counts them.
    pub(super) fn new(shape: DataShape, metric: Metric) -> Self {
        let bytes = usize::try_from(shape.bytes).unwrap_or(usize::MAX);
        if metric == Metric::Levenshtein {
            return RowSize::Text { letters: bytes.saturating_sub(shape.rows.saturating_mul(24)) };
        }
        match shape.sparse {
            true => RowSize::Sparse { entries: (bytes / 8).saturating_sub(shape.rows.saturating_add(1)) },
            false => RowSize::Dense,
        }
    }
}

/// Transformed dense rows under the squared Euclidean distance.
struct EuclideanRows {
    values: Vec<f32>,
    /// Squared norms of the rows.
    squares: Vec<f32>,
    /// Number of columns, padded with zeros to whole vectors.
    dim: usize,
}

/// Number of columns that are summed in parallel.
pub(super) const LANES: usize = 16;

impl EuclideanRows {
    fn new(transformed: TransformedRows) -> Self {
        let rows = transformed.values.len() / transformed.dim;
        let dim = transformed.dim.next_multiple_of(LANES);
        let mut values = vec![0.0; rows * dim];
        for (out, row) in values.chunks_exact_mut(dim).zip(transformed.values.chunks_exact(transformed.dim)) {
            out[..transformed.dim].copy_from_slice(row);
        }
        let squares = values.chunks_exact(dim).map(|row| row.iter().map(|x| x * x).sum()).collect();
        Self { values, squares, dim }
    }

    fn gather(&self, rows: &[u32]) -> Vec<f32> {
        let mut values = Vec::with_capacity(rows.len() * self.dim);
        rows.iter().for_each(|&i| values.extend_from_slice(self.row(i as usize)));
        values
    }

    fn row(&self, i: usize) -> &[f32] {
        &self.values[i * self.dim..(i + 1) * self.dim]
    }
}

impl RowDistances for EuclideanRows {
    fn rows(&self) -> usize {
        self.squares.len()
    }

    fn distances(&self, i: usize, others: &[u32], out: &mut Vec<f32>) {
        out.resize(others.len(), 0.0);
        squared_distances(&self.values, self.dim, i, others, out);
    }

    const BLOCKS_ARE_CHEAP: bool = true;

    fn distance_block(&self, rows: &[u32], others: &[u32], out: &mut [f32]) {
        let (a, b) = (self.gather(rows), self.gather(others));
        product_nt(&a, &b, self.dim, out);
        let squares = |rows: &[u32]| rows.iter().map(|&i| self.squares[i as usize]).collect::<Vec<f32>>();
        inner_product::squared_distances_from_products(&squares(rows), &squares(others), out);
    }

    fn reorder(&mut self, order: &[u32]) {
        self.values = self.gather(order);
        self.squares = order.iter().map(|&i| self.squares[i as usize]).collect();
    }
}

#[simd_dispatch]
fn squared_distances(values: &[f32], dim: usize, i: usize, others: &[u32], out: &mut [f32]) {
    let (a, _) = values[i * dim..(i + 1) * dim].as_chunks::<LANES>();
    for (out, &j) in out.iter_mut().zip(others) {
        let (b, _) = values[j as usize * dim..(j as usize + 1) * dim].as_chunks::<LANES>();
        let mut lanes = [0f32; LANES];
        for (a, b) in a.iter().zip(b) {
            for l in 0..LANES {
                lanes[l] += (a[l] - b[l]) * (a[l] - b[l]);
            }
        }
        *out = sum_lanes(lanes);
    }
}

/// Returns the sum of the lanes, added pairwise.
#[inline(always)]
pub(super) fn sum_lanes(mut lanes: [f32; LANES]) -> f32 {
    let mut width = LANES / 2;
    while width > 0 {
        for l in 0..width {
            lanes[l] += lanes[l + width];
        }
        width /= 2;
    }
    lanes[0]
}

/// Any data and metric, through [`distance()`].
struct MetricRows<'a> {
    data: &'a Data,
    order: Vec<u32>,
    metric: Metric,
}

impl RowDistances for MetricRows<'_> {
    fn rows(&self) -> usize {
        self.order.len()
    }

    fn distances(&self, i: usize, others: &[u32], out: &mut Vec<f32>) {
        let row = |i: usize| self.order[i] as usize;
        out.clear();
        out.extend(others.iter().map(|&j| distance(self.data, row(i), self.data, row(j as usize), self.metric) as f32));
    }

    fn reorder(&mut self, order: &[u32]) {
        self.order = order.iter().map(|&i| self.order[i as usize]).collect();
    }
}

/// Strings under the Levenshtein distance.
struct TextRows {
    strings: EncodedStrings,
    order: Vec<u32>,
    alphabet: usize,
}

impl RowDistances for TextRows {
    fn rows(&self) -> usize {
        self.order.len()
    }

    fn distances(&self, i: usize, others: &[u32], out: &mut Vec<f32>) {
        let string = |i: usize| self.strings.string(self.order[i] as usize);
        let mut matcher = EditDistanceMatcher::new(self.alphabet);
        matcher.set(string(i));
        out.clear();
        out.extend(
            others.iter().map(|&j| matcher.distance_within(string(j as usize), u32::MAX).unwrap_or(u32::MAX) as f32),
        );
    }

    fn reorder(&mut self, order: &[u32]) {
        self.order = order.iter().map(|&i| self.order[i as usize]).collect();
    }
}
