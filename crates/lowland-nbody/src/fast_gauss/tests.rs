//! Tests of the transform against the double loop: the certified bound holds, and reaches the requested accuracy.

use proptest::prelude::*;

use super::bound::{PairBounds, series_tail, translation_tail};
use super::plan::{BoxMethod, TransformPlan};
use super::transform::GaussTransform;
use super::*;
use crate::exact::tests::double_loop;
use crate::{Charges, PotentialOutput, PotentialRequest};
use lowland_core::Seed;

const ACCURACIES: [f64; 6] = [0.3, 1e-2, 1e-4, 1e-6, 1e-9, 1e-12];

fn gauss(charges: usize) -> KernelTerm {
    KernelTerm { kernel: Kernel::Gaussian, charges }
}

/// A request whose targets are the sources.
fn among<'a>(points: Points<'a>, terms: &'a [KernelTerm], charges: Charges<'a>) -> SumRequest<'a> {
    SumRequest { terms, targets: points, sources: points, charges }
}

/// Returns the largest error per unit of `sum |q|`, and the bound. Panics where the error exceeds the bound, or the bound the
/// accuracy.
fn check_bound(targets: &[f64], sources: &[f64], dim: usize, charges: &[f64], accuracy: f64) -> (f64, f64) {
    let (targets, sources) = (Points::new(targets, dim).unwrap(), Points::new(sources, dim).unwrap());
    let per_point = if sources.rows() == 0 { 1 } else { charges.len() / sources.rows() };
    let charges = Charges { values: charges, per_point };
    let terms = [gauss(per_point), gauss(1)];
    let mut out = vec![f64::NAN; targets.rows() * column_count(&terms)];
    let request = SumRequest { terms: &terms, targets, sources, charges };
    let report = FastGauss::new(accuracy).sum(request, &mut out).unwrap();
    let bound = report.bound.unwrap();
    assert!(bound <= accuracy, "bound {bound} for {accuracy}");
    let mut worst = 0.0f64;
    for (i, (found, expected)) in out.iter().zip(double_loop(request)).enumerate() {
        let c = match i % (per_point + 1) {
            c if c < per_point => c,
            _ => 0,
        };
        let total: f64 = charges.values.iter().skip(c).step_by(per_point).map(|q| q.abs()).sum();
        let error = (found - expected).abs();
        assert!(error <= bound * total, "{error:e} over {bound:e} * {total} at {accuracy}, d = {dim}");
        worst = worst.max(error / total.max(f64::MIN_POSITIVE));
    }
    (worst, bound)
}

/// Clusters of different sizes and widths.
fn clustered(n: usize, dim: usize, seed: u64) -> Vec<f64> {
    let (noise, centers) = (Seed(seed).normals(n * dim), Seed(seed + 1).normals(8 * dim));
    let x = noise.iter().enumerate().map(|(i, noise)| {
        let cluster = (i / dim) * (i / dim) % 8;
        6.0 * centers[cluster * dim + i % dim] + noise * 0.05 * (cluster + 1) as f64
    });
    x.collect()
}

#[test]
fn bound_holds_for_scattered_and_clustered_points_at_every_accuracy() {
    for dim in 1..=3 {
        for accuracy in ACCURACIES {
            let charges = Seed(3).normals(600 * 3);
            let scattered: Vec<f64> = Seed(1).normals(600 * dim).iter().map(|x| 3.0 * x).collect();
            check_bound(&scattered, &scattered, dim, &charges, accuracy);
            let clusters = clustered(600, dim, 5);
            check_bound(&clusters, &clusters, dim, &charges, accuracy);
            check_bound(&scattered[..200 * dim], &clusters, dim, &charges, accuracy);
            let dense: Vec<f64> = scattered.iter().map(|x| 0.1 * x).collect();
            check_bound(&dense, &dense, dim, &charges, accuracy);
        }
    }
}

