//! Preservation of local density: the correlation between the local radii of the rows and those of their points on the map
//! (Narayan, Berger & Cho 2021: den-SNE and densMAP).
//!
//! With the affinities `p` of the rows, their distances `D`, squared distances `s` on the map and similarities `q(s)`, the local
//! radii are
//!
//! ```text
//! ln sum_j p_ij D_ij^2 / sum_j p_ij        and        ln (sum_j q_ij s_ij / sum_j q_ij + 1e-8),
//! ```
//!
//! where both sums are over the neighbors of the row. The radius on the map is a function of few distances, so value and gradient
//! take two passes over the edges.

use rayon::prelude::*;

use lowland_core::archive::Archive;
use lowland_core::{Points, Result};
use lowland_linalg::Csr;
use lowland_neighbors::NeighborGraph;
use lowland_neighbors::graph::edge_lengths;

use crate::objective::squared_distance;
use crate::similarity_curve::SimilarityCurve;

/// Rows per task: fixed, because the order of summation depends on it.
const ROWS: usize = 256;
/// Keeps the logarithm finite where points coincide.
const SMALLEST: f64 = 1e-8;

/// Entry of checkpoints: whether density is preserved.
const ACTIVE: &str = "objective/density";

/// The logarithms of the local radii of all rows.
#[derive(Debug, Clone, PartialEq)]
pub struct LocalRadii {
    /// In the data.
    pub original: Vec<f64>,
    /// On the map.
    pub embedding: Vec<f64>,
}

/// How strongly density is preserved.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DensityParams {
    /// Factor of the correlation in the objective.
    pub weight: f64,
    /// Share of the iterations, at the end, in which the term takes part.
    pub share: f64,
    /// Added to the variance of the radii on the map, so that the term does not depend on small differences.
    pub shift: f64,
}

/// The correlation of local radii as a function of the map.
pub struct DensityTerm {
    starts: Vec<usize>,
    columns: Vec<u32>,
    /// Logarithms of the local radii of the data.
    original: Vec<f64>,
    /// The same with mean zero and variance one; zeros if they are all equal.
    standardized: Vec<f64>,
    curve: SimilarityCurve,
    params: DensityParams,
    rows: Vec<RadiusTerms>,
}

/// What the gradient needs of a row.
#[derive(Debug, Clone, Copy, Default)]
struct RadiusTerms {
    /// Sums of `q s` and `q` over the neighbors.
    sums: [f64; 2],
    /// Logarithm of the radius.
    log_radius: f64,
    /// Derivative of the correlation by it.
    slope: f64,
}

impl LocalRadii {
    /// Returns the correlation of the radii.
    pub fn correlation(&self) -> f64 {
        let (a, b) = (standardize(&self.original), standardize(&self.embedding));
        a.iter().zip(&b).map(|(a, b)| a * b).sum::<f64>() / a.len().max(1) as f64
    }
}

impl DensityParams {
    /// Returns the number of the first iteration, counted from 1, of `iterations` in which the term takes part.
    pub fn first_iteration(&self, iterations: usize) -> usize {
        iterations - (self.share * iterations as f64).round().min(iterations as f64) as usize + 1
    }
}

