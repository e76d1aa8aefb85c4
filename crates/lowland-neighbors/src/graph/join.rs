//! Joins components through their closest pairs of points.

use rayon::prelude::*;

use super::components::{Components, DisjointSets};
use super::spanning_tree::Edge;
use crate::{distance, nearest_to_with};
use lowland_core::run::Progress;
use lowland_core::{Data, Metric, Result};

/// Number of distances computed between two progress reports.
const DISTANCES_A_ROUND: usize = 1 << 20;

/// Components up to this size are searched together, with as many neighbors as are needed to find one outside.
const SMALL: usize = 64;

/// Returns the edges of least total length that join all components, each between the closest pair of points of the two
/// parts it joins. This is exactly the minimum spanning tree between components, with distances as in a neighbor graph.
///
/// Rows are searched by [`nearest_to`](crate::nearest_to); only a precomputed matrix is scanned pair by pair.
pub fn join_components(data: &Data, metric: Metric, components: &Components) -> Result<Vec<Edge>> {
    join_components_with(data, metric, components, &mut |_| Ok(()))
}

/// Like [`join_components`], and reports progress.
pub fn join_components_with(
    data: &Data,
    metric: Metric,
    components: &Components,
    progress: &mut Progress,
) -> Result<Vec<Edge>> {
    if metric == Metric::Precomputed {
        return join_components_by(components, |i, j| distance(data, i, data, j, metric), progress);
    }
    let all: Vec<usize> = (0..data.rows()).collect();
    rounds(components, progress, |now, searching, progress| {
        let (labels, sizes) = (now.labels(), now.sizes());
        let mut closest = vec![None; searching.len()];
        let mut search = |asking: &[usize], among: &[usize], k: usize, closest: &mut [Option<Edge>]| -> Result<()> {
            let points: Vec<usize> = asking.iter().map(|&at| searching[at]).collect();
            let whole = if among.len() == data.rows() { data.clone() } else { data.select(among) };
            let graph = nearest_to_with(&data.select(&points), &whole, k, metric, progress)?;
            for (row, (&at, &i)) in asking.iter().zip(&points).enumerate() {
                let (near, lengths) = graph.row(row);
                let near = near.iter().map(|&j| among[j as usize]).zip(lengths);
                let outside = near.into_iter().find(|&(j, _)| labels[j] != labels[i]);
                closest[at] = outside.map(|(j, &length)| Edge::new(i, j, f64::from(length)));
            }
            Ok(())
        };
        // The points of a component of `size` points have a neighbor outside among their `size` nearest others.
        let small: Vec<usize> =
            (0..searching.len()).filter(|&at| sizes[labels[searching[at]] as usize] <= SMALL).collect();
        if let Some(largest) = small.iter().map(|&at| sizes[labels[searching[at]] as usize]).max() {
            search(&small, &all, largest + 1, &mut closest)?;
        }
        for component in (0..now.count()).filter(|&component| sizes[component] > SMALL) {
            let asking: Vec<usize> =
                (0..searching.len()).filter(|&at| labels[searching[at]] as usize == component).collect();
            if !asking.is_empty() {
                let outside: Vec<usize> = (0..data.rows()).filter(|&j| labels[j] as usize != component).collect();
                search(&asking, &outside, 1, &mut closest)?;
            }
        }
        Ok(closest)
    })
}

/// Like [`join_components_with`] for any distance between points. Computes as many distances as the number of points
/// outside the largest component times the number of points.
fn join_components_by(
    components: &Components,
    distance: impl Fn(usize, usize) -> f64 + Sync,
    progress: &mut Progress,
) -> Result<Vec<Edge>> {
    let n = components.labels().len();
    rounds(components, progress, |now, searching, progress| {
        let labels = now.labels();
        let mut closest = Vec::with_capacity(searching.len());
        for points in searching.chunks((DISTANCES_A_ROUND / n).max(16)) {
            progress(closest.len() as f64 / searching.len() as f64)?;
            closest.par_extend(points.par_iter().map(|&i| {
                let outside = (0..n).filter(|&j| labels[j] != labels[i]);
                outside.map(|j| Edge::new(i, j, distance(i, j))).min_by(Edge::order)
            }));
        }
        Ok(closest)
    })
}

