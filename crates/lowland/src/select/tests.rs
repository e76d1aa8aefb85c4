use super::*;
use crate::methods::Lllvm;
use lowland_algorithms::lllvm::Alpha;
use lowland_core::run::NoObserver;

/// A noisy sheet in five dimensions.
fn sheet(n: usize) -> Data {
    let (place, noise) = (Seed(1).normals(2 * n), Seed(2).normals(5 * n));
    let row = |i: usize| {
        let (a, b) = (place[2 * i], place[2 * i + 1]);
        let exact = [a, b, 0.3 * a * b, 0.5 * a - b, 0.1 * a * a];
        (0..5).map(|c| (exact[c] + 0.02 * noise[5 * i + c]) as f32).collect::<Vec<_>>()
    };
    Data::dense((0..n).flat_map(row).collect(), 5).unwrap()
}

fn params() -> Lllvm {
    Lllvm { starts: 2, max_iter: 25, alpha: Alpha::Fixed(1e-3), n_neighbors: 6, ..Lllvm::default() }
}

#[test]
fn every_combination_gets_its_bounds_and_the_best_is_recommended() {
    let mut silent = NoObserver;
    let mut context = Context::new(&mut silent, Seed(3), None);
    let choices = by_bound(&sheet(60), &params(), &[4, 7], &[1, 2], &mut context).unwrap();
    assert_eq!(choices.len(), 4);
    assert!(choices.iter().all(|choice| choice.values.len() == 2 && choice.values.iter().all(|v| v.is_finite())));
    let (best, _) = recommend(&choices, SelectionCriterion::Bound).unwrap();
    assert!(choices.iter().all(|choice| choice.best() <= choices[best].best()));
    let words = recommendation_text(&choices, SelectionCriterion::Bound);
    assert!(words.contains(&format!("n_neighbors {}", choices[best].n_neighbors)), "{words}");
    assert!(by_bound(&sheet(60), &params(), &[60], &[2], &mut context).is_err());
    assert!(by_bound(&sheet(60), &params(), &[5], &[0], &mut context).is_err());
}

#[test]
fn a_recommendation_names_what_is_not_clearly_worse() {
    let choice = |n_neighbors, values: &[f64]| Candidate { n_neighbors, n_components: 2, values: values.to_vec() };
    let choices = [choice(3, &[1.0, 2.0]), choice(5, &[10.0, 8.0]), choice(7, &[9.5, 1.0]), choice(9, &[0.0, 0.0])];
    assert_eq!(recommend(&choices, SelectionCriterion::Bound), Some((1, vec![2])));
    assert_eq!(recommend(&choices, SelectionCriterion::HeldOut), Some((1, vec![])));
    assert_eq!(recommend(&[], SelectionCriterion::Bound), None);
    assert!(recommendation_text(&choices[..2], SelectionCriterion::Bound).contains("try more beyond"));
}

#[test]
fn held_out_rows_score_every_combination() {
    let lvm = Lvm { max_iter: 30, ..Lvm::default() };
    let choices = by_held_out(&sheet(90), &lvm, &[5], &[1, 2], 3, Seed(1), None, &mut NoObserver).unwrap();
    assert_eq!(choices.iter().map(|choice| choice.values.len()).collect::<Vec<_>>(), [3, 3]);
    assert!(by_held_out(&sheet(90), &lvm, &[5], &[1], 1, Seed(1), None, &mut NoObserver).is_err());
}

#[test]
fn edges_can_be_left_out_unless_they_hold_the_graph_together() {
    let ring = from_pairs(4, &[(0, 1), (1, 2), (2, 3), (3, 0)]).unwrap();
    let path = without(&ring, &[(3, 0)]).unwrap();
    assert_eq!(path.entries(), 6);
    assert!(without(&path, &[(1, 2)]).is_err());
    assert!(without(&path, &[(0, 3)]).is_err());
    assert!(without(&path, &[(0, 9)]).is_err());
    assert!(from_pairs(4, &[(0, 1), (2, 3)]).is_err());
    assert!(from_pairs(4, &[(0, 4)]).is_err());
}

#[test]
fn a_short_circuit_is_among_the_first_suspects() {
    // A ribbon bent to three quarters of a circle, and an edge between its ends.
    let n = 80;
    let noise = Seed(4).normals(n);
    let row = |i: usize| {
        let angle = 1.5 * std::f64::consts::PI * i as f64 / n as f64;
        [angle.cos() as f32, angle.sin() as f32, 0.1 * noise[i] as f32]
    };
    let data = Data::dense((0..n).flat_map(row).collect(), 3).unwrap();
    let near: Vec<(usize, usize)> =
        (0..n).flat_map(|i| (1..4).map(move |step| (i, i + step))).filter(|e| e.1 < n).collect();
    let graph = from_pairs(n, &[&near[..], &[(2, n - 3)]].concat()).unwrap();
    let mut silent = NoObserver;
    let mut context = Context::new(&mut silent, Seed(3), None);
    let params = Lllvm { n_components: 1, max_iter: 40, ..params() };
    let graphs = [("with".to_string(), graph.clone()), ("without".into(), without(&graph, &[(2, n - 3)]).unwrap())];
    let (screened, suspects) = screen(&data, &params, &graphs[0], &mut context).unwrap();
    assert_eq!(suspects.len(), near.len() + 1);
    let rank = suspects.iter().position(|s| (s.i, s.j) == (2, n - 3)).unwrap();
    assert!(rank < 3, "rank {rank}: {:?}", &suspects[..4]);
    let tested = compare(&data, &params, &graphs, &mut context).unwrap();
    assert!(tested.iter().all(|t| t.best().is_finite() && t.best() >= t.mean()));
    // A screening has the bounds that a comparison would find.
    assert_eq!(screened, tested[0]);
}
