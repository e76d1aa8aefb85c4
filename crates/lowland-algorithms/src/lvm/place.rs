//! New points beside a fitted model: the same likelihood, with everything frozen but the new point.

use rayon::prelude::*;

use super::kernel::{self, Skips, Wanted, padded};
use super::structure::{HALF, Structure};
use crate::llx::affine_weights;
use lowland_core::archive::Archive;
use lowland_core::run::Progress;
use lowland_core::simd::FastFloat;
use lowland_core::{Data, Embedding, Metric, Points, Result};
use lowland_neighbors::{NeighborGraph, distance, nearest_to_with};

/// A fitted model, as far as new points need it. Lengths are in units of the graph's median edge.
#[derive(Debug, Clone)]
pub struct Frozen {
    dim: usize,
    unit: f64,
    means: Vec<f64>,
    variances: Vec<f64>,
    /// `Delta_i`.
    reach: Vec<f64>,
    /// The distance to the last neighbour in the graph, in the data's units: who is closer is a mutual neighbour.
    radius: Vec<f64>,
    /// The cells: where each begins, and the points in them.
    starts: Vec<u32>,
    members: Vec<u32>,
    /// The cell of each point; the number of cells where it has none.
    cells: Vec<u32>,
    landmarks: Vec<u32>,
    link: f64,
    apart: f64,
}

/// Where a new point came to lie.
#[derive(Debug, Clone, PartialEq)]
pub struct Placed {
    /// The means, in the data's units.
    pub embedding: Embedding,
    /// The standard deviations.
    pub std: Vec<f64>,
    /// The log-likelihood of each point's own pairs, given all others.
    pub scores: Vec<f64>,
}

/// Rounds of updates of a new point at the most; most need some ten.
const ROUNDS: usize = 100;
/// A new point rests when it moves by less than this share of its standard deviation.
const STILL: f64 = 1e-3;

impl Frozen {
    /// Of the state that [`super::Em`] has reached. `graph` holds the neighbours that the model's graph was made of.
    pub fn new(structure: &Structure, means: &[f64], variances: &[f64], graph: &NeighborGraph) -> Self {
        let n = structure.points();
        let frame = structure.frame();
        let radius = (0..n).map(|i| graph.row(i).1.last().map_or(0.0, |&d| f64::from(d))).collect();
        let mut out = Self {
            dim: means.len() / n,
            unit: structure.unit(),
            means: means.to_vec(),
            variances: variances.to_vec(),
            reach: structure.reaches(),
            radius,
            starts: frame.starts.clone(),
            members: frame.members.clone(),
            cells: Vec::new(),
            landmarks: frame.landmarks.clone(),
            link: frame.link,
            apart: frame.apart,
        };
        out.number_cells();
        out
    }

    fn number_cells(&mut self) {
        let count = self.starts.len() - 1;
        self.cells = vec![count as u32; self.variances.len()];
        for cell in 0..count {
            let members = &self.members[self.starts[cell] as usize..self.starts[cell + 1] as usize];
            members.iter().for_each(|&i| self.cells[i as usize] = cell as u32);
        }
    }

    /// Number of points.
    pub fn points(&self) -> usize {
        self.variances.len()
    }

    /// The standard deviation of each point, in the data's units.
    pub fn std(&self) -> Vec<f64> {
        self.variances.iter().map(|v| v.sqrt() * self.unit).collect()
    }

    /// Places the rows of `new` beside those of `data`, which the model was fitted on; each depends on its row alone.
    pub fn place(
        &self,
        new: &Data,
        data: &Data,
        metric: Metric,
        n_neighbors: usize,
        progress: &mut Progress,
    ) -> Result<Placed> {
        let k = n_neighbors.min(data.rows());
        let graph = nearest_to_with(new, data, k, metric, progress)?;
        let landmark = |i: usize, near: usize| distance(new, i, data, self.landmarks[near] as usize, metric);
        let placed: Vec<(Vec<f64>, f64, f64)> = (0..new.rows())
            .into_par_iter()
            .map_init(Site::default, |site, i| {
                let (near, lengths) = graph.row(i);
                self.surround(site, near, lengths, |near| landmark(i, near));
                self.settle(site)
            })
            .collect();
        let values = placed.iter().flat_map(|(mean, ..)| mean.iter().map(|v| v * self.unit)).collect();
        Ok(Placed {
            embedding: Embedding::new(values, self.dim)?,
            std: placed.iter().map(|(_, variance, _)| variance.sqrt() * self.unit).collect(),
            scores: placed.iter().map(|(.., score)| *score).collect(),
        })
    }

