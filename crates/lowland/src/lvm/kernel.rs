//! The E-step for dissimilar pairs: eqs 5, 9, 11, 17 and the log-likelihood, fused into one walk over the pairs.
//!
//! With `s = Delta^2 + sigma_i^2 + sigma_j^2`, `q = |mu_i - mu_j|^2` and `r = Delta^2 / s`, a pair has the probability
//! `P = r^(d/2) exp(-q / 2s)` of coinciding, and adds `w P / ((1 - P) s)` times something to the sums of both its points.
//! `1 - P = (1 - r^(d/2)) exp(-q / 2s) + (1 - exp(-q / 2s))` is a sum of positive terms, each computed without
//! cancellation, so that points on top of each other are no trouble as long as variances are positive.

use multiversion::multiversion;

use super::lanes::{LANES, Lanes, exp_minus, lanes, ln, sum};

/// What to sum over dissimilar pairs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    /// `sum_j (D_ij nu_ij / s_ij + D_ji nu_ji / s_ji)(mu_i - mu_j)`, and the log-likelihood.
    Push,
    /// `sum_j (D_ij nu_ij / s_ij)(q / s_ij - d)`, and the same for (j, i).
    Spread,
}

impl Wanted {
    /// Sums a point has.
    pub(super) fn columns(self, dim: usize) -> usize {
        if self == Wanted::Push { dim } else { 1 }
    }
}

/// A block's points, padded to whole vectors.
pub(super) struct Frame<'a> {
    /// Column after column.
    pub coordinates: &'a [f64],
    pub widths: &'a [f64],
    pub reach: &'a [f64],
    pub extent: &'a [f64],
    pub votes: &'a [f64],
    pub masks: &'a [[u8; 2]],
}

/// Some rows of a block.
pub(super) struct Strip {
    pub first: usize,
    pub last: usize,
    pub dim: usize,
}

/// Where the masks of row `i` begin: the rows before it have one for each tile from their own on.
pub(super) fn mask_offset(i: usize, tiles: usize) -> usize {
    let (tile, row) = (i / LANES, i % LANES);
    // 8 sum_(t < tile) (tiles - t), then the rows of the same tile.
    LANES * tile * tiles - LANES * tile * tile.saturating_sub(1) / 2 + row * (tiles - tile.min(tiles))
}

/// The numbers a byte of bits stands for.
const BITS: [[u8; LANES]; 256] = {
    let mut table = [[0; LANES]; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut l = 0;
        while l < LANES {
            table[byte][l] = (byte >> l & 1) as u8;
            l += 1;
        }
        byte += 1;
    }
    table
};

/// Exponents from which on a pair makes no difference: `exp(-40)` added to one is one.
const FAR: f64 = 40.0;

impl Strip {
    /// Adds to `out`, column after column. Returns the log-likelihood if it was wanted.
    pub(super) fn run(&self, wanted: Wanted, frame: &Frame, out: &mut [f64]) -> f64 {
        match (wanted, self.dim) {
            (Wanted::Push, 2) => rows::<2, true>(self, frame, out),
            (Wanted::Push, 3) => rows::<3, true>(self, frame, out),
            (Wanted::Push, _) => rows::<0, true>(self, frame, out),
            (Wanted::Spread, 2) => rows::<2, false>(self, frame, out),
            (Wanted::Spread, 3) => rows::<3, false>(self, frame, out),
            (Wanted::Spread, _) => rows::<0, false>(self, frame, out),
        }
    }
}

