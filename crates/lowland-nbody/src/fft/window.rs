//! Windows of B-splines: how the charge of a point is spread over the nodes around it, and how values are read off them.
//!
//! A grid is `[plane][column of charges][row][node]`, so that a band of planes is one slice. A point touches `W` planes, `M`
//! rows and `V` nodes of each: as many, or one where the map has no such axis.

use super::binning::GridFrame;
use super::spline::Spline;
use crate::Charges;
use lowland_core::simd::simd_dispatch;

/// A window of any size. Behind a trait object, so that everything around the loops over points is compiled once and not for
/// every order and dimension.
pub(super) trait GridWindow: Send + Sync {
    /// The transform of the spline at an angle per node, along each axis that there is.
    fn symbol(&self, angle: f64) -> f64;

    /// Adds the first `used` charges of some points to the grid, which begins at the plane `first_plane`.
    fn spread(&self, points: &[f64], charges: Charges, used: usize, run: &[u32], first_plane: usize, grid: &mut [f64]);

    /// Reads the values of `count` columns of the grid at some points.
    fn gather(&self, points: PointChunk, grid: &[f64], count: usize, out: &mut [f64]);

    /// Reads the values of the grid's only column at some points, and their gradients.
    fn gather_gradient(&self, points: PointChunk, grid: &[f64], values: &mut [f64], gradients: &mut [f64]);
}

/// The points at which a part of the output is read off the grid.
#[derive(Clone, Copy)]
pub(super) struct PointChunk<'a> {
    /// Coordinates of all points.
    pub points: &'a [f64],
    /// Indices of the points of the chunk, in the order in which they are visited.
    pub order: &'a [u32],
    /// The point with which the rows of the output begin.
    pub first: usize,
}

/// Returns the window of splines of this order, for points in `dim` dimensions and a grid with this number of nodes.
pub(super) fn grid_window(order: usize, dim: usize, frame: GridFrame, nodes: [usize; 3]) -> Box<dyn GridWindow> {
    match (order, dim) {
        (4, 1) => Box::new(SplineWindow::<4, 1, 1>::new(frame, nodes)),
        (4, 2) => Box::new(SplineWindow::<4, 1, 4>::new(frame, nodes)),
        (4, _) => Box::new(SplineWindow::<4, 4, 4>::new(frame, nodes)),
        (6, 1) => Box::new(SplineWindow::<6, 1, 1>::new(frame, nodes)),
        (6, 2) => Box::new(SplineWindow::<6, 1, 6>::new(frame, nodes)),
        (6, _) => Box::new(SplineWindow::<6, 6, 6>::new(frame, nodes)),
        (_, 1) => Box::new(SplineWindow::<8, 1, 1>::new(frame, nodes)),
        (_, 2) => Box::new(SplineWindow::<8, 1, 8>::new(frame, nodes)),
        _ => Box::new(SplineWindow::<8, 8, 8>::new(frame, nodes)),
    }
}

/// The splines along each axis, and the layout of the grid.
#[derive(Clone, Copy)]
struct SplineWindow<const W: usize, const M: usize, const V: usize> {
    frame: GridFrame,
    planes: Spline<W>,
    rows: Spline<M>,
    nodes: Spline<V>,
    /// Nodes of a row.
    width: usize,
    /// Nodes of a plane.
    area: usize,
}

/// Where the window of a point lies on the grid.
#[derive(Clone, Copy)]
struct WindowPosition {
    plane: usize,
    /// The first node, counted within its plane.
    node: usize,
    fractions: [f64; 3],
}

/// The window of a point: where it lies, and the weights of its planes, rows and nodes.
struct PointWindow<const W: usize, const M: usize, const V: usize> {
    plane: usize,
    node: usize,
    down: [f64; W],
    across: [f64; M],
    along: [f64; V],
}

impl<const W: usize, const M: usize, const V: usize> SplineWindow<W, M, V> {
    const DIM: usize = 1 + (M > 1) as usize + (V > 1) as usize;

    /// Creates the window for a grid with these numbers of planes, rows and nodes.
    fn new(frame: GridFrame, [_, rows, width]: [usize; 3]) -> Self {
        Self { frame, planes: Spline::new(), rows: Spline::new(), nodes: Spline::new(), width, area: rows * width }
    }

    #[inline(always)]
    fn position(&self, points: &[f64], i: usize) -> WindowPosition {
        let point = &points[i * Self::DIM..][..Self::DIM];
        let (plane, down) = self.frame.locate(0, point[0]);
        let (row, across) = if M == 1 { (0, 0.0) } else { self.frame.locate(1, point[1]) };
        let (column, along) = if V == 1 { (0, 0.0) } else { self.frame.locate(2, point[Self::DIM - 1]) };
        WindowPosition { plane, node: row * self.width + column, fractions: [down, across, along] }
    }

