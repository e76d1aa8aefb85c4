//! The layout of pairs of points by the Adam optimizer.

use std::sync::Arc;

use lowland_core::Result;

use crate::gpu::{Buffer, Gpu};
use crate::launch::{Arg, Kernel, Shape, THREADS};
use crate::{PairEnds, PairStep};

/// The other ends of the pairs of each point, on the card.
struct Ends {
    starts: Buffer<u64>,
    ends: Buffer<u32>,
}

impl Ends {
    fn new(gpu: &Gpu, pairs: PairEnds) -> Result<Self> {
        let starts: Vec<u64> = pairs.starts.iter().map(|&start| start as u64).collect();
        Ok(Self { starts: gpu.upload(&starts)?, ends: gpu.upload(pairs.ends)? })
    }
}

/// A layout of near, mid-near and further pairs on the card.
pub struct DevicePairs {
    gpu: Arc<Gpu>,
    n: usize,
    dim: usize,
    near: Ends,
    mid: Ends,
    further: Ends,
    points: Buffer<f32>,
    moved: Buffer<f32>,
    /// Mean and mean square of the gradient.
    moments: [Buffer<f32>; 2],
    losses: Buffer<f64>,
    /// The loss is computed at every point of a number that this divides.
    every: usize,
}

impl DevicePairs {
    /// Copies a map and its near, mid-near and further pairs to the card. `dim` is at most [`MAX_DIM`](crate::MAX_DIM), and the loss is
    /// computed at every `every`-th point.
    pub fn new(gpu: Arc<Gpu>, pairs: [PairEnds; 3], points: &[f32], dim: usize, every: usize) -> Result<Self> {
        let n = points.len() / dim;
        let [near, mid, further] = pairs;
        Ok(Self {
            n,
            dim,
            near: Ends::new(&gpu, near)?,
            mid: Ends::new(&gpu, mid)?,
            further: Ends::new(&gpu, further)?,
            points: gpu.upload(points)?,
            moved: gpu.zeros(points.len())?,
            moments: [gpu.zeros(points.len())?, gpu.zeros(points.len())?],
            losses: gpu.zeros(n.div_ceil(every))?,
            every,
            gpu,
        })
    }

    /// Returns the points, and the mean and the mean square of the gradient.
    pub fn state(&self) -> Result<[Vec<f32>; 3]> {
        Ok([self.read(&self.points)?, self.read(&self.moments[0])?, self.read(&self.moments[1])?])
    }

    /// Returns the points.
    pub fn positions(&self) -> Result<Vec<f32>> {
        self.read(&self.points)
    }

    /// Sets what [`state`](Self::state) returns.
    pub fn set_state(&mut self, [points, means, squares]: [&[f32]; 3]) -> Result<()> {
        self.gpu.write(points, &mut self.points)?;
        self.gpu.write(means, &mut self.moments[0])?;
        self.gpu.write(squares, &mut self.moments[1])
    }

    /// Replaces the further pairs.
    pub fn set_further(&mut self, pairs: PairEnds) -> Result<()> {
        self.further = Ends::new(&self.gpu, pairs)?;
        Ok(())
    }

    /// Moves every point once.
    pub fn advance(&mut self, step: PairStep) -> Result<()> {
        let name = match self.dim {
            2 => "move_2",
            3 => "move_3",
            _ => "move_any",
        };
        let [a, b, c, d, e, f] = self.ends();
        let [near, threshold, mid, further] = step.weights();
        let args = [
            a,
            b,
            c,
            d,
            e,
            f,
            self.points.arg(),
            self.n.into(),
            self.dim.into(),
            near,
            threshold,
            mid,
            further,
            Arg::Float(step.rate),
            self.moments[0].arg(),
            self.moments[1].arg(),
            self.moved.arg(),
        ];
        let shape = Shape::blocks(self.n.div_ceil(THREADS / 32));
        self.gpu.launch(Kernel("pairs", name), shape, &args)?;
        std::mem::swap(&mut self.points, &mut self.moved);
        Ok(())
    }

    /// Returns the mean loss of the sampled points, with the weights of a step. Every pair is counted from each of its ends.
    pub fn loss(&self, step: PairStep) -> Result<f64> {
        let count = self.n.div_ceil(self.every);
        let [a, b, c, d, e, f] = self.ends();
        let [near, threshold, mid, further] = step.weights();
        let args = [
            a,
            b,
            c,
            d,
            e,
            f,
            self.points.arg(),
            self.dim.into(),
            self.every.into(),
            near,
            threshold,
            mid,
            further,
            self.losses.arg(),
        ];
        self.gpu.launch(Kernel("pairs", "sample_loss"), Shape { blocks: (count, 1), threads: 32, shared: 0 }, &args)?;
        let mut losses = vec![0.0; count];
        self.gpu.download(&self.losses, &mut losses)?;
        Ok(losses.iter().sum::<f64>() / count as f64)
    }

    fn ends(&self) -> [Arg; 6] {
        let Self { near, mid, further, .. } = self;
        [near.starts.arg(), near.ends.arg(), mid.starts.arg(), mid.ends.arg(), further.starts.arg(), further.ends.arg()]
    }

    fn read(&self, buffer: &Buffer<f32>) -> Result<Vec<f32>> {
        let mut values = vec![0.0; self.n * self.dim];
        self.gpu.download(buffer, &mut values)?;
        Ok(values)
    }
}

impl PairStep {
    fn weights(self) -> [Arg; 4] {
        [self.near, self.local_threshold.unwrap_or(0.0), self.mid, self.further].map(Arg::Float)
    }
}
