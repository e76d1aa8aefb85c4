//! Tiles of approximate keys in `f32`, with proven bounds on their errors.

use std::ops::Range;

use rayon::prelude::*;

use super::metric_space::MetricSpace;
use lowland_core::simd::simd_dispatch;
use lowland_core::{Data, Metric};
use lowland_linalg::dense::product_nt;

/// Unit roundoff of `f32`.
const U: f64 = 1.0 / (1u64 << 24) as f64;

/// Number of columns up to which differences are squared directly: their error shrinks with the distance, which matters
/// in maps, where neighbors are thousands of times closer than the extent of the map.
const DIRECT_DIM: usize = 12;

/// Number of rows from which the center is computed.
const MEAN_ROWS: usize = 4096;

/// How the keys of a tile are computed.
#[derive(Debug, Clone, Copy, PartialEq)]
enum TileForm {
    /// `sum (c_l - c_i)^2` = `|x_l - x_i|^2`.
    Differences,
    /// `|c_l|^2 - 2 c_i.c_l` = `|x_l - x_i|^2 - |c_i|^2`.
    Euclidean,
    /// `-c_i.c_l` = `cosine distance - 1`.
    Cosine,
}

/// Rounded copies of all points, as columns of the tiles, ordered by norm: points of similar norm share a tile and with
/// it a tight error bound, and far outliers loosen only the bounds of their own tiles.
pub(super) struct KeyTiles {
    form: TileForm,
    dim: usize,
    /// Row-major for products, column-major for differences.
    values: Vec<f32>,
    squared_norms: Vec<f32>,
    norms: Vec<f64>,
    /// Row of the space at each column.
    pub ids: Vec<u32>,
    /// Column of each row of the space.
    pub position: Vec<u32>,
    /// Factor applied to keys before they are compared (a power of two, so exact).
    scale: f64,
}

/// Buffers for one block of rows.
#[derive(Default)]
pub(super) struct TileScratch {
    block: Vec<f32>,
    pub keys: Vec<f32>,
}

impl KeyTiles {
    /// Returns `None` if there is no fast form for the space.
    pub fn new(space: &MetricSpace) -> Option<Self> {
        let (form, dim) = match *space {
            MetricSpace::Map(map) => (TileForm::Euclidean, map.dim()),
            MetricSpace::Data(Data::Dense(x), Metric::Euclidean) => (TileForm::Euclidean, x.dim()),
            MetricSpace::Data(Data::Dense(x), Metric::Cosine) => (TileForm::Cosine, x.dim()),
            _ => return None,
        };
        let form = if form == TileForm::Euclidean && dim <= DIRECT_DIM { TileForm::Differences } else { form };
        let n = space.rows();
        if n == 0 || dim == 0 {
            return None;
        }
        let row = |i: usize, out: &mut [f64]| match space {
            MetricSpace::Map(map) => out.copy_from_slice(map.row(i)),
            MetricSpace::Data(Data::Dense(x), _) => out.iter_mut().zip(x.row(i)).for_each(|(o, &v)| *o = f64::from(v)),
            MetricSpace::Data(..) => unreachable!("only dense data has a form"),
        };

        // Euclidean distances are invariant under a shift; centering keeps the norms, and with them the errors, small.
        let mut center = vec![0.0; dim];
        if form != TileForm::Cosine {
            let some: Vec<usize> = (0..n).step_by(n.div_ceil(MEAN_ROWS)).collect();
            let mut buffer = vec![0.0; dim];
            for &i in &some {
                row(i, &mut buffer);
                center.iter_mut().zip(&buffer).for_each(|(c, v)| *c += v / some.len() as f64);
            }
        }
        let shifted = |i: usize, out: &mut Vec<f64>| {
            out.resize(dim, 0.0);
            row(i, out);
            out.iter_mut().zip(&center).for_each(|(v, c)| *v -= c);
        };
        let norm = |buffer: &mut Vec<f64>, i: usize| {
            shifted(i, buffer);
            buffer.iter().map(|v| v * v).sum::<f64>().sqrt()
        };
        let mut norms: Vec<f64> = (0..n).into_par_iter().map_init(Vec::new, norm).collect();
        let largest = norms.iter().copied().fold(0.0, f64::max);
        let exponent = if largest > 0.0 && largest.is_finite() { largest.log2().ceil() as i32 } else { 0 };
        let stretch = if form == TileForm::Cosine { 1.0 } else { 2f64.powi(-exponent) };
        // A zero row under cosine keeps inner products of zero, and so has distance one to everything.
        let factor = |norm: f64| if form == TileForm::Cosine && norm > 0.0 { 1.0 / norm } else { stretch };

        let mut ids: Vec<u32> = (0..n as u32).collect();
        ids.sort_by(|&a, &b| norms[a as usize].total_cmp(&norms[b as usize]).then(a.cmp(&b)));
        let mut position = vec![0; n];
        ids.iter().enumerate().for_each(|(at, &i)| position[i as usize] = at as u32);
        norms = ids.iter().map(|&i| norms[i as usize]).collect();

        let mut values = vec![0f32; n * dim];
        values.par_chunks_exact_mut(dim).enumerate().for_each_init(Vec::new, |buffer, (at, out)| {
            shifted(ids[at] as usize, buffer);
            out.iter_mut().zip(buffer).for_each(|(o, v)| *o = (*v * factor(norms[at])) as f32);
        });
        if form == TileForm::Differences {
            values = (0..dim).flat_map(|c| values.iter().skip(c).step_by(dim)).copied().collect();
        }
        norms.iter_mut().for_each(|norm| *norm *= factor(*norm));
        let squared_norms = norms.iter().map(|norm| (norm * norm) as f32).collect();
        let scale = if form == TileForm::Cosine { 1.0 } else { stretch * stretch };
        Some(Self { form, dim, values, squared_norms, norms, ids, position, scale })
    }

