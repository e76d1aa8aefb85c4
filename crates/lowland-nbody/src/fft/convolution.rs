//! Convolution of grids with kernels: real transforms along rows, then complex transforms across rows and across planes.
//!
//! The grid is padded to its period, but planes of padding are never stored, nor rows of padding before they are transformed:
//! zeros are not transformed, and what lies beyond the grid is not transformed back. A column across planes is transformed,
//! multiplied by each kernel and transformed back while it is in cache; both transposes are reads of a tile, so that every task
//! writes to a slice of its own. Maps of fewer dimensions have planes of one row, or of one node.

use std::sync::{Arc, Mutex};

use rayon::prelude::*;
use realfft::{ComplexToReal, RealFftPlanner, RealToComplex};
use rustfft::num_complex::Complex;
use rustfft::{Fft, FftPlanner};

use crate::Kernel;

type C64 = Complex<f64>;

/// Planes or columns per task: what is read of a row or column of a tile fills whole cache lines.
const TILE: usize = 8;

/// Size of a grid: the period of each axis in nodes, and the nodes in use.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct GridShape {
    /// Planes, rows of a plane and nodes of a row.
    pub(super) period: [usize; 3],
    /// The nodes in use, from the first.
    pub(super) nodes: [usize; 3],
}

/// One column of the result: the index of the kernel and that of the charge it is convolved with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct KernelProduct {
    pub(super) kernel: usize,
    pub(super) charge: usize,
}

/// Everything that the spectra of the kernels depend on.
#[derive(Debug, Clone, PartialEq)]
struct SpectraKey {
    period: [usize; 3],
    spacing: f64,
    order: usize,
    kernels: Vec<Kernel>,
}

/// The transforms for one shape: along a row, across the rows of a plane, across planes.
struct FftPlans {
    along: Arc<dyn RealToComplex<f64>>,
    along_back: Arc<dyn ComplexToReal<f64>>,
    rows: Arc<dyn Fft<f64>>,
    rows_back: Arc<dyn Fft<f64>>,
    planes: Arc<dyn Fft<f64>>,
    planes_back: Arc<dyn Fft<f64>>,
}

impl FftPlans {
    fn new([planes, rows, along]: [usize; 3]) -> Self {
        let mut real = RealFftPlanner::new();
        let mut complex = FftPlanner::new();
        Self {
            along: real.plan_fft_forward(along),
            along_back: real.plan_fft_inverse(along),
            rows: complex.plan_fft_forward(rows),
            rows_back: complex.plan_fft_inverse(rows),
            planes: complex.plan_fft_forward(planes),
            planes_back: complex.plan_fft_inverse(planes),
        }
    }

    /// Scratch length that is enough for every transform.
    fn scratch_len(&self) -> usize {
        let real = self.along.get_scratch_len().max(self.along_back.get_scratch_len());
        let complex = [&self.rows, &self.rows_back, &self.planes, &self.planes_back];
        complex.into_iter().map(|plan| plan.get_inplace_scratch_len()).fold(real, usize::max)
    }
}

/// Buffers of one task.
#[derive(Default)]
struct FftScratch {
    real: Vec<f64>,
    line: Vec<C64>,
    spectrum: Vec<C64>,
    product: Vec<C64>,
    work: Vec<C64>,
}

/// The convolution, with the plans, spectra and buffers it keeps between calls.
#[derive(Default)]
pub(super) struct Convolution {
    key: Option<SpectraKey>,
    plans: Option<FftPlans>,
    /// For each kernel, by frequency along rows, across rows and across planes, half of each: real, because kernels are even.
    spectra: Vec<Vec<f64>>,
    forward: Vec<C64>,
    backward: Vec<C64>,
    scratch: Mutex<Vec<FftScratch>>,
}

