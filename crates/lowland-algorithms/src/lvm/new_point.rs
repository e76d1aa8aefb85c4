//! One new point: its pairs with the fitted points, and its mean and variance given theirs.

use super::em::MIN_VARIANCE;
use super::excluded_pairs::{ExcludedPairs, padded_len};
use super::kernel::{self, PairSum};
use super::new_edges::NewEdges;
use super::state::LvmState;
use super::training_pairs::{AdjacencyRule, HALF_COINCIDENCE, TrainingPairs};

/// A point is stationary when its mean moves by less than this fraction of its standard deviation and its variance
/// changes by less than this fraction. The variance of most points tends to zero like the inverse of the number of
/// updates, in the fit as well, so this stops only exceptional ones before the last update.
const TOLERANCE: f64 = 1e-6;

/// Updates are made one by one up to this number.
const SINGLE_UPDATES: usize = 16;
/// A step over several updates is over this part of those before it: they become smaller like the inverse of their number.
const STEP_SHARE: usize = 8;
/// Largest change of the mean, in standard deviations, and of the logarithm of the variance, by the second estimate of a step.
const STEP_TOLERANCE: f64 = 0.02;

/// How many of the updates of a new point are computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UpdateSteps {
    /// Each of them.
    Single,
    /// The first ones, and then steps over several.
    Growing,
}

/// The change of a point by one update.
struct Change {
    mean: Vec<f64>,
    log_variance: f64,
}

