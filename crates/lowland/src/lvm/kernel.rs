//! The E-step for dissimilar pairs: eqs 5, 9, 11, 17 and the log-likelihood, fused into one walk over the pairs.
//!
//! With `s = Delta^2 + sigma_i^2 + sigma_j^2`, `q = |mu_i - mu_j|^2` and `r = Delta^2 / s`, a pair has the probability
//! `P = r^(d/2) exp(-q / 2s)` of coinciding, and adds `D P / ((1 - P) s)` times something to the sums of both its points.
//! `1 - P = (1 - r^(d/2)) exp(-q / 2s) + (1 - exp(-q / 2s))` is a sum of positive terms, each computed without
//! cancellation, so that points on top of each other are no trouble as long as variances are positive.

use multiversion::multiversion;

use super::numbers::Number;

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

/// A block's points, padded.
pub(super) struct Frame<'a, T> {
    /// Column after column.
    pub coordinates: &'a [T],
    pub widths: &'a [T],
    pub reach: &'a [T],
    pub extent: &'a [T],
    pub votes: &'a [T],
    /// For each point, where its entries of `skipped` begin, and one more.
    pub skips: &'a [u32],
    /// Twice the number of a later point, plus one if it is the pair from that point to this which does not count.
    pub skipped: &'a [u32],
    pub dim: usize,
}

/// Points a row is compared with at once.
pub(super) const TILE: usize = 16;
/// Tiles begin at multiples of this.
const STRIDE: usize = 8;

type Tile<T> = [T; TILE];

/// The room `len` points take: whole tiles, wherever they begin.
pub(super) fn padded(len: usize) -> usize {
    len.next_multiple_of(STRIDE) + TILE - STRIDE
}

/// The pairs of the rows `first..last` with all later points: adds to `out`, column after column. Returns the
/// log-likelihood if it was wanted.
pub(super) fn rows<T: Number>(wanted: Wanted, frame: &Frame<T>, first: usize, last: usize, out: &mut [T]) -> f64 {
    match (wanted, frame.dim) {
        (Wanted::Push, 2) => walk::<T, 2, true>(frame, first, last, out),
        (Wanted::Push, 3) => walk::<T, 3, true>(frame, first, last, out),
        (Wanted::Push, _) => walk::<T, 0, true>(frame, first, last, out),
        (Wanted::Spread, 2) => walk::<T, 2, false>(frame, first, last, out),
        (Wanted::Spread, 3) => walk::<T, 3, false>(frame, first, last, out),
        (Wanted::Spread, _) => walk::<T, 0, false>(frame, first, last, out),
    }
}

