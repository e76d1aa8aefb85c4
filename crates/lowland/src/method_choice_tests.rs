use super::*;
use lowland_core::Metric;

fn rolled_sheet(rows: usize) -> Data {
    let value = |i: usize| {
        let angle = 1.5 * std::f64::consts::PI * (1.0 + 2.0 * (i as f64 + 0.5) / rows as f64);
        let height = 20.0 * (i as f64 * 0.618_033_988_749_894_9).fract();
        [angle * angle.cos(), height, angle * angle.sin()].map(|v| v as f32)
    };
    Data::dense((0..rows).flat_map(value).collect(), 3).unwrap()
}

/// Points near a plane in 12 columns.
fn noisy_plane(rows: usize) -> Data {
    let (plane, noise) = (Seed(3).normals(rows * 2), Seed(4).normals(rows * 12));
    let value = |at: usize| {
        let (row, column) = (at / 12, at % 12);
        let [x, y] = [plane[2 * row], plane[2 * row + 1]];
        (10.0 * (x * (column as f64).cos() + y * (column as f64).sin()) + 0.01 * noise[at]) as f32
    };
    Data::dense((0..rows * 12).map(value).collect(), 12).unwrap()
}

fn scores_of<'a>(choice: &'a MethodChoice, method: &str) -> &'a MethodScores {
    choice.scores.iter().find(|scores| scores.method == method).expect("compared")
}

#[test]
fn a_plane_is_given_to_pca_and_a_rolled_sheet_is_not() {
    let plane = choose_method(&noisy_plane(300), &[], ChoiceOptions::default()).unwrap();
    assert_eq!(plane.method, "pca", "{}", plane.table());
    assert!(scores_of(&plane, "pca").mean() > 0.95, "{}", plane.table());
    let roll = choose_method(&rolled_sheet(500), &[], ChoiceOptions::default()).unwrap();
    assert!(roll.method != "pca", "{}", roll.table());
    assert!(scores_of(&roll, "pca").kept < 0.6 * scores_of(&roll, "tsne").kept, "{}", roll.table());
    assert_eq!((roll.fitted_rows, roll.held_out_rows, roll.scores.len()), (400, 100, 7));
    let mean = |scores: &MethodScores| (scores.kept + scores.placed + scores.order) / 3.0;
    let most = roll.scores.iter().map(mean).fold(0.0, f64::max);
    assert_eq!(mean(scores_of(&roll, roll.method)), most);
    assert!(roll.reason().starts_with(&format!("{} has the largest mean", roll.method)), "{}", roll.reason());
    assert_eq!(roll.table().lines().count(), 8);
}

#[test]
fn few_rows_get_the_default_and_say_so() {
    let choice = choose_method(&rolled_sheet(59), &[], ChoiceOptions::default()).unwrap();
    assert_eq!((choice.method, choice.scores.len(), choice.table()), (DEFAULT_METHOD, 0, String::new()));
    assert!(choice.reason().contains("fewer than 60 rows"), "{}", choice.reason());
}

#[test]
fn parameters_go_to_the_methods_that_have_them() {
    let values = [("perplexity", "5"), ("metric", "manhattan"), ("n_components", "1")];
    let choice = choose_method(&rolled_sheet(100), &values, ChoiceOptions::default()).unwrap();
    assert_eq!(choice.scores.len(), 7);
    let error = choose_method(&rolled_sheet(100), &[("inducing", "5")], ChoiceOptions::default()).unwrap_err();
    assert!(error.to_string().contains("none of the methods that are compared"), "{error}");
    // An invalid value is an error of every method that has the parameter; the others remain.
    let choice = choose_method(&rolled_sheet(100), &[("perplexity", "0")], ChoiceOptions::default()).unwrap();
    assert_eq!(choice.skipped.len(), 1);
    assert!(matches!(&choice.skipped[0].reason, SkipReason::Failed(Error::Parameter { name: "perplexity", .. })));
}

#[test]
fn distances_are_refused_and_strings_are_compared_by_methods_with_a_metric() {
    let distances = Data::dense(vec![0.0; 80 * 80], 80).unwrap();
    let error = choose_method(&distances, &[("metric", "precomputed")], ChoiceOptions::default()).unwrap_err();
    assert!(error.to_string().contains("name a method"), "{error}");
    let word = |i: usize| format!("{}{}{}", "ab".repeat(i % 7 + 1), "c".repeat(i % 5), i);
    let words = Data::text((0..90).map(word).collect());
    let choice = choose_method(&words, &[("metric", "levenshtein")], ChoiceOptions::default()).unwrap();
    assert!(choice.scores.iter().any(|scores| scores.method == "tsne"), "{choice:?}");
    assert!(choice.skipped.iter().any(|skipped| skipped.method == "pca"), "{choice:?}");
    assert!(choose_method(&words, &[], ChoiceOptions::default()).unwrap_err().to_string().contains("levenshtein"));
    assert!(Metric::Levenshtein.check(&words).is_ok());
}

#[test]
fn methods_that_cannot_be_fitted_to_all_rows_are_left_out() {
    let data = rolled_sheet(2000);
    // Enough for everything but the square matrix of isomap.
    let options = ChoiceOptions { memory: MemoryBudget::new(Some(12 << 20)), ..ChoiceOptions::default() };
    let choice = choose_method(&data, &[("max_iter", "20")], options).unwrap();
    let isomap = choice.skipped.iter().find(|skipped| skipped.method == "isomap").expect("left out");
    assert!(matches!(isomap.reason, SkipReason::Failed(Error::Memory { .. })), "{:?}", isomap.reason);
    let options = ChoiceOptions { uses_neighbors: true, ..ChoiceOptions::default() };
    let choice = choose_method(&rolled_sheet(100), &[], options).unwrap();
    assert!(choice.skipped.iter().all(|skipped| skipped.reason == SkipReason::NoNeighbors));
    assert_eq!(choice.skipped.iter().map(|skipped| skipped.method).collect::<Vec<_>>(), ["pca"]);
}

#[test]
fn the_choice_is_the_same_for_any_number_of_threads() {
    let data = rolled_sheet(200);
    let choose = |threads| {
        lowland_core::with_threads(Some(threads), || choose_method(&data, &[], ChoiceOptions::default()).unwrap())
            .unwrap()
    };
    assert_eq!(choose(1), choose(3));
}