/// The pairs of one new point: its similar pairs, and a block of itself and its cell for the dissimilar pairs. Reused
/// for the points of a thread.
#[derive(Default)]
pub(super) struct NewPoint {
    /// `mu`.
    pub mean: Vec<f64>,
    /// `sigma^2`.
    pub variance: f64,
    /// Similar pairs: point, weight and squared length scale.
    pub links: Vec<(u32, f64, f64)>,
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

impl Change {
    /// Whether it is too small to matter, for a point of this variance.
    fn is_stationary(&self, variance: f64) -> bool {
        let moved = self.mean.iter().map(|step| step * step).sum::<f64>();
        moved <= TOLERANCE * TOLERANCE * variance && self.log_variance.abs() <= TOLERANCE
    }
}

impl NewPoint {
    /// Sets the pairs of a new point as those of the fitted points were set, and its initial mean and variance. It is
    /// similar to the ends of its edges and to its landmark on each level, and dissimilar to the other points in the
    /// cell of the last.
    pub(super) fn set_pairs(
        &mut self,
        model: &LvmState,
        edges: &NewEdges,
        adjacency: AdjacencyRule,
        distance: impl Fn(u32) -> f64,
    ) {
        let scale = |length: f64| TrainingPairs::length_scale(length, model.unit);
        self.links.clear();
        for &(j, length) in edges.outgoing.iter().chain(&edges.incoming) {
            match self.links.iter_mut().find(|link| link.0 == j) {
                Some(link) => link.1 += 1.0,
                None => self.links.push((j, 1.0, scale(length).powi(2))),
            }
        }
        let largest_scale = edges.outgoing.iter().map(|&(_, length)| scale(length)).fold(0.0, f64::max);
        let links = &mut self.links;
        let members = model.tree.descend(distance, |landmark, length| {
            links.push((landmark, model.link_weight, scale(length).powi(2)));
        });
        let initial_variance = largest_scale * largest_scale / HALF_COINCIDENCE / (2.0 * model.dim as f64);
        self.variance = initial_variance.max(MIN_VARIANCE);
        self.set_initial_mean(model);
        // A block of the new point and the cell; only the pairs of its first row are evaluated.
        self.fill_inputs(model, members, largest_scale);
        self.excluded = ExcludedPairs::default();
        self.dissimilar_weight = 0.0;
        for (&j, local) in members.iter().zip(1..) {
            let directed = [&edges.outgoing, &edges.incoming].map(|edges| edges.iter().any(|edge| edge.0 == j));
            let excluded = match adjacency {
                AdjacencyRule::Directed => directed,
                AdjacencyRule::Either => [directed[0] || directed[1]; 2],
            };
            for (direction, is_excluded) in excluded.into_iter().enumerate() {
                if is_excluded {
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

    /// Updates the point by its rows of eqs 20 and 21, over as many updates as the fitted points had: then its
    /// variance is comparable to theirs. Stops earlier if both mean and variance are stationary.
    pub(super) fn fit(&mut self, model: &LvmState, steps: UpdateSteps) {
        let mut done = 0;
        while done < model.iterations {
            let left = model.iterations - done;
            let mut step = match steps {
                UpdateSteps::Growing if done >= SINGLE_UPDATES => (done / STEP_SHARE).min(left),
                _ => 1,
            };
            let start = (self.mean.clone(), self.variance);
            let change = self.update(model);
            if change.is_stationary(self.variance) {
                break;
            }
            while step > 1 && !self.skip(model, &start, &change, step) {
                step /= 2;
            }
            done += step;
        }
    }

    /// Moves from `start` over several updates, of which the first is `change`: by as many times the change in the middle, which
    /// the first one leads to. If the two differ too much, the point is moved by the first alone, and the result is false.
    fn skip(&mut self, model: &LvmState, start: &(Vec<f64>, f64), change: &Change, updates: usize) -> bool {
        self.move_from(start, change, (updates - 1) as f64 / 2.0);
        let middle = self.update(model);
        let difference = change.mean.iter().zip(&middle.mean).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
        let error = (difference / self.variance).sqrt() + (change.log_variance - middle.log_variance).abs();
        let is_smooth = error * updates as f64 <= 2.0 * STEP_TOLERANCE;
        match is_smooth {
            true => self.move_from(start, &middle, updates as f64),
            false => self.move_from(start, change, 1.0),
        }
        is_smooth
    }

    /// Moves to `start` and several times a change.
    fn move_from(&mut self, start: &(Vec<f64>, f64), change: &Change, times: f64) {
        for (value, (start, by)) in self.mean.iter_mut().zip(start.0.iter().zip(&change.mean)) {
            *value = start + times * by;
        }
        self.variance = (start.1 * (times * change.log_variance).exp()).max(MIN_VARIANCE);
    }

    /// Updates the mean, and then the variance.
    fn update(&mut self, model: &LvmState) -> Change {
        let (mut step, diagonal) = self.mean_gradient(model);
        for (value, step) in self.mean.iter_mut().zip(&mut step) {
            *step /= diagonal;
            *value += *step;
        }
        let before = self.variance;
        self.variance = (before * (1.0 + self.variance_change(model))).max(MIN_VARIANCE);
        Change { mean: step, log_variance: (self.variance / before).ln() }
    }

    /// The gradient of the log-likelihood with respect to the mean, and the diagonal entry of the matrix of eq 19.
    pub(super) fn mean_gradient(&mut self, model: &LvmState) -> (Vec<f64>, f64) {
        let dim = model.dim;
        let (mut gradient, mut attraction) = (vec![0.0; dim], 0.0);
        for &(j, weight, scale2) in &self.links {
            let s = scale2 + self.variance + model.variances[j as usize];
            let other = &model.means[j as usize * dim..(j as usize + 1) * dim];
            (0..dim).for_each(|c| gradient[c] -= weight / s * (self.mean[c] - other[c]));
            attraction += weight / s;
        }
        self.evaluate(PairSum::MeanGradient, dim);
        (0..dim).for_each(|c| gradient[c] += self.sums[c * self.padded]);
        (gradient, attraction + self.dissimilar_weight / self.variance)
    }

    /// The relative change of the variance by eq 21. Half of it, times the dimension and the weight of all pairs, is the
    /// gradient of the log-likelihood with respect to the logarithm of the variance.
    pub(super) fn variance_change(&mut self, model: &LvmState) -> f64 {
        let dim = model.dim;
        let mut terms = 0.0;
        for &(j, weight, scale2) in &self.links {
            let s = scale2 + self.variance + model.variances[j as usize];
            terms += weight / s * (self.squared_distance(model, j) / s - dim as f64);
        }
        self.evaluate(PairSum::VarianceGradient, dim);
        self.variance * (terms - self.sums[0]) / (dim as f64 * self.total_weight())
    }

    /// The log-likelihood of the pairs of the point, which the updates increase.
    #[cfg(test)]
    pub(super) fn log_likelihood(&mut self, model: &LvmState) -> f64 {
        let dim = model.dim;
        let mut sum = self.evaluate(PairSum::MeanGradient, dim);
        for &(j, weight, scale2) in &self.links {
            let s = scale2 + self.variance + model.variances[j as usize];
            sum += 0.5 * weight * (dim as f64 * (scale2 / s).ln() - self.squared_distance(model, j) / s);
        }
        sum
    }

    /// The weight of all pairs of the point.
    pub(super) fn total_weight(&self) -> f64 {
        self.links.iter().map(|link| link.1).sum::<f64>() + self.dissimilar_weight
    }

    fn squared_distance(&self, model: &LvmState, j: u32) -> f64 {
        let other = &model.means[j as usize * model.dim..(j as usize + 1) * model.dim];
        self.mean.iter().zip(other).map(|(a, b)| (a - b).powi(2)).sum()
    }

    /// Starts from the mean that the similar pairs alone would give.
    fn set_initial_mean(&mut self, model: &LvmState) {
        let dim = model.dim;
        self.mean.clear();
        self.mean.resize(dim, 0.0);
        let mut total = 0.0;
        for &(j, weight, scale2) in &self.links {
            let attraction = weight / (scale2 + self.variance + model.variances[j as usize]);
            (0..dim).for_each(|c| self.mean[c] += attraction * model.means[j as usize * dim + c]);
            total += attraction;
        }
        self.mean.iter_mut().for_each(|v| *v /= total);
    }

    /// The E-step over the dissimilar pairs of the new point. Its sums are the first entry of each column of `sums`.
    fn evaluate(&mut self, requested: PairSum, dim: usize) -> f64 {
        let padded = self.padded;
        (0..dim).for_each(|c| self.inputs[c * padded] = self.mean[c]);
        self.inputs[dim * padded] = self.variance;
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
