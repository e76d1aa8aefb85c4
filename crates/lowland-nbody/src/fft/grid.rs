//! Chooses the order of the splines and the spacing of the grid from the accuracy, the kernels and the extent of the points.

use super::binning::GridFrame;
use super::convolution::GridShape;
use super::{Bounds, axes};
use crate::Kernel;
use lowland_core::{Error, Result};

/// The longest period of an axis, by dimension: 2^24 nodes in all, or one long row.
const MAX_PERIOD: [usize; 3] = [1 << 18, 4096, 256];

/// A Gaussian is below 1e-13 beyond this distance: no more padding than this is left between a map and its periodic image.
const GAUSSIAN_REACH: f64 = 5.5;

/// The available orders of the splines.
const ORDERS: [usize; 3] = [4, 6, 8];

/// Errors measured at the spacings 1/8, 1/8 sqrt(2), 1/4 .. 1, for each order: the force of Cauchy 1 from the slopes of its
/// potential, root mean square over targets and relative to that of the force, on clustered maps in the plane of 70,000
/// points 120 units wide and of 3,000 points 60 wide, between the two. In space errors are no larger.
const CAUCHY_ERRORS: [[f64; 7]; 3] = [
    [8.0e-5, 2.6e-4, 9.0e-4, 3.7e-3, 1.2e-2, 3.9e-2, 1.1e-1],
    [1.0e-6, 9.0e-6, 1.1e-4, 1.2e-3, 6.0e-3, 2.7e-2, 1.05e-1],
    [4.0e-8, 1.3e-6, 4.5e-5, 7.3e-4, 5.0e-3, 2.4e-2, 1.05e-1],
];

/// The same for the Gaussian.
const GAUSSIAN_ERRORS: [[f64; 7]; 3] = [
    [9.0e-5, 2.7e-4, 8.5e-4, 3.0e-3, 1.2e-2, 5.5e-2, 1.8e-1],
    [3.8e-7, 2.5e-6, 1.8e-5, 1.7e-4, 2.0e-3, 2.5e-2, 1.4e-1],
    [2.3e-9, 3.4e-8, 6.0e-7, 1.6e-5, 5.6e-4, 1.4e-2, 1.3e-1],
];

/// Minimum number of nodes across a map, for maps much smaller than one unit.
const MIN_NODES_ACROSS: f64 = 16.0;
/// Lower bound of the spacing that this may lead to.
const MIN_SPACING: f64 = 1e-3;

/// Nanoseconds of one core to spread and gather a point, by dimension and order.
const POINT_COST: [[f64; 3]; 3] = [[33.0, 65.0, 80.0], [33.0, 65.0, 80.0], [65.0, 130.0, 230.0]];
/// Nanoseconds of one core for a node of the period in each grid, by dimension: in space more of the period is zeros.
const NODE_COST: [f64; 3] = [3.75, 3.75, 1.6];

/// Parameters of a grid.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct GridParams {
    /// Order of the splines: 4, 6 or 8.
    pub(super) order: usize,
    /// Distance between nodes.
    pub(super) spacing: f64,
}

/// What a grid is needed for.
#[derive(Debug, Clone, Copy)]
pub(super) struct GridRequest<'a> {
    pub(super) accuracy: f64,
    pub(super) kernels: &'a [Kernel],
    /// Number of sources and targets.
    pub(super) points: usize,
    /// Number of transforms, forward and back.
    pub(super) grids: usize,
    /// Whether slopes are read off rather than values.
    pub(super) slopes: bool,
}

impl GridParams {
    /// The grid that covers these bounds.
    pub(super) fn grid(&self, kernels: &[Kernel], dim: usize, bounds: &Bounds) -> (GridFrame, GridShape) {
        let per_unit = self.spacing.recip();
        let mut frame = GridFrame { per_unit, first: [0.0; 3] };
        let mut shape = GridShape { period: [1; 3], nodes: [1; 3] };
        for (&axis, [low, high]) in axes(dim).iter().zip(bounds) {
            frame.first[axis] = (low * per_unit).floor();
            // Computed as points are located, so that none lies beyond. The cast saturates at what is too large for any grid.
            shape.nodes[axis] = (high * per_unit - frame.first[axis]) as u32 as usize + self.order;
            shape.period[axis] = fast_fft_length(self.period(kernels, shape.nodes[axis]));
        }
        (frame, shape)
    }

    /// Number of nodes that keeps the periodic images of the kernels away. A kernel that decays slowly has a kink half a period
    /// from its center, which affects the splines some nodes away: hence twice the order more.
    fn period(&self, kernels: &[Kernel], nodes: usize) -> usize {
        let slow = kernels.iter().any(|kernel| matches!(kernel, Kernel::Cauchy { .. }));
        let reach = (GAUSSIAN_REACH / self.spacing).ceil() as usize;
        let padding = if slow { nodes } else { nodes.min(reach) };
        nodes + padding + 2 * self.order
    }
}

