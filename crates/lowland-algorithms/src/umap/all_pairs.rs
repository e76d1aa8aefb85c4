//! The repulsion of UMAP, summed pair by pair.

use rayon::prelude::*;

use lowland_core::Points;
use lowland_core::simd::{FastFloat, simd_dispatch};
use lowland_linalg::block::column_means;

use super::SimilarityCurve;
use super::far_field::MIN_SQUARE;
use super::forces::power;

/// Rows per task: fixed, because the order of summation depends on it.
const ROWS: usize = 64;
/// Numbers per vector.
const LANES: usize = 16;
/// Number of vectors that are summed in single precision.
const TILE: usize = 32;
/// Largest number of dimensions.
const DIM: usize = 3;
/// Columns of the sources: coordinates, charge, and one for points that exist.
const COLUMNS: usize = DIM + 2;
/// Squared distances are at least this, so that no factor of the slope overflows. Closer points do not occur in single precision.
const LEAST: f32 = 1e-20;

type Lane = [f32; LANES];

/// Adds the gradient of `sum q_i G(s_ij)` over ordered pairs of different points to `out`, where `q` are the charges and
/// `G = ln((1 + a s^b) / (1e-3 + a s^b))`; returns the sum. Terms are computed in single precision.
pub(super) fn repel(curve: SimilarityCurve, y: Points, charges: &[f64], out: &mut [f64]) -> f64 {
    let (n, dim) = (y.rows(), y.dim());
    // The charges are tiny; in units of their mean, they are not.
    let unit = (charges.iter().sum::<f64>() / n.max(1) as f64).max(f64::MIN_POSITIVE);
    let mean = column_means(y.values(), dim);
    let mut sources = vec![[[0.0; LANES]; COLUMNS]; n.div_ceil(LANES)];
    for (i, row) in y.values().chunks_exact(dim).enumerate() {
        let columns = &mut sources[i / LANES];
        row.iter().zip(&mean).zip(&mut *columns).for_each(|((v, m), column)| column[i % LANES] = (v - m) as f32);
        columns[DIM][i % LANES] = (charges[i] / unit) as f32;
        columns[DIM + 1][i % LANES] = 1.0;
    }
    let curve = [curve.a as f32, curve.b as f32];
    let parts: Vec<f64> = out
        .par_chunks_mut(ROWS * dim)
        .enumerate()
        .map(|(chunk, out)| {
            let mut value = 0.0;
            for (at, out) in out.chunks_exact_mut(dim).enumerate() {
                let i = chunk * ROWS + at;
                let own: [f32; DIM + 1] = std::array::from_fn(|c| sources[i / LANES][c][i % LANES]);
                let sums = sources.chunks(TILE).fold([0.0; DIM + 1], |mut sums, tile| {
                    let part = tile_sums(curve, own, tile);
                    sums.iter_mut().zip(part).for_each(|(sum, part)| *sum += f64::from(part));
                    sums
                });
                out.iter_mut().zip(sums).for_each(|(out, sum)| *out += 2.0 * unit * sum);
                // The sum includes the point itself.
                value += charges[i] * (sums[DIM] + MIN_SQUARE.ln());
            }
            value
        })
        .collect();
    parts.iter().sum()
}

/// Returns the sums of `(q_i + q_j) G'(s_ij) (y_i - y_j)`, and of `G(s_ij)`.
#[simd_dispatch]
fn tile_sums(curve: [f32; 2], own: [f32; DIM + 1], tile: &[[Lane; COLUMNS]]) -> [f32; DIM + 1] {
    let ([a, b], least) = (curve, MIN_SQUARE as f32);
    let mut sums = [[0.0; LANES]; DIM + 1];
    for columns in tile {
        for lane in 0..LANES {
            let [u, v, w] = [own[0] - columns[0][lane], own[1] - columns[1][lane], own[2] - columns[2][lane]];
            let s = (u * u + v * v + w * w).max(LEAST);
            let x = a * power(s, b);
            let (present, rest) = (columns[DIM + 1][lane], (1.0 - least) / (least + x));
            let slope = -b * x * rest / (s * (1.0 + x));
            let weight = (own[DIM] + columns[DIM][lane]) * present * slope;
            sums[0][lane] += weight * u;
            sums[1][lane] += weight * v;
            sums[2][lane] += weight * w;
            sums[DIM][lane] += present * (1.0 + rest).ln_with_complement(-rest);
        }
    }
    sums.map(|lanes| lanes.iter().sum())
}
