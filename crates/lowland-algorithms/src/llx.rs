//! Locally linear extension (Saul 2022, section 3): a map of some rows becomes a map of all, and of new ones.
//!
//! Each row is written as a combination of its neighbours; the rows without a place get the places for which the same
//! combinations hold best, all of them at once. For maps whose origin means something the weights are free and neighbours are
//! those of smallest angle, as in the paper; for maps that may be moved they sum to one.

use rayon::prelude::*;

use lowland_core::message::Remedy;
use lowland_core::run::{Progress, in_batches};
use lowland_core::{Data, Embedding, Error, Metric, Points, Result, Seed, along_tree};
use lowland_linalg::dense::{Cholesky, power_of_two_near, product_nt};
use lowland_linalg::{Csr, Jacobi, NullSpace, PcgOptions, PcgReport, SymmetricOperator, pcg};
use lowland_neighbors::{NeighborGraph, NeighborParams, Search, nearest_to_with, nearest_with};

/// How rows are combined.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Llx {
    /// Neighbours of a row; the paper takes four for each dimension of the map.
    pub n_neighbors: usize,
    /// Who is near.
    pub metric: Metric,
    /// Whether weights sum to one, so that the map may be moved and the extension with it.
    pub affine: bool,
    /// `epsilon` of eq 14: what a weight costs, relative to the square of what it multiplies.
    pub ridge: f64,
    /// How neighbours are searched.
    pub search: Search,
}

impl Llx {
    /// As in the paper, for a map of `dim` dimensions that keeps the origin.
    pub fn linear(dim: usize) -> Self {
        let n_neighbors = dim.saturating_mul(4);
        Self { n_neighbors, metric: Metric::Cosine, affine: false, ridge: 1e-4, search: Search::Auto }
    }

    /// For a map of `dim` dimensions that may be moved, of rows compared by `metric`.
    pub fn affine(dim: usize, metric: Metric) -> Self {
        let n_neighbors = dim.saturating_mul(4).max(15);
        Self { n_neighbors, metric, affine: true, ridge: 1e-3, search: Search::Auto }
    }

    /// Refuses rows that cannot be combined.
    pub fn check(&self, data: &Data) -> Result<()> {
        if let Data::Text(_) = data {
            let remedies = vec![Remedy::Other("give rows of numbers")];
            return Err(Error::Kind { what: "locally linear extension", kind: "text", remedies });
        }
        if self.metric == Metric::Precomputed {
            let allowed = "rows themselves are needed, not their distances".into();
            return Err(Error::Parameter { name: "metric", value: self.metric.to_string(), allowed });
        }
        self.metric.check(data)
    }

    /// Eq 14 for each row against its neighbours among the others: row `i` is about `sum_j W_ij x_j`.
    pub fn weights(&self, data: &Data, seed: Seed, progress: &mut Progress) -> Result<Csr> {
        self.check(data)?;
        let n_neighbors = self.n_neighbors.min(data.rows().saturating_sub(1));
        if n_neighbors == 0 {
            return Csr::from_triplets(data.rows(), data.rows(), []);
        }
        let params = NeighborParams { n_neighbors, metric: self.metric, search: self.search, seed };
        let graph = nearest_with(data, &params, &mut |done| progress(0.6 * done))?.graph;
        self.weights_on(data, data, &graph, Ridge::Even, &mut |done| progress(0.6 + 0.4 * done))
    }

    /// The same for neighbours that were found before.
    pub fn weights_among(&self, data: &Data, graph: &NeighborGraph, progress: &mut Progress) -> Result<Csr> {
        self.weights_on(data, data, graph, Ridge::Even, progress)
    }

