//! The layout of a fuzzy graph by stochastic gradient descent with sampled repulsion.

use rand::Rng;
use rayon::prelude::*;

use lowland_core::archive::Archive;
use lowland_core::run::{Step, Stepper};
use lowland_core::{Embedding, Points, Result, Seed};
use lowland_cuda::{
    DeviceLayout, LayoutEpoch, MAX_DIM, MAX_ROWS, RatedEdges, Work, gpu_for, layout_memory, or_processor,
};
use lowland_linalg::Csr;

use super::forces::{Forces, limited, square};
use crate::anchors::Anchors;
use crate::density::{DensityTerm, LocalRadii};

/// Parameters of the layout.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LayoutParams {
    /// Forces between the points.
    pub forces: Forces,
    /// Number of epochs. The learning rate decreases linearly over them.
    pub epochs: usize,
    /// Learning rate of the first epoch.
    pub learning_rate: f64,
    /// Number of repelling points that are drawn for each attraction.
    pub negative_sample_rate: usize,
    /// Seed of the draws; each epoch and point has its own stream.
    pub seed: Seed,
}

/// Number of rows that a thread processes at a time.
const ROWS: usize = 64;
/// Number of groups that the points are divided into. The points of a group move at the same time, and see where the groups
/// before them have moved to. If all points moved at the same time, clusters would remain in pieces more often.
const GROUPS: usize = 16;
/// A neighbor attracts a point by at most this share of their distance. Steps that overshoot tear clusters apart in the first epochs.
const MAX_SHARE: f32 = 1.0;
/// The same in more dimensions than three, where a point would be left wherever the last neighbor happened to be, which costs neighbors. On a map, such
/// long steps bring parts of a cluster together.
const MAX_SHARE_IN_SPACE: f32 = 0.25;
/// Maps of fewer points are computed on the processor.
const MIN_DEVICE_POINTS: usize = 256;
/// Number of points from which the loss is estimated, and of repelling points drawn for each.
const LOSS_POINTS: usize = 500;
const LOSS_DRAWS: usize = 20;

/// The layout: a stepper whose iterations are epochs.
pub struct SampledLayout {
    params: LayoutParams,
    edges: Edges,
    dim: usize,
    points: Vec<f32>,
    /// New positions of one group of points.
    moved: Vec<f32>,
    /// Where the points are, and move, if a graphics card is in effect; the random numbers are others there.
    device: Option<DeviceLayout>,
    anchors: Option<Anchors>,
    density: Option<DensityTerm>,
    /// Factor of the correlation of local radii in a step of length one.
    density_factor: f64,
    epoch: usize,
}

/// The edges of the graph with their rates: how often an edge attracts, per epoch.
struct Edges {
    starts: Vec<usize>,
    ends: Vec<u32>,
    rates: Vec<f32>,
}

impl Edges {
    fn row(&self, i: usize) -> impl Iterator<Item = (usize, f32)> {
        let range = self.starts[i]..self.starts[i + 1];
        self.ends[range.clone()].iter().zip(&self.rates[range]).map(|(&j, &rate)| (j as usize, rate))
    }
}

