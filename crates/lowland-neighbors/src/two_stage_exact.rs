//! Exact search in two stages, for dense rows that vary mostly in a few directions.
//!
//! The first stage compares projections of the rows, whose distances are lower bounds and cost a fraction of those
//! between rows. Only pairs of projections within the thresholds are compared in full. Rows are ordered so that near
//! rows are close together: the first tiles of a row then lower its threshold nearly to its final value.

use std::ops::Range;

use super::exact::{CandidatePair, CandidatePairs, PairSource, PairTile, TILE};
use super::inner_product::{self, TransformedRows};
use super::lower_bound_projection;
use super::row_distances::{LANES, sum_lanes};
use lowland_core::run::Progress;
use lowland_core::simd::{multiversion, simd_dispatch};
use lowland_core::{Result, Seed};
use lowland_linalg::dense::product_nt;

/// Minimum number of rows and of columns for which the two stages are worthwhile.
const MIN_ROWS: usize = 4 * TILE;
const MIN_COLUMNS: usize = 24;
/// Maximum number of directions of a projection, and at most half the number of columns.
const MAX_DIRECTIONS: usize = 95;
/// If more than one in this many pairs of a tile have near projections, all pairs are compared in full by a matrix
/// product.
const DENSE_TILE_SHARE: usize = 6;

/// Pairs of rows, compared in two stages.
pub(super) struct TwoStagePairs<'a> {
    /// Row at each position. Everything else is indexed by position, except the margins.
    order: Vec<u32>,
    /// In panels of rows, column by column.
    projections: Vec<[f32; LANES]>,
    /// Number of columns of a projection.
    width: usize,
    /// Squared norms of the projections minus the rounding error; for whole panels.
    projection_floor: Vec<f32>,
    rows: Vec<f32>,
    /// Number of columns of the rows, padded with zeros to whole vectors.
    dim: usize,
    floor: Vec<f32>,
    transformed: &'a TransformedRows,
    distance: &'a (dyn Fn(usize, usize) -> f32 + Sync),
}

impl<'a> TwoStagePairs<'a> {
    /// Returns `None` if two stages would not be faster than one.
    pub(super) fn new(
        transformed: &'a TransformedRows,
        distance: &'a (dyn Fn(usize, usize) -> f32 + Sync),
        progress: &mut Progress,
    ) -> Result<Option<Self>> {
        let rows = transformed.values.len() / transformed.dim;
        if rows < MIN_ROWS || transformed.dim < MIN_COLUMNS {
            return Ok(None);
        }
        let most = MAX_DIRECTIONS.min(transformed.dim / 2);
        // The result depends neither on the directions nor on their seed.
        let Some(mut directions) = lower_bound_projection::principal_directions(
            &transformed.values,
            transformed.dim,
            most,
            Seed(0),
            progress,
        )?
        else {
            return Ok(None);
        };
        let count = lower_bound_projection::directions_needed(&directions);
        directions.singular_values.truncate(count);
        directions.components.truncate(count * transformed.dim);
        let (projections, squares) = lower_bound_projection::project(&transformed.values, transformed.dim, &directions);
        let width = count + 1;
        let mut order: Vec<u32> = (0..rows as u32).collect();
        order_by_bisection(&projections, width, &mut order);

        // As for the rows (see `TransformedRows::new`); the projections are rounded once more. They are relative to the
        // mean of the rows, but inherit rounding errors that are relative to the norms of the rows.
        let relative = (width as f64 + 32.0) * 2f64.powi(-24);
        let projection_floor = |&i: &u32| {
            let (square, whole) = (squares[i as usize], f64::from(transformed.bounds.floor[i as usize]));
            (square - relative * square.max(whole)) as f32
        };
        let dim = transformed.dim.next_multiple_of(LANES);
        Ok(Some(Self {
            projection_floor: order.iter().map(projection_floor).chain([f32::NAN; LANES]).collect(),
            projections: row_panels(&projections, width, &order),
            width,
            rows: padded_rows(&transformed.values, transformed.dim, &order, dim),
            dim,
            floor: order.iter().map(|&i| transformed.bounds.floor[i as usize]).collect(),
            order,
            transformed,
            distance,
        }))
    }
}

