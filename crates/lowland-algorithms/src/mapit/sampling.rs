//! The paper's sampling of non-neighbors (figures 8 and 12): a few of them for each point, with a weight.

use rand::Rng;
use rayon::prelude::*;

use super::SimilarityKernel;
use super::neighborhoods::Neighborhoods;
use crate::objective::edge_sums::ROWS;
use crate::objective::squared_distance;
use lowland_core::{Points, Seed};

/// Sampling of non-neighbors with replacement, for each iteration and point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NonNeighborSampling {
    /// Number of draws for each point.
    pub count: usize,
    /// Weight of each draw; `None` for the number of non-neighbors divided by that of draws.
    pub weight: Option<f64>,
    /// Seed; each iteration and point has its own stream.
    pub seed: Seed,
    iteration: usize,
}

impl NonNeighborSampling {
    /// Creates a sampling at the first iteration.
    pub fn new(count: usize, weight: Option<f64>, seed: Seed) -> Self {
        Self { count, weight, seed, iteration: 1 }
    }

    pub(super) fn begin_iteration(&mut self, iteration: usize) {
        self.iteration = iteration;
    }

    /// Returns the points drawn for `i`, and the weight of each.
    fn draw(&self, graph: &Neighborhoods, i: usize) -> (impl Iterator<Item = usize>, f64) {
        let n = graph.marginals.len();
        let (near, _) = graph.aligned().row(i);
        let left = n - 1 - near.len().min(n - 1);
        let count = if left > 0 { self.count } else { 0 };
        let mut rng = self.seed.item(self.iteration).item(i).rng();
        let draws = (0..count).map(move |_| {
            loop {
                // The high half of a product; its deviation from the uniform distribution is at most 2^-32.
                let j = (((rng.next_u64() >> 32) * n as u64) >> 32) as usize;
                if j != i && near.binary_search(&(j as u32)).is_err() {
                    return j;
                }
            }
        });
        (draws, self.weight.unwrap_or(left as f64 / count.max(1) as f64))
    }

    /// Returns `c1`, summed over all affinities, and `c2`, estimated from the aligned pairs, whose sums are `aligned`, and the sample. A given weight
    /// applies to forces only.
    pub(super) fn entropies(
        &self,
        graph: &Neighborhoods,
        y: Points,
        similarity: SimilarityKernel,
        aligned: [f64; 2],
    ) -> [f64; 2] {
        let estimate = Self { weight: None, ..*self };
        let similar = |i: usize, j: usize| similarity.kernel().value(squared_distance(y.row(i), y.row(j)));
        let starts: Vec<usize> = (0..y.rows()).step_by(ROWS).collect();
        let parts: Vec<[f64; 2]> = starts
            .into_par_iter()
            .map(|start| {
                let mut sums = [0.0; 2];
                for i in start..(start + ROWS).min(y.rows()) {
                    let (columns, values) = graph.others.row(i);
                    sums[0] += columns.iter().zip(values).map(|(&j, p)| p * similar(i, j as usize)).sum::<f64>();
                    let (draws, weight) = estimate.draw(graph, i);
                    sums[1] += weight * draws.map(|j| similar(i, j).powi(2)).sum::<f64>();
                }
                sums
            })
            .collect();
        parts.iter().fold(aligned, |sum, part| [sum[0] + part[0], sum[1] + part[1]])
    }

    /// Writes the field. Attraction and repulsion of non-neighbors are those of the sample.
    pub(super) fn field(
        &self,
        graph: &Neighborhoods,
        map_marginals: &[f64],
        [c1, c2]: [f64; 2],
        y: Points,
        similarity: SimilarityKernel,
        out: &mut [f64],
    ) {
        out.par_chunks_mut(y.dim()).with_min_len(ROWS).enumerate().for_each(|(i, out)| {
            out.fill(0.0);
            let mut add = |j: usize, coefficient: &dyn Fn(f64) -> f64| {
                let (value, slope) = similarity.value_and_slope(squared_distance(y.row(i), y.row(j)));
                let force = coefficient(value) * slope;
                out.iter_mut().zip(y.row(i).iter().zip(y.row(j))).for_each(|(out, (a, b))| *out += force * (a - b));
            };
            for &j in graph.aligned().row(i).0 {
                let j = j as usize;
                add(j, &|_| graph.marginals[j] / c1 - map_marginals[j] / c2);
            }
            let (draws, weight) = self.draw(graph, i);
            for j in draws {
                add(j, &|value| weight * (graph.others.get(i, j) / c1 - value / c2));
            }
        });
    }
}
