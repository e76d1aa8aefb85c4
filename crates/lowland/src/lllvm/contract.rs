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

/// Columns handled at once: what is added up stays in the first cache.
const STRIP: usize = 512;

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
    let (i, first) = (a % n, a / n * n);
    let degree = network.near(i).len() as f64;
    for (block, (x, v)) in x.chunks_exact_mut(n).zip(v.chunks_exact_mut(n)).enumerate() {
        for (strip, (x, v)) in x.chunks_mut(STRIP).zip(v.chunks_mut(STRIP)).enumerate() {
            let (at, length) = (strip * STRIP, x.len());
            let (k, own) = (&network.k[i * n + at..][..length], &m[a * side + block * n + at..][..length]);
            for c in 0..length {
                x[c] = 0.0;
                v[c] = degree * k[c] * own[c];
            }
            for &p in network.near(i) {
                let p = p as usize;
                let (k, m) = (&network.k[p * n + at..][..length], &m[(first + p) * side + block * n + at..][..length]);
                for c in 0..length {
                    x[c] += m[c];
                    v[c] -= s * k[c] * m[c];
                }
            }
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
    let (i, first) = (a % n, a / n * n);
    let degree = network.near(i).len() as f64;
    let (mut z, mut y) = ([0.0; STRIP], [0.0; STRIP]);
    for (block, m) in m.chunks_exact_mut(n).enumerate() {
        for (strip, m) in m.chunks_mut(STRIP).enumerate() {
            let (at, length) = (strip * STRIP, m.len());
            let place = |row: usize| row * side + block * n + at;
            let (z, y) = (&mut z[..length], &mut y[..length]);
            let (own, mg) = (&q[place(a)..][..length], &x[place(a)..][..length]);
            for c in 0..length {
                z[c] = 0.0;
                y[c] = degree * own[c];
            }
            for &p in network.near(i) {
                let from = place(first + p as usize);
                let (x, q) = (&x[from..][..length], &q[from..][..length]);
                for c in 0..length {
                    z[c] += x[c];
                    y[c] -= s * q[c];
                }
            }
            let row = i * n + at;
            let (k, gk, gkg) =
                (&network.k[row..][..length], &network.gk[row..][..length], &network.gkg[row..][..length]);
            for c in 0..length {
                m[c] = y[c] + 0.5 * k[c] * z[c] - s * gk[c] * mg[c] + 0.5 * gkg[c] * m[c];
            }
        }
    }
}
