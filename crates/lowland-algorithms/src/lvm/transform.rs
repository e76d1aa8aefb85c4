//! The transform of new points: the likelihood of the fitted model, with everything fixed but the new point.

use rayon::prelude::*;

use super::em::MIN_VARIANCE;
use super::excluded_pairs::{ExcludedPairs, padded_len};
use super::kernel::{self, PairSum};
use super::state::LvmState;
use super::training_pairs::{HALF_COINCIDENCE, TrainingPairs};
use lowland_core::run::Progress;
use lowland_core::simd::FastFloat;
use lowland_core::{Data, Embedding, Metric, Result};
use lowland_neighbors::{distance, nearest_to_with};

/// The positions of new points in the map.
#[derive(Debug, Clone, PartialEq)]
pub struct LvmTransformOutput {
    /// The means, in the units of the data.
    pub embedding: Embedding,
    /// The standard deviations, in the units of the data.
    pub std: Vec<f64>,
    /// The log-likelihood of each point's own pairs, given all other points.
    pub scores: Vec<f64>,
}

/// Maximum number of updates of a new point; most need about ten.
const MAX_ROUNDS: usize = 100;
/// A new point has converged when it moves by less than this fraction of its standard deviation.
const TOLERANCE: f64 = 1e-3;

impl LvmState {
    /// Transforms the rows of `new`, where `data` holds the rows that the model was fitted to. The result for a row
    /// does not depend on the other new rows.
    pub fn transform(
        &self,
        new: &Data,
        data: &Data,
        metric: Metric,
        n_neighbors: usize,
        progress: &mut Progress,
    ) -> Result<LvmTransformOutput> {
        let k = n_neighbors.min(data.rows());
        let graph = nearest_to_with(new, data, k, metric, progress)?;
        let landmark_distance = |i: usize, point: usize| distance(new, i, data, self.landmarks[point] as usize, metric);
        let points: Vec<(Vec<f64>, f64, f64)> = (0..new.rows())
            .into_par_iter()
            .map_init(NewPoint::default, |new_point, i| {
                let (neighbors, distances) = graph.row(i);
                new_point.set_pairs(self, neighbors, distances, |point| landmark_distance(i, point));
                new_point.fit(self)
            })
            .collect();
        let values = points.iter().flat_map(|(mean, ..)| mean.iter().map(|v| v * self.unit)).collect();
        Ok(LvmTransformOutput {
            embedding: Embedding::new(values, self.dim)?,
            std: points.iter().map(|(_, variance, _)| variance.sqrt() * self.unit).collect(),
            scores: points.iter().map(|(.., score)| *score).collect(),
        })
    }
}

/// The pairs of one new point: its similar pairs, and a block of itself and its cell for the dissimilar pairs. Reused
/// for the points of a thread.
#[derive(Default)]
struct NewPoint {
    /// Similar pairs: point, weight and squared length scale.
    links: Vec<(u32, f64, f64)>,
    initial_variance: f64,
    /// The total weight of the dissimilar pairs.
    dissimilar_weight: f64,
    /// Number of points in the block: the new point and those it is dissimilar to.
    len: usize,
    padded: usize,
    /// Coordinates, variances, A, B and weights, column by column; the new point comes first.
    inputs: Vec<f64>,
    excluded: ExcludedPairs,
    sums: Vec<f64>,
}

impl NewPoint {
    /// Sets the pairs of a new point. It is similar to its nearest and its mutual neighbors and to the landmark of
    /// the nearest, and dissimilar to the other points in the cell of the nearest.
    fn set_pairs(
        &mut self,
        model: &LvmState,
        neighbors: &[u32],
        distances: &[f32],
        landmark_distance: impl Fn(usize) -> f64,
    ) {
        let scale = |distance: f64| TrainingPairs::length_scale(distance, model.unit);
        let nearest = neighbors[0] as usize;
        self.links.clear();
        let (mut largest_scale, mut outgoing, mut incoming) = (0.0f64, Vec::new(), Vec::new());
        for (at, (&j, &distance)) in neighbors.iter().zip(distances).enumerate() {
            let is_mutual = f64::from(distance) <= model.radius[j as usize];
            if at == 0 || is_mutual {
                let scale = scale(f64::from(distance));
                largest_scale = largest_scale.max(scale);
                self.links.push((j, 1.0 + f64::from(u8::from(is_mutual)), scale * scale));
                outgoing.push(j);
                if is_mutual {
                    incoming.push(j);
                }
            }
        }
        if model.link_weight > 0.0 {
            let scale2 = scale(landmark_distance(nearest)).powi(2);
            self.links.push((model.landmarks[nearest], model.link_weight, scale2));
        }
        self.initial_variance = largest_scale * largest_scale / HALF_COINCIDENCE / (2.0 * model.dim as f64);
        // A block of the new point and the cell; only the pairs of its first row are evaluated.
        let members = model.cell_members(nearest);
        self.fill_inputs(model, members, largest_scale);
        self.excluded = ExcludedPairs::default();
        self.dissimilar_weight = 0.0;
        for (&j, local) in members.iter().zip(1..) {
            for (excluded, direction) in [(&outgoing, 0), (&incoming, 1)] {
                if excluded.contains(&j) {
                    self.excluded.add(0, local, direction);
                } else {
                    self.dissimilar_weight += model.dissimilar_weight;
                }
            }
        }
        self.excluded.end_point();
    }

