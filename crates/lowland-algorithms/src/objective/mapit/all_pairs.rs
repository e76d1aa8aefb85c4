//! The released program's sums over all pairs, each pair once: tiles of eight points by eight, from the diagonal on.

use std::ops::Range;

use rayon::prelude::*;

use super::Similarity;
use super::edges::{by_kind, in_order};
use lowland_core::Points;
use lowland_core::simd::exp;
use lowland_core::simd::simd_dispatch;
use lowland_linalg::Csr;

/// Points along the side of a tile.
const LANES: usize = 8;
type Lanes = [f64; LANES];
/// Rows of a tile handled at once: as many as leave their sums in registers.
const ROWS: usize = 4;
/// Where what fills up the last tile lies: so far off, and apart, that it is similar to nothing.
const FAR: f64 = 1e100;
/// Rows of tiles for each part at the least, and parts at the most; the sums of every part are kept apart.
const TILES: usize = 16;
const PARTS: usize = 64;

/// All affinities, and the map's coordinates.
pub(super) struct AllPairs {
    /// Tiles of eight rows by eight columns: all from the diagonal on, a row of tiles after the other.
    weights: Vec<Lanes>,
    /// The map, eight points at a time, coordinate by coordinate.
    places: Vec<Lanes>,
    parts: Vec<Part>,
}

/// Some rows of tiles.
struct Part {
    tiles: Range<usize>,
    /// For eight points at a time, from the first of its rows on: the pulls by coordinate, then the pushes.
    sums: Vec<Lanes>,
}

impl AllPairs {
    pub fn new(affinities: &Csr) -> Self {
        let groups = affinities.rows().div_ceil(LANES);
        let mut weights = vec![[0.0; LANES]; first_tile(groups, groups) * LANES];
        for (i, j, p) in affinities.iter().filter(|(i, j, _)| j / LANES >= i / LANES) {
            let tile = first_tile(i / LANES, groups) + (j / LANES - i / LANES);
            weights[tile * LANES + i % LANES][j % LANES] = p;
        }
        // As many tiles in each part. They depend on nothing but the number of points: so does the order of the sums.
        let count = (groups / TILES).clamp(1, PARTS);
        let ends: Vec<usize> = (0..=count)
            .map(|part| (0..groups).find(|&g| first_tile(g, groups) * count >= part * first_tile(groups, groups)))
            .map(|end| end.unwrap_or(groups))
            .collect();
        let parts = ends.windows(2).map(|ends| Part { tiles: ends[0]..ends[1], sums: Vec::new() }).collect();
        Self { weights, places: Vec::new(), parts }
    }

    /// `sum_j P_ij S_ij (y_i - y_j)` and `-sum_j K_ij S_ij (y_i - y_j)`, side by side for each point; returns `c1, c2`.
    pub fn sums(&mut self, y: Points, similarity: Similarity, out: &mut [f64]) -> [f64; 2] {
        let (d, groups) = (y.dim(), y.rows().div_ceil(LANES));
        let Self { weights, places, parts } = self;
        places.clear();
        places.resize(groups * d, std::array::from_fn(|l| FAR * (l + 1) as f64));
        for (i, row) in y.values().chunks_exact(d).enumerate() {
            row.iter().enumerate().for_each(|(c, v)| places[i / LANES * d + c][i % LANES] = *v);
        }
        let (weights, places) = (&weights[..], &places[..]);
        let of_parts = parts.par_iter_mut().map(|part| {
            part.sums.clear();
            part.sums.resize((groups - part.tiles.start) * 2 * d, [0.0; LANES]);
            let mut entropies = [0.0; 2];
            for row in part.tiles.clone() {
                let weights = &weights[first_tile(row, groups) * LANES..first_tile(row + 1, groups) * LANES];
                let (places, sums) = (&places[row * d..], &mut part.sums[(row - part.tiles.start) * 2 * d..]);
                let found = by_kind!(row_of_tiles, y, similarity, (weights, places, d, sums));
                (0..2).for_each(|e| entropies[e] += found[e]);
            }
            entropies
        });
        let entropies = in_order(of_parts.collect());
        let parts = &parts[..];
        out.par_chunks_mut(LANES * 2 * d).with_min_len(TILES).enumerate().for_each(|(group, out)| {
            out.fill(0.0);
            for part in parts.iter().take_while(|part| part.tiles.start <= group) {
                let sums = &part.sums[(group - part.tiles.start) * 2 * d..][..2 * d];
                for (l, out) in out.chunks_exact_mut(2 * d).enumerate() {
                    out.iter_mut().zip(sums).for_each(|(out, sums)| *out += sums[l]);
                }
            }
            out.chunks_exact_mut(d).skip(1).step_by(2).flatten().for_each(|push| *push = -*push);
        });
        entropies
    }
}

