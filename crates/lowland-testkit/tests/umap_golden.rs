//! Comparison with umap-learn (golden/make_umap.py): the fuzzy graph of 60 rows, and parameters of the similarity curve.

use lowland::neighbors::{Combination, combine_graphs};
use lowland::{Data, Embedding, Metric, Seed};
use lowland_algorithms::umap::{FuzzyGraphParams, SimilarityCurve, fuzzy_graph};
use lowland_neighbors::{NeighborParams, Search, nearest_with};

fn golden(name: &str) -> Embedding {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/umap").join(format!("{name}.npy"));
    lowland_io::read_map(&path).expect("a golden array").embedding
}

#[test]
fn the_fuzzy_graph_is_that_of_umap_learn() {
    let rows = golden("rows");
    let data = Data::dense(rows.values().iter().map(|&v| v as f32).collect(), rows.dim()).unwrap();
    let params = NeighborParams { n_neighbors: 9, metric: Metric::Euclidean, search: Search::Exact, seed: Seed(0) };
    let graph = nearest_with(&data, &params, &mut |_| Ok(())).unwrap().graph;
    for (name, local_connectivity, set_op_mix_ratio) in [("union", 1.0, 1.0), ("mixture", 2.5, 0.4)] {
        let found = fuzzy_graph(&graph, FuzzyGraphParams { local_connectivity, set_op_mix_ratio }).unwrap();
        let expected = golden(name);
        for i in 0..60 {
            for j in 0..60 {
                let (found, expected) = (found.get(i, j), expected.row(i)[j]);
                assert!((found - expected).abs() < 1e-5, "{name} {i} {j}: {found}, umap-learn has {expected}");
            }
        }
    }
}

#[test]
fn combined_graphs_are_those_of_umap_learn() {
    let rows = golden("rows");
    let graph = |columns: std::ops::Range<usize>| {
        let values = rows.values().chunks_exact(4).flat_map(|row| &row[columns.clone()]).map(|&v| v as f32).collect();
        let params = NeighborParams { n_neighbors: 9, metric: Metric::Euclidean, search: Search::Exact, seed: Seed(0) };
        nearest_with(&Data::dense(values, 2).unwrap(), &params, &mut |_| Ok(())).unwrap().graph
    };
    let (left, right) = (graph(0..2), graph(2..4));
    for (name, how, weight) in [
        ("combined_union", Combination::Union, 0.5),
        ("combined_intersection", Combination::Intersection, 0.5),
        ("combined_weighted", Combination::Intersection, 0.3),
    ] {
        let found = combine_graphs(&[&left, &right], how, weight).unwrap();
        let expected = golden(name);
        let mut pairs = 0;
        for i in 0..60 {
            let (columns, values) = found.row(i);
            for (&j, &value) in columns.iter().zip(values) {
                let expected = expected.row(i)[j as usize];
                // The sum of a row's memberships is found up to 1e-5 in both programs.
                assert!(
                    (f64::from(value) - expected).abs() < 1e-4,
                    "{name} {i} {j}: {value}, umap-learn has {expected}"
                );
                pairs += 1;
            }
        }
        assert_eq!(pairs, expected.values().iter().filter(|&&value| value > 0.0).count(), "{name}");
    }
}

#[test]
fn the_similarity_curve_is_that_of_umap_learn() {
    let curves = golden("curves");
    for row in curves.values().chunks_exact(4) {
        let curve = SimilarityCurve::fit(row[0], row[1]).unwrap();
        assert!((curve.a - row[2]).abs() < 1e-5 && (curve.b - row[3]).abs() < 1e-5, "{row:?}: {curve:?}");
    }
}