impl DensityTerm {
    /// Creates the term for rows with symmetric affinities `weights`, and their distances along the same edges as `lengths` (see
    /// [`symmetric_lengths`]). The similarity of points on the map is that of the curve.
    pub fn new(weights: &Csr, lengths: &Csr, curve: SimilarityCurve, params: DensityParams) -> Self {
        let n = weights.rows();
        // In units of the largest, so that squares neither underflow nor overflow and the unit of the data does not matter.
        let unit = lengths.values().iter().copied().fold(0.0, f64::max).max(f64::MIN_POSITIVE);
        let radius = |i: usize| {
            let (columns, values) = weights.row(i);
            let (mut squares, mut total) = (0.0, 0.0);
            for (&j, &p) in columns.iter().zip(values) {
                squares += p * (lengths.get(i, j as usize) / unit).powi(2);
                total += p;
            }
            if total > 0.0 { squares / total } else { 0.0 }
        };
        let squares: Vec<f64> = (0..n).into_par_iter().with_min_len(ROWS).map(radius).collect();
        // Duplicates have a radius of zero. They count as the densest of the others.
        let least = squares.iter().copied().filter(|&square| square > 0.0).fold(f64::INFINITY, f64::min);
        let least = if least.is_finite() { least } else { 1.0 };
        let relative: Vec<f64> = squares.iter().map(|square| square.max(least).ln()).collect();
        let standardized = standardize(&relative);
        let original = relative.iter().map(|radius| radius + 2.0 * unit.ln()).collect();
        Self {
            starts: weights.indptr().to_vec(),
            columns: weights.indices().to_vec(),
            original,
            standardized,
            curve,
            params,
            rows: vec![RadiusTerms::default(); n],
        }
    }

    /// Returns the parameters.
    pub fn params(&self) -> DensityParams {
        self.params
    }

    /// Returns the radii of the rows and of the points of a map.
    pub fn radii(&mut self, y: Points) -> LocalRadii {
        self.compute_radii(y);
        LocalRadii { original: self.original.clone(), embedding: self.rows.iter().map(|row| row.log_radius).collect() }
    }

    /// Adds `-factor` times the gradient of the correlation at `y` to `out`; returns the correlation.
    pub fn add_gradient(&mut self, y: Points, factor: f64, out: &mut [f64]) -> f64 {
        let n = self.rows.len() as f64;
        self.compute_radii(y);
        let mean = self.rows.iter().map(|row| row.log_radius).sum::<f64>() / n;
        let variance = self.rows.iter().map(|row| (row.log_radius - mean).powi(2)).sum::<f64>() / n;
        let deviation = (variance + self.params.shift).sqrt().max(f64::MIN_POSITIVE);
        let terms = self.rows.iter().zip(&self.standardized);
        let covariance = terms.map(|(row, r)| r * (row.log_radius - mean)).sum::<f64>() / n;
        for (row, r) in self.rows.iter_mut().zip(&self.standardized) {
            row.slope = (r - covariance / deviation.powi(2) * (row.log_radius - mean)) / (n * deviation);
        }
        let (d, this) = (y.dim(), &*self);
        out.par_chunks_mut(ROWS * d).enumerate().for_each(|(chunk, out)| {
            for (at, out) in out.chunks_exact_mut(d).enumerate() {
                let i = chunk * ROWS + at;
                for &j in this.neighbors(i) {
                    let (a, b) = (y.row(i), y.row(j as usize));
                    let s = squared_distance(a, b);
                    let (q, slope) = this.similarity(s);
                    let by = |row: &RadiusTerms| {
                        let [squares, total] = row.sums;
                        let ratio = squares / total;
                        row.slope * (q + slope * s - ratio * slope) / (total * (ratio + SMALLEST))
                    };
                    let force = -2.0 * factor * (by(&this.rows[i]) + by(&this.rows[j as usize]));
                    out.iter_mut().zip(a.iter().zip(b)).for_each(|(out, (a, b))| *out += force * (a - b));
                }
            }
        });
        covariance / deviation
    }

    fn neighbors(&self, i: usize) -> &[u32] {
        &self.columns[self.starts[i]..self.starts[i + 1]]
    }

    /// Returns the similarity at a squared distance, and its derivative.
    #[inline(always)]
    fn similarity(&self, s: f64) -> (f64, f64) {
        let SimilarityCurve { a, b } = self.curve;
        if b == 1.0 {
            let q = 1.0 / (1.0 + a * s);
            return (q, -a * q * q);
        }
        // The derivative of points at one place is infinite for b < 1; their difference is zero.
        let s = s.max(SMALLEST);
        let power = s.powf(b);
        let q = 1.0 / (1.0 + a * power);
        (q, -a * b * power / s * q * q)
    }

