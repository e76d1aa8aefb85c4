//! Attraction: sums over the edges of the affinity graph.

use std::ops::Range;

use multiversion::multiversion;
use rayon::prelude::*;

use crate::linalg::Csr;
use crate::nbody::simd::ln;
use crate::points::Points;

/// How an edge pulls.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Pull {
    /// `f(s) = s`, s the squared distance.
    Spring,
    /// `f(s) = (a + 1)/2 ln(1 + s/a)`, a the degrees of freedom.
    Student { dof: f64 },
}

/// Rows handled at once: fixed, because the order of a sum depends on it.
const ROWS: usize = 256;
/// Edges in a vector.
const LANES: usize = 8;
type Lanes = [f64; LANES];

impl Pull {
    /// `out_i = sum_j w_ij f'(s_ij) (y_i - y_j)`; the value if it is wanted.
    pub(super) fn force(self, weights: &Csr, degrees: &[f64], y: Points, value: bool, out: &mut [f64]) -> Option<f64> {
        let d = y.dim();
        match self {
            Self::Spring => {
                // The Laplacian times y; the sum of w s is twice its product with y.
                weights.multiply(y.values(), d, out);
                let parts: Vec<f64> = out
                    .par_chunks_mut(ROWS * d)
                    .zip(y.values().par_chunks(ROWS * d))
                    .zip(degrees.par_chunks(ROWS))
                    .map(|((out, y), degrees)| {
                        let mut sum = 0.0;
                        for ((out, y), degree) in out.chunks_exact_mut(d).zip(y.chunks_exact(d)).zip(degrees) {
                            for (out, y) in out.iter_mut().zip(y) {
                                *out = degree * y - *out;
                                sum += *out * y;
                            }
                        }
                        sum
                    })
                    .collect();
                value.then(|| 2.0 * parts.iter().sum::<f64>())
            }
            Self::Student { dof } => {
                out.par_chunks_mut(ROWS * d).enumerate().for_each(|(chunk, out)| match d {
                    1 => student_rows::<1>(weights, y.values(), dof, chunk * ROWS, out),
                    2 => student_rows::<2>(weights, y.values(), dof, chunk * ROWS, out),
                    3 => student_rows::<3>(weights, y.values(), dof, chunk * ROWS, out),
                    _ => student_rows_any(weights, y, dof, chunk * ROWS, out),
                });
                value.then(|| self.value(weights, y, dof))
            }
        }
    }

    /// The sums over all edges of `w f'(s)` and `w s f''(s)`, which the Hessian's trace is made of.
    pub(super) fn slope_and_bend(self, weights: &Csr, y: Points) -> [f64; 2] {
        let Self::Student { .. } = self else {
            return [weights.values().iter().sum(), 0.0];
        };
        let parts = in_chunks(weights.rows(), |rows| {
            let mut sums = [0.0; 2];
            for i in rows {
                let (columns, values) = weights.row(i);
                for (&j, &w) in columns.iter().zip(values) {
                    let (_, slope, bend) = self.derivatives(squared_distance(y.row(i), y.row(j as usize)));
                    sums[0] += w * slope;
                    sums[1] += w * bend;
                }
            }
            sums
        });
        parts.iter().fold([0.0; 2], |total, part| [total[0] + part[0], total[1] + part[1]])
    }

    /// The sum over all edges of Student's `w f(s)`.
    fn value(self, weights: &Csr, y: Points, dof: f64) -> f64 {
        let parts = in_chunks(weights.rows(), |rows| match y.dim() {
            1 => student_value::<1>(weights, y.values(), dof, rows),
            2 => student_value::<2>(weights, y.values(), dof, rows),
            3 => student_value::<3>(weights, y.values(), dof, rows),
            _ => {
                let edges = rows.flat_map(|i| {
                    let (columns, values) = weights.row(i);
                    columns.iter().zip(values).map(move |(&j, &w)| (i, j as usize, w))
                });
                edges.map(|(i, j, w)| w * self.derivatives(squared_distance(y.row(i), y.row(j))).0).sum()
            }
        });
        parts.iter().sum()
    }

    /// `f(s), f'(s), s f''(s)`.
    pub(super) fn derivatives(self, s: f64) -> (f64, f64, f64) {
        match self {
            Self::Spring => (s, 1.0, 0.0),
            Self::Student { dof } => {
                let (m, k) = ((dof + 1.0) / 2.0, 1.0 / (1.0 + s / dof));
                (m * (s / dof).ln_1p(), m / dof * k, -m / (dof * dof) * s * k * k)
            }
        }
    }
}

pub(super) fn squared_distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}

/// `work` on chunks of rows, in parallel; the results in order.
fn in_chunks<T: Send>(rows: usize, work: impl Fn(Range<usize>) -> T + Sync) -> Vec<T> {
    let starts: Vec<usize> = (0..rows).step_by(ROWS).collect();
    starts.into_par_iter().map(|start| work(start..(start + ROWS).min(rows))).collect()
}

