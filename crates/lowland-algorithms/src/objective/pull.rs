//! Attraction: sums over the edges of the affinity graph.

use std::ops::Range;

use rayon::prelude::*;

use super::edges::{Edges, Places, ROWS, Room, Weigh, over_edges};
use lowland_core::Points;
use lowland_core::simd::ln;
use lowland_core::simd::simd_dispatch;
use lowland_core::simd::{Simd, SimdKernel, run_kernel};
use lowland_linalg::Csr;

/// How an edge pulls.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Pull {
    /// `f(s) = s`, s the squared distance.
    Spring,
    /// `f(s) = (a + 1)/2 ln(1 + s/a)`, a the degrees of freedom.
    Student { dof: f64 },
}

/// Logarithms in a vector.
const LANES: usize = 8;

impl Pull {
    /// `out_i = sum_j w_ij f'(s_ij) (y_i - y_j)`; the value if it is wanted.
    pub(super) fn force(
        self,
        weights: &Csr,
        degrees: &[f64],
        y: Points,
        value: bool,
        room: &mut Room,
        out: &mut [f64],
    ) -> Option<f64> {
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
                let places = room.places(y);
                out.par_chunks_mut(ROWS * d).enumerate().for_each(|(chunk, out)| {
                    let first = chunk * ROWS;
                    match d {
                        1 => student_rows(StudentRows::<1> { weights, places, dof, first, out }),
                        2 => student_rows(StudentRows::<2> { weights, places, dof, first, out }),
                        3 => student_rows(StudentRows::<3> { weights, places, dof, first, out }),
                        _ => student_rows(StudentRows::<0> { weights, places, dof, first, out }),
                    }
                });
                value.then(|| student_value(weights, places, dof))
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

/// The sum over all edges of Student's `w f(s)`.
fn student_value(weights: &Csr, places: Places, dof: f64) -> f64 {
    let parts = in_chunks(weights.rows(), |rows| match places.y.dim() {
        1 => value_of_rows(StudentValue::<1> { weights, places, dof, rows }),
        2 => value_of_rows(StudentValue::<2> { weights, places, dof, rows }),
        3 => value_of_rows(StudentValue::<3> { weights, places, dof, rows }),
        _ => value_of_rows(StudentValue::<0> { weights, places, dof, rows }),
    });
    parts.iter().sum()
}

fn student_rows<const D: usize>(rows: StudentRows<D>) {
    run_kernel(rows);
}

/// Student forces on the rows from `first` on, as many as `out` holds. `D` is the dimension, or zero for any.
struct StudentRows<'a, const D: usize> {
    weights: &'a Csr,
    places: Places<'a>,
    dof: f64,
    first: usize,
    out: &'a mut [f64],
}

impl<const D: usize> SimdKernel for StudentRows<'_, D> {
    type Output = ();

    #[inline(always)]
    fn run<F: Simd>(self, fours: F) {
        let (factor, mut pull) = ((self.dof + 1.0) / (2.0 * self.dof), StudentPull { inverse: 1.0 / self.dof });
        for (i, out) in (self.first..).zip(self.out.chunks_exact_mut(self.places.y.dim())) {
            out.fill(0.0);
            over_edges::<F, D, 1>(fours, self.places, i, self.weights.row(i), &mut pull, out);
            for force in out {
                *force *= factor;
            }
        }
    }
}

/// `w / (1 + s/a)`.
struct StudentPull {
    inverse: f64,
}

impl<F: Simd> Weigh<F, 1> for StudentPull {
    #[inline(always)]
    fn coefficients(&mut self, fours: F, edges: &Edges<F>) -> [F::F64x4; 1] {
        let scaled = fours.mul(edges.squares, fours.splat(self.inverse));
        [fours.div(edges.weights, fours.add(fours.splat(1.0), scaled))]
    }
}

fn value_of_rows<const D: usize>(rows: StudentValue<D>) -> f64 {
    run_kernel(rows)
}

/// The sum of Student's `w f(s)` over the edges of some rows.
struct StudentValue<'a, const D: usize> {
    weights: &'a Csr,
    places: Places<'a>,
    dof: f64,
    rows: Range<usize>,
}

