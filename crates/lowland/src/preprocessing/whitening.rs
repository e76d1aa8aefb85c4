//! The transformation to unit covariance, after which Mahalanobis distances are Euclidean.

use lowland_core::archive::Archive;
use lowland_core::{Data, Error, Metric, Result};
use lowland_linalg::{LinearMap, dense, exact_svd};

/// Singular values below this share of the largest are zero up to rounding.
const RANK_TOLERANCE: f64 = 1e-6;

/// Rotates rows to the principal axes of a covariance matrix and scales each axis to unit variance.
#[derive(Debug, Clone)]
pub(super) struct Whitening {
    rotation: LinearMap,
    scales: Vec<f64>,
}

impl Whitening {
    /// Fits the transformation to the covariance of the rows, or to a given inverse covariance matrix, row by row.
    pub fn fit(data: &Data, inverse_covariance: Option<&[f64]>) -> Result<Self> {
        Metric::Mahalanobis.check(data)?;
        let dim = data.dim();
        let unusable = |reason: String| Error::Metric { metric: Metric::Mahalanobis.to_string(), reason };
        let Some(matrix) = inverse_covariance else {
            let svd = exact_svd(data, dim, true)?;
            let largest = svd.singular_values.first().copied().unwrap_or(0.0);
            let rank = svd.singular_values.iter().filter(|s| **s > RANK_TOLERANCE * largest).count();
            if rank < dim {
                return Err(unusable(format!(
                    "needs a covariance matrix that can be inverted: the {dim} columns have rank {rank}. Remove constant and \
                     dependent columns, or reduce the columns first (pca = {rank})"
                )));
            }
            let freedom = (data.rows() as f64 - 1.0).max(1.0);
            let scales = svd.singular_values.iter().map(|s| freedom.sqrt() / s).collect();
            return Ok(Self { rotation: svd.map(), scales });
        };
        if matrix.len() != dim * dim {
            let what = "values of the inverse covariance matrix";
            return Err(Error::Shape { what, expected: dim * dim, found: matrix.len() });
        }
        let largest = matrix.iter().fold(0.0f64, |most, value| most.max(value.abs()));
        let differs = |i: usize, j: usize| (matrix[i * dim + j] - matrix[j * dim + i]).abs() > 1e-6 * largest;
        let asymmetric = (0..dim).flat_map(|i| (0..i).map(move |j| (i, j))).find(|&(i, j)| differs(i, j));
        if !largest.is_finite() || asymmetric.is_some() {
            return Err(unusable("needs a symmetric inverse covariance matrix of finite numbers".into()));
        }
        let (values, vectors) = dense::eigh(matrix, dim)?;
        if values.iter().any(|value| *value <= 0.0) {
            return Err(unusable("needs a positive definite inverse covariance matrix".into()));
        }
        let components: Vec<f64> = (0..dim * dim).map(|at| vectors[at % dim * dim + at / dim]).collect();
        let scales = values.iter().map(|value| value.sqrt()).collect();
        Ok(Self { rotation: LinearMap::new(&components, &vec![0.0; dim]), scales })
    }

    /// Number of columns.
    pub fn dim(&self) -> usize {
        self.scales.len()
    }

    /// Transforms rows.
    pub fn apply(&self, data: &Data) -> Result<Data> {
        let mut rotated = self.rotation.apply(data)?.into_values();
        rotated
            .chunks_exact_mut(self.dim())
            .for_each(|row| row.iter_mut().zip(&self.scales).for_each(|(value, scale)| *value *= scale));
        Data::dense(rotated.into_iter().map(|value| value as f32).collect(), self.dim())
    }

    /// Writes the row that is transformed to `image`.
    pub fn invert(&self, image: &[f64], row: &mut [f64]) {
        let rotated: Vec<f64> = image.iter().zip(&self.scales).map(|(value, scale)| value / scale).collect();
        self.rotation.invert(&rotated, row);
    }

    /// Writes the standard deviations of a row from those of its image.
    pub fn invert_std(&self, image: &[f64], row: &mut [f64]) {
        let rotated: Vec<f64> = image.iter().zip(&self.scales).map(|(value, scale)| value / scale).collect();
        self.rotation.invert_std(&rotated, row);
    }