/// The edges of a row in vectors: the ways from their ends to `here` coordinate by coordinate, and the weights. The last
/// vector is filled up with edges of no weight and no length.
#[inline(always)]
fn vectors<const D: usize>(
    points: &[[f64; D]],
    here: [f64; D],
    (columns, values): (&[u32], &[f64]),
    mut each: impl FnMut([Lanes; D], Lanes),
) {
    let (whole, rest) = columns.as_chunks::<LANES>();
    let (weights, rest_weights) = values.as_chunks::<LANES>();
    for (columns, weights) in whole.iter().zip(weights) {
        let ends = columns.map(|j| points[j as usize]);
        each(std::array::from_fn(|c| ends.map(|end| here[c] - end[c])), *weights);
    }
    if !rest.is_empty() {
        let (mut ends, mut weights) = ([here; LANES], [0.0; LANES]);
        for (e, (&j, &w)) in rest.iter().zip(rest_weights).enumerate() {
            (ends[e], weights[e]) = (points[j as usize], w);
        }
        each(std::array::from_fn(|c| ends.map(|end| here[c] - end[c])), weights);
    }
}

#[inline(always)]
fn squares<const D: usize>(apart: &[Lanes; D]) -> Lanes {
    let mut squares = [0.0; LANES];
    for apart in apart {
        for l in 0..LANES {
            squares[l] += apart[l] * apart[l];
        }
    }
    squares
}

/// Student forces on the rows from `first` on, as many as `out` holds.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512bw+avx512dq", "x86_64+avx2", "aarch64+neon"))]
fn student_rows<const D: usize>(weights: &Csr, y: &[f64], dof: f64, first: usize, out: &mut [f64]) {
    let (points, _) = y.as_chunks::<D>();
    let (factor, inverse) = ((dof + 1.0) / (2.0 * dof), 1.0 / dof);
    for (i, out) in out.as_chunks_mut::<D>().0.iter_mut().enumerate() {
        let mut sums = [[0.0; LANES]; D];
        vectors(points, points[first + i], weights.row(first + i), |apart, weights| {
            let squares = squares(&apart);
            let mut pull = weights;
            for l in 0..LANES {
                pull[l] /= 1.0 + squares[l] * inverse;
            }
            for (sums, apart) in sums.iter_mut().zip(&apart) {
                for l in 0..LANES {
                    sums[l] += pull[l] * apart[l];
                }
            }
        });
        *out = sums.map(|lanes| factor * lanes.iter().sum::<f64>());
    }
}

/// The sum of Student's `w f(s)` over the edges of some rows.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512bw+avx512dq", "x86_64+avx2", "aarch64+neon"))]
fn student_value<const D: usize>(weights: &Csr, y: &[f64], dof: f64, rows: Range<usize>) -> f64 {
    let (points, _) = y.as_chunks::<D>();
    let inverse = 1.0 / dof;
    let mut sums = [0.0; LANES];
    for i in rows {
        vectors(points, points[i], weights.row(i), |apart, weights| {
            let squares = squares(&apart);
            for l in 0..LANES {
                sums[l] += weights[l] * ln(1.0 + squares[l] * inverse);
            }
        });
    }
    0.5 * (dof + 1.0) * sums.iter().sum::<f64>()
}

fn student_rows_any(weights: &Csr, y: Points, dof: f64, first: usize, out: &mut [f64]) {
    let pull = Pull::Student { dof };
    out.fill(0.0);
    for (i, out) in out.chunks_exact_mut(y.dim()).enumerate() {
        let here = y.row(first + i);
        let (columns, values) = weights.row(first + i);
        for (&j, &w) in columns.iter().zip(values) {
            let there = y.row(j as usize);
            let slope = w * pull.derivatives(squared_distance(here, there)).1;
            out.iter_mut().zip(here.iter().zip(there)).for_each(|(out, (a, b))| *out += slope * (a - b));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seed;
    use crate::graph::{Symmetrize, symmetrize};

    #[test]
    fn forces_are_the_plain_sums_in_every_dimension() {
        let n = 700;
        let links = (0..n as u32).flat_map(|i| (1..=90).map(move |step| (i, (i * 7 + step * 13) % 700)));
        let weighted = links.filter(|(i, j)| i != j).enumerate().map(|(at, (i, j))| (i, j, 1.0 + (at % 5) as f64));
        let weights = symmetrize(&Csr::from_triplets(n, n, weighted).unwrap(), Symmetrize::Average).unwrap();
        for d in [1, 2, 3, 5] {
            let values = Seed(d as u64).normals(n * d);
            let y = Points::new(&values, d).unwrap();
            for pull in [Pull::Spring, Pull::Student { dof: 1.0 }, Pull::Student { dof: 2.5 }] {
                let mut force = vec![f64::NAN; n * d];
                let value = pull.force(&weights, &weights.row_sums(), y, true, &mut force).unwrap();
                let mut expected = vec![0.0; n * d];
                let mut total = 0.0;
                for (i, j, w) in weights.iter() {
                    let (f, slope, _) = pull.derivatives(squared_distance(y.row(i), y.row(j)));
                    total += w * f;
                    (0..d).for_each(|c| expected[i * d + c] += w * slope * (y.row(i)[c] - y.row(j)[c]));
                }
                let largest = expected.iter().fold(0.0f64, |m, v| m.max(v.abs()));
                assert!(force.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-12 * largest), "{pull:?} {d}");
                assert!((value - total).abs() < 1e-11 * total, "{pull:?} {d}: {value} {total}");
                let [slope, bend] = pull.slope_and_bend(&weights, y);
                let terms = weights.iter().map(|(i, j, w)| (w, pull.derivatives(squared_distance(y.row(i), y.row(j)))));
                let plain = terms.fold([0.0; 2], |sum, (w, (_, slope, bend))| [sum[0] + w * slope, sum[1] + w * bend]);
                assert!(
                    (slope - plain[0]).abs() < 1e-11 * plain[0] && (bend - plain[1]).abs() <= 1e-11 * plain[1].abs()
                );
            }
        }
    }
}