/// Tiles before those of a row of tiles, of so many rows.
fn first_tile(row: usize, groups: usize) -> usize {
    row * groups - row * row.saturating_sub(1) / 2
}

/// One row of tiles: `places` and `sums` begin with its own eight points. Returns `sum P K` and `sum K^2` over ordered
/// pairs.
#[simd_dispatch]
fn row_of_tiles<const D: usize, const T: bool>(
    weights: &[Lanes],
    places: &[Lanes],
    dim: usize,
    sums: &mut [Lanes],
) -> [f64; 2] {
    let mut found = [0.0; 2];
    for first in (0..LANES).step_by(ROWS) {
        let [own, others] = if D == 0 {
            any_rows::<T>(weights, places, dim, first, sums)
        } else {
            few_rows::<D, T>(weights, places, first, sums)
        };
        // On the diagonal a pair is met in both orders.
        (0..2).for_each(|e| found[e] += sum(&own[e]) + 2.0 * sum(&others[e]));
    }
    found
}

/// What one point and eight others are pulled and pushed by; adds to the entropies. With `OWN`, the point is the one at
/// `row` of the eight. A loop for each operation: of loops that do several, vectors are made across the operations.
#[inline(always)]
fn strengths<const T: bool, const OWN: bool>(
    squares: &Lanes,
    weights: &Lanes,
    row: usize,
    entropies: &mut [Lanes; 2],
) -> [Lanes; 2] {
    let (mut similarity, mut squared, mut forces) = ([0.0; LANES], [0.0; LANES], [[0.0; LANES]; 2]);
    for l in 0..LANES {
        similarity[l] = if T { 1.0 / (1.0 + squares[l]) } else { exp(-squares[l]) };
    }
    if OWN {
        for l in 0..LANES {
            similarity[l] = if l == row { 0.0 } else { similarity[l] };
        }
    }
    for l in 0..LANES {
        squared[l] = similarity[l] * similarity[l];
    }
    for l in 0..LANES {
        entropies[0][l] += weights[l] * similarity[l];
    }
    for l in 0..LANES {
        entropies[1][l] += squared[l];
    }
    let slope = if T { &squared } else { &similarity };
    for l in 0..LANES {
        forces[0][l] = weights[l] * slope[l];
    }
    for l in 0..LANES {
        forces[1][l] = similarity[l] * slope[l];
    }
    forces
}

#[inline(always)]
fn total(lanes: &Lanes) -> f64 {
    let [a, b, c, d, e, f, g, h] = *lanes;
    ((a + b) + (c + d)) + ((e + f) + (g + h))
}

/// [`total`] out of line: where its pairs of lanes are seen, the loops before it are made into vectors of two.
#[inline(never)]
fn sum(lanes: &Lanes) -> f64 {
    total(lanes)
}

