//! Nearest neighbors among points of few dimensions, by a k-d tree.

use super::nearest_points::NearestList;
use lowland_core::Result;
use lowland_core::run::{Progress, in_batches};

/// Maximum number of points in a leaf.
const MAX_LEAF_POINTS: usize = 12;
/// Number of queries of a task.
const TASK_QUERIES: usize = 256;

/// Returns the `k` nearest other points of each point by (squared distance, index), with the squared distances.
pub(super) fn nearest<const D: usize>(values: &[f64], k: usize, progress: &mut Progress) -> Result<Vec<(f64, u32)>> {
    let (points, _) = values.as_chunks::<D>();
    let tree = KdTree::new(points);
    // Successive queries of a task are near each other in the tree, so they share cache lines.
    let tasks = in_batches(points.len().div_ceil(TASK_QUERIES), progress, |task| {
        let queries = &tree.order[task * TASK_QUERIES..points.len().min((task + 1) * TASK_QUERIES)];
        let mut nearest = NearestList::new(k);
        let mut found = Vec::with_capacity(queries.len() * k);
        for &i in queries {
            nearest.best.clear();
            tree.search(0, &points[i as usize], i, &mut nearest);
            found.extend_from_slice(&nearest.best);
        }
        found
    })?;
    let mut found = vec![(0.0, 0); points.len() * k];
    for (&i, row) in tree.order.iter().zip(tasks.iter().flat_map(|task| task.chunks_exact(k))) {
        found[i as usize * k..][..k].copy_from_slice(row);
    }
    Ok(found)
}

/// A balanced binary tree over bounding boxes, with the points in the order of its leaves.
struct KdTree<const D: usize> {
    nodes: Vec<KdNode<D>>,
    /// Indices and coordinates of the points, leaf by leaf.
    order: Vec<u32>,
    coordinates: Vec<[f64; D]>,
}

struct KdNode<const D: usize> {
    low: [f64; D],
    high: [f64; D],
    /// Lowest index of the node's points.
    lowest: u32,
    start: usize,
    end: usize,
    /// The two children.
    children: Option<(usize, usize)>,
}

impl<const D: usize> KdTree<D> {
    fn new(points: &[[f64; D]]) -> Self {
        let mut tree = Self { nodes: Vec::new(), order: (0..points.len() as u32).collect(), coordinates: Vec::new() };
        let mut order = std::mem::take(&mut tree.order);
        tree.grow(points, &mut order, 0);
        tree.coordinates = order.iter().map(|&i| points[i as usize]).collect();
        tree.order = order;
        tree
    }

    fn grow(&mut self, points: &[[f64; D]], order: &mut [u32], start: usize) -> usize {
        let (mut low, mut high) = ([f64::INFINITY; D], [f64::NEG_INFINITY; D]);
        for &i in order.iter() {
            for c in 0..D {
                low[c] = low[c].min(points[i as usize][c]);
                high[c] = high[c].max(points[i as usize][c]);
            }
        }
        let at = self.nodes.len();
        let lowest = order.iter().copied().min().unwrap_or(u32::MAX);
        self.nodes.push(KdNode { low, high, lowest, start, end: start + order.len(), children: None });
        if order.len() > MAX_LEAF_POINTS {
            let widest = (0..D).max_by(|&a, &b| (high[a] - low[a]).total_cmp(&(high[b] - low[b]))).unwrap_or(0);
            let middle = order.len() / 2;
            order.select_nth_unstable_by(middle, |&a, &b| {
                points[a as usize][widest].total_cmp(&points[b as usize][widest]).then(a.cmp(&b))
            });
            let (left, right) = order.split_at_mut(middle);
            let left = self.grow(points, left, start);
            let right = self.grow(points, right, start + middle);
            self.nodes[at].children = Some((left, right));
        }
        at
    }

    /// Offers the points of the node that may be near; returns the number of points compared.
    fn search(&self, node: usize, query: &[f64; D], itself: u32, nearest: &mut NearestList) -> usize {
        let KdNode { start, end, children, .. } = self.nodes[node];
        match children {
            None => {
                for at in start..end {
                    if self.order[at] != itself {
                        let squared = (0..D).map(|c| query[c] - self.coordinates[at][c]).map(|x| x * x).sum();
                        nearest.offer(squared, self.order[at]);
                    }
                }
                end - start
            }
            Some((left, right)) => {
                let (to_left, to_right) =
                    (self.squared_distance_to_box(left, query), self.squared_distance_to_box(right, query));
                let ordered = if to_left <= to_right {
                    [(left, to_left), (right, to_right)]
                } else {
                    [(right, to_right), (left, to_left)]
                };
                let mut compared = 0;
                for (child, squared) in ordered {
                    // Among points at the same distance those of lowest index win, so the others need not be visited;
                    // otherwise coinciding points would all be compared with each other.
                    if (squared, self.nodes[child].lowest) < nearest.worst() {
                        compared += self.search(child, query, itself, nearest);
                    }
                }
                compared
            }
        }
    }

    /// Squared distance to the bounding box of a node, summed in the order of `search`: since rounding is monotone, it
    /// never exceeds the squared distance computed for a point of the box, and no tie is lost.
    fn squared_distance_to_box(&self, node: usize, query: &[f64; D]) -> f64 {
        let node = &self.nodes[node];
        (0..D).map(|c| (node.low[c] - query[c]).max(query[c] - node.high[c]).max(0.0)).map(|x| x * x).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_of_coinciding_points_with_high_indices_are_skipped() {
        let points = vec![[0.5, 0.5]; 4000];
        let tree = KdTree::new(&points);
        let mut nearest = NearestList::new(15);
        let visited = tree.search(0, &points[3000], 3000, &mut nearest);
        assert!(visited < 100, "{visited} points compared");
        assert!(nearest.best.iter().map(|&(_, j)| j).eq(0..15));
    }
}
