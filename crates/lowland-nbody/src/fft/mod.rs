//! Kernel sums on a grid: charges are spread over the nodes by B-splines, the grid is convolved with the kernel by fast
//! Fourier transforms, and the sums are read off by the same splines.
//!
//! The spectrum of the kernel is divided by that of the splines, so that between two nodes the kernel is exact, and between
//! other places it is the spline through the nodes. Kernels are smooth on the scale of one unit, so that a spacing somewhat
//! below it is enough whatever the density of the points. The grid is a function of the present points alone: a run that is
//! resumed goes on with the same bytes.

mod convolve;
mod places;
mod setting;
mod spline;
mod spread;

use rayon::prelude::*;

use self::convolve::{Convolution, Product};
use self::places::Places;
use self::setting::{Demand, Setting, choose};
use self::spread::{BAND, Window};
use super::{Charges, ErrorReport, FARTHEST, Kernel, KernelSum, Term, check};
use lowland_core::{Error, Points, Result};

/// Sums by interpolation on a grid, in up to three dimensions.
pub struct Fft {
    accuracy: f64,
    sources: Places,
    targets: Places,
    grid: Vec<f64>,
    result: Vec<f64>,
    convolution: Convolution,
}

/// Those a grid is for.
const DIMENSIONS: std::ops::RangeInclusive<usize> = 1..=3;

/// What is read off the grid.
enum Reading<'a> {
    Values(&'a mut [f64]),
    Gradient { values: &'a mut [f64], gradients: &'a mut [f64] },
}

/// Smallest and largest of each coordinate; of those that a point does not have, none.
type Bounds = [[f64; 2]; 3];

/// The axis of the grid for each coordinate. A grid has planes, rows in a plane and nodes in a row: of a map in two dimensions
/// the planes are single rows, in one dimension single nodes.
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
            sources: Places::default(),
            targets: Places::default(),
            grid: Vec::new(),
            result: Vec::new(),
            convolution: Convolution::default(),
        }
    }
}

impl Fft {
    /// Whether these points fit a grid of bearable size at this accuracy.
    pub fn fits(kernels: &[Kernel], targets: Points, sources: Points, accuracy: f64) -> bool {
        Self::cost(kernels, targets, sources, accuracy).is_some()
    }

    /// About how many nanoseconds of one core the potential of these points takes; none if they do not fit.
    pub(super) fn cost(kernels: &[Kernel], targets: Points, sources: Points, accuracy: f64) -> Option<f64> {
        if !DIMENSIONS.contains(&sources.dim()) {
            return None;
        }
        if targets.rows() + sources.rows() == 0 {
            return Some(0.0);
        }
        let (points, bounds) = extent(targets, sources).ok()?;
        let demand = Demand { accuracy, kernels, points, grids: 2, slopes: true };
        choose(demand, sources.dim(), &bounds).ok().map(|(_, cost)| cost)
    }

    /// Spreads, convolves and reads off.
    fn solve(
        &mut self,
        kernels: &[Kernel],
        products: &[Product],
        targets: Points,
        sources: Points,
        charges: Charges,
        used: usize,
        reading: Reading,
    ) -> Result<ErrorReport> {
        if !DIMENSIONS.contains(&sources.dim()) {
            return Err(Error::Parameter {
                name: "engine",
                value: "fft".into(),
                allowed: format!("a grid is for 1 to 3 dimensions, not {}: use barnes-hut", sources.dim()),
            });
        }
        if targets.rows() == 0 {
            return Ok(ErrorReport::nothing());
        }
        if sources.rows() == 0 || products.is_empty() {
            match reading {
                Reading::Values(values) => values.fill(0.0),
                Reading::Gradient { values, gradients } => {
                    values.fill(0.0);
                    gradients.fill(0.0);
                }
            }
            return Ok(ErrorReport::nothing());
        }
        let (points, bounds) = extent(targets, sources)?;
        let slopes = matches!(reading, Reading::Gradient { .. });
        let grids = used + products.len();
        let demand = Demand { accuracy: self.accuracy, kernels, points, grids, slopes };
        let (setting, work) = choose(demand, sources.dim(), &bounds)?;
        let task = Task { kernels, products, targets, sources, charges, used, setting, bounds };
        match (setting.order, sources.dim()) {
            (4, 1) => self.run::<4, 1, 1>(task, reading),
            (4, 2) => self.run::<4, 1, 4>(task, reading),
            (4, _) => self.run::<4, 4, 4>(task, reading),
            (6, 1) => self.run::<6, 1, 1>(task, reading),
            (6, 2) => self.run::<6, 1, 6>(task, reading),
            (6, _) => self.run::<6, 6, 6>(task, reading),
            (_, 1) => self.run::<8, 1, 1>(task, reading),
            (_, 2) => self.run::<8, 1, 8>(task, reading),
            _ => self.run::<8, 8, 8>(task, reading),
        }
        Ok(ErrorReport { bound: None, work })
    }

