//! The repulsion of a map in the plane, summed on a grid.

use std::f64::consts::TAU;

use lowland_core::Result;

use crate::PairKernel;
use crate::gpu::{Buffer, Gpu};
use crate::launch::{Arg, Frame, Kernel, Shape, THREADS};
use crate::map::Sums;

/// Order of the splines: the macro ORDER.
const ORDER: usize = 6;
/// Longest period of an axis: its transform is done in the shared memory of a block.
const MAX_PERIOD: usize = 8192;
/// Shared memory that the kernels declare, and what drivers reserve, in bytes.
const DECLARED_SHARED: usize = 2048;
/// Shared memory of the blocks that transform columns, where the card has as much.
const COLUMN_MEMORY: usize = 64 << 10;
/// Minimum number of nodes across a map, for maps much smaller than one unit.
const MIN_NODES_ACROSS: f64 = 16.0;
/// A Gaussian is below 1e-13 beyond this distance.
const GAUSSIAN_REACH: f64 = 5.5;

/// Size of the grid: nodes that the points reach, and the periods of the transforms.
#[derive(Debug, Clone, Copy, PartialEq)]
struct GridShape {
    spacing: f64,
    nodes: [usize; 2],
    periods: [usize; 2],
}

/// What the spectra depend on.
type SpectrumKey = (f64, [usize; 2]);

/// The grid with its buffers, which grow as needed.
pub(crate) struct Grid {
    roots: Buffer<[f32; 2]>,
    charges: Buffer<u64>,
    data: Buffer<[f32; 2]>,
    forces: Buffer<[f32; 2]>,
    force_spectrum: Buffer<[f32; 2]>,
    value_spectrum: Buffer<f32>,
    spectrum: Option<SpectrumKey>,
    /// Numbers of nodes that there is memory for: of the grid, and of the period.
    capacity: [usize; 2],
}

/// Returns the longest period that a block with this much shared memory transforms.
pub(crate) fn longest_period(shared_memory: usize) -> usize {
    let numbers = shared_memory.saturating_sub(DECLARED_SHARED) / size_of::<[f32; 2]>();
    MAX_PERIOD.min(if numbers == 0 { 0 } else { 1 << numbers.ilog2() })
}

/// Returns the size of the grid for a map with these bounds; `None` if it would be too large for blocks that transform `longest` numbers.
fn shape(kernel: PairKernel, spacing: f64, bounds: [[f64; 2]; 2], longest: usize) -> Option<GridShape> {
    let extents = bounds.map(|[low, high]| high - low);
    let across = extents[0].max(extents[1]);
    // In steps, so that the spectra of the kernel last for several iterations.
    let finer = (across / MIN_NODES_ACROSS).max(1e-3);
    let spacing = if finer < spacing { ((4.0 * finer.log2()).floor() / 4.0).exp2() } else { spacing };
    let nodes = extents.map(|extent| (extent / spacing) as usize + 1 + ORDER);
    let reach = (GAUSSIAN_REACH / spacing).ceil() as usize;
    let periods = nodes.map(|nodes| {
        let padding = if kernel == PairKernel::Gaussian { nodes.min(reach) } else { nodes };
        (nodes + padding + 2 * ORDER).next_power_of_two().max(64)
    });
    (periods[0].max(periods[1]) <= longest).then_some(GridShape { spacing, nodes, periods })
}

/// Nanoseconds of a sum on a grid, measured on an H200; `None` if the grid would be too large.
pub(crate) fn cost(
    kernel: PairKernel,
    spacing: f64,
    bounds: [[f64; 2]; 2],
    longest: usize,
    points: usize,
) -> Option<f64> {
    let shape = shape(kernel, spacing, bounds, longest)?;
    Some(6e4 + 0.5 * points as f64 + 0.1 * (shape.periods[0] * shape.periods[1]) as f64)
}

