//! The links of the data: the neighbor graph without directions.

use lowland_neighbors::NeighborGraph;

/// Undirected links between rows, one of which is among the nearest of the other.
pub(crate) struct Links {
    starts: Vec<usize>,
    ends: Vec<u32>,
    lengths: Vec<f32>,
    /// Distance of each row to the farthest of its own nearest rows.
    pub radius: Vec<f32>,
    /// Number of nearest rows.
    pub k: usize,
}

impl Links {
    /// Links every row with its `k` nearest.
    pub fn new(graph: &NeighborGraph, k: usize) -> Self {
        let n = graph.rows();
        let mut starts = vec![0usize; n + 1];
        for i in 0..n {
            starts[i + 1] += k;
            graph.row(i).0[..k].iter().for_each(|&j| starts[j as usize + 1] += 1);
        }
        (0..n).for_each(|i| starts[i + 1] += starts[i]);
        let mut next = starts[..n].to_vec();
        let (mut ends, mut lengths) = (vec![0u32; starts[n]], vec![0f32; starts[n]]);
        for i in 0..n {
            let (columns, distances) = graph.row(i);
            for (&j, &d) in columns[..k].iter().zip(distances) {
                for (a, b) in [(i, j), (j as usize, i as u32)] {
                    (ends[next[a]], lengths[next[a]]) = (b, d);
                    next[a] += 1;
                }
            }
        }
        // A pair in which each is among the nearest of the other occurs twice.
        let (mut unique, mut end) = (Vec::with_capacity(n + 1), 0);
        unique.push(0);
        let mut row: Vec<(u32, f32)> = Vec::new();
        for bounds in starts.windows(2) {
            row.clear();
            row.extend((bounds[0]..bounds[1]).map(|at| (ends[at], lengths[at])));
            row.sort_unstable_by_key(|link| link.0);
            row.dedup_by_key(|link| link.0);
            for &(j, d) in &row {
                (ends[end], lengths[end]) = (j, d);
                end += 1;
            }
            unique.push(end);
        }
        ends.truncate(end);
        lengths.truncate(end);
        let radius = (0..n).map(|i| graph.row(i).1[k - 1]).collect();
        Self { starts: unique, ends, lengths, radius, k }
    }

    /// Iterates over the links of row `i`: the other row and the length.
    pub fn of(&self, i: u32) -> impl Iterator<Item = (u32, f32)> + '_ {
        let range = self.starts[i as usize]..self.starts[i as usize + 1];
        self.ends[range.clone()].iter().copied().zip(self.lengths[range].iter().copied())
    }

    /// Median distance of the rows to the farthest of their nearest rows.
    pub fn median_radius(&self, rows: &[u32]) -> f32 {
        let mut radius: Vec<f32> = rows.iter().map(|&i| self.radius[i as usize]).collect();
        let middle = radius.len() / 2;
        *radius.select_nth_unstable_by(middle, f32::total_cmp).1
    }

    /// Number of links across a point of a line: the fewest that a cut through connected rows has.
    pub fn links_across_a_line(&self) -> usize {
        let half = self.k / 2;
        (half * (half + 1) / 2).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lowland_core::Metric;

    #[test]
    fn every_pair_is_linked_once_from_both_ends() {
        let graph =
            NeighborGraph::uniform(1, vec![1, 0, 1, 2], vec![1.0, 1.0, 2.0, 3.0], 4, Metric::Euclidean).unwrap();
        let links = Links::new(&graph, 1);
        let of = |i: u32| links.of(i).collect::<Vec<_>>();
        assert_eq!(of(0), [(1, 1.0)]);
        assert_eq!(of(1), [(0, 1.0), (2, 2.0)]);
        assert_eq!(of(2), [(1, 2.0), (3, 3.0)]);
        assert_eq!(links.median_radius(&[0, 1, 3]), 1.0);
    }

    #[test]
    fn a_cut_through_rows_on_a_line_has_the_links_announced() {
        let (n, k) = (60u32, 14u32);
        let row = |i: u32| {
            let mut others: Vec<u32> = (0..n).filter(|&j| j != i).collect();
            others.sort_by_key(|&j| (i.abs_diff(j), j));
            others.truncate(k as usize);
            others
        };
        let indices: Vec<u32> = (0..n).flat_map(row).collect();
        let distances = indices.iter().enumerate().map(|(at, j)| (at as u32 / k).abs_diff(*j) as f32).collect();
        let graph = NeighborGraph::uniform(k as usize, indices, distances, n as usize, Metric::Euclidean).unwrap();
        let links = Links::new(&graph, k as usize);
        let across = (0..30).map(|i| links.of(i).filter(|link| link.0 >= 30).count()).sum::<usize>();
        assert_eq!(across, links.links_across_a_line());
    }
}
