//! Tests of every approximate engine against the double loop.

use proptest::prelude::*;

use super::{
    BarnesHut, Charges, Fft, Kernel, KernelSum, KernelTerm, PotentialOutput, PotentialRequest, SumRequest, column_count,
};
use lowland_core::with_threads;
use lowland_core::{Error, Points, Result, Seed};

const POINTS: usize = 700;
const KERNELS: [Kernel; 5] = [
    Kernel::Gaussian,
    Kernel::Cauchy { power: 1.0 },
    Kernel::Cauchy { power: 2.0 },
    Kernel::Cauchy { power: 3.0 },
    Kernel::Cauchy { power: 1.5 },
];

/// Two terms of each kernel, so that charges are shared and columns must not be mixed up.
fn terms(kernel: Kernel, charges: usize) -> [KernelTerm; 2] {
    [KernelTerm { kernel: Kernel::Cauchy { power: 1.0 }, charges: 1 }, KernelTerm { kernel, charges }]
}

/// Maps in multiples of `unit`: scattered, in tight clusters, coincident, and with a few outliers.
fn maps(dim: usize, unit: f64) -> Vec<(&'static str, Vec<f64>)> {
    let normals: Vec<f64> = Seed(3).normals(POINTS * dim).iter().map(|x| unit * x).collect();
    let of = |coordinate: &dyn Fn(usize, usize) -> f64| {
        (0..POINTS * dim).map(|at| coordinate(at / dim, at % dim)).collect::<Vec<_>>()
    };
    vec![
        ("scattered", of(&|i, axis| 6.0 * normals[i * dim + axis] + 40.0 * unit)),
        ("clustered", of(&|i, axis| 0.1 * normals[i * dim + axis] + 9.0 * normals[i % 7 * dim + axis])),
        ("coincident", of(&|i, axis| normals[i % 3 * dim + axis])),
        ("far-flung", of(&|i, axis| normals[i * dim + axis] * if i % 100 == 0 { 80.0 } else { 1.0 })),
        ("oblong", of(&|i, axis| normals[i * dim + axis] * [1.0, 3.0, 8.0][axis % 3])),
        ("small", of(&|i, axis| 1e-3 * normals[i * dim + axis])),
    ]
}

/// `{1, x ..}` with signs, so that charges of both signs meet.
fn charges(map: &[f64], dim: usize) -> Vec<f64> {
    let row = |point: &[f64]| std::iter::once(1.0).chain(point.iter().copied()).collect::<Vec<_>>();
    map.chunks_exact(dim).flat_map(row).collect()
}

/// The sums by the double loop, and those of the absolute values.
fn oracle(
    terms: &[KernelTerm],
    targets: &[f64],
    sources: &[f64],
    dim: usize,
    charges: Charges,
) -> (Vec<f64>, Vec<f64>) {
    let (mut sums, mut sizes) = (Vec::new(), Vec::new());
    for target in targets.chunks_exact(dim) {
        for term in terms {
            for charge in 0..term.charges {
                let (mut sum, mut size) = (0.0, 0.0);
                for (j, source) in sources.chunks_exact(dim).enumerate() {
                    let squared = (0..dim).map(|axis| (target[axis] - source[axis]).powi(2)).sum();
                    let part = term.kernel.value(squared) * charges.values[j * charges.per_point + charge];
                    sum += part;
                    size += part.abs();
                }
                sums.push(sum);
                sizes.push(size);
            }
        }
    }
    (sums, sizes)
}

fn sum(
    engine: &mut dyn KernelSum,
    terms: &[KernelTerm],
    targets: &[f64],
    sources: &[f64],
    dim: usize,
    charges: Charges,
) -> Result<Vec<f64>> {
    let mut out = vec![f64::NAN; targets.len() / dim * column_count(terms)];
    let (targets, sources) = (Points::new(targets, dim)?, Points::new(sources, dim)?);
    engine.sum(SumRequest { terms, targets, sources, charges }, &mut out)?;
    Ok(out)
}

