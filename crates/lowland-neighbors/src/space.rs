//! What the approximate search knows of the data: how near one row is to some others.

use super::inner::{Flat, Frame};
use super::text::{Matcher, Words};
use super::{direct, distance, inner, text};
use lowland_core::simd::simd_dispatch;
use lowland_core::{Data, Metric};
use lowland_linalg::dense::product_nt;

/// Rows that can be compared.
pub(super) trait Space: Sync {
    /// Number of rows.
    fn rows(&self) -> usize;
    /// How far row `i` is from each of `others`, in any unit that rises with the distance.
    fn measure(&self, i: usize, others: &[u32], out: &mut Vec<f32>);
    /// The same for every row of `rows`, one after the other.
    fn measure_block(&self, rows: &[u32], others: &[u32], out: &mut [f32]) {
        let mut line = Vec::new();
        for (&i, out) in rows.iter().zip(out.chunks_exact_mut(others.len())) {
            self.measure(i as usize, others, &mut line);
            out.copy_from_slice(&line);
        }
    }
    /// Whether a block costs much less than its pairs do one by one.
    const BLOCKS_ARE_CHEAP: bool = false;
    /// Gives row `order[at]` the number `at`. Rows that are near each other should be near in memory too: the search is
    /// bound by how fast rows are read.
    fn arrange(&mut self, order: &[u32]);
}

/// Something done in a space whose kind is only known to [`with_space`].
pub(super) trait SpaceWork<T> {
    fn run<S: Space>(self, space: S) -> T;
}

/// Prepares the rows for their kind and metric, and does the work.
pub(super) fn with_space<T>(data: &Data, metric: Metric, work: impl SpaceWork<T>) -> T {
    match data {
        Data::Dense(x) if inner::applies(metric) => {
            let frame = Frame::new(x, x);
            work.run(FlatSpace::new(Flat::new(x, metric, &frame, true)))
        }
        Data::Text(lines) => {
            let mut alphabet = text::Alphabet::default();
            let words = alphabet.words(lines);
            work.run(WordSpace { words, order: (0..lines.len() as u32).collect(), alphabet: alphabet.len() })
        }
        _ => work.run(AnySpace { data, order: (0..data.rows() as u32).collect(), metric }),
    }
}

/// Nanoseconds of one distance in the space, as [`with_space`] prepares it.
pub(super) fn cost(data: &Data, metric: Metric) -> f64 {
    match data {
        Data::Dense(x) if inner::applies(metric) => 5.0 + 0.2 * x.dim() as f64,
        Data::Dense(x) => direct::dense_cost(metric, x.dim()) + 5.0,
        Data::Sparse(x) => direct::sparse_cost(x.values().len(), x.rows()) + 10.0,
        Data::Text(x) => direct::text_cost(x.iter().map(String::len).sum(), x.len()) + 50.0,
    }
}

/// Squared Euclidean distance between transformed rows.
struct FlatSpace {
    values: Vec<f32>,
    /// The rows' squared lengths.
    squares: Vec<f32>,
    /// Columns, filled up with zeros to whole vectors.
    dim: usize,
}

/// Columns that are added up side by side.
pub(super) const LANES: usize = 16;

impl FlatSpace {
    fn new(flat: Flat) -> Self {
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

impl Space for FlatSpace {
    fn rows(&self) -> usize {
        self.squares.len()
    }

    fn measure(&self, i: usize, others: &[u32], out: &mut Vec<f32>) {
        out.resize(others.len(), 0.0);
        squared_distances(&self.values, self.dim, i, others, out);
    }

    const BLOCKS_ARE_CHEAP: bool = true;

    fn measure_block(&self, rows: &[u32], others: &[u32], out: &mut [f32]) {
        let (a, b) = (self.gather(rows), self.gather(others));
        product_nt(&a, &b, self.dim, out);
        let squares = |rows: &[u32]| rows.iter().map(|&i| self.squares[i as usize]).collect::<Vec<f32>>();
        inner::finish(&squares(rows), &squares(others), out);
    }

    fn arrange(&mut self, order: &[u32]) {
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
        *out = total(lanes);
    }
}

/// The sum of the lanes, by halves.
#[inline(always)]
pub(super) fn total(mut lanes: [f32; LANES]) -> f32 {
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
struct AnySpace<'a> {
    data: &'a Data,
    order: Vec<u32>,
    metric: Metric,
}

impl Space for AnySpace<'_> {
    fn rows(&self) -> usize {
        self.order.len()
    }

    fn measure(&self, i: usize, others: &[u32], out: &mut Vec<f32>) {
        let row = |i: usize| self.order[i] as usize;
        out.clear();
        out.extend(others.iter().map(|&j| distance(self.data, row(i), self.data, row(j as usize), self.metric) as f32));
    }

    fn arrange(&mut self, order: &[u32]) {
        self.order = order.iter().map(|&i| self.order[i as usize]).collect();
    }
}

/// Strings.
struct WordSpace {
    words: Words,
    order: Vec<u32>,
    alphabet: usize,
}

impl Space for WordSpace {
    fn rows(&self) -> usize {
        self.order.len()
    }

    fn measure(&self, i: usize, others: &[u32], out: &mut Vec<f32>) {
        let word = |i: usize| self.words.word(self.order[i] as usize);
        let mut matcher = Matcher::new(self.alphabet);
        matcher.set(word(i));
        out.clear();
        out.extend(others.iter().map(|&j| matcher.within(word(j as usize), u32::MAX).unwrap_or(u32::MAX) as f32));
    }

    fn arrange(&mut self, order: &[u32]) {
        self.order = order.iter().map(|&i| self.order[i as usize]).collect();
    }
}
