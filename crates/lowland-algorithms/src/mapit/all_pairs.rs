//! The released program's sums over all pairs, each pair once: tiles of eight by eight points, from the diagonal on.

use std::ops::Range;

use rayon::prelude::*;

use super::SimilarityKernel;
use super::edges::{dispatch_by_kernel, sum_in_order};
use lowland_core::Points;
use lowland_core::simd::exp;
use lowland_core::simd::simd_dispatch;
use lowland_linalg::Csr;

/// Points along the side of a tile.
const LANES: usize = 8;
type Lanes = [f64; LANES];
/// Rows of a tile processed at once: as many as keep their sums in registers.
const ROWS: usize = 4;
/// Distance of the points that pad the last tile, from the map and from each other: their similarities vanish.
const PADDING_DISTANCE: f64 = 1e100;
/// Minimal number of tile rows per part, and maximal number of parts; every part has its own sums.
const MIN_TILE_ROWS: usize = 16;
const MAX_PARTS: usize = 64;

/// The affinities of all pairs, with buffers for the sums.
pub(super) struct AllPairs {
    /// Tiles of eight rows by eight columns from the diagonal on, one row of tiles after the other.
    weights: Vec<Lanes>,
    /// The map in groups of eight points, coordinate by coordinate.
    coordinates: Vec<Lanes>,
    parts: Vec<TileRows>,
}

/// A range of rows of tiles, with its sums.
struct TileRows {
    tiles: Range<usize>,
    /// For each group of eight points, from the first of the rows on: the attraction by coordinate, then the repulsion.
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
        // Parts with equal numbers of tiles. They depend only on the number of points, and so does the order of summation.
        let count = (groups / MIN_TILE_ROWS).clamp(1, MAX_PARTS);
        let ends: Vec<usize> = (0..=count)
            .map(|part| (0..groups).find(|&g| first_tile(g, groups) * count >= part * first_tile(groups, groups)))
            .map(|end| end.unwrap_or(groups))
            .collect();
        let parts = ends.windows(2).map(|ends| TileRows { tiles: ends[0]..ends[1], sums: Vec::new() }).collect();
        Self { weights, coordinates: Vec::new(), parts }
    }

    /// Writes `sum_j P_ij S_ij (y_i - y_j)` and `-sum_j K_ij S_ij (y_i - y_j)`, side by side for each point; returns `c1, c2`.
    pub fn sums(&mut self, y: Points, similarity: SimilarityKernel, out: &mut [f64]) -> [f64; 2] {
        let (d, groups) = (y.dim(), y.rows().div_ceil(LANES));
        let Self { weights, coordinates, parts } = self;
        coordinates.clear();
        coordinates.resize(groups * d, std::array::from_fn(|l| PADDING_DISTANCE * (l + 1) as f64));
        for (i, row) in y.values().chunks_exact(d).enumerate() {
            row.iter().enumerate().for_each(|(c, v)| coordinates[i / LANES * d + c][i % LANES] = *v);
        }
        let (weights, coordinates) = (&weights[..], &coordinates[..]);
        let of_parts = parts.par_iter_mut().map(|part| {
            part.sums.clear();
            part.sums.resize((groups - part.tiles.start) * 2 * d, [0.0; LANES]);
            let mut entropies = [0.0; 2];
            for row in part.tiles.clone() {
                let weights = &weights[first_tile(row, groups) * LANES..first_tile(row + 1, groups) * LANES];
                let (coordinates, sums) = (&coordinates[row * d..], &mut part.sums[(row - part.tiles.start) * 2 * d..]);
                let found = dispatch_by_kernel!(row_of_tiles, y, similarity, (weights, coordinates, d, sums));
                (0..2).for_each(|e| entropies[e] += found[e]);
            }
            entropies
        });
        let entropies = sum_in_order(of_parts.collect());
        let parts = &parts[..];
        out.par_chunks_mut(LANES * 2 * d).with_min_len(MIN_TILE_ROWS).enumerate().for_each(|(group, out)| {
            out.fill(0.0);
            for part in parts.iter().take_while(|part| part.tiles.start <= group) {
                let sums = &part.sums[(group - part.tiles.start) * 2 * d..][..2 * d];
                for (l, out) in out.chunks_exact_mut(2 * d).enumerate() {
                    out.iter_mut().zip(sums).for_each(|(out, sums)| *out += sums[l]);
                }
            }
            out.chunks_exact_mut(d).skip(1).step_by(2).flatten().for_each(|repulsion| *repulsion = -*repulsion);
        });
        entropies
    }
}

/// Returns the number of tiles before a row of tiles, of `groups` rows in total.
fn first_tile(row: usize, groups: usize) -> usize {
    row * groups - row * row.saturating_sub(1) / 2
}

/// Adds the sums of one row of tiles; `coordinates` and `sums` begin with its own eight points. Returns `sum P K` and
/// `sum K^2` over ordered pairs.
#[simd_dispatch]
fn row_of_tiles<const D: usize, const T: bool>(
    weights: &[Lanes],
    coordinates: &[Lanes],
    dim: usize,
    sums: &mut [Lanes],
) -> [f64; 2] {
    let mut found = [0.0; 2];
    for first in (0..LANES).step_by(ROWS) {
        let [own, others] = if D == 0 {
            any_dim_rows::<T>(weights, coordinates, dim, first, sums)
        } else {
            fixed_dim_rows::<D, T>(weights, coordinates, first, sums)
        };
        // The diagonal tile contains each pair in both orders.
        (0..2).for_each(|e| found[e] += sum_lanes(&own[e]) + 2.0 * sum_lanes(&others[e]));
    }
    found
}