/// `D` is the number of dimensions, or 0 when it is only known now.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512bw+avx512dq", "x86_64+avx2", "aarch64+neon"))]
fn rows<const D: usize, const PUSH: bool>(strip: &Strip, frame: &Frame, out: &mut [f64]) -> f64 {
    let dim = if D > 0 { D } else { strip.dim };
    let padded = frame.widths.len();
    let tiles = padded / LANES;
    let columns = if PUSH { dim } else { 1 };
    let mut likelihood = [0.0; LANES];
    let mut general = vec![[0.0; LANES]; if D > 0 { 0 } else { columns }];
    for i in strip.first..strip.last {
        let masks = &frame.masks[mask_offset(i, tiles)..];
        let mut fixed = [[0.0; LANES]; 3];
        let own: &mut [Lanes] = if D > 0 { &mut fixed[..columns] } else { &mut general };
        own.fill([0.0; LANES]);
        let (width, reach, extent, votes) = (frame.widths[i], frame.reach[i], frame.extent[i], frame.votes[i]);
        for (tile, mask) in (i / LANES..tiles).zip(masks) {
            let at = tile * LANES;
            let column = |c: usize| -> &Lanes { chunk(frame.coordinates, c * padded + at) };
            let mut q = [0.0; LANES];
            for c in 0..dim {
                let (x, others) = (frame.coordinates[c * padded + i], column(c));
                for l in 0..LANES {
                    q[l] += (x - others[l]) * (x - others[l]);
                }
            }
            let widths = lanes(|l| width + chunk(frame.widths, at)[l]);
            let far = [
                lanes(|l| reach + chunk(frame.extent, at)[l]),
                lanes(|l| extent + chunk(frame.reach, at)[l]),
            ];
            let weights = lanes(|l| votes * chunk(frame.votes, at)[l]);
            let mut pull = [0.0; LANES];
            for direction in 0..2 {
                let delta2 = lanes(|l| far[direction][l] * far[direction][l]);
                let inverse = lanes(|l| 1.0 / (delta2[l] + widths[l]));
                let exponent = lanes(|l| 0.5 * q[l] * inverse[l]);
                if exponent.iter().all(|&e| e > FAR) {
                    continue;
                }
                let counted = &BITS[mask[direction] as usize];
                let weights = lanes(|l| weights[l] * f64::from(counted[l]));
                let ratio = lanes(|l| delta2[l] * inverse[l]);
                let short = lanes(|l| widths[l] * inverse[l]);
                let (power, rest) = half_power(dim, &ratio, &short);
                let (falling, fallen) = exp_minus(&exponent);
                let apart = lanes(|l| (rest[l] * falling[l] + fallen[l]).max(f64::MIN_POSITIVE));
                let part = lanes(|l| weights[l] * (power[l] * falling[l]) * inverse[l] / apart[l]);
                if PUSH {
                    let logarithm = ln(&apart);
                    for l in 0..LANES {
                        pull[l] += part[l];
                        likelihood[l] += weights[l] * logarithm[l];
                    }
                } else {
                    for l in 0..LANES {
                        pull[l] += part[l] * (q[l] * inverse[l] - dim as f64);
                    }
                }
            }
            if PUSH {
                for c in 0..dim {
                    let (x, others) = (frame.coordinates[c * padded + i], column(c));
                    let out = chunk_mut(out, c * padded + at);
                    for l in 0..LANES {
                        let push = pull[l] * (x - others[l]);
                        own[c][l] += push;
                        out[l] -= push;
                    }
                }
            } else {
                let out = chunk_mut(out, at);
                for l in 0..LANES {
                    own[0][l] += pull[l];
                    out[l] += pull[l];
                }
            }
        }
        for (c, own) in own.iter().enumerate() {
            out[c * padded + i] += sum(own);
        }
    }
    sum(&likelihood)
}

/// `r^(d/2)` and `1 - r^(d/2)`, given `r` and `1 - r`.
#[inline(always)]
pub(super) fn half_power(dim: usize, r: &Lanes, short: &Lanes) -> (Lanes, Lanes) {
    if dim == 2 {
        return (*r, *short);
    }
    // r^m and 1 + r + .. + r^(m-1), so that 1 - r^m = (1 - r)(1 + r + ..).
    let (mut power, mut series) = ([1.0; LANES], [0.0; LANES]);
    for _ in 0..dim / 2 {
        for l in 0..LANES {
            series[l] = series[l] * r[l] + 1.0;
            power[l] *= r[l];
        }
    }
    let mut rest = lanes(|l| short[l] * series[l]);
    if dim % 2 == 1 {
        for l in 0..LANES {
            let root = r[l].sqrt();
            rest[l] += power[l] * short[l] / (1.0 + root);
            power[l] *= root;
        }
    }
    (power, rest)
}

#[inline(always)]
fn chunk(values: &[f64], at: usize) -> &Lanes {
    values[at..at + LANES].try_into().expect("eight of them")
}

#[inline(always)]
fn chunk_mut(values: &mut [f64], at: usize) -> &mut Lanes {
    (&mut values[at..at + LANES]).try_into().expect("eight of them")
}
