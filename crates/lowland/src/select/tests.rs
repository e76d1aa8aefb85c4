use super::*;
use crate::methods::Lllvm;
use lowland_algorithms::lllvm::Alpha;
use lowland_core::run::NoObserver;

/// A noisy two-dimensional manifold in five dimensions.
fn sheet(n: usize) -> Data {
    let (coordinates, noise) = (Seed(1).normals(2 * n), Seed(2).normals(5 * n));
    let row = |i: usize| {
        let (a, b) = (coordinates[2 * i], coordinates[2 * i + 1]);
        let exact = [a, b, 0.3 * a * b, 0.5 * a - b, 0.1 * a * a];
        (0..5).map(|c| (exact[c] + 0.02 * noise[5 * i + c]) as f32).collect::<Vec<_>>()
    };
    Data::dense((0..n).flat_map(row).collect(), 5).unwrap()
}

fn params() -> Lllvm {
    Lllvm { starts: 2, max_iter: 25, alpha: Alpha::Fixed(1e-3), n_neighbors: 6, ..Lllvm::default() }
}

#[test]
fn every_combination_has_bounds_and_the_best_is_recommended() {
    let mut no_observer = NoObserver;
    let mut context = Context::new(&mut no_observer, Seed(3), None);
    let candidates = by_bound(&sheet(60), &params(), &[4, 7], &[1, 2], &mut context).unwrap();
    assert_eq!(candidates.len(), 4);
    assert!(
        candidates
            .iter()
            .all(|candidate| candidate.values.len() == 2 && candidate.values.iter().all(|v| v.is_finite()))
    );
    let (best, _) = recommend(&candidates).unwrap();
    assert!(candidates.iter().all(|candidate| candidate.best() <= candidates[best].best()));
    let text = recommendation_text(&candidates);
    assert!(text.contains(&format!("n_neighbors {}", candidates[best].n_neighbors)), "{text}");
    assert!(by_bound(&sheet(60), &params(), &[60], &[2], &mut context).is_err());
    assert!(by_bound(&sheet(60), &params(), &[5], &[0], &mut context).is_err());
}

#[test]
fn a_recommendation_lists_close_candidates() {
    let candidate = |n_neighbors, values: &[f64]| Candidate { n_neighbors, n_components: 2, values: values.to_vec() };
    let candidates =
        [candidate(3, &[1.0, 2.0]), candidate(5, &[10.0, 8.0]), candidate(7, &[9.5, 1.0]), candidate(9, &[0.0, 0.0])];
    assert_eq!(recommend(&candidates), Some((1, vec![2])));
    assert_eq!(recommend(&[]), None);
    assert!(recommendation_text(&candidates[..2]).contains("try larger or smaller"));
}

#[test]
fn edges_can_be_removed_if_the_graph_stays_connected() {
    let ring = graph_from_pairs(4, &[(0, 1), (1, 2), (2, 3), (3, 0)]).unwrap();
    let path = remove_edges(&ring, &[(3, 0)]).unwrap();
    assert_eq!(path.entries(), 6);
    assert!(remove_edges(&path, &[(1, 2)]).is_err());
    assert!(remove_edges(&path, &[(0, 3)]).is_err());
    assert!(remove_edges(&path, &[(0, 9)]).is_err());
    assert!(graph_from_pairs(4, &[(0, 1), (2, 3)]).is_err());
    assert!(graph_from_pairs(4, &[(0, 4)]).is_err());
}

#[test]
fn a_short_circuit_has_one_of_the_highest_scores() {
    // A strip bent to three quarters of a circle, with an edge between its ends.
    let n = 80;
    let noise = Seed(4).normals(n);
    let row = |i: usize| {
        let angle = 1.5 * std::f64::consts::PI * i as f64 / n as f64;
        [angle.cos() as f32, angle.sin() as f32, 0.1 * noise[i] as f32]
    };
    let data = Data::dense((0..n).flat_map(row).collect(), 3).unwrap();
    let near: Vec<(usize, usize)> =
        (0..n).flat_map(|i| (1..4).map(move |step| (i, i + step))).filter(|e| e.1 < n).collect();
    let graph = graph_from_pairs(n, &[&near[..], &[(2, n - 3)]].concat()).unwrap();
    let mut no_observer = NoObserver;
    let mut context = Context::new(&mut no_observer, Seed(3), None);
    let params = Lllvm { n_components: 1, max_iter: 40, ..params() };
    let graphs =
        [("with".to_string(), graph.clone()), ("without".into(), remove_edges(&graph, &[(2, n - 3)]).unwrap())];
    let (bounds, scores) = screen_edges(&data, &params, &graphs[0], &mut context).unwrap();
    assert_eq!(scores.len(), near.len() + 1);
    let rank = scores.iter().position(|s| (s.i, s.j) == (2, n - 3)).unwrap();
    assert!(rank < 3, "rank {rank}: {:?}", &scores[..4]);
    let compared = compare_graphs(&data, &params, &graphs, &mut context).unwrap();
    assert!(compared.iter().all(|t| t.best().is_finite() && t.best() >= t.mean()));
    // Screening returns the same bounds as a comparison.
    assert_eq!(bounds, compared[0]);
}
