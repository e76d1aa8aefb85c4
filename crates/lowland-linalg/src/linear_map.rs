//! An affine map to fewer columns, such as principal components.

use rayon::prelude::*;

use lowland_core::archive::Archive;
use lowland_core::simd::simd_dispatch;
use lowland_core::{Data, Dense, Embedding, Error, Result};

/// Number of rows of a task.
const CHUNK: usize = 512;

/// The map `y = (x - mean) W`. The columns of `W` are the components.
#[derive(Debug, Clone, PartialEq)]
pub struct LinearMap {
    /// `mean W`, subtracted at the end, so that sparse rows need no centering.
    offset: Vec<f64>,
    /// `W`, row-major, one row for each input column, so that an image is a sum of scaled rows of `W`.
    weights: Vec<f64>,
    /// The mean, which only the inverse needs; `None` for maps saved by earlier versions.
    mean: Option<Vec<f64>>,
}

impl LinearMap {
    /// Creates the map from unit components, one per row, and the mean to subtract (zeros for no centering).
    pub fn new(components: &[f64], mean: &[f64]) -> Self {
        let dim = mean.len();
        let count = components.len() / dim;
        let mut weights = vec![0.0; dim * count];
        for (c, component) in components.chunks_exact(dim).enumerate() {
            component.iter().enumerate().for_each(|(j, &w)| weights[j * count + c] = w);
        }
        let mut offset = vec![0.0; count];
        for (m, row) in mean.iter().zip(weights.chunks_exact(count)) {
            offset.iter_mut().zip(row).for_each(|(o, w)| *o += m * w);
        }
        Self { offset, weights, mean: Some(mean.to_vec()) }
    }

    /// Returns the map with additional coordinates that are always zero, `count` in all.
    pub fn padded(self, count: usize) -> Self {
        let old = self.output_dim();
        let mut weights = vec![0.0; self.dim() * count];
        for (new, row) in weights.chunks_exact_mut(count).zip(self.weights.chunks_exact(old)) {
            new[..old].copy_from_slice(row);
        }
        let mut offset = self.offset;
        offset.resize(count, 0.0);
        Self { offset, weights, mean: self.mean }
    }

    /// Number of input columns.
    pub fn dim(&self) -> usize {
        self.weights.len() / self.offset.len()
    }

    /// Number of output columns.
    pub fn output_dim(&self) -> usize {
        self.offset.len()
    }

    /// Returns the mean that is subtracted from every row; `None` for maps saved by earlier versions.
    pub fn mean(&self) -> Option<&[f64]> {
        self.mean.as_deref()
    }

    /// Returns the components, one per row.
    pub fn components(&self) -> Vec<f64> {
        let (dim, count) = (self.dim(), self.output_dim());
        (0..count).flat_map(|c| (0..dim).map(move |j| self.weights[j * count + c])).collect()
    }

    /// Writes the row of the plane of the components whose image is `image`: `mean + W y`. Returns `false` if the mean is not
    /// known.
    pub fn invert(&self, image: &[f64], row: &mut [f64]) -> bool {
        let Some(mean) = &self.mean else { return false };
        for ((value, mean), weights) in row.iter_mut().zip(mean).zip(self.weights.chunks_exact(image.len())) {
            *value = mean + weights.iter().zip(image).map(|(w, y)| w * y).sum::<f64>();
        }
        true
    }

    /// Writes the standard deviations of a row from those of its image, which are taken to be independent.
    pub fn invert_std(&self, image: &[f64], row: &mut [f64]) {
        for (value, weights) in row.iter_mut().zip(self.weights.chunks_exact(image.len())) {
            *value = weights.iter().zip(image).map(|(w, std)| (w * std) * (w * std)).sum::<f64>().sqrt();
        }
    }

    /// Returns the images of the rows; each depends only on its row.
    pub fn apply(&self, data: &Data) -> Result<Embedding> {
        if data.dim() != self.dim() {
            return Err(Error::Shape { what: "columns", expected: self.dim(), found: data.dim() });
        }
        let count = self.output_dim();
        let mut out = vec![0.0; data.rows() * count];
        out.par_chunks_mut(count * CHUNK).enumerate().for_each(|(chunk, images)| {
            let first = chunk * CHUNK;
            let done = match data {
                Data::Dense(x) => apply_to_row_groups(&self.weights, &self.offset, x, first, images),
                _ => 0,
            };
            for (offset, image) in images.chunks_exact_mut(count).enumerate().skip(done) {
                self.apply_row(data, first + offset, image);
            }
        });
        Embedding::new(out, count)
    }

    /// Returns the images as data for the next stage.
    pub fn apply_to_data(&self, data: &Data) -> Result<Data> {
        let images = self.apply(data)?;
        let data = Data::dense(images.values().iter().map(|&v| v as f32).collect(), self.output_dim())?;
        // Single precision ends at 3.4e38, and a coordinate can exceed every column it is computed from.
        data.check_finite()?;
        Ok(data)
    }