impl SampledLayout {
    /// Creates the layout of a symmetric graph. Edges too weak to attract once in all epochs are left out.
    pub fn new(
        graph: &Csr,
        init: &Embedding,
        params: LayoutParams,
        anchors: Option<&Anchors>,
        density: Option<DensityTerm>,
    ) -> Result<Self> {
        let largest = graph.values().iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        let weakest = largest / params.epochs as f64;
        let (mut starts, mut ends, mut rates) = (vec![0], Vec::new(), Vec::new());
        for i in 0..graph.rows() {
            let (columns, values) = graph.row(i);
            for (&j, &value) in columns.iter().zip(values).filter(|&(&j, &value)| value >= weakest && j as usize != i) {
                ends.push(j);
                rates.push((value / largest) as f32);
            }
            starts.push(ends.len());
        }
        let points: Vec<f32> = init.values().iter().map(|&v| v as f32).collect();
        let edges = Edges { starts, ends, rates };
        let preserves_density = density.as_ref().is_some_and(|density| density.params().weight > 0.0);
        let device = match anchors {
            None if !preserves_density => device_layout(&edges, &points, init.dim(), &params)?,
            _ => None,
        };
        // As in umap-learn: the sum of the memberships weighs the correlation, and an edge moves its ends in both directions.
        let total: f64 = graph.values().iter().sum();
        let density_factor = density.as_ref().map_or(0.0, |density| density.params().weight * total / largest);
        let (dim, anchors) = (init.dim(), anchors.cloned());
        Ok(Self { params, edges, dim, moved: Vec::new(), device, points, anchors, density, density_factor, epoch: 0 })
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

    /// Returns the local radii of the rows and of the points of a map, if they are needed.
    pub fn local_radii(&mut self, map: &Embedding) -> Option<LocalRadii> {
        self.density.as_mut().map(|density| density.radii(map.points()))
    }

    /// Moves all points towards a map that preserves density, in the last epochs.
    fn preserve_density(&mut self, rate: f32) {
        let Some(density) = &mut self.density else { return };
        if density.params().weight == 0.0 || self.epoch + 1 < density.params().first_iteration(self.params.epochs) {
            return;
        }
        let map: Vec<f64> = self.points.iter().map(|&v| f64::from(v)).collect();
        let mut gradient = vec![0.0; map.len()];
        density.add_gradient(Points::new(&map, self.dim).expect("whole rows"), self.density_factor, &mut gradient);
        let is_held = |i: usize| self.anchors.as_ref().is_some_and(|anchors| anchors.is_held(i));
        let moves = self.points.chunks_exact_mut(self.dim).zip(gradient.chunks_exact(self.dim)).enumerate();
        for (_, (point, gradient)) in moves.filter(|(i, _)| !is_held(*i)) {
            point.iter_mut().zip(gradient).for_each(|(p, g)| *p -= rate * limited(*g as f32));
        }
    }

    fn learning_rate(&self) -> f32 {
        (self.params.learning_rate * (1.0 - self.epoch as f64 / self.params.epochs as f64)) as f32
    }

    /// Moves the points of a group. `DIM` is the dimension, if the compiler is to know it, or zero.
    fn move_group<const DIM: usize>(&mut self, group: usize, rate: f32) {
        let dim = self.dim;
        let rows = (self.points.len() / dim - group).div_ceil(GROUPS);
        let mut moved = std::mem::take(&mut self.moved);
        moved.resize(rows * dim, 0.0);
        let seed = self.params.seed.item(self.epoch);
        moved.par_chunks_mut(dim).with_min_len(ROWS).enumerate().for_each_init(Vec::new, |attracting, (at, point)| {
            let i = group + at * GROUPS;
            self.move_point::<DIM>(i, seed.item(i), rate, attracting, point);
        });
        let points = self.points.chunks_exact_mut(dim).skip(group).step_by(GROUPS);
        points.zip(moved.chunks_exact(dim)).for_each(|(point, moved)| point.copy_from_slice(moved));
        self.moved = moved;
    }

    /// Writes the new position of point `i`. In umap-learn, an edge is there in both directions, and each of them moves both ends:
    /// hence twice the rate. The neighbors attract in random order: with steps this long, a point ends up closest to the last of them, and the
    /// same order in all epochs would favor the same neighbors. `attracting` is scratch space.
    fn move_point<const DIM: usize>(
        &self,
        i: usize,
        seed: Seed,
        rate: f32,
        attracting: &mut Vec<u32>,
        point: &mut [f32],
    ) {
        let dim = if DIM > 0 { DIM } else { self.dim };
        let (n, point) = (self.points.len() / dim, &mut point[..dim]);
        let position = |j: usize| &self.points[j * dim..][..dim];
        let LayoutParams { forces, negative_sample_rate, .. } = self.params;
        point.copy_from_slice(position(i));
        let tie = self.anchors.as_ref().map_or(0.0, |anchors| anchors.strengths()[i]);
        if tie.is_infinite() {
            return;
        }
        let mut rng = seed.rng();
        attracting.clear();
        for (j, edge_rate) in self.edges.row(i) {
            for _ in 0..attractions(edge_rate, self.epoch) {
                let place = draw(&mut rng, attracting.len() + 1);
                attracting.push(j as u32);
                let last = attracting.len() - 1;
                attracting.swap(place, last);
            }
        }
        let share = if dim > 3 { MAX_SHARE_IN_SPACE } else { MAX_SHARE };
        for &j in &*attracting {
            forces.attract(point, position(j as usize), 2.0 * rate, share);
            forces.repel(point, negative_sample_rate, rate, || position(draw(&mut rng, n)));
        }
        if let Some(anchors) = self.anchors.as_ref().filter(|_| tie > 0.0) {
            // An implicit step, which does not overshoot however strong the tie is.
            let pull = rate * tie as f32 * self.edges.row(i).map(|(_, edge_rate)| edge_rate).sum::<f32>();
            let share = pull / (1.0 + pull);
            point.iter_mut().zip(anchors.target(i)).for_each(|(p, &target)| *p += share * (target as f32 - *p));
        }
    }

    /// Estimates the loss per point from some of the points.
    fn loss(&self) -> f64 {
        let n = self.points.len() / self.dim;
        let point = |i: usize| &self.points[i * self.dim..(i + 1) * self.dim];
        let seed = self.params.seed.stream("loss").item(self.epoch);
        let rows: Vec<usize> = (0..n).step_by(n.div_ceil(LOSS_POINTS).max(1)).collect();
        let losses: Vec<f64> = rows
            .par_iter()
            .map(|&i| {
                let (mut attraction, mut degree) = (0.0, 0.0);
                for (j, rate) in self.edges.row(i) {
                    attraction += f64::from(rate) * self.params.forces.losses(square(point(i), point(j))).0;
                    degree += f64::from(rate);
                }
                let mut rng = seed.item(i).rng();
                let draws = (0..LOSS_DRAWS).map(|_| draw(&mut rng, n)).filter(|&j| j != i);
                let repulsion: f64 = draws.map(|j| self.params.forces.losses(square(point(i), point(j))).1).sum();
                attraction + degree * self.params.negative_sample_rate as f64 * repulsion / LOSS_DRAWS as f64
            })
            .collect();
        losses.iter().sum::<f64>() / rows.len().max(1) as f64
    }
}

/// Copies a layout to a graphics card; `None` if there is none for it.
fn device_layout(edges: &Edges, points: &[f32], dim: usize, params: &LayoutParams) -> Result<Option<DeviceLayout>> {
    let n = points.len() / dim;
    if !(MIN_DEVICE_POINTS..=MAX_ROWS).contains(&n) || dim > MAX_DIM {
        return Ok(None);
    }
    let draws = edges.rates.iter().map(|&rate| f64::from(rate)).sum::<f64>() * (1 + params.negative_sample_rate) as f64;
    let work = Work {
        name: "the layout",
        cpu_seconds: params.epochs as f64 * draws * 1e-8 * (1.0 + 0.1 * dim as f64),
        memory: layout_memory(n, edges.ends.len(), dim),
        shared_memory: 0,
    };
    let Some(gpu) = gpu_for(work)? else { return Ok(None) };
    let forces = params.forces.on_device(params.negative_sample_rate);
    let rated = RatedEdges { starts: &edges.starts, columns: &edges.ends, rates: &edges.rates };
    or_processor(DeviceLayout::new(gpu, rated, points, dim, GROUPS, forces, LOSS_POINTS), work.name)
}

/// Returns a number below `n`: the high half of a product, whose deviation from the uniform distribution is at most 2^-32.
#[inline(always)]
pub(super) fn draw(rng: &mut impl Rng, n: usize) -> usize {
    (((rng.next_u64() >> 32) * n as u64) >> 32) as usize
}

/// Returns how often an edge of this rate attracts in the given epoch, counted from zero.
#[inline(always)]
pub(super) fn attractions(rate: f32, epoch: usize) -> usize {
    ((epoch + 1) as f32 * rate) as usize - (epoch as f32 * rate) as usize
}

impl Stepper for SampledLayout {
    fn step(&mut self) -> Result<Step> {
        let rate = self.learning_rate();
        if let Some(device) = &mut self.device {
            let seed = self.params.seed;
            let (seed, loss_seed) = (seed.stream("device").0, seed.stream("loss").item(self.epoch).0);
            let objective = device.epoch(LayoutEpoch { number: self.epoch, rate, seed, loss_seed })?;
            self.epoch += 1;
            return Ok(Step { iteration: self.epoch, objective, change: f64::from(rate) });
        }
        self.preserve_density(rate);
        for group in 0..GROUPS.min(self.points.len() / self.dim) {
            match self.dim {
                2 => self.move_group::<2>(group, rate),
                3 => self.move_group::<3>(group, rate),
                _ => self.move_group::<0>(group, rate),
            }
        }
        self.epoch += 1;
        // The epochs are the stopping rule: the learning rate has not ended before the last one.
        Ok(Step { iteration: self.epoch, objective: self.loss(), change: f64::from(rate) })
    }

    fn embedding(&self) -> Embedding {
        // If a card fails here, the next step, or `final_embedding`, returns the error.
        self.final_embedding()
            .unwrap_or_else(|_| Embedding::new(vec![0.0; self.points.len()], self.dim).expect("complete rows"))
    }

    fn save(&self, archive: &mut Archive) {
        let Ok(embedding) = self.final_embedding() else { return archive.mark_incomplete() };
        archive.put("layout/points", embedding.values());
        archive.put("layout/epoch", vec![self.epoch as u64]);
    }

    fn restore(&mut self, archive: &Archive) -> Result<()> {
        let points = archive.finite("layout/points")?;
        let epochs = archive.sizes("layout/epoch")?;
        if points.len() != self.points.len() || epochs.len() != 1 {
            return Err(archive.invalid("its layout has another size".into()));
        }
        self.points = points.iter().map(|&v| v as f32).collect();
        self.epoch = epochs[0];
        if let Some(device) = &mut self.device {
            device.set_positions(&self.points)?;
        }
        Ok(())
    }
}