/// Returns the coefficients of attraction and repulsion between one point and eight others; adds to the entropies. With `OWN`,
/// the point is number `row` of the eight. Each operation has its own loop: with several in one loop, the compiler would
/// vectorize across the operations.
#[inline(always)]
fn coefficients<const T: bool, const OWN: bool>(
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
fn sum_lanes_inline(lanes: &Lanes) -> f64 {
    let [a, b, c, d, e, f, g, h] = *lanes;
    ((a + b) + (c + d)) + ((e + f) + (g + h))
}

/// [`sum_lanes_inline`] out of line: if it were inlined, its pairs of lanes would make the compiler use vectors of two in the
/// preceding loops.
#[inline(never)]
fn sum_lanes(lanes: &Lanes) -> f64 {
    sum_lanes_inline(lanes)
}

/// Adds the sums of `ROWS` rows of a row of tiles, in `D` dimensions; returns the entropies of the diagonal tile and of the
/// others.
#[inline(always)]
fn fixed_dim_rows<const D: usize, const T: bool>(
    weights: &[Lanes],
    coordinates: &[Lanes],
    first: usize,
    sums: &mut [Lanes],
) -> [[Lanes; 2]; 2] {
    let (mut own, mut others) = ([[0.0; LANES]; 2], [[0.0; LANES]; 2]);
    let here: [[f64; D]; ROWS] = std::array::from_fn(|r| std::array::from_fn(|c| coordinates[c][first + r]));
    let mut rows = [[[[0.0; LANES]; D]; 2]; ROWS];
    let (weights, other_weights) = weights.split_at(LANES);
    let (coordinates, other_places) = coordinates.split_at(D);
    let (sums, other_sums) = sums.split_at_mut(2 * D);
    let mut columns = [[[0.0; LANES]; D]; 2];
    tile::<D, T, true>(&here, coordinates, &weights[first..][..ROWS], first, &mut rows, &mut columns, &mut own);
    let tiles = other_weights.chunks_exact(LANES).zip(other_places.chunks_exact(D.max(1)));
    for ((weights, coordinates), sums) in tiles.zip(other_sums.chunks_exact_mut(2 * D.max(1))) {
        columns = std::array::from_fn(|e| std::array::from_fn(|c| sums[e * D + c]));
        let weights = &weights[first..][..ROWS];
        tile::<D, T, false>(&here, coordinates, weights, first, &mut rows, &mut columns, &mut others);
        columns.as_flattened().iter().zip(sums).for_each(|(from, to)| *to = *from);
    }
    for (r, rows) in rows.iter().enumerate() {
        rows.as_flattened().iter().zip(&mut *sums).for_each(|(from, to)| to[first + r] += sum_lanes(from));
    }
    [own, others]
}

/// Adds the sums of `ROWS` rows of one tile. The diagonal tile, with `OWN`, contains each pair in both orders, so that only
/// the rows' sums are updated.
#[inline(always)]
fn tile<const D: usize, const T: bool, const OWN: bool>(
    here: &[[f64; D]; ROWS],
    coordinates: &[Lanes],
    weights: &[Lanes],
    first: usize,
    rows: &mut [[[Lanes; D]; 2]; ROWS],
    columns: &mut [[Lanes; D]; 2],
    entropies: &mut [Lanes; 2],
) {
    for r in 0..ROWS {
        let (mut differences, mut squares) = ([[0.0; LANES]; D], [0.0; LANES]);
        for c in 0..D {
            for l in 0..LANES {
                differences[c][l] = here[r][c] - coordinates[c][l];
                squares[l] += differences[c][l] * differences[c][l];
            }
        }
        let forces = coefficients::<T, OWN>(&squares, &weights[r], first + r, entropies);
        for e in 0..2 {
            for c in 0..D {
                for l in 0..LANES {
                    let force = forces[e][l] * differences[c][l];
                    rows[r][e][c][l] += force;
                    if !OWN {
                        columns[e][c][l] -= force;
                    }
                }
            }
        }
    }
}

/// Like [`fixed_dim_rows`], in any number of dimensions.
#[inline(always)]
fn any_dim_rows<const T: bool>(
    weights: &[Lanes],
    coordinates: &[Lanes],
    dim: usize,
    first: usize,
    sums: &mut [Lanes],
) -> [[Lanes; 2]; 2] {
    let (mut own, mut others) = ([[0.0; LANES]; 2], [[0.0; LANES]; 2]);
    let here = &coordinates[..dim];
    for row in first..first + ROWS {
        for (tile, (weights, coordinates)) in weights.chunks_exact(LANES).zip(coordinates.chunks_exact(dim)).enumerate()
        {
            let mut squares = [0.0; LANES];
            for (here, there) in here.iter().zip(coordinates) {
                (0..LANES).for_each(|l| squares[l] += (here[row] - there[l]) * (here[row] - there[l]));
            }
            let forces = if tile == 0 {
                coefficients::<T, true>(&squares, &weights[row], row, &mut own)
            } else {
                coefficients::<T, false>(&squares, &weights[row], row, &mut others)
            };
            for (e, forces) in forces.iter().enumerate() {
                for c in 0..dim {
                    let force: Lanes = std::array::from_fn(|l| forces[l] * (here[c][row] - coordinates[c][l]));
                    sums[e * dim + c][row] += sum_lanes_inline(&force);
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
