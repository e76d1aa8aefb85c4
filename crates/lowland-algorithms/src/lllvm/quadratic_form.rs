//! The quadratic forms of the E-step: expectations of `A` (S48) and of `Gamma` (S61) for all pairs of points.
//!
//! Both are, for each pair of coordinates, with `K` the pseudo-inverse of the Laplacian and `M` the second moments
//! of `C` or of `x`,
//!
//! `T_ij = sum_pq G_ip G_jq (K_ij - K_iq - K_pj + K_pq) (M_ij + s M_iq + s M_pj + M_pq)`
//!
//! with `s = 1` for `A = (gamma / 2) T` and `s = -1` for `Gamma`: wherever a neighbor takes the place of the point
//! itself in `K` or `M`, the term changes its sign and is summed. Multiplied out, with `B = D - s G`, `D` the
//! degrees, and `o` the elementwise product,
//!
//! `T = B (K o M) B + B R + (B R)' + K o GMG - s KG o GM - s GK o MG + GKG o M`, `R = s K o MG - KG o M`,
//!
//! in which every product is with the sparse `G`: `O(n^2 k)` instead of `O(n^3)`. As `T` is symmetric, half of it is
//! computed and its transpose added: `T = F + F'` with, `K` and `M` being symmetric,
//!
//! `F = P B + K o XG / 2 - s KG o X + GKG o M / 2`, `P = B (K o M) / 2 + s K o X - GK o M`, `X = GM`.
//!
//! Rows of `P` and `X` are sums of rows. They are computed for a panel of rows at a time and stored by column, so
//! that the products with `B` and `G` from the right are again sums over contiguous memory that is in the cache.

use lowland_core::simd::simd_dispatch;
use rayon::prelude::*;

use super::laplacian_graph::LaplacianGraph;

/// Which of the two quadratic forms to compute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FormKind {
    /// Sums of the maps of neighbors: `A`.
    Sum,
    /// Differences of the latent coordinates of neighbors: `Gamma`.
    Difference,
}

impl FormKind {
    fn sign(self) -> f64 {
        match self {
            FormKind::Sum => 1.0,
            FormKind::Difference => -1.0,
        }
    }
}

/// Columns processed at once, so that the sums stay in registers.
const STRIP: usize = 64;
/// Rows per panel.
const PANEL: usize = 32;

/// Replaces the second moments `m` by `factor` times the quadratic form `T`. Both matrices are row-major with `dim
/// n` rows, starting with the first coordinate of all points; `workspace` is a buffer of the same size.
pub fn quadratic_form(
    graph: &LaplacianGraph,
    dim: usize,
    kind: FormKind,
    factor: f64,
    m: &mut [f64],
    workspace: &mut [f64],
) {
    let (n, s) = (graph.points(), kind.sign());
    let side = dim * n;
    let moments = &*m;
    row_panels(workspace, n, side).for_each_init(
        || (vec![0.0; side * PANEL], vec![0.0; side * PANEL]),
        |(p, x), (first, f)| {
            let width = f.len() / side;
            let panel = FormPanel { graph, moments, side, s, first, width };
            let (p, x) = (&mut p[..f.len()], &mut x[..f.len()]);
            fill_p_and_x(&panel, p, x);
            fill_f(&panel, p, x, f);
        },
    );
    let halves = &*workspace;
    row_panels(m, n, side).for_each(|(first, rows)| add_transpose(halves, n, side, factor, first, rows));
}

/// Splits the rows of a matrix into panels, each within one coordinate; yields the first row of each panel with it.
fn row_panels(matrix: &mut [f64], n: usize, side: usize) -> impl ParallelIterator<Item = (usize, &mut [f64])> {
    matrix.par_chunks_mut(side * n).enumerate().flat_map(move |(coordinate, block)| {
        let parts = block.par_chunks_mut(side * PANEL).enumerate();
        parts.map(move |(at, rows)| (coordinate * n + at * PANEL, rows))
    })
}

/// A range of rows of one coordinate.
struct FormPanel<'a> {
    graph: &'a LaplacianGraph,
    moments: &'a [f64],
    side: usize,
    s: f64,
    first: usize,
    width: usize,
}

