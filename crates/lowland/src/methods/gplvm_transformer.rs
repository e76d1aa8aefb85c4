//! The transformer of the Bayesian Gaussian process latent variable model.

use lowland_algorithms::dense_rows::copy_dense_row;
use lowland_algorithms::gplvm::{GplvmState, InducingKernel};
use lowland_core::archive::Archive;
use lowland_core::run::{Progress, in_batches};
use lowland_core::{Data, Embedding, Error, Metric, Points, Result};
use lowland_linalg::block::column_means;
use lowland_neighbors::nearest_to_with;

use crate::method::{TransformOutput, Transformer, numeric_rows_remedies};

/// The means of the columns, and the standard deviation of all values around them.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RowScaling {
    pub means: Vec<f64>,
    pub unit: f64,
}

impl RowScaling {
    pub fn new(data: &Data) -> Result<Self> {
        if let Data::Text(_) = data {
            return Err(Error::Kind { what: "a Gaussian process", kind: "text", remedies: numeric_rows_remedies() });
        }
        let columns = data.dim();
        let mut all = Self { means: vec![0.0; columns], unit: 1.0 }.scaled_rows(data);
        let means = column_means(&all, columns);
        all.chunks_exact_mut(columns).for_each(|row| row.iter_mut().zip(&means).for_each(|(v, mean)| *v -= mean));
        let unit = (all.iter().map(|v| v * v).sum::<f64>() / all.len() as f64).sqrt();
        Ok(Self { means, unit })
    }

    pub fn scale_row(&self, data: &Data, i: usize, out: &mut [f64]) {
        copy_dense_row(data, i, out);
        out.iter_mut().zip(&self.means).for_each(|(v, mean)| *v = (*v - mean) / self.unit);
    }

    pub fn scaled_rows(&self, data: &Data) -> Vec<f64> {
        let mut all = vec![0.0; data.rows() * data.dim()];
        all.chunks_exact_mut(data.dim()).enumerate().for_each(|(i, out)| self.scale_row(data, i, out));
        all
    }
}

/// The fitted function from the embedding to the data.
pub(super) struct LatentFunction {
    pub state: GplvmState,
    pub scaling: RowScaling,
    /// Variances of the coordinates of the training rows.
    pub variances: Vec<f64>,
}

impl LatentFunction {
    pub fn load(archive: &Archive, rows: usize, columns: usize, dim: usize) -> Result<Self> {
        let get = |name: &str| archive.finite(&format!("gplvm/{name}")).map(<[f64]>::to_vec);
        let (weights, inducing, scales) = (get("weights")?, get("inducing")?, get("scales")?);
        let &[signal, precision, unit] = scales.as_slice() else {
            return Err(archive.invalid("it does not have three scales".into()));
        };
        let psi = InducingKernel { weights, signal, inducing };
        let function = Self {
            state: GplvmState::new(psi, precision, columns, get("second")?, get("solved")?),
            scaling: RowScaling { means: get("means")?, unit },
            variances: get("spreads")?,
        };
        let fits = function.state.is_consistent(dim)
            && function.scaling.means.len() == columns
            && function.variances.len() == rows * dim
            && function.variances.iter().chain(&scales).chain(function.state.weights()).all(|v| *v > 0.0);
        if fits { Ok(function) } else { Err(archive.invalid("its parts differ in size".into())) }
    }
}

/// The training rows with their coordinates, and the fitted function.
pub struct GpLvmTransformer {
    /// `None` if all rows are equal.
    pub(super) function: Option<LatentFunction>,
    pub(super) data: Data,
    pub(super) embedding: Embedding,
}

/// Returns the standard deviation of a position over all its coordinates.
fn position_std(variances: &[f64]) -> f64 {
    (variances.iter().sum::<f64>() / variances.len() as f64).sqrt()
}