/// Every method for a pair of boxes, forced by the numbers of points.
#[test]
fn each_method_is_used_and_keeps_its_bound() {
    let plan = TransformPlan::with_side(2, 1, 1e-4, 1.0).unwrap();
    let sizes = [(2, 2), (400, 2), (2, 400), (400, 400)];
    let methods = sizes.map(|(n, m)| plan.method(n, m, true));
    assert_eq!(methods, [BoxMethod::Direct, BoxMethod::Hermite, BoxMethod::Taylor, BoxMethod::Translate]);
    for (n, m) in sizes {
        let uniform = |count: usize, seed, shift: f64| -> Vec<f64> {
            Seed(seed).normals(count * 2).iter().map(|x| (0.3 * x).clamp(-0.5, 0.49) + shift).collect()
        };
        let (s, t) = (uniform(n, 1, 0.5), uniform(m, 2, 1.5));
        let (sources, targets) = (Points::new(&s, 2).unwrap(), Points::new(&t, 2).unwrap());
        let q = Seed(3).normals(n);
        let charges = Charges { values: &q, per_point: 1 };
        let mut out = vec![0.0; m];
        let boxes = PointBoxes::<2>::new(sources, 1.0);
        let bound = GaussTransform::new(plan.clone(), sources, charges, boxes)
            .sum(&[gauss(1)], targets, false, &mut out)
            .values;
        let total: f64 = q.iter().map(|q| q.abs()).sum();
        let exact = double_loop(SumRequest { terms: &[gauss(1)], targets, sources, charges });
        let worst = out.iter().zip(&exact).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(worst <= bound * total, "{n} {m}: {worst:e} {bound:e}");
        assert!((n, m) == (2, 2) || worst > 1e-14 * total, "{n} {m}: no series was used: {worst:e}");
    }
}

#[test]
fn coincident_distant_single_and_absent_points_are_summed() {
    for dim in 1..=3 {
        for accuracy in [1e-2, 1e-6, 1e-12] {
            let (worst, _) = check_bound(&vec![0.3; 50 * dim], &vec![0.3; 400 * dim], dim, &[1.0; 400], accuracy);
            assert!(worst < accuracy);
            check_bound(&vec![1.0; dim], &vec![-0.0; dim], dim, &[-2.0], accuracy);
            check_bound(&vec![1.0; 3 * dim], &[], dim, &[], accuracy);
            check_bound(&[], &vec![1.0; dim], dim, &[1.0], accuracy);
            // Islands a billion apart, each of many points: distances within them must not suffer.
            let islands: Vec<f64> = clustered(500, dim, 7)
                .chunks(dim)
                .enumerate()
                .flat_map(|(i, row)| row.iter().map(move |x| x + (i % 3) as f64 * 1e9 - 0.7e9).collect::<Vec<_>>())
                .collect();
            check_bound(&islands, &islands, dim, &Seed(1).normals(1000), accuracy);
        }
    }
}

#[test]
fn zero_charges_keep_the_bound() {
    let x = Seed(1).normals(400);
    let charges: Vec<f64> = (0..200).flat_map(|i| [0.0, (i % 2) as f64 - 0.5]).collect();
    check_bound(&x, &x, 2, &charges, 1e-5);
}

#[test]
fn coordinates_beyond_the_boxes_are_summed_exactly() {
    let x = [1e300, 0.0, -1e15, 3.0, f64::INFINITY, 1.0, 0.5, 0.25, 0.5, 1.25];
    let points = Points::new(&x, 2).unwrap();
    let (mut fast, mut exact) = ([0.0; 5], [0.0; 5]);
    let charges = Charges { values: &[1.0; 5], per_point: 1 };
    let report = FastGauss::default().sum(among(points, &[gauss(1)], charges), &mut fast).unwrap();
    Exact.sum(among(points, &[gauss(1)], charges), &mut exact).unwrap();
    assert_eq!(fast.map(f64::to_bits), exact.map(f64::to_bits));
    assert_eq!(report.bound, Some(0.0));
    for accuracy in [0.0, -1.0, f64::NAN, 1e-15] {
        let near = Points::new(&x[6..], 2).unwrap();
        let charges = Charges { values: &[1.0; 2], per_point: 1 };
        let report = FastGauss::new(accuracy).sum(among(near, &[gauss(1)], charges), &mut fast[..2]).unwrap();
        assert_eq!(report.bound, Some(0.0), "{accuracy}");
    }
}