/// `D` is the number of dimensions, or 0 when it is only known now. Loops of fixed length become vectors.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512bw+avx512dq", "x86_64+avx2", "aarch64+neon"))]
fn walk<T: Number, const D: usize, const PUSH: bool>(
    frame: &Frame<T>,
    first: usize,
    last: usize,
    out: &mut [T],
) -> f64 {
    let dim = if D > 0 { D } else { frame.dim };
    let (half, one, dimensions) = (T::of(0.5), T::of(1.0), T::of(dim as f64));
    let padded = frame.widths.len();
    let mut likelihood = 0.0;
    for i in first..last {
        let mut skipped = &frame.skipped[frame.skips[i] as usize..frame.skips[i + 1] as usize];
        let begin = (i + 1) / STRIDE * STRIDE;
        let mut logs = [T::default(); TILE];
        for at in (begin..padded - (TILE - STRIDE)).step_by(TILE) {
            let column = |c: usize| (frame.coordinates[c * padded + i], tile(frame.coordinates, c * padded + at));
            let mut q = [T::default(); TILE];
            for c in 0..dim {
                let (x, others) = column(c);
                for j in 0..TILE {
                    q[j] += (x - others[j]) * (x - others[j]);
                }
            }
            let (votes, others) = (frame.votes[i], tile(frame.votes, at));
            let mut there = [T::default(); TILE];
            for j in 0..TILE {
                there[j] = votes * others[j];
            }
            // The pairs up to the point itself were met before.
            there[..(i + 1).saturating_sub(at).min(TILE)].fill(T::default());
            let mut back = there;
            while let Some((&code, later)) = skipped.split_first().filter(|(code, _)| (**code as usize / 2) < at + TILE)
            {
                let weights = if code % 2 == 0 { &mut there } else { &mut back };
                weights[code as usize / 2 - at] = T::default();
                skipped = later;
            }
            let mut pull = [T::default(); TILE];
            let (width, widths) = (frame.widths[i], tile(frame.widths, at));
            for (weights, own, others) in
                [(&there, frame.reach[i], tile(frame.extent, at)), (&back, frame.extent[i], tile(frame.reach, at))]
            {
                let [mut inverse, mut power, mut rest, mut square] = [[T::default(); TILE]; 4];
                for j in 0..TILE {
                    let far2 = (own + others[j]) * (own + others[j]);
                    inverse[j] = one / (far2 + width + widths[j]);
                    power[j] = far2 * inverse[j];
                    rest[j] = (width + widths[j]) * inverse[j];
                    square[j] = q[j] * inverse[j];
                }
                if square.iter().all(|&square| half * square > T::FAR) {
                    continue;
                }
                if D != 2 {
                    half_powers(dim, &mut power, &mut rest);
                }
                for j in 0..TILE {
                    let (falling, fallen) = (half * square[j]).exp_minus();
                    let apart = rest[j] * falling + fallen;
                    let apart = if apart > T::LEAST { apart } else { T::LEAST };
                    let part = weights[j] * (power[j] * falling) * inverse[j] / apart;
                    if PUSH {
                        pull[j] += part;
                        logs[j] += weights[j] * apart.ln();
                    } else {
                        pull[j] += part * (square[j] - dimensions);
                    }
                }
            }
            if PUSH {
                for c in 0..dim {
                    let (x, others) = column(c);
                    let mut push = [T::default(); TILE];
                    for j in 0..TILE {
                        push[j] = pull[j] * (x - others[j]);
                    }
                    let out = &mut out[c * padded..(c + 1) * padded];
                    out[i] += sum(&push);
                    let out = tile_mut(out, at);
                    for j in 0..TILE {
                        out[j] -= push[j];
                    }
                }
            } else {
                out[i] += sum(&pull);
                let out = tile_mut(out, at);
                for j in 0..TILE {
                    out[j] += pull[j];
                }
            }
        }
        if PUSH {
            likelihood += sum(&logs).wide();
        }
    }
    likelihood
}

/// The sum by halves: always in the same order, and vectors to the end.
#[inline(always)]
fn sum<T: Number>(x: &Tile<T>) -> T {
    let mut x = *x;
    let mut width = TILE / 2;
    while width > 0 {
        for l in 0..width {
            x[l] = x[l] + x[l + width];
        }
        width /= 2;
    }
    x[0]
}

/// From `r` and `1 - r` to `r^(d/2)` and `1 - r^(d/2)`.
#[inline(always)]
fn half_powers<T: Number>(dim: usize, power: &mut Tile<T>, rest: &mut Tile<T>) {
    let (r, short) = (*power, *rest);
    *power = [T::of(1.0); TILE];
    *rest = [T::default(); TILE];
    // r^m and 1 - r^m = (1 - r)(1 + r + .. + r^(m-1)).
    for _ in 0..dim / 2 {
        for j in 0..TILE {
            rest[j] = rest[j] * r[j] + short[j];
            power[j] = power[j] * r[j];
        }
    }
    if dim % 2 == 1 {
        for j in 0..TILE {
            let root = r[j].root();
            rest[j] += power[j] * short[j] / (T::of(1.0) + root);
            power[j] = power[j] * root;
        }
    }
}

#[inline(always)]
fn tile<T>(values: &[T], at: usize) -> &Tile<T> {
    values[at..at + TILE].try_into().expect("as many as asked for")
}

#[inline(always)]
fn tile_mut<T>(values: &mut [T], at: usize) -> &mut Tile<T> {
    (&mut values[at..at + TILE]).try_into().expect("as many as asked for")
}
