use super::*;
use lowland_core::run::Stepper;
use lowland_core::{Embedding, Metric, Seed};
use lowland_linalg::Csr;
use lowland_neighbors::NeighborGraph;

#[test]
fn forces_are_the_derivatives_of_the_losses() {
    let forces = Forces::new(SimilarityCurve { a: 1.6, b: 0.9 }, 1.3);
    for d in [0.2f32, 0.7, 1.5, 6.0] {
        let loss = |d: f32| forces.losses(d * d);
        let step = 1e-3 * d;
        let (near, far) = (loss(d - step), loss(d + step));
        let slopes = [(far.0 - near.0) / (2.0 * f64::from(step)), (far.1 - near.1) / (2.0 * f64::from(step))];
        let found = [forces.attraction(d * d) * d, -forces.repulsion(d * d) * d].map(f64::from);
        assert!((slopes[0] / found[0] - 1.0).abs() < 2e-3, "{d}: {slopes:?} {found:?}");
        // The bounds that keep the loss and the force finite differ slightly.
        assert!((slopes[1] / found[1] - 1.0).abs() < 3e-2, "{d}: {slopes:?} {found:?}");
    }
}

fn line_graph(n: u32) -> NeighborGraph {
    let mut rows = Vec::new();
    for i in 0..n {
        let mut row: Vec<(f32, u32)> = (0..n).filter(|&j| j != i).map(|j| (i.abs_diff(j) as f32, j)).collect();
        row.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        row.truncate(6);
        rows.push(row);
    }
    let indptr = (0..=n as usize).map(|i| 6 * i).collect();
    let indices = rows.iter().flatten().map(|&(_, j)| j).collect();
    let distances = rows.iter().flatten().map(|&(d, _)| d).collect();
    NeighborGraph::new(indptr, indices, distances, n as usize, Metric::Euclidean).unwrap()
}

#[test]
fn memberships_of_a_row_sum_to_the_logarithm_of_its_neighbors() {
    let distances = [0.0f32, 0.5, 0.9, 1.4, 2.0, 2.2, 3.1];
    for connectivity in [1.0, 1.5, 2.0] {
        let (rho, sigma) = smooth_distances(&distances, 8, connectivity, 1.0);
        assert!((rho - (0.5 + 0.4 * (connectivity - 1.0))).abs() < 1e-6, "{rho}");
        let sum: f64 = distances.iter().map(|&d| fuzzy_graph::membership(f64::from(d), rho, sigma)).sum();
        // With 1.5 and 2 several memberships are one already.
        assert!((sum - 3.0).abs() < 2e-5 || connectivity > 1.0, "{connectivity}: {sum}");
    }
    // Equal rows: no distance is positive, and every membership is one.
    let (rho, sigma) = smooth_distances(&[0.0; 5], 6, 1.0, 0.0);
    assert_eq!(fuzzy_graph::membership(0.0, rho, sigma), 1.0);
}

#[test]
fn the_graph_is_symmetric_and_mixes_union_and_intersection() {
    let graph = line_graph(40);
    let of =
        |set_op_mix_ratio| fuzzy_graph(&graph, FuzzyGraphParams { local_connectivity: 1.0, set_op_mix_ratio }).unwrap();
    let (union, both, half) = (of(1.0), of(0.0), of(0.5));
    assert!(union.is_symmetric() && both.is_symmetric());
    assert!(both.entries() < union.entries());
    for (i, j, value) in half.iter() {
        assert!((value - 0.5 * (union.get(i, j) + both.get(i, j))).abs() < 1e-12);
        assert!(value > 0.0 && value <= 1.0);
    }
    assert_eq!(union.get(20, 21), 1.0);
}

fn layout(graph: &Csr, epochs: usize) -> SampledLayout {
    let n = graph.rows();
    let init = Embedding::new(Seed(3).normals(2 * n), 2).unwrap();
    let forces = Forces::new(SimilarityCurve::fit(0.1, 1.0).unwrap(), 1.0);
    let params = LayoutParams { forces, epochs, learning_rate: 1.0, negative_sample_rate: 5, seed: Seed(1) };
    SampledLayout::new(graph, &init, params, None, None).unwrap()
}

#[test]
fn an_edge_attracts_in_proportion_to_its_membership() {
    for (rate, epochs) in [(1.0f32, 50), (0.5, 50), (0.13, 400), (0.01, 99)] {
        let count: usize = (0..epochs).map(|epoch| sampled_layout::attractions(rate, epoch)).sum();
        assert_eq!(count, (epochs as f32 * rate) as usize, "{rate}");
    }
}

#[test]
fn the_loss_decreases_and_neighbors_stay_together() {
    let params = FuzzyGraphParams { local_connectivity: 1.0, set_op_mix_ratio: 1.0 };
    let graph = fuzzy_graph(&line_graph(200), params).unwrap();
    let mut layout = layout(&graph, 200);
    let first = layout.step().unwrap().objective;
    let last = (1..200).map(|_| layout.step().unwrap().objective).last().unwrap();
    assert!(last < 0.6 * first, "{first} {last}");
    let map = layout.embedding();
    let distance =
        |i: usize, j: usize| -> f64 { map.row(i).iter().zip(map.row(j)).map(|(a, b)| (a - b).powi(2)).sum() };
    let near: f64 = (0..199).map(|i| distance(i, i + 1).sqrt()).sum::<f64>() / 199.0;
    let far: f64 = (0..100).map(|i| distance(i, i + 100).sqrt()).sum::<f64>() / 100.0;
    assert!(far > 5.0 * near, "{near} {far}");
}

#[test]
fn the_layout_does_not_depend_on_the_number_of_threads() {
    let params = FuzzyGraphParams { local_connectivity: 1.0, set_op_mix_ratio: 1.0 };
    let graph = fuzzy_graph(&line_graph(300), params).unwrap();
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut layout = layout(&graph, 20);
            (0..20).for_each(|_| _ = layout.step().unwrap());
            layout.embedding()
        })
    };
    assert_eq!(run(1), run(3));
}

#[test]
fn neighbors_attract_in_random_order() {
    // Without repelling points, nothing else is random: a point between two others goes to one of two places.
    let graph = Csr::from_triplets(3, 3, [(0, 1, 1.0), (1, 0, 1.0), (1, 2, 1.0), (2, 1, 1.0)]).unwrap();
    let init = Embedding::new(vec![-0.5, 0.0, 0.5], 1).unwrap();
    let forces = Forces::new(SimilarityCurve::fit(0.1, 1.0).unwrap(), 1.0);
    let places = (0..20).map(|seed| {
        let params = LayoutParams { forces, epochs: 10, learning_rate: 1.0, negative_sample_rate: 0, seed: Seed(seed) };
        let mut layout = SampledLayout::new(&graph, &init, params, None, None).unwrap();
        layout.step().unwrap();
        layout.embedding().row(1)[0].to_bits()
    });
    assert_eq!(places.collect::<std::collections::BTreeSet<u64>>().len(), 2);
}