/// `ROWS` rows of a row of tiles, in `D` dimensions; returns the entropies of the diagonal tile and of the others.
#[inline(always)]
fn few_rows<const D: usize, const T: bool>(
    weights: &[Lanes],
    places: &[Lanes],
    first: usize,
    sums: &mut [Lanes],
) -> [[Lanes; 2]; 2] {
    let (mut own, mut others) = ([[0.0; LANES]; 2], [[0.0; LANES]; 2]);
    let here: [[f64; D]; ROWS] = std::array::from_fn(|r| std::array::from_fn(|c| places[c][first + r]));
    let mut rows = [[[[0.0; LANES]; D]; 2]; ROWS];
    let (weights, other_weights) = weights.split_at(LANES);
    let (places, other_places) = places.split_at(D);
    let (sums, other_sums) = sums.split_at_mut(2 * D);
    let mut columns = [[[0.0; LANES]; D]; 2];
    tile::<D, T, true>(&here, places, &weights[first..][..ROWS], first, &mut rows, &mut columns, &mut own);
    let tiles = other_weights.chunks_exact(LANES).zip(other_places.chunks_exact(D.max(1)));
    for ((weights, places), sums) in tiles.zip(other_sums.chunks_exact_mut(2 * D.max(1))) {
        columns = std::array::from_fn(|e| std::array::from_fn(|c| sums[e * D + c]));
        let weights = &weights[first..][..ROWS];
        tile::<D, T, false>(&here, places, weights, first, &mut rows, &mut columns, &mut others);
        columns.as_flattened().iter().zip(sums).for_each(|(from, to)| *to = *from);
    }
    for (r, rows) in rows.iter().enumerate() {
        rows.as_flattened().iter().zip(&mut *sums).for_each(|(from, to)| to[first + r] += sum(from));
    }
    [own, others]
}

/// `ROWS` rows of one tile. On the diagonal, its `OWN`, a pair is met in both orders, and only the rows' sums grow.
#[inline(always)]
fn tile<const D: usize, const T: bool, const OWN: bool>(
    here: &[[f64; D]; ROWS],
    places: &[Lanes],
    weights: &[Lanes],
    first: usize,
    rows: &mut [[[Lanes; D]; 2]; ROWS],
    columns: &mut [[Lanes; D]; 2],
    entropies: &mut [Lanes; 2],
) {
    for r in 0..ROWS {
        let (mut apart, mut squares) = ([[0.0; LANES]; D], [0.0; LANES]);
        for c in 0..D {
            for l in 0..LANES {
                apart[c][l] = here[r][c] - places[c][l];
                squares[l] += apart[c][l] * apart[c][l];
            }
        }
        let forces = strengths::<T, OWN>(&squares, &weights[r], first + r, entropies);
        for e in 0..2 {
            for c in 0..D {
                for l in 0..LANES {
                    let force = forces[e][l] * apart[c][l];
                    rows[r][e][c][l] += force;
                    if !OWN {
                        columns[e][c][l] -= force;
                    }
                }
            }
        }
    }
}

/// As [`few_rows`], in any number of dimensions.
#[inline(always)]
fn any_rows<const T: bool>(
    weights: &[Lanes],
    places: &[Lanes],
    dim: usize,
    first: usize,
    sums: &mut [Lanes],
) -> [[Lanes; 2]; 2] {
    let (mut own, mut others) = ([[0.0; LANES]; 2], [[0.0; LANES]; 2]);
    let here = &places[..dim];
    for row in first..first + ROWS {
        for (tile, (weights, places)) in weights.chunks_exact(LANES).zip(places.chunks_exact(dim)).enumerate() {
            let mut squares = [0.0; LANES];
            for (here, there) in here.iter().zip(places) {
                (0..LANES).for_each(|l| squares[l] += (here[row] - there[l]) * (here[row] - there[l]));
            }
            let forces = if tile == 0 {
                strengths::<T, true>(&squares, &weights[row], row, &mut own)
            } else {
                strengths::<T, false>(&squares, &weights[row], row, &mut others)
            };
            for (e, forces) in forces.iter().enumerate() {
                for c in 0..dim {
                    let force: Lanes = std::array::from_fn(|l| forces[l] * (here[c][row] - places[c][l]));
                    sums[e * dim + c][row] += total(&force);
                    if tile > 0 {
                        let sums = &mut sums[(tile * 2 + e) * dim + c];
                        (0..LANES).for_each(|l| sums[l] -= force[l]);
                    }
                }
            }
        }
    }
    [own, others]
}