#[test]
fn unsupported_kernels_and_dimensions_are_errors_with_a_remedy() {
    let x = [0.0; 8];
    let charges = |n| Charges { values: &x[..n], per_point: 1 };
    let cauchy = KernelTerm { kernel: Kernel::Cauchy { power: 1.0 }, charges: 1 };
    let flat = Points::new(&x, 2).unwrap();
    let error = FastGauss::default().sum(among(flat, &[gauss(1), cauchy], charges(4)), &mut [0.0; 8]).unwrap_err();
    assert!(matches!(&error, Error::Parameter { name: "engine", .. }) && error.to_string().contains("barnes-hut"));
    let four = Points::new(&x, 4).unwrap();
    let error = FastGauss::default().sum(among(four, &[gauss(1)], charges(2)), &mut [0.0; 2]).unwrap_err();
    assert!(error.to_string().contains("found 4"), "{error}");
}

#[test]
fn sums_do_not_depend_on_the_number_of_threads() {
    for dim in 1..=3 {
        let (x, q) = (clustered(3000, dim, 1), Seed(2).normals(3000 * 2));
        let sums = |threads| {
            lowland_core::with_threads(Some(threads), || {
                let points = Points::new(&x, dim).unwrap();
                let mut out = vec![0.0; 3000 * 2];
                let charges = Charges { values: &q, per_point: 2 };
                let report = FastGauss::new(1e-5).sum(among(points, &[gauss(2)], charges), &mut out).unwrap();
                (out, report.bound.unwrap().to_bits())
            })
            .unwrap()
        };
        let one = sums(1);
        assert!(one == sums(2) && one == sums(3), "d = {dim}");
    }
}

