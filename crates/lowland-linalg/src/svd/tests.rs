//! Both algorithms compared with each other and with other programs.

use super::*;
use lowland_core::Sparse;
use lowland_core::with_threads;
use proptest::prelude::*;

fn quiet(_: f64) -> Result<()> {
    Ok(())
}

fn svd_with_defaults(data: &Data, components: usize, center: bool) -> Svd {
    svd(data, components, center, SvdOptions::default(), Seed(0)).unwrap()
}

fn to_sparse(data: &Data) -> Data {
    let Data::Dense(x) = data else { unreachable!() };
    let (mut indptr, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
    for i in 0..x.rows() {
        for (j, &v) in x.row(i).iter().enumerate().filter(|(_, v)| **v != 0.0) {
            indices.push(j as u32);
            values.push(v);
        }
        indptr.push(indices.len());
    }
    Data::Sparse(Sparse::new(indptr, indices, values, x.dim()).unwrap())
}

fn assert_close(found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len());
    for (f, e) in found.iter().zip(expected) {
        assert!((f - e).abs() <= tolerance, "{found:?}\n{expected:?}");
    }
}

/// The data of the expected numbers below.
fn golden_data() -> Data {
    let cell = |i: usize, j: usize| {
        let base = ((i * 37 + j * 101 + i * j * 13) % 97) as f32 / 97.0;
        base * (1 + j) as f32 + if j == 2 { 5.0 } else { 0.0 }
    };
    Data::dense((0..240).map(|at| cell(at / 6, at % 6)).collect(), 6).unwrap()
}

#[test]
fn components_agree_with_scikit_learn_and_numpy() {
    // scikit-learn 1.9.1, PCA(3, svd_solver="full") in float64.
    let values = [11.075272003357751, 9.548798521961675, 7.491888315649401];
    #[rustfmt::skip]
        let components = [
            0.035391485207822, 0.035290441189548, 0.109658390930265, 0.163433823751, 0.045542722033848, 0.978106492442357,
            -0.009640874042666, 0.058957961481884, -0.010182579924103, -0.149891170949713, 0.986608551488867, -0.021529755968116,
            -0.011802086179571, -0.01631558073742, 0.345884828262212, 0.906981376613344, 0.137951896819965, -0.195735164968812,
        ];
    let mean = [
        0.488144320785068,
        0.935566988866776,
        6.492268025875092,
        2.008247384335846,
        2.283505091909319,
        2.918041183240712,
    ];
    // numpy 2.4.6, linalg.svd without centering: the first two.
    let plain_values = [50.04016936977884, 10.203586307191664];
    let plain_second = [
        0.022471499969385,
        -0.030909155403463,
        -0.220836487185219,
        0.030834112863371,
        -0.499183905027157,
        0.83644222046405,
    ];
    let data = golden_data();
    for data in [&data, &to_sparse(&data)] {
        let pca = svd_with_defaults(data, 3, true);
        assert_close(&pca.singular_values, &values, 1e-11);
        assert_close(&pca.components, &components, 1e-11);
        assert_close(&pca.mean, &mean, 1e-12);
        let share = pca.singular_values[0].powi(2) / pca.total_squares;
        assert!((share - 0.39391030808578).abs() < 1e-12);
        let plain = svd_with_defaults(data, 2, false);
        assert_close(&plain.singular_values, &plain_values, 1e-11);
        assert_close(&plain.components[6..], &plain_second, 1e-11);
    }
}

/// Rows with a decaying spectrum, longer than what is decomposed densely.
fn long_rows(rows: usize) -> Data {
    let (dim, rank) = (320, 40);
    let (left, right) = (Seed(1).normals(rows * rank), Seed(2).normals(rank * dim));
    let value = |i: usize, j: usize| -> f64 {
        (0..rank).map(|r| left[i * rank + r] * right[r * dim + j] * 0.8f64.powi(r as i32)).sum()
    };
    Data::dense((0..rows * dim).map(|at| value(at / dim, at % dim) as f32 + 3.0).collect(), dim).unwrap()
}

#[test]
fn the_iteration_agrees_with_the_exact_decomposition_for_dense_and_sparse_rows() {
    let data = long_rows(2100);
    for center in [true, false] {
        let exact = exact_svd(&data, 5, center).unwrap();
        for data in [data.clone(), to_sparse(&data)] {
            let mut iteration = RandomizedSvd::new(&data, 5, center, SvdOptions::default(), Seed(3)).unwrap();
            let found = iteration.run(&mut quiet).unwrap();
            assert!(found.report.converged && found.report.solver == EigenMethod::Lobpcg, "{:?}", found.report);
            let scale = exact.singular_values[0];
            assert_close(&found.singular_values, &exact.singular_values, 1e-7 * scale);
            assert_close(&found.components, &exact.components, 1e-3);
            assert!((found.total_squares / exact.total_squares - 1.0).abs() < 1e-10);
            // The squared norms of the projections are the squared singular values.
            let y = found.map().apply(&data).unwrap().into_values();
            let squares = block::column_dots(&y, &y, 5);
            squares.iter().zip(&exact.singular_values).for_each(|(q, s)| assert!((q / s / s - 1.0).abs() < 1e-6));
        }
    }
}