    fn compute_radii(&mut self, y: Points) {
        let mut rows = std::mem::take(&mut self.rows);
        rows.par_chunks_mut(ROWS).enumerate().for_each(|(chunk, rows)| {
            for (at, row) in rows.iter_mut().enumerate() {
                let i = chunk * ROWS + at;
                let mut sums = [0.0; 2];
                for &j in self.neighbors(i) {
                    let s = squared_distance(y.row(i), y.row(j as usize));
                    let q = self.similarity(s).0;
                    sums[0] += q * s;
                    sums[1] += q;
                }
                // A row without neighbors has a radius of one and no gradient.
                row.sums = if sums[1] > 0.0 { sums } else { [1.0, 1.0] };
                row.log_radius = (row.sums[0] / row.sums[1] + SMALLEST).ln();
            }
        });
        self.rows = rows;
    }
}

/// The preservation of density in an objective, in the last iterations.
pub struct ScheduledDensity {
    term: DensityTerm,
    first_iteration: usize,
    is_active: bool,
}

impl ScheduledDensity {
    /// Subtracts the correlation of local radii, times its weight, in the last of at most `max_iter` iterations; never if the weight is
    /// zero, where only radii are wanted.
    pub fn new(term: DensityTerm, max_iter: usize) -> Self {
        let first_iteration = term.params.first_iteration(max_iter);
        Self { term, first_iteration, is_active: false }
    }

    /// Returns the local radii of the rows and of the points of a map.
    pub fn radii(&mut self, y: Points) -> LocalRadii {
        self.term.radii(y)
    }

    /// Called before every iteration, the first of which is 1. Returns whether the objective changes.
    pub fn begin_iteration(&mut self, iteration: usize) -> bool {
        let is_active = self.term.params.weight > 0.0 && iteration >= self.first_iteration;
        std::mem::replace(&mut self.is_active, is_active) != is_active
    }

    /// Whether density is not preserved yet.
    pub fn is_pending(&self) -> bool {
        self.term.params.weight > 0.0 && !self.is_active
    }

    /// Adds the gradient of the term to `out` and returns its value, if density is preserved at this iteration.
    pub fn add_gradient(&mut self, y: Points, out: &mut [f64]) -> f64 {
        let weight = self.term.params.weight;
        if self.is_active { -weight * self.term.add_gradient(y, weight, out) } else { 0.0 }
    }

    /// Writes whether density is preserved to a checkpoint.
    pub fn save(&self, archive: &mut Archive) {
        archive.put(ACTIVE, u64::from(self.is_active));
    }

    /// Restores what [`ScheduledDensity::save`] has written.
    pub fn restore(&mut self, archive: &Archive) -> Result<()> {
        self.is_active = archive.number(ACTIVE)? != 0;
        Ok(())
    }
}

/// Returns the distances of a neighbor graph in both directions.
pub fn symmetric_lengths(graph: &NeighborGraph) -> Result<Csr> {
    let lengths = edge_lengths(graph)?;
    lengths.merge(&lengths.transpose(), |a, b| a.or(b))
}