impl Convolution {
    /// Prepares the spectra of the kernels, unless they are those of the last call. `symbol` is the transform of the
    /// window at an angle; the spectra are divided by its square, so that spreading and gathering leave the kernel at
    /// the nodes as it is.
    pub(super) fn prepare(
        &mut self,
        shape: GridShape,
        spacing: f64,
        order: usize,
        kernels: &[Kernel],
        symbol: &dyn Fn(f64) -> f64,
    ) {
        let same = |key: &SpectraKey| (key.period, key.spacing, key.order) == (shape.period, spacing, order);
        if self.key.as_ref().is_some_and(|key| same(key) && key.kernels == kernels) {
            return;
        }
        if self.key.as_ref().is_none_or(|key| key.period != shape.period) {
            self.plans = Some(FftPlans::new(shape.period));
        }
        let inverse = shape.period.map(|period| {
            let angle = std::f64::consts::TAU / period as f64;
            (0..=period / 2)
                .map(|k| if period == 1 { 1.0 } else { symbol(angle * k as f64).powi(-2) / period as f64 })
                .collect::<Vec<_>>()
        });
        self.spectra = kernels.iter().map(|&kernel| self.spectrum(shape, spacing, kernel, &inverse)).collect();
        self.key = Some(SpectraKey { period: shape.period, spacing, order, kernels: kernels.to_vec() });
    }

    /// Transform of a kernel at the nodes, repeated with the period, times a factor for each frequency of each axis.
    fn spectrum(&self, shape: GridShape, spacing: f64, kernel: Kernel, factors: &[Vec<f64>; 3]) -> Vec<f64> {
        let Some(plans) = &self.plans else { return Vec::new() };
        // Kernels are even: half of each axis is enough, the rest is its mirror image.
        let [planes, rows, along] = shape.period.map(|period| period / 2 + 1);
        let even = |plan: &dyn Fft<f64>, value: &dyn Fn(usize) -> f64| {
            let period = plan.len();
            let mut values: Vec<C64> = (0..period).map(|at| C64::new(value(at.min(period - at)), 0.0)).collect();
            plan.process(&mut values);
            values
        };
        let mut of_planes = vec![0.0; planes * rows * along];
        of_planes.par_chunks_mut(rows * along).enumerate().for_each(|(plane, out)| {
            let period = shape.period[2];
            let mut lines = vec![C64::default(); rows * along];
            for (row, line) in lines.chunks_exact_mut(along).enumerate() {
                let squared = |at: usize| (plane * plane + row * row + at * at) as f64 * (spacing * spacing);
                let mut real: Vec<f64> = (0..period).map(|at| kernel.value(squared(at.min(period - at)))).collect();
                // The lengths are those of the plan: it cannot fail.
                let _ = plans.along.process(&mut real, line);
            }
            for (k, out) in out.chunks_exact_mut(rows).enumerate() {
                let values = even(&*plans.rows, &|row| lines[row * along + k].re);
                out.iter_mut().zip(values).for_each(|(out, value)| *out = value.re);
            }
        });
        let mut spectrum = vec![0.0; along * rows * planes];
        spectrum.par_chunks_mut(planes).enumerate().for_each(|(column, out)| {
            let values = even(&*plans.planes, &|plane| of_planes[plane * rows * along + column]);
            let factor = factors[2][column / rows] * factors[1][column % rows];
            for (plane, out) in out.iter_mut().enumerate() {
                *out = values[plane].re * factors[0][plane] * factor;
            }
        });
        spectrum
    }

