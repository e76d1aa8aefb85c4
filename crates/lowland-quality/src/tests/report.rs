//! Scores of a report.

use proptest::prelude::*;

use super::{close, fixture, scatter};
use crate::report::rows_scored;
use crate::{
    MetricSpace, PrecomputedGraphs, QualityParams, QualityReport, Score, ScoreKind, ScoredRows, report, report_with,
    trustworthiness,
};
use lowland_core::run::Progress;
use lowland_core::{Data, Embedding, Error, Metric, Points, Seed, Sparse, with_threads};
use lowland_neighbors::{NeighborGraph, nearest_points};

fn score(report: &QualityReport, kind: ScoreKind, k: Option<usize>) -> f64 {
    report.scores.iter().find(|s| s.kind == kind && s.k == k).unwrap_or_else(|| panic!("{kind:?} {report:?}")).value
}

#[test]
fn trustworthiness_equals_that_of_scikit_learn() {
    let golden = [
        (3, Metric::Euclidean, [0.9419566210045662, 0.9052318926386422, 0.8600710295291301]),
        (3, Metric::Cosine, [0.9332945205479453, 0.891453522794553, 0.7673538175046555]),
        (3, Metric::Manhattan, [0.9698538812785388, 0.9508969804618117, 0.872486033519553]),
        (20, Metric::Euclidean, [0.6701164383561644, 0.6528882968225775, 0.6598754988028731]),
        (20, Metric::Cosine, [0.675095890410959, 0.6620613775409512, 0.6402282521947327]),
        (20, Metric::Manhattan, [0.7486643835616438, 0.7245431221630156, 0.6786459164671454]),
    ];
    let rows: Vec<u32> = (0..300).collect();
    for (dim, metric, expected) in golden {
        let (data, map) = fixture(dim);
        let neighbors = nearest_points(map.points(), 140).unwrap();
        for (k, expected) in [5, 12, 140].into_iter().zip(expected) {
            let space = MetricSpace::Data(&data, metric);
            close(trustworthiness(&space, &neighbors, &rows, k).unwrap(), expected);
        }
    }
}

#[test]
fn a_report_agrees_with_scikit_learn_and_scipy() {
    let golden = [
        (3, 5, [0.9862328767123287, 0.528, 0.89, 0.45, 0.8146049208404881]),
        (3, 12, [0.9754312216301559, 0.5369444444444443, 0.9766666666666667, 0.45, 0.8146049208404881]),
        (20, 5, [0.7473744292237443, 0.06333333333333334, 0.09, 0.016666666666666666, 0.3119429698282724]),
        (
            20,
            12,
            [0.7316114071442668, 0.09833333333333333, 0.14666666666666667, 0.016666666666666666, 0.3119429698282724],
        ),
    ];
    let labels: Vec<u32> = (0..300).map(|i| i * 7 / 300).collect();
    for (dim, k, [continuity, recall, first, first_at_one, spearman]) in golden {
        let (data, map) = fixture(dim);
        let params = QualityParams { n_neighbors: k, ..Default::default() };
        let report = report(&data, map.points(), Some(&labels), &params).unwrap();
        close(score(&report, ScoreKind::Continuity, Some(k)), continuity);
        close(score(&report, ScoreKind::KnnRecall, Some(k)), recall);
        close(score(&report, ScoreKind::FirstNeighborRecall, Some(k)), first);
        close(score(&report, ScoreKind::FirstNeighborRecall, Some(1)), first_at_one);
        close(score(&report, ScoreKind::DistanceCorrelation, None), spearman);
        close(score(&report, ScoreKind::ClassificationError, Some(1)), 0.38333333333333336);
        assert_eq!(report.classes.len(), 7);
        assert!(report.omitted.is_empty() && report.scores.iter().all(|s| s.value.is_finite()));
        assert!(report.scores.iter().all(|s| (s.kind == ScoreKind::TripletAccuracy) == (s.sampled.is_some())));
    }
}

