//! New rows on a fixed layout.

use rayon::prelude::*;

use lowland_core::run::{Progress, in_batches};
use lowland_core::{Points, Result};
use lowland_neighbors::NeighborGraph;

use super::fuzzy_graph::{membership, smooth_distances};
use super::sampled_layout::{LayoutParams, attractions, draw};

/// Places new rows on a layout that stays as it is.
pub struct UmapTransform<'a> {
    /// The layout.
    pub map: Points<'a>,
    /// Parameters of the descent; every row draws the same points.
    pub params: LayoutParams,
    /// Number of nearest neighbors with membership one, as in the fit. For new rows it is one less: they are no neighbors of
    /// themselves.
    pub local_connectivity: f64,
    /// Mean distance between training rows and their neighbors.
    pub mean_distance: f64,
}

impl UmapTransform<'_> {
    /// Returns the coordinates of new rows, given their nearest training rows.
    pub fn coordinates(&self, graph: &NeighborGraph, progress: &mut Progress) -> Result<Vec<f64>> {
        let map: Vec<f32> = self.map.values().par_iter().map(|&v| v as f32).collect();
        let places = in_batches(graph.rows(), progress, |i| match self.map.dim() {
            2 => self.place::<2>(&map, graph.row(i)),
            3 => self.place::<3>(&map, graph.row(i)),
            _ => self.place::<0>(&map, graph.row(i)),
        })?;
        Ok(places.into_iter().flatten().map(f64::from).collect())
    }

    /// Returns the place of a row. `DIM` is the dimension, if the compiler is to know it, or zero.
    fn place<const DIM: usize>(&self, map: &[f32], (neighbors, distances): (&[u32], &[f32])) -> Vec<f32> {
        let dim = if DIM > 0 { DIM } else { self.map.dim() };
        let other = |j: usize| &map[j * dim..][..dim];
        let connectivity = (self.local_connectivity - 1.0).max(0.0);
        let (rho, sigma) = smooth_distances(distances, distances.len(), connectivity, self.mean_distance);
        let weights: Vec<f32> = distances.iter().map(|&d| membership(f64::from(d), rho, sigma) as f32).collect();
        let (total, largest) = (weights.iter().sum::<f32>(), weights.iter().copied().fold(0.0, f32::max));
        let mut place = vec![0.0; dim];
        let point = &mut place[..dim];
        for (&j, weight) in neighbors.iter().zip(&weights) {
            point.iter_mut().zip(other(j as usize)).for_each(|(p, o)| *p += weight / total * o);
        }
        let LayoutParams { forces, epochs, learning_rate, negative_sample_rate, seed } = self.params;
        let mut rng = seed.rng();
        for epoch in 0..epochs {
            let rate = (learning_rate * (1.0 - epoch as f64 / epochs as f64)) as f32;
            for (&j, weight) in neighbors.iter().zip(&weights) {
                for _ in 0..attractions(weight / largest, epoch) {
                    let near = other(j as usize);
                    forces.attract(point, near, rate, 1.0);
                    forces.repel(point, negative_sample_rate, rate, || other(draw(&mut rng, self.map.rows())));
                }
            }
        }
        place
    }
}
