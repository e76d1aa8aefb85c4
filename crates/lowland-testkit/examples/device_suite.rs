//! Compares computations on a graphics card with those on the processor. Needs a card, so that it is not part of the tests:
//!
//!     cargo run --release -p lowland-testkit --example device_suite
//!
//! prints a line for each check, and fails if one of them does.

#![allow(clippy::print_stdout)]

use std::process::ExitCode;
use std::time::Instant;

use lowland::device::{Device, with_device};
use lowland::methods::{Ee, MapIt, Pacmap, Ssne, Tsne, Umap};
use lowland::neighbors::{NeighborParams, Search, nearest, nearest_to};
use lowland::run::Archive;
use lowland::{Data, Embedding, Error, Fit, FitOptions, Metric, Points, Seed};
use lowland_algorithms::affinity::{AffinityKind, Perplexities, joint_affinities_of_graph};
use lowland_algorithms::neighbor_embedding::{DeviceObjective, Energy, EnergySchedule, NeighborEmbeddingObjective};
use lowland_algorithms::objective::{Accuracy, AccuracyController, VectorField};
use lowland_cuda::{Work, gpu_for};
use lowland_linalg::Csr;
use lowland_nbody::{Engine, new_engine};

/// The results of the checks.
#[derive(Default)]
struct Suite {
    failed: usize,
}

impl Suite {
    fn check(&mut self, what: &str, passed: bool, details: String) {
        println!("{} {what}: {details}", if passed { "ok  " } else { "FAIL" });
        self.failed += usize::from(!passed);
    }
}

fn main() -> ExitCode {
    let mut suite = Suite::default();
    let run = with_device(Device::Cuda(0), || {
        gradients(&mut suite);
        grids(&mut suite);
        affinities(&mut suite);
        neighbors(&mut suite);
        fits(&mut suite);
        limits(&mut suite);
    });
    if let Err(error) = run {
        suite.check("open the card", false, error.to_string());
    }
    println!(
        "{}",
        if suite.failed == 0 { "all checks passed".into() } else { format!("{} checks failed", suite.failed) }
    );
    ExitCode::from(u8::from(suite.failed > 0))
}

/// Symmetric weights that sum to one, with a few edges for each point.
fn weights(n: usize) -> Csr {
    let offsets = [1, 2, 3, 5, 8, 13, 21, 34];
    let edges = (0..n as u32).flat_map(|i| {
        offsets.iter().flat_map(move |&o| [(i, (i + o) % n as u32, o), (i, (i + n as u32 - o) % n as u32, o)])
    });
    let total = 2.0 * offsets.iter().map(|&o| 1.0 / f64::from(o)).sum::<f64>() * n as f64;
    Csr::from_triplets(n, n, edges.map(|(i, j, o)| (i, j, 1.0 / f64::from(o) / total))).expect("within the matrix")
}

fn relative(found: &[f64], expected: &[f64]) -> f64 {
    let wrong: f64 = found.iter().zip(expected).map(|(a, b)| (a - b) * (a - b)).sum();
    (wrong / expected.iter().map(|v| v * v).sum::<f64>()).sqrt()
}

