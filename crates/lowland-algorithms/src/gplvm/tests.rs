//! Expectations against sampling, gradients against differences, the bound against the model it bounds.

use super::bound::{Bound, Sizes};
use super::psi::Psi;
use crate::objective::VectorField;
use lowland_core::Points;
use lowland_core::Seed;
use lowland_linalg::dense::Cholesky;

fn psi() -> Psi {
    Psi { weights: vec![0.7, 2.0], signal: 1.3, inducing: vec![0.0, 0.5, -1.0, 0.2, 0.6, -0.4] }
}

#[test]
fn expectations_are_those_of_samples() {
    let (psi, mean, spread) = (psi(), [0.3, -0.2], [0.5, 0.1]);
    let (mut first, mut second) = (vec![0.0; 3], vec![0.0; 9]);
    psi.expect(&mean, &spread, &mut first, &mut second);
    let kernel = |x: &[f64], m: usize| {
        let z = &psi.inducing[m * 2..][..2];
        psi.signal * (-0.5 * (0..2).map(|c| psi.weights[c] * (x[c] - z[c]).powi(2)).sum::<f64>()).exp()
    };
    let count = 200_000;
    let (mut one, mut two) = ([0.0; 3], [0.0; 9]);
    for noise in Seed(1).normals(2 * count).chunks_exact(2) {
        let x = [mean[0] + spread[0].sqrt() * noise[0], mean[1] + spread[1].sqrt() * noise[1]];
        for a in 0..3 {
            one[a] += kernel(&x, a) / count as f64;
            (0..=a).for_each(|b| two[a * 3 + b] += kernel(&x, a) * kernel(&x, b) / count as f64);
        }
    }
    assert!(first.iter().zip(&one).all(|(a, b)| (a - b).abs() < 4e-3), "{first:?} {one:?}");
    assert!(second.iter().zip(&two).all(|(a, b)| (a - b).abs() < 6e-3), "{second:?} {two:?}");
}

fn fixture() -> (Bound, Vec<f64>) {
    let sizes = Sizes { rows: 40, dim: 2, inducing: 5 };
    let angle = |i: usize| i as f64 * 0.15;
    let data: Vec<f64> = (0..40)
        .flat_map(|i| [angle(i).sin(), angle(i).cos() - 0.1, 0.5 * (2.0 * angle(i)).sin()])
        .zip(Seed(2).normals(120))
        .map(|(v, noise)| v + 0.05 * noise)
        .collect();
    let mut numbers: Vec<f64> = Seed(3).normals(sizes.numbers()).iter().map(|v| 0.5 * v).collect();
    *numbers.last_mut().unwrap() = 2.0;
    (Bound::new(data, 3, sizes).unwrap(), numbers)
}

#[test]
fn the_gradient_is_that_of_the_bound() {
    let (mut bound, numbers) = fixture();
    let mut slope = vec![0.0; numbers.len()];
    let at = |numbers: &[f64]| -bound.value(numbers).unwrap() / 120.0;
    let h = f64::EPSILON.cbrt();
    let expected: Vec<f64> = (0..numbers.len())
        .map(|place| {
            let moved = |by: f64| {
                let mut numbers = numbers.clone();
                numbers[place] += by;
                at(&numbers)
            };
            (moved(h) - moved(-h)) / (2.0 * h)
        })
        .collect();
    let value = bound.evaluate(Points::new(&numbers, 1).unwrap(), true, &mut slope).unwrap().unwrap();
    assert!((value - at_value(&bound, &numbers)).abs() < 1e-12 * value.abs());
    let largest = expected.iter().fold(0.0f64, |m, v| m.max(v.abs()));
    assert!(largest > 1e-2, "the fixture is at rest");
    for (place, (found, expected)) in slope.iter().zip(&expected).enumerate() {
        assert!((found - expected).abs() < 1e-6 * largest, "{place}: {found} {expected}");
    }
}

fn at_value(bound: &Bound, numbers: &[f64]) -> f64 {
    -bound.value(numbers).unwrap() / 120.0
}

/// With certain places and every place an inducing point, the bound is the likelihood of a Gaussian process.
#[test]
fn with_certain_places_the_bound_is_the_likelihood_of_a_gaussian_process() {
    let (n, precision) = (6, 9.0f64);
    let sizes = Sizes { rows: n, dim: 1, inducing: n };
    let places: Vec<f64> = (0..n).map(|i| 1.5 * i as f64).collect();
    let data = Seed(5).normals(n);
    let (signal, weight, spread) = (1.4f64, 0.8f64, 1e-12f64);
    let mut numbers = places.clone();
    numbers.extend(vec![spread.ln(); n]);
    numbers.extend(&places);
    numbers.extend([weight.ln(), signal.ln(), precision.ln()]);
    let found = Bound::new(data.clone(), 1, sizes).unwrap().value(&numbers).unwrap();
    let covariance: Vec<f64> = (0..n * n)
        .map(|at| {
            let gap = places[at / n] - places[at % n];
            signal * (-0.5 * weight * gap * gap).exp() + if at / n == at % n { 1.0 / precision } else { 0.0 }
        })
        .collect();
    let factor = Cholesky::new(&covariance, n).unwrap();
    let mut solved = data.clone();
    factor.solve(&mut solved, 1);
    let fit: f64 = data.iter().zip(&solved).map(|(a, b)| a * b).sum();
    let likelihood = -0.5 * (n as f64 * (2.0 * std::f64::consts::PI).ln() + factor.log_determinant() + fit);
    let divergence = 0.5 * places.iter().map(|m| m * m + spread - spread.ln() - 1.0).sum::<f64>();
    assert!((found + divergence - likelihood).abs() < 1e-4, "{} {likelihood}", found + divergence);
}

#[test]
fn a_row_of_the_data_is_placed_where_it_was_and_predicted_from_there() {
    let bound = fixture().0;
    // From two columns of the data, some steps uphill.
    let mut numbers: Vec<f64> = bound.data().chunks_exact(3).flat_map(|row| [1.4 * row[0], 1.4 * row[1]]).collect();
    let points: Vec<f64> = (0..5).flat_map(|m| numbers[m * 16..][..2].to_vec()).collect();
    numbers.resize(160, 0.1f64.ln());
    numbers.extend(points);
    numbers.extend([0.0, 0.0, 0.0, 3.0]);
    let mut lbfgs = crate::optim::Lbfgs::default();
    let mut objective = bound.clone();
    let before = bound.value(&numbers).unwrap();
    for _ in 0..100 {
        crate::optim::Optimizer::step(&mut lbfgs, &mut objective, &mut numbers, 1).unwrap();
    }
    let after = bound.value(&numbers).unwrap();
    assert!(after > before + 20.0, "{before} {after}");
    let frozen = bound.freeze(&numbers).unwrap();
    for i in [3, 20, 31] {
        let (mean, spread) =
            (&numbers[i * 2..][..2], numbers[80 + i * 2..][..2].iter().map(|v| v.exp()).collect::<Vec<_>>());
        let row = &bound.data()[i * 3..][..3];
        let (place, spread, _) = frozen.place(row, mean, &spread).unwrap();
        assert!(place.iter().zip(mean).all(|(a, b)| (a - b).abs() < 0.1), "{place:?} {mean:?}");
        assert!(spread.iter().all(|s| *s > 0.0 && *s < 1.5));
        let mut expected = vec![0.0; 3];
        frozen.predict(&place, &mut expected);
        assert!(expected.iter().zip(row).all(|(a, b)| (a - b).abs() < 0.3), "{expected:?} {row:?}");
    }
}