#[test]
fn sparse_rows_and_strings_are_ranked_too() {
    let dense = scatter(60, 6, 8).into_iter().map(|v| if v > 0.1 { v as f32 } else { 0.0 }).collect::<Vec<_>>();
    let (mut indptr, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
    for row in dense.chunks(6) {
        for (c, &v) in row.iter().enumerate().filter(|(_, v)| **v != 0.0) {
            indices.push(c as u32);
            values.push(v);
        }
        indptr.push(indices.len());
    }
    let sparse = Data::Sparse(Sparse::new(indptr, indices, values, 6).unwrap());
    let dense = Data::dense(dense, 6).unwrap();
    let map = Embedding::new(scatter(60, 2, 1), 2).unwrap();
    for metric in [Metric::Euclidean, Metric::Cosine, Metric::Manhattan] {
        let params = QualityParams { n_neighbors: 7, metric, ..Default::default() };
        let a = report(&dense, map.points(), None, &params).unwrap();
        let b = report(&sparse, map.points(), None, &params).unwrap();
        assert_eq!(a.get(ScoreKind::Trustworthiness), b.get(ScoreKind::Trustworthiness), "{metric}");
        assert_eq!(a.get(ScoreKind::KnnRecall), b.get(ScoreKind::KnnRecall), "{metric}");
    }
    let words: Vec<String> = (0..30).map(|i: usize| "ab".repeat(i % 5 + 1) + &"c".repeat(i)).collect();
    let params = QualityParams { n_neighbors: 4, metric: Metric::Levenshtein, ..Default::default() };
    let half = Embedding::new(scatter(30, 2, 1), 2).unwrap();
    let scored = report(&Data::text(words), half.points(), None, &params).unwrap();
    assert!(scored.get(ScoreKind::Trustworthiness).is_some());
}

#[test]
fn a_map_equal_to_the_data_has_perfect_scores() {
    let values = scatter(120, 2, 3);
    let rounded: Vec<f32> = values.iter().map(|&v| v as f32).collect();
    let map = Embedding::new(rounded.iter().map(|&v| f64::from(v)).collect(), 2).unwrap();
    let data = Data::dense(rounded, 2).unwrap();
    let found = report(&data, map.points(), None, &QualityParams::default()).unwrap();
    for kind in [
        ScoreKind::KnnRecall,
        ScoreKind::FirstNeighborRecall,
        ScoreKind::Trustworthiness,
        ScoreKind::Continuity,
        ScoreKind::TripletAccuracy,
    ] {
        assert_eq!(found.get(kind), Some(1.0), "{kind:?}");
    }
    close(found.get(ScoreKind::DistanceCorrelation).unwrap(), 1.0);
}

#[test]
fn sampled_scores_are_close_to_exact_ones_and_marked_as_sampled() {
    let (data, map) = fixture(20);
    let exact = report(&data, map.points(), None, &QualityParams::default()).unwrap();
    let sample_of = |rows, seed| {
        let params = QualityParams { rows: ScoredRows::Sample(rows), seed: Seed(seed), ..Default::default() };
        report(&data, map.points(), None, &params).unwrap()
    };
    let sampled = sample_of(150, 0);
    for kind in [ScoreKind::KnnRecall, ScoreKind::Trustworthiness, ScoreKind::Continuity] {
        let of = |report: &QualityReport| *report.scores.iter().find(|s| s.kind == kind).unwrap();
        assert_eq!((of(&exact).sampled, of(&sampled).sampled), (None, Some(150)));
        assert_eq!(of(&exact).standard_error, None);
        assert_ne!(of(&exact).value, of(&sampled).value);
        assert!((of(&exact).value - of(&sampled).value).abs() < 0.03, "{kind:?}");

        // The standard error is that of many samples: their root mean square error is within a quarter of it.
        let samples: Vec<Score> = (0..100).map(|seed| of(&sample_of(100, seed))).collect();
        let squares: f64 = samples.iter().map(|s| (s.value - of(&exact).value).powi(2)).sum();
        let stated: f64 = samples.iter().map(|s| s.standard_error.unwrap()).sum::<f64>() / 100.0;
        let ratio = (squares / 100.0).sqrt() / stated;
        assert!((0.75..1.25).contains(&ratio), "{kind:?}: {ratio}");
    }
    assert_eq!(sample_of(300, 0), exact);
}

#[test]
fn errors_of_random_triplets_and_pairs_are_those_of_many_draws() {
    let (data, map) = fixture(20);
    for kind in [ScoreKind::TripletAccuracy, ScoreKind::DistanceCorrelation] {
        let draw = |seed| {
            let params = QualityParams { pairs: 2_000, seed: Seed(seed), ..Default::default() };
            let found = report(&data, map.points(), None, &params).unwrap();
            *found.scores.iter().find(|s| s.kind == kind).unwrap()
        };
        let draws: Vec<Score> = (0..100).map(draw).collect();
        let mean = draws.iter().map(|s| s.value).sum::<f64>() / 100.0;
        let variance = draws.iter().map(|s| (s.value - mean).powi(2)).sum::<f64>() / 99.0;
        let stated = draws.iter().map(|s| s.standard_error.unwrap()).sum::<f64>() / 100.0;
        let ratio = variance.sqrt() / stated;
        assert!((0.75..1.25).contains(&ratio), "{kind:?}: {ratio}");
    }
}

#[test]
fn slow_comparisons_use_fewer_rows() {
    let words: Vec<String> =
        (0..700).map(|i: usize| char::from(b'a' + (i % 26) as u8).to_string().repeat(1 + i % 7)).collect();
    let long: Vec<String> = words.iter().map(|word| word.repeat(500)).collect();
    let map = Embedding::new(scatter(700, 2, 1), 2).unwrap();
    let rows = |words: &[String]| {
        let data = Data::text(words.to_vec());
        let space = MetricSpace::Data(&data, Metric::Levenshtein);
        rows_scored(&space, &QualityParams { metric: Metric::Levenshtein, ..Default::default() })
    };
    assert_eq!((rows(&words), rows(&long)), (700, 300));
    assert_eq!(rows_scored(&MetricSpace::Map(map.points()), &QualityParams::default()), 700);
}

#[test]
fn precomputed_graphs_are_used_and_give_the_same_scores() {
    let (data, map) = fixture(20);
    let params = QualityParams { n_neighbors: 6, ..Default::default() };
    let Data::Dense(x) = &data else { unreachable!() };
    let wide: Vec<f64> = x.values().iter().map(|&v| f64::from(v)).collect();
    let in_data = nearest_points(Points::new(&wide, 20).unwrap(), 9).unwrap();
    let in_map = nearest_points(map.points(), 9).unwrap();
    let expected = report(&data, map.points(), None, &params).unwrap();
    for rows in [ScoredRows::Affordable, ScoredRows::All, ScoredRows::Sample(200)] {
        let params = QualityParams { rows, ..params.clone() };
        let expected = report(&data, map.points(), None, &params).unwrap();
        let known = PrecomputedGraphs { data: Some(&in_data), map: Some(&in_map) };
        assert_eq!(report_with(&data, map.points(), None, known, &params, &mut |_| Ok(())).unwrap(), expected);
    }
    // A wrong graph changes the scores, which proves that it is used.
    let wrong = (0..300u32).flat_map(|i| (1..7).map(move |step| (i + step) % 300)).collect();
    let wrong = NeighborGraph::uniform(6, wrong, vec![1.0; 1800], 300, Metric::Euclidean).unwrap();
    let known = PrecomputedGraphs { data: Some(&wrong), map: None };
    let believed = report_with(&data, map.points(), None, known, &params, &mut |_| Ok(())).unwrap();
    assert_ne!(believed.get(ScoreKind::KnnRecall), expected.get(ScoreKind::KnnRecall));
}

#[test]
fn scores_are_the_same_for_any_number_of_threads() {
    let (data, map) = fixture(20);
    let labels: Vec<u32> = (0..300).map(|i| i % 3).collect();
    let params = QualityParams { pairs: 5000, ..Default::default() };
    let run =
        |threads| with_threads(Some(threads), || report(&data, map.points(), Some(&labels), &params).unwrap()).unwrap();
    let one = run(1);
    assert_eq!(one, run(2));
    assert_eq!(one, run(3));
}

#[test]
fn small_maps_omit_undefined_scores_with_reasons() {
    for n in 0..14 {
        let data = Data::Dense(lowland_core::Dense::shared(std::sync::Arc::new(vec![1.0; n * 2]), n, 2).unwrap());
        let map = Embedding::new(scatter(n, 2, 1), 2).unwrap();
        let labels = vec![0; n];
        for k in [1, 2, 6, 15] {
            let params = QualityParams { n_neighbors: k, ..Default::default() };
            let found = report(&data, map.points(), Some(&labels), &params).unwrap();
            let has = |kind| found.get(kind).is_some();
            assert_eq!(has(ScoreKind::KnnRecall), k < n);
            assert_eq!(has(ScoreKind::Trustworthiness), 2 * k < n);
            assert_eq!(has(ScoreKind::TripletAccuracy), n >= 3);
            assert_eq!(has(ScoreKind::ClassNeighborShare), k < n);
            assert!(!has(ScoreKind::DistanceCorrelation), "all rows of the data are equal");
            assert!(found.omitted.iter().all(|o| !o.reason.is_empty()));
        }
    }
}

#[test]
fn invalid_input_is_rejected_with_a_specific_error() {
    let data = Data::dense(vec![0.0; 8], 2).unwrap();
    let map = [0.0, 1.0, 2.0, f64::NAN, 4.0, 5.0, f64::INFINITY, 7.0];
    let good = Embedding::new(vec![0.0; 8], 2).unwrap();
    let params = QualityParams::default();
    let refused =
        |map: Points, labels: Option<&[u32]>, params: &QualityParams| report(&data, map, labels, params).unwrap_err();
    let error = refused(Points::new(&map, 2).unwrap(), None, &params);
    assert!(matches!(error, Error::NotFinite { row: 1, column: 1, count: 2, .. }), "{error}");
    assert!(matches!(refused(Points::new(&map[..2], 2).unwrap(), None, &params), Error::Shape { .. }));
    assert!(matches!(refused(good.points(), Some(&[1]), &params), Error::Shape { what: "labels", .. }));
    let zero = QualityParams { n_neighbors: 0, ..Default::default() };
    assert!(matches!(refused(good.points(), None, &zero), Error::Parameter { .. }));
    let words = QualityParams { metric: Metric::Levenshtein, ..Default::default() };
    assert!(matches!(refused(good.points(), None, &words), Error::Metric { .. }));
}

#[test]
fn progress_rises_to_one_and_can_stop_the_work() {
    let (data, map) = fixture(20);
    let mut seen = Vec::new();
    let mut watch = |done: f64| {
        seen.push(done);
        Ok(())
    };
    report_with(
        &data,
        map.points(),
        None,
        PrecomputedGraphs::default(),
        &QualityParams::default(),
        &mut watch as &mut Progress,
    )
    .unwrap();
    assert!(seen.is_sorted() && seen.last() == Some(&1.0), "{seen:?}");
    let mut stop = |_| Err(Error::Stopped { stage: "scores" });
    assert!(matches!(
        report_with(&data, map.points(), None, PrecomputedGraphs::default(), &QualityParams::default(), &mut stop),
        Err(Error::Stopped { .. })
    ));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn extreme_values_give_scores_in_range_or_an_error(
        values in prop::collection::vec(prop_oneof![
            Just(0.0f64), Just(-1.0), Just(1e308), Just(-1e308), Just(5e-324), -1.0..1.0f64, any::<f64>(),
        ], 2..80),
        k in 1usize..20,
        seed in any::<u64>(),
    ) {
        let n = values.len() / 2;
        let map = Embedding::new(values[..2 * n].to_vec(), 2).unwrap();
        let data = Data::dense(values[..2 * n].iter().rev().map(|&v| v as f32).collect(), 2).unwrap();
        let labels: Vec<u32> = (0..n as u32).map(|i| i % 3).collect();
        let params = QualityParams { n_neighbors: k, seed: Seed(seed), ..Default::default() };
        if let Ok(found) = report(&data, map.points(), Some(&labels), &params) {
            for score in &found.scores {
                prop_assert!(score.value >= -1.0 - 1e-12 && score.value <= 1.0 + 1e-12, "{:?}", score);
            }
        }
    }
}
