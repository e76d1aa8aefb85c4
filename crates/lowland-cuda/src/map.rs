//! A map on the card: its points, the edges that attract them, their repulsion, and the steps of a descent. All of it stays on
//! the card from one iteration to the next; a few numbers come back after each.

use std::sync::Arc;

use lowland_core::Result;

use crate::gpu::{Buffer, Gpu};
use crate::grid::{self, Grid};
use crate::launch::{Arg, Kernel, Shape, THREADS};
use crate::ptx::map_unit;
use crate::{DeviceEdges, EdgeAttraction, GainStep, Gradient, MapForces, MomentumStep, PairKernel, StepResult};

/// Places of the scalars: the macros TOTAL, ATTRACTION, SIZE, MOVED and SUMS.
const TOTAL: usize = 0;
const ATTRACTION: usize = 1;
const SIZE: usize = 2;
const MOVED: usize = 3;
const SUMS: usize = 4;
/// Threads of the blocks that add the sums of other blocks.
const ADDING: usize = 1024;
/// Points at which the error of a grid is measured.
const SAMPLE: usize = 256;
/// Spacing of a grid that has an error of about one per cent, and the bounds of it.
const SPACING: f64 = 0.5;
const MIN_SPACING: f64 = 0.05;
const MAX_SPACING: f64 = 0.75;
/// A grid becomes coarser if its error is below this share of the tolerance.
const TOO_ACCURATE: f64 = 0.2;

/// What a sum over all pairs needs to know of a map.
pub(crate) struct Sums {
    pub y: Arg,
    pub n: usize,
    /// Factor of the coordinates.
    pub unit: f64,
    pub kernel: PairKernel,
    pub bounds: [[f64; 2]; 2],
}

impl Sums {
    /// Number and exponent of the kernel: the enumeration Kernel.
    pub fn kernel_number(&self) -> (Arg, Arg) {
        kernel_number(self.kernel)
    }
}

fn kernel_number(kernel: PairKernel) -> (Arg, Arg) {
    match kernel {
        PairKernel::Gaussian => (Arg::Int(0), Arg::Float(0.0)),
        PairKernel::Cauchy { power: 1.0 } => (Arg::Int(1), Arg::Float(1.0)),
        PairKernel::Cauchy { power: 2.0 } => (Arg::Int(2), Arg::Float(2.0)),
        PairKernel::Cauchy { power } => (Arg::Int(3), Arg::Float(power as f32)),
    }
}

/// Edges on the card.
struct Edges {
    starts: Buffer<u64>,
    columns: Buffer<u32>,
    weights: Buffer<f32>,
}

impl Edges {
    fn upload(gpu: &Gpu, edges: DeviceEdges) -> Result<Self> {
        let starts: Vec<u64> = edges.starts.iter().map(|&start| start as u64).collect();
        let weights: Vec<f32> = edges.weights.iter().map(|&weight| weight as f32).collect();
        Ok(Self { starts: gpu.upload(&starts)?, columns: gpu.upload(edges.columns)?, weights: gpu.upload(&weights)? })
    }
}

/// What MAP IT's field needs besides the affinities of the pairs that are not aligned.
struct Alignment {
    near: Edges,
    marginals: Buffer<f32>,
    map_marginals: Buffer<f32>,
    /// Attraction and repulsion over edges, side by side for each point.
    sums: Buffer<f32>,
}

/// A map with its forces.
pub struct DeviceMap {
    gpu: Arc<Gpu>,
    n: usize,
    dim: usize,
    /// Dimension of the kernels, with the coordinates beyond `dim` being zero.
    padded: usize,
    unit: &'static str,
    forces: MapForces,
    edges: Edges,
    alignment: Option<Alignment>,
    y: Buffer<f32>,
    force: Buffer<f32>,
    gradient: Buffer<f32>,
    update: Buffer<f32>,
    gains: Buffer<f32>,
    /// Partial sums of chunks of the sources.
    partial: Buffer<f32>,
    chunks: usize,
    /// Sums of blocks.
    sums: Buffer<f64>,
    block_bounds: Buffer<f32>,
    scalars: Buffer<f64>,
    host_scalars: Vec<f64>,
    /// Points at which the error is measured, and their exact sums.
    sample: Vec<u32>,
    device_sample: Buffer<u32>,
    sample_sums: Buffer<f64>,
    grid: Option<Grid>,
    spacing: f64,
    /// Error of the force at the last measurement; zero for exact sums.
    measured: Option<f64>,
    /// Whether the last sum was over all pairs.
    exact: bool,
    /// Whether all sums are to be over all pairs.
    only_exact: bool,
}