    /// `out[plane][product][row][node] = sum over the grid of kernel * charge`; the grid is `[plane][charge][row][node]`.
    pub(super) fn run(
        &mut self,
        shape: GridShape,
        grid: &[f64],
        charges: usize,
        products: &[KernelProduct],
        out: &mut [f64],
    ) {
        let Some(plans) = &self.plans else { return };
        let [planes, rows, width] = shape.nodes;
        let [deep, high, wide] = shape.period;
        let half = shape.period.map(|period| period / 2 + 1);
        // Frequencies of a plane: along rows, and for each of those across rows.
        let (columns, area) = (half[2] * high, rows * width);
        self.forward.resize(planes * charges * columns, C64::default());
        self.backward.resize(columns * products.len() * planes, C64::default());
        let (scratch, scratch_len) = (&self.scratch, plans.scratch_len());

        // Planes of many rows are large: a task takes only as many as fill a cache line when they are read.
        let tile_of_planes = if high > 1 { TILE / 2 } else { TILE };
        let tiles = self.forward.par_chunks_mut(tile_of_planes * columns).zip(grid.par_chunks(tile_of_planes * area));
        tiles.for_each(|(forward, grid)| {
            with_scratch(scratch, scratch_len, |FftScratch { real, line, work, .. }| {
                real.resize(wide, 0.0);
                line.resize(half[2], C64::default());
                for (spectra, plane) in forward.chunks_exact_mut(columns).zip(grid.chunks_exact(area)) {
                    for (row, nodes) in plane.chunks_exact(width).enumerate() {
                        real[..width].copy_from_slice(nodes);
                        real[width..].fill(0.0);
                        // The lengths are those of the plan: it cannot fail.
                        let _ = plans.along.process_with_scratch(real, line, work);
                        line.iter().enumerate().for_each(|(k, &value)| spectra[k * high + row] = value);
                    }
                    if high > 1 {
                        spectra.chunks_exact_mut(high).for_each(|column| column[rows..].fill(C64::default()));
                        plans.rows.process_with_scratch(spectra, work);
                    }
                }
            });
        });

        let (forward, spectra) = (&self.forward, &self.spectra);
        let column = products.len() * planes;
        self.backward.par_chunks_mut(TILE * column).enumerate().for_each(|(tile, back)| {
            let first = tile * TILE;
            let count = TILE.min(columns - first);
            with_scratch(scratch, scratch_len, |FftScratch { spectrum, product, work, .. }| {
                spectrum.resize((TILE * deep).max(spectrum.len()), C64::default());
                product.resize(deep, C64::default());
                for charge in 0..charges {
                    for plane in 0..planes {
                        let from = &forward[(plane * charges + charge) * columns + first..][..count];
                        from.iter().enumerate().for_each(|(t, &value)| spectrum[t * deep + plane] = value);
                    }
                    for t in 0..count {
                        let spectrum = &mut spectrum[t * deep..(t + 1) * deep];
                        spectrum[planes..].fill(C64::default());
                        plans.planes.process_with_scratch(spectrum, work);
                        let (along, across) = ((first + t) / high, (first + t) % high);
                        let kernel_column = along * half[1] + across.min(high - across);
                        let uses = products.iter().enumerate().filter(|(_, product)| product.charge == charge);
                        for (at, &KernelProduct { kernel, .. }) in uses {
                            let kernel = &spectra[kernel][kernel_column * half[0]..][..half[0]];
                            multiply(spectrum, kernel, product);
                            plans.planes_back.process_with_scratch(product, work);
                            back[t * column + at * planes..][..planes].copy_from_slice(&product[..planes]);
                        }
                    }
                }
            });
        });

        let backward = &self.backward;
        out.par_chunks_mut(tile_of_planes * products.len() * area).enumerate().for_each(|(tile, out)| {
            let first = tile * tile_of_planes;
            let count = tile_of_planes.min(planes - first);
            with_scratch(scratch, scratch_len, |FftScratch { real, line, spectrum, work, .. }| {
                real.resize(wide, 0.0);
                line.resize(half[2], C64::default());
                spectrum.resize((tile_of_planes * columns).max(spectrum.len()), C64::default());
                for at in 0..products.len() {
                    for k in 0..columns {
                        let from = &backward[k * column + at * planes + first..][..count];
                        from.iter().enumerate().for_each(|(t, &value)| spectrum[t * columns + k] = value);
                    }
                    for t in 0..count {
                        let spectrum = &mut spectrum[t * columns..(t + 1) * columns];
                        if high > 1 {
                            plans.rows_back.process_with_scratch(spectrum, work);
                        }
                        let plane = &mut out[(t * products.len() + at) * area..][..area];
                        for (row, nodes) in plane.chunks_exact_mut(width).enumerate() {
                            line.iter_mut().enumerate().for_each(|(k, value)| *value = spectrum[k * high + row]);
                            // Values that should be real are so up to rounding, and the transform requires it.
                            line[0].im = 0.0;
                            if wide.is_multiple_of(2) {
                                line[half[2] - 1].im = 0.0;
                            }
                            let _ = plans.along_back.process_with_scratch(line, real, work);
                            nodes.copy_from_slice(&real[..width]);
                        }
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

/// Runs a task with buffers from the pool, whose contents are arbitrary.
fn with_scratch(pool: &Mutex<Vec<FftScratch>>, scratch_len: usize, work: impl FnOnce(&mut FftScratch)) {
    let take = || pool.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let mut scratch = take().pop().unwrap_or_default();
    scratch.work.resize(scratch_len, C64::default());
    work(&mut scratch);
    take().push(scratch);
}
