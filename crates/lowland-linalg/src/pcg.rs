//! Preconditioned conjugate gradients for several right-hand sides at once.

use rayon::prelude::*;

use super::block::{CHUNK, column_dots};
use super::{Preconditioner, SymmetricOperator};
use lowland_core::run::Progress;
use lowland_core::{Error, Result};

/// Stopping criteria of [`pcg`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PcgOptions {
    /// A column has converged if the norm of its residual is at most this share of the norm of its right-hand side.
    pub tolerance: f64,
    /// Maximum number of iterations, including restarts.
    pub max_iterations: usize,
}

impl Default for PcgOptions {
    fn default() -> Self {
        Self { tolerance: 1e-8, max_iterations: 500 }
    }
}

/// Null space of the operator. Right-hand sides and solutions are kept orthogonal to it.
#[derive(Debug, Clone, Copy)]
pub enum NullSpace<'a> {
    /// Trivial: the matrix is positive definite.
    None,
    /// Constant vectors: the Laplacian of a connected graph.
    Constant,
    /// Vectors that are constant on each component; holds the component of each row, counted from 0.
    Components(&'a [u32]),
}

impl NullSpace<'_> {
    /// Subtracts from each column its mean over each component.
    pub fn project(&self, x: &mut [f64], columns: usize) {
        let component = |i: usize| match self {
            NullSpace::Components(labels) => labels[i] as usize,
            _ => 0,
        };
        let parts = match self {
            NullSpace::None => return,
            NullSpace::Constant => 1,
            NullSpace::Components(labels) => labels.iter().max().map_or(0, |&m| m as usize + 1),
        };
        if columns == 0 {
            return;
        }
        // Sequential, row by row: a few additions per row, always in the same order.
        let mut sums = vec![0.0; parts * columns];
        let mut counts = vec![0usize; parts];
        for (i, row) in x.chunks_exact(columns).enumerate() {
            let at = component(i);
            counts[at] += 1;
            sums[at * columns..(at + 1) * columns].iter_mut().zip(row).for_each(|(s, v)| *s += v);
        }
        for (i, row) in x.chunks_exact_mut(columns).enumerate() {
            let at = component(i);
            let means = &sums[at * columns..(at + 1) * columns];
            row.iter_mut().zip(means).for_each(|(v, s)| *v -= s / counts[at] as f64);
        }
    }
}

/// Convergence report of [`pcg`].
#[derive(Debug, Clone, PartialEq)]
pub struct PcgReport {
    /// Number of block iterations.
    pub iterations: usize,
    /// For each column `|b - A x| / |b|`, recomputed at the end.
    pub residuals: Vec<f64>,
    /// Whether every column met the tolerance.
    pub converged: bool,
}

