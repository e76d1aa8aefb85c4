//! Preprocessing of the data: logarithm, standardization of columns, normalization of rows, PCA.
//!
//! ```
//! use lowland::preprocessing::Preprocessing;
//! use lowland::{FitOptions, methods::Pca};
//! # use lowland::{Data, Seed};
//! # let x = Data::dense(Seed(1).normals(400).into_iter().map(|v| v as f32).collect(), 4)?;
//! let preprocessing = Preprocessing { standardize: true, ..Preprocessing::default() };
//! let model = Pca::default().fit_with(&x, FitOptions { preprocessing, ..FitOptions::default() })?;
//! assert_eq!(model.preprocess(&x)?.dim(), 4);
//! # Ok::<(), lowland::Error>(())
//! ```

mod inverse;
mod scaling;
mod whitening;

pub(crate) use scaling::column_moments;
pub use scaling::constant_columns;
pub use whitening::rows_for_metric;

use lowland_core::archive::Archive;
use lowland_core::message::{Note, Remedy};
use lowland_core::params::params;
use lowland_core::run::Context;
use lowland_core::{Data, DataShape, Error, Result};
use lowland_linalg::{LinearMap, SvdOptions, pca_memory, svd_with};

use scaling::{ColumnScaling, log1p, unit_rows};
use whitening::Whitening;

params! {
    /// The preprocessing steps, in the order in which they are applied.
    pub struct Preprocessing {
        /// Replace every value x by log(1 + x).
        log1p: bool = false,
        /// Scale every column to mean 0 and standard deviation 1 (sparse data is not centered).
        standardize: bool = false,
        /// Scale every row to length 1.
        normalize: bool = false,
        /// Number of principal components to reduce the columns to (0 keeps all columns).
        pca: usize = 0,
    }
}

/// Fitted preprocessing steps.
#[derive(Debug, Clone, Default)]
pub struct Preprocessor {
    log1p: bool,
    columns: Option<ColumnScaling>,
    normalize: bool,
    pca: Option<LinearMap>,
    /// The last step, for metric `mahalanobis`.
    whitening: Option<Whitening>,
}

impl Preprocessing {
    /// Returns whether there are no steps.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the peak number of bytes that the steps need besides the data.
    pub fn memory(&self, shape: DataShape) -> u64 {
        // A step reads the result of the one before and writes its own.
        let steps = [self.log1p, self.standardize, self.normalize].into_iter().filter(|&step| step).count() as u64;
        let columns = if self.standardize { shape.dim as u64 * 64 } else { 0 };
        let copies = steps.min(2).saturating_mul(shape.bytes).saturating_add(columns);
        let count = self.pca.min(shape.dim);
        if count == 0 {
            return copies;
        }
        let components = pca_memory(count, shape).saturating_add(self.output(shape).bytes);
        copies.max(steps.min(1).saturating_mul(shape.bytes).saturating_add(components))
    }

    /// Returns the size and kind of the preprocessed data.
    pub fn output(&self, shape: DataShape) -> DataShape {
        if self.pca == 0 {
            return shape;
        }
        let dim = self.pca.min(shape.dim);
        let bytes = (shape.rows as u64).saturating_mul(dim as u64).saturating_mul(4);
        DataShape { dim, sparse: false, bytes, ..shape }
    }

    /// Fits the steps to data and applies them.
    pub fn fit(&self, data: &Data, context: &mut Context) -> Result<(Preprocessor, Data)> {
        let mut preprocessor = Preprocessor { log1p: self.log1p, normalize: self.normalize, ..Preprocessor::default() };
        if self.is_empty() {
            return Ok((preprocessor, data.clone()));
        }
        reject_text(data)?;
        let mut data = data.clone();
        if self.log1p {
            data = log1p(&data)?;
        }
        // Standardization and principal components depend on differences only, and their results have no offsets.
        if self.standardize {
            let columns = ColumnScaling::fit(&data);
            data = columns.apply(&data);
            if matches!(data, Data::Sparse(_)) {
                context.note(Note::SparseNotCentered);
            }
            preprocessor.columns = Some(columns);
        }
        if self.normalize {
            note_rounded_columns(&data, "normalize", context);
            data = unit_rows(&data.unshifted());
        }
        if self.pca > 0 {
            data = data.without_offsets();
            let count = self.pca.min(data.dim());
            if count < self.pca {
                context.note(Note::FewerColumnsThanComponents { columns: count });
            }
            let seed = context.seed.stream("prepare");
            let map = context
                .with_progress(|progress| svd_with(&data, count, true, SvdOptions::default(), seed, progress))?
                .map();
            data = map.apply_to_data(&data)?;
            preprocessor.pca = Some(map);
        }
        Ok((preprocessor, data))
    }
}

