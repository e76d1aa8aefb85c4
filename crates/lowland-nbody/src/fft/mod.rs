//! Kernel sums on a grid: charges are spread over the nodes by B-splines, the grid is convolved with the kernel by fast
//! Fourier transforms, and the sums are gathered by the same splines.
//!
//! The spectrum of the kernel is divided by that of the splines, so that the kernel is exact between two nodes, and elsewhere
//! is the spline through the nodes. Kernels are smooth on the scale of one unit, so that a spacing somewhat below it is enough
//! whatever the density of the points. The grid is a function of the current points alone: a resumed run continues with the
//! same bytes.

mod binning;
mod convolution;
mod divided;
mod grid;
mod interpolation;
mod spline;
mod window;

use rayon::prelude::*;

pub use self::divided::DividedPotential;

use self::binning::BinnedPoints;
use self::convolution::{Convolution, KernelProduct};
use self::grid::{GridParams, GridRequest, choose_grid};
use self::interpolation::{BAND, gather, gather_gradient, spread};
use self::window::grid_window;
use super::request::are_same;
use super::{
    Charges, ErrorReport, Kernel, KernelSum, KernelTerm, MAX_COORDINATE, PotentialOutput, PotentialRequest, SumRequest,
};
use lowland_core::{Error, Points, Result};

/// Kernel sums by interpolation on a grid, in up to three dimensions.
pub struct Fft {
    accuracy: f64,
    sources: BinnedPoints,
    targets: BinnedPoints,
    grid: Vec<f64>,
    result: Vec<f64>,
    convolution: Convolution,
}

/// Supported dimensions.
const DIMENSIONS: std::ops::RangeInclusive<usize> = 1..=3;

/// Where the result is written: values alone, or values with gradients.
enum GridOutput<'a> {
    Values(&'a mut [f64]),
    Potential(PotentialOutput<'a>),
}

/// Minimum and maximum of each coordinate; unused coordinates are left out.
type Bounds = [[f64; 2]; 3];

/// The axis of the grid for each coordinate. A grid has planes, rows in a plane and nodes in a row: the planes of a map in two
/// dimensions are single rows, those in one dimension single nodes.
fn axes(dim: usize) -> &'static [usize] {
    match dim {
        1 => &[0],
        2 => &[0, 2],
        _ => &[0, 1, 2],
    }
}

impl Default for Fft {
    fn default() -> Self {
        Self {
            accuracy: 1e-3,
            sources: BinnedPoints::default(),
            targets: BinnedPoints::default(),
            grid: Vec::new(),
            result: Vec::new(),
            convolution: Convolution::default(),
        }
    }
}

impl Fft {
    /// Whether a grid of acceptable size reaches this accuracy for these points.
    pub fn fits(kernels: &[Kernel], targets: Points, sources: Points, accuracy: f64) -> bool {
        Self::cost(kernels, targets, sources, accuracy).is_some()
    }

    /// Estimated nanoseconds of one core for the potential of these points; `None` if they do not fit a grid.
    pub(super) fn cost(kernels: &[Kernel], targets: Points, sources: Points, accuracy: f64) -> Option<f64> {
        if !DIMENSIONS.contains(&sources.dim()) {
            return None;
        }
        if targets.rows() + sources.rows() == 0 {
            return Some(0.0);
        }
        let (points, bounds) = extent(targets, sources).ok()?;
        let request = GridRequest { accuracy, kernels, points, grids: 2, slopes: true };
        choose_grid(request, sources.dim(), &bounds).ok().map(|(_, cost)| cost)
    }

    /// Spreads the charges, convolves the grid and gathers the result.
    fn solve(&mut self, sum: GridSum, output: GridOutput) -> Result<ErrorReport> {
        let GridSum { kernels, products, targets, sources, used, .. } = sum;
        if !DIMENSIONS.contains(&sources.dim()) {
            return Err(Error::Parameter {
                name: "engine",
                value: "fft".into(),
                allowed: format!("a grid is for 1 to 3 dimensions, not {}: use barnes-hut", sources.dim()),
            });
        }
        if targets.rows() == 0 {
            return Ok(ErrorReport::empty());
        }
        if sources.rows() == 0 || products.is_empty() {
            match output {
                GridOutput::Values(values) => values.fill(0.0),
                GridOutput::Potential(out) => {
                    out.values.fill(0.0);
                    out.gradients.fill(0.0);
                }
            }
            return Ok(ErrorReport::empty());
        }
        let (points, bounds) = extent(targets, sources)?;
        let slopes = matches!(output, GridOutput::Potential(_));
        let grids = used + products.len();
        let request = GridRequest { accuracy: self.accuracy, kernels, points, grids, slopes };
        let (params, work) = choose_grid(request, sources.dim(), &bounds)?;
        self.run(sum, params, &bounds, output);
        Ok(ErrorReport { bound: None, force_bound: None, work })
    }

