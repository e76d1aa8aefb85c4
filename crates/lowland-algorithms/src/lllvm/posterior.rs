//! The fitted posterior: uncertainty of places, samples, and what is kept in a model.

use rayon::prelude::*;

use lowland_core::archive::Archive;
use lowland_core::{Embedding, Result, Seed};
use lowland_linalg::dense::Cholesky;

/// A symmetric matrix in single precision: the upper triangle, row after row.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Packed {
    side: usize,
    values: Vec<f32>,
}

impl Packed {
    pub fn new(matrix: &[f64], side: usize) -> Self {
        let rows = matrix.chunks_exact(side.max(1)).enumerate();
        Self { side, values: rows.flat_map(|(a, row)| row[a..].iter().map(|&v| v as f32)).collect() }
    }

    pub fn get(&self, a: usize, b: usize) -> f64 {
        let (a, b) = (a.min(b), a.max(b));
        // Rows before a have side, side - 1, ... entries.
        f64::from(self.values[a * (2 * self.side + 1 - a) / 2 + b - a])
    }

    fn load(name: &str, archive: &Archive, side: usize) -> Result<Self> {
        let values = archive.f32s(name)?.to_vec();
        let fits = side.checked_mul(side + 1).is_some_and(|twice| values.len() == twice / 2);
        let good = fits && values.iter().all(|v| v.is_finite());
        let packed = Self { side, values };
        if good && (0..side).all(|a| packed.get(a, a) >= 0.0) {
            return Ok(packed);
        }
        Err(archive.bad(format!("'{name}' is not a covariance")))
    }
}

/// What a posterior is of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Numbers {
    /// Dimensions of the map.
    pub dim: usize,
    /// The precision of the data.
    pub gamma: f64,
    /// The precision of the prior of the places.
    pub alpha: f64,
    /// The bound on the evidence.
    pub bound: f64,
}

/// Gaussian posteriors of the places and of the maps. The covariance of the places is given all places' mean, which
/// the data say nothing about.
#[derive(Debug, Clone, PartialEq)]
pub struct Posterior {
    pub(super) numbers: Numbers,
    pub(super) n: usize,
    pub(super) columns: usize,
    /// The means of the places, point after point.
    pub(super) places: Vec<f64>,
    /// The means of the maps: row `r n + i` is column `r` of `C_i`.
    pub(super) maps: Vec<f32>,
    pub(super) place_covariance: Packed,
    pub(super) map_covariance: Packed,
    /// The covariance of each place, rotations of all taken out too.
    own: Vec<f64>,
}

impl Posterior {
    /// From means and covariances, coordinate after coordinate.
    pub(super) fn new(
        numbers: Numbers,
        places: &[f64],
        place_covariance: &[f64],
        maps: &[f64],
        map_covariance: &[f64],
    ) -> Result<Self> {
        let side = places.len();
        let n = side / numbers.dim;
        let mut centred = place_covariance.to_vec();
        remove_translation(&mut centred, n);
        let by_point = (0..side).map(|at| places[at % numbers.dim * n + at / numbers.dim]).collect();
        let mut posterior = Self {
            numbers,
            n,
            columns: maps.len() / side,
            places: by_point,
            maps: maps.iter().map(|&v| v as f32).collect(),
            place_covariance: Packed::new(&centred, side),
            map_covariance: Packed::new(map_covariance, side),
            own: Vec::new(),
        };
        posterior.own = posterior.covariances_of_places();
        Ok(posterior)
    }

    /// All points in one place, of which nothing is known.
    pub fn flat(n: usize, columns: usize, dim: usize) -> Self {
        let side = n * dim;
        let zeros = Packed { side, values: vec![0.0; side * (side + 1) / 2] };
        Self {
            numbers: Numbers { dim, gamma: 1.0, alpha: 1.0, bound: 0.0 },
            n,
            columns,
            places: vec![0.0; side],
            maps: vec![0.0; side * columns],
            place_covariance: zeros.clone(),
            map_covariance: zeros,
            own: vec![0.0; side * dim],
        }
    }

    /// Dimension, parameters and bound.
    pub fn numbers(&self) -> Numbers {
        self.numbers
    }

    /// The means of the places.
    pub fn embedding(&self) -> Embedding {
        Embedding::new(self.places.clone(), self.numbers.dim).expect("whole rows")
    }

