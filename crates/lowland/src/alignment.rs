//! MapAlignment of a map with positions that some of its rows have elsewhere.

use lowland_core::archive::Archive;
use lowland_core::{Embedding, Points, Result};
use lowland_quality::procrustes;

use crate::fixed::FixedPositions;

/// A rotation, possibly with a reflection, a scaling and a translation, which brings some points of a map as close as possible to
/// given positions.
#[derive(Debug, Clone, PartialEq)]
pub struct MapAlignment {
    dim: usize,
    /// Center of the points before and after.
    centers: [Vec<f64>; 2],
    /// Differences from the center, as rows, are multiplied by this square matrix from the right.
    linear: Vec<f64>,
    disparity: f64,
}

const CENTERS: &str = "alignment/centers";
const LINEAR: &str = "alignment/linear";
const DISPARITY: &str = "alignment/disparity";

impl MapAlignment {
    /// Finds the transformation that minimizes the squared distances between rows of a map and their positions. At least two rows are
    /// needed, at different places.
    pub(crate) fn new(map: &Embedding, positions: &FixedPositions) -> Result<Self> {
        let dim = map.dim();
        let own: Vec<f64> = positions.rows().iter().flat_map(|&i| map.row(i)).copied().collect();
        let own = Points::new(&own, dim)?;
        let found = procrustes(positions.positions().points(), own)?;
        let centers = [center(own), center(positions.positions().points())];
        Ok(Self { dim, centers, linear: found.linear_map, disparity: found.disparity })
    }

    /// What remains of the squared distances, relative to those of the positions from their center.
    pub fn disparity(&self) -> f64 {
        self.disparity
    }

    /// Returns the factor by which distances are multiplied.
    pub fn scale(&self) -> f64 {
        self.linear[..self.dim].iter().map(|v| v * v).sum::<f64>().sqrt()
    }

    /// Transforms points of the map.
    pub fn apply(&self, points: Points) -> Embedding {
        let [from, to] = &self.centers;
        self.map_rows(points, from, to, |row, column| self.linear[row * self.dim + column])
    }

    /// Transforms points back.
    pub fn invert(&self, points: Points) -> Embedding {
        let [from, to] = &self.centers;
        // The inverse of a rotation times a factor is its transpose over the square of the factor.
        let square = self.scale().powi(2);
        self.map_rows(points, to, from, |row, column| self.linear[column * self.dim + row] / square)
    }

    fn map_rows(&self, points: Points, from: &[f64], to: &[f64], linear: impl Fn(usize, usize) -> f64) -> Embedding {
        let dim = self.dim;
        let row = |point: &[f64], c: usize| to[c] + (0..dim).map(|r| (point[r] - from[r]) * linear(r, c)).sum::<f64>();
        let rows = points.values().chunks_exact(dim);
        let values = rows.flat_map(|point| (0..dim).map(move |c| (point, c))).map(|(point, c)| row(point, c));
        Embedding::new(values.collect(), dim).expect("whole rows")
    }

    /// Transforms covariances of points, `dim x dim` values each.
    pub(crate) fn of_covariances(&self, covariances: &[f64]) -> Vec<f64> {
        let dim = self.dim;
        let mut out = Vec::with_capacity(covariances.len());
        for covariance in covariances.chunks_exact(dim * dim) {
            for a in 0..dim {
                for b in 0..dim {
                    let pairs = (0..dim).flat_map(|r| (0..dim).map(move |s| (r, s)));
                    let term = |(r, s): (usize, usize)| {
                        self.linear[r * dim + a] * covariance[r * dim + s] * self.linear[s * dim + b]
                    };
                    out.push(pairs.map(term).sum::<f64>());
                }
            }
        }
        out
    }

    pub(crate) fn save(&self, archive: &mut Archive) {
        archive.put(CENTERS, self.centers.concat());
        archive.put(LINEAR, self.linear.as_slice());
        archive.put(DISPARITY, [self.disparity].as_slice());
    }

    /// Reads the alignment of a map with `dim` dimensions, if it has one.
    pub(crate) fn load(archive: &Archive, dim: usize) -> Result<Option<Self>> {
        if ![CENTERS, LINEAR, DISPARITY].iter().any(|name| archive.has(name)) {
            return Ok(None);
        }
        let (centers, linear) = (archive.finite(CENTERS)?, archive.finite(LINEAR)?.to_vec());
        let &[disparity] = archive.finite(DISPARITY)? else {
            return Err(archive.invalid("its alignment does not have exactly one disparity".into()));
        };
        if centers.len() != 2 * dim || linear.len() != dim * dim {
            return Err(archive.invalid("its alignment is of another number of dimensions".into()));
        }
        let centers = [centers[..dim].to_vec(), centers[dim..].to_vec()];
        let alignment = Self { dim, centers, linear, disparity };
        if alignment.scale().is_normal() {
            Ok(Some(alignment))
        } else {
            Err(archive.invalid("its alignment has no inverse".into()))
        }
    }
}

fn center(points: Points) -> Vec<f64> {
    let mut center = vec![0.0; points.dim()];
    for row in points.values().chunks_exact(points.dim()) {
        center.iter_mut().zip(row).for_each(|(c, v)| *c += v / points.rows() as f64);
    }
    center
}
