//! The E-step for dissimilar pairs: eqs 5, 9, 11, 17 and the log-likelihood, fused into one walk over the pairs.
//!
//! With `s = Delta^2 + sigma_i^2 + sigma_j^2`, `q = |mu_i - mu_j|^2` and `r = Delta^2 / s`, a pair has the probability
//! `P = r^(d/2) exp(-q / 2s)` of coinciding, and adds `D P / ((1 - P) s)` times something to the sums of both its
//! points.
//! `1 - P = (1 - r^(d/2)) exp(-q / 2s) + (1 - exp(-q / 2s))` is a sum of positive terms, each computed without
//! cancellation, so that points on top of each other are no trouble as long as variances are positive.

use lowland_core::simd::FastFloat;
use lowland_core::simd::simd_dispatch;

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
    /// The tiles that have pairs which do not count, and one more.
    pub skipped: &'a [Skip],
    /// How many of the points are no padding.
    pub len: usize,
    /// Whether all of them have the same votes and no extent.
    pub even: bool,
    pub dim: usize,
}

/// Pairs of a point with a tile that do not count, a bit for each.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Skip {
    /// Where the tile begins.
    tile: u32,
    /// The pairs from the point to those of the tile, and from them to the point.
    ways: [u16; 2],
}

/// The pairs that do not count, point after point.
#[derive(Debug, Clone)]
pub(super) struct Skips {
    /// For each point where its tiles begin, and one more.
    pub starts: Vec<u32>,
    /// Those that have such pairs, and one more without any.
    pub tiles: Vec<Skip>,
}

impl Default for Skips {
    fn default() -> Self {
        Self { starts: vec![0], tiles: vec![Skip::default()] }
    }
}

impl Skips {
    /// One more of the point that is described now, which is number `i` of its block: the pair from it to the later point `j`
    /// (`way` 0), or from that to it (1). Later points must ascend.
    pub(super) fn add(&mut self, i: usize, j: usize, way: usize) {
        let (begin, spare) = (self.starts[self.starts.len() - 1] as usize, self.tiles.len() - 1);
        let at = tile_with(i, j);
        if spare == begin || self.tiles[spare - 1].tile as usize != at {
            self.tiles[spare].tile = at as u32;
            self.tiles.push(Skip::default());
        }
        let last = self.tiles.len() - 2;
        self.tiles[last].ways[way] |= 1 << (j - at);
    }

    /// The next point is described from now on.
    pub(super) fn end_point(&mut self) {
        self.starts.push(self.tiles.len() as u32 - 1);
    }

    /// Whether a pair was added of that point of all which is number `i` of its block.
    pub(super) fn has(&self, point: usize, i: usize, j: usize, way: usize) -> bool {
        let (range, at) = (self.starts[point] as usize..self.starts[point + 1] as usize, tile_with(i, j));
        self.tiles[range].iter().any(|skip| skip.tile as usize == at && skip.ways[way] & 1 << (j - at) != 0)
    }
}

/// Points a row is compared with at once.
const TILE: usize = 16;
/// Tiles begin at multiples of this.
const STRIDE: usize = 8;

type Tile<T> = [T; TILE];

/// The room `len` points take: whole tiles, wherever they begin.
pub(super) fn padded(len: usize) -> usize {
    len.next_multiple_of(STRIDE) + TILE - STRIDE
}

/// Where the tiles of the point `i` begin: the first of them holds the next point.
fn first_tile(i: usize) -> usize {
    (i + 1) / STRIDE * STRIDE
}

/// Where that tile of the point `i` begins which holds the later point `j`.
fn tile_with(i: usize, j: usize) -> usize {
    first_tile(i) + (j - first_tile(i)) / TILE * TILE
}

/// The pairs of the rows `first..last` with all later points: adds to `out`, column after column. Returns the
/// log-likelihood if it was wanted.
pub(super) fn rows<T: FastFloat>(wanted: Wanted, frame: &Frame<T>, first: usize, last: usize, out: &mut [T]) -> f64 {
    match (wanted, frame.even) {
        (Wanted::Push, false) => by_dimension::<T, true, false>(frame, first, last, out),
        (Wanted::Push, true) => by_dimension::<T, true, true>(frame, first, last, out),
        (Wanted::Spread, false) => by_dimension::<T, false, false>(frame, first, last, out),
        (Wanted::Spread, true) => by_dimension::<T, false, true>(frame, first, last, out),
    }
}

