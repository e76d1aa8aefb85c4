//! Compares expectations with sampling, gradients with finite differences, and the bound with the model it bounds.

use super::bound::{GplvmSizes, VariationalBound};
use super::psi_statistics::InducingKernel;
use crate::objective::VectorField;
use lowland_core::Points;
use lowland_core::Seed;
use lowland_linalg::dense::Cholesky;

fn kernel() -> InducingKernel {
    InducingKernel { weights: vec![0.7, 2.0], signal: 1.3, inducing: vec![0.0, 0.5, -1.0, 0.2, 0.6, -0.4] }
}

#[test]
fn psi_statistics_match_samples() {
    let (kernel, mean, variance) = (kernel(), [0.3, -0.2], [0.5, 0.1]);
    let (mut psi1, mut psi2) = (vec![0.0; 3], vec![0.0; 9]);
    kernel.add_psi_statistics(&mean, &variance, &mut psi1, &mut psi2);
    let kernel = |x: &[f64], m: usize| {
        let z = &kernel.inducing[m * 2..][..2];
        kernel.signal * (-0.5 * (0..2).map(|c| kernel.weights[c] * (x[c] - z[c]).powi(2)).sum::<f64>()).exp()
    };
    let count = 200_000;
    let (mut one, mut two) = ([0.0; 3], [0.0; 9]);
    for noise in Seed(1).normals(2 * count).chunks_exact(2) {
        let x = [mean[0] + variance[0].sqrt() * noise[0], mean[1] + variance[1].sqrt() * noise[1]];
        for a in 0..3 {
            one[a] += kernel(&x, a) / count as f64;
            (0..=a).for_each(|b| two[a * 3 + b] += kernel(&x, a) * kernel(&x, b) / count as f64);
        }
    }
    assert!(psi1.iter().zip(&one).all(|(a, b)| (a - b).abs() < 4e-3), "{psi1:?} {one:?}");
    assert!(psi2.iter().zip(&two).all(|(a, b)| (a - b).abs() < 6e-3), "{psi2:?} {two:?}");
}

fn fixture() -> (VariationalBound, Vec<f64>) {
    let sizes = GplvmSizes { rows: 40, dim: 2, inducing: 5 };
    let angle = |i: usize| i as f64 * 0.15;
    let data: Vec<f64> = (0..40)
        .flat_map(|i| [angle(i).sin(), angle(i).cos() - 0.1, 0.5 * (2.0 * angle(i)).sin()])
        .zip(Seed(2).normals(120))
        .map(|(v, noise)| v + 0.05 * noise)
        .collect();
    let mut parameters: Vec<f64> = Seed(3).normals(sizes.parameter_count()).iter().map(|v| 0.5 * v).collect();
    *parameters.last_mut().unwrap() = 2.0;
    (VariationalBound::new(data, 3, sizes).unwrap(), parameters)
}

#[test]
fn gradient_matches_finite_differences() {
    let (mut bound, parameters) = fixture();
    let mut gradient = vec![0.0; parameters.len()];
    let at = |parameters: &[f64]| -bound.value(parameters).unwrap() / 120.0;
    let h = f64::EPSILON.cbrt();
    let expected: Vec<f64> = (0..parameters.len())
        .map(|latent| {
            let moved = |by: f64| {
                let mut parameters = parameters.clone();
                parameters[latent] += by;
                at(&parameters)
            };
            (moved(h) - moved(-h)) / (2.0 * h)
        })
        .collect();
    let value = bound.evaluate(Points::new(&parameters, 1).unwrap(), true, &mut gradient).unwrap().unwrap();
    assert!((value - at_value(&bound, &parameters)).abs() < 1e-12 * value.abs());
    let largest = expected.iter().fold(0.0f64, |m, v| m.max(v.abs()));
    assert!(largest > 1e-2, "the fixture has converged");
    for (latent, (found, expected)) in gradient.iter().zip(&expected).enumerate() {
        assert!((found - expected).abs() < 1e-6 * largest, "{latent}: {found} {expected}");
    }
}

