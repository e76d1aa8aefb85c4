//! Potentials between blocks of points, with all intermediate results in registers.
//!
//! The points of a block are stored by column, so that a vector holds one coordinate of several targets. Every source is
//! met by all targets of a block, and nothing but the sums is written to memory. Single precision: the engines that use this
//! are approximate, and twice as many targets fit in a vector.

use lowland_core::simd::{FastFloat, simd_dispatch};

use crate::Kernel;

/// Points per block.
pub const BLOCK: usize = 64;
/// Targets per vector.
pub const LANES: usize = 16;
/// Number of coordinates with a loop of their own; other points are padded with zeros, which change no distance.
const WIDTHS: [usize; 6] = [2, 4, 6, 8, 10, 16];
/// Squared distances from which a Gaussian is zero in single precision: the fast exponential ends there.
const MAX_EXPONENT: f32 = 40.0;

/// A number for each lane.
pub type Lane = [f32; LANES];

/// Number of coordinates that points of `dim` dimensions are padded to.
pub fn padded_width(dim: usize) -> usize {
    WIDTHS.into_iter().find(|&width| width >= dim).unwrap_or(dim)
}

/// Points with charges, in blocks of [`BLOCK`] by column: coordinates, padding, charge.
#[derive(Default)]
pub struct PointBlocks {
    values: Vec<f32>,
    columns: usize,
}

impl PointBlocks {
    /// Makes room for `blocks` blocks of points of `dim` dimensions at the origin, without charges.
    pub fn clear(&mut self, blocks: usize, dim: usize) {
        self.columns = padded_width(dim) + 1;
        self.values.clear();
        self.values.resize(blocks * self.columns * BLOCK, 0.0);
    }

    /// Blocks with their numbers, for filling them with [`set_point`].
    pub fn blocks_mut(&mut self) -> std::slice::ChunksExactMut<'_, f32> {
        self.values.chunks_exact_mut(self.columns * BLOCK)
    }

    fn block(&self, block: usize) -> &[f32] {
        let size = self.columns * BLOCK;
        &self.values[block * size..][..size]
    }
}

/// Sets a point of a block.
pub fn set_point(block: &mut [f32], at: usize, point: &[f64], charge: f64) {
    for (k, &x) in point.iter().enumerate() {
        block[k * BLOCK + at] = x as f32;
    }
    block[block.len() - BLOCK + at] = charge as f32;
}

/// Sums at the points of a block, by column like the points: gradients without their factor, padding, potential.
#[derive(Default)]
pub struct BlockSums(Vec<f32>);

impl BlockSums {
    /// Sets all sums to zero.
    pub fn clear(&mut self, points: &PointBlocks) {
        self.0.clear();
        self.0.resize(points.columns * BLOCK, 0.0);
    }

    /// Adds the sums of block `target` over the points of block `source`.
    pub fn add(&mut self, kernel: Kernel, points: &PointBlocks, target: usize, source: usize) {
        let (targets, sources) = (points.block(target), points.block(source));
        match points.columns - 1 {
            2 => add_block::<2>(kernel, targets, sources, &mut self.0),
            4 => add_block::<4>(kernel, targets, sources, &mut self.0),
            6 => add_block::<6>(kernel, targets, sources, &mut self.0),
            8 => add_block::<8>(kernel, targets, sources, &mut self.0),
            10 => add_block::<10>(kernel, targets, sources, &mut self.0),
            16 => add_block::<16>(kernel, targets, sources, &mut self.0),
            width => add_wide_block(width, kernel, targets, sources, &mut self.0),
        }
    }

    /// Adds the sums times a weight to rows of `dim` gradients and a potential, one for each point of the block.
    pub fn add_to(&self, weight: f64, dim: usize, rows: &mut [f64]) {
        for (at, row) in rows.chunks_exact_mut(dim + 1).enumerate() {
            for k in 0..dim {
                row[k] += weight * f64::from(self.0[k * BLOCK + at]);
            }
            row[dim] += weight * f64::from(self.0[self.0.len() - BLOCK + at]);
        }
    }
}