/// Gradient and value of an energy on both devices, at the same map, which is rounded to single precision first.
fn both(energy: Energy, y: &[f64], dim: usize, engine: Engine) -> ([Vec<f64>; 2], [f64; 2], (&'static str, f64)) {
    let y: Vec<f64> = y.iter().map(|&v| f64::from(v as f32)).collect();
    let (n, points) = (y.len() / dim, Points::new(&y, dim).expect("whole rows"));
    let control = AccuracyController::new(Accuracy::Fixed, 1e-7);
    let tolerance = (engine != Engine::Exact).then_some(0.01);
    let engine = new_engine(engine, dim, energy.kernel()).expect("supported");
    let mut cpu = NeighborEmbeddingObjective::new(energy, weights(n), engine, control).expect("valid");
    let start = Embedding::new(y.clone(), dim).expect("whole rows");
    let schedule = EnergySchedule::default();
    let mut gpu = DeviceObjective::new(energy, weights(n), schedule, tolerance, &start, 1000)
        .expect("a card")
        .unwrap_or_else(|_| panic!("the card was not used"));
    let (mut expected, mut found) = (vec![0.0; y.len()], vec![0.0; y.len()]);
    cpu.begin_iteration(1, points, None).expect("valid");
    gpu.begin_iteration(1, points, None).expect("valid");
    let value = cpu.evaluate(points, true, &mut expected).expect("finite").unwrap_or(f64::NAN);
    let device_value = gpu.evaluate(points, true, &mut found).expect("a card").unwrap_or(f64::NAN);
    ([found, expected], [device_value, value], gpu.measured_error())
}

fn energies(n: usize) -> [(&'static str, Energy); 4] {
    [
        ("ee", Energy::Elastic { lambda: 10.0 / n as f64 }),
        ("ssne", Energy::SymmetricSne),
        ("tsne", Energy::StudentSne { dof: 1.0 }),
        ("tsne with dof 2.5", Energy::StudentSne { dof: 2.5 }),
    ]
}

fn gradients(suite: &mut Suite) {
    let n = 3000;
    for dim in [1, 2, 3, 4, 5, 10, 20, 50] {
        for (name, energy) in energies(n) {
            // Of a larger map in 50 dimensions, single precision leaves no Gaussian.
            let width = if dim > 20 { 0.5 } else { 2.0 };
            let y: Vec<f64> = Seed(dim as u64).normals(n * dim).iter().map(|v| width * v).collect();
            let ([found, expected], values, _) = both(energy, &y, dim, Engine::Exact);
            let error = relative(&found, &expected);
            let of_value = (values[0] - values[1]).abs() / values[1].abs();
            let what = format!("gradient of {name} in {dim} dimensions");
            suite.check(
                &what,
                error < 2e-5 && of_value < 2e-5,
                format!("error {error:.1e}, of the value {of_value:.1e}"),
            );
        }
    }
}

fn grids(suite: &mut Suite) {
    let n = 60_000;
    for width in [1e-3, 1.0, 20.0, 100.0] {
        for (name, energy) in energies(n) {
            // Clusters, as maps have them.
            let (centers, scatter) = (Seed(1).normals(60), Seed(2).normals(2 * n));
            let place = |at: usize| width * (centers[(at / 2 % 30) * 2 + at % 2] + 0.2 * scatter[at]);
            let y: Vec<f64> = (0..2 * n).map(place).collect();
            let ([found, expected], values, (engine, measured)) = both(energy, &y, 2, Engine::Auto);
            let error = relative(&found, &expected);
            let of_value = (values[0] - values[1]).abs() / values[1].abs();
            let details = format!("error {error:.1e} ({measured:.1e} measured), of the value {of_value:.1e}");
            let passed = (engine == "grid" || width > 20.0) && error < 0.01 && measured <= 0.01 && of_value < 1e-3;
            suite.check(&format!("{name} on a grid, width {width} ({engine})"), passed, details);
        }
    }
    // Where a grid would be cheaper, the exact engine still sums over all pairs.
    let y: Vec<f64> = Seed(3).normals(2 * n);
    let ([found, expected], _, (engine, _)) = both(Energy::StudentSne { dof: 1.0 }, &y, 2, Engine::Exact);
    let error = relative(&found, &expected);
    suite.check(
        "the exact engine of many points",
        engine == "exact" && error < 2e-5,
        format!("{engine}, error {error:.1e}"),
    );
}

fn affinities(suite: &mut Suite) {
    for (n, k, perplexities) in [(20_000, 90, vec![30.0]), (5_000, 300, vec![100.0, 10.0]), (3_000, 7, vec![2.0])] {
        let data = rows(n, 20, 21);
        let params = NeighborParams { n_neighbors: k, ..NeighborParams::default() };
        let graph = nearest(&data, &params).expect("a card").graph;
        let perplexity = Perplexities::new(perplexities).expect("some");
        let compute =
            || joint_affinities_of_graph(graph.clone(), AffinityKind::Entropic, &perplexity, false).expect("valid").0;
        let found = compute();
        let expected = with_device(Device::Cpu, compute).expect("the processor");
        let same = found.indptr() == expected.indptr() && found.indices() == expected.indices();
        let pairs = found.values().iter().zip(expected.values());
        let error = pairs.map(|(a, b)| (a - b).abs() / b).fold(0.0, f64::max);
        let details = format!("same entries: {same}, largest relative error {error:.1e}");
        suite.check(&format!("affinities of {k} neighbors of {n} rows"), same && error < 1e-6, details);
    }
}

fn rows(n: usize, dim: usize, seed: u64) -> Data {
    let (centers, scatter) = (Seed(seed).normals(20 * dim), Seed(seed + 1).normals(n * dim));
    let value = |at: usize| (3.0 * centers[(at / dim % 20) * dim + at % dim] + scatter[at]) as f32;
    Data::dense((0..n * dim).map(value).collect(), dim).expect("whole rows")
}

fn neighbors(suite: &mut Suite) {
    for (n, dim, k) in [(20_000, 50, 90), (20_000, 7, 15), (5_000, 300, 400), (3_000, 1, 5)] {
        let data = rows(n, dim, 5);
        for metric in [Metric::Euclidean, Metric::Cosine, Metric::Correlation] {
            if dim == 1 && metric == Metric::Correlation {
                continue;
            }
            let params = NeighborParams { n_neighbors: k, metric, search: Search::Exact, ..NeighborParams::default() };
            let found = nearest(&data, &params).expect("a card").graph;
            let expected =
                with_device(Device::Cpu, || nearest(&data, &params)).expect("the processor").expect("valid").graph;
            suite.check(
                &format!("{k} neighbors of {n} x {dim}, {metric}"),
                found == expected,
                "compared with the processor's".into(),
            );
            let queries = rows(777, dim, 9);
            let found = nearest_to(&queries, &data, k, metric).expect("a card");
            let expected = with_device(Device::Cpu, || nearest_to(&queries, &data, k, metric)).expect("the processor");
            suite.check(&format!("of 777 new rows, {metric}"), Ok(found) == expected, "likewise".into());
        }
    }
    // Ties: rows of few values, many of them equal.
    let values = Seed(3).normals(8_000 * 4).iter().map(|v| v.round() as f32).collect();
    let data = Data::dense(values, 4).expect("whole rows");
    let params = NeighborParams { n_neighbors: 30, search: Search::Exact, ..NeighborParams::default() };
    let found = nearest(&data, &params).expect("a card").graph;
    let expected = with_device(Device::Cpu, || nearest(&data, &params)).expect("the processor").expect("valid").graph;
    suite.check("30 neighbors among many equal rows", found == expected, "compared with the processor's".into());
}

/// Saves the checkpoint of an iteration, and stops there.
struct StopAt(usize, Option<Archive>);

impl lowland::run::Observer for StopAt {
    fn on(&mut self, event: &lowland::run::Event) -> std::ops::ControlFlow<()> {
        if let lowland::run::Event::Step { step, checkpoint, .. } = event
            && step.iteration == self.0
        {
            self.1 = Some(checkpoint());
            return std::ops::ControlFlow::Break(());
        }
        std::ops::ControlFlow::Continue(())
    }
}

fn fits(suite: &mut Suite) {
    let data = rows(20_000, 20, 11);
    fn twice<M: Fit>(suite: &mut Suite, name: &str, method: M, data: &Data) {
        let started = Instant::now();
        let first = Fit::fit(&method, data).expect("a card");
        let time = started.elapsed().as_secs_f64();
        let again = Fit::fit(&method, data).expect("a card");
        suite.check(
            &format!("{name} in two runs"),
            first.to_bytes() == again.to_bytes(),
            format!("the same bytes; {time:.2} s"),
        );
        let mut stop = StopAt(60, None);
        let options = FitOptions { observer: Some(&mut stop), ..FitOptions::default() };
        let _ = Fit::fit_with(&method, data, options).expect("a card");
        let resumed = Fit::fit_with(&method, data, FitOptions { resume: stop.1.as_ref(), ..FitOptions::default() });
        let same = resumed.is_ok_and(|model| model.embedding() == first.embedding());
        suite.check(&format!("{name} resumed"), same, "the same map".into());
        // A model fitted on the card places rows on the processor, and the other way round.
        let new = rows(500, 20, 77);
        let here = first.transform(&new).expect("a card");
        let there = with_device(Device::Cpu, || first.transform(&new)).expect("the processor").expect("valid");
        suite.check(&format!("{name}: transform"), here == there, "the same on both devices".into());
        let cpu = with_device(Device::Cpu, || Fit::fit(&method, data)).expect("the processor").expect("valid");
        let [value, other] =
            [&first, &cpu].map(|model| model.outcome().trace.last().map_or(f64::NAN, |step| step.objective));
        let close = (value - other).abs() < 0.02 * other.abs();
        suite.check(&format!("{name}: objective"), close, format!("{value:.4}, on the processor {other:.4}"));
    }
    twice(suite, "tsne", Tsne { max_iter: 400, ..Tsne::default() }, &data);
    twice(suite, "ssne", Ssne { max_iter: 100, ..Ssne::default() }, &data);
    twice(suite, "mapit", MapIt { max_iter: 300, ..MapIt::default() }, &data);
    twice(suite, "umap", Umap::default(), &data);
    twice(suite, "pacmap", Pacmap::default(), &data);
    twice(suite, "localmap", Pacmap { localmap: true, ..Pacmap::default() }, &data);
    twice(suite, "ee", Ee { max_iter: 100, ..Ee::default() }, &data);
    twice(
        suite,
        "tsne in 5 dimensions",
        Tsne { n_components: 5, max_iter: 300, ..Tsne::default() },
        &rows(3_000, 20, 12),
    );
}

fn limits(suite: &mut Suite) {
    let huge = Work { name: "a test", cpu_seconds: 1e9, memory: 1 << 50, shared_memory: 0 };
    let refused = matches!(gpu_for(huge), Err(Error::Memory { .. }));
    suite.check("more memory than the card has", refused, "refused".into());
    let left = with_device(Device::Auto, || gpu_for(huge)).expect("auto");
    suite.check("the same with device auto", matches!(left, Ok(None)), "left to the processor".into());
    let crowded = Work { name: "a test", cpu_seconds: 1e9, memory: 1, shared_memory: 1 << 30 };
    suite.check(
        "more shared memory than a block has",
        matches!(gpu_for(crowded), Ok(None)),
        "left to the processor".into(),
    );
}
