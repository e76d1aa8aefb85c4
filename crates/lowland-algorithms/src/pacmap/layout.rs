//! The layout of the pairs by the Adam optimizer.

use rayon::prelude::*;

use lowland_core::archive::Archive;
use lowland_core::run::{Step, Stepper};
use lowland_core::simd::simd_dispatch;
use lowland_core::{Embedding, Result, Seed};
use lowland_cuda::{DevicePairs, MAX_DIM, MAX_ROWS, PairStep, Work, gpu_for, or_processor, pairs_memory};

use super::links::{Links, add_gradient, square};
use super::pair_loss::{Attraction, LocalAttraction, PairLoss, Repulsion};
use super::pairs::{Pairs, PointPairs, local_further_pairs};
use crate::anchors::Anchors;

/// Parameters of the layout.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PacmapParams {
    /// Number of iterations of each phase.
    pub phases: [usize; 3],
    /// Learning rate.
    pub learning_rate: f64,
    /// Distance in the embedding up to which further pairs are drawn in the final phase of LocalMAP; `None` for the final phase
    /// of PaCMAP.
    pub local_distance: Option<f64>,
    /// Seed of the pairs that are drawn in the final phase of LocalMAP.
    pub seed: Seed,
}

/// Weight of mid-near pairs in the first iteration.
const FIRST_MID_WEIGHT: f64 = 1000.0;
/// Number of iterations after which LocalMAP draws further pairs again.
const LOCAL_INTERVAL: usize = 10;

/// Decay of the mean and of the mean square of the gradient, and what is added to the root of the latter.
const DECAY: [f32; 2] = [0.9, 0.999];
const EPSILON: f32 = 1e-7;

/// Number of rows that a thread processes at a time.
const ROWS: usize = 256;
/// Number of points from which the loss is estimated.
const LOSS_POINTS: usize = 1000;
/// Maps of fewer points are computed on the processor.
const MIN_DEVICE_POINTS: usize = 256;

/// The layout: a stepper.
pub struct PacmapLayout {
    params: PacmapParams,
    near: Links,
    mid: Links,
    further: Links,
    /// The pairs as they were drawn, for drawing further pairs again.
    drawn: Option<(Pairs, Pairs)>,
    dim: usize,
    points: Vec<f32>,
    moved: Vec<f32>,
    /// Mean and mean square of the gradient.
    moments: [Vec<f32>; 2],
    /// Where the points and moments are, if a graphics card is in effect.
    device: Option<DevicePairs>,
    anchors: Option<Anchors>,
    iteration: usize,
}

/// The weights of an iteration, and which loss near pairs have.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Weights {
    pub near: f64,
    pub mid: f64,
    pub further: f64,
    pub is_local: bool,
}

impl PacmapParams {
    /// The weights of an iteration, counted from zero.
    pub(super) fn weights(&self, iteration: usize) -> Weights {
        let [first, second, _] = self.phases;
        if iteration < first {
            let done = iteration as f64 / first as f64;
            return Weights {
                near: 2.0,
                mid: FIRST_MID_WEIGHT * (1.0 - done) + 3.0 * done,
                further: 1.0,
                is_local: false,
            };
        }
        if iteration < first + second {
            return Weights { near: 3.0, mid: 3.0, further: 1.0, is_local: false };
        }
        // The first iteration of the final phase is that of PaCMAP.
        let is_local = self.local_distance.is_some() && iteration > first + second;
        Weights { near: 1.0, mid: 0.0, further: 1.0, is_local }
    }
}

impl PacmapLayout {
    /// Creates the layout of pairs.
    pub fn new(pairs: PointPairs, init: &Embedding, params: PacmapParams, anchors: Option<&Anchors>) -> Result<Self> {
        let points: Vec<f32> = init.values().iter().map(|&v| v as f32).collect();
        let PointPairs { near, mid, further } = pairs;
        let mid = { Links::new(&mid) };
        let (near_links, further_links) = (Links::new(&near), Links::new(&further));
        // There are no ties on the card.
        let device = match anchors {
            Some(_) => None,
            None => device_pairs([&near_links, &mid, &further_links], &points, init.dim(), &params)?,
        };
        let zeros = || vec![0.0; points.len()];
        Ok(Self {
            params,
            near: near_links,
            mid,
            further: further_links,
            drawn: params.local_distance.map(|_| (near, further)),
            dim: init.dim(),
            moved: zeros(),
            moments: [zeros(), zeros()],
            points,
            device,
            anchors: anchors.cloned(),
            iteration: 0,
        })
    }