/// Root mean square of the errors relative to that of the sizes, for the worst column.
fn error(found: &[f64], sums: &[f64], sizes: &[f64], columns: usize) -> f64 {
    let of_column = |column: usize| {
        let rows = (column..found.len()).step_by(columns);
        let wrong: f64 = rows.clone().map(|at| (found[at] - sums[at]).powi(2)).sum();
        (wrong / rows.map(|at| sizes[at].powi(2)).sum::<f64>()).sqrt()
    };
    (0..columns).map(of_column).fold(0.0, f64::max)
}

fn engines(dim: usize) -> Vec<Box<dyn KernelSum>> {
    let mut engines: Vec<Box<dyn KernelSum>> = vec![Box::new(BarnesHut::default())];
    if dim <= 3 {
        engines.push(Box::new(Fft::default()));
    }
    engines
}

#[test]
fn sums_agree_with_the_double_loop_for_every_kernel_map_and_dimension() {
    // In three dimensions a grid is for maps of small extent.
    for (dim, unit) in [(1, 1.0), (2, 1.0), (3, 1.0), (3, 0.2), (5, 1.0), (8, 1.0)] {
        for (name, map) in maps(dim, unit) {
            let charges = charges(&map, dim);
            let charges = Charges { values: &charges, per_point: dim + 1 };
            // Some of the targets lie outside the sources.
            let targets: Vec<f64> = map[..60 * dim].iter().map(|x| 1.1 * x + 1.0).collect();
            for kernel in KERNELS {
                let terms = terms(kernel, dim + 1);
                for targets in [&map[..], &targets] {
                    let (sums, sizes) = oracle(&terms, targets, &map, dim, charges);
                    for mut engine in engines(dim) {
                        let grid_in_space = engine.name() == "fft" && dim == 3;
                        if grid_in_space != (unit < 1.0) || grid_in_space && name == "far-flung" {
                            continue;
                        }
                        for accuracy in if grid_in_space { [1e-2, 2e-3] } else { [1e-2, 1e-4] } {
                            engine.set_accuracy(accuracy);
                            let found = sum(&mut *engine, &terms, targets, &map, dim, charges).unwrap();
                            let error = error(&found, &sums, &sizes, column_count(&terms));
                            let what = format!("{} {name} {dim} {kernel:?} {accuracy}: {error}", engine.name());
                            // Clusters much smaller than a cell are the worst case of a grid: errors do not average out.
                            assert!(error <= if name == "clustered" { 8.0 } else { 3.0 } * accuracy, "{what}");
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn error_decreases_with_the_accuracy() {
    let (_, map) = maps(2, 1.0).swap_remove(0);
    let charges = charges(&map, 2);
    let charges = Charges { values: &charges, per_point: 3 };
    let terms = terms(Kernel::Cauchy { power: 2.0 }, 3);
    let (sums, sizes) = oracle(&terms, &map, &map, 2, charges);
    for mut engine in engines(2) {
        let errors = [1e-1, 1e-2, 1e-3, 1e-5, 1e-7].map(|accuracy| {
            engine.set_accuracy(accuracy);
            error(&sum(&mut *engine, &terms, &map, &map, 2, charges).unwrap(), &sums, &sizes, 4)
        });
        assert!(errors.is_sorted_by(|a, b| a >= b) && errors[0] > 1e-4 && errors[4] < 1e-7, "{errors:?}");
    }
}

#[test]
fn sums_do_not_depend_on_threads_or_earlier_calls() {
    for (dim, size) in [(2, 9.0), (3, 1.5)] {
        // More points than a chunk holds, so that there are several tasks.
        let map = Seed(5).normals(dim * 10_000).iter().map(|x| size * x).collect::<Vec<_>>();
        let others = Seed(6).normals(dim * 500);
        let charges = charges(&map, dim);
        let charges = Charges { values: &charges, per_point: dim + 1 };
        let terms = terms(Kernel::Cauchy { power: 2.0 }, dim + 1);
        let run = |engine: &mut dyn KernelSum, threads, targets: &[f64]| {
            engine.set_accuracy(1e-2);
            with_threads(Some(threads), || sum(engine, &terms, targets, &map, dim, charges).unwrap()).unwrap()
        };
        for which in 0..2 {
            let fresh = || engines(dim).swap_remove(which);
            let (whole, part) = (run(&mut *fresh(), 1, &map), run(&mut *fresh(), 1, &others));
            let mut used = fresh();
            for threads in [2, 3] {
                assert_eq!(run(&mut *used, threads, &map), whole);
                assert_eq!(run(&mut *used, threads, &others), part);
                // A copy of the sources differs from the sources only by its address.
                assert_eq!(run(&mut *used, threads, &map.clone()), whole);
            }
        }
    }
}

#[test]
fn empty_and_single_point_sums_work() {
    for dim in 1..=3 {
        for mut engine in engines(dim) {
            let (point, terms) = (vec![1.0; dim], terms(Kernel::Gaussian, 1));
            let charges = |values| Charges { values, per_point: 1 };
            assert_eq!(sum(&mut *engine, &terms, &[], &[], dim, charges(&[])).unwrap(), [0.0; 0]);
            assert_eq!(sum(&mut *engine, &terms, &[], &point, dim, charges(&[1.0])).unwrap(), [0.0; 0]);
            assert_eq!(sum(&mut *engine, &terms, &point, &[], dim, charges(&[])).unwrap(), [0.0; 2]);
            let one = sum(&mut *engine, &terms, &point, &point, dim, charges(&[3.0])).unwrap();
            assert!(one.iter().all(|value| (value - 3.0).abs() < 1e-6), "{one:?}");
            assert_eq!(sum(&mut *engine, &[], &point, &point, dim, charges(&[3.0])).unwrap(), [0.0; 0]);
        }
    }
}

#[test]
fn unsupported_input_is_an_error_with_a_remedy() {
    let terms = terms(Kernel::Gaussian, 1);
    let wide = [0.0, 0.0, 1e6, 1.0];
    let charges = Charges { values: &[1.0; 2], per_point: 1 };
    let error = sum(&mut Fft::default(), &terms, &wide, &wide, 2, charges).unwrap_err();
    assert!(matches!(&error, Error::Numerical { .. }) && error.to_string().contains("barnes-hut"), "{error}");
    let wide_in_space = [0.0, 0.0, 0.0, 1.0, 1.0, 400.0];
    let error = sum(&mut Fft::default(), &terms, &wide_in_space, &wide_in_space, 3, charges).unwrap_err();
    assert!(error.to_string().contains("256 nodes a side"), "{error}");
    let near = [0.0, 0.0, 300.0, 100.0];
    let fits = |targets: &[f64], sources: &[f64]| {
        let kernels = [Kernel::Cauchy { power: 1.0 }];
        Fft::fits(&kernels, Points::new(targets, 2).unwrap(), Points::new(sources, 2).unwrap(), 1e-3)
    };
    assert!(!fits(&wide, &wide) && !fits(&wide, &near) && !fits(&near, &wide));
    assert!(fits(&near, &near) && fits(&near[..2], &near));
    assert!(!fits(&[f64::NAN, 0.0], &near) && !fits(&near, &[1e308, 1e308]));
    let error = sum(&mut Fft::default(), &terms, &[0.0; 8], &[0.0; 8], 4, charges).unwrap_err();
    assert!(matches!(error, Error::Parameter { name: "engine", .. }), "{error}");
    let many = [0.0; 22];
    let error = sum(&mut BarnesHut::default(), &terms, &many, &many, 11, charges).unwrap_err();
    assert!(matches!(error, Error::Parameter { name: "engine", .. }), "{error}");
    for mut engine in engines(2) {
        for bad in [f64::NAN, f64::INFINITY] {
            let map = [0.0, 0.0, bad, 1.0];
            assert!(matches!(sum(&mut *engine, &terms, &map, &map, 2, charges), Err(Error::Numerical { .. })));
        }
    }
}

#[test]
fn grid_gradients_match_the_potential() {
    for (dim, unit, finest) in [(1, 1.0, 1e-4), (2, 1.0, 1e-4), (3, 0.2, 2e-3)] {
        for (name, map) in maps(dim, unit).into_iter().filter(|(name, _)| dim < 3 || *name != "far-flung") {
            for kernel in [Kernel::Gaussian, Kernel::Cauchy { power: 1.0 }, Kernel::Cauchy { power: 2.0 }] {
                let (next, factor) = match kernel {
                    Kernel::Gaussian => (kernel, -2.0),
                    Kernel::Cauchy { power } => (Kernel::Cauchy { power: power + 1.0 }, -2.0 * power),
                };
                let points = Points::new(&map, dim).unwrap();
                let charges: Vec<f64> = (0..POINTS).map(|i| 1.0 + (i % 3) as f64).collect();
                let mut engine = Fft::default();
                for accuracy in [1e-2, finest] {
                    engine.set_accuracy(accuracy);
                    let (mut values, mut gradients) = (vec![0.0; POINTS], vec![0.0; POINTS * dim]);
                    let request = PotentialRequest { kernel, targets: points, sources: points, charges: &charges };
                    let out = PotentialOutput { values: &mut values, gradients: &mut gradients };
                    engine.potential(request, out).unwrap();
                    let (mut wrong, mut all) = (0.0, 0.0);
                    for (i, target) in map.chunks_exact(dim).enumerate() {
                        let (mut value, mut gradient, mut size) = (0.0, vec![0.0; dim], vec![0.0f64; dim]);
                        for (source, q) in map.chunks_exact(dim).zip(&charges) {
                            let squared = (0..dim).map(|axis| (target[axis] - source[axis]).powi(2)).sum();
                            value += q * kernel.value(squared);
                            for axis in 0..dim {
                                let part = factor * q * next.value(squared) * (target[axis] - source[axis]);
                                gradient[axis] += part;
                                size[axis] += part.abs();
                            }
                        }
                        assert!((values[i] - value).abs() <= 5.0 * accuracy * value, "{name} {kernel:?} {i}");
                        for axis in 0..dim {
                            wrong += (gradients[i * dim + axis] - gradient[axis]).powi(2);
                            all += size[axis].powi(2);
                        }
                    }
                    let error = f64::sqrt(wrong / all);
                    // Clusters much smaller than a cell are the worst case of a grid: errors do not average out.
                    let worst = if matches!(name, "clustered" | "coincident") { 20.0 } else { 3.0 };
                    assert!(error < worst * accuracy, "{name} {dim} {kernel:?} {accuracy}: {error}");
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn hostile_coordinates_and_settings_never_panic(
        map in prop::collection::vec(
            prop_oneof![-1e3..1e3f64, any::<f64>(), Just(0.0), Just(1e300), Just(-1e-300)], 2..24),
        accuracy in prop_oneof![any::<f64>(), 1e-6..1.0f64],
        power in prop_oneof![any::<f64>(), 0.1..9.0f64],
        dim in 1..4usize,
    ) {
        let map = &map[..map.len() / dim * dim];
        let charges = vec![1.0; map.len() / dim];
        let charges = Charges { values: &charges, per_point: 1 };
        for mut engine in engines(dim) {
            engine.set_accuracy(accuracy);
            for kernel in [Kernel::Gaussian, Kernel::Cauchy { power }] {
                let _ = sum(&mut *engine, &terms(kernel, 1), map, map, dim, charges);
            }
        }
    }
}