    pub fn save(&self, archive: &mut Archive) {
        self.rotation.save("prepare/rotation", archive);
        archive.put("prepare/scales", self.scales.as_slice());
    }

    /// Reads the transformation of `dim` columns from a model file.
    pub fn load(archive: &Archive, dim: usize) -> Result<Self> {
        let rotation = LinearMap::load("prepare/rotation", archive)?;
        let scales = archive.finite("prepare/scales")?.to_vec();
        let fits = rotation.dim() == dim && rotation.output_dim() == dim && scales.len() == dim;
        if fits && rotation.mean().is_some() && scales.iter().all(|scale| *scale > 0.0) {
            Ok(Self { rotation, scales })
        } else {
            Err(archive.invalid(format!("the covariance matrix is not that of {dim} columns")))
        }
    }
}

/// Returns the rows as a metric compares them, for computations without a fit: transformed to unit covariance for
/// [`Metric::Mahalanobis`], with a given inverse covariance matrix or that of the rows.
pub fn rows_for_metric(data: &Data, metric: Metric, inverse_covariance: Option<&[f64]>) -> Result<Data> {
    if metric != Metric::Mahalanobis {
        return Ok(data.clone());
    }
    let data = data.without_offsets();
    data.check_finite()?;
    Whitening::fit(&data, inverse_covariance)?.apply(&data)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lowland_core::Seed;

    /// Rows with correlated columns of different scales.
    fn rows(count: usize) -> Data {
        let normals = Seed(5).normals(3 * count);
        let row = |v: &[f64]| [v[0] as f32, (100.0 * v[1] + 50.0 * v[0]) as f32, (0.01 * v[2] - 0.005 * v[1]) as f32];
        Data::dense(normals.chunks_exact(3).flat_map(row).collect(), 3).unwrap()
    }

    #[test]
    fn transformed_rows_have_unit_covariance_and_their_inverse_is_the_row() {
        let data = rows(500);
        let whitening = Whitening::fit(&data, None).unwrap();
        let (Data::Dense(before), Data::Dense(after)) = (&data, whitening.apply(&data).unwrap()) else {
            panic!("dense rows")
        };
        for (a, b) in (0..3).flat_map(|a| (0..3).map(move |b| (a, b))) {
            let sum: f64 = (0..500).map(|i| after.value(i, a) * after.value(i, b)).sum();
            assert!((sum / 499.0 - if a == b { 1.0 } else { 0.0 }).abs() < 1e-4, "{a} {b} {sum}");
        }
        let (image, mut back) = ((0..3).map(|j| after.value(7, j)).collect::<Vec<_>>(), vec![0.0; 3]);
        whitening.invert(&image, &mut back);
        assert!((0..3).all(|j| (back[j] - before.value(7, j)).abs() < 1e-4 * before.value(7, j).abs()));
    }

    #[test]
    fn a_given_inverse_covariance_gives_the_distances_of_scipy() {
        let inverse = [2.0, 0.5, 0.0, 0.5, 1.0, 0.0, 0.0, 0.0, 4.0];
        let data = Data::dense(vec![1.0, 2.0, 3.0, 0.0, 1.0, 5.0], 3).unwrap();
        let Data::Dense(after) = rows_for_metric(&data, Metric::Mahalanobis, Some(&inverse)).unwrap() else {
            panic!("dense rows")
        };
        let distance = (0..3).map(|j| (after.value(0, j) - after.value(1, j)).powi(2)).sum::<f64>().sqrt();
        // u = (1, 1, -2): u' VI u = 2 + 0.5 + 0.5 + 1 + 16.
        assert!((distance - 20f64.sqrt()).abs() < 1e-5, "{distance}");
        assert!(Whitening::fit(&data, Some(&[1.0; 9])).unwrap_err().to_string().contains("positive definite"));
        assert!(Whitening::fit(&data, Some(&[1.0; 4])).is_err());
    }

    #[test]
    fn dependent_columns_have_no_mahalanobis_distance() {
        let data =
            Data::dense((0..40).map(|at| (at % 7 / (at % 2 + 1)) as f32).flat_map(|v| [v, 2.0 * v]).collect(), 2);
        let error = Whitening::fit(&data.unwrap(), None).unwrap_err().to_string();
        assert!(error.contains("2 columns have rank 1"), "{error}");
    }
}
