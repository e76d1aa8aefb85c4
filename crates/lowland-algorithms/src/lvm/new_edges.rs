//! The edges between a new point and the fitted points: its row and column of the graph (Saul 2020, eqs 22-24).

use std::collections::HashMap;

use super::state::LvmState;

/// The edges of a new point, with their lengths in the units of the data.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct NewEdges {
    /// The points that the new point has an edge to: its nearest neighbor, as in a spanning tree, and those of its
    /// neighbors that can reach it. Nearest first.
    pub outgoing: Vec<(u32, f64)>,
    /// The points that have an edge to the new point: it is one of their neighbors, and can reach them. In ascending
    /// order.
    pub incoming: Vec<(u32, f64)>,
}

/// A point that the new point can reach.
struct Reached {
    point: u32,
    length: f64,
    /// Whether the new point is one of its neighbors.
    is_incoming: bool,
    /// Its neighbors, as indices of reached points.
    next: Vec<usize>,
}

impl NewEdges {
    /// Finds the edges within `reach` steps, given the nearest neighbors of the new point.
    pub(super) fn new(
        model: &LvmState,
        neighbors: &[u32],
        distances: &[f32],
        reach: usize,
        distance: impl Fn(u32) -> f64,
    ) -> Self {
        let reached_at = |point: u32, length: f64| {
            let is_incoming = length <= model.radius[point as usize];
            Reached { point, length, is_incoming, next: Vec::new() }
        };
        // All points within `reach` steps of the new point, in the order of their number of steps.
        let mut reached: Vec<Reached> =
            neighbors.iter().zip(distances).map(|(&j, &length)| reached_at(j, f64::from(length))).collect();
        let mut ends = vec![reached.len()];
        if let (Some(graph), 2..) = (&model.neighbors, reach) {
            let mut index: HashMap<u32, usize> = neighbors.iter().copied().zip(0..).collect();
            let mut begin = 0;
            for _ in 1..reach {
                for from in begin..reached.len() {
                    let row = graph.row(reached[from].point as usize).0;
                    // The new point takes the place of the last neighbor.
                    let row = if reached[from].is_incoming { &row[..row.len().saturating_sub(1)] } else { row };
                    for &point in row {
                        let at = *index.entry(point).or_insert_with(|| {
                            reached.push(reached_at(point, distance(point)));
                            reached.len() - 1
                        });
                        reached[from].next.push(at);
                    }
                }
                begin = ends[ends.len() - 1];
                ends.push(reached.len());
            }
        }
        // The points that can reach the new point, first within one step.
        let mut returns: Vec<bool> = reached.iter().map(|point| point.is_incoming).collect();
        for &end in ends.iter().rev().skip(1) {
            let more: Vec<bool> =
                (0..end).map(|at| returns[at] || reached[at].next.iter().any(|&next| returns[next])).collect();
            returns[..end].copy_from_slice(&more);
        }
        let outgoing = (0..neighbors.len()).filter(|&at| at == 0 || returns[at]);
        let mut incoming: Vec<(u32, f64)> =
            reached.iter().filter(|point| point.is_incoming).map(|point| (point.point, point.length)).collect();
        incoming.sort_unstable_by_key(|entry| entry.0);
        Self { outgoing: outgoing.map(|at| (reached[at].point, reached[at].length)).collect(), incoming }
    }
}
