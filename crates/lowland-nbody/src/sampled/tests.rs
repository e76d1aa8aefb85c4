use super::*;
use crate::Kernel;
use lowland_core::with_threads;

/// Just above the number of points whose sums are exact.
const POINTS: usize = MAX_EXACT_POINTS + 300;

/// A map with clusters, and the twelve nearest of each point's cluster as near pairs, made symmetric.
fn map(n: usize, dim: usize) -> (Vec<f64>, NearPairs) {
    let normals = Seed(7).normals(n * dim);
    let centers = Seed(8).normals(30 * dim);
    let values = (0..n * dim).map(|at| normals[at] + 3.0 * centers[at / dim % 30 * dim + at % dim]).collect();
    // Points of a cluster are thirty rows apart.
    let near = |i: usize| (1..=6).flat_map(move |k| [(i + 30 * k) % n, (i + n - 30 * k) % n]);
    let starts = (0..=n).map(|i| 12 * i).collect();
    let pairs = (0..n).flat_map(near).map(|j| j as u32).collect();
    (values, NearPairs::new(starts, pairs))
}

fn potential(engine: &mut dyn KernelSum, kernel: Kernel, map: &[f64], charges: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let points = Points::new(map, map.len() / charges.len()).unwrap();
    let (mut values, mut gradients) = (vec![f64::NAN; charges.len()], vec![f64::NAN; map.len()]);
    let request = PotentialRequest { kernel, targets: points, sources: points, charges };
    engine.potential(request, PotentialOutput { values: &mut values, gradients: &mut gradients }).unwrap();
    (values, gradients)
}

fn relative_error(found: &[f64], exact: &[f64]) -> f64 {
    let wrong: f64 = found.iter().zip(exact).map(|(a, b)| (a - b).powi(2)).sum();
    (wrong / exact.iter().map(|v| v * v).sum::<f64>()).sqrt()
}

#[test]
fn the_mean_over_rounds_is_the_exact_sum_for_every_kernel_and_dimension() {
    let kernels = [1.0, 2.0, 3.0, 1.3].map(|power| Kernel::Cauchy { power });
    for (dim, kernel) in [4, 5, 8, 10, 13, 18].into_iter().zip(kernels.into_iter().chain([Kernel::Gaussian; 2])) {
        let (map, near) = map(POINTS, dim);
        let charges: Vec<f64> = (0..POINTS).map(|i| 1.0 + (i % 3) as f64).collect();
        let exact = potential(&mut Exact, kernel, &map, &charges);
        let mut engine = Sampled::default();
        engine.set_near_pairs(POINTS, &|| near.clone());
        let (mut mean, mut single) = ((vec![0.0; POINTS], vec![0.0; map.len()]), [0.0; 2]);
        const ROUNDS: usize = 12;
        for round in 0..ROUNDS {
            engine.begin_round(round as u64);
            let found = potential(&mut engine, kernel, &map, &charges);
            mean.0.iter_mut().zip(&found.0).for_each(|(mean, v)| *mean += v / ROUNDS as f64);
            mean.1.iter_mut().zip(&found.1).for_each(|(mean, v)| *mean += v / ROUNDS as f64);
            single = [relative_error(&found.0, &exact.0), relative_error(&found.1, &exact.1)];
        }
        let mean = [relative_error(&mean.0, &exact.0), relative_error(&mean.1, &exact.1)];
        let what = format!("{dim} {kernel:?}: {single:?}, mean {mean:?}");
        assert!(single[0] > 0.0 && single[0] < 0.1, "{what}");
        // Independent errors of twelve rounds: a third to a fourth.
        assert!((0..2).all(|c| mean[c] < 0.5 * single[c]), "{what}");
    }
}

