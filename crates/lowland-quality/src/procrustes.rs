//! Procrustes analysis: the difference between two maps up to translation, scaling, rotation and reflection.

use lowland_core::{Embedding, Error, Points, Result};
use lowland_linalg::dense::power_of_two_near;

/// Result of aligning a second map to a first.
#[derive(Debug, Clone, PartialEq)]
pub struct Procrustes {
    /// Sum of squared differences after both maps are centered and scaled to unit norm and the second is rotated onto
    /// the first: 0 for maps of the same shape, at most 1. Equals the disparity of `scipy.spatial.procrustes`.
    pub disparity: f64,
    /// The second map translated, scaled and rotated onto the first, in the coordinates of the first.
    pub aligned: Embedding,
    /// Linear part of the alignment: differences between points of the second map, as rows, are multiplied by this
    /// square matrix from the right.
    pub linear_map: Vec<f64>,
}

/// Aligns `b` to `a`. Both must have the same number of rows and dimensions.
pub fn procrustes(a: Points, b: Points) -> Result<Procrustes> {
    if a.rows() != b.rows() {
        return Err(Error::Shape { what: "points of the second map", expected: a.rows(), found: b.rows() });
    }
    let dim = a.dim();
    if dim != b.dim() {
        return Err(Error::Shape { what: "dimensions of the second map", expected: dim, found: b.dim() });
    }
    let first = StandardizedMap::new(a)?;
    let second = StandardizedMap::new(b)?;
    // The rotation of B onto A maximizes tr(R' B'A): with B'A = U S V', R = U V'.
    let mut product = vec![0.0; dim * dim];
    for (x, y) in first.values.chunks_exact(dim).zip(second.values.chunks_exact(dim)) {
        for (line, &from) in product.chunks_exact_mut(dim).zip(y) {
            line.iter_mut().zip(x).for_each(|(sum, to)| *sum += from * to);
        }
    }
    let (rotation, scale) = polar_factor(&product, dim);
    let mut disparity = 0.0;
    let mut aligned = Vec::with_capacity(first.values.len());
    for (x, y) in first.values.chunks_exact(dim).zip(second.values.chunks_exact(dim)) {
        for c in 0..dim {
            let turned = scale * (0..dim).map(|r| y[r] * rotation[r * dim + c]).sum::<f64>();
            disparity += (x[c] - turned) * (x[c] - turned);
            aligned.push(first.mean[c] + first.norm * turned);
        }
    }
    let linear_map = rotation.iter().map(|v| v * scale * (first.norm / second.norm)).collect();
    Ok(Procrustes { disparity, aligned: Embedding::new(aligned, dim)?, linear_map })
}

/// A map centered and scaled to Frobenius norm one.
struct StandardizedMap {
    values: Vec<f64>,
    mean: Vec<f64>,
    norm: f64,
}

impl StandardizedMap {
    fn new(map: Points) -> Result<Self> {
        super::check_finite(map)?;
        let (n, dim) = (map.rows(), map.dim());
        // Dividing by a power of two keeps squares in range, whatever the unit of the map.
        let largest = map.values().iter().fold(0.0f64, |most, v| most.max(v.abs()));
        let unit = power_of_two_near(largest);
        let mut mean = vec![0.0; dim];
        for row in map.values().chunks_exact(dim) {
            mean.iter_mut().zip(row).for_each(|(m, v)| *m += v / unit / n as f64);
        }
        let centered = map.values().chunks_exact(dim).flat_map(|row| row.iter().zip(&mean).map(|(v, m)| v / unit - m));
        let mut values: Vec<f64> = centered.collect();
        let norm = values.iter().map(|v| v * v).sum::<f64>().sqrt();
        // Below this, differences are rounding errors of the mean.
        if norm <= 1e-14 * (n as f64).sqrt() {
            return Err(Error::TooFewPoints {
                what: "procrustes (different points)".into(),
                needed: 2,
                found: 1,
                remedies: Vec::new(),
            });
        }
        values.iter_mut().for_each(|v| *v /= norm);
        mean.iter_mut().for_each(|m| *m *= unit);
        Ok(Self { values, mean, norm: norm * unit })
    }
}