impl<const D: usize> SimdKernel for StudentValue<'_, D> {
    type Output = f64;

    #[inline(always)]
    fn run<F: Simd>(self, fours: F) -> f64 {
        let mut value = 0.0;
        let mut squares = Squares(Vec::new());
        for i in self.rows {
            squares.0.clear();
            let (columns, values) = self.weights.row(i);
            over_edges::<F, D, 0>(fours, self.places, i, (columns, values), &mut squares, &mut []);
            value += logarithms(&squares.0, values, 1.0 / self.dof);
        }
        0.5 * (self.dof + 1.0) * value
    }
}

/// The squared lengths of a row's edges, and some zeros after them.
struct Squares(Vec<f64>);

impl<F: Simd> Weigh<F, 0> for Squares {
    #[inline(always)]
    fn coefficients(&mut self, fours: F, edges: &Edges<F>) -> [F::F64x4; 0] {
        self.0.extend_from_slice(&fours.store(edges.squares));
        []
    }
}

/// `sum w ln(1 + s/a)`. A long loop of its own: of four numbers no compiler makes a vector.
#[simd_dispatch]
fn logarithms(squares: &[f64], weights: &[f64], inverse: f64) -> f64 {
    let mut sums = [0.0; LANES];
    let (whole, rest) = weights.as_chunks::<LANES>();
    let (squares, rest_squares) = squares[..weights.len()].as_chunks::<LANES>();
    for (squares, weights) in squares.iter().zip(whole) {
        for l in 0..LANES {
            sums[l] += weights[l] * ln(1.0 + squares[l] * inverse);
        }
    }
    let rest: f64 = rest_squares.iter().zip(rest).map(|(s, w)| w * ln(1.0 + s * inverse)).sum();
    sums.iter().sum::<f64>() + rest
}

#[cfg(test)]
mod tests {
    use lowland_core::simd::run_kernel_with;

    use super::*;
    use lowland_core::Seed;
    use lowland_neighbors::graph::{Symmetrization, symmetrize};

    #[test]
    fn forces_are_the_plain_sums_in_every_dimension() {
        let n = 700;
        let links = (0..n as u32).flat_map(|i| (1..=90).map(move |step| (i, (i * 7 + step * 13) % 700)));
        let weighted = links.filter(|(i, j)| i != j).enumerate().map(|(at, (i, j))| (i, j, 1.0 + (at % 5) as f64));
        let weights = symmetrize(&Csr::from_triplets(n, n, weighted).unwrap(), Symmetrization::Average).unwrap();
        for d in [1, 2, 3, 5] {
            let values = Seed(d as u64).normals(n * d);
            let y = Points::new(&values, d).unwrap();
            for pull in [Pull::Spring, Pull::Student { dof: 1.0 }, Pull::Student { dof: 2.5 }] {
                let mut force = vec![f64::NAN; n * d];
                let value =
                    pull.force(&weights, &weights.row_sums(), y, true, &mut Room::default(), &mut force).unwrap();
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

    #[test]
    fn student_sums_have_the_same_bits_by_every_machine() {
        fn check<const D: usize>(d: usize) {
            let n = 90;
            let links = (0..n as u32).flat_map(|i| (1..=i % 11).map(move |step| (i, (i + step) % 90, f64::from(step))));
            let weights = Csr::from_triplets(n, n, links).unwrap();
            let values = Seed(3).normals(n * d);
            let mut room = Room::default();
            let (places, dof, first, rows) = (room.places(Points::new(&values, d).unwrap()), 1.5, 0, 0..n);
            let [plain, own] = [true, false].map(|plain| {
                let (weights, mut force) = (&weights, vec![0.0; n * d]);
                run_kernel_with(StudentRows::<D> { weights, places, dof, first, out: &mut force }, plain);
                force.push(run_kernel_with(StudentValue::<D> { weights, places, dof, rows: rows.clone() }, plain));
                force.iter().map(|v| v.to_bits()).collect::<Vec<u64>>()
            });
            assert_eq!(plain, own, "{d} dimensions");
        }
        check::<1>(1);
        check::<2>(2);
        check::<3>(3);
        check::<0>(4);
    }
}
