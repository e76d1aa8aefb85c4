use super::*;
use crate::methods::Lllvm;
use lowland_algorithms::lllvm::Alpha;
use lowland_core::Seed;
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
    let candidates = by_bound(&sheet(60), &params(), &[4, 7], &[1, 2], Subsamples::default(), &mut context).unwrap();
    assert_eq!(candidates.len(), 4);
    assert!(
        candidates
            .iter()
            .all(|candidate| candidate.bounds[0].len() == 2 && candidate.bounds[0].iter().all(|v| v.is_finite()))
    );
    let (best, _) = recommend(&candidates).unwrap();
    assert!(candidates.iter().all(|candidate| candidate.bound() <= candidates[best].bound()));
    let text = recommendation_text(&candidates);
    assert!(text.contains(&format!("n_neighbors {}", candidates[best].n_neighbors)), "{text}");
    assert!(by_bound(&sheet(60), &params(), &[60], &[2], Subsamples::default(), &mut context).is_err());
    assert!(by_bound(&sheet(60), &params(), &[5], &[0], Subsamples::default(), &mut context).is_err());
}

#[test]
fn a_recommendation_lists_close_candidates() {
    let candidate =
        |n_neighbors, values: &[f64]| Candidate { n_neighbors, n_components: 2, bounds: vec![values.to_vec()] };
    let candidates =
        [candidate(3, &[1.0, 2.0]), candidate(5, &[10.0, 8.0]), candidate(7, &[9.5, 1.0]), candidate(9, &[0.0, 0.0])];
    assert_eq!(recommend(&candidates), Some((1, vec![2])));
    assert_eq!(recommend(&[]), None);
    assert!(recommendation_text(&candidates[..2]).contains("try larger or smaller"));
}

#[test]
fn differences_between_candidates_are_paired_over_subsamples() {
    let candidate = |n_components, values: &[f64]| Candidate {
        n_neighbors: 5,
        n_components,
        bounds: values.iter().map(|&v| vec![v, v - 1.0]).collect(),
    };
    // The subsamples differ by hundreds, the candidates on each of them by about one and by about two.
    let candidates = [
        candidate(1, &[99.0, 299.1, 598.9]),
        candidate(2, &[100.0, 300.0, 600.0]),
        candidate(3, &[98.0, 301.9, 598.1]),
    ];
    let (difference, error) = candidates[1].difference(&candidates[0]);
    assert!((difference - 1.0).abs() < 1e-9 && (error - 0.1 / 3f64.sqrt()).abs() < 1e-9, "{difference} {error}");
    assert_eq!(recommend(&candidates), Some((1, vec![2])));
    assert!(recommendation_text(&candidates).contains("3 subsamples"));
}

/// A manifold of `dim` dimensions in `columns`: random cosines of a cube, with noise of about 5 % of their spread.
fn manifold(dim: usize, n: usize, columns: usize, seed: u64) -> Data {
    const WAVES: usize = 40;
    let (places, noise) =
        (Seed(seed).stream("places").normals(dim * n), Seed(seed).stream("noise").normals(n * columns));
    let (slopes, mixture) =
        (Seed(seed).stream("slopes").normals(dim * WAVES), Seed(seed).stream("mixture").normals(WAVES * columns));
    let phases = Seed(seed).stream("phases").normals(WAVES);
    let row = |i: usize| {
        let wave = |w: usize| -> f64 {
            let slope = |r: usize| slopes[w * dim + r] * (places[i * dim + r] / 3.0).clamp(-1.0, 1.0);
            (3.0 * phases[w] + 0.9 * (0..dim).map(slope).sum::<f64>()).cos()
        };
        let waves: Vec<f64> = (0..WAVES).map(wave).collect();
        let value = |c: usize| (0..WAVES).map(|w| waves[w] * mixture[w * columns + c]).sum::<f64>();
        (0..columns).map(|c| (value(c) + 0.1 * noise[i * columns + c]) as f32).collect::<Vec<_>>()
    };
    Data::dense((0..n).flat_map(row).collect(), columns).unwrap()
}

/// The recommended number of dimensions among one less than, exactly and one more than the true number.
fn recommended_dimensions(dim: usize, n: usize, columns: usize) -> usize {
    let mut no_observer = NoObserver;
    let mut context = Context::new(&mut no_observer, Seed(3), None);
    let params = Lllvm { starts: 1, max_iter: 20, ..params() };
    let lists: Vec<usize> = (dim.max(2) - 1..=dim + 1).collect();
    let subsamples = Subsamples { count: 2, rows: 100, ..Subsamples::default() };
    let candidates = by_bound(&manifold(dim, n, columns, 11), &params, &[8], &lists, subsamples, &mut context).unwrap();
    assert!(candidates.iter().all(|candidate| candidate.bounds.len() == 2), "{candidates:?}");
    candidates[recommend(&candidates).unwrap().0].n_components
}

#[test]
fn the_dimensions_of_a_noisy_curve_sheet_and_volume_are_recommended() {
    assert_eq!([1, 2, 3].map(|dim| recommended_dimensions(dim, 600, 12)), [1, 2, 3]);
}

#[test]
fn the_dimensions_of_a_noisy_manifold_of_four_dimensions_are_recommended() {
    assert_eq!(recommended_dimensions(4, 1500, 20), 4);
}

#[test]
fn subsamples_are_near_a_row_or_from_all_rows() {
    let n = 4000;
    let data = Data::dense((0..n).map(|i| i as f32).collect(), 1).unwrap();
    for kind in [SubsampleKind::Near, SubsampleKind::All] {
        let draw = |rows, seed| {
            let subsamples = Subsamples { count: 5, rows, kind };
            subsamples.draw(&data, lowland_core::Metric::Euclidean, Seed(seed), &mut |_| Ok(())).unwrap()
        };
        let drawn = draw(40, 1);
        assert_eq!((drawn.len(), drawn.clone(), drawn == draw(40, 2)), (5, draw(40, 1), false));
        for rows in drawn {
            assert!(rows.len() == 40 && rows.windows(2).all(|pair| pair[0] < pair[1]), "{rows:?}");
            let spread = rows[39] - rows[0];
            assert!(if kind == SubsampleKind::Near { spread < 45 } else { spread > 2500 }, "{kind:?}: {rows:?}");
        }
        assert_eq!(draw(n, 1), [(0..n).collect::<Vec<_>>()]);
    }
    assert_eq!(SubsampleKind::parse("all").unwrap(), SubsampleKind::All);
    assert!(SubsampleKind::parse("some").unwrap_err().to_string().contains("near or all"));
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
