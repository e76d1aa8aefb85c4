//! Neighbours within a map: few dimensions, `f64` coordinates.

use rayon::prelude::*;

use super::{NeighborGraph, check_count, to_graph};
use crate::points::{Error, Metric, Points, Result};

/// Most points of a leaf.
const LEAF: usize = 12;
/// Queries a task.
const CHUNK: usize = 512;

/// The nearest other points of every point of a map, exactly.
///
/// Squared distances are compared in `f64`, ties by index; the graph then holds the distances as `f32`, in whose order
/// (ties by index) a row's neighbours are listed. A k-d tree up to eight dimensions, all pairs above.
pub fn nearest_points(points: Points, n_neighbors: usize) -> Result<NeighborGraph> {
    let (rows, dim) = (points.rows(), points.dim());
    if let Some(at) = points.values().iter().position(|x| !x.is_finite()) {
        let count = points.values().iter().filter(|x| !x.is_finite()).count();
        return Err(Error::NotFinite { row: at / dim, column: at % dim, value: points.values()[at] as f32, count });
    }
    check_count(n_neighbors, rows, true)?;
    // Squares must neither overflow nor vanish; a power of two changes no comparison.
    let largest = points.values().iter().fold(0.0, |most: f64, x| most.max(x.abs()));
    let scale = if (1e-100..=1e100).contains(&largest) { 1.0 } else { super::inner::scale_to_one(largest) };
    let scaled: Vec<f64>;
    let values = if scale == 1.0 {
        points.values()
    } else {
        scaled = points.values().iter().map(|x| x * scale).collect();
        &scaled
    };
    let found = match dim {
        1 => by_tree::<1>(values, n_neighbors),
        2 => by_tree::<2>(values, n_neighbors),
        3 => by_tree::<3>(values, n_neighbors),
        4 => by_tree::<4>(values, n_neighbors),
        5 => by_tree::<5>(values, n_neighbors),
        6 => by_tree::<6>(values, n_neighbors),
        7 => by_tree::<7>(values, n_neighbors),
        8 => by_tree::<8>(values, n_neighbors),
        _ => by_all_pairs(values, dim, n_neighbors),
    };
    let rounded = found.into_iter().map(|(squared, j)| ((squared.sqrt() / scale) as f32, j)).collect();
    to_graph(rounded, n_neighbors, rows, Metric::Euclidean)
}

/// The `k` best (squared distance, index) seen, in order.
struct Nearest {
    best: Vec<(f64, u32)>,
    k: usize,
}

impl Nearest {
    #[inline]
    fn offer(&mut self, squared: f64, j: u32) {
        if self.best.len() == self.k {
            let last = self.best[self.k - 1];
            if squared > last.0 || (squared == last.0 && j > last.1) {
                return;
            }
            self.best.pop();
        }
        let at = self.best.partition_point(|&(d, i)| d < squared || (d == squared && i < j));
        self.best.insert(at, (squared, j));
    }

    /// Whether a point at `squared` could still enter.
    fn takes(&self, squared: f64) -> bool {
        self.best.len() < self.k || squared <= self.best[self.k - 1].0
    }
}

fn by_all_pairs(values: &[f64], dim: usize, k: usize) -> Vec<(f64, u32)> {
    let rows = values.len() / dim;
    let nearest = |i: usize| {
        let a = &values[i * dim..(i + 1) * dim];
        let mut nearest = Nearest { best: Vec::with_capacity(k + 1), k };
        for (j, b) in values.chunks_exact(dim).enumerate().filter(|&(j, _)| j != i) {
            nearest.offer(a.iter().zip(b).map(|(x, y)| (x - y) * (x - y)).sum(), j as u32);
        }
        nearest.best
    };
    (0..rows).into_par_iter().map(nearest).collect::<Vec<_>>().concat()
}

fn by_tree<const D: usize>(values: &[f64], k: usize) -> Vec<(f64, u32)> {
    let (points, _) = values.as_chunks::<D>();
    let tree = Tree::new(points);
    // Neighbouring queries of a task are neighbours in the tree: what one has read, the next finds in the cache.
    let tasks: Vec<Vec<(f64, u32)>> = tree
        .order
        .par_chunks(CHUNK)
        .map(|queries| {
            let mut nearest = Nearest { best: Vec::with_capacity(k + 1), k };
            let mut found = Vec::with_capacity(queries.len() * k);
            for &i in queries {
                nearest.best.clear();
                tree.search(0, &points[i as usize], i, &mut nearest);
                found.extend_from_slice(&nearest.best);
            }
            found
        })
        .collect();
    let mut found = vec![(0.0, 0); points.len() * k];
    for (&i, row) in tree.order.iter().zip(tasks.iter().flat_map(|task| task.chunks_exact(k))) {
        found[i as usize * k..][..k].copy_from_slice(row);
    }
    found
}

/// Points in the order of a balanced binary tree over their bounding boxes.
struct Tree<const D: usize> {
    nodes: Vec<Node<D>>,
    /// The points' indices and coordinates, leaf after leaf.
    order: Vec<u32>,
    coordinates: Vec<[f64; D]>,
}

struct Node<const D: usize> {
    low: [f64; D],
    high: [f64; D],
    start: usize,
    end: usize,
    /// The first of two children; the other follows its subtree.
    children: Option<(usize, usize)>,
}

impl<const D: usize> Tree<D> {
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
        self.nodes.push(Node { low, high, start, end: start + order.len(), children: None });
        if order.len() > LEAF {
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

    fn search(&self, node: usize, query: &[f64; D], itself: u32, nearest: &mut Nearest) {
        let Node { start, end, children, .. } = self.nodes[node];
        match children {
            None => {
                for at in start..end {
                    if self.order[at] != itself {
                        let squared = (0..D).map(|c| query[c] - self.coordinates[at][c]).map(|x| x * x).sum();
                        nearest.offer(squared, self.order[at]);
                    }
                }
            }
            Some((left, right)) => {
                let (to_left, to_right) = (self.to_box(left, query), self.to_box(right, query));
                let ordered = if to_left <= to_right {
                    [(left, to_left), (right, to_right)]
                } else {
                    [(right, to_right), (left, to_left)]
                };
                for (child, squared) in ordered {
                    if nearest.takes(squared) {
                        self.search(child, query, itself, nearest);
                    }
                }
            }
        }
    }

    /// Squared distance to a node's box. Summed in the order of `search`: rounding is monotone, so it never exceeds the
    /// squared distance computed for a point of the box, and no tie is lost.
    fn to_box(&self, node: usize, query: &[f64; D]) -> f64 {
        let node = &self.nodes[node];
        (0..D).map(|c| (node.low[c] - query[c]).max(query[c] - node.high[c]).max(0.0)).map(|x| x * x).sum()
    }
}
