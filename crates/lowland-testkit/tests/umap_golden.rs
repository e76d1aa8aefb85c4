//! Comparison with umap-learn (golden/make_umap.py): the fuzzy graph of 60 rows, and parameters of the similarity curve.

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
fn the_similarity_curve_is_that_of_umap_learn() {
    let curves = golden("curves");
    for row in curves.values().chunks_exact(4) {
        let curve = SimilarityCurve::fit(row[0], row[1]).unwrap();
        assert!((curve.a - row[2]).abs() < 1e-5 && (curve.b - row[3]).abs() < 1e-5, "{row:?}: {curve:?}");
    }
}