impl Grid {
    pub fn new(gpu: &Gpu) -> Result<Self> {
        let roots: Vec<[f32; 2]> = (0..MAX_PERIOD / 2)
            .map(|k| -TAU * k as f64 / MAX_PERIOD as f64)
            .map(|angle| [angle.cos() as f32, angle.sin() as f32])
            .collect();
        Ok(Self {
            roots: gpu.upload(&roots)?,
            charges: gpu.zeros(0)?,
            data: gpu.zeros(0)?,
            forces: gpu.zeros(0)?,
            force_spectrum: gpu.zeros(0)?,
            value_spectrum: gpu.zeros(0)?,
            spectrum: None,
            capacity: [0; 2],
        })
    }

    /// Writes the forces at the points to `out`, and the sum of the kernel over all ordered pairs, the points themselves included,
    /// as rows to `sums`, whose number is returned. `None` if the grid would be too large.
    pub fn sum(
        &mut self,
        gpu: &Gpu,
        map: &Sums,
        spacing: f64,
        out: &Buffer<f32>,
        sums: &Buffer<f64>,
    ) -> Result<Option<usize>> {
        let bounds = map.bounds.map(|bounds| bounds.map(|x| x * map.unit));
        let longest = longest_period(gpu.shared_memory());
        let Some(shape) = shape(map.kernel, spacing, bounds, longest) else { return Ok(None) };
        self.reserve(gpu, &shape)?;
        self.prepare(gpu, map, &shape)?;
        let GridShape { spacing, nodes: [width, height], periods: [period_x, period_y] } = shape;
        let frame = Frame {
            per_unit: spacing.recip() as f32,
            first: bounds.map(|[low, _]| low as f32),
            nodes: [width as i32, height as i32],
        };
        let (n, unit) = (Arg::from(map.n), Arg::Float(map.unit as f32));
        gpu.clear(&mut self.charges)?;
        let spread = [map.y, n, unit, frame.into(), width.into(), self.charges.arg()];
        gpu.launch(kernel("spread"), Shape::for_each(map.n), &spread)?;
        let row = |count| Shape { blocks: (count, 1), threads: transform_threads(period_x), shared: 8 * period_x };
        let charges = [
            self.charges.arg(),
            width.into(),
            width.into(),
            period_x.into(),
            self.roots.arg(),
            stride(period_x),
            self.data.arg(),
        ];
        gpu.launch(kernel("charge_rows"), row(height), &charges)?;
        let (lines, columns) = column_blocks(gpu, &shape);
        let convolve = [
            self.data.arg(),
            height.into(),
            period_x.into(),
            period_y.into(),
            lines.into(),
            self.roots.arg(),
            stride(period_y),
            self.force_spectrum.arg(),
            self.value_spectrum.arg(),
            sums.arg(),
        ];
        gpu.launch(kernel("convolve_columns"), columns, &convolve)?;
        let forces = [
            self.data.arg(),
            period_x.into(),
            self.roots.arg(),
            stride(period_x),
            width.into(),
            width.into(),
            self.forces.arg(),
        ];
        gpu.launch(kernel("force_rows"), row(height), &forces)?;
        let gather = [map.y, n, unit, frame.into(), width.into(), self.forces.arg(), out.arg()];
        gpu.launch(kernel("gather"), Shape::for_each(map.n), &gather)?;
        Ok(Some(columns.blocks.0))
    }

    /// Allocates larger buffers if necessary.
    fn reserve(&mut self, gpu: &Gpu, shape: &GridShape) -> Result<()> {
        let (nodes, all) = (shape.nodes[0] * shape.nodes[1], shape.periods[0] * shape.periods[1]);
        if nodes > self.capacity[0] {
            // Maps grow; so that not every iteration allocates.
            self.capacity[0] = nodes + nodes / 2;
            self.charges = gpu.zeros(self.capacity[0])?;
            self.forces = gpu.zeros(self.capacity[0])?;
        }
        if all > self.capacity[1] {
            self.capacity[1] = all;
            self.data = gpu.zeros(all)?;
            self.force_spectrum = gpu.zeros(all)?;
            self.value_spectrum = gpu.zeros(all)?;
            self.spectrum = None;
        }
        Ok(())
    }