    /// Returns the map; fails if the card does.
    pub fn final_embedding(&self) -> Result<Embedding> {
        let points = match &self.device {
            Some(device) => &device.positions()?,
            None => &self.points,
        };
        let map = Embedding::new(points.iter().map(|&v| f64::from(v)).collect(), self.dim)?;
        Ok(if let Some(anchors) = &self.anchors { anchors.restore(map) } else { map })
    }

    /// Learning rate of the current iteration, with the correction of the moments.
    fn learning_rate(&self) -> f32 {
        let step = self.iteration as i32 + 1;
        let bias = |decay: f32| 1.0 - f64::from(decay).powi(step);
        (self.params.learning_rate * bias(DECAY[1]).sqrt() / bias(DECAY[0])) as f32
    }

    /// Moves all points. `DIM` is the dimension, if the compiler is to know it, or zero.
    fn move_points<const DIM: usize>(&mut self, weights: Weights) {
        let dim = self.dim;
        let mut moved = std::mem::take(&mut self.moved);
        let [mut means, mut squares] = std::mem::take(&mut self.moments);
        let rate = self.learning_rate();
        let rows = means.par_chunks_mut(ROWS * dim).zip(squares.par_chunks_mut(ROWS * dim));
        moved.par_chunks_mut(ROWS * dim).zip(rows).enumerate().for_each(|(chunk, (moved, (means, squares)))| {
            moved.fill(0.0);
            self.add_gradients::<DIM>(chunk * ROWS, weights, moved);
            let points = &self.points[chunk * ROWS * dim..][..moved.len()];
            if let Some(anchors) = &self.anchors {
                self.add_ties(anchors, chunk * ROWS, moved);
            }
            adam(points, rate, moved, means, squares);
        });
        self.moved = std::mem::replace(&mut self.points, moved);
        self.moments = [means, squares];
    }

    /// Adds the gradients of the ties of consecutive rows, and sets those of rows that are held to zero. A tie of strength one is as
    /// strong as the attraction of all near pairs of a point at short distances.
    fn add_ties(&self, anchors: &Anchors, first: usize, out: &mut [f32]) {
        let dim = self.dim;
        for (at, gradient) in out.chunks_exact_mut(dim).enumerate() {
            let (i, strength) = (first + at, anchors.strengths()[first + at]);
            if strength.is_infinite() {
                gradient.fill(0.0);
            } else if strength > 0.0 {
                let factor = strength as f32 * self.near.row(i).len() as f32 * Attraction::near(1.0).factor(1.0);
                let moved = self.points[i * dim..][..dim].iter().zip(anchors.target(i));
                gradient.iter_mut().zip(moved).for_each(|(g, (y, &target))| *g += factor * (y - target as f32));
            }
        }
    }

    /// Adds the gradients of consecutive rows.
    fn add_gradients<const DIM: usize>(&self, first: usize, weights: Weights, out: &mut [f32]) {
        let LossParts { near, local, mid, further } = self.losses(weights);
        if weights.is_local {
            gradients_of_rows::<DIM, _>(&self.near, &self.points, first, self.dim, local, out);
        } else {
            gradients_of_rows::<DIM, _>(&self.near, &self.points, first, self.dim, near, out);
        }
        if weights.mid > 0.0 {
            gradients_of_rows::<DIM, _>(&self.mid, &self.points, first, self.dim, mid, out);
        }
        gradients_of_rows::<DIM, _>(&self.further, &self.points, first, self.dim, further, out);
    }

    fn losses(&self, weights: Weights) -> LossParts {
        LossParts {
            near: Attraction::near(weights.near),
            local: LocalAttraction {
                weight: weights.near as f32,
                threshold: self.params.local_distance.unwrap_or(0.0) as f32,
            },
            mid: Attraction::mid(weights.mid),
            further: Repulsion { weight: weights.further as f32 },
        }
    }

