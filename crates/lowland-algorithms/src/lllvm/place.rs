//! New rows on the map, and rows for points of the map, all else frozen.
//!
//! A new point with `k` neighbours among the fitted ones adds a node to the graph. Given everything else, the model has
//! its row normal with mean `1/k sum_j [y_j + (C_j + C)(x - x_j) / 2]` and precision `2 gamma k`, its place with mean near
//! the mean of its neighbours' and precision `alpha + 2 k`, its map with the mean of theirs and precision `2 k`. Places and
//! maps of the neighbours have the posterior of the fit, covariances included.

use super::posterior::{Packed, Posterior, deviations};
use super::problem::Rows;
use lowland_core::run::{Progress, in_batches};
use lowland_core::{Data, Embedding, Metric, Points, Result};
use lowland_linalg::dense::Cholesky;
use lowland_neighbors::{NeighborGraph, nearest_to_with};

/// New rows' posterior.
#[derive(Debug, Clone, PartialEq)]
pub struct Placing {
    /// The means of their places.
    pub embedding: Embedding,
    /// The covariance of each, `dim x dim`.
    pub covariances: Vec<f64>,
}

impl Placing {
    /// The standard deviation of each along a coordinate, on average.
    pub fn std(&self) -> Vec<f64> {
        deviations(&self.covariances, self.embedding.dim())
    }
}

/// Rows for points of the map.
#[derive(Debug, Clone, PartialEq)]
pub struct Rebuilt {
    /// The rows, in the data's units.
    pub rows: Vec<f32>,
    /// The standard deviation of every value, in the data's units.
    pub std: Vec<f32>,
}

/// Alternations between a new point's place and its map at the most; most need some ten.
const ROUNDS: usize = 50;
/// A new point rests when it moves by less than this share of its standard deviation.
const STILL: f64 = 1e-4;

impl Posterior {
    /// `q(x)` and `q(C)` of new rows, each given the fit alone. `graph` holds their neighbours among the fitted `rows`.
    pub fn place(&self, new: &Data, rows: &Rows, graph: &NeighborGraph, progress: &mut Progress) -> Result<Placing> {
        let one = |i: usize| self.settle(&rows.place(new, i), rows, graph.row(i).0);
        let placed = in_batches(new.rows(), progress, one)?;
        let means = placed.iter().flat_map(|(mean, _)| mean).copied().collect();
        let embedding = Embedding::new(means, self.numbers.dim)?;
        Ok(Placing { embedding, covariances: placed.into_iter().flat_map(|(_, covariance)| covariance).collect() })
    }

    /// Column `r` of the mean of the map of point `j`.
    fn map(&self, r: usize, j: usize) -> &[f32] {
        let row = r * self.n + j;
        &self.maps[row * self.columns..(row + 1) * self.columns]
    }