    fn run(&mut self, sum: GridSum, params: GridParams, bounds: &Bounds, output: GridOutput) {
        let GridSum { kernels, products, targets, sources, charges, used } = sum;
        let same = are_same(targets, sources);
        let (frame, shape) = params.grid(kernels, sources.dim(), bounds);
        let window = &*grid_window(params.order, sources.dim(), frame, shape.nodes);
        let bands = shape.nodes[0].div_ceil(BAND);
        self.sources.fill(sources, &frame, BAND, bands);
        if !same {
            self.targets.fill(targets, &frame, BAND, bands);
        }
        let nodes: usize = shape.nodes.iter().product();
        self.grid.resize(nodes * used, 0.0);
        self.result.resize(nodes * products.len(), 0.0);
        spread(window, &self.sources, sources, charges, used, shape.nodes[1] * shape.nodes[2], &mut self.grid);
        self.convolution.prepare(shape, params.spacing, params.order, kernels, &|angle| window.symbol(angle));
        self.convolution.run(shape, &self.grid, used, products, &mut self.result);
        let bins = if same { &self.sources } else { &self.targets };
        match output {
            GridOutput::Values(out) => gather(window, bins, targets, &self.result, products.len(), out),
            GridOutput::Potential(out) => gather_gradient(window, bins, targets, &self.result, out),
        }
    }
}

/// The input of a sum on a grid.
#[derive(Clone, Copy)]
struct GridSum<'a> {
    kernels: &'a [Kernel],
    products: &'a [KernelProduct],
    targets: Points<'a>,
    sources: Points<'a>,
    charges: Charges<'a>,
    /// Number of charges that occur in a product.
    used: usize,
}

impl KernelSum for Fft {
    fn name(&self) -> &'static str {
        "fft"
    }

    fn set_accuracy(&mut self, accuracy: f64) {
        if accuracy > 0.0 {
            self.accuracy = accuracy;
        }
    }

    fn sum(&mut self, request: SumRequest, out: &mut [f64]) -> Result<ErrorReport> {
        request.check(out)?;
        let SumRequest { terms, targets, sources, charges } = request;
        let kernels = &request.kernels();
        let of_term = |(kernel, term): (usize, &KernelTerm)| {
            (0..term.charges).map(move |charge| KernelProduct { kernel, charge })
        };
        let products: &Vec<KernelProduct> = &terms.iter().enumerate().flat_map(of_term).collect();
        let used = request.max_charges();
        self.solve(GridSum { kernels, products, targets, sources, charges, used }, GridOutput::Values(out))
    }

    /// Potential and force at once: `values[i] = sum_j K(|t_i - s_j|^2) q_j`, and its gradients by the `t_i`.
    ///
    /// The gradient of a kernel is the next one times the way between the points, so that this is all that the
    /// repulsion of an embedding asks for, with one charge instead of `1 + d` and one convolution instead of `2 + d`:
    /// - Gaussian: `-2 sum_j exp(-|t - s_j|^2) (t - s_j) q_j`
    /// - Cauchy of power `p`: `-2p sum_j (1 + |t - s_j|^2)^-(p + 1) (t - s_j) q_j`
    fn potential(&mut self, request: PotentialRequest, out: PotentialOutput) -> Result<ErrorReport> {
        request.check(&out)?;
        let PotentialRequest { kernel, targets, sources, charges } = request;
        let charges = Charges { values: charges, per_point: 1 };
        let products = &[KernelProduct { kernel: 0, charge: 0 }];
        let sum = GridSum { kernels: &[kernel], products, targets, sources, charges, used: 1 };
        self.solve(sum, GridOutput::Potential(out))
    }
}

/// Number of points, and the bounds of all.
fn extent(targets: Points, sources: Points) -> Result<(usize, Bounds)> {
    if are_same(targets, sources) {
        return Ok((sources.rows(), bounds(sources)?));
    }
    Ok((targets.rows() + sources.rows(), union(bounds(sources)?, bounds(targets)?)))
}

/// The bounds of at least one point; an error if a coordinate is not finite.
fn bounds(points: Points) -> Result<Bounds> {
    let dim = points.dim();
    let of_chunk = |chunk: &[f64]| {
        let mut bounds = [[f64::INFINITY, f64::NEG_INFINITY]; 3];
        let mut finite = true;
        for point in chunk.chunks_exact(dim) {
            for (bounds, &x) in bounds.iter_mut().zip(point) {
                finite &= x.abs() < MAX_COORDINATE;
                *bounds = [bounds[0].min(x), bounds[1].max(x)];
            }
        }
        finite.then_some(bounds)
    };
    let chunks = points.values().par_chunks(binning::CHUNK * dim).map(of_chunk);
    let all = chunks.try_reduce_with(|a, b| Some(union(a, b)));
    all.flatten().ok_or_else(|| Error::Numerical {
        what: "a kernel sum on a grid",
        reason: format!("a coordinate is not within {MAX_COORDINATE:e} of zero"),
    })
}

/// The union of two bounds.
fn union(a: Bounds, b: Bounds) -> Bounds {
    std::array::from_fn(|c| [a[c][0].min(b[c][0]), a[c][1].max(b[c][1])])
}
