//! The preprocessing steps undone: from rows as a method sees them to rows in the units of the data.

use rayon::prelude::*;

use lowland_core::{Data, Dense, Error, Result};

use super::Preprocessor;

/// Number of rows per parallel task.
const CHUNK_ROWS: usize = 256;

impl Preprocessor {
    /// Undoes the steps, from the last to the first: rows, and the standard deviation of every value if it is known. The length
    /// of rows that were normalized is not known: they keep length 1. `offsets` are those of the columns of the data, and
    /// `offsets_added` tells whether the method takes its rows with them.
    pub fn invert(
        &self,
        rows: &Data,
        std: Option<&Data>,
        offsets: Option<&[f64]>,
        offsets_added: bool,
    ) -> Result<(Data, Option<Data>)> {
        let (Data::Dense(rows), None | Some(Data::Dense(_))) = (rows, std) else {
            return Ok((rows.clone(), std.cloned()));
        };
        if self.pca.as_ref().is_some_and(|map| map.mean().is_none()) {
            let reason =
                "it was saved by a version that did not store the mean of its principal components; fit it again";
            return Err(Error::Format { what: "model", reason: reason.into() });
        }
        // Offsets were subtracted from the rows of these steps, which later ones keep, unless rows were scaled to length 1.
        let differences = self.pca.is_some() || self.whitening.is_some() || !offsets_added;
        let subtracted = self.columns.is_some() || (!self.normalize && differences);
        let offsets = offsets.filter(|_| subtracted);
        let dim = self.pca.as_ref().map_or(rows.dim(), |map| map.dim());
        let mut values = vec![0.0f32; rows.rows() * dim];
        let mut deviations = vec![0.0f32; if std.is_some() { values.len() } else { 0 }];
        let task = |first: usize, values: &mut [f32], deviations: &mut [f32]| {
            let (mut row, mut spread) = (vec![0.0; dim], vec![0.0; dim]);
            for (local, out) in values.chunks_exact_mut(dim.max(1)).enumerate() {
                let known = match std {
                    Some(Data::Dense(std)) => Some(std.row(first + local)),
                    _ => None,
                };
                self.invert_row(rows.row(first + local), known, offsets, &mut row, &mut spread);
                out.iter_mut().zip(&row).for_each(|(out, value)| *out = *value as f32);
                if known.is_some() {
                    let out = &mut deviations[local * dim..][..dim];
                    out.iter_mut().zip(&spread).for_each(|(out, value)| *out = *value as f32);
                }
            }
        };
        let size = (CHUNK_ROWS * dim).max(1);
        if std.is_some() {
            let parts = values.par_chunks_mut(size).zip(deviations.par_chunks_mut(size)).enumerate();
            parts.for_each(|(part, (values, deviations))| task(part * CHUNK_ROWS, values, deviations));
        } else {
            values.par_chunks_mut(size).enumerate().for_each(|(part, values)| task(part * CHUNK_ROWS, values, &mut []));
        }
        let dense = |values: Vec<f32>| Dense::shared(std::sync::Arc::new(values), rows.rows(), dim);
        let inverted = Data::Dense(dense(values)?.shifted_by(offsets.map(Into::into))?);
        Ok((inverted, if std.is_some() { Some(Data::Dense(dense(deviations)?)) } else { None }))
    }