fn by_dimension<T: FastFloat, const PUSH: bool, const EVEN: bool>(
    frame: &Frame<T>,
    first: usize,
    last: usize,
    out: &mut [T],
) -> f64 {
    match frame.dim {
        2 => walk::<T, 2, PUSH, EVEN>(frame, first, last, out),
        3 => walk::<T, 3, PUSH, EVEN>(frame, first, last, out),
        10 => walk::<T, 10, PUSH, EVEN>(frame, first, last, out),
        _ => walk::<T, 0, PUSH, EVEN>(frame, first, last, out),
    }
}

/// What a row adds up, each sum in as many parts as a tile is wide.
struct Sums<T> {
    own: Vec<Tile<T>>,
    /// The sum of logarithms times weights; where all weights are equal, of logarithms to base 2, without `product`.
    logs: Tile<T>,
    /// The product of probabilities whose logarithm is still to be taken, between 1 and 2.
    product: Tile<T>,
}

/// `D` is the number of dimensions, or 0 when it is only known now. Loops of fixed length become vectors.
#[simd_dispatch]
fn walk<T: FastFloat, const D: usize, const PUSH: bool, const EVEN: bool>(
    frame: &Frame<T>,
    first: usize,
    last: usize,
    out: &mut [T],
) -> f64 {
    let dim = if D > 0 { D } else { frame.dim };
    let padded = frame.widths.len();
    let columns = if PUSH { dim } else { 1 };
    let mut likelihood = 0.0;
    let mut sums = Sums {
        own: vec![[T::default(); TILE]; columns],
        logs: [T::default(); TILE],
        product: [T::from_f64(1.0); TILE],
    };
    for i in first..last {
        let (mut next, end) = (frame.skips[i] as usize, frame.skips[i + 1] as usize);
        for at in (first_tile(i)..padded - (TILE - STRIDE)).step_by(TILE) {
            // The pairs up to the point itself were met before, and behind the last point is padding.
            let outside = ((1u32 << (i + 1).saturating_sub(at)) - 1) | !0 << (frame.len - at).min(TILE);
            // Without a branch: which tiles have pairs to skip cannot be foreseen.
            let skip = frame.skipped[next];
            let here = next < end && skip.tile as usize == at;
            let without = skip.ways.map(|way| outside | if here { u32::from(way) } else { 0 });
            next += usize::from(here);
            tile::<T, D, PUSH, EVEN>(frame, i, at, without, &mut sums, out);
        }
        for (c, own) in sums.own.iter_mut().enumerate() {
            out[c * padded + i] += sum(own);
            *own = [T::default(); TILE];
        }
        if PUSH && !EVEN {
            likelihood += sum(&sums.logs).to_f64();
            sums.logs = [T::default(); TILE];
        }
    }
    if PUSH && EVEN && first < last {
        let logs = sums.logs.iter().map(|log| log.to_f64() * std::f64::consts::LN_2).sum::<f64>();
        let products = sums.product.iter().map(|product| product.to_f64().ln()).sum::<f64>();
        likelihood = (frame.votes[first] * frame.votes[first]).to_f64() * (logs + products);
    }
    likelihood
}