/// Returns the orthogonal factor `U V'` of a square matrix `U S V'` and the sum of its singular values, by one-sided
/// Jacobi rotations: pairs of columns are rotated until all are orthogonal, which leaves `U S`, and the rotations make
/// up `V`.
fn polar_factor(matrix: &[f64], dim: usize) -> (Vec<f64>, f64) {
    // Stored by column: work[c] is a column of U S, turns[c] a column of V.
    let mut work: Vec<Vec<f64>> = (0..dim).map(|c| (0..dim).map(|r| matrix[r * dim + c]).collect()).collect();
    let mut turns: Vec<Vec<f64>> = (0..dim).map(|c| (0..dim).map(|r| f64::from(u8::from(r == c))).collect()).collect();
    for _ in 0..60 {
        let mut turned = false;
        for p in 0..dim {
            for q in p + 1..dim {
                let (alpha, beta, gamma) = (dot(&work[p], &work[p]), dot(&work[q], &work[q]), dot(&work[p], &work[q]));
                if gamma.abs() <= f64::EPSILON * (alpha * beta).sqrt() {
                    continue;
                }
                turned = true;
                let zeta = (beta - alpha) / (2.0 * gamma);
                let t = zeta.signum() / (zeta.abs() + (1.0 + zeta * zeta).sqrt());
                let c = 1.0 / (1.0 + t * t).sqrt();
                for columns in [&mut work, &mut turns] {
                    let (left, right) = columns.split_at_mut(q);
                    for (x, y) in left[p].iter_mut().zip(&mut right[0]) {
                        (*x, *y) = (c * (*x - t * *y), c * (t * *x + *y));
                    }
                }
            }
        }
        if !turned {
            break;
        }
    }
    let sizes: Vec<f64> = work.iter().map(|column| dot(column, column).sqrt()).collect();
    let largest = sizes.iter().copied().fold(0.0, f64::max);
    // Directions with a zero singular value carry no information; any orthonormal completion is an optimal rotation.
    let mut left: Vec<Vec<f64>> = Vec::with_capacity(dim);
    let mut order: Vec<usize> = (0..dim).collect();
    order.sort_by(|&a, &b| sizes[b].total_cmp(&sizes[a]));
    for &c in &order {
        let column = if sizes[c] > 1e-14 * largest {
            work[c].iter().map(|v| v / sizes[c]).collect()
        } else {
            orthogonal_complement(&left, dim)
        };
        left.push(column);
    }
    let mut rotation = vec![0.0; dim * dim];
    for (u, &c) in left.iter().zip(&order) {
        for r in 0..dim {
            for s in 0..dim {
                rotation[r * dim + s] += u[r] * turns[c][s];
            }
        }
    }
    (rotation, sizes.iter().sum())
}

/// Returns a unit vector orthogonal to orthonormal `columns`, of which there are fewer than `dim`: the axis with the
/// smallest projection onto them, minus that projection (twice, against rounding).
fn orthogonal_complement(columns: &[Vec<f64>], dim: usize) -> Vec<f64> {
    let covered = |axis: usize| columns.iter().map(|column| column[axis] * column[axis]).sum::<f64>();
    let axis = (0..dim).min_by(|&a, &b| covered(a).total_cmp(&covered(b))).unwrap_or(0);
    let mut vector = vec![0.0; dim];
    vector[axis] = 1.0;
    for _ in 0..2 {
        for column in columns {
            let share = dot(&vector, column);
            vector.iter_mut().zip(column).for_each(|(v, c)| *v -= share * c);
        }
    }
    let norm = dot(&vector, &vector).sqrt();
    vector.iter_mut().for_each(|v| *v /= norm);
    vector
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}
