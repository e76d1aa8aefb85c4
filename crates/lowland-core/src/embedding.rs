//! Embeddings: `f64` coordinates, row-major.

use super::{Error, Result};
use crate::archive::Archive;

/// A view of `n` points in `dim` dimensions, row-major.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Points<'a> {
    values: &'a [f64],
    dim: usize,
}

/// The coordinates of `n` points in `dim` dimensions, row-major.
#[derive(Debug, Clone, PartialEq)]
pub struct Embedding {
    values: Vec<f64>,
    dim: usize,
}

impl<'a> Points<'a> {
    /// Creates a view of row-major coordinates with `dim` values per point.
    pub fn new(values: &'a [f64], dim: usize) -> Result<Self> {
        if dim == 0 || !values.len().is_multiple_of(dim) {
            return Err(Error::Shape { what: "coordinates per point", expected: dim.max(1), found: values.len() });
        }
        Ok(Self { values, dim })
    }

    /// Returns all coordinates, row by row.
    pub fn values(self) -> &'a [f64] {
        self.values
    }

    /// Returns the coordinates of point `i`.
    pub fn row(self, i: usize) -> &'a [f64] {
        &self.values[i * self.dim..(i + 1) * self.dim]
    }

    /// Number of points.
    pub fn rows(self) -> usize {
        self.values.len() / self.dim
    }

    /// Number of coordinates per point.
    pub fn dim(self) -> usize {
        self.dim
    }

    /// Returns an error if a coordinate is NaN or infinite. The error names the first such cell and their number.
    pub fn check_finite(self) -> Result<()> {
        let Some(at) = self.values.iter().position(|v| !v.is_finite()) else { return Ok(()) };
        let count = self.values[at..].iter().filter(|v| !v.is_finite()).count();
        Err(Error::NotFinite {
            row: at / self.dim,
            column: at % self.dim,
            value: self.values[at] as f32,
            count,
            name: None,
        })
    }
}

impl Embedding {
    /// Creates an embedding from row-major coordinates with `dim` values per point.
    pub fn new(values: Vec<f64>, dim: usize) -> Result<Self> {
        Points::new(&values, dim)?;
        Ok(Self { values, dim })
    }

    /// Returns a view of the points.
    pub fn points(&self) -> Points<'_> {
        Points { values: &self.values, dim: self.dim }
    }

    /// Returns all coordinates, row by row.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Returns the coordinates of point `i`.
    pub fn row(&self, i: usize) -> &[f64] {
        self.points().row(i)
    }

    /// Number of points.
    pub fn rows(&self) -> usize {
        self.points().rows()
    }

    /// Number of coordinates per point.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Writes the embedding to an archive under `name/`.
    pub fn save(&self, name: &str, archive: &mut Archive) {
        archive.put(format!("{name}/shape"), vec![self.rows() as u64, self.dim as u64]);
        archive.put(format!("{name}/values"), self.values());
    }

    /// Reads an embedding that was saved under `name/`.
    pub fn load(name: &str, archive: &Archive) -> Result<Self> {
        let (rows, embedding) = match archive.sizes(&format!("{name}/shape"))?[..] {
            [rows, dim] => (rows, Self::new(archive.finite(&format!("{name}/values"))?.to_vec(), dim)?),
            _ => return Err(archive.invalid(format!("'{name}/shape' should hold rows and dimensions"))),
        };
        if embedding.rows() != rows {
            return Err(archive.invalid(format!("'{name}' has {} points instead of {rows}", embedding.rows())));
        }
        Ok(embedding)
    }

    /// Converts the embedding into its row-major coordinates.
    pub fn into_values(self) -> Vec<f64> {
        self.values
    }
}