#[test]
fn tails_match_their_sums_and_stay_below_the_bound_of_the_paper() {
    let factorial = |n: usize| (1..=n).map(|k| k as f64).product::<f64>();
    for (r, p) in [(0.35f64, 3), (0.5, 5), (0.6, 8), (1.0, 12), (2.0, 24)] {
        let one: f64 = (p..p + 60).map(|n| r.powi(n as i32) / factorial(n).sqrt()).sum();
        let term = |n: usize, m: usize| r.powi((n + m) as i32) * factorial(n + m).sqrt() / factorial(n) / factorial(m);
        let two: f64 = (0..p).flat_map(|n| (p..p + 60).map(move |m| (n, m))).map(|(n, m)| term(n, m)).sum();
        assert!(series_tail(r, p) >= one * (1.0 - 1e-12) && series_tail(r, p) <= one * 1.01, "{r} {p}");
        assert!(translation_tail(r, p) >= two * (1.0 - 1e-12) && translation_tail(r, p) <= two * 1.01, "{r} {p}");
        if r >= 1.0 {
            continue;
        }
        for dim in 1..=3 {
            // Eq 5 as printed.
            let sum = |r: f64| -> f64 {
                let tail = r.powi(p as i32) / factorial(p).sqrt();
                let binomial = |k: usize| factorial(dim) / factorial(k) / factorial(dim - k);
                let term =
                    |k: usize| binomial(k) * (1.0 - r.powi(p as i32)).powi(k as i32) * tail.powi((dim - k) as i32);
                (0..dim).map(term).sum()
            };
            let eq5 = sum(r) / (1.0 - r).powi(dim as i32);
            let bounds = PairBounds::new(r * std::f64::consts::SQRT_2, p, 0);
            let ours = bounds.error(BoxMethod::Hermite, (0..dim).map(|_| 0));
            assert!(ours <= eq5, "{r} {p} {dim}: {ours} {eq5}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn bound_holds_for_any_points(
        dim in 1usize..=3,
        points in prop::collection::vec((-4.0..4.0f64, 0u32..4), 3..300),
        targets in 1usize..60,
        accuracy in -12.0..-0.5f64,
        widths in prop::array::uniform4(-3.0..3.0f64),
        seed: u64,
    ) {
        let x: Vec<f64> = points.iter().map(|&(x, group)| x * 10f64.powf(widths[group as usize])).collect();
        let x = &x[..x.len() / dim * dim];
        let targets = &x[..(targets * dim).min(x.len())];
        check_bound(targets, x, dim, &Seed(seed).normals(x.len() / dim * 2), 10f64.powf(accuracy));
    }
}

/// Returns the root of the summed squared errors of the gradients, the same of the gradients themselves, and the report.
fn gradient_errors(x: &[f64], dim: usize, charges: &[f64], accuracy: f64) -> (f64, f64, ErrorReport) {
    let points = Points::new(x, dim).unwrap();
    let request = PotentialRequest { kernel: Kernel::Gaussian, targets: points, sources: points, charges };
    let potential = |engine: &mut dyn KernelSum| {
        let (mut values, mut gradients) = (vec![0.0; points.rows()], vec![0.0; x.len()]);
        let report = engine.potential(request, PotentialOutput { values: &mut values, gradients: &mut gradients });
        (gradients, report.unwrap())
    };
    let (exact, _) = potential(&mut Exact);
    let (found, report) = potential(&mut FastGauss::new(accuracy));
    let wrong: f64 = found.iter().zip(&exact).map(|(a, b)| (a - b).powi(2)).sum();
    (wrong.sqrt(), exact.iter().map(|g| g * g).sum::<f64>().sqrt(), report)
}

#[test]
fn the_certified_bound_of_the_force_holds_at_every_accuracy() {
    for dim in 1..=3 {
        let scattered: Vec<f64> = Seed(1).normals(700 * dim).iter().map(|x| 3.0 * x + 20.0).collect();
        let dense: Vec<f64> = Seed(4).normals(700 * dim).iter().map(|x| 0.3 * x).collect();
        for x in [scattered, dense, clustered(700, dim, 5)] {
            for charges in [vec![1.0; 700], Seed(3).normals(700)] {
                for accuracy in ACCURACIES.into_iter().chain([1.0]) {
                    let (wrong, size, report) = gradient_errors(&x, dim, &charges, accuracy);
                    let bound = report.force_bound.unwrap();
                    assert!(wrong <= bound, "{wrong:e} over {bound:e} at {accuracy}, d = {dim}");
                    // It is a bound of the force and not just finite: it shrinks with the accuracy.
                    assert!(bound < 1e3 * accuracy * size.max(1.0), "{bound:e} of {size:e} at {accuracy}, d = {dim}");
                }
            }
        }
    }
}

#[test]
fn a_coarser_accuracy_is_cheaper_and_its_error_larger() {
    let x: Vec<f64> = Seed(2).normals(6000 * 2).iter().map(|x| 4.0 * x).collect();
    let mut before: Option<(f64, f64)> = None;
    for accuracy in [1e-8, 1e-4, 1e-2, 1.0] {
        let (wrong, size, report) = gradient_errors(&x, 2, &[1.0; 6000], accuracy);
        if let Some((work, error)) = before {
            assert!(report.work < 0.9 * work && wrong / size > 3.0 * error, "{accuracy}: {} {wrong}", report.work);
        }
        before = Some((report.work, wrong / size));
    }
    let (_, error) = before.unwrap();
    assert!(error > 1e-3 && error < 0.2, "{error} at an accuracy of 1");
}