    fn run<const W: usize, const M: usize, const V: usize>(&mut self, task: Task, reading: Reading) {
        let Task { kernels, products, targets, sources, charges, used, setting, bounds } = task;
        let same = are_same(targets, sources);
        let (frame, shape) = setting.grid(kernels, sources.dim(), &bounds);
        let window = Window::<W, M, V>::new(frame, shape.nodes);
        let bands = shape.nodes[0].div_ceil(BAND);
        self.sources.fill(sources, &frame, BAND, bands);
        if !same {
            self.targets.fill(targets, &frame, BAND, bands);
        }
        let nodes: usize = shape.nodes.iter().product();
        self.grid.resize(nodes * used, 0.0);
        self.result.resize(nodes * products.len(), 0.0);
        window.spread(&self.sources, sources, charges, used, &mut self.grid);
        self.convolution.prepare(shape, setting.spacing, W, kernels, |angle| window.symbol(angle));
        self.convolution.run(shape, &self.grid, used, products, &mut self.result);
        let places = if same { &self.sources } else { &self.targets };
        match reading {
            Reading::Values(out) => window.gather(places, targets, &self.result, products.len(), out),
            Reading::Gradient { values, gradients } => {
                window.gather_gradient(places, targets, &self.result, values, gradients);
            }
        }
    }
}

/// What is asked of one call.
struct Task<'a> {
    kernels: &'a [Kernel],
    products: &'a [Product],
    targets: Points<'a>,
    sources: Points<'a>,
    charges: Charges<'a>,
    /// How many of the charges are summed at all.
    used: usize,
    setting: Setting,
    bounds: Bounds,
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

    fn sum(
        &mut self,
        terms: &[Term],
        targets: Points,
        sources: Points,
        charges: Charges,
        out: &mut [f64],
    ) -> Result<ErrorReport> {
        check(terms, targets, sources, charges, out)?;
        let kernels: Vec<Kernel> = terms.iter().map(|term| term.kernel).collect();
        let of_term = |(kernel, term): (usize, &Term)| (0..term.charges).map(move |charge| Product { kernel, charge });
        let products: Vec<Product> = terms.iter().enumerate().flat_map(of_term).collect();
        let used = terms.iter().map(|term| term.charges).max().unwrap_or(0);
        self.solve(&kernels, &products, targets, sources, charges, used, Reading::Values(out))
    }

    /// Potential and force at once: `values[i] = sum_j K(|t_i - s_j|^2) q_j`, and its gradients by the `t_i`.
    ///
    /// The gradient of a kernel is the next one times the way between the points, so that this is all that the
    /// repulsion of an embedding asks for, with one charge instead of `1 + d` and one convolution instead of `2 + d`:
    /// - Gaussian: `-2 sum_j exp(-|t - s_j|^2) (t - s_j) q_j`
    /// - Cauchy of power `p`: `-2p sum_j (1 + |t - s_j|^2)^-(p + 1) (t - s_j) q_j`
    fn potential(
        &mut self,
        kernel: Kernel,
        targets: Points,
        sources: Points,
        charges: &[f64],
        values: &mut [f64],
        gradients: &mut [f64],
    ) -> Result<ErrorReport> {
        let charges = Charges { values: charges, per_point: 1 };
        check(&[Term { kernel, charges: 1 }], targets, sources, charges, values)?;
        let expected = targets.values().len();
        if gradients.len() != expected {
            return Err(Error::Shape { what: "gradients of a potential", expected, found: gradients.len() });
        }
        self.solve(
            &[kernel],
            &[Product { kernel: 0, charge: 0 }],
            targets,
            sources,
            charges,
            1,
            Reading::Gradient { values, gradients },
        )
    }
}

/// Whether targets and sources are the same points.
fn are_same(targets: Points, sources: Points) -> bool {
    std::ptr::eq(targets.values(), sources.values())
}

/// How many points there are, and the bounds of all.
fn extent(targets: Points, sources: Points) -> Result<(usize, Bounds)> {
    if are_same(targets, sources) {
        return Ok((sources.rows(), bounds(sources)?));
    }
    Ok((targets.rows() + sources.rows(), join(bounds(sources)?, bounds(targets)?)))
}

/// The bounds of some points, at least one; refuses what is not finite.
fn bounds(points: Points) -> Result<Bounds> {
    let dim = points.dim();
    let of_chunk = |chunk: &[f64]| {
        let mut bounds = [[f64::INFINITY, f64::NEG_INFINITY]; 3];
        let mut finite = true;
        for point in chunk.chunks_exact(dim) {
            for (bounds, &x) in bounds.iter_mut().zip(point) {
                finite &= x.abs() < FARTHEST;
                *bounds = [bounds[0].min(x), bounds[1].max(x)];
            }
        }
        finite.then_some(bounds)
    };
    let chunks = points.values().par_chunks(places::CHUNK * dim).map(of_chunk);
    let all = chunks.try_reduce_with(|a, b| Some(join(a, b)));
    all.flatten().ok_or_else(|| Error::Numerical {
        what: "a kernel sum on a grid",
        reason: format!("a coordinate is not within {FARTHEST:e} of zero"),
    })
}

/// The bounds of both.
fn join(a: Bounds, b: Bounds) -> Bounds {
    std::array::from_fn(|c| [a[c][0].min(b[c][0]), a[c][1].max(b[c][1])])
}