    /// The pairs of a new point: similar to its mutual neighbours and the nearest, and to the landmark of the nearest;
    /// dissimilar to the others in the cell of the nearest.
    fn surround(&self, site: &mut Site, near: &[u32], lengths: &[f32], landmark: impl Fn(usize) -> f64) {
        let scale = |length: f64| Structure::scale_of(length, self.unit);
        let first = near[0] as usize;
        site.links.clear();
        let (mut reach, mut forward, mut mutual) = (0.0f64, Vec::new(), Vec::new());
        for (at, (&j, &length)) in near.iter().zip(lengths).enumerate() {
            let is_mutual = f64::from(length) <= self.radius[j as usize];
            if at == 0 || is_mutual {
                let near = scale(f64::from(length));
                reach = reach.max(near);
                site.links.push((j, 1.0 + f64::from(u8::from(is_mutual)), near * near));
                forward.push(j);
                if is_mutual {
                    mutual.push(j);
                }
            }
        }
        if self.link > 0.0 {
            site.links.push((self.landmarks[first], self.link, scale(landmark(first)).powi(2)));
        }
        site.start_variance = reach * reach / HALF / (2.0 * self.dim as f64);
        // A block of the new point and the cell; only the pairs of its first row are walked.
        let cell = self.cells[first] as usize;
        let members: &[u32] = match self.starts.get(cell + 1) {
            Some(&end) => &self.members[self.starts[cell] as usize..end as usize],
            None => &[],
        };
        let len = members.len() + 1;
        site.fill(self, members, padded(len), reach);
        site.skips = Skips::default();
        site.mass = 0.0;
        for (&j, local) in members.iter().zip(1..) {
            for (skipped, back) in [(&forward, 0), (&mutual, 1)] {
                if skipped.contains(&j) {
                    site.skips.add(0, local, back);
                } else {
                    site.mass += self.apart;
                }
            }
        }
        site.skips.end_point();
    }

    /// Alternating updates of one point: its row of eqs 20 and 21.
    fn settle(&self, site: &mut Site) -> (Vec<f64>, f64, f64) {
        let dim = self.dim;
        let mut variance = site.start_variance.max(super::em::LEAST_VARIANCE);
        // From where the similar pairs alone would have it.
        let mut mean = vec![0.0; dim];
        let mut total = 0.0;
        for &(j, weight, near2) in &site.links {
            let pull = weight / (near2 + variance + self.variances[j as usize]);
            (0..dim).for_each(|c| mean[c] += pull * self.means[j as usize * dim + c]);
            total += pull;
        }
        mean.iter_mut().for_each(|v| *v /= total);
        let weights: f64 = site.links.iter().map(|link| link.1).sum::<f64>() + site.mass;
        let mut score = 0.0;
        for round in 0..=ROUNDS {
            let (mut change, mut pulls, mut near) = (vec![0.0; dim], 0.0, 0.0);
            for &(j, weight, near2) in &site.links {
                let s = near2 + variance + self.variances[j as usize];
                let other = &self.means[j as usize * dim..(j as usize + 1) * dim];
                let mut q = 0.0;
                for c in 0..dim {
                    change[c] -= weight / s * (mean[c] - other[c]);
                    q += (mean[c] - other[c]).powi(2);
                }
                pulls += weight / s;
                near += 0.5 * weight * (dim as f64 * FastFloat::ln(near2 / s) - q / s);
            }
            let far = site.sums(Wanted::Push, &mean, variance, dim);
            score = near + far;
            if round == ROUNDS {
                break;
            }
            let diagonal = pulls + site.mass / variance;
            let mut moved = 0.0;
            for c in 0..dim {
                let step = (change[c] + site.out[c * site.padded]) / diagonal;
                mean[c] += step;
                moved += step * step;
            }
            let mut spread = 0.0;
            for &(j, weight, near2) in &site.links {
                let s = near2 + variance + self.variances[j as usize];
                let other = &self.means[j as usize * dim..(j as usize + 1) * dim];
                let q: f64 = (0..dim).map(|c| (mean[c] - other[c]).powi(2)).sum();
                spread += weight / s * (q / s - dim as f64);
            }
            site.sums(Wanted::Spread, &mean, variance, dim);
            spread -= site.out[0];
            variance *= 1.0 + variance * spread / (dim as f64 * weights);
            variance = variance.max(super::em::LEAST_VARIANCE);
            if moved <= STILL * STILL * variance {
                break;
            }
        }
        (mean, variance, score)
    }

