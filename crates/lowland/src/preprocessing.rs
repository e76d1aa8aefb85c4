//! What is done to the data before a method sees it: logarithm, columns to unit variance, rows to unit length, PCA.

use rayon::prelude::*;

use lowland_core::archive::Archive;
use lowland_core::message::{Note, Remedy};
use lowland_core::params::params;
use lowland_core::run::Context;
use lowland_core::{Data, DataShape, Dense, Error, Result};
use lowland_linalg::{LinearMap, SvdOptions, pca_memory, svd_with};

params! {
    /// The steps asked for, in the order they are taken.
    pub struct Preprocessing {
        /// Take log(1 + x) of every value first.
        log1p: bool = false,
        /// Bring every column to mean 0 and standard deviation 1 (sparse data: to standard deviation 1 only).
        standardize: bool = false,
        /// Bring every row to length 1.
        normalize: bool = false,
        /// Reduce to this many principal components (0: do not).
        pca: usize = 0,
    }
}

/// The steps as fitted, ready for new rows.
#[derive(Debug, Clone, Default)]
pub struct Preprocessor {
    log1p: bool,
    columns: Option<Columns>,
    normalize: bool,
    pca: Option<LinearMap>,
}

/// Mean and reciprocal standard deviation of every column.
#[derive(Debug, Clone)]
struct Columns {
    mean: Vec<f64>,
    scale: Vec<f64>,
}

/// Rows worked on by one task.
const CHUNK: usize = 512;

impl Preprocessing {
    /// Whether there is anything to do.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Bytes the steps take at their height, beyond the data.
    pub fn memory(&self, shape: DataShape) -> u64 {
        let copies = if self.log1p || self.standardize || self.normalize { 2 * shape.bytes } else { 0 };
        let count = self.pca.min(shape.dim);
        let images = if count > 0 { pca_memory(count, shape).saturating_add(self.output(shape).bytes) } else { 0 };
        copies.saturating_add(images)
    }

    /// Size and kind of the prepared data.
    pub fn output(&self, shape: DataShape) -> DataShape {
        if self.pca == 0 {
            return shape;
        }
        let dim = self.pca.min(shape.dim);
        DataShape { dim, sparse: false, bytes: (shape.rows * dim * 4) as u64, ..shape }
    }

    /// Learns the steps from `data` and takes them.
    pub fn fit(&self, data: &Data, context: &mut Context) -> Result<(Preprocessor, Data)> {
        let mut prepared = Preprocessor { log1p: self.log1p, normalize: self.normalize, ..Preprocessor::default() };
        if self.is_empty() {
            return Ok((prepared, data.clone()));
        }
        refuse_text(data)?;
        let mut data = data.clone();
        if self.log1p {
            data = log1p(&data)?;
        }
        if self.standardize {
            let columns = Columns::fit(&data);
            data = columns.apply(&data);
            if matches!(data, Data::Sparse(_)) {
                context.note(Note::SparseNotCentered);
            }
            prepared.columns = Some(columns);
        }
        if self.normalize {
            data = unit_rows(&data);
        }
        if self.pca > 0 {
            let count = self.pca.min(data.dim());
            if count < self.pca {
                context.note(Note::FewerColumnsThanComponents { columns: count });
            }
            let seed = context.seed.stream("prepare");
            let map = context
                .with_progress(|progress| svd_with(&data, count, true, SvdOptions::default(), seed, progress))?
                .map();
            data = map.apply_to_data(&data)?;
            prepared.pca = Some(map);
        }
        Ok((prepared, data))
    }
}

impl Preprocessor {
    /// Takes the same steps on new rows; a row's result does not depend on the others.
    pub fn apply(&self, data: &Data) -> Result<Data> {
        let mut data = data.clone();
        if self.log1p || self.columns.is_some() || self.normalize || self.pca.is_some() {
            refuse_text(&data)?;
        }
        if self.log1p {
            data = log1p(&data)?;
        }
        if let Some(columns) = &self.columns {
            data = columns.apply(&data);
        }
        if self.normalize {
            data = unit_rows(&data);
        }
        match &self.pca {
            Some(map) => map.apply_to_data(&data),
            None => Ok(data),
        }
    }

