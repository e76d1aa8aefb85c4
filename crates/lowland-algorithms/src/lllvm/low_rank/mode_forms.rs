//! The forms of the E-step between eigenvectors; the formulas are in the module above.

use rayon::prelude::*;

use super::super::graph::ModelGraph;
use super::laplacian_inverse::LaplacianInverse;
use super::modes::{LocalInverse, add_parts};
use lowland_core::Result;
use lowland_core::run::Progress;
use lowland_linalg::dense;

/// Products of eigenvectors that are handled together.
const BLOCK: usize = 64;
/// Rows of the tensor that are multiplied together.
const ROWS: usize = 256;

/// The forms of sums and of differences.
pub(in super::super) struct ModeForms {
    rank: usize,
    /// `F_pq' K F_st` with row `(p, s)` and column `(q, t)`: `p` and `s` belong to the maps, `q` and `t` to the latent coordinates.
    tensor: Vec<f64>,
    /// The form of sums of `K' / 2`.
    pub rest_sums: Vec<f64>,
    /// The form of differences of `K' / 2`.
    pub rest_differences: Vec<f64>,
    /// The form of `K' / 2` on both sides.
    pub rest_both: f64,
    /// The trace of `K' / 2`.
    pub rest_trace: f64,
}

impl ModeForms {
    pub fn new(
        graph: &ModelGraph,
        (vectors, eigenvalues): (&[f64], &[f64]),
        inverse: &LaplacianInverse,
        local: &LocalInverse,
        progress: &mut Progress,
    ) -> Result<Self> {
        let (n, rank) = (graph.points(), eigenvalues.len());
        let tensor = tensor(graph, (vectors, eigenvalues), inverse, progress)?;
        let empty = vec![0.0; rank * rank];
        let mut forms =
            Self { rank, tensor, rest_sums: empty.clone(), rest_differences: empty, rest_both: 0.0, rest_trace: 0.0 };
        // At full rank there is no rest, except for rounding.
        if rank == n {
            return Ok(forms);
        }
        let (sums, differences, both) = forms_of_inverse(graph, (vectors, eigenvalues), local);
        // K' is K without the part of the eigenvectors.
        let known: Vec<f64> = (0..rank * rank)
            .map(|at| if at / rank == at % rank && at > 0 { 1.0 / eigenvalues[at % rank] } else { 0.0 })
            .collect();
        let (known_sums, known_differences) = (forms.sums(&known), forms.differences(&known));
        let half =
            |all: &[f64], known: &[f64]| -> Vec<f64> { all.iter().zip(known).map(|(a, k)| 0.5 * (a - k)).collect() };
        forms.rest_sums = half(&sums, &known_sums);
        forms.rest_differences = half(&differences, &known_differences);
        let trace = |form: &[f64]| form.iter().zip(&known).map(|(f, k)| f * k).sum::<f64>();
        // With K on one side and the part of the eigenvectors on the other, it depends on which.
        forms.rest_both = 0.25 * (both - trace(&sums) - trace(&differences) + trace(&known_sums));
        let known_trace: f64 = eigenvalues[1..].iter().map(|w| 1.0 / w).sum();
        forms.rest_trace = 0.5 * (local.diagonal.iter().sum::<f64>() - known_trace);
        Ok(forms)
    }

    /// The form of sums of second moments: one or more `rank x rank` blocks.
    pub fn sums(&self, moments: &[f64]) -> Vec<f64> {
        let side = self.rank * self.rank;
        let blocks = moments.len() / side;
        let part = |(at, tensor): (usize, &[f64])| {
            let rows = tensor.len() / side;
            let own: Vec<f64> =
                moments.chunks_exact(side).flat_map(|block| &block[at * ROWS..][..rows]).copied().collect();
            let mut part = vec![0.0; blocks * side];
            dense::product_nn(&own, tensor, rows, &mut part);
            part
        };
        add_parts(self.tensor.par_chunks(ROWS * side).enumerate().map(part).collect())
    }

    /// The form of differences of second moments.
    pub fn differences(&self, moments: &[f64]) -> Vec<f64> {
        let side = self.rank * self.rank;
        let blocks = moments.len() / side;
        let part = |tensor: &[f64]| {
            let mut part = vec![0.0; blocks * tensor.len() / side];
            dense::product_nt(moments, tensor, side, &mut part);
            part
        };
        let parts: Vec<Vec<f64>> = self.tensor.par_chunks(ROWS * side).map(part).collect();
        let block = |at: usize| {
            parts.iter().flat_map(move |part| &part[at * part.len() / blocks..(at + 1) * part.len() / blocks])
        };
        (0..blocks).flat_map(block).copied().collect()
    }
}

