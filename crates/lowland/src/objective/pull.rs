//! Attraction: sums over the edges of the affinity graph.

use multiversion::multiversion;
use rayon::prelude::*;

use crate::linalg::Csr;
use crate::points::Points;

/// How an edge pulls.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Pull {
    /// `f(s) = s`, s the squared distance.
    Spring,
    /// `f(s) = (a + 1)/2 ln(1 + s/a)`, a the degrees of freedom.
    Student { dof: f64 },
}

/// Sums over all edges `w f(s)` and the derivatives that the Hessian's trace needs.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Sums {
    /// `sum w f(s)`.
    pub value: f64,
    /// `sum w f'(s)`.
    pub slope: f64,
    /// `sum w s f''(s)`.
    pub bend: f64,
}

/// Rows handled at once: fixed, because the order of a sum depends on it.
const ROWS: usize = 256;
/// Edges handled at once, and the number of partial sums among them.
const EDGES: usize = 64;
const LANES: usize = 8;

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
                value.then(|| self.sums(weights, y).value)
            }
        }
    }

    /// All sums, without the forces.
    pub(super) fn sums(self, weights: &Csr, y: Points) -> Sums {
        let starts: Vec<usize> = (0..weights.rows()).step_by(ROWS).collect();
        let parts: Vec<Sums> = starts
            .into_par_iter()
            .map(|start| {
                let mut sums = Sums::default();
                for i in start..(start + ROWS).min(weights.rows()) {
                    let (columns, values) = weights.row(i);
                    for (&j, &w) in columns.iter().zip(values) {
                        let (value, slope, bend) = self.derivatives(squared_distance(y.row(i), y.row(j as usize)));
                        sums.value += w * value;
                        sums.slope += w * slope;
                        sums.bend += w * bend;
                    }
                }
                sums
            })
            .collect();
        parts.iter().fold(Sums::default(), |total, part| Sums {
            value: total.value + part.value,
            slope: total.slope + part.slope,
            bend: total.bend + part.bend,
        })
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

/// Student forces on the rows from `first` on, as many as `out` holds.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512bw+avx512dq", "x86_64+avx2", "aarch64+neon"))]
fn student_rows<const D: usize>(weights: &Csr, y: &[f64], dof: f64, first: usize, out: &mut [f64]) {
    let (points, _) = y.as_chunks::<D>();
    let (factor, inverse) = ((dof + 1.0) / (2.0 * dof), 1.0 / dof);
    for (i, out) in out.as_chunks_mut::<D>().0.iter_mut().enumerate() {
        let here = points[first + i];
        let (columns, values) = weights.row(first + i);
        let mut sums = [[0.0; LANES]; D];
        for (columns, values) in columns.chunks(EDGES).zip(values.chunks(EDGES)) {
            // Gather first, so that the arithmetic runs over plain arrays; the rest of the buffer weighs nothing.
            let (mut apart, mut weight) = ([[0.0; EDGES]; D], [0.0; EDGES]);
            weight[..values.len()].copy_from_slice(values);
            for (e, &j) in columns.iter().enumerate() {
                let there = points[j as usize];
                for c in 0..D {
                    apart[c][e] = here[c] - there[c];
                }
            }
            for start in (0..values.len()).step_by(LANES) {
                let mut squared = [0.0; LANES];
                for c in 0..D {
                    for l in 0..LANES {
                        squared[l] += apart[c][start + l] * apart[c][start + l];
                    }
                }
                let mut pull = [0.0; LANES];
                for l in 0..LANES {
                    pull[l] = weight[start + l] / (1.0 + squared[l] * inverse);
                }
                for c in 0..D {
                    for l in 0..LANES {
                        sums[c][l] += pull[l] * apart[c][start + l];
                    }
                }
            }
        }
        *out = sums.map(|lanes| factor * lanes.iter().sum::<f64>());
    }
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
                let sums = pull.sums(&weights, y);
                assert!((sums.value - total).abs() < 1e-11 * total);
            }
        }
    }
}
