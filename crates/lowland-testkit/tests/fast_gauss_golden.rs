//! Comparison of the fast Gauss transform with an independent numpy program: coefficients and values of one pair of boxes
//! (eqs 2-4), and complete sums.

use lowland::{Embedding, Points};
use lowland_nbody::fast_gauss::coefficients;
use lowland_nbody::{Charges, Exact, FastGauss, Kernel, KernelSum, KernelTerm, SumRequest};

fn golden(name: &str) -> Embedding {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/fgt").join(format!("{name}.npy"));
    lowland_io::read_map(&path).expect("a golden array").embedding
}

/// Returns a golden array in units of sigma.
fn scaled(name: &str) -> Embedding {
    let (points, sigma) = (golden(name), golden("sigma").values()[0]);
    Embedding::new(points.values().iter().map(|x| x / sigma).collect(), points.dim()).expect("the same shape")
}

fn assert_close(what: &str, ours: &[f64], theirs: &[f64], tolerance: f64) {
    assert_eq!(ours.len(), theirs.len(), "{what}");
    let largest = theirs.iter().fold(0.0f64, |m, v| m.max(v.abs()));
    let worst = ours.iter().zip(theirs).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(largest > 0.0 && worst <= tolerance * largest, "{what}: off by {worst:e}, largest value {largest}");
}

#[test]
fn coefficients_and_values_of_a_pair_of_boxes_match_numpy() {
    let (sources, targets, q) = (scaled("pair_sources"), scaled("pair_targets"), golden("pair_q"));
    let (from, to) = (scaled("pair_sb"), scaled("pair_tc"));
    let (from, to) = (from.values(), to.values());
    for p in [3, 5, 8] {
        let a = coefficients::hermite(sources.points(), q.values(), from, p);
        assert_close("A", &a, golden(&format!("a_p{p}")).values(), 1e-13);
        let c = coefficients::taylor(sources.points(), q.values(), to, p);
        assert_close("C", &c, golden(&format!("c_p{p}")).values(), 1e-13);
        let translated = coefficients::translate(&a, from, to, p);
        assert_close("C^", &translated, golden(&format!("chat_p{p}")).values(), 1e-12);

        let targets = targets.points();
        let values = coefficients::hermite_values(&a, from, targets, p);
        assert_close("eq 2", &values, golden(&format!("valh_p{p}")).values(), 1e-13);
        let values = coefficients::taylor_values(&c, to, targets, p);
        assert_close("eq 3", &values, golden(&format!("valt_p{p}")).values(), 1e-13);
        let values = coefficients::taylor_values(&translated, to, targets, p);
        assert_close("eq 4", &values, golden(&format!("valth_p{p}")).values(), 1e-12);
    }
}

#[test]
fn complete_sums_match_numpy() {
    let (points, charges, expected) = (scaled("points"), golden("charges"), golden("exact"));
    let terms = [KernelTerm { kernel: Kernel::Gaussian, charges: charges.dim() }];
    let sum = |engine: &mut dyn KernelSum| {
        let mut out = vec![0.0; expected.values().len()];
        let x: Points = points.points();
        let charges = Charges { values: charges.values(), per_point: charges.dim() };
        let request = SumRequest { terms: &terms, targets: x, sources: x, charges };
        let report = engine.sum(request, &mut out).expect("sums");
        (out, report.bound.expect("a bound"))
    };
    assert_close("exact", &sum(&mut Exact).0, expected.values(), 1e-13);
    for accuracy in [1e-2, 1e-5, 1e-10] {
        let (out, bound) = sum(&mut FastGauss::new(accuracy));
        assert!(bound <= accuracy);
        for c in 0..charges.dim() {
            let total: f64 = (0..charges.rows()).map(|i| charges.row(i)[c].abs()).sum();
            for i in 0..points.rows() {
                let error = (out[i * charges.dim() + c] - expected.row(i)[c]).abs();
                assert!(error <= bound * total, "{accuracy}: {error:e} over {:e}", bound * total);
            }
        }
    }
}
