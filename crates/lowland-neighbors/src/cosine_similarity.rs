//! Cosine similarities between rows, computed tile by tile without storing all pairs.
//!
//! Tiles are products of unit rows in `f32`; pairs near the threshold are decided by the inner product in `f64`.

use std::ops::Range;

use rayon::prelude::*;

use lowland_core::message::Remedy;
use lowland_core::run::{Progress, in_batches};
use lowland_core::simd::simd_dispatch;
use lowland_core::{Data, Error, Result};
use lowland_linalg::Csr;
use lowland_linalg::dense::product_nt;

/// Number of rows and columns of a tile.
pub const TILE: usize = 512;

/// Rows with their norms and directions, for computing cosines.
pub struct CosineSimilarity<'a> {
    data: &'a Data,
    norms: Vec<f64>,
    unit: UnitRows,
}

enum UnitRows {
    /// Unit rows, laid end to end.
    Dense(Vec<f32>),
    /// For each column, the rows that have an entry in it, ascending, with their unit values.
    ByColumn { starts: Vec<usize>, rows: Vec<u32>, values: Vec<f64> },
}

/// Two rows whose cosine exceeds a threshold.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SimilarPair {
    /// Lower row index.
    pub i: u32,
    /// Higher row index.
    pub j: u32,
    /// Inner product of the rows.
    pub dot: f64,
}

impl<'a> CosineSimilarity<'a> {
    /// Prepares dense or sparse rows.
    pub fn new(data: &'a Data) -> Result<Self> {
        let (norms, unit) = match data {
            Data::Dense(x) => {
                let dim = x.dim().max(1);
                let norms: Vec<f64> = x.values().par_chunks(dim).map(|row| dot_dense(row, row).sqrt()).collect();
                let mut unit = vec![0f32; x.values().len()];
                unit.par_chunks_mut(dim).zip(x.values().par_chunks(dim)).zip(&norms).for_each(|((out, row), &norm)| {
                    if norm > 0.0 {
                        out.iter_mut().zip(row).for_each(|(out, &v)| *out = (f64::from(v) / norm) as f32);
                    }
                });
                (norms, UnitRows::Dense(unit))
            }
            Data::Sparse(x) => {
                let square = |i: usize| x.row(i).1.iter().map(|&v| f64::from(v) * f64::from(v)).sum::<f64>();
                let norms: Vec<f64> = (0..x.rows()).map(|i| square(i).sqrt()).collect();
                let mut starts = vec![0usize; x.dim() + 1];
                x.indices().iter().for_each(|&c| starts[c as usize + 1] += 1);
                (0..x.dim()).for_each(|c| starts[c + 1] += starts[c]);
                let mut next = starts.clone();
                let (mut rows, mut values) = (vec![0u32; x.indices().len()], vec![0.0; x.indices().len()]);
                for i in 0..x.rows() {
                    let (columns, entries) = x.row(i);
                    for (&c, &v) in columns.iter().zip(entries) {
                        let at = next[c as usize];
                        (rows[at], values[at]) = (i as u32, if norms[i] > 0.0 { f64::from(v) / norms[i] } else { 0.0 });
                        next[c as usize] += 1;
                    }
                }
                (norms, UnitRows::ByColumn { starts, rows, values })
            }
            Data::Text(_) => {
                let remedies = vec![Remedy::Other("give rows of numbers")];
                return Err(Error::Kind { what: "thresholded similarity matching", kind: "text", remedies });
            }
        };
        Ok(Self { data, norms, unit })
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.norms.len()
    }

    /// Norm of each row.
    pub fn norms(&self) -> &[f64] {
        &self.norms
    }

    /// Returns the inner product of two rows.
    pub fn dot(&self, i: usize, j: usize) -> f64 {
        self.dot_with(self.data, i, j)
    }

    /// Returns the inner product of row `i` of `other` with row `j`; `other` has the same kind and columns.
    pub fn dot_with(&self, other: &Data, i: usize, j: usize) -> f64 {
        match (other, self.data) {
            (Data::Dense(x), Data::Dense(y)) => dot_dense(x.row(i), y.row(j)),
            (Data::Sparse(x), Data::Sparse(y)) => {
                let ((a, av), (b, bv)) = (x.row(i), y.row(j));
                let (mut p, mut q, mut sum) = (0, 0, 0.0);
                while p < a.len() && q < b.len() {
                    let (c, d) = (a[p], b[q]);
                    if c == d {
                        sum += f64::from(av[p]) * f64::from(bv[q]);
                    }
                    p += usize::from(c <= d);
                    q += usize::from(d <= c);
                }
                sum
            }
            _ => 0.0,
        }
    }

    /// Returns the cosine of two rows; 0 if one of them is zero.
    pub fn cosine(&self, i: usize, j: usize) -> f64 {
        let lengths = self.norms[i] * self.norms[j];
        if lengths > 0.0 { (self.dot(i, j) / lengths).clamp(-1.0, 1.0) } else { 0.0 }
    }