impl TwoStagePairs<'_> {
    /// Returns the side of a tile at `positions`.
    fn side<'a>(&'a self, positions: &Range<usize>, thresholds: &'a [f32; TILE]) -> TileSide<'a> {
        let panels = positions.len().div_ceil(LANES);
        TileSide {
            panels: &self.projections[positions.start / LANES * self.width..][..panels * self.width],
            projection_floor: &self.projection_floor[positions.start..][..panels * LANES],
            rows: &self.rows[positions.start * self.dim..positions.end * self.dim],
            floor: &self.floor[positions.clone()],
            thresholds,
        }
    }
}

/// Bytes that the two stages need beyond the rows themselves.
pub(super) fn memory(rows: f64, dim: f64) -> f64 {
    if rows < MIN_ROWS as f64 || dim < MIN_COLUMNS as f64 {
        return 0.0;
    }
    let width = (dim / 2.0).min(MAX_DIRECTIONS as f64) + 1.0;
    let padded = (dim / LANES as f64).ceil() * LANES as f64;
    rows * (4.0 * padded + 8.0 * width + 24.0)
}

/// Returns the rows in an order, padded with zeros to `padded` columns.
fn padded_rows(values: &[f32], dim: usize, order: &[u32], padded: usize) -> Vec<f32> {
    let mut gathered = vec![0.0; order.len() * padded];
    for (out, &i) in gathered.chunks_exact_mut(padded).zip(order) {
        out[..dim].copy_from_slice(&values[i as usize * dim..][..dim]);
    }
    gathered
}

/// Returns the rows in an order, in panels of [`LANES`] rows.
fn row_panels(values: &[f32], dim: usize, order: &[u32]) -> Vec<[f32; LANES]> {
    let mut panels = vec![[0.0; LANES]; order.len().div_ceil(LANES) * dim];
    for (panel, rows) in panels.chunks_exact_mut(dim).zip(order.chunks(LANES)) {
        for (lane, &i) in rows.iter().enumerate() {
            panel.iter_mut().zip(&values[i as usize * dim..][..dim]).for_each(|(out, &x)| out[lane] = x);
        }
    }
    panels
}

/// Orders rows by repeatedly halving them along the column of largest spread, down to the size of a tile.
fn order_by_bisection(values: &[f32], dim: usize, order: &mut [u32]) {
    let tiles = order.len().div_ceil(TILE);
    if tiles < 2 {
        return;
    }
    let (mut sums, mut squares) = (vec![0f64; dim], vec![0f64; dim]);
    for &i in &*order {
        for ((sum, square), &x) in sums.iter_mut().zip(&mut squares).zip(&values[i as usize * dim..][..dim]) {
            *sum += f64::from(x);
            *square += f64::from(x) * f64::from(x);
        }
    }
    let spread = |c: usize| squares[c] - sums[c] * sums[c] / order.len() as f64;
    let longest = (0..dim).max_by(|&a, &b| spread(a).total_cmp(&spread(b))).unwrap_or(0);
    let at = |i: u32| values[i as usize * dim + longest];
    let middle = tiles.next_power_of_two() / 2 * TILE;
    order.select_nth_unstable_by(middle, |&i, &j| at(i).total_cmp(&at(j)).then(i.cmp(&j)));
    let (left, right) = order.split_at_mut(middle);
    rayon::join(|| order_by_bisection(values, dim, left), || order_by_bisection(values, dim, right));
}