    /// Weights of the rows of `new` on their neighbours among `data`.
    fn weights_on(
        &self,
        new: &Data,
        data: &Data,
        graph: &NeighborGraph,
        ridge: Ridge,
        progress: &mut Progress,
    ) -> Result<Csr> {
        let rows = in_batches(new.rows().div_ceil(ROWS), progress, |chunk| {
            let mut local = Local::default();
            let rows = chunk * ROWS..new.rows().min((chunk + 1) * ROWS);
            rows.map(|i| {
                let (columns, lengths) = graph.row(i);
                let mut near: Vec<(u32, f32)> = columns.iter().copied().zip(lengths.iter().copied()).collect();
                near.sort_unstable_by_key(|entry| entry.0);
                let costs = ridge.costs(self.ridge, &near);
                let near: Vec<u32> = near.into_iter().map(|entry| entry.0).collect();
                let weights = local.solve(self.affine, new, i, data, &near, &costs);
                (near, weights)
            })
            .collect::<Vec<_>>()
        })?;
        let (mut indptr, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
        for (near, weights) in rows.into_iter().flatten() {
            indices.extend(near);
            values.extend(weights);
            indptr.push(indices.len());
        }
        Csr::new(indptr, indices, values, data.rows())
    }

    /// Places for all rows of `data` by eq 15, those of `landmarks` (ascending) held where `map` has them.
    pub fn extend(
        &self,
        data: &Data,
        landmarks: &[usize],
        map: Points,
        seed: Seed,
        progress: &mut Progress,
    ) -> Result<(Embedding, PcgReport)> {
        let weights = self.weights(data, seed, &mut |done| progress(0.7 * done))?;
        extend(&weights, landmarks, map, &mut |done| progress(0.7 + 0.3 * done))
    }

    /// Places of new rows beside a map of `data`: each a combination of its neighbours' places.
    pub fn place(&self, new: &Data, data: &Data, map: Points, progress: &mut Progress) -> Result<Embedding> {
        let k = self.n_neighbors.min(data.rows());
        let graph = nearest_to_with(new, data, k, self.metric, &mut |done| progress(0.7 * done))?;
        let weights = self.weights_on(new, data, &graph, Ridge::ByDistance, &mut |done| progress(0.7 + 0.3 * done))?;
        let mut values = vec![0.0; new.rows() * map.dim()];
        weights.multiply(map.values(), map.dim(), &mut values);
        Embedding::new(values, map.dim())
    }
}

/// What weights cost.
#[derive(Clone, Copy)]
enum Ridge {
    /// The same for all neighbours (eq 14).
    Even,
    /// In proportion to the neighbour's distance: a row that has a place already gets that place.
    ByDistance,
}

impl Ridge {
    /// For each neighbour what its weight costs, about `ridge`. Not nothing: of several neighbours in one direction, none of
    /// which costs anything, the weights could be anything.
    fn costs(self, ridge: f64, near: &[(u32, f32)]) -> Vec<f64> {
        let mean = near.iter().map(|entry| f64::from(entry.1)).sum::<f64>() / near.len() as f64;
        let cost = |distance: f64| match self {
            Ridge::ByDistance if mean > 0.0 => (ridge * distance / mean).max(ridge.min(LEAST_COST)),
            _ => ridge,
        };
        near.iter().map(|entry| cost(f64::from(entry.1))).collect()
    }
}

/// Above the rounding of single precision.
const LEAST_COST: f64 = 1e-6;

/// Rows that share their work space.
const ROWS: usize = 64;

/// Up to this many numbers of a row and its neighbours, their products are in double precision; of more in single precision,
/// whose rounding is a hundredth of what the ridge adds.
const DOUBLE: usize = 1 << 12;

/// Work space of one row's weights.
#[derive(Default)]
struct Local {
    rows: Vec<f32>,
    wide: Vec<f64>,
    products: Vec<f32>,
    gram: Vec<f64>,
}

impl Local {
    /// `argmin_w |x - sum_j w_j x_j|^2 + sum_j cost_j |x_j|^2 w_j^2`; with weights of sum one, the cost is relative to the sum of
    /// all `|x - x_j|^2`.
    fn solve(&mut self, affine: bool, new: &Data, i: usize, data: &Data, near: &[u32], costs: &[f64]) -> Vec<f64> {
        let (k, dim) = (near.len(), data.dim());
        if k == 0 || dim == 0 {
            return vec![0.0; k];
        }
        // The row itself stands last.
        self.rows.clear();
        self.rows.resize((k + 1) * dim, 0.0);
        for (at, &j) in near.iter().enumerate() {
            copy_row(data, j as usize, &mut self.rows[at * dim..(at + 1) * dim]);
        }
        copy_row(new, i, &mut self.rows[k * dim..]);
        let size = k + 1;
        self.gram.resize(size * size, 0.0);
        self.multiply(affine, dim);
        let mut matrix: Vec<f64> = (0..k * k).map(|at| self.gram[at / k * size + at % k]).collect();
        if affine {
            return affine_weights(matrix, costs);
        }
        let mut right: Vec<f64> = (0..k).map(|j| self.gram[k * size + j]).collect();
        let mean = (0..k).map(|j| matrix[j * k + j]).sum::<f64>() / k as f64;
        // Zero neighbours leave nothing on the diagonal.
        let least = f64::EPSILON * mean + f64::MIN_POSITIVE.sqrt();
        (0..k).for_each(|j| matrix[j * k + j] += costs[j] * matrix[j * k + j] + least);
        // A ridge below what rounding does to the products is not enough: weights then cost more.
        for more in [0.0, 1e-5, 1e-3, 0.1] {
            (0..k).for_each(|j| matrix[j * k + j] *= 1.0 + more);
            if let Ok(factor) = Cholesky::new(&matrix, k) {
                factor.solve(&mut right, 1);
                break;
            }
        }
        right
    }

