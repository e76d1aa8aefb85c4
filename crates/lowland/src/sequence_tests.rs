use super::*;
use crate::growth::rows_with_ids;
use crate::methods::{Pca, Tsne, Umap};
use crate::params::Auto;

/// Three slices of clusters that drift, of 120 rows each, of which two thirds are shared with the slice before.
fn slices() -> (Vec<Data>, Vec<Vec<SharedRow>>) {
    let noise = Seed(3).normals(4 * 200);
    let value = |row: usize, c: usize, t: usize| {
        noise[4 * row + c] * 0.4 + if row % 3 == c { 4.0 + 0.3 * t as f64 } else { 0.0 }
    };
    let rows = |t: usize| 40 * t..40 * t + 120;
    let slice = |t: usize| {
        let values = rows(t).flat_map(|row| (0..4).map(move |c| (row, c))).map(|(row, c)| value(row, c, t) as f32);
        Data::dense(values.collect(), 4).unwrap()
    };
    let ids = |t: usize| rows(t).map(|row| row.to_string()).collect::<Vec<_>>();
    let shared = (0..2).map(|t| rows_with_ids(&ids(t + 1), &ids(t)).unwrap()).collect();
    ((0..3).map(slice).collect(), shared)
}

fn movements(models: &[Model], shared: &[Vec<SharedRow>]) -> Vec<f64> {
    let pair = |t: usize| movement(models[t].embedding(), models[t + 1].embedding(), &shared[t]);
    (0..shared.len()).map(pair).collect()
}

#[test]
fn ties_keep_shared_rows_near_their_places_and_further_passes_bring_them_closer() {
    let (data, shared) = slices();
    let data: Vec<&Data> = data.iter().collect();
    assert_eq!(shared[0].len(), 80);
    let tsne = Tsne { perplexity: 10.0, max_iter: 400, ..Tsne::default() };
    let fitted = |anchor: f64, passes: usize| {
        let options = SequenceOptions { anchor: AnchorStrength::Tied(anchor), passes, ..SequenceOptions::default() };
        fit_sequence(&tsne, &data, &shared, options).unwrap()
    };
    let (loose, tied, joint) = (fitted(1e-6, 1), fitted(1.0, 1), fitted(1.0, 3));
    let [loose, tied, joint] = [&loose, &tied, &joint].map(|models| movements(models, &shared));
    assert!((0..2).all(|t| tied[t] < 0.7 * loose[t] && joint[t] < tied[t]), "{loose:?} {tied:?} {joint:?}");
    // The first map is that of a fit of its own, and all are the same in another run.
    assert_eq!(fitted(1.0, 1)[0].embedding(), tsne.fit(data[0]).unwrap().embedding());
    assert_eq!(fitted(1.0, 2)[2].embedding(), fitted(1.0, 2)[2].embedding());
}

#[test]
fn exact_positions_are_kept_through_the_sequence() {
    let (data, shared) = slices();
    let data: Vec<&Data> = data.iter().collect();
    let umap = Umap { n_epochs: Auto::Value(60), ..Umap::default() };
    let options = || SequenceOptions { anchor: AnchorStrength::Exact, ..SequenceOptions::default() };
    let models = fit_sequence(&umap, &data, &shared, options()).unwrap();
    assert_eq!(movements(&models, &shared), [0.0, 0.0]);
    let twice = fit_sequence(&umap, &data, &shared, SequenceOptions { passes: 2, ..options() });
    assert!(matches!(twice, Err(Error::Parameter { name: "passes", .. })));
}

#[test]
fn sequences_that_share_nothing_are_refused() {
    let (data, shared) = slices();
    let data: Vec<&Data> = data.iter().collect();
    let error = |data: &[&Data], shared: &[Vec<SharedRow>]| {
        fit_sequence(&Tsne::default(), data, shared, SequenceOptions::default()).err().unwrap().to_string()
    };
    let none = error(&data, &[shared[0].clone(), Vec::new()]);
    assert!(none.starts_with("data sets 2 and 3 of the sequence have no row in common"), "{none}");
    assert!(error(&data[..1], &[]).contains("data sets of a sequence"));
    assert!(error(&data, &shared[..1]).contains("lists of shared rows"));
    assert!(error(&data, &[vec![(0, 500)], shared[1].clone()]).contains("rows that a data set"));
    let narrow = Data::dense(vec![0.5; 120], 1).unwrap();
    assert!(error(&[data[0], &narrow, data[2]], &shared).contains("columns of the data sets"));
    let pca = fit_sequence(&Pca::default(), &data, &shared, SequenceOptions::default()).err().unwrap().to_string();
    assert!(pca.contains("method = pca: cannot continue"), "{pca}");
}