    /// The mean and the covariance of the place of a row, in the units of `rows`.
    pub(super) fn settle(&self, row: &[f64], rows: &Rows, near: &[u32]) -> (Vec<f64>, Vec<f64>) {
        let (dim, columns, gamma) = (self.numbers.dim, self.columns, self.numbers.gamma);
        let around = Around::new(self, rows, near);
        let (k, wide) = (near.len() as f64, columns as f64);
        let residual: Vec<f64> = row.iter().zip(&around.row).map(|(y, mean)| y - mean).collect();
        let (mut maps, mut map_covariance) = (around.map.clone(), around.typical.clone());
        let (mut place, mut covariance) = (around.place.clone(), vec![0.0; dim * dim]);
        for _ in 0..ROUNDS {
            let moved = std::mem::take(&mut place);
            // q(x): the maps of the point and of its neighbours add up.
            let both: Vec<f64> = maps.iter().zip(&around.map).map(|(own, mean)| own + mean).collect();
            let own = gram(&maps, &maps, dim);
            let mean_own = gram(&around.map, &maps, dim);
            let mut precision = gram(&both, &both, dim);
            let mut drive = vec![0.0; dim];
            for r in 0..dim {
                for s in 0..dim {
                    let at = r * dim + s;
                    precision[at] = 0.5 * gamma * k * (precision[at] + wide * (around.maps[at] + map_covariance[at]));
                    let shared = mean_own[at] + own[at] + wide * map_covariance[at];
                    drive[r] += 0.5 * gamma * k * shared * around.place[s];
                }
                precision[r * (dim + 1)] += self.numbers.alpha + 2.0 * k;
                let (map, residuals) = (&both[r * columns..(r + 1) * columns], &residual);
                let along: f64 = map.iter().zip(residuals).map(|(c, y)| c * y).sum();
                let map = &maps[r * columns..(r + 1) * columns];
                let carried: f64 = map.iter().zip(&around.carried).map(|(c, v)| c * v).sum();
                drive[r] += 2.0 * k * around.place[r] + gamma * k * along + 0.5 * gamma * (around.drive[r] + carried);
            }
            // A row so far from all others that its numbers drown: it stays where it was.
            let Ok(found) = Cholesky::new(&precision, dim) else {
                place = moved;
                break;
            };
            covariance = found.inverse();
            place = times(&covariance, &drive, dim);
            let change: f64 = place.iter().zip(&moved).map(|(a, b)| (a - b).powi(2)).sum();
            let size: f64 = covariance.iter().step_by(dim + 1).sum();
            if change <= STILL * STILL * size {
                break;
            }
            // q(C): its side of the same mean, with the offset from the neighbours' mean place.
            let offset: Vec<f64> = place.iter().zip(&around.place).map(|(x, mean)| x - mean).collect();
            let mut precision = vec![0.0; dim * dim];
            let mut pull = vec![0.0; dim * columns];
            for r in 0..dim {
                let pull = &mut pull[r * columns..(r + 1) * columns];
                for s in 0..dim {
                    let at = r * dim + s;
                    precision[at] = 0.5 * gamma * k * (covariance[at] + around.places[at] + offset[r] * offset[s]);
                    let moment = covariance[at] + place[s] * offset[r];
                    let map = &around.map[s * columns..(s + 1) * columns];
                    pull.iter_mut().zip(map).for_each(|(p, c)| *p -= 0.5 * gamma * k * moment * c);
                }
                precision[r * (dim + 1)] += 2.0 * k;
                let (map, spread) = (&around.map[r * columns..], &around.spread[r * columns..]);
                for c in 0..columns {
                    let carried = offset[r] * around.carried[c] - spread[c];
                    pull[c] += 2.0 * k * map[c] + gamma * k * offset[r] * residual[c] + 0.5 * gamma * carried;
                }
            }
            let Ok(found) = Cholesky::new(&precision, dim) else { break };
            map_covariance = found.inverse();
            for c in 0..columns {
                for r in 0..dim {
                    let row = &map_covariance[r * dim..(r + 1) * dim];
                    maps[r * columns + c] = row.iter().enumerate().map(|(s, v)| v * pull[s * columns + c]).sum();
                }
            }
        }
        (place, covariance)
    }

    /// Rows for points of the map: the mean of `y_i + C_i (x - x_i)` over the `n_neighbors` nearest places, with the
    /// standard deviation that the posterior of those and the precision of the data give it.
    pub fn rebuild(&self, points: Points, rows: &Rows, n_neighbors: usize, progress: &mut Progress) -> Result<Rebuilt> {
        let single = |values: &[f64]| Data::dense(values.iter().map(|&v| v as f32).collect(), self.numbers.dim);
        let (targets, places) = (single(points.values())?, single(&self.places)?);
        let k = n_neighbors.min(self.n);
        let graph = nearest_to_with(&targets, &places, k, Metric::Euclidean, &mut |done| progress(0.2 * done))?;
        let one = |i: usize| self.rebuild_one(points.row(i), rows, graph.row(i).0);
        let rebuilt = in_batches(points.rows(), &mut |done| progress(0.2 + 0.8 * done), one)?;
        let (mut values, mut std) = (Vec::new(), Vec::new());
        for (one, error) in rebuilt {
            values.extend(one);
            std.extend(error);
        }
        Ok(Rebuilt { rows: values, std })
    }

    fn rebuild_one(&self, point: &[f64], rows: &Rows, near: &[u32]) -> (Vec<f32>, Vec<f32>) {
        let (dim, columns, k) = (self.numbers.dim, self.columns, near.len() as f64);
        let entries: Vec<(usize, usize)> = near.iter().flat_map(|&j| (0..dim).map(move |r| (j as usize, r))).collect();
        let step: Vec<f64> = entries.iter().map(|&(j, r)| point[r] - self.places[j * dim + r]).collect();
        let index = |(j, r): (usize, usize)| r * self.n + j;
        // What is the same for all columns: noise, the maps' covariance at these steps, and both covariances together.
        let mut shared = 0.5 / (self.numbers.gamma * k);
        for (a, &here) in entries.iter().enumerate() {
            for (b, &there) in entries.iter().enumerate() {
                let maps = self.map_covariance.get(index(here), index(there));
                let places = self.place_covariance.get(index(here), index(there));
                shared += maps * (step[a] * step[b] + places) / (k * k);
            }
        }
        let (mut mean, mut own) = (vec![0.0; columns], vec![0.0; columns]);
        near.iter().for_each(|&j| add(&mut mean, 1.0 / k, rows.row(j as usize)));
        for (a, &here) in entries.iter().enumerate() {
            let map = self.map(here.1, here.0);
            mean.iter_mut().zip(map).for_each(|(m, &c)| *m += step[a] / k * f64::from(c));
            for &there in &entries {
                let places = self.place_covariance.get(index(here), index(there)) / (k * k);
                let other = self.map(there.1, there.0);
                own.iter_mut().zip(map.iter().zip(other)).for_each(|(v, (&p, &q))| *v += places * f64::from(p * q));
            }
        }
        let value = |(m, centre): (&f64, &f64)| (centre + rows.scale * m) as f32;
        let error = |own: &f64| (rows.scale * (shared + own).max(0.0).sqrt()) as f32;
        (mean.iter().zip(&rows.centre).map(value).collect(), own.iter().map(error).collect())
    }
}