    /// Writes what was learnt.
    pub fn save(&self, archive: &mut Archive) {
        if let Some(columns) = &self.columns {
            archive.put("prepare/mean", columns.mean.clone());
            archive.put("prepare/scale", columns.scale.clone());
        }
        if let Some(map) = &self.pca {
            map.save("prepare/pca", archive);
        }
    }

    /// Reads it back: what the steps of `prepare` learnt from data with `dim` columns.
    pub fn load(prepare: &Preprocessing, archive: &Archive, dim: usize) -> Result<Self> {
        let columns = if prepare.standardize {
            let (mean, scale) = (archive.finite("prepare/mean")?, archive.finite("prepare/scale")?);
            if mean.len() != dim || scale.len() != dim {
                return Err(archive.invalid(format!("the column scales are not for {dim} columns")));
            }
            Some(Columns { mean: mean.to_vec(), scale: scale.to_vec() })
        } else {
            None
        };
        let pca = if prepare.pca > 0 {
            let map = LinearMap::load("prepare/pca", archive)?;
            if map.dim() != dim || map.output_dim() != prepare.pca.min(dim) {
                return Err(
                    archive.invalid(format!("its principal components are not {} of {dim} columns", prepare.pca))
                );
            }
            Some(map)
        } else {
            None
        };
        Ok(Self { log1p: prepare.log1p, columns, normalize: prepare.normalize, pca })
    }

    /// Columns of the prepared data, when the raw data have `dim`.
    pub fn output_dim(&self, dim: usize) -> usize {
        self.pca.as_ref().map_or(dim, LinearMap::output_dim)
    }
}

fn refuse_text(data: &Data) -> Result<()> {
    match data {
        Data::Text(_) => Err(Error::Kind {
            what: "preparation (log1p, standardize, normalize, pca)",
            kind: "text",
            remedies: vec![Remedy::Other("leave these steps out for strings")],
        }),
        _ => Ok(()),
    }
}

/// Applies `change` to each row's stored values: `(row's columns or None, values)`.
fn map_rows(data: &Data, change: impl Fn(Option<&[u32]>, &mut [f32]) + Sync) -> Data {
    match data {
        Data::Dense(x) => {
            let mut values = x.values().to_vec();
            if x.dim() > 0 {
                values
                    .par_chunks_mut(x.dim() * CHUNK)
                    .for_each(|chunk| chunk.chunks_exact_mut(x.dim()).for_each(|row| change(None, row)));
            }
            Data::Dense(Dense::shared(std::sync::Arc::new(values), x.rows(), x.dim()).expect("same shape"))
        }
        Data::Sparse(x) => {
            let mut values = x.values().to_vec();
            for (i, bounds) in x.indptr().windows(2).enumerate() {
                change(Some(x.row(i).0), &mut values[bounds[0]..bounds[1]]);
            }
            Data::Sparse(x.with_values(values))
        }
        Data::Text(_) => unreachable!("strings were refused"),
    }
}

fn log1p(data: &Data) -> Result<Data> {
    let bad = |row: usize, column: usize, value: f32| Error::Parameter {
        name: "log1p",
        value: "true".into(),
        allowed: format!("row {row}, column {column} is {value}: log(1 + x) needs values above -1"),
    };
    let below = |v: &f32| !(*v > -1.0);
    match data {
        Data::Dense(x) => {
            if let Some(at) = x.values().iter().position(below) {
                return Err(bad(at / x.dim(), at % x.dim(), x.values()[at]));
            }
        }
        Data::Sparse(x) => {
            if let Some(at) = x.values().iter().position(below) {
                let row = x.indptr().partition_point(|&start| start <= at) - 1;
                return Err(bad(row, x.indices()[at] as usize, x.values()[at]));
            }
        }
        Data::Text(_) => unreachable!("strings were refused"),
    }
    Ok(map_rows(data, |_, row| row.iter_mut().for_each(|v| *v = v.ln_1p())))
}

