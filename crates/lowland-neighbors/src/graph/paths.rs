//! Shortest paths along the edges of a graph.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use lowland_linalg::Csr;

/// A point and the length of a path to it, ordered by length, then by index.
#[derive(PartialEq)]
struct PathEntry(f64, u32);

impl Eq for PathEntry {}

impl Ord for PathEntry {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0).then(self.1.cmp(&other.1))
    }
}

impl PartialOrd for PathEntry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Computes the length of the shortest path from any of `sources`, each with an initial length, to every point
/// (Dijkstra). Unreachable points get infinity. `lengths` must not be negative.
pub fn shortest_paths(lengths: &Csr, sources: impl IntoIterator<Item = (u32, f64)>, out: &mut [f64]) {
    out.fill(f64::INFINITY);
    let mut open = BinaryHeap::new();
    for (point, length) in sources {
        if length < out[point as usize] {
            out[point as usize] = length;
            open.push(Reverse(PathEntry(length, point)));
        }
    }
    while let Some(Reverse(PathEntry(length, point))) = open.pop() {
        // A shorter path was found since.
        if length > out[point as usize] {
            continue;
        }
        let (others, steps) = lengths.row(point as usize);
        for (&other, step) in others.iter().zip(steps) {
            let longer = length + step;
            if longer < out[other as usize] {
                out[other as usize] = longer;
                open.push(Reverse(PathEntry(longer, other)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lowland_core::Seed;

    #[test]
    fn path_lengths_satisfy_the_bellman_equations() {
        let n = 60u32;
        let noise = Seed(3).normals(240);
        let edges = (0..240u32).map(|at| (at / 4, (at * 17 + 5) % n, noise[at as usize].abs() + 0.01));
        // The last points are disconnected.
        let edges: Vec<_> = edges.filter(|&(i, j, _)| i != j && (i < 50) == (j < 50)).collect();
        let both = edges.iter().flat_map(|&(i, j, d)| [(i, j, d), (j, i, d)]);
        let graph = Csr::from_triplets(60, 60, both).unwrap();
        let mut out = vec![0.0; 60];
        shortest_paths(&graph, [(3, 0.5), (20, 0.0), (3, 0.1)], &mut out);
        assert_eq!((out[20], out[3] <= 0.1), (0.0, true));
        for i in (0..60).filter(|&i| i != 20 && i != 3) {
            let (others, steps) = graph.row(i);
            let best = others.iter().zip(steps).map(|(&j, d)| out[j as usize] + d).fold(f64::INFINITY, f64::min);
            assert_eq!(out[i], best);
        }
        assert!(out[..50].iter().any(|d| d.is_finite() && *d > 0.5));
        assert!(out[50..].iter().all(|d| d.is_infinite()));
    }
}