/// Returns the kernel at squared distances, and the kernel that its derivative is proportional to.
#[inline(always)]
pub fn kernel_values(kernel: Kernel, squared: Lane) -> [Lane; 2] {
    let (mut values, mut next) = ([0.0; LANES], [0.0; LANES]);
    match kernel {
        Kernel::Gaussian => {
            for l in 0..LANES {
                let value = squared[l].exp_neg().0;
                values[l] = if squared[l] < MAX_EXPONENT { value } else { 0.0 };
            }
            next = values;
        }
        Kernel::Cauchy { power: 1.0 } => {
            for l in 0..LANES {
                values[l] = 1.0 / (1.0 + squared[l]);
                next[l] = values[l] * values[l];
            }
        }
        Kernel::Cauchy { power: 2.0 } => {
            for l in 0..LANES {
                let inverse = 1.0 / (1.0 + squared[l]);
                values[l] = inverse * inverse;
                next[l] = values[l] * inverse;
            }
        }
        Kernel::Cauchy { power } => {
            let power = power as f32;
            for l in 0..LANES {
                let exponent = power * FastFloat::ln(1.0 + squared[l]);
                let value = exponent.exp_neg().0;
                values[l] = if exponent < MAX_EXPONENT { value } else { 0.0 };
                next[l] = values[l] / (1.0 + squared[l]);
            }
        }
    }
    [values, next]
}

/// The lane of a column that begins at target `at`.
#[inline(always)]
fn lane(column: &[f32], at: usize) -> Lane {
    *column[at..].first_chunk().expect("blocks are whole lanes")
}

/// Adds the sums over a block of sources for points of `D` coordinates.
#[simd_dispatch]
fn add_block<const D: usize>(kernel: Kernel, targets: &[f32], sources: &[f32], sums: &mut [f32]) {
    for at in (0..BLOCK).step_by(LANES) {
        let mut here = [[0.0; LANES]; D];
        for k in 0..D {
            here[k] = lane(&targets[k * BLOCK..], at);
        }
        let (mut gradients, mut potentials) = ([[0.0f32; LANES]; D], [0.0f32; LANES]);
        for j in 0..BLOCK {
            let (mut differences, mut squared) = ([[0.0f32; LANES]; D], [0.0f32; LANES]);
            for k in 0..D {
                let there = sources[k * BLOCK + j];
                for l in 0..LANES {
                    differences[k][l] = here[k][l] - there;
                    squared[l] += differences[k][l] * differences[k][l];
                }
            }
            let [values, next] = kernel_values(kernel, squared);
            let charge = sources[D * BLOCK + j];
            for l in 0..LANES {
                potentials[l] += charge * values[l];
            }
            let mut factors = [0.0f32; LANES];
            for l in 0..LANES {
                factors[l] = charge * next[l];
            }
            for k in 0..D {
                for l in 0..LANES {
                    gradients[k][l] += factors[l] * differences[k][l];
                }
            }
        }
        for k in 0..D {
            add_lane(&mut sums[k * BLOCK..], at, &gradients[k]);
        }
        add_lane(&mut sums[D * BLOCK..], at, &potentials);
    }
}

/// Like [`add_block`], for points of any number of coordinates.
#[simd_dispatch]
fn add_wide_block(width: usize, kernel: Kernel, targets: &[f32], sources: &[f32], sums: &mut [f32]) {
    for at in (0..BLOCK).step_by(LANES) {
        for j in 0..BLOCK {
            let mut squared = [0.0f32; LANES];
            for k in 0..width {
                let (here, there) = (lane(&targets[k * BLOCK..], at), sources[k * BLOCK + j]);
                for l in 0..LANES {
                    squared[l] += (here[l] - there) * (here[l] - there);
                }
            }
            let [mut values, mut next] = kernel_values(kernel, squared);
            let charge = sources[width * BLOCK + j];
            for l in 0..LANES {
                values[l] *= charge;
                next[l] *= charge;
            }
            for k in 0..width {
                let (here, there) = (lane(&targets[k * BLOCK..], at), sources[k * BLOCK + j]);
                let mut forces = [0.0f32; LANES];
                for l in 0..LANES {
                    forces[l] = next[l] * (here[l] - there);
                }
                add_lane(&mut sums[k * BLOCK..], at, &forces);
            }
            add_lane(&mut sums[width * BLOCK..], at, &values);
        }
    }
}

#[inline(always)]
fn add_lane(sums: &mut [f32], at: usize, values: &Lane) {
    let sums: &mut Lane = sums[at..].first_chunk_mut().expect("blocks are whole lanes");
    for l in 0..LANES {
        sums[l] += values[l];
    }
}