    /// For each point of the map, the row that has the same place among its `n_neighbors` nearest points: their rows
    /// with the weights that combine their means to the point (Saul and Roweis 2003). Row after row; `rows(j)` is a row
    /// of the data.
    pub fn inverse(
        &self,
        points: Points,
        n_neighbors: usize,
        rows: impl Fn(usize, &mut [f64]) + Sync,
        columns: usize,
        progress: &mut Progress,
    ) -> Result<Vec<f32>> {
        let single =
            |values: &[f64], unit: f64| Data::dense(values.iter().map(|v| (v / unit) as f32).collect(), self.dim);
        let (targets, means) = (single(points.values(), self.unit)?, single(&self.means, 1.0)?);
        let k = n_neighbors.min(self.points());
        let graph = nearest_to_with(&targets, &means, k, Metric::Euclidean, progress)?;
        let rebuilt: Vec<Vec<f32>> = (0..points.rows())
            .into_par_iter()
            .map(|i| {
                let near = graph.row(i).0;
                let target: Vec<f64> = points.row(i).iter().map(|v| v / self.unit).collect();
                let weights = self.weights(&target, near);
                let (mut sum, mut row) = (vec![0.0; columns], vec![0.0; columns]);
                for (&j, weight) in near.iter().zip(weights) {
                    rows(j as usize, &mut row);
                    sum.iter_mut().zip(&row).for_each(|(sum, v)| *sum += weight * v);
                }
                sum.into_iter().map(|v| v as f32).collect()
            })
            .collect();
        Ok(rebuilt.concat())
    }

    /// Weights of sum one that combine the means of `near` to the target as well as can be, kept small by a ridge.
    fn weights(&self, target: &[f64], near: &[u32]) -> Vec<f64> {
        let k = near.len();
        let offset = |j: u32, c: usize| target[c] - self.means[j as usize * self.dim + c];
        let gram = (0..k * k)
            .map(|at| (0..self.dim).map(|c| offset(near[at / k], c) * offset(near[at % k], c)).sum())
            .collect();
        affine_weights(gram, &vec![1e-3; k])
    }

    /// Writes it under `lvm/`.
    pub fn save(&self, archive: &mut Archive) {
        archive.put("lvm/numbers", vec![self.unit, self.link, self.apart]);
        archive.put("lvm/means", self.means.as_slice());
        archive.put("lvm/variances", self.variances.as_slice());
        archive.put("lvm/reach", self.reach.as_slice());
        archive.put("lvm/radius", self.radius.as_slice());
        archive.put("lvm/starts", self.starts.as_slice());
        archive.put("lvm/members", self.members.as_slice());
        archive.put("lvm/landmarks", self.landmarks.as_slice());
    }