    /// Largest possible error of a tile's values: `(dim + 8)` roundings of terms whose sum is at most one.
    pub fn tile_error_bound(&self) -> f32 {
        match &self.unit {
            UnitRows::Dense(_) => (self.data.dim() as f32 + 8.0) * 2f32.powi(-24),
            UnitRows::ByColumn { .. } => 1e-6,
        }
    }

    /// Fills `out` with the cosines of `rows` with `columns`, row by row, to within [`Self::tile_error_bound`].
    pub fn fill_tile(&self, rows: Range<usize>, columns: Range<usize>, out: &mut [f32]) {
        let width = columns.len();
        match (&self.unit, self.data) {
            (UnitRows::Dense(unit), _) => {
                let dim = self.data.dim().max(1);
                let part = |range: Range<usize>| &unit[range.start * dim..range.end * dim];
                product_nt(part(rows), part(columns), dim, out);
            }
            (UnitRows::ByColumn { starts, rows: by, values }, Data::Sparse(x)) => {
                let mut sums = vec![0.0; width];
                for (i, out) in rows.zip(out.chunks_exact_mut(width)) {
                    sums.fill(0.0);
                    let (entries, weights) = x.row(i);
                    for (&c, &v) in entries.iter().zip(weights) {
                        let all = starts[c as usize]..starts[c as usize + 1];
                        let here = &by[all.clone()];
                        let first = here.partition_point(|&j| (j as usize) < columns.start);
                        let last = here.partition_point(|&j| (j as usize) < columns.end);
                        for (&j, &u) in here[first..last].iter().zip(&values[all][first..last]) {
                            sums[j as usize - columns.start] += f64::from(v) * u;
                        }
                    }
                    let norm = if self.norms[i] > 0.0 { self.norms[i] } else { 1.0 };
                    out.iter_mut().zip(&sums).for_each(|(out, sum)| *out = (sum / norm) as f32);
                }
            }
            _ => out.fill(0.0),
        }
    }

    /// Returns the pairs `i < j`, `j >= first`, whose cosine exceeds `tau`, sorted by `i`, then `j`.
    pub fn similar_pairs(&self, tau: f64, first: usize) -> Result<Vec<SimilarPair>> {
        self.similar_pairs_with(tau, first, &mut |_| Ok(()))
    }

    /// Like [`Self::similar_pairs`], and reports progress.
    pub fn similar_pairs_with(&self, tau: f64, first: usize, progress: &mut Progress) -> Result<Vec<SimilarPair>> {
        let n = self.rows();
        let floor = tau as f32 - self.tile_error_bound() - f32::EPSILON;
        let found = in_batches(n.div_ceil(TILE), progress, |block| {
            let rows = block * TILE..n.min((block + 1) * TILE);
            let mut tile = vec![0f32; TILE * TILE];
            let mut pairs = Vec::new();
            for start in (rows.start.max(first / TILE * TILE)..n).step_by(TILE) {
                let columns = start..n.min(start + TILE);
                let tile = &mut tile[..rows.len() * columns.len()];
                self.fill_tile(rows.clone(), columns.clone(), tile);
                for (i, line) in rows.clone().zip(tile.chunks_exact(columns.len())) {
                    for_each_above(line, floor, |at| {
                        let j = columns.start + at;
                        if j > i && j >= first {
                            let dot = self.dot(i, j);
                            if dot > tau * (self.norms[i] * self.norms[j]) {
                                pairs.push(SimilarPair { i: i as u32, j: j as u32, dot });
                            }
                        }
                    });
                }
            }
            pairs.sort_unstable_by_key(|pair| (pair.i, pair.j));
            pairs
        })?;
        Ok(found.concat())
    }
}

/// Calls `found` with the position of every value above `floor`; groups without such values are skipped at once.
pub fn for_each_above(values: &[f32], floor: f32, mut found: impl FnMut(usize)) {
    const GROUP: usize = 32;
    for (group, values) in values.chunks(GROUP).enumerate() {
        if largest(values) > floor {
            (0..values.len()).filter(|&at| values[at] > floor).for_each(|at| found(group * GROUP + at));
        }
    }
}

#[inline]
fn largest(values: &[f32]) -> f32 {
    values.iter().fold(f32::NEG_INFINITY, |most, &v| if v > most { v } else { most })
}

/// Returns the inner product in `f64`, in eight partial sums regardless of the width of the registers.
#[simd_dispatch]
fn dot_dense(a: &[f32], b: &[f32]) -> f64 {
    let mut lanes = [0.0f64; 8];
    let (a8, b8) = (a.chunks_exact(8), b.chunks_exact(8));
    let rest: f64 = a8.remainder().iter().zip(b8.remainder()).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum();
    for (a, b) in a8.zip(b8) {
        for lane in 0..8 {
            lanes[lane] += f64::from(a[lane]) * f64::from(b[lane]);
        }
    }
    lanes.iter().sum::<f64>() + rest
}

