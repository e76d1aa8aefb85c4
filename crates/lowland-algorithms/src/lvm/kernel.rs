//! The E-step for dissimilar pairs: eqs 5, 9, 11, 17 and the log-likelihood, fused into one pass over the pairs.
//!
//! With `s = Delta^2 + sigma_i^2 + sigma_j^2`, `q = |mu_i - mu_j|^2` and `r = Delta^2 / s`, a pair coincides with
//! probability `P = r^(d/2) exp(-q / 2s)` and contributes `D nu / s = D P / ((1 - P) s)`, times a factor that
//! depends on the requested sum, to both of its points. `1 - P = (1 - r^(d/2)) exp(-q / 2s) + (1 - exp(-q / 2s))` is
//! a sum of positive terms, each computed without cancellation, so coinciding points are handled accurately as long
//! as variances are positive.

use lowland_core::simd::simd_dispatch;

use super::excluded_pairs::{ExcludedTile, STRIDE, TILE, first_tile};
use lowland_core::simd::FastFloat;

/// Which sum over dissimilar pairs to compute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PairSum {
    /// `sum_j (D_ij nu_ij / s_ij + D_ji nu_ji / s_ji)(mu_i - mu_j)`, and the log-likelihood.
    MeanGradient,
    /// `sum_j (D_ij nu_ij / s_ij)(q / s_ij - d)`, plus the same for (j, i).
    VarianceGradient,
}

impl PairSum {
    /// Number of sums per point.
    pub(super) fn columns(self, dim: usize) -> usize {
        if self == PairSum::MeanGradient { dim } else { 1 }
    }
}

/// The padded points of a block.
pub(super) struct BlockInputs<'a, T> {
    /// The means, column by column.
    pub coordinates: &'a [T],
    pub variances: &'a [T],
    pub row_scales: &'a [T],
    pub column_scales: &'a [T],
    pub weights: &'a [T],
    /// For each point, the index of its first entry in `excluded_tiles`, followed by the end of the last.
    pub excluded_starts: &'a [u32],
    /// The tiles with excluded pairs, followed by a spare entry.
    pub excluded_tiles: &'a [ExcludedTile],
    /// Number of points without the padding.
    pub len: usize,
    /// Whether all points have the same weight and a column scale of zero.
    pub uniform: bool,
    pub dim: usize,
}

type TileValues<T> = [T; TILE];

/// Sums over the pairs of the rows `first..last` with all later points, added to `out` column by column. Returns the
/// log-likelihood if it was requested.
pub(super) fn sum_rows<T: FastFloat>(
    requested: PairSum,
    inputs: &BlockInputs<T>,
    first: usize,
    last: usize,
    out: &mut [T],
) -> f64 {
    match (requested, inputs.uniform) {
        (PairSum::MeanGradient, false) => dispatch_dimension::<T, true, false>(inputs, first, last, out),
        (PairSum::MeanGradient, true) => dispatch_dimension::<T, true, true>(inputs, first, last, out),
        (PairSum::VarianceGradient, false) => dispatch_dimension::<T, false, false>(inputs, first, last, out),
        (PairSum::VarianceGradient, true) => dispatch_dimension::<T, false, true>(inputs, first, last, out),
    }
}

fn dispatch_dimension<T: FastFloat, const MEANS: bool, const UNIFORM: bool>(
    inputs: &BlockInputs<T>,
    first: usize,
    last: usize,
    out: &mut [T],
) -> f64 {
    match inputs.dim {
        2 => sum_strip::<T, 2, MEANS, UNIFORM>(inputs, first, last, out),
        3 => sum_strip::<T, 3, MEANS, UNIFORM>(inputs, first, last, out),
        10 => sum_strip::<T, 10, MEANS, UNIFORM>(inputs, first, last, out),
        _ => sum_strip::<T, 0, MEANS, UNIFORM>(inputs, first, last, out),
    }
}

/// The running sums of a strip, each in as many lanes as a tile is wide.
struct StripSums<T> {
    row_sums: Vec<TileValues<T>>,
    /// Sum of weighted logarithms; for uniform weights, of base-2 exponents that are no longer part of `product`.
    logs: TileValues<T>,
    /// Product of the probabilities whose logarithm is not taken yet, between 1 and 2.
    product: TileValues<T>,
}

