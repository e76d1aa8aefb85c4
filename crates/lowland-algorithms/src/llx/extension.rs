//! The extension of a map from landmarks to all rows (eqs 15 and 27).

use rayon::prelude::*;

use lowland_core::run::Progress;
use lowland_core::{Embedding, Error, Points, Result, tree_order};
use lowland_linalg::{Csr, Jacobi, NullSpace, PcgOptions, PcgReport, SymmetricOperator, pcg};

/// `M'M` for the columns of `M = I - W` that belong to rows with unknown positions.
struct NormalMatrix {
    columns: Csr,
    transposed: Csr,
}

impl SymmetricOperator for NormalMatrix {
    fn dim(&self) -> usize {
        self.columns.columns()
    }

    fn apply(&self, x: &[f64], columns: usize, out: &mut [f64]) {
        let mut image = vec![0.0; self.columns.rows() * columns];
        self.columns.multiply(x, columns, &mut image);
        self.transposed.multiply(&image, columns, out);
    }
}

/// Approximate positions: those of the landmarks, and for other rows the mean of the landmarks among their
/// neighbors.
fn approximate_positions(weights: &Csr, known: &[bool], values: &[f64], dim: usize) -> Vec<f64> {
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

/// The columns of `I - W` of the rows with an entry in `unknown_index`, in the order of the entries.
fn columns_of_unknowns(weights: &Csr, unknown_index: &[u32], count: usize) -> Result<Csr> {
    let (mut indptr, mut indices, mut entries) = (vec![0], Vec::new(), Vec::new());
    for i in 0..weights.rows() {
        let (columns, row) = weights.row(i);
        let mut own = (unknown_index[i] != u32::MAX).then_some(unknown_index[i]);
        for (&j, &w) in columns.iter().zip(row) {
            let column = unknown_index[j as usize];
            if column == u32::MAX {
                continue;
            }
            // The position of the diagonal among the ascending columns.
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

/// Solves eq 27 for all columns of the map at once: `(A'A + C'C) Y_u = -(A'B + C'D) Y_k`. The rows of the landmarks
/// count as well.
pub(super) fn extend(
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
        return Err(Error::Format {
            what: "list of landmarks",
            reason: "rows must be ascending and within the data".into(),
        });
    }
    if landmarks.len() == n {
        let report = PcgReport { iterations: 0, residuals: vec![0.0; dim], converged: true };
        return Ok((Embedding::new(map.values().to_vec(), dim)?, report));
    }
    let mut values = vec![0.0; n * dim];
    let mut known = vec![false; n];
    for (&i, position) in landmarks.iter().zip(map.values().chunks_exact(dim)) {
        values[i * dim..(i + 1) * dim].copy_from_slice(position);
        known[i] = true;
    }
    // Rows are ordered along the approximate map, so that rows that are combined are close in memory.
    let order = tree_order(Points::new(&approximate_positions(weights, &known, &values, dim), dim)?);
    let weights = weights.renumber(&order);
    // The index of each row among those with unknown positions.
    let mut unknown_index = vec![u32::MAX; n];
    let mut unknown = Vec::with_capacity(n - landmarks.len());
    for (row, &i) in order.iter().enumerate().filter(|(_, i)| !known[**i as usize]) {
        unknown_index[row] = unknown.len() as u32;
        unknown.push(i as usize);
    }
    // With Y_u zero, (I - W) Y_k is the right-hand side before M'.
    let known_positions: Vec<f64> = order.iter().flat_map(|&i| &values[i as usize * dim..][..dim]).copied().collect();
    let mut residual = vec![0.0; n * dim];
    weights.multiply(&known_positions, dim, &mut residual);
    residual.par_iter_mut().zip(&known_positions).for_each(|(residual, value)| *residual -= value);
    let columns = columns_of_unknowns(&weights, &unknown_index, unknown.len())?;
    let normal = NormalMatrix { transposed: columns.transpose(), columns };
    let mut right = vec![0.0; unknown.len() * dim];
    normal.transposed.multiply(&residual, dim, &mut right);
    let diagonal: Vec<f64> =
        (0..unknown.len()).map(|j| normal.transposed.row(j).1.iter().map(|v| v * v).sum()).collect();
    let mut positions = vec![0.0; right.len()];
    let options = PcgOptions { tolerance: 1e-6, max_iterations: 1000 };
    let jacobi = Jacobi::new(&diagonal);
    let report = pcg(&normal, &jacobi, NullSpace::None, &right, dim, &mut positions, options, progress)?;
    for (&i, position) in unknown.iter().zip(positions.chunks_exact(dim)) {
        values[i * dim..(i + 1) * dim].copy_from_slice(position);
    }
    Ok((Embedding::new(values, dim)?, report))
}