/// Returns the thresholded similarities of Saul (2022), eq 3: `S_ij = max(0, x_i.x_j - tau |x_i| |x_j|)`, the diagonal
/// included; zero rows have no entry. `pairs` are in the order of [`CosineSimilarity::similar_pairs`], each once.
pub fn thresholded_similarity(pairs: &[SimilarPair], norms: &[f64], tau: f64) -> Result<Csr> {
    let n = norms.len();
    let mut indptr = vec![0usize; n + 1];
    pairs.iter().for_each(|pair| {
        indptr[pair.i as usize + 1] += 1;
        indptr[pair.j as usize + 1] += 1;
    });
    (0..n).filter(|&i| norms[i] > 0.0).for_each(|i| indptr[i + 1] += 1);
    (0..n).for_each(|i| indptr[i + 1] += indptr[i]);
    let (mut indices, mut values) = (vec![0u32; indptr[n]], vec![0.0; indptr[n]]);
    let mut next = indptr.clone();
    let mut put = |i: usize, j: usize, value: f64| {
        (indices[next[i]], values[next[i]]) = (j as u32, value);
        next[i] += 1;
    };
    // In this order every row is filled in ascending order of its columns.
    let mut at = 0;
    for i in 0..n {
        if norms[i] > 0.0 {
            put(i, i, (1.0 - tau) * norms[i] * norms[i]);
        }
        while let Some(pair) = pairs.get(at).filter(|pair| pair.i as usize == i) {
            let j = pair.j as usize;
            let value = pair.dot - tau * norms[i] * norms[j];
            put(i, j, value);
            put(j, i, value);
            at += 1;
        }
    }
    Csr::new(indptr, indices, values, n)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lowland_core::{Seed, Sparse};
    use proptest::prelude::*;

    fn both(values: &[f32], dim: usize) -> [Data; 2] {
        let dense = Data::dense(values.to_vec(), dim).unwrap();
        let (mut indptr, mut indices, mut entries) = (vec![0], Vec::new(), Vec::new());
        for row in values.chunks_exact(dim) {
            row.iter().enumerate().filter(|(_, v)| **v != 0.0).for_each(|(c, v)| {
                indices.push(c as u32);
                entries.push(*v);
            });
            indptr.push(indices.len());
        }
        [dense, Data::Sparse(Sparse::new(indptr, indices, entries, dim).unwrap())]
    }

    proptest! {
        #[test]
        fn thresholded_similarities_agree_with_all_pairs(
            cells in prop::collection::vec(prop_oneof![2 => Just(0.0f32), 3 => -3.0f32..3.0, 1 => Just(1e-30), 1 => Just(1e30)], 60),
            tau in 0.05f64..0.95,
        ) {
            for data in both(&cells, 4) {
                let cosines = CosineSimilarity::new(&data).unwrap();
                let n = cosines.rows();
                let all = cosines.similar_pairs(tau, 0).unwrap();
                let similar = thresholded_similarity(&all, cosines.norms(), tau).unwrap();
                prop_assert!(similar.is_symmetric());
                for i in 0..n {
                    for j in 0..n {
                        let wide = |i: usize| cells[i * 4..(i + 1) * 4].iter().map(|&v| f64::from(v));
                        let norm = |i: usize| wide(i).map(|v| v * v).sum::<f64>().sqrt();
                        let dot: f64 = wide(i).zip(wide(j)).map(|(a, b)| a * b).sum();
                        let slow = (dot - tau * norm(i) * norm(j)).max(0.0);
                        let size = norm(i) * norm(j);
                        prop_assert!((similar.get(i, j) - slow).abs() <= 1e-12 * size, "{} {} {} {}", i, j, similar.get(i, j), slow);
                    }
                }
                // Only pairs with late rows, as for rows that are added afterwards.
                let late = cosines.similar_pairs(tau, 9).unwrap();
                prop_assert_eq!(late, all.into_iter().filter(|pair| pair.j >= 9).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn later_tiles_contain_the_right_pairs() {
        let values: Vec<f32> = Seed(1).normals(3 * (TILE + 90)).iter().map(|&v| v as f32).collect();
        let data = Data::dense(values, 3).unwrap();
        let cosines = CosineSimilarity::new(&data).unwrap();
        let pairs = cosines.similar_pairs(0.9, 0).unwrap();
        let n = cosines.rows();
        let slow = (0..n).flat_map(|i| (i + 1..n).map(move |j| (i, j))).filter(|&(i, j)| cosines.cosine(i, j) > 0.9);
        assert_eq!(pairs.iter().map(|p| (p.i as usize, p.j as usize)).collect::<Vec<_>>(), slow.collect::<Vec<_>>());
        assert!(pairs.len() > 1000);
    }
}