fn at_value(bound: &VariationalBound, parameters: &[f64]) -> f64 {
    -bound.value(parameters).unwrap() / 120.0
}

/// With certain latent coordinates, each an inducing point, the bound is the likelihood of a Gaussian process.
#[test]
fn without_uncertainty_bound_is_gaussian_process_likelihood() {
    let (n, precision) = (6, 9.0f64);
    let sizes = GplvmSizes { rows: n, dim: 1, inducing: n };
    let latents: Vec<f64> = (0..n).map(|i| 1.5 * i as f64).collect();
    let data = Seed(5).normals(n);
    let (signal, weight, variance) = (1.4f64, 0.8f64, 1e-12f64);
    let mut parameters = latents.clone();
    parameters.extend(vec![variance.ln(); n]);
    parameters.extend(&latents);
    parameters.extend([weight.ln(), signal.ln(), precision.ln()]);
    let found = VariationalBound::new(data.clone(), 1, sizes).unwrap().value(&parameters).unwrap();
    let covariance: Vec<f64> = (0..n * n)
        .map(|at| {
            let gap = latents[at / n] - latents[at % n];
            signal * (-0.5 * weight * gap * gap).exp() + if at / n == at % n { 1.0 / precision } else { 0.0 }
        })
        .collect();
    let factor = Cholesky::new(&covariance, n).unwrap();
    let mut solved = data.clone();
    factor.solve(&mut solved, 1);
    let fit: f64 = data.iter().zip(&solved).map(|(a, b)| a * b).sum();
    let likelihood = -0.5 * (n as f64 * (2.0 * std::f64::consts::PI).ln() + factor.log_determinant() + fit);
    let divergence = 0.5 * latents.iter().map(|m| m * m + variance - variance.ln() - 1.0).sum::<f64>();
    assert!((found + divergence - likelihood).abs() < 1e-4, "{} {likelihood}", found + divergence);
}

#[test]
fn training_rows_are_recovered_and_predicted() {
    let bound = fixture().0;
    // Starts from two columns of the data and takes some steps uphill.
    let mut parameters: Vec<f64> = bound.data().chunks_exact(3).flat_map(|row| [1.4 * row[0], 1.4 * row[1]]).collect();
    let points: Vec<f64> = (0..5).flat_map(|m| parameters[m * 16..][..2].to_vec()).collect();
    parameters.resize(160, 0.1f64.ln());
    parameters.extend(points);
    parameters.extend([0.0, 0.0, 0.0, 3.0]);
    let mut lbfgs = crate::optim::Lbfgs::default();
    let mut objective = bound.clone();
    let before = bound.value(&parameters).unwrap();
    for _ in 0..100 {
        crate::optim::Optimizer::step(&mut lbfgs, &mut objective, &mut parameters, 1).unwrap();
    }
    let after = bound.value(&parameters).unwrap();
    assert!(after > before + 20.0, "{before} {after}");
    let state = bound.fitted_state(&parameters).unwrap();
    for i in [3, 20, 31] {
        let (mean, variance) =
            (&parameters[i * 2..][..2], parameters[80 + i * 2..][..2].iter().map(|v| v.exp()).collect::<Vec<_>>());
        let row = &bound.data()[i * 3..][..3];
        let (latent, variance, _) = state.transform_row(row, mean, &variance).unwrap();
        assert!(latent.iter().zip(mean).all(|(a, b)| (a - b).abs() < 0.1), "{latent:?} {mean:?}");
        assert!(variance.iter().all(|s| *s > 0.0 && *s < 1.5));
        let mut expected = vec![0.0; 3];
        state.predict(&latent, &mut expected);
        assert!(expected.iter().zip(row).all(|(a, b)| (a - b).abs() < 0.3), "{expected:?} {row:?}");
    }
}