/// Returns a covariance matrix with the variances on the diagonal, zero for unused coordinates.
fn covariance(variances: &[f64], dim: usize) -> Vec<f64> {
    let mut all = vec![0.0; dim * dim];
    all.iter_mut().step_by(dim + 1).zip(variances).for_each(|(diagonal, v)| *diagonal = *v);
    all
}

impl Transformer for GpLvmTransformer {
    fn std(&self) -> Option<Vec<f64>> {
        let function = self.function.as_ref()?;
        Some(function.variances.chunks_exact(function.state.weights().len()).map(position_std).collect())
    }

    fn covariances(&self) -> Option<Vec<f64>> {
        let function = self.function.as_ref()?;
        let rows = function.variances.chunks_exact(function.state.weights().len());
        Some(rows.flat_map(|variances| covariance(variances, self.embedding.dim())).collect())
    }

    /// Maximizes the bound over the position of each row, starting from the position of the nearest training row.
    fn transform(&self, new: &Data, progress: &mut Progress) -> Result<TransformOutput> {
        let dim = self.embedding.dim();
        let Some(LatentFunction { state, scaling, variances }) = &self.function else {
            let embedding = Embedding::new(vec![0.0; new.rows() * dim], dim)?;
            return Ok(embedding.into());
        };
        let used = state.weights().len();
        let near = nearest_to_with(new, &self.data, 1, Metric::Euclidean, &mut |done| progress(0.3 * done))?;
        let positions = in_batches(new.rows(), &mut |done| progress(0.3 + 0.7 * done), |i| {
            let closest = near.row(i).0[0] as usize;
            let mut row = vec![0.0; new.dim()];
            scaling.scale_row(new, i, &mut row);
            state.transform_row(&row, &self.embedding.row(closest)[..used], &variances[closest * used..][..used])
        })?;
        let (mut coordinates, mut std, mut covariances, mut scores) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for position in positions {
            let (mean, row_variances, score) = position?;
            coordinates.extend(mean.iter().copied().chain(std::iter::repeat_n(0.0, dim - used)));
            std.push(position_std(&row_variances));
            covariances.extend(covariance(&row_variances, dim));
            // The density in the units of the data.
            scores.push(score - new.dim() as f64 * scaling.unit.ln());
        }
        let embedding = Embedding::new(coordinates, dim)?;
        Ok(TransformOutput { embedding, std: Some(std), covariances: Some(covariances), log_likelihoods: Some(scores) })
    }

    fn inverse(&self, points: Points, progress: &mut Progress) -> Result<Option<Data>> {
        let columns = self.data.dim();
        let rows = in_batches(points.rows(), progress, |i| {
            let mut row = vec![0.0; columns];
            match &self.function {
                None => copy_dense_row(&self.data, 0, &mut row),
                Some(LatentFunction { state, scaling, .. }) => {
                    state.predict(&points.row(i)[..state.weights().len()], &mut row);
                    row.iter_mut().zip(&scaling.means).for_each(|(v, mean)| *v = *v * scaling.unit + mean);
                }
            }
            row.into_iter().map(|v| v as f32).collect::<Vec<f32>>()
        })?;
        Data::dense(rows.concat(), columns).map(Some)
    }

    fn save(&self, archive: &mut Archive) {
        self.data.save("training", archive);
        archive.put("gplvm/dim", self.function.as_ref().map_or(0, |function| function.state.weights().len()) as u64);
        if let Some(LatentFunction { state, scaling, variances }) = &self.function {
            archive.put("gplvm/weights", state.weights());
            archive.put("gplvm/inducing", state.kernel().inducing.as_slice());
            archive.put("gplvm/scales", [state.kernel().signal, state.precision(), scaling.unit].as_slice());
            archive.put("gplvm/second", state.grad_psi2());
            archive.put("gplvm/solved", state.inducing_coefficients());
            archive.put("gplvm/means", scaling.means.as_slice());
            archive.put("gplvm/spreads", variances.as_slice());
        }
    }
}