impl PairSource for TwoStagePairs<'_> {
    fn scan(&self, tile: &PairTile, candidates: &mut CandidatePairs) {
        let (mut row_threshold, mut column_threshold) = ([f32::NAN; TILE], [f32::NAN; TILE]);
        row_threshold[..tile.rows.len()].copy_from_slice(tile.row_thresholds);
        column_threshold[..tile.columns.len()].copy_from_slice(tile.column_thresholds);
        let (a, b) = (self.side(&tile.rows, &row_threshold), self.side(&tile.columns, &column_threshold));
        let first = candidates.pairs.len();
        scan_projections(&a, &b, self.width, &mut candidates.pairs);
        if candidates.pairs.len() - first > tile.rows.len() * tile.columns.len() / DENSE_TILE_SHARE {
            candidates.pairs.truncate(first);
            candidates.add_tile(tile, |out| {
                product_nt(a.rows, b.rows, self.dim, out);
                inner_product::squared_distances_from_products(a.floor, b.floor, out);
            });
        } else {
            scan_full_rows(&a, &b, self.dim, first, &mut candidates.pairs);
        }
    }

    #[inline]
    fn row_at_position(&self, position: usize) -> usize {
        self.order[position] as usize
    }

    fn slack(&self, i: usize, j: usize) -> f32 {
        self.transformed.bounds.slack(i, &self.transformed.bounds, j)
    }

    fn distance(&self, i: usize, j: usize) -> f32 {
        (self.distance)(i, j)
    }

    fn pair_cost(&self) -> f64 {
        inner_product::dense_cost(self.width)
    }
}

/// One side of a tile.
struct TileSide<'a> {
    panels: &'a [[f32; LANES]],
    /// Of whole panels; the padding of the last one is NaN, which is within no threshold.
    projection_floor: &'a [f32],
    rows: &'a [f32],
    floor: &'a [f32],
    thresholds: &'a [f32; TILE],
}

/// Number of rows compared with a panel at once.
const ROWS_AT_ONCE: usize = 8;

/// Number of rows that stay in the first-level cache while all panels are read.
const CACHED_ROWS: usize = 128;

/// Adds the pairs whose projections are within the thresholds.
#[simd_dispatch(fma)]
fn scan_projections(rows: &TileSide, columns: &TileSide, width: usize, candidates: &mut Vec<CandidatePair>) {
    for first in (0..rows.projection_floor.len()).step_by(CACHED_ROWS) {
        // The result does not depend on how products are rounded, so they may be fused where the machine can.
        if multiversion::target::target_cfg_f!(target_feature = "fma") {
            scan_projection_rows::<true>(rows, first, columns, width, candidates);
        } else {
            scan_projection_rows::<false>(rows, first, columns, width, candidates);
        }
    }
}

/// Like [`scan_projections`], for some of the rows.
#[inline(always)]
fn scan_projection_rows<const FUSED: bool>(
    rows: &TileSide,
    first: usize,
    columns: &TileSide,
    width: usize,
    candidates: &mut Vec<CandidatePair>,
) {
    let (column_floor, column_threshold) =
        (columns.projection_floor.as_chunks::<LANES>().0, columns.thresholds.as_chunks::<LANES>().0);
    let sides = columns.panels.chunks_exact(width).zip(column_floor).zip(column_threshold);
    // Copies of the floors and thresholds: compilers do not vectorize reads that could alias the candidates.
    for (panel, ((b, &floor), &thresholds)) in sides.enumerate() {
        for group in first / ROWS_AT_ONCE..rows.projection_floor.len().min(first + CACHED_ROWS) / ROWS_AT_ONCE {
            let a = &rows.panels[group * ROWS_AT_ONCE / LANES * width..][..width];
            let mut bounds =
                if group % 2 == 0 { products::<0, FUSED>(a, b) } else { products::<ROWS_AT_ONCE, FUSED>(a, b) };
            let mut within = [[0u8; LANES]; ROWS_AT_ONCE];
            for r in 0..ROWS_AT_ONCE {
                let (row_floor, row_threshold) =
                    (rows.projection_floor[group * ROWS_AT_ONCE + r], rows.thresholds[group * ROWS_AT_ONCE + r]);
                for l in 0..LANES {
                    bounds[r][l] = (row_floor + floor[l]) - 2.0 * bounds[r][l];
                    within[r][l] = u8::from((bounds[r][l] <= row_threshold) | (bounds[r][l] <= thresholds[l]));
                }
            }
            let mut any = 0;
            for within in &within {
                any |= u128::from_le_bytes(*within);
            }
            if any == 0 {
                continue;
            }
            for r in 0..ROWS_AT_ONCE {
                let mut bits = u128::from_le_bytes(within[r]);
                while bits != 0 {
                    let l = bits.trailing_zeros() as usize / 8;
                    let (row, column) = ((group * ROWS_AT_ONCE + r) as u16, (panel * LANES + l) as u16);
                    candidates.push(CandidatePair { row, column, lower: bounds[r][l] });
                    bits &= bits - 1;
                }
            }
        }
    }
}

