//! Order and spacing of the grid, from the accuracy, the kernels and the extent of the points.

use super::Bounds;
use super::convolve::Shape;
use super::places::Frame;
use crate::nbody::Kernel;
use crate::points::{Error, Result};

/// The longest period of an axis, by dimensions: 4096 x 4096 nodes, or one long row.
const LONGEST: [usize; 2] = [1 << 18, 4096];

/// A Gaussian is below 1e-13 beyond this distance: no more room than this is left between a map and its periodic image.
const GAUSSIAN_REACH: f64 = 5.5;

/// Half the shortest period. A kernel that decays slowly has a kink half a period away, and where that is too near the
/// kernel is not small there.
const SHORTEST_REACH: f64 = 16.0;

/// How the grid is made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Setting {
    /// Of the splines: 4, 6 or 8.
    pub(super) order: usize,
    /// Between nodes.
    pub(super) spacing: f64,
}

impl Setting {
    /// The grid over these bounds.
    pub(super) fn grid(&self, kernels: &[Kernel], dim: usize, bounds: &Bounds) -> (Frame, Shape) {
        let per_unit = self.spacing.recip();
        let first = [0, 1].map(|axis| (bounds[axis][0] * per_unit).floor());
        let frame = Frame { per_unit, first };
        let mut shape = Shape { period: [1; 2], nodes: [1; 2] };
        for axis in 0..dim {
            // Counted as the points are placed, so that none is beyond. The cast holds what is too large for any grid.
            shape.nodes[axis] = (bounds[axis][1] * per_unit - first[axis]) as u32 as usize + self.order;
            shape.period[axis] = transform_length(self.period(kernels, shape.nodes[axis]));
        }
        (frame, shape)
    }

    /// Nodes that keep the periodic images of the kernels away.
    fn period(&self, kernels: &[Kernel], nodes: usize) -> usize {
        let slow = kernels.iter().any(|kernel| matches!(kernel, Kernel::Cauchy { .. }));
        let reach = (if slow { SHORTEST_REACH } else { GAUSSIAN_REACH } / self.spacing).ceil() as usize;
        if slow { 2 * nodes.max(reach) } else { nodes + nodes.min(reach) }.max(2 * self.order)
    }
}

/// The cheapest setting that reaches the accuracy.
pub(super) fn choose(
    accuracy: f64,
    kernels: &[Kernel],
    dim: usize,
    _points: usize,
    bounds: &Bounds,
) -> Result<Setting> {
    let setting = Setting { order: 4, spacing: 0.4 };
    let (_, shape) = setting.grid(kernels, dim, bounds);
    let longest = shape.period[0].max(shape.period[1]);
    if longest > LONGEST[dim - 1] {
        return Err(Error::Numerical {
            what: "a kernel sum on a grid",
            reason: format!(
                "an accuracy of {accuracy} on a map this wide needs a grid of {longest} nodes a side, and {} are allowed: use engine = barnes-hut",
                LONGEST[dim - 1]
            ),
        });
    }
    Ok(setting)
}

/// The next length that transforms well. Steps are coarse, so that the kernels' spectra live through many calls while a
/// map grows, and even, so that the shortest transforms are too.
fn transform_length(at_least: usize) -> usize {
    let steps = [16, 18, 20, 24, 27, 30];
    let mut scale = 2;
    loop {
        if let Some(step) = steps.into_iter().find(|step| step * scale >= at_least) {
            return step * scale;
        }
        scale *= 2;
    }
}