    /// Reads it back: a model of `dim` dimensions.
    pub fn load(archive: &Archive, dim: usize) -> Result<Self> {
        let bad = |reason: &str| archive.bad(reason.into());
        let [unit, link, apart] = archive.finite("lvm/numbers")? else {
            return Err(bad("'lvm/numbers' should hold three numbers"));
        };
        let positive = |name: &str| -> Result<Vec<f64>> {
            let values = archive.finite(name)?;
            if values.iter().any(|v| *v < 0.0) { Err(bad("it holds a negative length")) } else { Ok(values.to_vec()) }
        };
        let mut out = Self {
            dim,
            unit: *unit,
            means: archive.finite("lvm/means")?.to_vec(),
            variances: positive("lvm/variances")?,
            reach: positive("lvm/reach")?,
            radius: positive("lvm/radius")?,
            starts: archive.u32s("lvm/starts")?.to_vec(),
            members: archive.u32s("lvm/members")?.to_vec(),
            cells: Vec::new(),
            landmarks: archive.u32s("lvm/landmarks")?.to_vec(),
            link: *link,
            apart: *apart,
        };
        let n = out.variances.len();
        let fits = n > 0
            && Some(out.means.len()) == n.checked_mul(dim)
            && [out.reach.len(), out.radius.len(), out.landmarks.len()] == [n; 3]
            && out.members.iter().chain(&out.landmarks).all(|&i| (i as usize) < n)
            && out.starts.first() == Some(&0)
            && out.starts.last() == Some(&(out.members.len() as u32))
            && out.starts.is_sorted();
        if !(fits && *unit > 0.0 && *link >= 0.0 && *apart >= 0.0) {
            return Err(bad("the parts of the model differ in size"));
        }
        out.number_cells();
        Ok(out)
    }
}

/// The surroundings of one new point: its similar pairs, and a block of itself and its cell.
#[derive(Default)]
struct Site {
    /// Point, weight and squared length scale.
    links: Vec<(u32, f64, f64)>,
    start_variance: f64,
    /// The weight of all dissimilar pairs.
    mass: f64,
    /// The new point and those it is kept off.
    len: usize,
    padded: usize,
    /// Coordinates, variances, A, B and votes, column after column.
    numbers: Vec<f64>,
    skips: Skips,
    out: Vec<f64>,
}

impl Site {
    fn fill(&mut self, model: &Frozen, members: &[u32], padded: usize, reach: f64) {
        let dim = model.dim;
        (self.len, self.padded) = (members.len() + 1, padded);
        self.numbers.clear();
        self.numbers.resize((dim + 4) * padded, 0.0);
        let columns: Vec<&mut [f64]> = self.numbers.chunks_exact_mut(padded).collect();
        let root = model.apart.sqrt();
        for (number, column) in columns.into_iter().enumerate() {
            // What stands in the padding has no votes, but must not be divided by zero.
            let (own, rest): (f64, f64) = match number.checked_sub(dim) {
                None | Some(2) => (0.0, 0.0),
                Some(0) => (1.0, 1.0),
                Some(1) => (reach, 1.0),
                _ => (root, 0.0),
            };
            column.fill(rest);
            column[0] = own;
            for (value, &j) in column[1..].iter_mut().zip(members) {
                let j = j as usize;
                *value = match number.checked_sub(dim) {
                    None => model.means[j * dim + number],
                    Some(0) => model.variances[j],
                    Some(1) => model.reach[j],
                    Some(2) => 0.0,
                    _ => root,
                };
            }
        }
    }

    /// The E-step over the dissimilar pairs of the new point: its sums stand at the beginning of each column of `out`.
    fn sums(&mut self, wanted: Wanted, mean: &[f64], variance: f64, dim: usize) -> f64 {
        let padded = self.padded;
        (0..dim).for_each(|c| self.numbers[c * padded] = mean[c]);
        self.numbers[dim * padded] = variance;
        self.out.clear();
        self.out.resize(wanted.columns(dim) * padded, 0.0);
        let (coordinates, rest) = self.numbers.split_at(dim * padded);
        let column = |at: usize| &rest[at * padded..(at + 1) * padded];
        let frame = kernel::Frame {
            coordinates,
            widths: column(0),
            reach: column(1),
            extent: column(2),
            votes: column(3),
            skips: &self.skips.starts,
            skipped: &self.skips.tiles,
            len: self.len,
            even: true,
            dim,
        };
        kernel::rows(wanted, &frame, 0, 1, &mut self.out)
    }
}