fn unit_rows(data: &Data) -> Data {
    map_rows(data, |_, row| {
        let norm = row.iter().map(|&v| f64::from(v) * f64::from(v)).sum::<f64>().sqrt();
        if norm > 0.0 {
            row.iter_mut().for_each(|v| *v = (f64::from(*v) / norm) as f32);
        }
    })
}

impl Columns {
    fn fit(data: &Data) -> Self {
        let (mean, square) = column_moments(data);
        let n = data.rows().max(1) as f64;
        let scale = mean.iter().zip(&square).map(|(_, deviation)| {
            let std = (deviation / n).sqrt();
            if std > 0.0 { 1.0 / std } else { 1.0 }
        });
        let scale = scale.collect();
        // Sparse data keep their zeros: no centring.
        let mean = if matches!(data, Data::Sparse(_)) { vec![0.0; mean.len()] } else { mean };
        Self { mean, scale }
    }

    fn apply(&self, data: &Data) -> Data {
        map_rows(data, |columns, row| match columns {
            None => row.iter_mut().zip(&self.mean).zip(&self.scale).for_each(|((v, mean), scale)| {
                *v = ((f64::from(*v) - mean) * scale) as f32;
            }),
            Some(columns) => row.iter_mut().zip(columns).for_each(|(v, &j)| {
                *v = (f64::from(*v) * self.scale[j as usize]) as f32;
            }),
        })
    }
}

/// Mean of every column and the sum of squared deviations from it, in two passes over fixed chunks of rows.
fn column_moments(data: &Data) -> (Vec<f64>, Vec<f64>) {
    let n = data.rows().max(1) as f64;
    let mean: Vec<f64> = column_sums(data, |_, v| v).into_iter().map(|sum| sum / n).collect();
    let mut square = column_sums(data, |j, v| (v - mean[j]) * (v - mean[j]));
    if let Data::Sparse(x) = data {
        // Entries that are not stored are zeros and deviate too.
        let mut stored = vec![0usize; x.dim()];
        x.indices().iter().for_each(|&j| stored[j as usize] += 1);
        for j in 0..x.dim() {
            square[j] += (x.rows() - stored[j]) as f64 * mean[j] * mean[j];
        }
    }
    (mean, square)
}

fn column_sums(data: &Data, term: impl Fn(usize, f64) -> f64 + Sync) -> Vec<f64> {
    let dim = data.dim();
    let partial = |rows: std::ops::Range<usize>| {
        let mut sums = vec![0.0; dim];
        for i in rows {
            match data {
                Data::Dense(x) => x.row(i).iter().enumerate().for_each(|(j, &v)| sums[j] += term(j, f64::from(v))),
                Data::Sparse(x) => {
                    let (columns, values) = x.row(i);
                    columns.iter().zip(values).for_each(|(&j, &v)| sums[j as usize] += term(j as usize, f64::from(v)));
                }
                Data::Text(_) => unreachable!("strings were refused"),
            }
        }
        sums
    };
    let starts: Vec<usize> = (0..data.rows()).step_by(CHUNK * 8).collect();
    let parts: Vec<Vec<f64>> =
        starts.par_iter().map(|&start| partial(start..(start + CHUNK * 8).min(data.rows()))).collect();
    parts.into_iter().fold(vec![0.0; dim], |mut total, part| {
        total.iter_mut().zip(part).for_each(|(a, b)| *a += b);
        total
    })
}