/// Solves `A x = b` for each column of the row-major block `b` (dim x columns), starting from `x`.
///
/// Each column has its own step lengths and is frozen once it has converged. The residual of the recurrence drifts from
/// the true one; if the true one does not meet the tolerance, the iteration restarts, at most a few times.
pub fn pcg(
    operator: &dyn SymmetricOperator,
    preconditioner: &dyn Preconditioner,
    null_space: NullSpace<'_>,
    b: &[f64],
    columns: usize,
    x: &mut [f64],
    options: PcgOptions,
    progress: &mut Progress,
) -> Result<PcgReport> {
    let expected = operator.dim() * columns;
    for found in [b.len(), x.len()] {
        if found != expected {
            return Err(Error::Shape { what: "values of a block of right-hand sides", expected, found });
        }
    }
    if let NullSpace::Components(labels) = null_space
        && labels.len() != operator.dim()
    {
        return Err(Error::Shape { what: "component labels", expected: operator.dim(), found: labels.len() });
    }
    if let Some(v) = b.iter().chain(&*x).find(|v| !v.is_finite()) {
        return Err(Error::Numerical { what: "conjugate gradients", reason: format!("the input holds {v}") });
    }
    let mut b = b.to_vec();
    null_space.project(&mut b, columns);
    null_space.project(x, columns);
    let lengths: Vec<f64> = column_dots(&b, &b, columns).into_iter().map(f64::sqrt).collect();
    // A zero right-hand side has the zero solution, whatever the start.
    for (c, _) in lengths.iter().enumerate().filter(|(_, length)| **length == 0.0) {
        x.iter_mut().skip(c).step_by(columns).for_each(|v| *v = 0.0);
    }
    let relative = |squares: Vec<f64>| -> Vec<f64> {
        squares.iter().zip(&lengths).map(|(s, &l)| if l > 0.0 { s.sqrt() / l } else { 0.0 }).collect()
    };
    let mut iterations = 0;
    let mut residuals = vec![f64::INFINITY; columns];
    for _restart in 0..4 {
        let mut r = residual(operator, null_space, &b, x, columns);
        let previous = std::mem::replace(&mut residuals, relative(column_dots(&r, &r, columns)));
        let open = |c: usize| residuals[c] > options.tolerance;
        let worthwhile = (0..columns).any(|c| open(c) && residuals[c] < 0.5 * previous[c]);
        if !worthwhile || iterations >= options.max_iterations {
            break;
        }
        let mut active: Vec<bool> = (0..columns).map(open).collect();
        let first = residuals.iter().copied().fold(options.tolerance, f64::max);
        let mut z = vec![0.0; expected];
        preconditioner.apply(&r, columns, &mut z);
        null_space.project(&mut z, columns);
        let mut p = z.clone();
        let mut image = vec![0.0; expected];
        let mut rz = column_dots(&r, &z, columns);
        while iterations < options.max_iterations && active.contains(&true) {
            iterations += 1;
            operator.apply(&p, columns, &mut image);
            let curvature = column_dots(&p, &image, columns);
            let steps: Vec<f64> = (0..columns)
                .map(|c| {
                    let step = rz[c] / curvature[c];
                    // A direction without curvature, or a number out of range, ends the iteration of this column.
                    active[c] &= curvature[c] > 0.0 && step > 0.0 && step.is_finite();
                    if active[c] { step } else { 0.0 }
                })
                .collect();
            add_multiples(x, &p, &steps, 1.0);
            add_multiples(&mut r, &image, &steps, -1.0);
            let now = relative(column_dots(&r, &r, columns));
            (0..columns).for_each(|c| active[c] &= now[c] > options.tolerance);
            let worst = (0..columns).filter(|&c| active[c]).map(|c| now[c]).fold(options.tolerance, f64::max);
            progress(log_scale_progress(first, worst, options.tolerance))?;
            preconditioner.apply(&r, columns, &mut z);
            null_space.project(&mut z, columns);
            let rz_next = column_dots(&r, &z, columns);
            let turns: Vec<f64> = (0..columns).map(|c| if active[c] { rz_next[c] / rz[c] } else { 0.0 }).collect();
            rz = rz_next;
            update_directions(&mut p, &z, &turns);
        }
        null_space.project(x, columns);
    }
    let converged = residuals.iter().all(|r| *r <= options.tolerance);
    Ok(PcgReport { iterations, residuals, converged })
}

/// Share of the way of a residual from `first` to `goal`, on a logarithmic scale.
pub(crate) fn log_scale_progress(first: f64, now: f64, goal: f64) -> f64 {
    let way = (first / goal).ln();
    if way > 0.0 { ((first / now).ln() / way).clamp(0.0, 1.0) } else { 1.0 }
}

fn residual(operator: &dyn SymmetricOperator, null_space: NullSpace, b: &[f64], x: &[f64], columns: usize) -> Vec<f64> {
    let mut r = vec![0.0; b.len()];
    operator.apply(x, columns, &mut r);
    r.iter_mut().zip(b).for_each(|(r, b)| *r = b - *r);
    null_space.project(&mut r, columns);
    r
}

/// `x += sign * p * diag(steps)`.
fn add_multiples(x: &mut [f64], p: &[f64], steps: &[f64], sign: f64) {
    let m = steps.len();
    x.par_chunks_mut(CHUNK * m).zip(p.par_chunks(CHUNK * m)).for_each(|(x, p)| {
        for (x, p) in x.chunks_exact_mut(m).zip(p.chunks_exact(m)) {
            (0..m).for_each(|c| x[c] += sign * steps[c] * p[c]);
        }
    });
}

