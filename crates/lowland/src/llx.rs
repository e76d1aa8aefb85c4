//! Locally linear extension (Saul 2022, section 3): a map of some rows becomes a map of all, and of new ones.
//!
//! Each row is written as a combination of its neighbours; the rows without a place get the places for which the same
//! combinations hold best, all of them at once. For maps whose origin means something the weights are free and neighbours are
//! those of smallest angle, as in the paper; for maps that may be moved they sum to one.

use rayon::prelude::*;

use crate::linalg::dense::{Cholesky, power_of_two_near, product_nt};
use crate::linalg::{Csr, Jacobi, NullSpace, PcgOptions, SolveReport, SymOp, pcg};
use crate::neighbors::{NeighborGraph, NeighborParams, Search, nearest, nearest_to};
use crate::points::{Data, Embedding, Error, Metric, Points, Result, Seed};
use crate::run::{Progress, in_batches};

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
            let remedy = "Only rows of numbers can be combined";
            return Err(Error::Kind { what: "locally linear extension", kind: "text", remedy });
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
        let graph = nearest(data, &params, &mut |done| progress(0.6 * done))?.graph;
        self.weights_on(data, data, &graph, &mut |done| progress(0.6 + 0.4 * done))
    }

    /// Weights of the rows of `new` on their neighbours among `data`.
    fn weights_on(&self, new: &Data, data: &Data, graph: &NeighborGraph, progress: &mut Progress) -> Result<Csr> {
        let rows = in_batches(new.rows().div_ceil(ROWS), progress, |chunk| {
            let mut local = Local::default();
            let rows = chunk * ROWS..new.rows().min((chunk + 1) * ROWS);
            rows.map(|i| {
                let mut near = graph.row(i).0.to_vec();
                near.sort_unstable();
                let weights = local.solve(self, new, i, data, &near);
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
    ) -> Result<(Embedding, SolveReport)> {
        let weights = self.weights(data, seed, &mut |done| progress(0.7 * done))?;
        extend(&weights, landmarks, map, &mut |done| progress(0.7 + 0.3 * done))
    }

    /// Places of new rows beside a map of `data`: each a combination of its neighbours' places.
    pub fn place(&self, new: &Data, data: &Data, map: Points, progress: &mut Progress) -> Result<Embedding> {
        let k = self.n_neighbors.min(data.rows());
        let graph = nearest_to(new, data, k, self.metric, &mut |done| progress(0.7 * done))?;
        let weights = self.weights_on(new, data, &graph, &mut |done| progress(0.7 + 0.3 * done))?;
        let mut values = vec![0.0; new.rows() * map.dim()];
        weights.multiply(map.values(), map.dim(), &mut values);
        Embedding::new(values, map.dim())
    }
}

/// Rows that share their work space.
const ROWS: usize = 64;

/// Work space of one row's weights.
#[derive(Default)]
struct Local {
    rows: Vec<f64>,
    gram: Vec<f64>,
}

impl Local {
    /// `argmin_w |x - sum_j w_j x_j|^2 + ridge sum_j |x_j|^2 w_j^2`; with weights of sum one, lengths are those of the
    /// differences `x - x_j`.
    fn solve(&mut self, llx: &Llx, new: &Data, i: usize, data: &Data, near: &[u32]) -> Vec<f64> {
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
        let largest = self.rows.iter().fold(0.0f64, |m, v| m.max(v.abs()));
        let unit = power_of_two_near(largest);
        self.rows.iter_mut().for_each(|v| *v /= unit);
        if llx.affine {
            let (others, own) = self.rows.split_at_mut(k * dim);
            others.chunks_exact_mut(dim).for_each(|row| row.iter_mut().zip(&*own).for_each(|(v, x)| *v = x - *v));
        }
        let size = k + 1;
        self.gram.resize(size * size, 0.0);
        product_nt(&self.rows, &self.rows, dim, &mut self.gram[..size * size]);
        let mut right: Vec<f64> =
            if llx.affine { vec![1.0; k] } else { (0..k).map(|j| self.gram[k * size + j]).collect() };
        let mut matrix: Vec<f64> = (0..k * k).map(|at| self.gram[at / k * size + at % k]).collect();
        let mean = (0..k).map(|j| matrix[j * k + j]).sum::<f64>() / k as f64;
        for j in 0..k {
            // Neighbours that coincide with the row, or are zero, leave nothing on the diagonal.
            let own = if llx.affine { mean } else { matrix[j * k + j] };
            matrix[j * k + j] += llx.ridge * own + f64::EPSILON * mean + f64::MIN_POSITIVE.sqrt();
        }
        match Cholesky::new(&matrix, k) {
            Ok(factor) => factor.solve(&mut right, 1),
            Err(_) => right.fill(if llx.affine { 1.0 } else { 0.0 }),
        }
        if llx.affine {
            let total: f64 = right.iter().sum();
            right.iter_mut().for_each(|w| *w /= total);
        }
        right
    }
}

/// One row of numbers, in `f64`.
fn copy_row(data: &Data, i: usize, out: &mut [f64]) {
    match data {
        Data::Dense(x) => out.iter_mut().zip(x.row(i)).for_each(|(out, &v)| *out = f64::from(v)),
        Data::Sparse(x) => {
            out.fill(0.0);
            let (columns, values) = x.row(i);
            columns.iter().zip(values).for_each(|(&c, &v)| out[c as usize] = f64::from(v));
        }
        Data::Text(_) => {}
    }
}

/// `M'M` for the columns of `M = I - W` whose rows have no place yet.
struct Normal {
    columns: Csr,
    transposed: Csr,
}

impl SymOp for Normal {
    fn dim(&self) -> usize {
        self.columns.columns()
    }

    fn apply(&self, x: &[f64], columns: usize, out: &mut [f64]) {
        let mut image = vec![0.0; self.columns.rows() * columns];
        self.columns.multiply(x, columns, &mut image);
        self.transposed.multiply(&image, columns, out);
    }
}

/// Eq 27 for all columns of the map at once: `(A'A + C'C) Y_u = -(A'B + C'D) Y_k`. Landmarks' own rows count too.
pub fn extend(
    weights: &Csr,
    landmarks: &[usize],
    map: Points,
    progress: &mut Progress,
) -> Result<(Embedding, SolveReport)> {
    let (n, dim) = (weights.rows(), map.dim());
    if map.rows() != landmarks.len() {
        return Err(Error::Shape { what: "rows of the landmarks' map", expected: landmarks.len(), found: map.rows() });
    }
    if landmarks.windows(2).any(|pair| pair[0] >= pair[1]) || landmarks.last().is_some_and(|&last| last >= n) {
        return Err(Error::Format { what: "list of landmarks", reason: "rows must ascend and be there".into() });
    }
    let mut values = vec![0.0; n * dim];
    for (&i, place) in landmarks.iter().zip(map.values().chunks_exact(dim)) {
        values[i * dim..(i + 1) * dim].copy_from_slice(place);
    }
    // The number of each row among those without a place.
    let mut number = vec![u32::MAX; n];
    let mut unknown = Vec::with_capacity(n - landmarks.len());
    let mut known = landmarks.iter().peekable();
    for i in 0..n {
        if known.next_if(|&&landmark| landmark == i).is_none() {
            number[i] = unknown.len() as u32;
            unknown.push(i);
        }
    }
    if unknown.is_empty() {
        let report = SolveReport { iterations: 0, residuals: vec![0.0; dim], converged: true };
        return Ok((Embedding::new(values, dim)?, report));
    }
    // (I - W) Y_k, Y_u being zero yet, is the right-hand side before M'.
    let mut misfit = vec![0.0; n * dim];
    weights.multiply(&values, dim, &mut misfit);
    misfit.par_iter_mut().zip(&values).for_each(|(misfit, value)| *misfit -= value);
    let (mut indptr, mut indices, mut entries) = (vec![0], Vec::new(), Vec::new());
    for i in 0..n {
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
    let columns = Csr::new(indptr, indices, entries, unknown.len())?;
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
mod tests {
    use super::*;
    use crate::linalg::dense::eigh;
    use crate::with_threads;

    fn quiet(_: f64) -> Result<()> {
        Ok(())
    }

    fn rows(n: usize, dim: usize, seed: u64) -> Data {
        Data::dense(Seed(seed).normals(n * dim).iter().map(|&v| v as f32).collect(), dim).unwrap()
    }

    fn dense_rows(data: &Data) -> &[f32] {
        let Data::Dense(x) = data else { panic!("dense") };
        x.values()
    }

    /// Solves the least squares of eq 15 by the pseudoinverse of the whole normal matrix.
    fn slow_extension(weights: &Csr, landmarks: &[usize], map: Points) -> Vec<f64> {
        let (n, dim) = (weights.rows(), map.dim());
        let m = |i: usize, j: usize| f64::from(u8::from(i == j)) - weights.get(i, j);
        let unknown: Vec<usize> = (0..n).filter(|i| !landmarks.contains(i)).collect();
        let u = unknown.len();
        let gram: Vec<f64> =
            (0..u * u).map(|at| (0..n).map(|r| m(r, unknown[at / u]) * m(r, unknown[at % u])).sum()).collect();
        let (values, vectors) = eigh(&gram, u).unwrap();
        let mut out = vec![0.0; u * dim];
        for c in 0..dim {
            let right: Vec<f64> = unknown
                .iter()
                .map(|&j| {
                    let known =
                        |r: usize| landmarks.iter().enumerate().map(|(at, &k)| m(r, k) * map.row(at)[c]).sum::<f64>();
                    -(0..n).map(|r| m(r, j) * known(r)).sum::<f64>()
                })
                .collect();
            for e in 0..u {
                let along: f64 = (0..u).map(|i| vectors[i * u + e] * right[i]).sum::<f64>() / values[e];
                (0..u).for_each(|i| out[i * dim + c] += along * vectors[i * u + e]);
            }
        }
        out
    }

    #[test]
    fn the_extension_is_the_least_squares_solution() {
        let data = rows(80, 5, 1);
        let landmarks: Vec<usize> = (0..80).step_by(3).collect();
        let places = Seed(2).normals(landmarks.len() * 2);
        let map = Points::new(&places, 2).unwrap();
        for llx in [Llx::linear(2), Llx::affine(2, Metric::Euclidean)] {
            let weights = llx.weights(&data, Seed(0), &mut quiet).unwrap();
            let (all, report) = extend(&weights, &landmarks, map, &mut quiet).unwrap();
            assert!(report.converged, "{report:?}");
            let slow = slow_extension(&weights, &landmarks, map);
            let unknown = (0..80).filter(|i| i % 3 != 0);
            for (i, expected) in unknown.zip(slow.chunks_exact(2)) {
                let off = all.row(i).iter().zip(expected).fold(0.0f64, |m, (a, b)| m.max((a - b).abs()));
                assert!(off < 1e-4, "{llx:?} row {i}: {off}");
            }
            landmarks.iter().enumerate().for_each(|(at, &i)| assert_eq!(all.row(i), map.row(at)));
        }
    }

    #[test]
    fn weights_minimise_their_cost() {
        let data = rows(40, 6, 3);
        let llx = Llx { n_neighbors: 5, ridge: 0.01, ..Llx::linear(2) };
        let weights = llx.weights(&data, Seed(0), &mut quiet).unwrap();
        let x = |i: usize, c: usize| f64::from(dense_rows(&data)[i * 6 + c]);
        for i in 0..40 {
            let (near, w) = weights.row(i);
            let cost = |w: &[f64]| -> f64 {
                let miss: f64 = (0..6)
                    .map(|c| (x(i, c) - near.iter().zip(w).map(|(&j, w)| w * x(j as usize, c)).sum::<f64>()).powi(2))
                    .sum();
                let size = |j: u32| (0..6).map(|c| x(j as usize, c).powi(2)).sum::<f64>();
                miss + 0.01 * near.iter().zip(w).map(|(&j, w)| size(j) * w * w).sum::<f64>()
            };
            let best = cost(w);
            for at in 0..near.len() {
                for step in [-1e-3, 1e-3] {
                    let mut moved = w.to_vec();
                    moved[at] += step;
                    assert!(cost(&moved) > best, "row {i}");
                }
            }
        }
        let affine = Llx::affine(2, Metric::Euclidean).weights(&data, Seed(0), &mut quiet).unwrap();
        assert!(affine.row_sums().iter().all(|sum| (sum - 1.0).abs() < 1e-10));
    }

    #[test]
    fn a_linear_map_is_extended_as_it_is() {
        let data = rows(300, 3, 5);
        let image = |i: usize| {
            let x: Vec<f64> = dense_rows(&data)[i * 3..(i + 1) * 3].iter().map(|&v| f64::from(v)).collect();
            [x[0] - 2.0 * x[1], 0.5 * x[2] + x[0]]
        };
        let landmarks: Vec<usize> = (0..300).step_by(2).collect();
        let places: Vec<f64> = landmarks.iter().flat_map(|&i| image(i)).collect();
        let llx = Llx { ridge: 1e-9, ..Llx::linear(2) };
        let map = Points::new(&places, 2).unwrap();
        let (all, _) = llx.extend(&data, &landmarks, map, Seed(0), &mut quiet).unwrap();
        let placed = llx.place(&data, &data, all.points(), &mut quiet).unwrap();
        for i in 0..300 {
            (0..2).for_each(|c| assert!((all.row(i)[c] - image(i)[c]).abs() < 1e-4, "row {i}"));
            (0..2).for_each(|c| assert!((placed.row(i)[c] - image(i)[c]).abs() < 1e-4, "row {i} placed"));
        }
    }

    #[test]
    fn hostile_input_is_refused_or_finite() {
        let data = Data::dense(vec![0.0, 0.0, 0.0, 0.0, 1e-30, 0.0, 1e30, 1e30, 1.0, 1.0, 1.0, 1.0], 2).unwrap();
        for llx in [Llx::linear(1), Llx::affine(1, Metric::Euclidean)] {
            let map = Points::new(&[0.0, 1.0], 1).unwrap();
            let (all, _) = llx.extend(&data, &[0, 4], map, Seed(0), &mut quiet).unwrap();
            assert!(all.values().iter().all(|v| v.is_finite()), "{all:?}");
        }
        let weights = Csr::from_triplets(3, 3, []).unwrap();
        let map = Points::new(&[0.0], 1).unwrap();
        assert!(extend(&weights, &[5], map, &mut quiet).is_err());
        assert!(extend(&weights, &[0, 1], map, &mut quiet).is_err());
        assert!(Llx::linear(1).check(&Data::text(vec!["a".into()])).is_err());
        assert!(Llx::affine(1, Metric::Precomputed).check(&data).is_err());
    }

    #[test]
    fn the_bytes_do_not_depend_on_the_number_of_threads() {
        let data = rows(700, 8, 7);
        let landmarks: Vec<usize> = (0..700).step_by(4).collect();
        let places = Seed(2).normals(landmarks.len() * 3);
        let run = || {
            let map = Points::new(&places, 3).unwrap();
            Llx::linear(3).extend(&data, &landmarks, map, Seed(0), &mut quiet).unwrap().0
        };
        let one = with_threads(Some(1), run).unwrap();
        for threads in [2, 3] {
            assert_eq!(one, with_threads(Some(threads), run).unwrap());
        }
    }
}