    /// Fills `scratch.keys` (rows x columns) with the keys of `rows` and a range of columns.
    pub fn fill(&self, rows: &[u32], columns: Range<usize>, scratch: &mut TileScratch) {
        let (dim, width) = (self.dim, columns.len());
        scratch.keys.resize(rows.len() * width, 0.0);
        if self.form == TileForm::Differences {
            let n = self.ids.len();
            for (&i, keys) in rows.iter().zip(scratch.keys.chunks_exact_mut(width)) {
                keys.fill(0.0);
                let at = self.position[i as usize] as usize;
                for c in 0..dim {
                    let line = &self.values[c * n..(c + 1) * n];
                    add_squared_differences(line[at], &line[columns.clone()], keys);
                }
            }
            return;
        }
        scratch.block.clear();
        for &i in rows {
            let at = self.position[i as usize] as usize;
            scratch.block.extend_from_slice(&self.values[at * dim..(at + 1) * dim]);
        }
        let right = &self.values[columns.start * dim..columns.end * dim];
        product_nt(&scratch.block, right, dim, &mut scratch.keys);
        for keys in scratch.keys.chunks_exact_mut(width) {
            if self.form == TileForm::Cosine {
                keys.iter_mut().for_each(|key| *key = -*key);
            } else {
                let offsets = &self.squared_norms[columns.clone()];
                keys.iter_mut().zip(offsets).for_each(|(key, offset)| *key = offset - 2.0 * *key);
            }
        }
    }

    /// Returns bounds around the key `t` of a pair `(i, j)`: in these columns every point with an `f64` key below `t`
    /// has an `f32` key below the upper bound, and every point with an `f32` key below the lower bound has an `f64` key
    /// below `t`.
    ///
    /// Products: the error of an inner product of `dim` terms is at most `dim U |c_i||c_l|`; rounding `c` adds `2 U` of
    /// each product, the norm and the subtraction the rest. Differences: rounding moves every point by at most `U |c|`,
    /// hence the squared distance `D^2` by `2 U D S + U^2 S^2` with `S = |c_i| + |c_l|`, and the sum by `(dim + 2) U D^2`;
    /// the extra `4 U^2 S^2` covers the points closer than `U S`, where the error is not monotone in `D`.
    pub fn band(&self, i: usize, t: f64, columns: &Range<usize>) -> (f32, f32) {
        let own = self.norms[self.position[i] as usize];
        let reach = self.norms[columns.end - 1].max(self.norms[columns.start]);
        let depth = self.dim as f64;
        let (center, error) = match self.form {
            TileForm::Differences => {
                let (t, s) = (t * self.scale, own + reach);
                (t, U * (2.0 * t.sqrt() * s + (depth + 4.0) * t + 6.0 * U * s * s))
            }
            TileForm::Euclidean => {
                (t * self.scale - own * own, U * (4.0 * reach * reach + (2.0 * depth + 8.0) * own * reach))
            }
            TileForm::Cosine => (t - 1.0, U * (depth + 8.0)),
        };
        // A tenth more for the products of small terms omitted above, and a margin for rounding the bounds to f32.
        let error = 1.1 * error + 4.0 * U * center.abs() + f64::from(f32::MIN_POSITIVE);
        ((center - error) as f32, (center + error) as f32)
    }
}

#[simd_dispatch]
fn add_squared_differences(own: f32, line: &[f32], keys: &mut [f32]) {
    for (key, &v) in keys.iter_mut().zip(line) {
        *key += (v - own) * (v - own);
    }
}

/// Returns the number of keys below `low`; the positions of those from `low` to below `high` are added to `between`.
#[simd_dispatch]
pub(super) fn count_below(keys: &[f32], low: f32, high: f32, between: &mut Vec<usize>) -> u32 {
    let mut below = 0;
    // Counting takes a few instructions for many keys; only the rare chunk with a key in between is searched.
    for (chunk, keys) in keys.chunks(256).enumerate() {
        let (mut under_low, mut under_high) = (0u32, 0u32);
        for &key in keys {
            under_low += u32::from(key < low);
            under_high += u32::from(key < high);
        }
        below += under_low;
        if under_high > under_low {
            between.extend((0..keys.len()).filter(|&at| keys[at] >= low && keys[at] < high).map(|at| chunk * 256 + at));
        }
    }
    below
}

/// Returns the smallest key. Sixteen minima are computed in parallel, because the order of comparisons of a single one
/// is fixed.
#[simd_dispatch]
pub(super) fn smallest_key(keys: &[f32]) -> f32 {
    let mut lanes = [f32::INFINITY; 16];
    let chunks = keys.chunks_exact(16);
    let rest = chunks.remainder();
    for keys in chunks {
        for (lane, &key) in lanes.iter_mut().zip(keys) {
            *lane = if key < *lane { key } else { *lane };
        }
    }
    lanes.iter().chain(rest).copied().fold(f32::INFINITY, f32::min)
}