    /// Fills the inputs of the block, except for the mean and the variance of the new point.
    fn fill_inputs(&mut self, model: &LvmState, members: &[u32], row_scale: f64) {
        let dim = model.dim;
        self.len = members.len() + 1;
        self.padded = padded_len(self.len);
        self.inputs.clear();
        self.inputs.resize((dim + 4) * self.padded, 0.0);
        let root = model.dissimilar_weight.sqrt();
        for (number, column) in self.inputs.chunks_exact_mut(self.padded).enumerate() {
            // The padding has weight zero, but must not cause a division by zero.
            let (own, padding): (f64, f64) = match number.checked_sub(dim) {
                None | Some(2) => (0.0, 0.0),
                Some(0) => (1.0, 1.0),
                Some(1) => (row_scale, 1.0),
                _ => (root, 0.0),
            };
            column.fill(padding);
            column[0] = own;
            for (value, &j) in column[1..].iter_mut().zip(members) {
                let j = j as usize;
                *value = match number.checked_sub(dim) {
                    None => model.means[j * dim + number],
                    Some(0) => model.variances[j],
                    Some(1) => model.row_scales[j],
                    Some(2) => 0.0,
                    _ => root,
                };
            }
        }
    }

    /// Alternating updates of the point, its row of eqs 20 and 21. Returns its mean, variance and log-likelihood.
    fn fit(&mut self, model: &LvmState) -> (Vec<f64>, f64, f64) {
        let dim = model.dim;
        let mut variance = self.initial_variance.max(MIN_VARIANCE);
        let mut mean = self.initial_mean(model, variance);
        let weights: f64 = self.links.iter().map(|link| link.1).sum::<f64>() + self.dissimilar_weight;
        let mut score = 0.0;
        for round in 0..=MAX_ROUNDS {
            let (mut change, mut attraction, mut similar_likelihood) = (vec![0.0; dim], 0.0, 0.0);
            for &(j, weight, scale2) in &self.links {
                let s = scale2 + variance + model.variances[j as usize];
                let other = &model.means[j as usize * dim..(j as usize + 1) * dim];
                let mut q = 0.0;
                for c in 0..dim {
                    change[c] -= weight / s * (mean[c] - other[c]);
                    q += (mean[c] - other[c]).powi(2);
                }
                attraction += weight / s;
                similar_likelihood += 0.5 * weight * (dim as f64 * FastFloat::ln(scale2 / s) - q / s);
            }
            let dissimilar_likelihood = self.evaluate(PairSum::MeanGradient, &mean, variance, dim);
            score = similar_likelihood + dissimilar_likelihood;
            if round == MAX_ROUNDS {
                break;
            }
            let diagonal = attraction + self.dissimilar_weight / variance;
            let mut moved2 = 0.0;
            for c in 0..dim {
                let step = (change[c] + self.sums[c * self.padded]) / diagonal;
                mean[c] += step;
                moved2 += step * step;
            }
            let mut variance_terms = 0.0;
            for &(j, weight, scale2) in &self.links {
                let s = scale2 + variance + model.variances[j as usize];
                let other = &model.means[j as usize * dim..(j as usize + 1) * dim];
                let q: f64 = (0..dim).map(|c| (mean[c] - other[c]).powi(2)).sum();
                variance_terms += weight / s * (q / s - dim as f64);
            }
            self.evaluate(PairSum::VarianceGradient, &mean, variance, dim);
            variance_terms -= self.sums[0];
            variance *= 1.0 + variance * variance_terms / (dim as f64 * weights);
            variance = variance.max(MIN_VARIANCE);
            if moved2 <= TOLERANCE * TOLERANCE * variance {
                break;
            }
        }
        (mean, variance, score)
    }

    /// The mean that the similar pairs alone would give.
    fn initial_mean(&self, model: &LvmState, variance: f64) -> Vec<f64> {
        let dim = model.dim;
        let (mut mean, mut total) = (vec![0.0; dim], 0.0);
        for &(j, weight, scale2) in &self.links {
            let attraction = weight / (scale2 + variance + model.variances[j as usize]);
            (0..dim).for_each(|c| mean[c] += attraction * model.means[j as usize * dim + c]);
            total += attraction;
        }
        mean.iter_mut().for_each(|v| *v /= total);
        mean
    }

    /// The E-step over the dissimilar pairs of the new point. Its sums are the first entry of each column of `sums`.
    fn evaluate(&mut self, requested: PairSum, mean: &[f64], variance: f64, dim: usize) -> f64 {
        let padded = self.padded;
        (0..dim).for_each(|c| self.inputs[c * padded] = mean[c]);
        self.inputs[dim * padded] = variance;
        self.sums.clear();
        self.sums.resize(requested.columns(dim) * padded, 0.0);
        let (coordinates, rest) = self.inputs.split_at(dim * padded);
        let column = |at: usize| &rest[at * padded..(at + 1) * padded];
        let inputs = kernel::BlockInputs {
            coordinates,
            variances: column(0),
            row_scales: column(1),
            column_scales: column(2),
            weights: column(3),
            excluded_starts: &self.excluded.starts,
            excluded_tiles: &self.excluded.tiles,
            len: self.len,
            uniform: true,
            dim,
        };
        kernel::sum_rows(requested, &inputs, 0, 1, &mut self.sums)
    }
}