    /// Computes the spectra of the kernel, unless they are those of the last sum.
    fn prepare(&mut self, gpu: &Gpu, map: &Sums, shape: &GridShape) -> Result<()> {
        let key = (shape.spacing, shape.periods);
        if self.spectrum == Some(key) {
            return Ok(());
        }
        let [period_x, period_y] = shape.periods;
        let (number, power) = map.kernel_number();
        let (lines, columns) = column_blocks(gpu, shape);
        for value in [false, true] {
            let rows = [
                number,
                power,
                value.into(),
                Arg::Float(shape.spacing as f32),
                period_x.into(),
                period_y.into(),
                self.roots.arg(),
                stride(period_x),
                self.data.arg(),
            ];
            let shape = Shape { blocks: (period_y, 1), threads: transform_threads(period_x), shared: 8 * period_x };
            gpu.launch(kernel("kernel_rows"), shape, &rows)?;
            let args = [
                self.data.arg(),
                period_x.into(),
                period_y.into(),
                lines.into(),
                self.roots.arg(),
                stride(period_y),
                value.into(),
                self.force_spectrum.arg(),
                self.value_spectrum.arg(),
            ];
            gpu.launch(kernel("kernel_columns"), columns, &args)?;
        }
        self.spectrum = Some(key);
        Ok(())
    }
}

fn kernel(name: &'static str) -> Kernel {
    Kernel("grid", name)
}

/// Distance between the entries of the table of roots for a period.
fn stride(period: usize) -> Arg {
    (MAX_PERIOD / period).into()
}

/// Threads that transform a row: four numbers each.
fn transform_threads(period: usize) -> usize {
    (period / 4).clamp(32, THREADS)
}

/// Columns that a block transforms at a time, and the blocks. Four adjacent columns fill a unit of memory transfer.
fn column_blocks(gpu: &Gpu, shape: &GridShape) -> (usize, Shape) {
    let [period_x, period_y] = shape.periods;
    let lines = (COLUMN_MEMORY.min(gpu.shared_memory().saturating_sub(DECLARED_SHARED)) / (8 * period_y)).clamp(1, 4);
    // A power of two, as the period.
    let lines = if lines == 3 { 2 } else { lines };
    (lines, Shape { blocks: (period_x / lines, 1), threads: THREADS, shared: 8 * period_y * lines })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grids_cover_the_map_with_room_for_the_kernel() {
        let student = PairKernel::Cauchy { power: 1.0 };
        let of = |kernel, width: f64| shape(kernel, 0.5, [[-width / 2.0, width / 2.0], [0.0, width / 4.0]], MAX_PERIOD);
        let wide = of(student, 100.0).unwrap();
        assert_eq!((wide.spacing, wide.nodes, wide.periods), (0.5, [207, 57], [512, 128]));
        assert_eq!(of(PairKernel::Gaussian, 100.0).unwrap().periods, [256, 128]);
        // Small maps have a finer grid, whose spacing changes in steps.
        let (small, smaller) = (of(student, 1e-1).unwrap(), of(student, 0.99e-1).unwrap());
        assert!(small.nodes[0] >= 16 && small.spacing < 0.01);
        assert_eq!(small.spacing, smaller.spacing);
        assert_eq!(of(student, 1e4), None);
        assert!(of(student, 0.0).is_some());
    }

    #[test]
    fn periods_fit_the_shared_memory_of_the_card() {
        // Compute capability 7.5 has 64 KiB, of which the kernels declare some.
        assert_eq!(longest_period(64 << 10), 4096);
        assert_eq!(longest_period(227 << 10), MAX_PERIOD);
        assert_eq!(longest_period(0), 0);
        let bounds = [[0.0, 2000.0], [0.0, 2000.0]];
        let student = PairKernel::Cauchy { power: 1.0 };
        assert!(shape(student, 0.5, bounds, MAX_PERIOD).is_some() && shape(student, 0.5, bounds, 4096).is_none());
    }
}
