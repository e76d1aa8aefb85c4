//! Sparse Cholesky factorization, for matrices whose factor stays sparse.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::sparse::linalg::cholesky::supernodal::SupernodalLltRef;
use faer::sparse::linalg::cholesky::{LltRef, SymbolicCholesky, SymbolicCholeskyRaw, factorize_symbolic_cholesky};
use faer::sparse::{SparseColMatRef, SymbolicSparseColMatRef};
use faer::{Conj, MatMut, Par, Side};

use super::Csr;
use lowland_core::message::Remedy;
use lowland_core::{Error, Result};

/// Cholesky factor of a sparse symmetric positive definite matrix, with a fill-reducing ordering.
pub struct SparseCholesky {
    symbolic: SymbolicCholesky<usize>,
    values: Vec<f64>,
    memory: MemBuffer,
    columns: usize,
}

impl SparseCholesky {
    /// Factors `matrix`, for blocks of `columns` right-hand sides; `None` if the factor would have more than `most` entries.
    pub fn new(matrix: &Csr, columns: usize, most: usize) -> Result<Option<Self>> {
        Self::within_memory(matrix, columns, most, None)
    }

    /// Like [`Self::new`], and fails with [`Error::Memory`] if a factor of at most `most` entries needs more bytes than
    /// `max_memory`.
    pub fn within_memory(matrix: &Csr, columns: usize, most: usize, max_memory: Option<u64>) -> Result<Option<Self>> {
        let failed = |reason: String| Error::Numerical { what: "sparse Cholesky", reason };
        let n = matrix.rows();
        let indices: Vec<usize> = matrix.indices().iter().map(|&j| j as usize).collect();
        // Symmetric, so its rows are its columns.
        let pattern = SymbolicSparseColMatRef::new_checked(n, n, matrix.indptr(), None, &indices);
        let symbolic = factorize_symbolic_cholesky(pattern, Side::Lower, Default::default(), Default::default())
            .map_err(|e| failed(format!("{e:?}")))?;
        if symbolic.len_val() > most {
            return Ok(None);
        }
        let scratch = symbolic.factorize_numeric_llt_scratch::<f64>(Par::Seq, Default::default());
        let needed = (symbolic.len_val() * size_of::<f64>() + scratch.size_bytes()) as u64;
        if let Some(limit) = max_memory.filter(|&limit| needed > limit) {
            let remedies =
                vec![Remedy::RaiseMaxMemory, Remedy::FewerNeighbors, Remedy::FewerRows, Remedy::Landmarks(5000)];
            return Err(Error::Memory { what: "the factorization of the matrix".into(), needed, limit, remedies });
        }
        let mut values = vec![0.0; symbolic.len_val()];
        symbolic
            .factorize_numeric_llt(
                &mut values,
                SparseColMatRef::new(pattern, matrix.values()),
                Side::Lower,
                Default::default(),
                Par::Seq,
                MemStack::new(&mut MemBuffer::new(scratch)),
                Default::default(),
            )
            .map_err(|e| failed(format!("{e:?}")))?;
        let memory = MemBuffer::new(symbolic.solve_in_place_scratch::<f64>(columns, Par::Seq));
        Ok(Some(Self { symbolic, values, memory, columns }))
    }

    /// The logarithm of the determinant of the matrix.
    pub fn log_determinant(&self) -> f64 {
        let logarithms = |diagonal: &mut dyn Iterator<Item = f64>| diagonal.map(|v| 2.0 * v.ln()).sum();
        match self.symbolic.raw() {
            SymbolicCholeskyRaw::Simplicial(symbolic) => {
                // The first entry of a column is on the diagonal.
                logarithms(&mut symbolic.col_ptr()[..symbolic.ncols()].iter().map(|&at| self.values[at]))
            }
            SymbolicCholeskyRaw::Supernodal(symbolic) => {
                let factor = SupernodalLltRef::new(symbolic, &self.values);
                let blocks = (0..symbolic.n_supernodes()).map(|s| factor.supernode(s).val());
                logarithms(&mut blocks.flat_map(|block| (0..block.ncols()).map(move |j| block[(j, j)])))
            }
        }
    }

    /// Like [`Self::solve`] for any number of right-hand sides, allocating its own workspace.
    pub fn solve_columns(&self, rhs: &mut [f64], columns: usize) {
        let mut memory = MemBuffer::new(self.symbolic.solve_in_place_scratch::<f64>(columns, Par::Seq));
        let rhs = MatMut::from_row_major_slice_mut(rhs, self.symbolic.nrows(), columns);
        let factor = LltRef::new(&self.symbolic, &self.values);
        factor.solve_in_place_with_conj(Conj::No, rhs, Par::Seq, MemStack::new(&mut memory));
    }

    /// Replaces the right-hand sides, a row-major block, by the solutions.
    pub fn solve(&mut self, rhs: &mut [f64]) {
        let rhs = MatMut::from_row_major_slice_mut(rhs, self.symbolic.nrows(), self.columns);
        let stack = MemStack::new(&mut self.memory);
        LltRef::new(&self.symbolic, &self.values).solve_in_place_with_conj(Conj::No, rhs, Par::Seq, stack);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lowland_core::Seed;

    #[test]
    fn solving_inverts_multiplication_and_large_factors_are_declined() {
        let n = 300u32;
        let links = (0..n).flat_map(|i| [(i, (i + 1) % n), (i, (i + 17) % n)]);
        let entries = links.flat_map(|(i, j)| [(i, j, -1.0), (j, i, -1.0), (i, i, 1.0), (j, j, 1.0)]);
        let matrix = Csr::from_triplets(300, 300, entries.chain((0..n).map(|i| (i, i, 0.1)))).unwrap();
        let x = Seed(1).normals(600);
        let mut b = vec![0.0; 600];
        matrix.multiply(&x, 2, &mut b);
        let mut factor = SparseCholesky::new(&matrix, 2, 100_000).unwrap().unwrap();
        factor.solve(&mut b);
        assert!(b.iter().zip(&x).all(|(a, b)| (a - b).abs() < 1e-11));
        assert!(SparseCholesky::new(&matrix, 2, 500).unwrap().is_none());
        let refused = SparseCholesky::within_memory(&matrix, 2, 100_000, Some(2000)).err();
        assert!(matches!(refused, Some(Error::Memory { limit: 2000, .. })), "{refused:?}");
        let mut dense = vec![0.0; 300 * 300];
        matrix.iter().for_each(|(i, j, v)| dense[i * 300 + j] = v);
        let expected = crate::dense::Cholesky::new(&dense, 300).unwrap().log_determinant();
        assert!((factor.log_determinant() - expected).abs() < 1e-9 * expected.abs());
        // A dense factor is stored in blocks.
        let full = Csr::from_triplets(
            40,
            40,
            (0..1600).map(|at| (at / 40, at % 40, if at / 40 == at % 40 { 41.0 } else { 1.0 })),
        );
        let factor = SparseCholesky::new(&full.unwrap(), 1, 1600).unwrap().unwrap();
        assert!((factor.log_determinant() - (39.0 * 40.0f64.ln() + 80.0f64.ln())).abs() < 1e-10);
        let indefinite = matrix.map(|i, j, v| if i == j { -v } else { v });
        assert!(SparseCholesky::new(&indefinite, 2, 100_000).is_err());
    }
}