/// Columns in which every row has the same value.
pub fn constant_columns(data: &Data) -> usize {
    match data {
        Data::Text(_) => 0,
        _ => column_moments(data).1.iter().filter(|&&deviation| deviation == 0.0).count(),
    }
}

/// The dense rows of a sparse matrix; only for tests, which compare the two.
#[cfg(test)]
pub(crate) fn densify(x: &lowland_core::Sparse) -> Data {
    let mut values = vec![0.0; x.rows() * x.dim()];
    for i in 0..x.rows() {
        let (columns, entries) = x.row(i);
        columns.iter().zip(entries).for_each(|(&j, &v)| values[i * x.dim() + j as usize] = v);
    }
    Data::dense(values, x.dim()).expect("whole rows")
}

#[cfg(test)]
mod tests {
    use super::*;
    use lowland_core::run::NoObserver;
    use lowland_core::{Seed, Sparse};

    fn fit(prepare: &Preprocessing, data: &Data) -> Result<(Preprocessor, Data)> {
        prepare.fit(data, &mut Context::new(&mut NoObserver, Seed(0), None))
    }

    fn values(data: &Data) -> &[f32] {
        match data {
            Data::Dense(x) => x.values(),
            Data::Sparse(x) => x.values(),
            Data::Text(_) => &[],
        }
    }

    #[test]
    fn standardized_columns_have_mean_zero_and_variance_one_and_constants_become_zero() {
        let data = Data::dense(vec![1.0, 5.0, 2.0, 5.0, 6.0, 5.0], 2).unwrap();
        let (_, out) = fit(&Preprocessing { standardize: true, ..Preprocessing::default() }, &data).unwrap();
        let first: Vec<f32> = values(&out).iter().step_by(2).copied().collect();
        assert!(first.iter().sum::<f32>().abs() < 1e-6);
        assert!((first.iter().map(|v| v * v).sum::<f32>() / 3.0 - 1.0).abs() < 1e-6);
        assert!(values(&out).iter().skip(1).step_by(2).all(|&v| v == 0.0));
    }

    #[test]
    fn sparse_columns_are_scaled_by_the_same_deviation_as_dense_ones() {
        let sparse = Sparse::new(vec![0, 1, 2, 4], vec![0, 1, 0, 1], vec![3.0, 2.0, 1.0, 4.0], 2).unwrap();
        let dense = densify(&sparse);
        let (a, b) = (column_moments(&Data::Sparse(sparse)), column_moments(&dense));
        for (x, y) in a.1.iter().zip(&b.1) {
            assert!((x - y).abs() < 1e-12, "{a:?} {b:?}");
        }
    }

    #[test]
    fn log1p_names_the_cell_it_cannot_take() {
        let data = Data::dense(vec![1.0, 2.0, 3.0, -1.0], 2).unwrap();
        let error = fit(&Preprocessing { log1p: true, ..Preprocessing::default() }, &data).unwrap_err();
        assert!(error.to_string().contains("row 1, column 1"), "{error}");
    }

    #[test]
    fn new_rows_are_prepared_as_the_training_rows_were() {
        let data = Data::dense(Seed(3).normals(60).iter().map(|v| v.abs() as f32).collect(), 4).unwrap();
        let all = Preprocessing { log1p: true, standardize: true, normalize: true, pca: 2 };
        let (prepared, out) = fit(&all, &data).unwrap();
        let again = prepared.apply(&data.select(&[7])).unwrap();
        assert_eq!(values(&again), &values(&out)[14..16]);
        let mut archive = Archive::new(lowland_core::archive::ArchiveKind::Model);
        prepared.save(&mut archive);
        let loaded = Preprocessor::load(&all, &archive, 4).unwrap();
        assert!(Preprocessor::load(&all, &archive, 5).is_err());
        assert!(Preprocessor::load(&all, &Archive::new(lowland_core::archive::ArchiveKind::Model), 4).is_err());
        assert_eq!(values(&loaded.apply(&data).unwrap()), values(&out));
    }
}