    /// The covariance of each place, `dim x dim`, point after point; moving or turning the whole map does not count.
    pub fn covariances(&self) -> &[f64] {
        &self.own
    }

    /// Numbers that a place and a map have together.
    pub fn freedom(&self) -> usize {
        self.numbers.dim * (1 + self.columns)
    }

    /// `E|x_i - x_j|^2 + E|C_i - C_j|^2`.
    pub fn expected_difference(&self, i: usize, j: usize) -> f64 {
        let (n, dim) = (self.n, self.numbers.dim);
        let coordinate = |r: usize| {
            let (a, b) = (r * n + i, r * n + j);
            let variance = |packed: &Packed| packed.get(a, a) + packed.get(b, b) - 2.0 * packed.get(a, b);
            let places =
                (self.places[i * dim + r] - self.places[j * dim + r]).powi(2) + variance(&self.place_covariance);
            let rows = self.maps[a * self.columns..][..self.columns].iter().zip(&self.maps[b * self.columns..]);
            let maps: f64 = rows.map(|(p, q)| f64::from(p - q).powi(2)).sum();
            places + maps + self.columns as f64 * variance(&self.map_covariance)
        };
        (0..dim).map(coordinate).sum()
    }

    /// The standard deviation of each place along a coordinate, on average.
    pub fn std(&self) -> Vec<f64> {
        deviations(&self.own, self.numbers.dim)
    }

    /// `(I - QQ') Sigma (I - QQ')` for each point, `Q` the directions in which the map turns.
    fn covariances_of_places(&self) -> Vec<f64> {
        let (n, dim) = (self.n, self.numbers.dim);
        let side = n * dim;
        let turns = self.rotations();
        let sigma = &self.place_covariance;
        let turned: Vec<Vec<f64>> = turns
            .iter()
            .map(|turn| (0..side).into_par_iter().map(|a| (0..side).map(|b| sigma.get(a, b) * turn[b]).sum()).collect())
            .collect();
        let inner: Vec<Vec<f64>> =
            turns.iter().map(|turn| turned.iter().map(|other| dot(turn, other)).collect()).collect();
        let entry = |at: usize| {
            let (i, r, s) = (at / (dim * dim), at / dim % dim, at % dim);
            let (a, b) = (r * n + i, s * n + i);
            let mut value = sigma.get(a, b);
            for (p, turn) in turns.iter().enumerate() {
                value -= turn[a] * turned[p][b] + turned[p][a] * turn[b];
                value += turns.iter().zip(&inner[p]).map(|(other, inner)| turn[a] * inner * other[b]).sum::<f64>();
            }
            value
        };
        (0..side * dim).into_par_iter().map(entry).collect()
    }

    /// Orthonormal directions of small rotations of the map, one for each pair of coordinates.
    fn rotations(&self) -> Vec<Vec<f64>> {
        let (n, dim) = (self.n, self.numbers.dim);
        let mut turns: Vec<Vec<f64>> = Vec::new();
        for r in 0..dim {
            for s in r + 1..dim {
                let mut turn = vec![0.0; n * dim];
                for i in 0..n {
                    turn[r * n + i] = -self.places[i * dim + s];
                    turn[s * n + i] = self.places[i * dim + r];
                }
                let before = dot(&turn, &turn);
                for other in &turns {
                    let along = dot(&turn, other);
                    turn.iter_mut().zip(other).for_each(|(t, o)| *t -= along * o);
                }
                let left = dot(&turn, &turn);
                if left > 1e-12 * before && left > 0.0 {
                    turn.iter_mut().for_each(|t| *t /= left.sqrt());
                    turns.push(turn);
                }
            }
        }
        turns
    }

    /// Bytes that [`Posterior::samples`] needs: the covariance and its factor, both whole, and the maps.
    pub fn samples_memory(&self, count: usize) -> u64 {
        let side = (self.n * self.numbers.dim) as u64;
        side.saturating_mul(side).saturating_mul(16).saturating_add((count as u64).saturating_mul(side * 24))
    }