/// `D` is the number of dimensions, or 0 if it is only known at run time. Loops of fixed length are vectorized.
#[simd_dispatch]
fn sum_strip<T: FastFloat, const D: usize, const MEANS: bool, const UNIFORM: bool>(
    inputs: &BlockInputs<T>,
    first: usize,
    last: usize,
    out: &mut [T],
) -> f64 {
    let dim = if D > 0 { D } else { inputs.dim };
    let padded_len = inputs.variances.len();
    let columns = if MEANS { dim } else { 1 };
    let mut likelihood = 0.0;
    let mut sums = StripSums {
        row_sums: vec![[T::default(); TILE]; columns],
        logs: [T::default(); TILE],
        product: [T::from_f64(1.0); TILE],
    };
    for i in first..last {
        let (mut next, end) = (inputs.excluded_starts[i] as usize, inputs.excluded_starts[i + 1] as usize);
        for at in (first_tile(i)..padded_len - (TILE - STRIDE)).step_by(TILE) {
            // Pairs up to the point itself were evaluated before, and the last point is followed by padding.
            let outside = ((1u32 << (i + 1).saturating_sub(at)) - 1) | !0 << (inputs.len - at).min(TILE);
            // Branch-free, because which tiles have excluded pairs is unpredictable.
            let tile = inputs.excluded_tiles[next];
            let here = next < end && tile.start as usize == at;
            let excluded = tile.directions.map(|mask| outside | if here { u32::from(mask) } else { 0 });
            next += usize::from(here);
            sum_tile::<T, D, MEANS, UNIFORM>(inputs, i, at, excluded, &mut sums, out);
        }
        for (c, row_sums) in sums.row_sums.iter_mut().enumerate() {
            out[c * padded_len + i] += sum_lanes(row_sums);
            *row_sums = [T::default(); TILE];
        }
        if MEANS && !UNIFORM {
            likelihood += sum_lanes(&sums.logs).to_f64();
            sums.logs = [T::default(); TILE];
        }
    }
    if MEANS && UNIFORM && first < last {
        let logs = sums.logs.iter().map(|log| log.to_f64() * std::f64::consts::LN_2).sum::<f64>();
        let products = sums.product.iter().map(|product| product.to_f64().ln()).sum::<f64>();
        likelihood = (inputs.weights[first] * inputs.weights[first]).to_f64() * (logs + products);
    }
    likelihood
}

