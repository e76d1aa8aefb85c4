//! The quadratic forms of the E-step: expectations of `A` (S48) and of `Gamma` (S61) for all pairs of points.
//!
//! Both are, for each pair of coordinates, with `K` the pseudo-inverse of the Laplacian and `M` the second moments of `C`
//! or of `x`,
//!
//! `T_ij = sum_pq G_ip G_jq (K_ij - K_iq - K_pj + K_pq) (M_ij + s M_iq + s M_pj + M_pq)`
//!
//! with `s = 1` for `A = (gamma / 2) T` and `s = -1` for `Gamma`: where `K` or `M` stands at a neighbour instead of the
//! point itself, sign and sum go with it. Multiplied out, with `B = D - s G`, `D` the degrees, and `o` by elements,
//!
//! `T = B (K o M) B + B R + (B R)' + K o GMG - s KG o GM - s GK o MG + GKG o M`, `R = s K o MG - KG o M`,
//!
//! in which every product is with the sparse `G`: `O(n^2 k)` instead of `O(n^3)`. As `T` is symmetric, half of it is made
//! and its transpose added: `T = E + E'`, `E = B Q + K o GMG / 2 - s GK o MG + GKG o M / 2`, `Q = (K o M) B / 2 + R`.

use multiversion::multiversion;
use rayon::prelude::*;

use super::network::Network;
use crate::linalg::{add_transpose, transpose};

/// Which of the two forms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    /// Sums of the maps of neighbours: `A`.
    Sum,
    /// Differences of the places of neighbours: `Gamma`.
    Difference,
}

impl Sign {
    fn factor(self) -> f64 {
        match self {
            Sign::Sum => 1.0,
            Sign::Difference => -1.0,
        }
    }
}

/// Columns handled at once: what is added up stays in registers.
const STRIP: usize = 64;

/// Replaces the second moments `m` by the quadratic form `T`. All three matrices are row-major of `dim n` rows, those of
/// the first coordinate of all points first; `x` and `v` are room to work in.
pub fn contract(network: &Network, dim: usize, sign: Sign, m: &mut [f64], x: &mut [f64], v: &mut [f64]) {
    let (n, s) = (network.points(), sign.factor());
    let side = dim * n;
    let moments = &*m;
    x.par_chunks_mut(side).zip(v.par_chunks_mut(side)).enumerate().for_each(|(a, (x, v))| {
        gather(network, moments, side, a, s, x, v);
    });
    // From here on x is M G, and v is (K o M) B.
    transpose(x, side);
    transpose(v, side);
    v.par_chunks_mut(side).enumerate().for_each(|(a, v)| {
        let row = a % n * n..(a % n + 1) * n;
        let (k, kg) = (&network.k[row.clone()], &network.kg[row]);
        let parts = v.chunks_exact_mut(n).zip(x[a * side..].chunks_exact(n)).zip(moments[a * side..].chunks_exact(n));
        parts.for_each(|((v, x), m)| split(s, k, kg, m, x, v));
    });
    let (x, q) = (&*x, &*v);
    m.par_chunks_mut(side).enumerate().for_each(|(a, m)| finish(network, x, q, side, a, s, m));
    add_transpose(m, side);
}

/// Row `a` of `G M` and of `B (K o M)`.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512bw+avx512dq", "x86_64+avx2", "aarch64+neon"))]
fn gather(network: &Network, m: &[f64], side: usize, a: usize, s: f64, x: &mut [f64], v: &mut [f64]) {
    let n = network.points();
    for (block, (x, v)) in x.chunks_exact_mut(n).zip(v.chunks_exact_mut(n)).enumerate() {
        for (strip, (x, v)) in x.chunks_mut(STRIP).zip(v.chunks_mut(STRIP)).enumerate() {
            let place = Place { network, side, a, s, column: block * n, at: strip * STRIP };
            if x.len() == STRIP { place.gather::<true>(m, x, v) } else { place.gather::<false>(m, x, v) }
        }
    }
}