/// Returns the cheapest parameters that reach the accuracy, and their cost.
pub(super) fn choose_grid(request: GridRequest, dim: usize, bounds: &Bounds) -> Result<(GridParams, f64)> {
    let extent = bounds[..dim].iter().map(|[low, high]| high - low).fold(0.0, f64::max);
    let cost = |which: usize| {
        let params = GridParams { order: ORDERS[which], spacing: spacing(request, which, extent) };
        let period = params.grid(request.kernels, dim, bounds).1.period;
        let nodes: f64 = period.iter().map(|&period| period as f64).product();
        let cost =
            request.points as f64 * POINT_COST[dim - 1][which] + request.grids as f64 * nodes * NODE_COST[dim - 1];
        (period.into_iter().max().unwrap_or(1), cost, params)
    };
    let all = [cost(0), cost(1), cost(2)];
    let longest = MAX_PERIOD[dim - 1];
    let fitting = all.iter().filter(|(period, ..)| *period <= longest);
    fitting.min_by(|a, b| a.1.total_cmp(&b.1)).map(|&(_, cost, params)| (params, cost)).ok_or_else(|| Error::Numerical {
        what: "a kernel sum on a grid",
        reason: format!(
            "an accuracy of {} on a map {extent:.0} wide needs more than the {longest} nodes a side that are allowed: use engine = barnes-hut",
            request.accuracy
        ),
    })
}

/// Returns the spacing at which splines of an order reach the accuracy.
fn spacing(request: GridRequest, which: usize, extent: f64) -> f64 {
    let of_kernel = |kernel: &Kernel| match *kernel {
        Kernel::Gaussian => spacing_for(request.accuracy, &GAUSSIAN_ERRORS[which]),
        // (1 + d^2)^-p is narrower by about sqrt(p), and so was measured for p = 1/2 to 8. Sums with charges {1, x} make the
        // force of the potential that is one power lower.
        Kernel::Cauchy { power } => {
            let power = if request.slopes { power } else { (power - 1.0).max(power.min(1.0)) };
            spacing_for(request.accuracy, &CAUCHY_ERRORS[which]) / power.sqrt().max(0.5)
        }
    };
    let spacing = request.kernels.iter().map(of_kernel).fold(1.0, f64::min);
    let finest = (extent / MIN_NODES_ACROSS).max(MIN_SPACING);
    // Halved, so that the spectra of the kernels stay valid while a map grows.
    let halvings = (spacing / finest).log2().ceil().clamp(0.0, 10.0);
    spacing * 0.5f64.powi(halvings as i32)
}

/// Interpolates the table of errors by a power law, and extrapolates beyond its finest spacing.
fn spacing_for(accuracy: f64, errors: &[f64; 7]) -> f64 {
    let target = accuracy.clamp(1e-12, 1.0).ln();
    let above = errors.iter().position(|error| error.ln() >= target).unwrap_or(6).max(1);
    let (low, high) = (errors[above - 1].ln(), errors[above].ln());
    let at = (above as f64 - 1.0) + (target - low) / (high - low);
    2f64.powf((at.min(6.0) - 6.0) / 2.0)
}

/// Returns the next length with a fast transform. Steps are coarse, so that the spectra of the kernels stay valid for many calls
/// while a map grows, and all lengths are even.
fn fast_fft_length(at_least: usize) -> usize {
    let steps = [16, 18, 20, 24, 27, 30];
    let mut scale = 2;
    loop {
        if let Some(step) = steps.into_iter().find(|step| step * scale >= at_least) {
            return step * scale;
        }
        scale *= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spacing_decreases_with_the_accuracy_and_matches_the_table() {
        for errors in CAUCHY_ERRORS.iter().chain(&GAUSSIAN_ERRORS) {
            assert!((spacing_for(errors[2], errors) - 0.25).abs() < 1e-12);
            let spacings: Vec<f64> = (1..=10).map(|digits| spacing_for(0.1f64.powi(digits), errors)).collect();
            assert!(spacings.is_sorted_by(|a, b| a > b) && spacings[9] > 1e-4, "{spacings:?}");
        }
        assert_eq!(spacing_for(f64::NAN, &CAUCHY_ERRORS[0]), 1.0);
    }

    #[test]
    fn fft_lengths_are_even_and_little_longer_than_requested() {
        for at_least in 32..5000 {
            let length = fast_fft_length(at_least);
            assert!(length >= at_least && length.is_multiple_of(2) && length <= at_least * 6 / 5 + 4);
        }
    }
}