/// The forms of sums and of differences of `K` between eigenvectors, and the form of `K` on both sides.
fn forms_of_inverse(
    graph: &ModelGraph,
    (vectors, eigenvalues): (&[f64], &[f64]),
    local: &LocalInverse,
) -> (Vec<f64>, Vec<f64>, f64) {
    let (n, rank) = (graph.points(), eigenvalues.len());
    let count = n as f64;
    let squares = |at: usize| eigenvalues[at / rank] * local.squares[at] * eigenvalues[at % rank];
    let mut forms: [Vec<f64>; 2] = [0, 1].map(|_| (0..rank * rank).map(squares).collect());
    // The sparse parts, applied to the eigenvectors a panel of rows at a time.
    let mut both = 0.0;
    let mut images = [vec![0.0; n * rank], vec![0.0; n * rank]];
    for i in 0..n {
        let (degree, k) = (graph.neighbors(i).len() as f64, local.diagonal[i]);
        let own = [2.0 * degree * k + 4.0 / count - 2.0, 2.0 - 2.0 * degree * k];
        // tr(L (K o K)) and tr(K ...) of the form of sums.
        both += degree * k * k + own[0] * k;
        for (image, own) in images.iter_mut().zip(own) {
            let source = &vectors[i * rank..(i + 1) * rank];
            image[i * rank..(i + 1) * rank].iter_mut().zip(source).for_each(|(out, v)| *out += own * v);
        }
        for (&j, &edge) in graph.neighbors(i).iter().zip(&local.edges[i]) {
            let j = j as usize;
            both -= 3.0 * edge * edge;
            let source = &vectors[j * rank..(j + 1) * rank];
            for (image, weight) in images.iter_mut().zip([-2.0 * edge, 2.0 * (k + local.diagonal[j]) - 2.0 * edge]) {
                image[i * rank..(i + 1) * rank].iter_mut().zip(source).for_each(|(out, v)| *out += weight * v);
            }
        }
    }
    for (form, image) in forms.iter_mut().zip(&images) {
        dense::product_tn_add(vectors, image, n, form);
        // The first eigenvector is 1 / sqrt(n): 11'/n^2 has a single entry.
        form[0] -= 2.0 / count;
    }
    let [sums, differences] = forms;
    (sums, differences, both)
}

/// The tensor of second moments of eigenvectors.
fn tensor(
    graph: &ModelGraph,
    (vectors, eigenvalues): (&[f64], &[f64]),
    inverse: &LaplacianInverse,
    progress: &mut Progress,
) -> Result<Vec<f64>> {
    let (n, rank, laplacian) = (graph.points(), eigenvalues.len(), graph.laplacian());
    let pairs: Vec<(usize, usize)> = (0..rank).flat_map(|p| (p..rank).map(move |q| (p, q))).collect();
    // Each product of eigenvectors is a row.
    let mut products = vec![0.0; pairs.len() * n];
    products.par_chunks_mut(n).zip(&pairs).for_each(|(product, &(p, q))| {
        product.iter_mut().zip(vectors.chunks_exact(rank)).for_each(|(out, row)| *out = row[p] * row[q]);
    });
    let grams = |block: usize| {
        let (first, count) = (block * BLOCK, BLOCK.min(pairs.len() - block * BLOCK));
        let own = &products[first * n..(first + count) * n];
        let by_point: Vec<f64> = (0..n * count).map(|at| own[at % count * n + at / count]).collect();
        let mut image = vec![0.0; n * count];
        laplacian.multiply(&by_point, count, &mut image);
        let mut solved = by_point;
        inverse.multiply(&mut solved, count);
        // Only pairs up to this block; the rest follows by symmetry.
        let before = &products[..(first + count) * n];
        let gram = |right: &[f64]| {
            let mut gram = vec![0.0; (first + count) * count];
            dense::product_nn(before, right, n, &mut gram);
            gram
        };
        let mut plain = vec![0.0; (first + count) * count];
        dense::product_nt(before, own, n, &mut plain);
        [plain, gram(&image), gram(&solved)]
    };
    let blocks = lowland_core::run::in_batches(pairs.len().div_ceil(BLOCK), progress, grams)?;
    drop(products);
    let index = |p: usize, q: usize| {
        let (p, q) = (p.min(q), p.max(q));
        p * rank - p * (p + 1) / 2 + q
    };
    let gram = |a: usize, b: usize| {
        let (a, b) = (a.min(b), a.max(b));
        let (block, count) = (b / BLOCK, BLOCK.min(pairs.len() - b / BLOCK * BLOCK));
        [0, 1, 2].map(|kind| blocks[block][kind][a * count + b % BLOCK])
    };
    let mut tensor = vec![0.0; rank.pow(4)];
    tensor.par_chunks_mut(rank * rank).enumerate().for_each(|(row, out)| {
        let (p, s) = (row / rank, row % rank);
        for (column, out) in out.iter_mut().enumerate() {
            let (q, t) = (column / rank, column % rank);
            let [plain, laplacian, solved] = gram(index(p, q), index(s, t));
            let (c, e) = (eigenvalues[q] - eigenvalues[p], eigenvalues[t] - eigenvalues[s]);
            // The entries of a product sum to one if both eigenvectors are the same, and to zero otherwise.
            let mean = if p == q && s == t { 1.0 / n as f64 } else { 0.0 };
            *out = laplacian + (c + e) * (plain - mean) + c * e * solved;
        }
    });
    Ok(tensor)
}