/// Returns the inner products of eight rows of a panel, from `FIRST` on, with the rows of another panel.
#[inline(always)]
fn products<const FIRST: usize, const FUSED: bool>(
    a: &[[f32; LANES]],
    b: &[[f32; LANES]],
) -> [[f32; LANES]; ROWS_AT_ONCE] {
    // Eight variables instead of an array of arrays, which compilers keep in registers.
    let [mut c0, mut c1, mut c2, mut c3, mut c4, mut c5, mut c6, mut c7] = [[0f32; LANES]; ROWS_AT_ONCE];
    for (a, b) in a.iter().zip(b) {
        c0 = add_scaled::<FUSED>(c0, a[FIRST], b);
        c1 = add_scaled::<FUSED>(c1, a[FIRST + 1], b);
        c2 = add_scaled::<FUSED>(c2, a[FIRST + 2], b);
        c3 = add_scaled::<FUSED>(c3, a[FIRST + 3], b);
        c4 = add_scaled::<FUSED>(c4, a[FIRST + 4], b);
        c5 = add_scaled::<FUSED>(c5, a[FIRST + 5], b);
        c6 = add_scaled::<FUSED>(c6, a[FIRST + 6], b);
        c7 = add_scaled::<FUSED>(c7, a[FIRST + 7], b);
    }
    [c0, c1, c2, c3, c4, c5, c6, c7]
}

/// `sum + a b`.
#[inline(always)]
fn add_scaled<const FUSED: bool>(mut sum: [f32; LANES], a: f32, b: &[f32; LANES]) -> [f32; LANES] {
    for l in 0..LANES {
        sum[l] = if FUSED { a.mul_add(b[l], sum[l]) } else { sum[l] + a * b[l] };
    }
    sum
}

/// Computes the bounds of the pairs from `first` on from the full rows, `|a|^2 + |b|^2 - 2 <a, b>`, and keeps those
/// within the thresholds.
#[simd_dispatch]
fn scan_full_rows(rows: &TileSide, columns: &TileSide, dim: usize, first: usize, candidates: &mut Vec<CandidatePair>) {
    let mut kept = first;
    for at in first..candidates.len() {
        let CandidatePair { row, column, .. } = candidates[at];
        let (i, j) = (usize::from(row), usize::from(column));
        let (a, _) = rows.rows[i * dim..(i + 1) * dim].as_chunks::<LANES>();
        let (b, _) = columns.rows[j * dim..(j + 1) * dim].as_chunks::<LANES>();
        let mut lanes = [0f32; LANES];
        for (a, b) in a.iter().zip(b) {
            for l in 0..LANES {
                lanes[l] += a[l] * b[l];
            }
        }
        let lower = (rows.floor[i] + columns.floor[j]) - 2.0 * sum_lanes(lanes);
        candidates[kept] = CandidatePair { row, column, lower };
        kept += usize::from((lower <= rows.thresholds[i]) | (lower <= columns.thresholds[j]));
    }
    candidates.truncate(kept);
}