    /// Undoes the steps for one row, without adding the offsets.
    fn invert_row(
        &self,
        prepared: &[f32],
        std: Option<&[f32]>,
        offsets: Option<&[f64]>,
        row: &mut [f64],
        spread: &mut [f64],
    ) {
        let wide = |values: &[f32]| values.iter().map(|&value| f64::from(value)).collect::<Vec<_>>();
        let (mut values, mut deviations) = (wide(prepared), std.map(wide));
        if let Some(whitening) = &self.whitening {
            let mut unscaled = vec![0.0; values.len()];
            whitening.invert(&values, &mut unscaled);
            values.copy_from_slice(&unscaled);
            if let Some(deviations) = &mut deviations {
                whitening.invert_std(deviations, &mut unscaled);
                deviations.copy_from_slice(&unscaled);
            }
        }
        match &self.pca {
            Some(map) => {
                map.invert(&values, row);
                deviations.iter().for_each(|deviations| map.invert_std(deviations, spread));
            }
            None => {
                row.copy_from_slice(&values);
                deviations.iter().for_each(|deviations| spread.copy_from_slice(deviations));
            }
        }
        if let Some(columns) = &self.columns {
            for (j, (value, spread)) in row.iter_mut().zip(spread.iter_mut()).enumerate() {
                *value = *value / columns.scale[j] + columns.mean[j];
                *spread /= columns.scale[j];
            }
        }
        if self.log1p {
            for (j, (value, spread)) in row.iter_mut().zip(spread.iter_mut()).enumerate() {
                // With an offset, the logarithm is relative to that of the offset.
                let unit = 1.0 + offsets.map_or(0.0, |offsets| offsets[j]);
                *spread *= unit * value.exp();
                *value = unit * value.exp_m1();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Preprocessing;
    use super::*;
    use lowland_core::Seed;
    use lowland_core::run::{Context, NoObserver};

    /// Largest difference between rows and their preprocessed versions after the steps are undone, relative to `scale`.
    fn error(steps: &Preprocessing, data: &Data) -> f64 {
        let mut observer = NoObserver;
        let (fitted, prepared) = steps.fit(data, &mut Context::new(&mut observer, Seed(0), None)).unwrap();
        let offsets = data.offsets();
        let (back, _) = fitted.invert(&prepared.without_offsets(), None, offsets, false).unwrap();
        let (Data::Dense(before), Data::Dense(after)) = (data, back) else { panic!("dense rows") };
        let cells = (0..before.rows()).flat_map(|i| (0..before.dim()).map(move |j| (i, j)));
        cells.map(|(i, j)| (before.value(i, j) - after.value(i, j)).abs()).fold(0.0, f64::max)
    }

    #[test]
    fn all_steps_but_normalization_are_undone() {
        let values: Vec<f64> = Seed(3).normals(400).iter().map(|v| v.abs()).collect();
        let data = Data::from_f64(values.iter().copied(), 100, 4, None).unwrap();
        let off = Preprocessing::default();
        for steps in [
            off.clone(),
            Preprocessing { log1p: true, ..off.clone() },
            Preprocessing { standardize: true, ..off.clone() },
            Preprocessing { pca: 4, ..off.clone() },
            Preprocessing { log1p: true, standardize: true, pca: 4, ..off.clone() },
        ] {
            assert!(error(&steps, &data) < 1e-5, "{steps:?}");
        }
        let far: Vec<f64> = values.iter().enumerate().map(|(i, v)| if i % 4 == 1 { v + 1e9 } else { *v }).collect();
        let far = Data::from_f64(far.into_iter(), 100, 4, None).unwrap();
        assert_eq!(far.rounded_columns(), [1]);
        for steps in [
            Preprocessing { standardize: true, ..off.clone() },
            Preprocessing { pca: 4, ..off.clone() },
            Preprocessing { log1p: true, ..off.clone() },
            Preprocessing { log1p: true, standardize: true, pca: 4, ..off },
        ] {
            assert!(error(&steps, &far) < 1e-5, "{steps:?}");
        }
    }

    #[test]
    fn standard_deviations_are_in_the_units_of_the_data() {
        let data = Data::dense(vec![0.0, 0.0, 10.0, 1000.0, 20.0, 2000.0], 2).unwrap();
        let steps = Preprocessing { standardize: true, pca: 2, ..Preprocessing::default() };
        let mut observer = NoObserver;
        let (fitted, prepared) = steps.fit(&data, &mut Context::new(&mut observer, Seed(0), None)).unwrap();
        let std = Data::dense(vec![1.0; 6], 2).unwrap();
        let (_, Some(Data::Dense(std))) = fitted.invert(&prepared, Some(&std), None, false).unwrap() else {
            panic!("standard deviations")
        };
        // One in each standardized direction is one standard deviation of each column.
        for (std, expected) in std.row(1).iter().zip([8.164_966, 816.496_6]) {
            assert!((std / expected - 1.0).abs() < 1e-5, "{std} {expected}");
        }
    }
}