/// The pairs of point `i` with the tile of points that starts at `at`. Bits in `excluded` mark the excluded pairs,
/// from the point and to it.
#[inline(always)]
fn sum_tile<T: FastFloat, const D: usize, const MEANS: bool, const UNIFORM: bool>(
    inputs: &BlockInputs<T>,
    i: usize,
    at: usize,
    excluded: [u32; 2],
    sums: &mut StripSums<T>,
    out: &mut [T],
) {
    let dim = if D > 0 { D } else { inputs.dim };
    let (half, one, zero, dimensions) = (T::from_f64(0.5), T::from_f64(1.0), T::default(), T::from_f64(dim as f64));
    let padded_len = inputs.variances.len();
    let mut q = [zero; TILE];
    for c in 0..dim {
        let column = &inputs.coordinates[c * padded_len..(c + 1) * padded_len];
        let (x, others) = (column[i], tile_at(column, at));
        for j in 0..TILE {
            q[j] += (x - others[j]) * (x - others[j]);
        }
    }
    // Both directions side by side. One division inverts two numbers: inverse = other / product. `power` is r,
    // `rest` is 1 - r, `half_square` is q / 2s.
    let (variance, row_scale, column_scale) = (inputs.variances[i], inputs.row_scales[i], inputs.column_scales[i]);
    let (variances, row_scales, column_scales) =
        (tile_at(inputs.variances, at), tile_at(inputs.row_scales, at), tile_at(inputs.column_scales, at));
    let [mut inverse, mut power, mut rest, mut half_square] = [[[zero; TILE]; 2]; 4];
    for j in 0..TILE {
        let scale = if UNIFORM {
            [row_scale, row_scales[j]]
        } else {
            [row_scale + column_scales[j], column_scale + row_scales[j]]
        };
        let scale2 = [scale[0] * scale[0], scale[1] * scale[1]];
        let shared = variance + variances[j];
        let s = [scale2[0] + shared, scale2[1] + shared];
        let product = one / (s[0] * s[1]);
        for direction in 0..2 {
            inverse[direction][j] = s[1 - direction] * product;
            power[direction][j] = scale2[direction] * inverse[direction][j];
            rest[direction][j] = shared * inverse[direction][j];
            half_square[direction][j] = half * q[j] * inverse[direction][j];
        }
    }
    // Points so far apart that P makes no difference to one.
    let mut near = false;
    for j in 0..TILE {
        near |= !(half_square[0][j] > T::NEGLIGIBLE_EXP_NEG) | !(half_square[1][j] > T::NEGLIGIBLE_EXP_NEG);
    }
    if !near {
        return;
    }
    let (weight, weights) = (inputs.weights[i], tile_at(inputs.weights, at));
    let mut coefficient = [zero; TILE];
    for j in 0..TILE {
        // `apart` is 1 - P, `odds` is P / s times the factor of the requested sum.
        let (mut apart, mut counted, mut odds) = ([one; 2], [one; 2], [one; 2]);
        for direction in 0..2 {
            let included = excluded[direction] & (1 << j) == 0;
            let (coinciding, probability) = if D > 0 {
                let (power, rest) = half_power(D, power[direction][j], rest[direction][j]);
                let (decay, decay_complement) = half_square[direction][j].exp_neg();
                (power * decay, rest * decay + decay_complement)
            } else {
                // A loop of variable length would not be vectorized; a logarithm is.
                let root = half * dimensions * power[direction][j].ln_with_complement(rest[direction][j]);
                (half_square[direction][j] - root).exp_neg()
            };
            apart[direction] = if probability > T::TINY { probability } else { T::TINY };
            counted[direction] = if included { apart[direction] } else { one };
            odds[direction] = if included { coinciding * inverse[direction][j] } else { zero };
            if !MEANS {
                odds[direction] =
                    odds[direction] * (half_square[direction][j] + half_square[direction][j] - dimensions);
            }
        }
        let both = (odds[0] * apart[1] + odds[1] * apart[0]) * (one / (apart[0] * apart[1]));
        coefficient[j] = weight * if UNIFORM { weight } else { weights[j] } * both;
        if MEANS && UNIFORM {
            // Uniform weights: the logarithm of the product of all probabilities.
            let (mantissa, exponent) = (sums.product[j] * (counted[0] * counted[1])).mantissa_and_exponent();
            sums.product[j] = mantissa;
            sums.logs[j] += exponent;
        } else if MEANS {
            sums.logs[j] += weight * weights[j] * (counted[0] * counted[1]).ln();
        }
    }
    for (c, row_sums) in sums.row_sums.iter_mut().enumerate() {
        let mut terms = coefficient;
        if MEANS {
            let column = &inputs.coordinates[c * padded_len..(c + 1) * padded_len];
            let (x, others) = (column[i], tile_at(column, at));
            for j in 0..TILE {
                terms[j] = coefficient[j] * (x - others[j]);
            }
        }
        for j in 0..TILE {
            row_sums[j] += terms[j];
        }
        let out = tile_at_mut(out, c * padded_len + at);
        for j in 0..TILE {
            out[j] = if MEANS { out[j] - terms[j] } else { out[j] + terms[j] };
        }
    }
}

/// Pairwise sum in a fixed order, vectorized throughout.
#[inline(always)]
fn sum_lanes<T: FastFloat>(x: &TileValues<T>) -> T {
    let mut x = *x;
    let mut width = TILE / 2;
    while width > 0 {
        for l in 0..width {
            x[l] += x[l + width];
        }
        width /= 2;
    }
    x[0]
}

/// Computes `r^(d/2)` and `1 - r^(d/2)` from `r` and `1 - r`.
#[inline(always)]
fn half_power<T: FastFloat>(dim: usize, r: T, complement: T) -> (T, T) {
    let half = dim / 2;
    let (mut power, mut rest) = if half == 0 { (T::from_f64(1.0), T::default()) } else { (r, complement) };
    // Repeated squaring: with p = r^m, 1 - p^2 = (1 - p)(1 + p) and 1 - p r = (1 - p) r + (1 - r).
    for bit in (0..half.checked_ilog2().unwrap_or(0)).rev() {
        rest += rest * power;
        power = power * power;
        if half >> bit & 1 == 1 {
            rest = rest * r + complement;
            power = power * r;
        }
    }
    if dim % 2 == 1 {
        let root = r.sqrt();
        rest += power * complement / (T::from_f64(1.0) + root);
        power = power * root;
    }
    (power, rest)
}

#[inline(always)]
fn tile_at<T>(values: &[T], at: usize) -> &TileValues<T> {
    values[at..at + TILE].try_into().expect("a whole tile")
}

#[inline(always)]
fn tile_at_mut<T>(values: &mut [T], at: usize) -> &mut TileValues<T> {
    (&mut values[at..at + TILE]).try_into().expect("a whole tile")
}