    #[inline(always)]
    fn point_window(&self, points: &[f64], i: usize) -> PointWindow<W, M, V> {
        let WindowPosition { plane, node, fractions } = self.position(points, i);
        let down = self.planes.weights(fractions[0]);
        let across = self.rows.weights(fractions[1]);
        let along = self.nodes.weights(fractions[2]);
        PointWindow { plane, node, down, across, along }
    }
}

impl<const W: usize, const M: usize, const V: usize> GridWindow for SplineWindow<W, M, V> {
    fn symbol(&self, angle: f64) -> f64 {
        self.planes.symbol(angle)
    }

    fn spread(&self, points: &[f64], charges: Charges, used: usize, run: &[u32], first_plane: usize, grid: &mut [f64]) {
        spread_points(self, points, charges.values, charges.per_point, used, run, first_plane, grid);
    }

    fn gather(&self, points: PointChunk, grid: &[f64], count: usize, out: &mut [f64]) {
        gather_values(self, points, grid, count, out);
    }

    fn gather_gradient(&self, points: PointChunk, grid: &[f64], values: &mut [f64], gradients: &mut [f64]) {
        gather_gradients(self, points, grid, values, gradients);
    }
}

#[simd_dispatch]
fn spread_points<const W: usize, const M: usize, const V: usize>(
    window: &SplineWindow<W, M, V>,
    points: &[f64],
    charges: &[f64],
    per_point: usize,
    used: usize,
    run: &[u32],
    first_plane: usize,
    grid: &mut [f64],
) {
    for &i in run {
        let i = i as usize;
        let PointWindow { plane, node, down, across, along } = window.point_window(points, i);
        for charge in 0..used {
            let q = charges[i * per_point + charge];
            let along = along.map(|weight| weight * q);
            for a in 0..W {
                let plane = ((plane - first_plane + a) * used + charge) * window.area;
                for m in 0..M {
                    let weight = down[a] * across[m];
                    let nodes = &mut grid[plane + m * window.width + node..][..V];
                    for b in 0..V {
                        nodes[b] += weight * along[b];
                    }
                }
            }
        }
    }
}

#[simd_dispatch]
fn gather_values<const W: usize, const M: usize, const V: usize>(
    window: &SplineWindow<W, M, V>,
    chunk: PointChunk,
    grid: &[f64],
    count: usize,
    out: &mut [f64],
) {
    let PointChunk { points, order, first } = chunk;
    for &i in order {
        let i = i as usize;
        let PointWindow { plane, node, down, across, along } = window.point_window(points, i);
        for (c, out) in out[(i - first) * count..][..count].iter_mut().enumerate() {
            let mut sums = [0.0; V];
            for a in 0..W {
                let plane = ((plane + a) * count + c) * window.area;
                for m in 0..M {
                    let weight = down[a] * across[m];
                    let nodes = &grid[plane + m * window.width + node..][..V];
                    for b in 0..V {
                        sums[b] += weight * nodes[b];
                    }
                }
            }
            *out = dot(&sums, &along);
        }
    }
}

#[simd_dispatch]
fn gather_gradients<const W: usize, const M: usize, const V: usize>(
    window: &SplineWindow<W, M, V>,
    chunk: PointChunk,
    grid: &[f64],
    values: &mut [f64],
    gradients: &mut [f64],
) {
    let PointChunk { points, order, first } = chunk;
    let dim = SplineWindow::<W, M, V>::DIM;
    for &i in order {
        let i = i as usize;
        let WindowPosition { plane, node, fractions } = window.position(points, i);
        let (down, down_slopes) = window.planes.weights_and_slopes(fractions[0]);
        let (across, across_slopes) = window.rows.weights_and_slopes(fractions[1]);
        let (along, along_slopes) = window.nodes.weights_and_slopes(fractions[2]);
        // Sums over planes and rows: of values, of slopes along planes, of slopes along rows.
        let (mut sums, mut by_plane, mut by_row) = ([0.0; V], [0.0; V], [0.0; V]);
        for m in 0..M {
            let (mut of_row, mut slopes) = ([0.0; V], [0.0; V]);
            for a in 0..W {
                let nodes = &grid[(plane + a) * window.area + m * window.width + node..][..V];
                for b in 0..V {
                    of_row[b] += down[a] * nodes[b];
                    slopes[b] += down_slopes[a] * nodes[b];
                }
            }
            for b in 0..V {
                sums[b] += across[m] * of_row[b];
                by_plane[b] += across[m] * slopes[b];
                by_row[b] += across_slopes[m] * of_row[b];
            }
        }
        values[i - first] = dot(&sums, &along);
        let gradient = &mut gradients[(i - first) * dim..][..dim];
        gradient[0] = dot(&by_plane, &along) * window.frame.per_unit;
        if M > 1 {
            gradient[1] = dot(&by_row, &along) * window.frame.per_unit;
        }
        if V > 1 {
            gradient[dim - 1] = dot(&sums, &along_slopes) * window.frame.per_unit;
        }
    }
}

#[inline(always)]
fn dot<const V: usize>(a: &[f64; V], b: &[f64; V]) -> f64 {
    (0..V).map(|k| a[k] * b[k]).sum()
}