#[test]
fn tiny_and_huge_numbers_give_the_same_components() {
    let data = golden_data();
    let Data::Dense(x) = &data else { unreachable!() };
    let base = svd_with_defaults(&data, 4, true);
    for power in [-100, 100] {
        let factor = 2f32.powi(power);
        let scaled = Data::dense(x.values().iter().map(|v| v * factor).collect(), 6).unwrap();
        for scaled in [&scaled, &to_sparse(&scaled)] {
            let found = svd_with_defaults(scaled, 4, true);
            assert_close(&found.components, &base.components, 1e-10);
            let back: Vec<f64> = found.singular_values.iter().map(|s| s / f64::from(factor)).collect();
            assert_close(&back, &base.singular_values, 1e-9);
        }
    }
}

#[test]
fn degenerate_data_have_zero_singular_values_and_orthonormal_components() {
    let wide = |rows: usize| Data::dense((0..rows * 300).map(|at| (at * at % 17) as f32).collect(), 300).unwrap();
    let constant = Data::dense(vec![7.5; 50 * 300], 300).unwrap();
    let zero = Data::dense(vec![0.0; 10 * 3], 3).unwrap();
    for (data, rank) in [(wide(1), 0), (wide(2), 1), (wide(3), 2), (constant, 0), (zero, 0)] {
        for data in [&data, &to_sparse(&data)] {
            let k = 3;
            let both = [
                svd_with_defaults(data, k, true),
                RandomizedSvd::new(data, k, true, SvdOptions::default(), Seed(0)).unwrap().run(&mut quiet).unwrap(),
            ];
            for found in both {
                assert!(found.report.converged, "{:?}", found.report);
                assert!(found.singular_values[..rank].iter().all(|s| *s > 1.0));
                assert!(found.singular_values[rank..].iter().all(|s| *s < 1e-4), "{:?}", found.singular_values);
                let dim = data.dim();
                for a in 0..k {
                    for b in 0..k {
                        let dot: f64 =
                            (0..dim).map(|j| found.components[a * dim + j] * found.components[b * dim + j]).sum();
                        assert!((dot - f64::from(u8::from(a == b))).abs() < 1e-10);
                    }
                }
            }
        }
    }
}

#[test]
fn restoring_threads_and_batches_do_not_change_the_result() {
    // Long enough for several blocks of sparse rows.
    let data = long_rows(2100);
    let whole = |data: Data| {
        move || {
            let mut iteration = RandomizedSvd::new(&data, 4, true, SvdOptions::default(), Seed(3)).unwrap();
            (0..3).for_each(|_| iteration.step().unwrap());
            let mut second = RandomizedSvd::new(&data, 4, true, SvdOptions::default(), Seed(3)).unwrap();
            second.restore(iteration.save()).unwrap();
            let (a, b) = (iteration.run(&mut quiet).unwrap(), second.run(&mut quiet).unwrap());
            assert_eq!(a, b);
            (a, exact_svd(&data, 4, true).ok())
        }
    };
    for data in [data.clone(), to_sparse(&data)] {
        let one = with_threads(Some(1), whole(data.clone())).unwrap();
        for threads in [2, 3] {
            assert_eq!(one, with_threads(Some(threads), whole(data.clone())).unwrap());
        }
        let all = one.0.map().apply(&data).unwrap().into_values();
        let few = one.0.map().apply(&data.select(&[5, 2099])).unwrap().into_values();
        assert_eq!(few, [&all[20..24], &all[2099 * 4..]].concat());
    }
}

#[test]
fn invalid_requests_are_rejected() {
    let data = golden_data();
    let find = |data: &Data, k| svd(data, k, true, SvdOptions::default(), Seed(0));
    assert!(matches!(find(&data, 0), Err(Error::Parameter { .. })));
    assert!(matches!(find(&data, 7), Err(Error::Parameter { .. })));
    assert!(matches!(find(&Data::text(vec!["a".into()]), 1), Err(Error::Kind { .. })));
    assert!(matches!(find(&data.select(&[]), 1), Err(Error::TooFewPoints { .. })));
    let bad = Data::dense(vec![1.0, f32::NAN, 2.0, f32::INFINITY], 2).unwrap();
    assert!(matches!(find(&bad, 1), Err(Error::NotFinite { row: 0, column: 1, count: 2, .. })));
    assert!(matches!(find(&to_sparse(&bad), 1), Err(Error::NotFinite { .. })));
    assert!(svd_with_defaults(&data, 2, true).map().apply(&bad).is_err());
    let mut stop = |_: f64| Err(Error::Stopped { stage: "test" });
    assert!(svd_with(&data, 2, true, SvdOptions::default(), Seed(0), &mut stop).is_err());
}

proptest! {
    #[test]
    fn any_finite_numbers_give_finite_results(values in prop::collection::vec(prop_oneof![Just(0.0f32), Just(f32::MAX), Just(1e-45f32), -1e30f32..1e30], 1..30), dim in 1usize..6, center in any::<bool>()) {
        let rows = values.len() / dim;
        prop_assume!(rows > 0);
        let data = Data::dense(values[..rows * dim].to_vec(), dim).unwrap();
        for data in [&data, &to_sparse(&data)] {
            let found = svd_with_defaults(data, dim, center);
            prop_assert!(found.components.iter().chain(&found.singular_values).all(|v| v.is_finite()));
            prop_assert!(found.map().apply(data).unwrap().into_values().iter().all(|v| v.is_finite()));
        }
    }
}
