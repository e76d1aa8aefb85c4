//! Convolution of grids with kernels, by transforms of real rows and complex columns.
//!
//! The grid is padded to its period, but the padding is never stored: rows of zeros are not transformed, and rows beyond
//! the grid are not transformed back. A column goes forward, is multiplied by each kernel and comes back while it is in
//! cache; both transposes are reads of a tile, so that every task writes a slice of its own.

use std::sync::{Arc, Mutex};

use rayon::prelude::*;
use realfft::{ComplexToReal, RealFftPlanner, RealToComplex};
use rustfft::num_complex::Complex;
use rustfft::{Fft, FftPlanner};

use crate::nbody::Kernel;

type C64 = Complex<f64>;

/// Rows or columns that a task takes: what is read of a tile's row or column fills whole cache lines.
const TILE: usize = 8;

/// Where a convolution happens: the period of each axis in nodes, and the nodes in use.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Shape {
    /// Periods of rows and columns.
    pub(super) period: [usize; 2],
    /// Nodes in use, from the first.
    pub(super) nodes: [usize; 2],
}

/// One grid of the result: the kernel (by its place in the list) and the charge it is convolved with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Product {
    pub(super) kernel: usize,
    pub(super) charge: usize,
}

/// What the spectra of the kernels depend on.
#[derive(Debug, Clone, PartialEq)]
struct Key {
    period: [usize; 2],
    spacing: f64,
    order: usize,
    kernels: Vec<Kernel>,
}

/// The transforms of one pair of periods.
struct Plans {
    rows: Arc<dyn RealToComplex<f64>>,
    rows_back: Arc<dyn ComplexToReal<f64>>,
    columns: Arc<dyn Fft<f64>>,
    columns_back: Arc<dyn Fft<f64>>,
}

/// Buffers of one task.
#[derive(Default)]
struct Scratch {
    real: Vec<f64>,
    spectrum: Vec<C64>,
    product: Vec<C64>,
    work: Vec<C64>,
}

/// The convolution, with what it keeps between calls.
#[derive(Default)]
pub(super) struct Convolution {
    key: Option<Key>,
    plans: Option<Plans>,
    /// For each kernel, `spectra[kernel][column * (period[0] / 2 + 1) + row]`: real, because kernels are even.
    spectra: Vec<Vec<f64>>,
    forward: Vec<C64>,
    backward: Vec<C64>,
    scratch: Mutex<Vec<Scratch>>,
}

impl Convolution {
    /// Prepares the spectra of the kernels, unless they are those of the last call. `symbol` is the transform of the
    /// window at an angle; the spectra are divided by its square, so that the window given and taken leaves the kernel at
    /// the nodes as it is.
    pub(super) fn prepare(
        &mut self,
        shape: Shape,
        spacing: f64,
        order: usize,
        kernels: &[Kernel],
        symbol: impl Fn(f64) -> f64,
    ) {
        let same = |key: &Key| (key.period, key.spacing, key.order) == (shape.period, spacing, order);
        if self.key.as_ref().is_some_and(|key| same(key) && key.kernels == kernels) {
            return;
        }
        if self.key.as_ref().is_none_or(|key| key.period != shape.period) {
            let mut real = RealFftPlanner::new();
            let mut complex = FftPlanner::new();
            self.plans = Some(Plans {
                rows: real.plan_fft_forward(shape.period[1]),
                rows_back: real.plan_fft_inverse(shape.period[1]),
                columns: complex.plan_fft_forward(shape.period[0]),
                columns_back: complex.plan_fft_inverse(shape.period[0]),
            });
        }
        let inverse = shape.period.map(|period| {
            let angle = std::f64::consts::TAU / period as f64;
            (0..=period / 2)
                .map(|k| if period == 1 { 1.0 } else { symbol(angle * k as f64).powi(-2) / period as f64 })
                .collect::<Vec<_>>()
        });
        self.spectra = kernels.iter().map(|&kernel| self.spectrum(shape, spacing, kernel, &inverse)).collect();
        self.key = Some(Key { period: shape.period, spacing, order, kernels: kernels.to_vec() });
    }

    /// The transform of a kernel at the nodes, repeated with the period, times a factor for each row and column.
    fn spectrum(&self, shape: Shape, spacing: f64, kernel: Kernel, factors: &[Vec<f64>; 2]) -> Vec<f64> {
        let Some(plans) = &self.plans else { return Vec::new() };
        let half = shape.period.map(|period| period / 2 + 1);
        // Kernels are even: half the rows and columns are enough, the others are their mirror images.
        let mut rows = vec![0.0; half[0] * half[1]];
        rows.par_chunks_mut(half[1]).enumerate().for_each(|(row, out)| {
            let period = shape.period[1];
            let squared = |a: usize, b: usize| ((a * a + b * b) as f64) * (spacing * spacing);
            let mut real: Vec<f64> = (0..period).map(|b| kernel.value(squared(row, b.min(period - b)))).collect();
            let mut spectrum = vec![C64::default(); half[1]];
            // Lengths are those of the plan: it cannot fail.
            let _ = plans.rows.process(&mut real, &mut spectrum);
            out.iter_mut().zip(&spectrum).for_each(|(out, value)| *out = value.re);
        });
        let mut spectrum = vec![0.0; half[0] * half[1]];
        spectrum.par_chunks_mut(half[0]).enumerate().for_each(|(column, out)| {
            let period = shape.period[0];
            let mut values: Vec<C64> =
                (0..period).map(|a| C64::new(rows[a.min(period - a) * half[1] + column], 0.0)).collect();
            plans.columns.process(&mut values);
            for (row, out) in out.iter_mut().enumerate() {
                *out = values[row].re * factors[0][row] * factors[1][column];
            }
        });
        spectrum
    }

