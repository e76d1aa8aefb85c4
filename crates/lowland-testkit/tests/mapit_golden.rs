//! Comparison with runs of the authors' MAP IT program (golden/extract.py): 200 digits, k = 7 and 10, 1000 iterations.

use lowland::quality::procrustes;
use lowland::run::Stepper;
use lowland::{Embedding, Points};
use lowland_algorithms::affinity::joint_affinities;
use lowland_algorithms::mapit::{MapItField, SimilarityKernel};
use lowland_algorithms::objective::VectorField;
use lowland_algorithms::optim::{Descent, MomentumDescent, MomentumDescentParams};
use lowland_linalg::Csr;
use lowland_nbody::{Engine, Exact, KernelSum, PotentialOutput, PotentialRequest, new_engine};

fn golden(name: &str) -> Embedding {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/mapit").join(format!("{name}.npy"));
    lowland_io::read_map(&path).expect("a golden array").embedding
}

fn affinities() -> Csr {
    let rows = golden("p_conditional");
    let n = rows.rows();
    let pairs = (0..n).flat_map(|i| (0..n).map(move |j| (i, j))).filter(|(i, j)| i != j);
    joint_affinities(Csr::from_triplets(n, n, pairs.map(|(i, j)| (i as u32, j as u32, rows.row(i)[j]))).unwrap())
        .unwrap()
}

fn descent(program: MapItField) -> Descent<MapItField> {
    let params =
        MomentumDescentParams { learning_rate: 50.0, momentum: [0.5, 0.8], early_steps: 250, max_step: f64::INFINITY };
    Descent::new(program, Box::new(MomentumDescent::new(params)), golden("y0"))
}

fn max_difference(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).fold(0.0, |m, (a, b)| m.max((a - b).abs()))
}

/// Returns the cost that the program reports: `-ln sum_j p_j q_j + ln sum_j q_j^2` with the marginals over all points (its
/// `P*Q` is a product of matrices). Its affinities sum to n instead of one.
fn reported_cost(marginals: &[f64], y: Points) -> f64 {
    let similar = |a: &[f64], b: &[f64]| 1.0 / (1.0 + (a[0] - b[0]).powi(2) + (a[1] - b[1]).powi(2));
    let n = y.rows();
    let map: Vec<f64> = (0..n).map(|i| (0..n).map(|j| similar(y.row(i), y.row(j))).sum::<f64>() - 1.0).collect();
    let cross: f64 = marginals.iter().zip(&map).map(|(p, q)| n as f64 * p * q).sum();
    map.iter().map(|q| q * q).sum::<f64>().ln() - cross.ln()
}

/// Iterations of the snapshots, which are stored consecutively with 200 rows each.
const ITERATIONS: [usize; 10] = [1, 2, 5, 10, 50, 100, 250, 251, 500, 1000];

#[test]
fn the_exact_variant_follows_the_authors_run() {
    for k in [7, 10] {
        let mut descent = descent(MapItField::exact(&affinities(), k, SimilarityKernel::Student).unwrap());
        let (snapshots, costs) = (golden(&format!("trajectory_k{k}")), golden(&format!("cost_k{k}")));
        let start = golden("y0");
        let mut force = vec![0.0; start.values().len()];
        descent.objective().evaluate(start.points(), true, &mut force).unwrap();
        let expected = golden(&format!("force1_k{k}"));
        let size = expected.values().iter().fold(0.0f64, |m, v| m.max(v.abs()));
        force.iter_mut().for_each(|f| *f = -*f);
        assert!(max_difference(&force, expected.values()) < 1e-12 * size, "k = {k}, the first force");
        let (weights, mut seen) = (affinities().row_sums(), 0);
        for iteration in 1..=1000 {
            let (cost, expected) = (reported_cost(&weights, descent.embedding().points()), costs.row(iteration - 1)[0]);
            assert!((cost - expected).abs() < 1e-10, "k = {k}, {iteration}: cost {cost} {expected}");
            descent.step().unwrap();
            if ITERATIONS[seen] == iteration {
                let expected = &snapshots.values()[seen * force.len()..(seen + 1) * force.len()];
                let error = max_difference(descent.embedding().values(), expected);
                assert!(error < 1e-10, "k = {k}, iteration {iteration}: off by {error}");
                seen += 1;
            }
        }
        assert_eq!(seen, ITERATIONS.len());
    }
}

/// Returns the norm of `sum_j K^3 (y_i - y_j) / c2`, to which the tolerance is relative.
fn repulsion_norm(y: Points) -> f64 {
    let (kernel, _) = SimilarityKernel::Student.squared();
    let (mut values, mut slopes) = (vec![0.0; y.rows()], vec![0.0; y.values().len()]);
    let request = PotentialRequest { kernel, targets: y, sources: y, charges: &vec![1.0; y.rows()] };
    Exact.potential(request, PotentialOutput { values: &mut values, gradients: &mut slopes }).unwrap();
    let c2 = values.iter().sum::<f64>() - y.rows() as f64;
    slopes.iter().map(|v| v * v).sum::<f64>().sqrt() / (4.0 * c2)
}

#[test]
fn fast_engines_reproduce_the_authors_embedding() {
    for (which, tolerance) in [(Engine::Fft, 1e-3), (Engine::BarnesHut, 1e-3)] {
        let sums = new_engine(which, 2, SimilarityKernel::Student.squared().0).unwrap();
        let mut descent =
            descent(MapItField::new(&affinities(), 10, SimilarityKernel::Student, sums, tolerance).unwrap());
        let mut exact = MapItField::new(&affinities(), 10, SimilarityKernel::Student, Box::new(Exact), 0.01).unwrap();
        for iteration in 1..=1000 {
            if iteration % 100 == 0 {
                let y = descent.embedding();
                let (mut fast, mut slow) = (vec![0.0; y.values().len()], vec![0.0; y.values().len()]);
                let points: Points = y.points();
                descent.objective().evaluate(points, true, &mut fast).unwrap();
                exact.evaluate(points, true, &mut slow).unwrap();
                let error = fast.iter().zip(&slow).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
                // The error is measured on a sample every 25 iterations, hence the factor 2.
                assert!(error < 2.0 * tolerance * repulsion_norm(points), "{which:?}, iteration {iteration}: {error}");
            }
            descent.step().unwrap();
        }
        let disparity = procrustes(descent.embedding().points(), golden("final_k10").points()).unwrap().disparity;
        assert!(disparity < 1e-4, "{which:?}: Procrustes {disparity}");
    }
}
