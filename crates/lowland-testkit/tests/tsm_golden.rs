//! Comparison with runs of the author's TSM program (golden/extract.py): 300 digits, three settings.

use lowland::message::SimilarityNote;
use lowland::quality::angle_scores;
use lowland::{Data, Embedding, Points, Seed};
use lowland_algorithms::tsm::{AlternatingOptions, AlternatingUpdates, TsmProblem};
use lowland_linalg::{Csr, dense};

fn golden(name: &str) -> Embedding {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/tsm").join(format!("{name}.npy"));
    lowland_io::read_map(&path).expect("a golden array").embedding
}

struct Setting {
    run: usize,
    dim: usize,
    tau: f64,
    momentum: f64,
}

const SETTINGS: [Setting; 3] = [
    Setting { run: 1, dim: 8, tau: 0.9, momentum: 0.9 },
    Setting { run: 2, dim: 8, tau: 0.9, momentum: 0.0 },
    Setting { run: 3, dim: 4, tau: 0.93, momentum: 0.9 },
];

fn transposed(a: &Embedding) -> Vec<f64> {
    (0..a.dim()).flat_map(|c| (0..a.rows()).map(move |r| a.row(r)[c])).collect()
}

/// Returns the problem of the author's augmented inputs, in double precision from all pairs.
fn problem(setting: &Setting) -> TsmProblem {
    let x = transposed(&golden(&format!("inputs_{}", setting.run)));
    let dim = golden("x").rows();
    let (n, tau) = (x.len() / dim, setting.tau);
    let mut dot_products = vec![0.0; n * n];
    dense::product_nt(&x, &x, dim, &mut dot_products);
    let norms: Vec<f64> = (0..n).map(|i| dot_products[i * n + i].sqrt()).collect();
    let above = |at: usize| dot_products[at] - tau * norms[at / n] * norms[at % n];
    let entries = (0..n * n).filter(|&at| above(at) > 0.0).map(|at| ((at / n) as u32, (at % n) as u32, above(at)));
    let mut covariance = vec![0.0; dim * dim];
    dense::product_tn_add(&x, &x, n, &mut covariance);
    let (_, vectors) = dense::eigh(&covariance, dim).unwrap();
    let start = (0..n * setting.dim)
        .map(|at| (0..dim).map(|c| x[at / setting.dim * dim + c] * vectors[c * dim + dim - 1 - at % setting.dim]).sum())
        .collect();
    TsmProblem {
        similarities: Csr::from_triplets(n, n, entries).unwrap(),
        max_sum: (0..n * n).map(above).sum(),
        tau,
        initial_coordinates: start,
        unit: 1.0,
        rows: (0..300).collect(),
        total_rows: 300,
        output_dim: setting.dim,
    }
}

fn gram(y: &[f64], dim: usize) -> Vec<f64> {
    let n = y.len() / dim;
    let mut out = vec![0.0; n * n];
    dense::product_nt(y, y, dim, &mut out);
    out
}

#[test]
fn every_update_matches_the_authors_run() {
    for setting in SETTINGS {
        let run = setting.run;
        let problem = problem(&setting);
        let cap = golden(&format!("cap_{run}")).values()[0];
        assert!((problem.max_sum - cap).abs() < 1e-9 * cap.abs());
        let options = AlternatingOptions {
            momentum: setting.momentum,
            double_precision: true,
            tolerance: 1e-12,
            rounds: 100,
            ..AlternatingOptions::default()
        };
        let mut alternating = AlternatingUpdates::new(problem, options, Seed(0)).unwrap();
        for (t, expected) in golden(&format!("costs_{run}")).values().iter().enumerate() {
            let cost = alternating.update().unwrap();
            assert!((cost - expected).abs() < 1e-8 * expected, "run {run}, update {t}: {cost} {expected}");
        }
        let (diagonal, expected) = (alternating.diagonal(), golden(&format!("diagonal_{run}")));
        let off = diagonal.iter().zip(expected.values()).fold(0.0f64, |m, (a, b)| m.max((a - b).abs()));
        assert!(off < 1e-6, "run {run}: the diagonal is off by {off}");
        let y = alternating.gram().unwrap().coordinates();
        let expected = transposed(&golden(&format!("y_{run}")));
        let pairs = gram(&y[..300 * setting.dim], setting.dim).into_iter().zip(gram(&expected, setting.dim));
        let off = pairs.fold(0.0f64, |m, (a, b)| m.max((a - b).abs()));
        assert!(off < 1e-5, "run {run}: inner products are off by {off}");
    }
}

#[test]
fn scores_and_virtual_inputs_match() {
    let x = transposed(&golden("x"));
    let columns = golden("x").rows();
    // Multiples of 1/16 are exact in single precision.
    let data = Data::dense(x.iter().map(|&v| v as f32).collect(), columns).unwrap();
    for setting in SETTINGS {
        let run = setting.run;
        let y = transposed(&golden(&format!("y_{run}")));
        let scores = angle_scores(&data, Points::new(&y, setting.dim).unwrap(), setting.tau).unwrap();
        let expected = |name: &str| golden(&format!("{name}_{run}")).values()[0];
        // The angle of a row with itself is a rounding error in the author's program and zero here.
        assert!((scores.deviation - expected("deviation")).abs() < 1e-6, "run {run}: {scores:?}");
        assert!((scores.jaccard - expected("jaccard")).abs() < 1e-12, "run {run}: {scores:?}");
        let (problem, found) = TsmProblem::new(&data, setting.tau, setting.dim, Seed(0), &mut |_| Ok(())).unwrap();
        let SimilarityNote::SimilarRows { virtual_rows, .. } = found else { panic!("{found:?}") };
        assert_eq!(300 + virtual_rows, golden(&format!("inputs_{run}")).dim());
        let cap = problem.max_sum * problem.unit * problem.unit;
        assert!((cap - expected("cap")).abs() < 1e-5 * cap.abs(), "run {run}: {cap}");
    }
}
