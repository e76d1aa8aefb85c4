use super::*;
use crate::fit::FitOptions;
use crate::method::Method;
use crate::methods::{Ee, MapIt, Pacmap, Pca, PhaseIterations, Ssne, Tsne, Umap};
use crate::params::Auto;
use lowland_algorithms::optim::OptimizerKind;
use lowland_core::Seed;

/// Clusters in five columns.
pub(crate) fn clusters(n: usize) -> Data {
    let noise = Seed(5).normals(5 * n);
    let value = |at: usize| noise[at] as f32 * 0.5 + if (at / 5) % 4 == at % 5 { 4.0 } else { 0.0 };
    Data::dense((0..5 * n).map(value).collect(), 5).unwrap()
}

fn part(data: &Data, rows: std::ops::Range<usize>) -> Data {
    data.select(&rows.collect::<Vec<_>>())
}

fn continued<M: Method>(method: &M, strength: AnchorStrength) -> (Model, Model) {
    let all = clusters(240);
    let old = crate::Fit::fit(method, &part(&all, 0..160)).unwrap();
    let data = part(&all, 40..240);
    let shared = rows_with_values(&old, &data);
    assert_eq!(shared, (0..120).map(|i| (i, i + 40)).collect::<Vec<_>>());
    let anchors = anchors(&old, &data, &shared, strength, &mut |_| Ok(())).unwrap();
    let options = FitOptions { anchors: Some(&anchors), ..FitOptions::default() };
    let new = crate::Fit::fit_with(method, &data, options).unwrap();
    (old, new)
}

/// Root mean square movement of the shared rows of [`continued`].
fn movement(old: &Model, new: &Model) -> f64 {
    let shared: Vec<SharedRow> = (0..120).map(|i| (i, i + 40)).collect();
    crate::sequence::movement(old.embedding(), new.embedding(), &shared)
}

fn check_method<M: Method>(method: &M) {
    let name = M::NAME;
    let (old, exact) = continued(method, AnchorStrength::Exact);
    for i in 0..120 {
        let (kept, known) = (exact.embedding().row(i), old.embedding().row(i + 40));
        assert!(kept.iter().zip(known).all(|(a, b)| a.to_bits() == b.to_bits()), "{name}, row {i}");
    }
    // The new rows are refined, not only placed.
    let placed = old.transform(&part(&clusters(240), 160..240)).unwrap();
    let moved = (0..80).filter(|&i| exact.embedding().row(120 + i) != placed.row(i)).count();
    assert!(moved > 60, "{name}: {moved}");
    assert_eq!(exact.pipeline().anchored, Some(120));
    let again = Model::from_bytes(&exact.to_bytes()).unwrap();
    assert_eq!((again.embedding(), again.pipeline().anchored), (exact.embedding(), Some(120)), "{name}");
    // The stronger the ties, the less the rows move.
    let weak = movement(&old, &continued(method, AnchorStrength::Tied(1e-3)).1);
    let strong = movement(&old, &continued(method, AnchorStrength::Tied(100.0)).1);
    assert!(strong < 0.5 * weak && strong > 0.0, "{name}: {strong} {weak}");
}

#[test]
fn every_neighbor_embedding_keeps_rows_exactly_or_tied() {
    check_method(&Tsne { perplexity: 10.0, max_iter: 400, ..Tsne::default() });
    check_method(&Ssne { perplexity: 10.0, ..Ssne::default() });
    check_method(&Ee { perplexity: 10.0, ..Ee::default() });
    check_method(&MapIt { max_iter: 300, ..MapIt::default() });
    check_method(&Umap { n_epochs: Auto::Value(200), ..Umap::default() });
    check_method(&Pacmap { num_iters: PhaseIterations([50, 50, 100]), ..Pacmap::default() });
}

#[test]
fn every_optimizer_keeps_rows_exactly() {
    for optimizer in [OptimizerKind::Fp, OptimizerKind::Sd, OptimizerKind::Lbfgs] {
        let ee = Ee { perplexity: 10.0, optimizer, max_iter: 50, ..Ee::default() };
        let (old, new) = continued(&ee, AnchorStrength::Exact);
        assert!((0..120).all(|i| new.embedding().row(i) == old.embedding().row(i + 40)), "{optimizer:?}");
        assert!(new.outcome().trace.len() > 2, "{optimizer:?}");
    }
}

#[test]
fn rows_are_matched_by_values_and_ids() {
    let data = Data::dense(vec![1.0, 2.0, 1.0, 3.0, 1.0, 4.0], 1).unwrap();
    let old = Tsne { max_iter: 20, ..Tsne::default() }.fit(&data).unwrap();
    let new = Data::dense(vec![4.0, 1.0, 1.0, 5.0, 1.0, 1.0], 1).unwrap();
    // Three rows are 1 in the old data: the fourth is new.
    assert_eq!(rows_with_values(&old, &new), [(0, 5), (1, 0), (2, 2), (4, 4)]);
    let ids = |text: &str| text.split(' ').map(String::from).collect::<Vec<_>>();
    assert_eq!(rows_with_ids(&ids("c a x"), &ids("a b c")).unwrap(), [(0, 2), (1, 0)]);
    for (new, old) in [("a a", "a b"), ("a b", "a a")] {
        let error = rows_with_ids(&ids(new), &ids(old)).unwrap_err().to_string();
        assert!(error.contains("several rows have the id 'a'"), "{error}");
    }
    // An id that is repeated in one table only says nothing about the other.
    assert_eq!(rows_with_ids(&ids("b"), &ids("a a b")).unwrap(), [(0, 2)]);
}