    /// Estimates the loss per point from evenly spaced points: exactly if there are at most a thousand.
    pub(super) fn loss(&self, weights: Weights) -> f64 {
        let n = self.points.len() / self.dim;
        let LossParts { near, local, mid, further } = self.losses(weights);
        let rows: Vec<usize> = (0..n).step_by(loss_interval(n)).collect();
        let losses: Vec<f64> = rows
            .par_iter()
            .map(|&i| {
                let (points, dim) = (&self.points, self.dim);
                let attraction = match weights.is_local {
                    true => self.near.loss(points, dim, i, local),
                    false => self.near.loss(points, dim, i, near),
                };
                attraction + self.mid.loss(points, dim, i, mid) + self.further.loss(points, dim, i, further)
            })
            .collect();
        // Every pair is there from both ends.
        0.5 * losses.iter().sum::<f64>() / rows.len().max(1) as f64
    }

    /// Draws the further pairs again from points that are near in the embedding.
    fn draw_local_pairs(&mut self, distance: f64) {
        let Some((near, further)) = &mut self.drawn else { return };
        let (points, dim, limit) = (&self.points, self.dim, (distance * distance) as f32);
        let position = |i: usize| &points[i * dim..][..dim];
        // As in LocalMAP, the distance includes the one of `1 + d^2`.
        let is_close = |i: usize, j: usize| 1.0 + square(position(i), position(j)) <= limit;
        *further = local_further_pairs(near, further, is_close, self.params.seed.item(self.iteration));
        self.further = Links::new(further);
    }

    #[cfg(test)]
    pub(super) fn gradient(&self, weights: Weights) -> Vec<f32> {
        let mut out = vec![0.0; self.points.len()];
        match self.dim {
            2 => self.add_gradients::<2>(0, weights, &mut out),
            3 => self.add_gradients::<3>(0, weights, &mut out),
            _ => self.add_gradients::<0>(0, weights, &mut out),
        }
        out
    }

    #[cfg(test)]
    pub(super) fn points_mut(&mut self) -> &mut [f32] {
        &mut self.points
    }
}

/// The losses of an iteration.
struct LossParts {
    near: Attraction,
    local: LocalAttraction,
    mid: Attraction,
    further: Repulsion,
}

/// Adds the gradients of consecutive rows from one kind of pairs.
#[simd_dispatch]
fn gradients_of_rows<const DIM: usize, L: PairLoss>(
    links: &Links,
    points: &[f32],
    first: usize,
    dim: usize,
    pair_loss: L,
    out: &mut [f32],
) {
    for (at, gradient) in out.chunks_exact_mut(dim).enumerate() {
        add_gradient::<DIM>(points, first + at, links.row(first + at), pair_loss, gradient);
    }
}

/// Replaces the gradients in `moved` by the new positions of the points.
#[simd_dispatch]
fn adam(points: &[f32], rate: f32, moved: &mut [f32], means: &mut [f32], squares: &mut [f32]) {
    for (((moved, point), mean), square) in moved.iter_mut().zip(points).zip(means).zip(squares) {
        let gradient = *moved;
        *mean += (1.0 - DECAY[0]) * (gradient - *mean);
        *square += (1.0 - DECAY[1]) * (gradient * gradient - *square);
        *moved = point - rate * *mean / (square.sqrt() + EPSILON);
    }
}

/// Distance between the points at which the loss is computed.
fn loss_interval(points: usize) -> usize {
    points.div_ceil(LOSS_POINTS).max(1)
}