/// `p = z + p * diag(turns)`.
fn update_directions(p: &mut [f64], z: &[f64], turns: &[f64]) {
    let m = turns.len();
    p.par_chunks_mut(CHUNK * m).zip(z.par_chunks(CHUNK * m)).for_each(|(p, z)| {
        for (p, z) in p.chunks_exact_mut(m).zip(z.chunks_exact(m)) {
            (0..m).for_each(|c| p[c] = z[c] + turns[c] * p[c]);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::super::laplacian::tests::{graph, grid, path};
    use super::super::{ApproxCholesky, Csr, Identity, Jacobi, Laplacian, LaplacianKind};
    use super::*;
    use lowland_core::{Seed, with_threads};

    fn true_residual(operator: &dyn SymmetricOperator, b: &[f64], x: &[f64], columns: usize, c: usize) -> f64 {
        let mut image = vec![0.0; b.len()];
        operator.apply(x, columns, &mut image);
        let pairs = || b.iter().zip(&image).skip(c).step_by(columns);
        (pairs().map(|(b, a)| (b - a).powi(2)).sum::<f64>() / pairs().map(|(b, _)| b * b).sum::<f64>()).sqrt()
    }

    #[test]
    fn laplacian_systems_are_solved_to_the_tolerance_with_every_preconditioner() {
        let laplacian = Laplacian::new(&grid(30, 40), LaplacianKind::Plain).unwrap();
        let mut b = Seed(1).normals(1200 * 3);
        NullSpace::Constant.project(&mut b, 3);
        let approximate = ApproxCholesky::laplacian(&laplacian, Seed(0)).unwrap();
        let jacobi = Jacobi::new(laplacian.diagonal());
        let mut iterations = Vec::new();
        for preconditioner in [&Identity as &dyn Preconditioner, &jacobi, &approximate] {
            let mut x = vec![0.0; b.len()];
            let report =
                pcg(&laplacian, preconditioner, NullSpace::Constant, &b, 3, &mut x, PcgOptions::default(), &mut |_| {
                    Ok(())
                })
                .unwrap();
            assert!(report.converged, "{} {report:?}", preconditioner.name());
            (0..3).for_each(|c| assert!(true_residual(&laplacian, &b, &x, 3, c) < 1.1e-8));
            iterations.push(report.iterations);
        }
        assert!(iterations[2] * 2 < iterations[1], "{iterations:?}");
    }

    #[test]
    fn approximate_cholesky_solves_a_long_path_quickly() {
        let laplacian = Laplacian::new(&path(20_000), LaplacianKind::Plain).unwrap();
        let mut b = vec![0.0; 20_000];
        (b[0], b[19_999]) = (1.0, -1.0);
        let mut x = vec![0.0; 20_000];
        let factor = ApproxCholesky::laplacian(&laplacian, Seed(0)).unwrap();
        let options = PcgOptions { tolerance: 1e-7, ..PcgOptions::default() };
        let report = pcg(&laplacian, &factor, NullSpace::Constant, &b, 1, &mut x, options, &mut |_| Ok(())).unwrap();
        assert!(report.converged && report.iterations < 20, "{report:?}");
        // The potential falls by one at each of the n - 1 unit resistors.
        assert!((x[0] - x[19_999] - 19_999.0).abs() < 1e-3, "{}", x[0] - x[19_999]);
    }

    #[test]
    fn a_dominant_matrix_is_solved_through_its_ground_and_a_warm_start_saves_the_work() {
        let mut triplets: Vec<(u32, u32, f64)> = Vec::new();
        for (i, j, w) in grid(20, 20).iter() {
            triplets.extend([(i as u32, j as u32, -w), (i as u32, i as u32, w)]);
        }
        triplets.extend((0..400).map(|i| (i, i, 0.01 + f64::from(i % 3))));
        let matrix = Csr::from_triplets(400, 400, triplets.clone()).unwrap();
        // A second matrix with some positive off-diagonal entries, still dominant.
        let mixed = matrix.map(|i, j, v| if i != j && (i + j) % 3 == 0 { -v } else { v });
        for matrix in [matrix, mixed] {
            let factor = ApproxCholesky::dominant(&matrix, Seed(0)).unwrap();
            let b = Seed(2).normals(800);
            let mut x = vec![0.0; 800];
            let solve = |x: &mut [f64]| {
                pcg(&matrix, &factor, NullSpace::None, &b, 2, x, PcgOptions::default(), &mut |_| Ok(())).unwrap()
            };
            let cold = solve(&mut x);
            assert!(cold.converged && cold.iterations < 40, "{cold:?}");
            assert!(true_residual(&matrix, &b, &x, 2, 1) < 1.1e-8);
            assert_eq!(solve(&mut x).iterations, 0);
        }
        let weak = Csr::from_triplets(2, 2, [(0, 0, 1.0), (1, 1, 1.0), (0, 1, -2.0), (1, 0, -2.0)]).unwrap();
        assert!(ApproxCholesky::dominant(&weak, Seed(0)).is_err());
    }

    #[test]
    fn each_component_has_its_own_mean_and_an_isolated_point_stays_at_zero() {
        let laplacian =
            Laplacian::new(&graph(6, [(0, 1, 1.0), (1, 2, 1.0), (3, 4, 2.0)]), LaplacianKind::Plain).unwrap();
        let labels = [0, 0, 0, 1, 1, 2];
        let b = [1.0, 0.0, -1.0, 2.0, -2.0, 7.0];
        let factor = ApproxCholesky::laplacian(&laplacian, Seed(0)).unwrap();
        let mut x = vec![5.0; 6];
        let null = NullSpace::Components(&labels);
        let report = pcg(&laplacian, &factor, null, &b, 1, &mut x, PcgOptions::default(), &mut |_| Ok(())).unwrap();
        assert!(report.converged, "{report:?}");
        let expected = [1.0, 0.0, -1.0, 0.5, -0.5, 0.0];
        assert!(x.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-7), "{x:?}");
    }

    #[test]
    fn the_result_does_not_depend_on_the_number_of_threads() {
        let laplacian = Laplacian::new(&grid(60, 70), LaplacianKind::Normalized).unwrap();
        let b = Seed(3).normals(4200 * 2);
        let solve = || {
            let factor = ApproxCholesky::laplacian(&laplacian, Seed(0)).unwrap();
            let mut x = vec![0.0; b.len()];
            let options = PcgOptions { max_iterations: 12, ..PcgOptions::default() };
            pcg(&laplacian, &factor, NullSpace::None, &b, 2, &mut x, options, &mut |_| Ok(())).unwrap();
            x.into_iter().map(f64::to_bits).collect::<Vec<_>>()
        };
        let one = with_threads(Some(1), solve).unwrap();
        for threads in [2, 3] {
            assert_eq!(one, with_threads(Some(threads), solve).unwrap());
        }
    }

    #[test]
    fn invalid_input_gives_an_error_or_a_report_and_terminates() {
        let laplacian = Laplacian::new(&path(5), LaplacianKind::Plain).unwrap();
        let jacobi = Jacobi::new(laplacian.diagonal());
        let solve = |b: &[f64], null| {
            let mut x = vec![0.0; b.len()];
            pcg(&laplacian, &jacobi, null, b, 1, &mut x, PcgOptions::default(), &mut |_| Ok(()))
        };
        assert!(solve(&[1.0; 4], NullSpace::None).is_err());
        assert!(solve(&[f64::NAN; 5], NullSpace::None).is_err());
        assert!(solve(&[1.0; 5], NullSpace::Components(&[0])).is_err());
        // Inconsistent: b is in the null space that was not declared.
        assert!(!solve(&[1.0; 5], NullSpace::None).unwrap().converged);
        assert!(solve(&[1.0; 5], NullSpace::Constant).unwrap().converged);
        let mut stop = |_: f64| Err(Error::Stopped { stage: "test" });
        let b = [1.0, 0.0, 0.0, 0.0, -1.0];
        assert!(
            pcg(&laplacian, &jacobi, NullSpace::Constant, &b, 1, &mut [0.0; 5], PcgOptions::default(), &mut stop)
                .is_err()
        );
    }
}
