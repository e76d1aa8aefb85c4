//! The E-step for dissimilar pairs: eqs 5, 9, 11, 17 and the log-likelihood, fused into one walk over the pairs.
//!
//! With `s = Delta^2 + sigma_i^2 + sigma_j^2`, `q = |mu_i - mu_j|^2` and `r = Delta^2 / s`, a pair has the probability
//! `P = r^(d/2) exp(-q / 2s)` of coinciding, and adds `D P / ((1 - P) s)` times something to the sums of both its
//! points.
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
    let columns = if PUSH { dim } else { 1 };
    let mut likelihood = 0.0;
    // A row's own sums, each in as many parts as a tile is wide.
    let mut own = vec![[T::default(); TILE]; columns];
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
            if at <= i {
                for j in 0..TILE {
                    there[j] = if at + j > i { there[j] } else { T::default() };
                }
            }
            let mut back = there;
            while let Some((&code, later)) = skipped.split_first().filter(|(code, _)| (**code as usize / 2) < at + TILE)
            {
                let weights = if code % 2 == 0 { &mut there } else { &mut back };
                weights[code as usize / 2 - at] = T::default();
                skipped = later;
            }
            // Both directions side by side: two numbers are inverted by one division, inverse = other / product.
            let (width, reach, extent) = (frame.widths[i], frame.reach[i], frame.extent[i]);
            let (widths, reaches, extents) = (tile(frame.widths, at), tile(frame.reach, at), tile(frame.extent, at));
            let [mut inverse, mut power, mut rest, mut square] = [[[T::default(); TILE]; 2]; 4];
            for j in 0..TILE {
                let far2 = [(reach + extents[j]) * (reach + extents[j]), (extent + reaches[j]) * (extent + reaches[j])];
                let shared = width + widths[j];
                let s = [far2[0] + shared, far2[1] + shared];
                let product = one / (s[0] * s[1]);
                for way in 0..2 {
                    inverse[way][j] = s[1 - way] * product;
                    power[way][j] = far2[way] * inverse[way][j];
                    rest[way][j] = shared * inverse[way][j];
                    square[way][j] = q[j] * inverse[way][j];
                }
            }
            if square.as_flattened().iter().all(|&square| half * square > T::FAR) {
                continue;
            }
            if D != 2 {
                (0..2).for_each(|way| half_powers(dim, &mut power[way], &mut rest[way]));
            }
            let mut pull = [T::default(); TILE];
            for j in 0..TILE {
                let (mut apart, mut part) = ([one; 2], [one; 2]);
                for way in 0..2 {
                    let (falling, fallen) = (half * square[way][j]).exp_minus();
                    let probability = rest[way][j] * falling + fallen;
                    apart[way] = if probability > T::LEAST { probability } else { T::LEAST };
                    part[way] = power[way][j] * falling * inverse[way][j];
                }
                let both = one / (apart[0] * apart[1]);
                let part = [there[j] * part[0] * apart[1] * both, back[j] * part[1] * apart[0] * both];
                if PUSH {
                    pull[j] = part[0] + part[1];
                    // One logarithm for both, of which one may not count.
                    let zero = T::default();
                    let counted =
                        [if there[j] > zero { apart[0] } else { one }, if back[j] > zero { apart[1] } else { one }];
                    let weight = if there[j] > back[j] { there[j] } else { back[j] };
                    logs[j] += weight * (counted[0] * counted[1]).ln();
                } else {
                    pull[j] = part[0] * (square[0][j] - dimensions) + part[1] * (square[1][j] - dimensions);
                }
            }
            for c in 0..columns {
                let mut part = pull;
                if PUSH {
                    let (x, others) = column(c);
                    for j in 0..TILE {
                        part[j] = pull[j] * (x - others[j]);
                    }
                }
                let own = &mut own[c];
                for j in 0..TILE {
                    own[j] += part[j];
                }
                let out = tile_mut(out, c * padded + at);
                for j in 0..TILE {
                    out[j] = if PUSH { out[j] - part[j] } else { out[j] + part[j] };
                }
            }
        }
        for (c, own) in own.iter_mut().enumerate() {
            out[c * padded + i] += sum(own);
            *own = [T::default(); TILE];
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
            x[l] += x[l + width];
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
