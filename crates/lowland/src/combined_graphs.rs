//! Combination of neighbor graphs over the same rows.

use lowland_algorithms::umap::{Combination, FuzzyGraphParams, combine, fuzzy_graph};
use lowland_core::{Error, Metric, Result};
use lowland_neighbors::NeighborGraph;

/// Combines the fuzzy graphs of two or more neighbor graphs over the same rows, such as of different columns or metrics, as the
/// operators `+` (union) and `*` (intersection) of umap-learn do; `weight`, 0.5 for equal weights, is that of the later graph of an
/// intersection.
///
/// The values of the result are memberships from 0 to 1 instead of distances, for methods with `affinity=precomputed`.
pub fn combine_graphs(graphs: &[&NeighborGraph], how: Combination, weight: f64) -> Result<NeighborGraph> {
    let [first, others @ ..] = graphs else {
        return Err(Error::Shape { what: "neighbor graphs to combine (at least)", expected: 2, found: 0 });
    };
    if others.is_empty() {
        return Err(Error::Shape { what: "neighbor graphs to combine (at least)", expected: 2, found: 1 });
    }
    let fuzzy = |graph: &NeighborGraph| {
        if graph.targets() != graph.rows() {
            let what = "points that the neighbor graph refers to";
            return Err(Error::Shape { what, expected: graph.rows(), found: graph.targets() });
        }
        fuzzy_graph(graph, FuzzyGraphParams { local_connectivity: 1.0, set_op_mix_ratio: 1.0 })
    };
    let mut combined = fuzzy(first)?;
    for other in others {
        combined = combine(&combined, &fuzzy(other)?, how, weight)?;
    }
    let values = combined.values().iter().map(|&value| value as f32).collect();
    let (starts, columns) = (combined.indptr().to_vec(), combined.indices().to_vec());
    NeighborGraph::new(starts, columns, values, combined.rows(), Metric::Precomputed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::methods::{Affinity, Tsne, Umap};
    use crate::neighbors::{NeighborParams, nearest};
    use crate::params::Auto;
    use crate::{Data, Error, FitOptions, Seed};
    use lowland_algorithms::affinity::AffinityKind;

    /// Rows with two columns, each of which separates four groups in two.
    fn rows(columns: &[usize]) -> Data {
        let noise = Seed(2).normals(2 * 160);
        let value =
            |i: usize, c: usize| noise[2 * i + c] * 0.3 + if (i % 4 / (c + 1)).is_multiple_of(2) { 0.0 } else { 9.0 };
        let values = (0..160).flat_map(|i| columns.iter().map(move |&c| (i, c))).map(|(i, c)| value(i, c) as f32);
        Data::dense(values.collect(), columns.len()).unwrap()
    }

    fn graph(data: &Data) -> NeighborGraph {
        nearest(data, &NeighborParams { n_neighbors: 14, ..NeighborParams::default() }).unwrap().graph
    }

    /// Share of the weight that is between rows of the same group of four.
    fn within(graph: &NeighborGraph) -> f64 {
        let (mut same, mut all) = (0.0, 0.0);
        for i in 0..graph.rows() {
            for (&j, &weight) in graph.row(i).0.iter().zip(graph.row(i).1) {
                all += f64::from(weight);
                same += if i % 4 == j as usize % 4 { f64::from(weight) } else { 0.0 };
            }
        }
        same / all
    }

    #[test]
    fn an_intersection_separates_what_either_description_separates() {
        let data = rows(&[0, 1]);
        let graphs = [graph(&rows(&[0])), graph(&rows(&[1]))];
        let combine = |how| combine_graphs(&[&graphs[0], &graphs[1]], how, 0.5).unwrap();
        let (union, both) = (combine(Combination::Union), combine(Combination::Intersection));
        assert!(within(&both) > within(&union), "{} {}", within(&both), within(&union));
        assert!(both.distances().iter().all(|&value| value > 0.0 && value <= 1.0));
        let fitted = |method: &Umap, graph: &NeighborGraph| {
            method.fit_with(&data, FitOptions { neighbors: Some(graph), ..FitOptions::default() })
        };
        let umap = Umap { n_epochs: Auto::Value(40), affinity: Affinity::Precomputed, ..Umap::default() };
        let maps = [fitted(&umap, &union).unwrap(), fitted(&umap, &both).unwrap()];
        assert_ne!(maps[0].embedding(), maps[1].embedding());
        let tsne = Tsne { affinity: AffinityKind::Precomputed, max_iter: 20, ..Tsne::default() };
        tsne.fit_with(&data, FitOptions { neighbors: Some(&both), ..FitOptions::default() }).unwrap();
        // Distances are not memberships.
        let next = (0..160).map(|i| (i + 1) % 160).collect();
        let distances = NeighborGraph::uniform(1, next, vec![2.0; 160], 160, Metric::Euclidean).unwrap();
        let wrong = fitted(&umap, &distances).err().unwrap().to_string();
        assert!(wrong.contains("memberships"), "{wrong}");
        let missing = umap.fit(&data).err().unwrap().to_string();
        assert!(missing.contains("affinity = precomputed: needs"), "{missing}");
    }

    #[test]
    fn graphs_of_other_rows_are_refused() {
        let graphs = [graph(&rows(&[0])), graph(&rows(&[0]).select(&(0..50).collect::<Vec<_>>()))];
        for list in [&[&graphs[0], &graphs[1]][..], &[&graphs[0]], &[]] {
            assert!(matches!(combine_graphs(list, Combination::Union, 0.5), Err(Error::Shape { .. })));
        }
    }
}