/// Copies a layout to a graphics card; `None` if there is none for it.
fn device_pairs(links: [&Links; 3], points: &[f32], dim: usize, params: &PacmapParams) -> Result<Option<DevicePairs>> {
    let n = points.len() / dim;
    if !(MIN_DEVICE_POINTS..=MAX_ROWS).contains(&n) || dim > MAX_DIM {
        return Ok(None);
    }
    let ends = links.iter().map(|links| links.len()).sum();
    let iterations: usize = params.phases.iter().sum();
    let work = Work {
        name: "the layout",
        cpu_seconds: iterations as f64 * ends as f64 * 1.5e-9 * (1.0 + 0.1 * dim as f64),
        memory: pairs_memory(n, ends, dim),
        shared_memory: 0,
    };
    let Some(gpu) = gpu_for(work)? else { return Ok(None) };
    let pairs = links.map(Links::on_device);
    or_processor(DevicePairs::new(gpu, pairs, points, dim, loss_interval(n)), work.name)
}

impl Stepper for PacmapLayout {
    fn step(&mut self) -> Result<Step> {
        let weights = self.params.weights(self.iteration);
        let step = PairStep {
            near: weights.near as f32,
            local_threshold: self.params.local_distance.filter(|_| weights.is_local).map(|distance| distance as f32),
            mid: weights.mid as f32,
            further: weights.further as f32,
            rate: self.learning_rate(),
        };
        match (&mut self.device, self.dim) {
            (Some(device), _) => device.advance(step)?,
            (None, 2) => self.move_points::<2>(weights),
            (None, 3) => self.move_points::<3>(weights),
            (None, _) => self.move_points::<0>(weights),
        }
        if let Some(distance) = self.params.local_distance
            && weights.is_local
            && self.iteration.is_multiple_of(LOCAL_INTERVAL)
        {
            if let Some(device) = &self.device {
                self.points = device.positions()?;
            }
            self.draw_local_pairs(distance);
            if let Some(device) = &mut self.device {
                device.set_further(self.further.on_device())?;
            }
        }
        self.iteration += 1;
        let objective = match &self.device {
            Some(device) => 0.5 * device.loss(step)?,
            None => self.loss(weights),
        };
        // The number of iterations is the stopping rule: the phases belong together.
        Ok(Step { iteration: self.iteration, objective, change: 1.0 })
    }

    fn embedding(&self) -> Embedding {
        // If a card fails here, the next step, or `final_embedding`, returns the error.
        self.final_embedding()
            .unwrap_or_else(|_| Embedding::new(vec![0.0; self.points.len()], self.dim).expect("complete rows"))
    }

    fn save(&self, archive: &mut Archive) {
        let wide = |values: &[f32]| values.iter().map(|&v| f64::from(v)).collect::<Vec<_>>();
        let on_device = match self.device.as_ref().map(DevicePairs::state) {
            Some(Ok(state)) => Some(state),
            Some(Err(_)) => return archive.mark_incomplete(),
            None => None,
        };
        let [points, means, squares] = match &on_device {
            Some(state) => state.each_ref().map(Vec::as_slice),
            None => [&self.points[..], &self.moments[0], &self.moments[1]],
        };
        archive.put("layout/points", wide(points));
        archive.put("layout/mean", wide(means));
        archive.put("layout/mean_square", wide(squares));
        archive.put("layout/iteration", vec![self.iteration as u64]);
        if let Some((_, further)) = &self.drawn {
            archive.put("layout/further", further.ends());
        }
    }

    fn restore(&mut self, archive: &Archive) -> Result<()> {
        let wrong_size = || archive.invalid("its layout has another size".into());
        let values = |name: &str| -> Result<Vec<f32>> {
            let values = archive.finite(name)?;
            if values.len() == self.points.len() {
                Ok(values.iter().map(|&v| v as f32).collect())
            } else {
                Err(wrong_size())
            }
        };
        let points = values("layout/points")?;
        let moments = [values("layout/mean")?, values("layout/mean_square")?];
        let &[iteration] = archive.sizes("layout/iteration")?.as_slice() else { return Err(wrong_size()) };
        if let Some((_, further)) = &mut self.drawn {
            *further = further.with_ends(archive.u32s("layout/further")?).ok_or_else(wrong_size)?;
            self.further = Links::new(further);
        }
        (self.points, self.moments, self.iteration) = (points, moments, iteration);
        if let Some(device) = &mut self.device {
            device.set_state([&self.points, &self.moments[0], &self.moments[1]])?;
            device.set_further(self.further.on_device())?;
        }
        Ok(())
    }
}
