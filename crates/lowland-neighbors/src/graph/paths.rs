//! Shortest paths along the edges of a graph.

use lowland_linalg::Csr;

/// Width of a bucket in units of the mean length of an edge: in wider ones, more points are visited again.
const WIDTH: f64 = 0.25;
/// Most buckets in the queue.
const MAX_BUCKETS: f64 = 4096.0;

/// Computes shortest paths from one set of sources after another.
///
/// The queue has buckets for paths of about the same length. Within a bucket their order is arbitrary: a point is visited again
/// when a shorter path to it is found. The lengths are those of Dijkstra's algorithm to the last bit, because both end
/// when no edge makes a path shorter.
#[derive(Debug, Clone)]
pub struct ShortestPaths<'a> {
    lengths: &'a Csr,
    longest: f64,
    width: f64,
    /// Paths and the points where they end, by the excess of their length over the shortest, divided by the width, modulo the number of buckets.
    buckets: Vec<Vec<(f64, u32)>>,
}

impl<'a> ShortestPaths<'a> {
    /// Prepares a search along the edges of a graph, whose lengths must not be negative.
    pub fn new(lengths: &'a Csr) -> Self {
        let values = lengths.values();
        let longest = values.iter().copied().fold(0.0, f64::max);
        let mean = values.iter().map(|length| length / values.len() as f64).sum::<f64>();
        Self { lengths, longest, width: (WIDTH * mean).max(f64::MIN_POSITIVE), buckets: Vec::new() }
    }

    /// Computes the length of the shortest path from any of `sources`, each with an initial length, to every point. Points that are not
    /// reached get infinity.
    pub fn from_sources(&mut self, sources: &[(u32, f64)], out: &mut [f64]) {
        out.fill(f64::INFINITY);
        let initial = || sources.iter().map(|source| source.1);
        let (first, last) = (initial().fold(f64::INFINITY, f64::min), initial().fold(0.0, f64::max));
        // All lengths in the queue are within this of the shortest.
        let span = self.longest.max(last - first);
        let width = self.width.max(span / MAX_BUCKETS);
        let count = (span / width) as usize + 2;
        if self.buckets.len() < count {
            self.buckets.resize_with(count, Vec::new);
        }
        let bucket = |length: f64| ((length - first) / width) as usize;
        let (buckets, count) = (&mut self.buckets, count);
        let mut open = 0usize;
        for &(point, length) in sources {
            if length < out[point as usize] {
                out[point as usize] = length;
                buckets[bucket(length) % count].push((length, point));
                open += 1;
            }
        }
        let mut current = 0;
        while open > 0 {
            while let Some((length, point)) = buckets[current % count].pop() {
                open -= 1;
                // A shorter path was found since.
                if length > out[point as usize] {
                    continue;
                }
                let (others, steps) = self.lengths.row(point as usize);
                for (&other, step) in others.iter().zip(steps) {
                    let longer = length + step;
                    if longer < out[other as usize] {
                        out[other as usize] = longer;
                        buckets[bucket(longer) % count].push((longer, other));
                        open += 1;
                    }
                }
            }
            current += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cmp::Reverse;
    use std::collections::BinaryHeap;

    use proptest::prelude::*;

    use super::*;

    /// Dijkstra's algorithm with a binary heap, for lengths that are not negative: their bits are in their order.
    fn dijkstra(lengths: &Csr, sources: &[(u32, f64)]) -> Vec<f64> {
        let mut out = vec![f64::INFINITY; lengths.rows()];
        let mut open = BinaryHeap::new();
        for &(point, length) in sources {
            out[point as usize] = length.min(out[point as usize]);
            open.push(Reverse((length.to_bits(), point)));
        }
        while let Some(Reverse((bits, point))) = open.pop() {
            let length = f64::from_bits(bits);
            if length > out[point as usize] {
                continue;
            }
            let (others, steps) = lengths.row(point as usize);
            for (&other, step) in others.iter().zip(steps) {
                if length + step < out[other as usize] {
                    out[other as usize] = length + step;
                    open.push(Reverse(((length + step).to_bits(), other)));
                }
            }
        }
        out
    }

    proptest! {
        #[test]
        fn lengths_are_those_of_dijkstra(
            edges in prop::collection::vec((0..40u32, 0..40u32, prop_oneof![0.0..1.0, 0.0..1e9, Just(0.0), Just(1e-300)]), 0..200),
            starts in prop::collection::vec((0..40u32, prop_oneof![Just(0.0), 0.0..3.0, 0.0..1e12]), 0..5),
        ) {
            let edges = edges.iter().filter(|(i, j, _)| i != j).flat_map(|&(i, j, d)| [(i, j, d), (j, i, d)]);
            let graph = Csr::from_triplets(40, 40, edges).unwrap();
            let mut paths = ShortestPaths::new(&graph);
            let mut out = vec![f64::NAN; 40];
            // Other sources first: their queue is used again.
            for sources in [&[(7, 0.5)], &starts[..]] {
                paths.from_sources(sources, &mut out);
                prop_assert_eq!(&out, &dijkstra(&graph, sources));
            }
        }
    }
}