#[test]
fn what_cannot_be_continued_is_refused() {
    let data = clusters(60);
    let tsne = Tsne { perplexity: 5.0, max_iter: 20, ..Tsne::default() };
    let old = tsne.fit(&data).unwrap();
    let other = Data::dense(Seed(9).normals(300).into_iter().map(|v| v as f32).collect(), 5).unwrap();
    let none = anchors(&old, &other, &rows_with_values(&old, &other), AnchorStrength::Exact, &mut |_| Ok(()));
    assert!(matches!(none, Err(Error::NoSharedRows { .. })), "{none:?}");
    let shared = rows_with_values(&old, &data);
    let all = anchors(&old, &data, &shared, AnchorStrength::Exact, &mut |_| Ok(())).unwrap();
    let options = || FitOptions { anchors: Some(&all), ..FitOptions::default() };
    let error = Pca::default().fit_with(&data, options()).err().unwrap().to_string();
    assert!(error.contains("method = pca: cannot continue") && error.contains("tsne, "), "{error}");
    let error = tsne.fit_with(&data, FitOptions { landmarks: Some(20), ..options() }).err().unwrap().to_string();
    assert!(error.starts_with("landmarks = 20: cannot be combined"), "{error}");
    let solid = Tsne { n_components: 3, ..tsne.clone() };
    assert!(matches!(solid.fit_with(&data, options()), Err(Error::Shape { .. })));
    assert!(matches!(tsne.fit_with(&part(&data, 0..50), options()), Err(Error::Shape { .. })));
    assert!(AnchorStrength::parse("0").is_none() && AnchorStrength::parse("-1").is_none());
    assert_eq!(AnchorStrength::parse("exact"), Some(AnchorStrength::Exact));
    // All rows are held: the map is the old one.
    let same = tsne.fit_with(&data, options()).unwrap();
    assert_eq!(same.embedding(), old.embedding());
}

#[test]
fn an_aligned_model_shows_the_same_map_turned() {
    let data = clusters(80);
    let model = || Umap { n_epochs: Auto::Value(30), ..Umap::default() }.fit(&data).unwrap();
    let own = model().embedding().clone();
    // A rotation with a reflection, three times as large, elsewhere.
    let turn = |p: &[f64]| [3.0 * (0.6 * p[0] + 0.8 * p[1]) + 7.0, 3.0 * (0.8 * p[0] - 0.6 * p[1]) - 2.0];
    let rows = [3usize, 20, 41, 42, 77];
    let positions = Embedding::new(rows.iter().flat_map(|&i| turn(own.row(i))).collect(), 2).unwrap();
    let mut aligned = model();
    aligned.align_to(&FixedPositions::new(rows.to_vec(), positions).unwrap()).unwrap();
    let close = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-6);
    assert!((0..80).all(|i| close(aligned.embedding().row(i), &turn(own.row(i)))));
    assert!(aligned.alignment().unwrap().disparity() < 1e-9);
    assert!((aligned.alignment().unwrap().scale() - 3.0).abs() < 1e-6);
    let new = clusters(90).select(&[83, 88]);
    let (placed, plain) = (aligned.transform(&new).unwrap(), model().transform(&new).unwrap());
    assert!((0..2).all(|i| close(placed.row(i), &turn(plain.row(i)))));
    assert_eq!(&aligned.transform(&data).unwrap(), aligned.embedding());
    let loaded = Model::from_bytes(&aligned.to_bytes()).unwrap();
    assert_eq!((loaded.embedding(), &loaded.transform(&new).unwrap()), (aligned.embedding(), &placed));
    assert!(close(loaded.own_points(placed.points()).unwrap().values(), plain.values()));
    // A continuation starts from the coordinates of the method.
    let shared = rows_with_values(&aligned, &data);
    let start = anchors(&aligned, &data, &shared, AnchorStrength::Exact, &mut |_| Ok(())).unwrap();
    assert_eq!(start.start(), &own);
    let ids: Vec<String> = (0..80).map(|i| i.to_string()).collect();
    let others: Vec<String> = (200..280).map(|i| i.to_string()).collect();
    assert!(matches!(shared_positions(&ids, &others, &own), Err(Error::NoSharedRows { .. })));
    let one = FixedPositions::new(vec![2], Embedding::new(vec![1.0, 2.0], 2).unwrap()).unwrap();
    assert!(matches!(aligned.align_to(&one), Err(Error::TooFewPoints { .. })));
    let solid = FixedPositions::new(vec![0, 1], Embedding::new(vec![1.0; 6], 3).unwrap()).unwrap();
    assert!(matches!(aligned.align_to(&solid), Err(Error::Shape { .. })));
}

#[test]
fn inverses_and_covariances_follow_the_alignment() {
    let data = clusters(60);
    let mut model = Pca::default().fit(&data).unwrap();
    let own = model.embedding().clone();
    let turn = |p: &[f64]| [-2.0 * p[1] + 1.0, 2.0 * p[0]];
    let positions = Embedding::new((0..60).flat_map(|i| turn(own.row(i))).collect(), 2).unwrap();
    let before = model.inverse_transform(own.points()).unwrap();
    model.align_to(&FixedPositions::new((0..60).collect(), positions).unwrap()).unwrap();
    let after = model.inverse_transform(model.embedding().points()).unwrap();
    let (Data::Dense(before), Data::Dense(after)) = (before, after) else { panic!("dense rows") };
    assert!(before.values().iter().zip(after.values()).all(|(a, b)| (a - b).abs() < 1e-4));
    let alignment = model.alignment().unwrap();
    let turned = alignment.of_covariances(&[4.0, 1.0, 1.0, 9.0]);
    assert!(turned.iter().zip([36.0, -4.0, -4.0, 16.0]).all(|(a, b)| (a - b).abs() < 1e-6), "{turned:?}");
}
