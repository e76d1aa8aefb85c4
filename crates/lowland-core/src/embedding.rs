//! Points of a map: `f64`, row-major.

use super::{Error, Result};
use crate::archive::Archive;

/// A view of `n` points in `dim` dimensions, row-major.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Points<'a> {
    values: &'a [f64],
    dim: usize,
}

/// An owned map.
#[derive(Debug, Clone, PartialEq)]
pub struct Embedding {
    values: Vec<f64>,
    dim: usize,
}

impl<'a> Points<'a> {
    /// A view of rows of length `dim` laid end to end.
    pub fn new(values: &'a [f64], dim: usize) -> Result<Self> {
        if dim == 0 || !values.len().is_multiple_of(dim) {
            return Err(Error::Shape { what: "coordinates a point", expected: dim.max(1), found: values.len() });
        }
        Ok(Self { values, dim })
    }

    /// All coordinates, row after row.
    pub fn values(self) -> &'a [f64] {
        self.values
    }

    /// One point.
    pub fn row(self, i: usize) -> &'a [f64] {
        &self.values[i * self.dim..(i + 1) * self.dim]
    }

    /// Number of points.
    pub fn rows(self) -> usize {
        self.values.len() / self.dim
    }

    /// Coordinates a point.
    pub fn dim(self) -> usize {
        self.dim
    }

    /// Rejects NaN and infinities, naming the first one and their number.
    pub fn check_finite(self) -> Result<()> {
        let Some(at) = self.values.iter().position(|v| !v.is_finite()) else { return Ok(()) };
        let count = self.values[at..].iter().filter(|v| !v.is_finite()).count();
        Err(Error::NotFinite { row: at / self.dim, column: at % self.dim, value: self.values[at] as f32, count })
    }
}

impl Embedding {
    /// Rows of length `dim` laid end to end.
    pub fn new(values: Vec<f64>, dim: usize) -> Result<Self> {
        Points::new(&values, dim)?;
        Ok(Self { values, dim })
    }

    /// A view.
    pub fn points(&self) -> Points<'_> {
        Points { values: &self.values, dim: self.dim }
    }

    /// All coordinates, row after row.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// One point.
    pub fn row(&self, i: usize) -> &[f64] {
        self.points().row(i)
    }

    /// Number of points.
    pub fn rows(&self) -> usize {
        self.points().rows()
    }

    /// Coordinates a point.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Writes it under `name/`.
    pub fn save(&self, name: &str, archive: &mut Archive) {
        archive.put(format!("{name}/shape"), vec![self.rows() as u64, self.dim as u64]);
        archive.put(format!("{name}/values"), self.values());
    }

    /// Reads it back.
    pub fn load(name: &str, archive: &Archive) -> Result<Self> {
        let map = match archive.sizes(&format!("{name}/shape"))?[..] {
            [rows, dim] => (rows, Self::new(archive.finite(&format!("{name}/values"))?.to_vec(), dim)?),
            _ => return Err(archive.invalid(format!("'{name}/shape' should hold rows and dimensions"))),
        };
        match map {
            (rows, map) if map.rows() == rows => Ok(map),
            (rows, map) => Err(archive.invalid(format!("'{name}' has {} points instead of {rows}", map.rows()))),
        }
    }

    /// The coordinates, given up.
    pub fn into_values(self) -> Vec<f64> {
        self.values
    }
}