impl FormPanel<'_> {
    /// Computes a strip of row `a` of `P` and of `X`, from column `at` of the block of columns that starts at
    /// `block`.
    #[inline(always)]
    fn strip_of_p_and_x<const FULL: bool>(&self, a: usize, block: usize, at: usize, p: &mut [f64], x: &mut [f64]) {
        let (graph, n) = (self.graph, self.graph.points());
        let length = if FULL { STRIP } else { x.len() };
        let (i, coordinate) = (a % n, a / n * n);
        let moments = |row: usize| &self.moments[row * self.side + block + at..][..length];
        let (k, gk, own) = (&graph.k[i * n + at..][..length], &graph.gk[i * n + at..][..length], moments(a));
        let (mut xs, mut ps) = ([0.0; STRIP], [0.0; STRIP]);
        for &q in graph.neighbors(i) {
            let (other, k) = (moments(coordinate + q as usize), &graph.k[q as usize * n + at..][..length]);
            for c in 0..length {
                xs[c] += other[c];
                ps[c] += k[c] * other[c];
            }
        }
        let degree = graph.neighbors(i).len() as f64;
        let (p, x) = (&mut p[..length], &mut x[..length]);
        for c in 0..length {
            x[c] = xs[c];
            p[c] = 0.5 * (degree * k[c] * own[c] - self.s * ps[c]) + self.s * k[c] * xs[c] - gk[c] * own[c];
        }
    }

    /// Computes row `b` of the transpose of `F`, restricted to the panel.
    #[inline(always)]
    fn row_of_f<const FULL: bool>(&self, b: usize, p: &[f64], x: &[f64], f: &mut [f64]) {
        let (graph, n) = (self.graph, self.graph.points());
        let width = if FULL { PANEL } else { self.width };
        let (j, coordinate, column) = (b % n, b / n * n, self.first % n);
        let (k, gk) = (&graph.k[j * n + column..][..width], &graph.gk[j * n + column..][..width]);
        let (gkg, own) = (&graph.gkg[j * n + column..][..width], &self.moments[b * self.side + self.first..][..width]);
        let (mut ps, mut xs) = ([0.0; PANEL], [0.0; PANEL]);
        for &q in graph.neighbors(j) {
            let at = (coordinate + q as usize) * width;
            let (p, x) = (&p[at..][..width], &x[at..][..width]);
            for c in 0..width {
                ps[c] += p[c];
                xs[c] += x[c];
            }
        }
        let degree = graph.neighbors(j).len() as f64;
        let (p, x, f) = (&p[b * width..][..width], &x[b * width..][..width], &mut f[b * width..][..width]);
        for c in 0..width {
            f[c] = degree * p[c] - self.s * ps[c] + 0.5 * k[c] * xs[c] - self.s * gk[c] * x[c] + 0.5 * gkg[c] * own[c];
        }
    }
}

/// Computes the panel's rows of `P` and `X`, stored by column.
#[simd_dispatch]
fn fill_p_and_x(panel: &FormPanel, p: &mut [f64], x: &mut [f64]) {
    let (n, width) = (panel.graph.points(), panel.width);
    let (mut ps, mut xs) = ([[0.0; STRIP]; PANEL], [[0.0; STRIP]; PANEL]);
    for block in (0..panel.side).step_by(n) {
        for at in (0..n).step_by(STRIP) {
            let length = STRIP.min(n - at);
            for (row, (p, x)) in ps.iter_mut().zip(&mut xs).enumerate().take(width) {
                if length == STRIP {
                    panel.strip_of_p_and_x::<true>(panel.first + row, block, at, p, x);
                } else {
                    panel.strip_of_p_and_x::<false>(panel.first + row, block, at, &mut p[..length], &mut x[..length]);
                }
            }
            let columns = (block + at) * width..(block + at + length) * width;
            let out = p[columns.clone()].chunks_exact_mut(width).zip(x[columns].chunks_exact_mut(width));
            for (c, (p, x)) in out.enumerate() {
                p.iter_mut().zip(&ps).for_each(|(p, row)| *p = row[c]);
                x.iter_mut().zip(&xs).for_each(|(x, row)| *x = row[c]);
            }
        }
    }
}

/// Computes the panel's rows of `F`, stored by column.
#[simd_dispatch]
fn fill_f(panel: &FormPanel, p: &[f64], x: &[f64], f: &mut [f64]) {
    if panel.width == PANEL {
        (0..panel.side).for_each(|b| panel.row_of_f::<true>(b, p, x, f));
    } else {
        (0..panel.side).for_each(|b| panel.row_of_f::<false>(b, p, x, f));
    }
}

/// Computes rows of `factor (F + F')`; `halves` holds the panels of `F`, each stored by column.
fn add_transpose(halves: &[f64], n: usize, side: usize, factor: f64, first: usize, rows: &mut [f64]) {
    let width = rows.len() / side;
    let own = &halves[first * side..][..rows.len()];
    for start in (0..side).step_by(n).flat_map(|block| (block..block + n).step_by(PANEL)) {
        let length = PANEL.min(n - start % n);
        let (here, there) = (&own[start * width..][..length * width], &halves[start * side..][..length * side]);
        for (row, out) in rows.chunks_exact_mut(side).enumerate() {
            let across = &there[(first + row) * length..][..length];
            let out = out[start..start + length].iter_mut().zip(across).zip(here[row..].iter().step_by(width));
            out.for_each(|((out, a), b)| *out = factor * (a + b));
        }
    }
}