/// Some columns of a row.
struct Place<'a> {
    network: &'a Network,
    side: usize,
    a: usize,
    s: f64,
    /// Where the block begins, and where in it the columns.
    column: usize,
    at: usize,
}

impl Place<'_> {
    fn row<'a>(&self, matrix: &'a [f64], row: usize, length: usize) -> &'a [f64] {
        &matrix[row * self.side + self.column + self.at..][..length]
    }

    /// The same columns of a matrix of the graph.
    fn graph<'a>(&self, matrix: &'a [f64], i: usize, length: usize) -> &'a [f64] {
        &matrix[i * self.network.points() + self.at..][..length]
    }

    #[inline(always)]
    fn gather<const FULL: bool>(&self, m: &[f64], x: &mut [f64], v: &mut [f64]) {
        let length = if FULL { STRIP } else { x.len() };
        let n = self.network.points();
        let (i, first) = (self.a % n, self.a / n * n);
        let degree = self.network.near(i).len() as f64;
        let (k, own) = (self.graph(&self.network.k, i, length), self.row(m, self.a, length));
        let (mut sums, mut rest) = ([0.0; STRIP], [0.0; STRIP]);
        for c in 0..length {
            rest[c] = degree * k[c] * own[c];
        }
        for &p in self.network.near(i) {
            let p = p as usize;
            let (k, m) = (self.graph(&self.network.k, p, length), self.row(m, first + p, length));
            for c in 0..length {
                sums[c] += m[c];
                rest[c] -= self.s * k[c] * m[c];
            }
        }
        x[..length].copy_from_slice(&sums[..length]);
        v[..length].copy_from_slice(&rest[..length]);
    }

    #[inline(always)]
    fn finish<const FULL: bool>(&self, x: &[f64], q: &[f64], m: &mut [f64]) {
        let length = if FULL { STRIP } else { m.len() };
        let n = self.network.points();
        let (i, first) = (self.a % n, self.a / n * n);
        let degree = self.network.near(i).len() as f64;
        let (own, mg) = (self.row(q, self.a, length), self.row(x, self.a, length));
        let (mut z, mut y) = ([0.0; STRIP], [0.0; STRIP]);
        for c in 0..length {
            y[c] = degree * own[c];
        }
        for &p in self.network.near(i) {
            let (x, q) = (self.row(x, first + p as usize, length), self.row(q, first + p as usize, length));
            for c in 0..length {
                z[c] += x[c];
                y[c] -= self.s * q[c];
            }
        }
        let (k, gk) = (self.graph(&self.network.k, i, length), self.graph(&self.network.gk, i, length));
        let gkg = self.graph(&self.network.gkg, i, length);
        for c in 0..length {
            m[c] = y[c] + 0.5 * k[c] * z[c] - self.s * gk[c] * mg[c] + 0.5 * gkg[c] * m[c];
        }
    }
}

/// Part of a row of `Q`, in place of `(K o M) B`.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512bw+avx512dq", "x86_64+avx2", "aarch64+neon"))]
fn split(s: f64, k: &[f64], kg: &[f64], m: &[f64], x: &[f64], v: &mut [f64]) {
    let length = v.len();
    let (k, kg, m, x) = (&k[..length], &kg[..length], &m[..length], &x[..length]);
    for c in 0..length {
        v[c] = 0.5 * v[c] + s * k[c] * x[c] - kg[c] * m[c];
    }
}

/// Row `a` of `E`, in place of that of `M`.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512bw+avx512dq", "x86_64+avx2", "aarch64+neon"))]
fn finish(network: &Network, x: &[f64], q: &[f64], side: usize, a: usize, s: f64, m: &mut [f64]) {
    let n = network.points();
    for (block, m) in m.chunks_exact_mut(n).enumerate() {
        for (strip, m) in m.chunks_mut(STRIP).enumerate() {
            let place = Place { network, side, a, s, column: block * n, at: strip * STRIP };
            if m.len() == STRIP { place.finish::<true>(x, q, m) } else { place.finish::<false>(x, q, m) }
        }
    }
}