impl DeviceMap {
    /// Copies a map and its edges to the card. `dim` is at most [`MAX_DIM`](crate::MAX_DIM), the number of points below 2^31.
    pub fn new(gpu: Arc<Gpu>, edges: DeviceEdges, y: &[f64], dim: usize, forces: MapForces) -> Result<Self> {
        let (n, (padded, unit)) = (y.len() / dim, map_unit(dim));
        let targets = if padded <= 3 {
            4
        } else if padded <= 10 {
            2
        } else {
            1
        };
        let blocks = n.div_ceil(THREADS * targets);
        // Enough blocks to fill the card; 16 for each multiprocessor.
        let chunks = (16 * gpu.processors()).div_ceil(blocks).clamp(1, 64).min(n.div_ceil(THREADS));
        let most_blocks = n.div_ceil(8).max(THREADS * 16);
        let sample: Vec<u32> =
            (0..SAMPLE.min(n)).map(|i| ((i as f64 + 0.5) * n as f64 / SAMPLE.min(n) as f64) as u32).collect();
        let mut map = Self {
            n,
            dim,
            padded,
            unit,
            forces,
            edges: Edges::upload(&gpu, edges)?,
            alignment: None,
            y: gpu.zeros(n * padded)?,
            force: gpu.zeros(n * padded)?,
            gradient: gpu.zeros(n * padded)?,
            update: gpu.zeros(n * padded)?,
            gains: gpu.upload(&vec![1.0; n * padded])?,
            partial: gpu.zeros(0)?,
            chunks,
            sums: gpu.zeros(most_blocks.max(n.div_ceil(THREADS) * (padded + 1)))?,
            block_bounds: gpu.zeros(n.div_ceil(THREADS) * 6)?,
            scalars: gpu.zeros(SUMS + padded + 6)?,
            host_scalars: vec![0.0; SUMS + padded + 6],
            device_sample: gpu.upload(&sample)?,
            sample_sums: gpu.zeros(sample.len() * (padded + 1))?,
            sample,
            grid: None,
            spacing: SPACING,
            measured: None,
            exact: true,
            only_exact: false,
            gpu,
        };
        map.set_positions(y)?;
        Ok(map)
    }

    /// Sums over all pairs from now on, and never on a grid.
    pub fn sum_all_pairs(&mut self) {
        self.only_exact = true;
    }

    /// Sets the points.
    pub fn set_positions(&mut self, y: &[f64]) -> Result<()> {
        let values = self.pad(y, 0.0);
        self.gpu.write(&values, &mut self.y)?;
        self.measure(false)
    }

    /// Returns the points.
    pub fn positions(&self) -> Result<Vec<f64>> {
        self.download(&self.y)
    }

    /// Returns the last gradient.
    pub fn gradient(&self) -> Result<Vec<f64>> {
        self.download(&self.gradient)
    }

    /// Returns the last step and the gains.
    pub fn momentum(&self) -> Result<[Vec<f64>; 2]> {
        Ok([self.download(&self.update)?, self.download(&self.gains)?])
    }

    /// Sets the last step and the gains.
    pub fn set_momentum(&mut self, update: &[f64], gains: &[f64]) -> Result<()> {
        let (update, gains) = (self.pad(update, 0.0), self.pad(gains, 1.0));
        self.gpu.write(&update, &mut self.update)?;
        self.gpu.write(&gains, &mut self.gains)
    }