/// Rounds of Boruvka's algorithm: every component except the largest finds its closest point outside, then all these
/// edges are added at once. The closest outside point of a point is stored, and searched again (by `closest_outside`,
/// for the points passed) only after it has been joined to the point's own component.
fn rounds(
    components: &Components,
    progress: &mut Progress,
    mut closest_outside: impl FnMut(&Components, &[usize], &mut Progress) -> Result<Vec<Option<Edge>>>,
) -> Result<Vec<Edge>> {
    let n = components.labels().len();
    let mut sets = DisjointSets::new(n);
    let mut first_of = vec![usize::MAX; components.count()];
    for (i, &label) in components.labels().iter().enumerate() {
        let first = &mut first_of[label as usize];
        if *first == usize::MAX {
            *first = i;
        } else {
            sets.unite(*first, i);
        }
    }
    let mut joined: Vec<Edge> = Vec::new();
    let mut closest: Vec<Option<Edge>> = vec![None; n];
    let mut now = sets.components();
    while now.count() > 1 {
        let labels = now.labels();
        let largest = now.largest().unwrap_or(0) as u32;
        let inside = |i: usize, edge: &Edge| labels[edge.from as usize + edge.to as usize - i] == labels[i];
        let searching: Vec<usize> = (0..n)
            .filter(|&i| labels[i] != largest && closest[i].as_ref().is_none_or(|edge| inside(i, edge)))
            .collect();
        let (before, left) = (joined.len() as f64, (components.count() - 1) as f64);
        let found = closest_outside(&now, &searching, &mut |done| progress((before + 0.5 * done) / left))?;
        searching.iter().zip(found).for_each(|(&i, edge)| closest[i] = edge);
        let mut best: Vec<Option<Edge>> = vec![None; now.count()];
        for i in (0..n).filter(|&i| labels[i] != largest) {
            let best = &mut best[labels[i] as usize];
            *best = best.iter().copied().chain(closest[i]).min_by(Edge::order);
        }
        let mut round: Vec<Edge> = best.into_iter().flatten().collect();
        round.sort_unstable_by(Edge::order);
        // Two components may have chosen the same pair.
        joined.extend(round.into_iter().filter(|edge| sets.unite(edge.from as usize, edge.to as usize)));
        now = sets.components();
    }
    joined.sort_unstable_by(Edge::order);
    Ok(joined)
}

#[cfg(test)]
mod tests {
    use super::super::minimum_spanning_forest;
    use super::*;
    use lowland_core::{Error, Seed, with_threads};
    use proptest::prelude::*;

    fn quiet(_: f64) -> Result<()> {
        Ok(())
    }

    fn distance(x: &[f64]) -> impl Fn(usize, usize) -> f64 + Sync + '_ {
        |i, j| ((x[2 * i] - x[2 * j]).powi(2) + (x[2 * i + 1] - x[2 * j + 1]).powi(2)).sqrt()
    }

    proptest! {
        #[test]
        fn the_joining_edges_are_a_minimum_spanning_tree_between_components(labels in prop::collection::vec(0usize..5, 30), seed in 0u64..1000, coarse in any::<bool>()) {
            // On a coarse grid many distances tie.
            let x: Vec<f64> = Seed(seed).normals(60).into_iter().map(|v| if coarse { v.round() } else { v }).collect();
            let edges = (0..30).flat_map(|i| (0..i).map(move |j| (i, j))).filter(|&(i, j)| labels[i] == labels[j]);
            let inside: Vec<(usize, usize)> = edges.collect();
            let parts = Components::from_edges(30, inside.iter().copied());
            let joined = join_components_by(&parts, distance(&x), &mut quiet).unwrap();
            prop_assert_eq!(joined.len() + 1, parts.count());
            // Kruskal over all pairs, with zero cost inside components.
            let all = (0..30).flat_map(|i| (0..i).map(move |j| (i, j)));
            let all = all.map(|(i, j)| Edge::new(i, j, if labels[i] == labels[j] { -1.0 } else { distance(&x)(i, j) }));
            let tree = minimum_spanning_forest(30, all.collect()).unwrap();
            let expected: Vec<Edge> = tree.into_iter().filter(|edge| edge.length >= 0.0).collect();
            prop_assert_eq!(joined, expected);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn joining_rows_agrees_with_joining_pair_by_pair(seed in 0u64..1000, groups in 2usize..9, coarse in any::<bool>(), uneven in any::<bool>()) {
            let n = 300;
            let x: Vec<f32> = Seed(seed).normals(2 * n).into_iter().map(|v| if coarse { v.round() } else { v } as f32).collect();
            let data = Data::dense(x, 2).unwrap();
            // Uneven groups are partly small, partly large.
            let group = |i: usize| if uneven { (i * i / n) % groups } else { i % groups };
            let parts = Components::from_edges(n, (0..n).flat_map(|i| (0..i).filter(move |&j| group(i) == group(j)).map(move |j| (i, j))));
            let fast = join_components(&data, Metric::Manhattan, &parts).unwrap();
            // A graph's distances are single precision.
            let slow = join_components_by(&parts, |i, j| f64::from(super::distance(&data, i, &data, j, Metric::Manhattan) as f32), &mut quiet);
            prop_assert_eq!(fast, slow.unwrap());
        }
    }

    #[test]
    fn edges_do_not_depend_on_threads_and_progress_can_stop() {
        let x = Seed(4).normals(2 * 400);
        let parts = Components::from_edges(400, (0..350).map(|i| (i, i + 50)));
        let join = || join_components_by(&parts, distance(&x), &mut quiet).unwrap();
        let one = with_threads(Some(1), join).unwrap();
        assert_eq!(one.len(), 49);
        for threads in [2, 3] {
            assert_eq!(one, with_threads(Some(threads), join).unwrap());
        }
        let mut stop = |_: f64| Err(Error::Stopped { stage: "test" });
        assert!(join_components_by(&parts, distance(&x), &mut stop).is_err());
    }

    #[test]
    fn nan_distances_still_join_all_components() {
        let parts = Components::from_edges(4, [(0, 1)]);
        assert_eq!(join_components_by(&parts, |_, _| f64::NAN, &mut quiet).unwrap().len(), 2);
        assert!(join_components_by(&Components::from_edges(0, []), |_, _| 0.0, &mut quiet).unwrap().is_empty());
    }
}