/// Returns the numbers with mean zero and variance one. Equal numbers become zeros.
fn standardize(values: &[f64]) -> Vec<f64> {
    let n = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / n;
    let deviation = (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n).sqrt();
    let scale = if deviation > 1e-12 * mean.abs() { 1.0 / deviation } else { 0.0 };
    values.iter().map(|v| (v - mean) * scale).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use lowland_core::Seed;

    fn term(n: usize, curve: SimilarityCurve) -> DensityTerm {
        let edges = |value: fn(u32, u32) -> f64| {
            let pairs = (0..n as u32).flat_map(move |i| (1..=4).map(move |k| (i, (i * 3 + k * k) % n as u32)));
            let both = pairs.filter(|(i, j)| i != j).flat_map(move |(i, j)| [(i, j), (j, i)]);
            let mut all: Vec<(u32, u32)> = both.collect();
            all.sort_unstable();
            all.dedup();
            Csr::from_triplets(n, n, all.into_iter().map(|(i, j)| (i, j, value(i, j)))).unwrap()
        };
        let weights = edges(|i, j| 0.1 + f64::from((i * j + i + j) % 5));
        let lengths = edges(|i, j| 1.0 + f64::from((i + j) % 7) * if (i * j) % 3 == 0 { 2.0 } else { 0.3 });
        DensityTerm::new(&weights, &lengths, curve, DensityParams { weight: 1.0, share: 1.0, shift: 0.1 })
    }

    #[test]
    fn the_gradient_is_that_of_the_correlation() {
        let n = 30;
        for (d, curve) in [(2, SimilarityCurve { a: 1.0, b: 1.0 }), (3, SimilarityCurve { a: 1.6, b: 0.9 })] {
            let mut term = term(n, curve);
            let y = Seed(d as u64).normals(n * d);
            let mut gradient = vec![0.0; n * d];
            term.add_gradient(Points::new(&y, d).unwrap(), 1.5, &mut gradient);
            let largest = gradient.iter().fold(0.0f64, |most, g| most.max(g.abs()));
            assert!(largest > 1e-3, "{largest}");
            for at in 0..n * d {
                let mut value = |step: f64| {
                    let mut moved = y.clone();
                    moved[at] += step;
                    -1.5 * term.add_gradient(Points::new(&moved, d).unwrap(), 0.0, &mut vec![0.0; n * d])
                };
                let difference = (value(1e-5) - value(-1e-5)) / 2e-5;
                assert!((difference - gradient[at]).abs() < 1e-7 * largest.max(1.0), "{difference} {}", gradient[at]);
            }
        }
    }

    #[test]
    fn the_value_is_the_correlation_up_to_the_shift() {
        let n = 30;
        let mut term = term(n, SimilarityCurve { a: 1.0, b: 1.0 });
        term.params.shift = 0.0;
        let y = Seed(5).normals(n * 2);
        let y = Points::new(&y, 2).unwrap();
        let value = term.add_gradient(y, 0.0, &mut vec![0.0; 2 * n]);
        let radii = term.radii(y);
        assert!((value - radii.correlation()).abs() < 1e-12);
        // By hand, for one row.
        let near = term.neighbors(4).iter().map(|&j| squared_distance(y.row(4), y.row(j as usize)));
        let (squares, total) = near.fold((0.0, 0.0), |(a, b), s| (a + s / (1.0 + s), b + 1.0 / (1.0 + s)));
        assert!((radii.embedding[4] - (squares / total + SMALLEST).ln()).abs() < 1e-12);
    }

    #[test]
    fn equal_radii_and_points_at_one_place_have_no_force() {
        let weights = Csr::from_triplets(3, 3, [(0, 1, 1.0), (1, 0, 1.0), (1, 2, 1.0), (2, 1, 1.0)]).unwrap();
        let params = DensityParams { weight: 1.0, share: 0.3, shift: 0.1 };
        let mut term = DensityTerm::new(&weights, &weights, SimilarityCurve { a: 1.0, b: 0.8 }, params);
        for y in [[0.0, 1.0, 3.0], [2.0, 2.0, 2.0]] {
            let mut gradient = [0.0; 3];
            assert_eq!(term.add_gradient(Points::new(&y, 1).unwrap(), 1.0, &mut gradient), 0.0);
            assert_eq!(gradient, [0.0; 3]);
        }
        assert_eq!([params.first_iteration(100), params.first_iteration(1)], [71, 2]);
        assert_eq!(DensityParams { share: 1.0, ..params }.first_iteration(100), 1);
    }
}