    /// Returns the relative error of the repulsive force as measured last; zero if all pairs are summed.
    pub fn measured_error(&self) -> f64 {
        self.measured.unwrap_or(0.0)
    }

    /// Name of the algorithm of the last sum.
    pub fn engine_name(&self) -> &'static str {
        if self.exact { "exact" } else { "grid" }
    }

    /// Returns the spacing of the grid, on which later sums depend besides the map.
    pub fn spacing(&self) -> f64 {
        self.spacing
    }

    /// Sets the spacing of the grid and the measured error, to continue an earlier descent.
    pub fn set_grid(&mut self, spacing: f64, error: f64) {
        self.spacing = spacing.clamp(MIN_SPACING, MAX_SPACING);
        self.measured = Some(error);
    }

    /// Sum of the kernel over ordered pairs of different points, at the last [`DeviceMap::evaluate`] that was followed by
    /// [`DeviceMap::read_scalars`] or a step.
    pub fn total(&self) -> f64 {
        self.host_scalars[TOTAL]
    }

    /// Computes the gradient. With `measure`, measures the error of the repulsion first, and adapts it to the tolerance.
    pub fn evaluate(&mut self, gradient: Gradient, measure: bool) -> Result<()> {
        self.sum_repulsion()?;
        if measure && !self.exact {
            self.adapt(gradient.tolerance)?;
        } else if measure {
            self.measured = None;
        }
        let unit = self.forces.scale.sqrt().recip();
        // The gradient of the kernel is -2 slope times the sums, both orders of a pair count, and the coordinates have a unit.
        let repulsion = -4.0 * self.forces.kernel.slope() * gradient.repulsion * unit;
        let (student, inverse, factor) = match self.forces.attraction {
            EdgeAttraction::Quadratic => (false, 0.0, 4.0),
            EdgeAttraction::Student { dof } => (true, 1.0 / dof, 2.0 * (dof + 1.0) / dof),
        };
        let name = match (student, gradient.with_value) {
            (true, false) => "gradient_student",
            (true, true) => "gradient_student_value",
            (false, false) => "gradient_quadratic",
            (false, true) => "gradient_quadratic_value",
        };
        let blocks = self.n.div_ceil(THREADS / 32);
        let args = [
            self.edges.starts.arg(),
            self.edges.columns.arg(),
            self.edges.weights.arg(),
            self.y.arg(),
            self.force.arg(),
            self.scalars.arg(),
            self.n.into(),
            Arg::Float(inverse as f32),
            Arg::Float((factor * gradient.exaggeration) as f32),
            repulsion.into(),
            self.forces.normalized.into(),
            self.gradient.arg(),
            self.sums.arg(),
        ];
        self.launch(name, Shape::blocks(blocks), &args)?;
        if gradient.with_value {
            self.add_sums(blocks, 1, 0.0, ATTRACTION)?;
        }
        Ok(())
    }

    /// Makes this a map of MAP IT: its edges are those of pairs that are not aligned, and `near` has those that are, with the marginals
    /// of the points in the data.
    pub fn align(&mut self, near: DeviceEdges, marginals: &[f64]) -> Result<()> {
        let marginals: Vec<f32> = marginals.iter().map(|&value| value as f32).collect();
        self.alignment = Some(Alignment {
            near: Edges::upload(&self.gpu, near)?,
            marginals: self.gpu.upload(&marginals)?,
            map_marginals: self.gpu.zeros(self.n)?,
            sums: self.gpu.zeros(2 * self.n * self.padded)?,
        });
        Ok(())
    }

    /// Computes MAP IT's field instead of a gradient; see [`DeviceMap::evaluate`]. The sum of the weighted similarities takes the place of
    /// the attraction.
    pub fn evaluate_field(&mut self, tolerance: f64, measure: bool) -> Result<()> {
        self.sum_repulsion()?;
        if measure && !self.exact {
            self.adapt(tolerance)?;
        } else if measure {
            self.measured = None;
        }
        let alignment = self.alignment.as_ref().expect("only maps of MAP IT have a field");
        let gaussian = self.forces.kernel == PairKernel::Gaussian;
        let (marginals, field) =
            if gaussian { ("marginals_gaussian", "field_gaussian") } else { ("marginals_student", "field_student") };
        let blocks = self.n.div_ceil(THREADS / 32);
        let near = &alignment.near;
        let args = [near.starts.arg(), near.columns.arg(), self.y.arg(), self.n.into(), alignment.map_marginals.arg()];
        self.launch(marginals, Shape::blocks(blocks), &args)?;
        let args = [
            near.starts.arg(),
            near.columns.arg(),
            near.weights.arg(),
            self.edges.starts.arg(),
            self.edges.columns.arg(),
            self.edges.weights.arg(),
            alignment.marginals.arg(),
            alignment.map_marginals.arg(),
            self.y.arg(),
            self.n.into(),
            alignment.sums.arg(),
            self.sums.arg(),
        ];
        self.launch(field, Shape::blocks(blocks), &args)?;
        self.add_sums(blocks, 1, 0.0, ATTRACTION)?;
        // The repulsion is the potential's gradient divided by -4, which is by coordinates in units of the kernel.
        let repulsion = -0.5 * self.forces.kernel.slope() / self.forces.scale.sqrt();
        let args = [
            alignment.sums.arg(),
            self.force.arg(),
            self.scalars.arg(),
            self.n.into(),
            repulsion.into(),
            self.gradient.arg(),
        ];
        self.launch("combine_field", Shape::for_each(self.n), &args)
    }

    /// Makes a step along the last gradient, and moves the mean to the origin.
    pub fn gain_step(&mut self, step: GainStep) -> Result<StepResult> {
        let relative = if step.max_relative_step.is_finite() { step.max_relative_step } else { 0.0 };
        let args = [
            self.y.arg(),
            self.update.arg(),
            self.gains.arg(),
            self.gradient.arg(),
            self.scalars.arg(),
            self.n.into(),
            Arg::Float(step.rate as f32),
            Arg::Float(step.momentum as f32),
            Arg::Float(step.min_gain as f32),
            Arg::Float(step.max_step as f32),
            Arg::Float(relative as f32),
            self.sums.arg(),
        ];
        self.launch("gain_step", Shape::for_each(self.n), &args)?;
        self.finish_step(true)
    }

    /// Makes a step along the last gradient.
    pub fn momentum_step(&mut self, step: MomentumStep) -> Result<StepResult> {
        let args = [
            self.y.arg(),
            self.update.arg(),
            self.gradient.arg(),
            self.n.into(),
            Arg::Float(step.rate as f32),
            Arg::Float(step.momentum as f32),
            Arg::Float(step.max_step as f32),
            self.sums.arg(),
        ];
        self.launch("momentum_step", Shape::for_each(self.n), &args)?;
        self.finish_step(false)
    }

    /// Copies the scalars to the host; returns sum and attraction of the last evaluation.
    pub fn read_scalars(&mut self) -> Result<[f64; 2]> {
        self.gpu.download(&self.scalars, &mut self.host_scalars)?;
        Ok([self.host_scalars[TOTAL], self.factor() * self.host_scalars[ATTRACTION]])
    }

    /// Factor of the sums of the edges' values.
    fn factor(&self) -> f64 {
        match self.forces.attraction {
            EdgeAttraction::Quadratic => 1.0,
            EdgeAttraction::Student { dof } => 0.5 * (dof + 1.0),
        }
    }

    fn finish_step(&mut self, center: bool) -> Result<StepResult> {
        let size = self.host_scalars[SIZE];
        self.add_sums(self.n.div_ceil(THREADS), self.padded + 1, 0.0, MOVED)?;
        self.measure(center)?;
        let change = (self.host_scalars[MOVED] / size.max(f64::MIN_POSITIVE)).sqrt();
        let [total, attraction] = [self.host_scalars[TOTAL], self.factor() * self.host_scalars[ATTRACTION]];
        Ok(StepResult { total, attraction, change })
    }

    /// Measures size and bounds of the map, moves its mean to the origin if `center` is set, and reads all scalars.
    fn measure(&mut self, center: bool) -> Result<()> {
        let blocks = self.n.div_ceil(THREADS);
        let args =
            [self.y.arg(), self.scalars.arg(), self.n.into(), center.into(), self.sums.arg(), self.block_bounds.arg()];
        self.launch("center_and_measure", Shape::blocks(blocks), &args)?;
        self.add_sums(blocks, 1, 0.0, SIZE)?;
        let args = [self.block_bounds.arg(), blocks.into(), self.scalar(SUMS + self.padded)];
        self.launch("join_bounds", Shape { blocks: (1, 1), threads: ADDING, shared: 0 }, &args)?;
        self.read_scalars().map(|_| ())
    }

    /// Sums the repulsion by the cheapest engine.
    fn sum_repulsion(&mut self) -> Result<()> {
        let bounds = self.bounds();
        let (kernel, unit) = (self.forces.kernel, self.forces.scale.sqrt().recip());
        let scaled = bounds.map(|bounds| bounds.map(|x| x * unit));
        let exact_cost = (self.n as f64).powi(2) * exact_pair_cost(self.padded) + 3e4;
        let longest = grid::longest_period(self.gpu.shared_memory());
        let grid_pays =
            || grid::cost(kernel, self.spacing, scaled, longest, self.n).is_some_and(|cost| cost < exact_cost);
        if self.padded == 2 && !self.only_exact && grid_pays() {
            let sums = Sums { y: self.y.arg(), n: self.n, unit, kernel, bounds };
            let mut grid = match self.grid.take() {
                Some(grid) => grid,
                None => Grid::new(&self.gpu)?,
            };
            let found = grid.sum(&self.gpu, &sums, self.spacing, &self.force, &self.sums);
            self.grid = Some(grid);
            if let Some(blocks) = found? {
                self.exact = false;
                // Every point meets itself with a kernel of one.
                return self.add_sums(blocks, 1, -(self.n as f64), TOTAL);
            }
        }
        self.sum_exactly()
    }

    fn sum_exactly(&mut self) -> Result<()> {
        self.exact = true;
        let per_point = self.n * (self.padded + 1);
        if self.grid.is_some() || !self.has_partial() {
            self.partial = self.gpu.zeros(self.chunks * per_point)?;
            self.grid = None;
        }
        let targets = if self.padded <= 3 {
            4
        } else if self.padded <= 10 {
            2
        } else {
            1
        };
        let chunk = self.n.div_ceil(self.chunks).next_multiple_of(THREADS);
        let (_, power) = kernel_number(self.forces.kernel);
        let unit = Arg::Float(self.forces.scale.sqrt().recip() as f32);
        let args = [self.y.arg(), self.n.into(), chunk.into(), unit, power, self.partial.arg()];
        let shape = Shape { blocks: (self.n.div_ceil(THREADS * targets), self.chunks), threads: THREADS, shared: 0 };
        let name = match self.forces.kernel {
            PairKernel::Gaussian => "exact_gaussian",
            PairKernel::Cauchy { power: 1.0 } => "exact_cauchy_1",
            PairKernel::Cauchy { power: 2.0 } => "exact_cauchy_2",
            PairKernel::Cauchy { .. } => "exact_cauchy",
        };
        self.launch(name, shape, &args)?;
        let args = [self.partial.arg(), self.n.into(), self.chunks.into(), self.force.arg(), self.sums.arg()];
        let blocks = self.n.div_ceil(THREADS);
        self.launch("add_chunks", Shape::blocks(blocks), &args)?;
        self.add_sums(blocks, 1, 0.0, TOTAL)
    }

    fn has_partial(&self) -> bool {
        self.partial.len() >= self.chunks * self.n * (self.padded + 1)
    }

    /// Measures the error of the force on the grid, and makes the grid finer until it is within the tolerance.
    fn adapt(&mut self, tolerance: f64) -> Result<()> {
        loop {
            let error = self.force_error()?;
            self.measured = Some(error);
            if error <= tolerance || self.spacing <= MIN_SPACING {
                if error < TOO_ACCURATE * tolerance {
                    self.spacing = (self.spacing * 1.25).min(MAX_SPACING);
                }
                return Ok(());
            }
            self.spacing = (self.spacing * 0.7).max(MIN_SPACING);
            self.sum_repulsion()?;
            if self.exact {
                // So fine a grid costs more than all pairs, which have no such error.
                self.measured = None;
                return Ok(());
            }
        }
    }

    /// Returns the relative error of the last forces on the sample.
    fn force_error(&mut self) -> Result<f64> {
        let (name, width) = (
            match self.forces.kernel {
                PairKernel::Gaussian => "sample_gaussian",
                PairKernel::Cauchy { power: 1.0 } => "sample_cauchy_1",
                PairKernel::Cauchy { power: 2.0 } => "sample_cauchy_2",
                PairKernel::Cauchy { .. } => "sample_cauchy",
            },
            self.padded + 1,
        );
        let (_, power) = kernel_number(self.forces.kernel);
        let unit = Arg::Float(self.forces.scale.sqrt().recip() as f32);
        let args = [self.y.arg(), self.n.into(), self.device_sample.arg(), unit, power, self.sample_sums.arg()];
        self.launch(name, Shape::blocks(self.sample.len()), &args)?;
        let mut exact = vec![0.0; self.sample.len() * width];
        self.gpu.download(&self.sample_sums, &mut exact)?;
        let mut forces = vec![0f32; self.n * self.padded];
        self.gpu.download(&self.force, &mut forces)?;
        let (mut wrong, mut size) = (0.0, 0.0);
        for (&i, exact) in self.sample.iter().zip(exact.chunks_exact(width)) {
            for c in 0..self.padded {
                let found = f64::from(forces[i as usize * self.padded + c]);
                wrong += (found - exact[1 + c]).powi(2);
                size += exact[1 + c].powi(2);
            }
        }
        Ok(if size > 0.0 { (wrong / size).sqrt() } else { 0.0 })
    }

    /// Bounds of the first two coordinates.
    fn bounds(&self) -> [[f64; 2]; 2] {
        let at = SUMS + self.padded;
        [0, 1].map(|c| [-self.host_scalars[at + 2 * c], self.host_scalars[at + 2 * c + 1]])
    }

    /// Adds the sums of `blocks` blocks, `width` numbers each, to the scalars from `place` on.
    fn add_sums(&self, blocks: usize, width: usize, offset: f64, place: usize) -> Result<()> {
        let args = [self.sums.arg(), blocks.into(), width.into(), offset.into(), self.scalar(place)];
        self.launch("add_rows", Shape { blocks: (1, 1), threads: ADDING, shared: 0 }, &args)
    }

    /// Address of a scalar.
    fn scalar(&self, place: usize) -> Arg {
        self.scalars.arg_from(place)
    }

    fn launch(&self, name: &'static str, shape: Shape, args: &[Arg]) -> Result<()> {
        self.gpu.launch(Kernel(self.unit, name), shape, args)
    }

    /// Adds coordinates to rows, up to the dimension of the kernels.
    fn pad(&self, values: &[f64], fill: f32) -> Vec<f32> {
        let mut padded = vec![fill; self.n * self.padded];
        for (out, row) in padded.chunks_exact_mut(self.padded).zip(values.chunks_exact(self.dim)) {
            out.iter_mut().zip(row).for_each(|(out, &value)| *out = value as f32);
        }
        padded
    }

    /// Copies rows from the card, without the added coordinates.
    fn download(&self, buffer: &Buffer<f32>) -> Result<Vec<f64>> {
        let mut padded = vec![0f32; self.n * self.padded];
        self.gpu.download(buffer, &mut padded)?;
        let rows = padded.chunks_exact(self.padded);
        Ok(rows.flat_map(|row| row[..self.dim].iter().map(|&value| f64::from(value))).collect())
    }
}

/// Nanoseconds of a pair in exact sums, measured on an H200.
fn exact_pair_cost(padded: usize) -> f64 {
    0.38e-3 * (1.0 + 0.5 * (padded as f64 - 2.0))
}