/// The pairs of the point `i` with the tile of points from `at` on; bits in `without` mark those that do not count, from
/// the point and to it.
#[inline(always)]
fn tile<T: FastFloat, const D: usize, const PUSH: bool, const EVEN: bool>(
    frame: &Frame<T>,
    i: usize,
    at: usize,
    without: [u32; 2],
    sums: &mut Sums<T>,
    out: &mut [T],
) {
    let dim = if D > 0 { D } else { frame.dim };
    let (half, one, zero, dimensions) = (T::from_f64(0.5), T::from_f64(1.0), T::default(), T::from_f64(dim as f64));
    let padded = frame.widths.len();
    let mut q = [zero; TILE];
    for c in 0..dim {
        let column = &frame.coordinates[c * padded..(c + 1) * padded];
        let (x, others) = (column[i], part(column, at));
        for j in 0..TILE {
            q[j] += (x - others[j]) * (x - others[j]);
        }
    }
    // Both directions side by side: two numbers are inverted by one division, inverse = other / product.
    let (width, reach, extent) = (frame.widths[i], frame.reach[i], frame.extent[i]);
    let (widths, reaches, extents) = (part(frame.widths, at), part(frame.reach, at), part(frame.extent, at));
    let [mut inverse, mut power, mut rest, mut half_square] = [[[zero; TILE]; 2]; 4];
    for j in 0..TILE {
        let far = if EVEN { [reach, reaches[j]] } else { [reach + extents[j], extent + reaches[j]] };
        let far2 = [far[0] * far[0], far[1] * far[1]];
        let shared = width + widths[j];
        let s = [far2[0] + shared, far2[1] + shared];
        let product = one / (s[0] * s[1]);
        for way in 0..2 {
            inverse[way][j] = s[1 - way] * product;
            power[way][j] = far2[way] * inverse[way][j];
            rest[way][j] = shared * inverse[way][j];
            half_square[way][j] = half * q[j] * inverse[way][j];
        }
    }
    let mut near = false;
    for j in 0..TILE {
        near |= !(half_square[0][j] > T::NEGLIGIBLE_EXP_NEG) | !(half_square[1][j] > T::NEGLIGIBLE_EXP_NEG);
    }
    if !near {
        return;
    }
    let (votes, others) = (frame.votes[i], part(frame.votes, at));
    let mut pull = [zero; TILE];
    for j in 0..TILE {
        let (mut apart, mut counted, mut part) = ([one; 2], [one; 2], [one; 2]);
        for way in 0..2 {
            let counts = without[way] & (1 << j) == 0;
            let (coinciding, probability) = if D > 0 {
                let (power, rest) = half_power(D, power[way][j], rest[way][j]);
                let (falling, fallen) = half_square[way][j].exp_neg();
                (power * falling, rest * falling + fallen)
            } else {
                // A loop that ends somewhere would not become vectors; a logarithm does.
                let root = half * dimensions * power[way][j].ln_with_complement(rest[way][j]);
                (half_square[way][j] - root).exp_neg()
            };
            apart[way] = if probability > T::TINY { probability } else { T::TINY };
            counted[way] = if counts { apart[way] } else { one };
            part[way] = if counts { coinciding * inverse[way][j] } else { zero };
            if !PUSH {
                part[way] = part[way] * (half_square[way][j] + half_square[way][j] - dimensions);
            }
        }
        let both = (part[0] * apart[1] + part[1] * apart[0]) * (one / (apart[0] * apart[1]));
        pull[j] = votes * if EVEN { votes } else { others[j] } * both;
        if PUSH && EVEN {
            // Equal weights: the logarithm of the product of all.
            let (mantissa, exponent) = (sums.product[j] * (counted[0] * counted[1])).mantissa_and_exponent();
            sums.product[j] = mantissa;
            sums.logs[j] += exponent;
        } else if PUSH {
            sums.logs[j] += votes * others[j] * (counted[0] * counted[1]).ln();
        }
    }
    for (c, own) in sums.own.iter_mut().enumerate() {
        let mut part_of = pull;
        if PUSH {
            let column = &frame.coordinates[c * padded..(c + 1) * padded];
            let (x, others) = (column[i], part(column, at));
            for j in 0..TILE {
                part_of[j] = pull[j] * (x - others[j]);
            }
        }
        for j in 0..TILE {
            own[j] += part_of[j];
        }
        let out = part_mut(out, c * padded + at);
        for j in 0..TILE {
            out[j] = if PUSH { out[j] - part_of[j] } else { out[j] + part_of[j] };
        }
    }
}

/// The sum by halves: always in the same order, and vectors to the end.
#[inline(always)]
fn sum<T: FastFloat>(x: &Tile<T>) -> T {
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
fn half_power<T: FastFloat>(dim: usize, r: T, short: T) -> (T, T) {
    let whole = dim / 2;
    let (mut power, mut rest) = if whole == 0 { (T::from_f64(1.0), T::default()) } else { (r, short) };
    // By squares: with p = r^m, 1 - p^2 = (1 - p)(1 + p) and 1 - p r = (1 - p) r + (1 - r).
    for bit in (0..whole.checked_ilog2().unwrap_or(0)).rev() {
        rest += rest * power;
        power = power * power;
        if whole >> bit & 1 == 1 {
            rest = rest * r + short;
            power = power * r;
        }
    }
    if dim % 2 == 1 {
        let root = r.sqrt();
        rest += power * short / (T::from_f64(1.0) + root);
        power = power * root;
    }
    (power, rest)
}

#[inline(always)]
fn part<T>(values: &[T], at: usize) -> &Tile<T> {
    values[at..at + TILE].try_into().expect("as many as asked for")
}

#[inline(always)]
fn part_mut<T>(values: &mut [T], at: usize) -> &mut Tile<T> {
    (&mut values[at..at + TILE]).try_into().expect("as many as asked for")
}