    /// Inner products of the rows, or of their differences to the last one, in a unit of about their size.
    fn multiply(&mut self, affine: bool, dim: usize) {
        let largest = self.rows.iter().fold(0.0f32, |m, v| m.max(v.abs()));
        let unit = power_of_two_near(f64::from(largest));
        if self.rows.len() <= DOUBLE {
            self.wide.clear();
            self.wide.extend(self.rows.iter().map(|&v| f64::from(v) / unit));
            if affine {
                subtract_from_last(&mut self.wide, dim);
            }
            product_nt(&self.wide, &self.wide, dim, &mut self.gram);
        } else {
            // A power of two, so that nothing is rounded; its inverse can be too large for `f32`.
            self.rows.iter_mut().for_each(|v| *v = (f64::from(*v) / unit) as f32);
            if affine {
                subtract_from_last(&mut self.rows, dim);
            }
            self.products.resize(self.gram.len(), 0.0);
            product_nt(&self.rows, &self.rows, dim, &mut self.products);
            self.gram.iter_mut().zip(&self.products).for_each(|(out, &v)| *out = f64::from(v));
        }
    }
}

/// Every row but the last becomes what the last is more than it.
fn subtract_from_last<T: Copy + std::ops::Sub<Output = T>>(rows: &mut [T], dim: usize) {
    let (others, last) = rows.split_at_mut(rows.len() - dim);
    others.chunks_exact_mut(dim).for_each(|row| row.iter_mut().zip(&*last).for_each(|(v, &x)| *v = x - *v));
}

/// Weights of sum one that make a row of its neighbours as well as can be, from the inner products of the differences to them;
/// kept small by what they cost, relative to the sum of the squares.
pub fn affine_weights(mut gram: Vec<f64>, costs: &[f64]) -> Vec<f64> {
    let k = costs.len();
    let trace: f64 = (0..k).map(|i| gram[i * k + i]).sum();
    let least = f64::EPSILON * trace + f64::MIN_POSITIVE.sqrt();
    (0..k).for_each(|i| gram[i * k + i] += costs[i] * trace + least);
    let mut weights = vec![1.0; k];
    if let Ok(factor) = Cholesky::new(&gram, k) {
        factor.solve(&mut weights, 1);
    }
    let total: f64 = weights.iter().sum();
    weights.iter().map(|w| w / total).collect()
}

/// One row of numbers.
pub fn copy_row<T: From<f32> + Clone>(data: &Data, i: usize, out: &mut [T]) {
    match data {
        Data::Dense(x) => out.iter_mut().zip(x.row(i)).for_each(|(out, &v)| *out = v.into()),
        Data::Sparse(x) => {
            out.fill(0.0.into());
            let (columns, values) = x.row(i);
            columns.iter().zip(values).for_each(|(&c, &v)| out[c as usize] = v.into());
        }
        Data::Text(_) => {}
    }
}

/// `M'M` for the columns of `M = I - W` whose rows have no place yet.
struct Normal {
    columns: Csr,
    transposed: Csr,
}

impl SymmetricOperator for Normal {
    fn dim(&self) -> usize {
        self.columns.columns()
    }

