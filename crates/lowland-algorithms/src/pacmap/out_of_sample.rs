//! New rows on a fixed layout.

use lowland_core::run::{Progress, in_batches};
use lowland_core::{Points, Result};
use lowland_neighbors::NeighborGraph;

use super::pair_loss::{Attraction, PairLoss};

/// Maximum number of steps per row; most need fewer than ten.
const MAX_STEPS: usize = 100;
/// A row is placed when a step is shorter than this, in units of the distance at which attraction levels off.
const TOLERANCE: f64 = 1e-6;

/// Places new rows on a layout that stays as it is: each where its near pairs have the smallest loss.
pub struct PacmapTransform<'a> {
    /// The layout.
    pub map: Points<'a>,
}

impl PacmapTransform<'_> {
    /// Returns the coordinates of new rows, given their nearest training rows.
    pub fn coordinates(&self, graph: &NeighborGraph, progress: &mut Progress) -> Result<Vec<f64>> {
        Ok(in_batches(graph.rows(), progress, |i| self.place(graph.row(i).0))?.into_iter().flatten().collect())
    }

    /// Starts at the neighbor with the smallest loss. Each step minimizes a quadratic upper bound of the loss, whose minimum is
    /// the mean of the neighbors, weighted by the derivatives of their losses.
    pub(super) fn place(&self, neighbors: &[u32]) -> Vec<f64> {
        let near = Attraction::near(1.0);
        let position = |j: u32| self.map.row(j as usize);
        let distance = |a: &[f64], b: &[f64]| 1.0 + a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
        let loss = |point: &[f64]| neighbors.iter().map(|&j| near.loss(distance(point, position(j)))).sum::<f64>();
        let starts = neighbors.iter().map(|&j| (loss(position(j)), position(j)));
        let start = starts.min_by(|a, b| a.0.total_cmp(&b.0));
        let mut point = start.map_or_else(|| vec![0.0; self.map.dim()], |(_, start)| start.to_vec());
        for _ in 0..MAX_STEPS {
            let (mut mean, mut total) = (vec![0.0; point.len()], 0.0);
            for &j in neighbors {
                let weight = f64::from(near.factor(distance(&point, position(j)) as f32));
                mean.iter_mut().zip(position(j)).for_each(|(m, p)| *m += weight * p);
                total += weight;
            }
            if total == 0.0 {
                break;
            }
            mean.iter_mut().for_each(|m| *m /= total);
            let moved = distance(&mean, &point) - 1.0;
            point = mean;
            if moved <= TOLERANCE * TOLERANCE {
                break;
            }
        }
        point
    }
}