    /// `out[row][product][column] = sum over the grid of kernel * charge`; the grid is `[row][charge][column]`.
    pub(super) fn run(&mut self, shape: Shape, grid: &[f64], charges: usize, products: &[Product], out: &mut [f64]) {
        let Some(plans) = &self.plans else { return };
        let [rows, columns] = shape.nodes;
        let [high, wide] = shape.period;
        let half = wide / 2 + 1;
        self.forward.resize(rows * charges * half, C64::default());
        self.backward.resize(half * products.len() * rows, C64::default());
        let scratch = &self.scratch;

        self.forward.par_chunks_mut(TILE * half).zip(grid.par_chunks(TILE * columns)).for_each(|(spectra, grid)| {
            with_scratch(scratch, |Scratch { real, work, .. }| {
                real.resize(wide, 0.0);
                work.resize(plans.rows.get_scratch_len(), C64::default());
                for (spectrum, row) in spectra.chunks_exact_mut(half).zip(grid.chunks_exact(columns)) {
                    real[..columns].copy_from_slice(row);
                    real[columns..].fill(0.0);
                    // Lengths are those of the plan: it cannot fail.
                    let _ = plans.rows.process_with_scratch(real, spectrum, work);
                }
            });
        });

        let (forward, spectra, half_high) = (&self.forward, &self.spectra, high / 2 + 1);
        let column = products.len() * rows;
        self.backward.par_chunks_mut(TILE * column).enumerate().for_each(|(tile, back)| {
            let first = tile * TILE;
            let count = TILE.min(half - first);
            with_scratch(scratch, |Scratch { spectrum, product, work, .. }| {
                spectrum.resize(TILE * high, C64::default());
                product.resize(high, C64::default());
                let need = plans.columns.get_inplace_scratch_len().max(plans.columns_back.get_inplace_scratch_len());
                work.resize(need, C64::default());
                for charge in 0..charges {
                    for row in 0..rows {
                        let from = &forward[(row * charges + charge) * half + first..][..count];
                        from.iter().enumerate().for_each(|(t, &value)| spectrum[t * high + row] = value);
                    }
                    for t in 0..count {
                        let spectrum = &mut spectrum[t * high..(t + 1) * high];
                        spectrum[rows..].fill(C64::default());
                        plans.columns.process_with_scratch(spectrum, work);
                        let uses = products.iter().enumerate().filter(|(_, product)| product.charge == charge);
                        for (at, &Product { kernel, .. }) in uses {
                            let kernel = &spectra[kernel][(first + t) * half_high..][..half_high];
                            multiply(spectrum, kernel, product);
                            plans.columns_back.process_with_scratch(product, work);
                            back[t * column + at * rows..][..rows].copy_from_slice(&product[..rows]);
                        }
                    }
                }
            });
        });

        let backward = &self.backward;
        out.par_chunks_mut(TILE * products.len() * columns).enumerate().for_each(|(tile, out)| {
            let first = tile * TILE;
            let count = TILE.min(rows - first);
            with_scratch(scratch, |Scratch { real, spectrum, work, .. }| {
                real.resize(wide, 0.0);
                spectrum.resize((TILE * half).max(spectrum.len()), C64::default());
                work.resize(plans.rows_back.get_scratch_len(), C64::default());
                for at in 0..products.len() {
                    for k in 0..half {
                        let from = &backward[k * column + at * rows + first..][..count];
                        from.iter().enumerate().for_each(|(t, &value)| spectrum[t * half + k] = value);
                    }
                    for t in 0..count {
                        let spectrum = &mut spectrum[t * half..(t + 1) * half];
                        // What should be real is so up to rounding, and the transform insists.
                        spectrum[0].im = 0.0;
                        if wide.is_multiple_of(2) {
                            spectrum[half - 1].im = 0.0;
                        }
                        let _ = plans.rows_back.process_with_scratch(spectrum, real, work);
                        out[(t * products.len() + at) * columns..][..columns].copy_from_slice(&real[..columns]);
                    }
                }
            });
        });
    }
}

/// `product = spectrum * kernel`, where the kernel's second half mirrors its first.
fn multiply(spectrum: &[C64], kernel: &[f64], product: &mut [C64]) {
    let (half, high) = (kernel.len(), spectrum.len());
    for k in 0..half {
        product[k] = spectrum[k] * kernel[k];
    }
    for (k, &factor) in (half..high).zip(kernel[1..].iter().rev().skip(usize::from(high.is_multiple_of(2)))) {
        product[k] = spectrum[k] * factor;
    }
}

/// Lends a task buffers that an earlier one has given back; what they hold is of no account.
fn with_scratch(pool: &Mutex<Vec<Scratch>>, work: impl FnOnce(&mut Scratch)) {
    let take = || pool.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let mut scratch = take().pop().unwrap_or_default();
    work(&mut scratch);
    take().push(scratch);
}