#[test]
fn a_round_is_a_function_whose_gradient_is_the_force() {
    let (mut map, near) = map(POINTS, 4);
    let kernel = Kernel::Cauchy { power: 1.0 };
    let charges = vec![1.0; POINTS];
    let mut engine = Sampled::default();
    engine.set_near_pairs(POINTS, &|| near.clone());
    engine.begin_round(3);
    let (_, gradients) = potential(&mut engine, kernel, &map, &charges);
    // A direction in which the function changes by much more than the rounding errors of its value.
    let direction = Seed(5).normals(map.len());
    let mut value = |step: f64, map: &mut [f64]| {
        map.iter_mut().zip(&direction).for_each(|(x, v)| *x += step * v);
        potential(&mut engine, kernel, map, &charges).0.iter().sum::<f64>()
    };
    let step = 0.02;
    let ahead = value(step, &mut map);
    let behind = value(-2.0 * step, &mut map);
    // Both points of a pair contribute to the sum of the potentials.
    let expected: f64 = 2.0 * gradients.iter().zip(&direction).map(|(g, v)| g * v).sum::<f64>();
    let found = (ahead - behind) / (2.0 * step);
    assert!((found - expected).abs() < 1e-3 * expected.abs(), "{found} {expected}");
}

#[test]
fn forces_between_points_cancel() {
    let (map, near) = map(POINTS, 10);
    let mut engine = Sampled::default();
    engine.set_near_pairs(POINTS, &|| near.clone());
    let (_, gradients) = potential(&mut engine, Kernel::Gaussian, &map, &vec![1.0; POINTS]);
    let size: f64 = gradients.iter().map(|g| g.abs()).sum();
    for axis in 0..10 {
        let total: f64 = gradients.iter().skip(axis).step_by(10).sum();
        assert!(total.abs() < 1e-6 * size, "axis {axis}: {total} of {size}");
    }
}

#[test]
fn bits_depend_on_the_round_but_not_on_the_number_of_threads_or_earlier_sums() {
    let (map, near) = map(POINTS, 10);
    let charges = vec![1.0; POINTS];
    let run = |threads, rounds: &[u64]| {
        with_threads(Some(threads), || {
            let mut engine = Sampled::default();
            engine.set_near_pairs(POINTS, &|| near.clone());
            let mut found = Vec::new();
            for &round in rounds {
                engine.begin_round(round);
                found = potential(&mut engine, Kernel::Cauchy { power: 1.0 }, &map, &charges).1;
            }
            found
        })
        .unwrap()
    };
    let expected = run(1, &[5]);
    assert_eq!(run(2, &[5]), expected);
    assert_eq!(run(3, &[4, 9, 5]), expected);
    assert_ne!(run(2, &[6]), expected);
}

#[test]
fn few_points_other_targets_and_sums_are_exact() {
    let (few, _) = map(500, 5);
    let kernel = Kernel::Cauchy { power: 1.0 };
    let charges = vec![1.0; 500];
    assert_eq!(
        potential(&mut Sampled::default(), kernel, &few, &charges),
        potential(&mut Exact, kernel, &few, &charges)
    );
    assert!(!Sampled::default().samples(MAX_EXACT_POINTS) && Sampled::default().samples(MAX_EXACT_POINTS + 1));
    let (many, _) = map(POINTS, 5);
    let (targets, sources) = (Points::new(&few, 5).unwrap(), Points::new(&many, 5).unwrap());
    let request = PotentialRequest { kernel, targets, sources, charges: &vec![1.0; POINTS] };
    let of = |engine: &mut dyn KernelSum| {
        let (mut values, mut gradients) = (vec![0.0; 500], vec![0.0; few.len()]);
        engine.potential(request, PotentialOutput { values: &mut values, gradients: &mut gradients }).unwrap();
        (values, gradients)
    };
    assert_eq!(of(&mut Sampled::default()), of(&mut Exact));
}

#[test]
fn coordinates_whose_squares_overflow_are_an_error() {
    let mut map = vec![0.0; POINTS * 4];
    map[9] = 1e16;
    let points = Points::new(&map, 4).unwrap();
    let (mut values, mut gradients) = (vec![0.0; POINTS], vec![0.0; map.len()]);
    let request =
        PotentialRequest { kernel: Kernel::Gaussian, targets: points, sources: points, charges: &vec![1.0; POINTS] };
    let output = PotentialOutput { values: &mut values, gradients: &mut gradients };
    let error = Sampled::default().potential(request, output).unwrap_err();
    assert!(error.to_string().contains("1e15"), "{error}");
}