    fn apply(&self, x: &[f64], columns: usize, out: &mut [f64]) {
        let mut image = vec![0.0; self.columns.rows() * columns];
        self.columns.multiply(x, columns, &mut image);
        self.transposed.multiply(&image, columns, out);
    }
}

/// Where rows will lie, about: landmarks where they are, others between the landmarks among their neighbours.
fn rough_places(weights: &Csr, known: &[bool], values: &[f64], dim: usize) -> Vec<f64> {
    let mut out = values.to_vec();
    out.par_chunks_mut(dim).enumerate().filter(|(i, _)| !known[*i]).for_each(|(i, out)| {
        let mut count = 0.0f64;
        for &j in weights.row(i).0.iter().filter(|&&j| known[j as usize]) {
            count += 1.0;
            out.iter_mut().zip(&values[j as usize * dim..]).for_each(|(sum, v)| *sum += v);
        }
        out.iter_mut().for_each(|sum| *sum /= count.max(1.0));
    });
    out
}

/// The columns of `I - W` for the rows that have a number, in the order of the numbers.
fn columns_without_place(weights: &Csr, number: &[u32], count: usize) -> Result<Csr> {
    let (mut indptr, mut indices, mut entries) = (vec![0], Vec::new(), Vec::new());
    for i in 0..weights.rows() {
        let (columns, row) = weights.row(i);
        let mut own = (number[i] != u32::MAX).then_some(number[i]);
        for (&j, &w) in columns.iter().zip(row) {
            let column = number[j as usize];
            if column == u32::MAX {
                continue;
            }
            // The diagonal's place among the ascending columns.
            if let Some(at) = own.take_if(|at| *at <= column) {
                indices.push(at);
                entries.push(if at == column { 1.0 - w } else { 1.0 });
                if at == column {
                    continue;
                }
            }
            indices.push(column);
            entries.push(-w);
        }
        if let Some(at) = own {
            indices.push(at);
            entries.push(1.0);
        }
        indptr.push(indices.len());
    }
    Csr::new(indptr, indices, entries, count)
}

/// Eq 27 for all columns of the map at once: `(A'A + C'C) Y_u = -(A'B + C'D) Y_k`. Landmarks' own rows count too.
pub fn extend(
    weights: &Csr,
    landmarks: &[usize],
    map: Points,
    progress: &mut Progress,
) -> Result<(Embedding, PcgReport)> {
    let (n, dim) = (weights.rows(), map.dim());
    if map.rows() != landmarks.len() {
        return Err(Error::Shape { what: "rows of the landmarks' map", expected: landmarks.len(), found: map.rows() });
    }
    if landmarks.windows(2).any(|pair| pair[0] >= pair[1]) || landmarks.last().is_some_and(|&last| last >= n) {
        return Err(Error::Format { what: "list of landmarks", reason: "rows must ascend and be there".into() });
    }
    if landmarks.len() == n {
        let report = PcgReport { iterations: 0, residuals: vec![0.0; dim], converged: true };
        return Ok((Embedding::new(map.values().to_vec(), dim)?, report));
    }
    let mut values = vec![0.0; n * dim];
    let mut known = vec![false; n];
    for (&i, place) in landmarks.iter().zip(map.values().chunks_exact(dim)) {
        values[i * dim..(i + 1) * dim].copy_from_slice(place);
        known[i] = true;
    }
    // Rows in the order in which they will lie: those that are combined stand together in memory.
    let order = along_tree(Points::new(&rough_places(weights, &known, &values, dim), dim)?);
    let weights = weights.renumber(&order);
    // The number of each row among those without a place.
    let mut number = vec![u32::MAX; n];
    let mut unknown = Vec::with_capacity(n - landmarks.len());
    for (row, &i) in order.iter().enumerate().filter(|(_, i)| !known[**i as usize]) {
        number[row] = unknown.len() as u32;
        unknown.push(i as usize);
    }
    // (I - W) Y_k, Y_u being zero yet, is the right-hand side before M'.
    let placed: Vec<f64> = order.iter().flat_map(|&i| &values[i as usize * dim..][..dim]).copied().collect();
    let mut misfit = vec![0.0; n * dim];
    weights.multiply(&placed, dim, &mut misfit);
    misfit.par_iter_mut().zip(&placed).for_each(|(misfit, value)| *misfit -= value);
    let columns = columns_without_place(&weights, &number, unknown.len())?;
    let normal = Normal { transposed: columns.transpose(), columns };
    let mut right = vec![0.0; unknown.len() * dim];
    normal.transposed.multiply(&misfit, dim, &mut right);
    let diagonal: Vec<f64> =
        (0..unknown.len()).map(|j| normal.transposed.row(j).1.iter().map(|v| v * v).sum()).collect();
    let mut places = vec![0.0; right.len()];
    let options = PcgOptions { tolerance: 1e-6, max_iterations: 1000 };
    let jacobi = Jacobi::new(&diagonal);
    let report = pcg(&normal, &jacobi, NullSpace::None, &right, dim, &mut places, options, progress)?;
    for (&i, place) in unknown.iter().zip(places.chunks_exact(dim)) {
        values[i * dim..(i + 1) * dim].copy_from_slice(place);
    }
    Ok((Embedding::new(values, dim)?, report))
}

#[cfg(test)]
#[path = "llx_tests.rs"]
mod tests;