/// Moments of a new point's neighbours.
struct Around {
    /// The mean of their rows.
    row: Vec<f64>,
    /// The mean of their places.
    place: Vec<f64>,
    /// The covariance of that mean.
    places: Vec<f64>,
    /// The mean of their maps, column after column.
    map: Vec<f64>,
    /// The covariance of that mean.
    maps: Vec<f64>,
    /// The mean of the covariances of their maps.
    typical: Vec<f64>,
    /// `sum_j E[mean map' C_j] x_j`.
    drive: Vec<f64>,
    /// `sum_j C_j x_j`.
    carried: Vec<f64>,
    /// Row `r`: `sum_js C_j[s] cov(x_j[s], mean x[r])`.
    spread: Vec<f64>,
}

impl Around {
    fn new(posterior: &Posterior, rows: &Rows, near: &[u32]) -> Self {
        let (n, dim, columns) = (posterior.n, posterior.numbers.dim, posterior.columns);
        let k = near.len() as f64;
        let mut around = Self {
            row: vec![0.0; columns],
            place: vec![0.0; dim],
            places: vec![0.0; dim * dim],
            map: vec![0.0; dim * columns],
            maps: vec![0.0; dim * dim],
            typical: vec![0.0; dim * dim],
            drive: vec![0.0; dim],
            carried: vec![0.0; columns],
            spread: vec![0.0; dim * columns],
        };
        for &j in near {
            let j = j as usize;
            add(&mut around.row, 1.0 / k, rows.row(j));
            add(&mut around.place, 1.0 / k, &posterior.places[j * dim..(j + 1) * dim]);
            for r in 0..dim {
                let (map, place) = (posterior.map(r, j), posterior.places[j * dim + r]);
                let mean = &mut around.map[r * columns..(r + 1) * columns];
                for ((mean, carried), &c) in mean.iter_mut().zip(&mut around.carried).zip(map) {
                    *mean += f64::from(c) / k;
                    *carried += f64::from(c) * place;
                }
            }
        }
        // Covariances with the mean over the neighbours, of each neighbour in turn.
        for &j in near {
            let j = j as usize;
            for r in 0..dim {
                for s in 0..dim {
                    let (a, at) = (s * n + j, r * dim + s);
                    let with_mean = |covariance: &Packed| {
                        near.iter().map(|&l| covariance.get(r * n + l as usize, a)).sum::<f64>() / k
                    };
                    let (maps, places) = (with_mean(&posterior.map_covariance), with_mean(&posterior.place_covariance));
                    around.maps[at] += maps / k;
                    around.places[at] += places / k;
                    around.typical[at] += posterior.map_covariance.get(r * n + j, a) / k;
                    around.drive[r] += columns as f64 * maps * posterior.places[j * dim + s];
                    let spread = &mut around.spread[r * columns..(r + 1) * columns];
                    let map = posterior.map(s, j);
                    spread.iter_mut().zip(map).for_each(|(v, &c)| *v += places * f64::from(c));
                }
            }
        }
        for r in 0..dim {
            let mean = &around.map[r * columns..(r + 1) * columns];
            around.drive[r] += mean.iter().zip(&around.carried).map(|(c, v)| c * v).sum::<f64>();
        }
        around
    }
}

fn add(out: &mut [f64], factor: f64, values: &[f64]) {
    out.iter_mut().zip(values).for_each(|(out, v)| *out += factor * v);
}

/// `a b'` for `dim` rows each.
fn gram(a: &[f64], b: &[f64], dim: usize) -> Vec<f64> {
    let columns = a.len() / dim;
    let entry = |at: usize| {
        let (a, b) = (&a[at / dim * columns..], &b[at % dim * columns..]);
        a[..columns].iter().zip(&b[..columns]).map(|(a, b)| a * b).sum()
    };
    (0..dim * dim).map(entry).collect()
}

fn times(matrix: &[f64], vector: &[f64], dim: usize) -> Vec<f64> {
    matrix.chunks_exact(dim).map(|row| row.iter().zip(vector).map(|(m, v)| m * v).sum()).collect()
}
