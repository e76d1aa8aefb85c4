//! The layout of a fuzzy graph by stochastic gradient descent with sampled repulsion.

use std::sync::Arc;

use lowland_core::Result;

use crate::gpu::{Buffer, Gpu};
use crate::launch::{Arg, Kernel, Shape};
use crate::{LayoutEpoch, LayoutForces, RatedEdges};

/// Threads of the blocks that move points.
const MOVING: usize = 128;
/// Draws from which the repulsion of a point is estimated for the loss.
const LOSS_DRAWS: usize = 32;

/// A layout on the card.
pub struct DeviceLayout {
    gpu: Arc<Gpu>,
    n: usize,
    dim: usize,
    groups: usize,
    forces: LayoutForces,
    starts: Buffer<u64>,
    columns: Buffer<u32>,
    rates: Buffer<f32>,
    points: Buffer<f32>,
    moved: Buffer<f32>,
    losses: Buffer<f64>,
    /// The loss is computed at every point of a number that this divides.
    every: usize,
}

impl DeviceLayout {
    /// Copies a map and its edges to the card. `dim` is at most [`MAX_DIM`](crate::MAX_DIM); the points move in `groups` groups, one after
    /// the other, and the loss is estimated at about `loss_points` of them.
    pub fn new(
        gpu: Arc<Gpu>,
        edges: RatedEdges,
        points: &[f32],
        dim: usize,
        groups: usize,
        forces: LayoutForces,
        loss_points: usize,
    ) -> Result<Self> {
        let n = points.len() / dim;
        let groups = groups.min(n);
        let every = n.div_ceil(loss_points).max(1);
        let starts: Vec<u64> = edges.starts.iter().map(|&start| start as u64).collect();
        Ok(Self {
            n,
            dim,
            groups,
            forces,
            starts: gpu.upload(&starts)?,
            columns: gpu.upload(edges.columns)?,
            rates: gpu.upload(edges.rates)?,
            points: gpu.upload(points)?,
            moved: gpu.zeros(n.div_ceil(groups) * dim)?,
            losses: gpu.zeros(n.div_ceil(every))?,
            every,
            gpu,
        })
    }

    /// Returns the points.
    pub fn positions(&self) -> Result<Vec<f32>> {
        let mut points = vec![0.0; self.n * self.dim];
        self.gpu.download(&self.points, &mut points)?;
        Ok(points)
    }

    /// Sets the points.
    pub fn set_positions(&mut self, points: &[f32]) -> Result<()> {
        self.gpu.write(points, &mut self.points)
    }

    /// Moves every point once; returns the estimated loss per point.
    pub fn epoch(&mut self, epoch: LayoutEpoch) -> Result<f64> {
        let LayoutForces { a, b, repulsion, samples } = self.forces;
        let name = match self.dim {
            2 => "move_2",
            3 => "move_3",
            _ => "move_any",
        };
        let forces = [Arg::Float(a), Arg::Float(b), Arg::Float(repulsion)];
        for group in 0..self.groups {
            let rows = (self.n - group).div_ceil(self.groups);
            let args = [
                self.starts.arg(),
                self.columns.arg(),
                self.rates.arg(),
                self.points.arg(),
                self.n.into(),
                self.dim.into(),
                group.into(),
                self.groups.into(),
                epoch.number.into(),
                Arg::Long(epoch.seed),
                forces[0],
                forces[1],
                forces[2],
                Arg::Float(epoch.rate),
                samples.into(),
                self.moved.arg(),
            ];
            let shape = Shape { blocks: (rows.div_ceil(MOVING), 1), threads: MOVING, shared: 0 };
            self.gpu.launch(Kernel("layout", name), shape, &args)?;
            let args =
                [self.moved.arg(), self.n.into(), self.dim.into(), group.into(), self.groups.into(), self.points.arg()];
            self.gpu.launch(Kernel("layout", "keep_moves"), Shape::for_each(rows * self.dim), &args)?;
        }
        let count = self.n.div_ceil(self.every);
        let args = [
            self.starts.arg(),
            self.columns.arg(),
            self.rates.arg(),
            self.points.arg(),
            self.n.into(),
            self.dim.into(),
            self.every.into(),
            Arg::Long(epoch.loss_seed),
            forces[0],
            forces[1],
            forces[2],
            samples.into(),
            LOSS_DRAWS.into(),
            self.losses.arg(),
        ];
        let shape = Shape { blocks: (count, 1), threads: 32, shared: 0 };
        self.gpu.launch(Kernel("layout", "sample_loss"), shape, &args)?;
        let mut losses = vec![0.0; count];
        self.gpu.download(&self.losses, &mut losses)?;
        Ok(losses.iter().sum::<f64>() / count as f64)
    }
}