    fn apply_row(&self, data: &Data, i: usize, image: &mut [f64]) {
        match data {
            Data::Dense(x) => self.apply_dense(x.row(i), image),
            Data::Sparse(x) => {
                let (columns, values) = x.row(i);
                self.apply_entries(columns.iter().map(|&j| j as usize).zip(values.iter().copied()), image);
            }
            Data::Text(_) => unreachable!("strings have no columns and were refused"),
        }
    }

    /// Writes the image of one dense row.
    pub fn apply_dense(&self, row: &[f32], image: &mut [f64]) {
        self.apply_entries(row.iter().copied().enumerate(), image);
    }

    fn apply_entries(&self, entries: impl Iterator<Item = (usize, f32)>, image: &mut [f64]) {
        let count = image.len();
        image.fill(0.0);
        for (j, value) in entries.filter(|&(_, value)| value != 0.0) {
            let row = &self.weights[j * count..(j + 1) * count];
            image.iter_mut().zip(row).for_each(|(y, w)| *y += f64::from(value) * w);
        }
        image.iter_mut().zip(&self.offset).for_each(|(y, o)| *y -= o);
    }

    /// Saves the map under `name/`.
    pub fn save(&self, name: &str, archive: &mut Archive) {
        archive.put(format!("{name}/offset"), self.offset.clone());
        archive.put(format!("{name}/weights"), self.weights.clone());
        archive.put(format!("{name}/mean"), self.mean.clone().unwrap_or_default());
    }

    /// Loads a map saved under `name/`.
    pub fn load(name: &str, archive: &Archive) -> Result<Self> {
        let offset = archive.finite(&format!("{name}/offset"))?.to_vec();
        let weights = archive.finite(&format!("{name}/weights"))?.to_vec();
        if offset.is_empty() || weights.is_empty() || !weights.len().is_multiple_of(offset.len()) {
            return Err(archive.invalid(format!("the sizes of '{name}' do not fit together")));
        }
        let mean = if archive.version() < 3 { &[] } else { archive.finite(&format!("{name}/mean"))? };
        // Maps of earlier versions that were saved again have none.
        let mean = (!mean.is_empty()).then(|| mean.to_vec());
        if mean.as_ref().is_some_and(|mean| mean.len() * offset.len() != weights.len()) {
            return Err(archive.invalid(format!("the sizes of '{name}' do not fit together")));
        }
        Ok(Self { offset, weights, mean })
    }
}

/// Number of rows whose images are computed together, since each addition to a single sum would wait for the previous
/// one.
const ROWS_AT_ONCE: usize = 8;

/// Computes the images of the rows from `first` on, several at a time, and returns their number. Gives the same bits as
/// one row at a time.
#[simd_dispatch]
fn apply_to_row_groups(weights: &[f64], offset: &[f64], x: &Dense, first: usize, images: &mut [f64]) -> usize {
    let count = offset.len();
    let mut done = 0;
    for images in images.chunks_exact_mut(ROWS_AT_ONCE * count) {
        let mut rows = [x.row(first + done); ROWS_AT_ONCE];
        for r in 1..ROWS_AT_ONCE {
            rows[r] = x.row(first + done + r);
        }
        let mut at = 0;
        while at < count {
            at += match count - at {
                8.. => coordinates::<8>(weights, offset, rows, at, images),
                4..8 => coordinates::<4>(weights, offset, rows, at, images),
                3 => coordinates::<3>(weights, offset, rows, at, images),
                2 => coordinates::<2>(weights, offset, rows, at, images),
                _ => coordinates::<1>(weights, offset, rows, at, images),
            };
        }
        done += ROWS_AT_ONCE;
    }
    done
}

/// Computes coordinates `at..at + C` of the images of some rows. Returns `C`.
#[inline(always)]
fn coordinates<const C: usize>(
    weights: &[f64],
    offset: &[f64],
    rows: [&[f32]; ROWS_AT_ONCE],
    at: usize,
    images: &mut [f64],
) -> usize {
    let count = offset.len();
    let mut sums = [[0.0; C]; ROWS_AT_ONCE];
    for (j, weights) in weights.chunks_exact(count).enumerate() {
        let weights = &weights[at..at + C];
        for r in 0..ROWS_AT_ONCE {
            let value = f64::from(rows[r][j]);
            for c in 0..C {
                sums[r][c] += value * weights[c];
            }
        }
    }
    for (image, sums) in images.chunks_exact_mut(count).zip(&sums) {
        for c in 0..C {
            image[at + c] = sums[c] - offset[at + c];
        }
    }
    C
}

#[cfg(test)]
mod tests {
    use super::*;
    use lowland_core::Seed;

    #[test]
    fn each_image_depends_only_on_its_row() {
        let data = Data::dense(Seed(1).normals(21 * 15).into_iter().map(|v| v as f32).collect(), 15).unwrap();
        for count in 1..=15 {
            let map = LinearMap::new(&Seed(2).normals(count * 15), &Seed(3).normals(15));
            let together = map.apply(&data).unwrap();
            for i in 0..21 {
                let alone = map.apply(&data.select(&[i])).unwrap();
                assert_eq!(together.row(i), alone.row(0), "{count} coordinates, row {i}");
            }
        }
    }
}