impl Preprocessor {
    /// Applies the steps to new rows. The result for a row depends on that row alone.
    pub fn apply(&self, data: &Data) -> Result<Data> {
        let mut data = data.clone();
        if self.log1p || self.columns.is_some() || self.normalize || self.pca.is_some() {
            reject_text(&data)?;
        }
        if self.log1p {
            data = log1p(&data)?;
        }
        if let Some(columns) = &self.columns {
            data = columns.apply(&data);
        }
        if self.normalize {
            data = unit_rows(&data.unshifted());
        }
        if let Some(map) = &self.pca {
            data = map.apply_to_data(&data.without_offsets())?;
        }
        match &self.whitening {
            Some(whitening) => whitening.apply(&data.without_offsets()),
            None => Ok(data),
        }
    }

    /// Adds the transformation to unit covariance, with a given inverse covariance matrix or that of the rows, and applies it to
    /// rows that were preprocessed before.
    pub(crate) fn with_whitening(
        mut self,
        prepared: &Data,
        inverse_covariance: Option<&[f64]>,
    ) -> Result<(Self, Data)> {
        let prepared = prepared.without_offsets();
        let whitening = Whitening::fit(&prepared, inverse_covariance)?;
        let prepared = whitening.apply(&prepared)?;
        self.whitening = Some(whitening);
        Ok((self, prepared))
    }

    /// Writes the fitted steps to a model file.
    pub fn save(&self, archive: &mut Archive) {
        if let Some(columns) = &self.columns {
            archive.put("prepare/mean", columns.mean.clone());
            archive.put("prepare/scale", columns.scale.clone());
        }
        if let Some(map) = &self.pca {
            map.save("prepare/pca", archive);
        }
        if let Some(whitening) = &self.whitening {
            whitening.save(archive);
        }
    }

    /// Reads the fitted steps of `preprocessing` from a model file of data with `dim` columns; `whitened` if the metric is
    /// `mahalanobis`.
    pub fn load(preprocessing: &Preprocessing, whitened: bool, archive: &Archive, dim: usize) -> Result<Self> {
        let columns = if preprocessing.standardize {
            let (mean, scale) = (archive.finite("prepare/mean")?, archive.finite("prepare/scale")?);
            if mean.len() != dim || scale.len() != dim {
                return Err(archive.invalid(format!("the column scales are not for {dim} columns")));
            }
            Some(ColumnScaling { mean: mean.to_vec(), scale: scale.to_vec() })
        } else {
            None
        };
        let pca = if preprocessing.pca > 0 {
            let map = LinearMap::load("prepare/pca", archive)?;
            if map.dim() != dim || map.output_dim() != preprocessing.pca.min(dim) {
                return Err(
                    archive.invalid(format!("its principal components are not {} of {dim} columns", preprocessing.pca))
                );
            }
            Some(map)
        } else {
            None
        };
        let prepared = pca.as_ref().map_or(dim, LinearMap::output_dim);
        let whitening = if whitened { Some(Whitening::load(archive, prepared)?) } else { None };
        Ok(Self { log1p: preprocessing.log1p, columns, normalize: preprocessing.normalize, pca, whitening })
    }

    /// Returns the number of columns after preprocessing of data with `dim` columns.
    pub fn output_dim(&self, dim: usize) -> usize {
        self.pca.as_ref().map_or(dim, LinearMap::output_dim)
    }
}

/// Notes the columns whose offsets will be added, which rounds them.
pub(crate) fn note_rounded_columns(data: &Data, cause: impl Into<String>, context: &mut Context) {
    let columns = data.rounded_columns();
    if !columns.is_empty() {
        context.note(Note::ColumnsRounded { columns, cause: cause.into() });
    }
}

fn reject_text(data: &Data) -> Result<()> {
    match data {
        Data::Text(_) => Err(Error::Kind {
            what: "preprocessing (log1p, standardize, normalize, pca)",
            kind: "text",
            remedies: vec![Remedy::Other("leave out these steps for strings")],
        }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
