//! What the approximate search knows of the data: how near one row is to some others.

use lowland_core::simd::simd_dispatch;

use super::inner_product::{CenterAndScale, TransformedRows};
use super::levenshtein::{EditDistanceMatcher, EncodedStrings};
use super::{distance, inner_product, levenshtein, pairwise};
use lowland_core::{Data, Metric};
use lowland_linalg::dense::product_nt;

/// Rows that can be compared.
pub(super) trait RowDistances: Sync {
    /// Number of rows.
    fn rows(&self) -> usize;
    /// How far row `i` is from each of `others`, in any unit that rises with the distance.
    fn distances(&self, i: usize, others: &[u32], out: &mut Vec<f32>);
    /// The same for every row of `rows`, one after the other.
    fn distance_block(&self, rows: &[u32], others: &[u32], out: &mut [f32]) {
        let mut line = Vec::new();
        for (&i, out) in rows.iter().zip(out.chunks_exact_mut(others.len())) {
            self.distances(i as usize, others, &mut line);
            out.copy_from_slice(&line);
        }
    }
    /// Whether a block costs much less than its pairs do one by one.
    const BLOCKS_ARE_CHEAP: bool = false;
    /// Gives row `order[at]` the number `at`. Rows that are near each other should be near in memory too: the search is
    /// bound by how fast rows are read.
    fn reorder(&mut self, order: &[u32]);
}

/// Something done in a space whose kind is only known to [`with_row_distances`].
pub(super) trait RowDistancesTask<T> {
    fn run<S: RowDistances>(self, space: S) -> T;
}

/// Prepares the rows for their kind and metric, and does the work.
pub(super) fn with_row_distances<T>(data: &Data, metric: Metric, task: impl RowDistancesTask<T>) -> T {
    match data {
        Data::Dense(x) if inner_product::supports(metric) => {
            let frame = CenterAndScale::new(x, x);
            task.run(EuclideanRows::new(TransformedRows::new(x, metric, &frame, true)))
        }
        Data::Text(lines) => {
            let mut alphabet = levenshtein::Alphabet::default();
            let words = alphabet.words(lines);
            task.run(TextRows { words, order: (0..lines.len() as u32).collect(), alphabet: alphabet.len() })
        }
        _ => task.run(MetricRows { data, order: (0..data.rows() as u32).collect(), metric }),
    }
}

/// Nanoseconds of one distance in the space, as [`with_row_distances`] prepares it.
pub(super) fn distance_cost(data: &Data, metric: Metric) -> f64 {
    match data {
        Data::Dense(x) if inner_product::supports(metric) => 5.0 + 0.2 * x.dim() as f64,
        Data::Dense(x) => pairwise::dense_cost(metric, x.dim()) + 5.0,
        Data::Sparse(x) => pairwise::sparse_cost(x.values().len(), x.rows()) + 10.0,
        Data::Text(x) => pairwise::text_cost(x.iter().map(String::len).sum(), x.len()) + 50.0,
    }
}

/// Squared Euclidean distance between transformed rows.
struct EuclideanRows {
    values: Vec<f32>,
    /// The rows' squared lengths.
    squares: Vec<f32>,
    /// Columns, filled up with zeros to whole vectors.
    dim: usize,
}

/// Columns that are added up side by side.
pub(super) const LANES: usize = 16;

impl EuclideanRows {
    fn new(flat: TransformedRows) -> Self {
        let rows = flat.values.len() / flat.dim;
        let dim = flat.dim.next_multiple_of(LANES);
        let mut values = vec![0.0; rows * dim];
        for (out, row) in values.chunks_exact_mut(dim).zip(flat.values.chunks_exact(flat.dim)) {
            out[..flat.dim].copy_from_slice(row);
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

/// The sum of the lanes, by halves.
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

/// Any data and metric, through the definition.
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

/// Strings.
struct TextRows {
    words: EncodedStrings,
    order: Vec<u32>,
    alphabet: usize,
}

impl RowDistances for TextRows {
    fn rows(&self) -> usize {
        self.order.len()
    }

    fn distances(&self, i: usize, others: &[u32], out: &mut Vec<f32>) {
        let word = |i: usize| self.words.word(self.order[i] as usize);
        let mut matcher = EditDistanceMatcher::new(self.alphabet);
        matcher.set(word(i));
        out.clear();
        out.extend(others.iter().map(|&j| matcher.within(word(j as usize), u32::MAX).unwrap_or(u32::MAX) as f32));
    }

    fn reorder(&mut self, order: &[u32]) {
        self.order = order.iter().map(|&i| self.order[i as usize]).collect();
    }
}