    /// Maps drawn from the posterior, all with the same mean.
    pub fn samples(&self, count: usize, seed: Seed) -> Result<Vec<Embedding>> {
        let (n, dim) = (self.n, self.numbers.dim);
        let side = n * dim;
        // The direction that was taken out must not be flat; it is taken out of the samples again.
        let fill = (0..side).map(|a| self.place_covariance.get(a, a)).sum::<f64>() / side as f64;
        // All rows are equal, or there is one: nothing is uncertain.
        if fill == 0.0 {
            return vec![self.embedding(); count].into_iter().map(Ok).collect();
        }
        let entry = |at: usize| {
            let (a, b) = (at / side, at % side);
            self.place_covariance.get(a, b) + if a / n == b / n { fill / n as f64 } else { 0.0 }
        };
        let factor = Cholesky::new(&(0..side * side).map(entry).collect::<Vec<_>>(), side)?;
        let sample = |index: usize| {
            let mut values = factor.multiply(&seed.item(index).normals(side));
            values.chunks_exact_mut(n).for_each(|part| {
                let mean = part.iter().sum::<f64>() / n as f64;
                part.iter_mut().for_each(|v| *v -= mean);
            });
            let place = |at: usize| self.places[at] + values[at % dim * n + at / dim];
            Embedding::new((0..side).map(place).collect(), dim)
        };
        (0..count).into_par_iter().map(sample).collect()
    }

    /// Writes it under `lllvm/`.
    pub fn save(&self, archive: &mut Archive) {
        let Numbers { gamma, alpha, bound, .. } = self.numbers;
        archive.put("lllvm/numbers", vec![gamma, alpha, bound]);
        archive.put("lllvm/places", self.places.as_slice());
        archive.put("lllvm/maps", self.maps.as_slice());
        archive.put("lllvm/place_covariance", self.place_covariance.values.as_slice());
        archive.put("lllvm/map_covariance", self.map_covariance.values.as_slice());
    }

    /// Reads it back: a model of `n` points of `columns` columns in `dim` dimensions.
    pub fn load(archive: &Archive, n: usize, columns: usize, dim: usize) -> Result<Self> {
        let bad = |reason: &str| archive.bad(reason.into());
        let &[gamma, alpha, bound] = archive.finite("lllvm/numbers")? else {
            return Err(bad("'lllvm/numbers' should hold three numbers"));
        };
        let (places, maps) = (archive.finite("lllvm/places")?.to_vec(), archive.f32s("lllvm/maps")?.to_vec());
        let side = places.len();
        let fits = Some(side) == n.checked_mul(dim) && Some(maps.len()) == side.checked_mul(columns) && side > 0;
        if !(fits && gamma > 0.0 && alpha > 0.0 && maps.iter().all(|v| v.is_finite())) {
            return Err(bad("the parts of the model differ in size"));
        }
        let mut posterior = Self {
            numbers: Numbers { dim, gamma, alpha, bound },
            n,
            columns,
            places,
            maps,
            place_covariance: Packed::load("lllvm/place_covariance", archive, side)?,
            map_covariance: Packed::load("lllvm/map_covariance", archive, side)?,
            own: Vec::new(),
        };
        posterior.own = posterior.covariances_of_places();
        Ok(posterior)
    }
}

/// From `dim x dim` covariances to standard deviations along a coordinate, on average.
pub(super) fn deviations(covariances: &[f64], dim: usize) -> Vec<f64> {
    let one = |cov: &[f64]| (cov.iter().step_by(dim + 1).sum::<f64>().max(0.0) / dim as f64).sqrt();
    covariances.chunks_exact(dim * dim).map(one).collect()
}

/// Takes the mean of all places out of their covariance: its variance, `1 / alpha`, is the prior's.
fn remove_translation(covariance: &mut [f64], n: usize) {
    let side = (covariance.len() as f64).sqrt().round() as usize;
    let shares: Vec<f64> = covariance.par_chunks(n).map(|part| part.iter().sum::<f64>() / n as f64).collect();
    let blocks = side / n;
    // The mean of each block's rows, by block and column, which by symmetry is that of its columns.
    let whole: Vec<f64> = (0..blocks * blocks)
        .map(|at| (0..n).map(|i| shares[(at / blocks * n + i) * blocks + at % blocks]).sum::<f64>() / n as f64)
        .collect();
    covariance.par_chunks_mut(side).enumerate().for_each(|(a, row)| {
        for (b, value) in row.iter_mut().enumerate() {
            let (block, other) = (a / n, b / n);
            *value += whole[block * blocks + other] - shares[a * blocks + other] - shares[b * blocks + block];
        }
    });
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
