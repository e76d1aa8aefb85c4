//! Step 1 (Saul 2022): the sparse similarities, with virtual inputs for inputs that have none.

use super::virtual_rows::{MAX_STEPS, concat_rows, virtual_rows};
use lowland_core::message::SimilarityNote;
use lowland_core::run::Progress;
use lowland_core::{Data, Embedding, Result, Seed};
use lowland_linalg::dense::power_of_two_near;
use lowland_linalg::{Csr, SvdOptions, svd_with};
use lowland_neighbors::cosine_similarity::{CosineSimilarity, thresholded_similarity};

/// The problem that the updates solve. Lengths are in units of [`TsmProblem::unit`].
#[derive(Debug, Clone)]
pub struct TsmProblem {
    /// `S` (eq 3), with virtual inputs last.
    pub similarities: Csr,
    /// The maximum sum of `Z`: `sum_ij [x_i.x_j - tau |x_i| |x_j|]` (eq 21, which prints the inequality reversed).
    pub max_sum: f64,
    /// The threshold.
    pub tau: f64,
    /// The coordinates of the inputs along their leading singular vectors (eq 10), row-major.
    pub initial_coordinates: Vec<f64>,
    /// The unit of length.
    pub unit: f64,
    /// The row of the data of each input, without the virtual ones.
    pub rows: Vec<u32>,
    /// Number of rows of the data; those not in `rows` are zero.
    pub total_rows: usize,
    /// Number of dimensions of the map, of which the last may be zero.
    pub output_dim: usize,
}

impl TsmProblem {
    /// Computes the similarities of the rows beyond `tau`, for a map of `dim` dimensions, and describes them.
    pub fn new(
        data: &Data,
        tau: f64,
        dim: usize,
        seed: Seed,
        progress: &mut Progress,
    ) -> Result<(Self, SimilarityNote)> {
        let all_cosines = CosineSimilarity::new(data)?;
        let rows: Vec<usize> = (0..data.rows()).filter(|&i| all_cosines.norms()[i] > 0.0).collect();
        let all_nonzero = rows.len() == data.rows();
        let nonzero_rows = if all_nonzero { data.clone() } else { data.select(&rows) };
        let cosines = if all_nonzero { all_cosines } else { CosineSimilarity::new(&nonzero_rows)? };
        let n = cosines.rows();
        let mut pairs = cosines.similar_pairs_with(tau, 0, &mut |done| progress(0.6 * done))?;
        let mut degrees = vec![0u32; n];
        pairs.iter().for_each(|pair| {
            degrees[pair.i as usize] += 1;
            degrees[pair.j as usize] += 1;
        });
        let (added, unconnected) = virtual_rows(&cosines, &nonzero_rows, tau, &degrees, progress)?;
        let virtual_rows = added.as_ref().map_or(0, Data::rows);
        let summary = summarize(tau, data.rows(), &degrees, virtual_rows, unconnected);
        drop(cosines);
        let augmented = match added {
            Some(added) => concat_rows(&nonzero_rows, &added)?,
            None => nonzero_rows,
        };
        let cosines = CosineSimilarity::new(&augmented)?;
        if cosines.rows() > n {
            pairs.extend(cosines.similar_pairs_with(tau, n, &mut |done| progress(0.7 + 0.1 * done))?);
            pairs.sort_unstable_by_key(|pair| (pair.i, pair.j));
        }
        let unit = power_of_two_near(cosines.norms().iter().copied().fold(0.0, f64::max));
        let norms: Vec<f64> = cosines.norms().iter().map(|norm| norm / unit).collect();
        pairs.iter_mut().for_each(|pair| pair.dot = pair.dot / unit / unit);
        let similarities = thresholded_similarity(&pairs, &norms, tau)?;
        drop(pairs);
        let max_sum = max_sum(&augmented, &norms, unit, tau);
        let rank = dim.min(augmented.dim()).min(augmented.rows());
        let initial_coordinates = if rank == 0 {
            Vec::new()
        } else {
            let options = SvdOptions { tolerance: 1e-7, max_iterations: 200, ..SvdOptions::default() };
            let parts = svd_with(&augmented, rank, false, options, seed, &mut |done| progress(0.8 + 0.2 * done))?;
            parts.map().apply(&augmented)?.into_values().into_iter().map(|v| v / unit).collect()
        };
        let rows = rows.into_iter().map(|i| i as u32).collect();
        Ok((
            Self {
                similarities,
                max_sum,
                tau,
                initial_coordinates,
                unit,
                rows,
                total_rows: data.rows(),
                output_dim: dim,
            },
            summary,
        ))
    }

    /// Number of dimensions of the updates.
    pub fn dim(&self) -> usize {
        self.initial_coordinates.len() / self.similarities.rows().max(1)
    }

    /// Converts coordinates of the inputs (`dim` columns) to a map of all rows, without virtual inputs and with zero
    /// rows at zero.
    pub fn to_embedding(&self, coordinates: &[f64], dim: usize) -> Embedding {
        let mut values = vec![0.0; self.total_rows * self.output_dim];
        for (&row, point) in self.rows.iter().zip(coordinates.chunks_exact(dim.max(1))) {
            let to = &mut values[row as usize * self.output_dim..][..dim];
            to.iter_mut().zip(point).for_each(|(to, v)| *to = v * self.unit);
        }
        Embedding::new(values, self.output_dim).expect("whole rows")
    }
}

fn summarize(tau: f64, total_rows: usize, degrees: &[u32], virtual_rows: usize, unconnected: usize) -> SimilarityNote {
    let n = degrees.len();
    let mut sorted = degrees.to_vec();
    sorted.sort_unstable();
    let middle = |at: usize| f64::from(sorted.get(at).copied().unwrap_or(0));
    let sum: f64 = sorted.iter().map(|&d| f64::from(d)).sum();
    let count = |degree: u32| degrees.iter().filter(|d| **d == degree).count();
    SimilarityNote::SimilarRows {
        tau,
        neighbors: [
            (middle(n.saturating_sub(1) / 2) + middle(n / 2)) / 2.0,
            sum / n.max(1) as f64,
            sorted.last().map_or(0.0, |&d| f64::from(d)),
        ],
        dissimilar: 1.0 - (sum + n as f64) / (n.max(1) as f64).powi(2),
        single: count(1),
        isolated: count(0),
        virtual_rows,
        unconnected,
        max_virtual_rows: MAX_STEPS as usize,
        zero_rows: total_rows - n,
    }
}

/// `|sum x|^2 - tau (sum |x|)^2`.
fn max_sum(data: &Data, norms: &[f64], unit: f64, tau: f64) -> f64 {
    let mut sum = vec![0.0; data.dim()];
    for i in 0..data.rows() {
        match data {
            Data::Dense(x) => sum.iter_mut().zip(x.row(i)).for_each(|(s, &v)| *s += f64::from(v) / unit),
            Data::Sparse(x) => {
                let (columns, values) = x.row(i);
                columns.iter().zip(values).for_each(|(&c, &v)| sum[c as usize] += f64::from(v) / unit);
            }
            Data::Text(_) => {}
        }
    }
    let lengths: f64 = norms.iter().sum();
    sum.iter().map(|s| s * s).sum::<f64>() - tau * lengths * lengths
}
