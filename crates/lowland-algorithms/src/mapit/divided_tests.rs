//! A divided MAP IT against the field and optimizer of one process.

use super::*;
use crate::affinity::joint_affinities;
use crate::objective::DividedAffinities;
use crate::optim::{Descent, MomentumDescent, MomentumDescentParams};
use lowland_core::run::Stepper;
use lowland_core::{Embedding, Seed};
use lowland_linalg::Csr;
use lowland_nbody::{Engine, new_engine};

const N: usize = 600;
const DIM: usize = 2;
const TOLERANCE: f64 = 1e-9;

/// Affinities of points on a ring, of which many are equal.
fn affinities() -> Csr {
    let links = (0..N as u32).flat_map(|i| {
        (1..=12).map(move |k| {
            (i, (i + N as u32 + [k, N as u32 - k][k as usize % 2]) % N as u32, 1.0 / f64::from(k / 3 + 1))
        })
    });
    let far = (0..N as u32).map(|i| (i, (i * 37 + 11) % N as u32, 0.2)).filter(|(i, j, _)| i != j);
    joint_affinities(Csr::from_triplets(N, N, links.chain(far)).unwrap()).unwrap()
}

fn settings(similarity: SimilarityKernel, entropy: EntropyWeights) -> DividedMapItSettings {
    let descent =
        MomentumDescentParams { learning_rate: N as f64 / 40.0, momentum: [0.5, 0.8], early_steps: 30, max_step: 5.0 };
    DividedMapItSettings { similarity, entropy, n_neighbors: 7, descent, points: N, dim: DIM }
}

/// Some processes, with the points of each and the points that each has copies of.
struct Parts {
    made: Vec<DividedMapIt>,
    points: Vec<Vec<usize>>,
    copies: Vec<Vec<usize>>,
}

impl Parts {
    fn new(settings: DividedMapItSettings, joint: &Csr, start: &[f64], parts: usize) -> Self {
        let part_of = |i: usize| (i * 7 / 5) % parts;
        let points: Vec<Vec<usize>> = (0..parts).map(|part| (0..N).filter(|&i| part_of(i) == part).collect()).collect();
        let (mut made, mut copies) = (Vec::new(), Vec::new());
        for (part, own) in points.iter().enumerate() {
            // In falling order of their numbers, which is not that of the rows.
            let ends = own.iter().flat_map(|&i| joint.row(i).0).map(|&j| j as usize);
            let mut others: Vec<usize> = ends.filter(|&j| part_of(j) != part).collect();
            others.sort_by(|a, b| b.cmp(a));
            others.dedup();
            let local = |j: usize| match own.binary_search(&j) {
                Ok(at) => at,
                Err(_) => own.len() + others.iter().position(|&other| other == j).unwrap(),
            };
            let (mut starts, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
            for &i in own {
                let (ends, weights) = joint.row(i);
                let mut row: Vec<(u32, f64)> =
                    ends.iter().map(|&j| local(j as usize) as u32).zip(weights.iter().copied()).collect();
                row.sort_by_key(|entry| entry.0);
                columns.extend(row.iter().map(|entry| entry.0));
                values.extend(row.iter().map(|entry| entry.1));
                starts.push(columns.len());
            }
            let affinities = DividedAffinities { starts, columns, values, copies: others.len() };
            let start = own.iter().flat_map(|&i| &start[DIM * i..DIM * (i + 1)]).copied().collect();
            let numbers = [&own[..], &others].concat();
            made.push(DividedMapIt::new(settings, affinities, &numbers, start).unwrap());
            copies.push(others);
        }
        let mut parts = Self { made, points, copies };
        let all = parts.collect(1, |part, points| part.marginals_of(points).unwrap());
        for (part, copies) in parts.made.iter_mut().zip(&parts.copies) {
            part.set_marginals(&copies.iter().map(|&j| all[j]).collect::<Vec<f64>>()).unwrap();
        }
        parts
    }

    /// Collects numbers of all points.
    fn collect(&self, dim: usize, of: impl Fn(&DividedMapIt, &[u32]) -> Vec<f64>) -> Vec<f64> {
        let mut all = vec![0.0; dim * N];
        for (part, own) in self.made.iter().zip(&self.points) {
            let found = of(part, &(0..own.len() as u32).collect::<Vec<u32>>());
            for (&i, row) in own.iter().zip(found.chunks_exact(dim)) {
                all[dim * i..dim * (i + 1)].copy_from_slice(row);
            }
        }
        all
    }

    fn map(&self) -> Vec<f64> {
        self.collect(DIM, |part, points| part.points().positions_of(points).unwrap())
    }

    /// Runs some iterations; returns the value at the last.
    fn run(&mut self, iterations: std::ops::RangeInclusive<usize>) -> f64 {
        let mut value = f64::NAN;
        for iteration in iterations {
            let (mut mean, mut bounds) = ([0.0; DIM], vec![[f64::INFINITY, f64::NEG_INFINITY]; DIM]);
            for part in &self.made {
                let (sums, own) = part.points().sums_and_bounds();
                for c in 0..DIM {
                    mean[c] += sums[c] / N as f64;
                    bounds[c] = [bounds[c][0].min(own[c][0]), bounds[c][1].max(own[c][1])];
                }
            }
            let mut grid: Vec<f64> = Vec::new();
            for part in &mut self.made {
                let own = part.points_mut().begin(&mean, &bounds, TOLERANCE).unwrap();
                grid.resize(own.len(), 0.0);
                grid.iter_mut().zip(own).for_each(|(grid, own)| *grid += own);
            }
            let map = self.map();
            for (part, copies) in self.made.iter_mut().zip(&self.copies) {
                let rows: Vec<f64> = copies.iter().flat_map(|&j| &map[DIM * j..DIM * (j + 1)]).copied().collect();
                part.set_copies(&rows).unwrap();
            }
            let marginals = self.collect(1, |part, points| part.map_marginals_of(points).unwrap());
            let mut total = MapItSums::default();
            for (part, copies) in self.made.iter_mut().zip(&self.copies) {
                let own = part.forces(&grid, &copies.iter().map(|&j| marginals[j]).collect::<Vec<f64>>()).unwrap();
                total.potential += own.potential;
                total.all += own.all;
                total.near = [0, 1].map(|at| total.near[at] + own.near[at]);
                total.size += own.size;
            }
            value = self.made[0].value(&total);
            for part in &mut self.made {
                part.step(iteration, &total);
            }
        }
        value
    }
}

fn start() -> Vec<f64> {
    centered(&Seed(9).normals(DIM * N))
}

fn centered(y: &[f64]) -> Vec<f64> {
    let mean: Vec<f64> = (0..DIM).map(|c| y[c..].iter().step_by(DIM).sum::<f64>() / N as f64).collect();
    y.iter().enumerate().map(|(i, y)| y - mean[i % DIM]).collect()
}

#[test]
fn parts_follow_the_descent_of_one_process() {
    let joint = affinities();
    for similarity in [SimilarityKernel::Student, SimilarityKernel::Gaussian] {
        for entropy in [EntropyWeights::All, EntropyWeights::Neighbors] {
            let settings = settings(similarity, entropy);
            let engine = new_engine(Engine::Fft, DIM, similarity.squared().0).unwrap();
            let field = MapItField::new(&joint, settings.n_neighbors, similarity, engine, TOLERANCE).unwrap();
            let optimizer = Box::new(MomentumDescent::new(settings.descent));
            let embedding = Embedding::new(start(), DIM).unwrap();
            let mut whole = Descent::new(field.with_entropy(entropy), optimizer, embedding);
            let mut value = f64::NAN;
            for _ in 0..50 {
                value = whole.step().unwrap().objective;
            }
            let expected = centered(&whole.embedding().into_values());
            let width = expected.iter().fold(0.0f64, |most, y| most.max(2.0 * y.abs()));
            assert!(width > 5.0, "the map has moved: {width}");
            for parts in [1, 2, 3] {
                let mut divided = Parts::new(settings, &joint, &start(), parts);
                let found_value = divided.run(1..=50);
                let found = centered(&divided.map());
                let error = found.iter().zip(&expected).fold(0.0f64, |most, (a, b)| most.max((a - b).abs()));
                assert!(error < 1e-6 * width, "{similarity:?}, {entropy:?}, {parts} parts: {error} of {width}");
                assert!((found_value - value).abs() < 1e-6, "{found_value} {value}");
            }
        }
    }
}

#[test]
fn a_restored_part_continues_with_the_same_bytes() {
    let joint = affinities();
    let settings = settings(SimilarityKernel::Student, EntropyWeights::All);
    let mut made = Parts::new(settings, &joint, &start(), 2);
    made.run(1..=10);
    let saved: Vec<[Vec<f64>; 2]> = made.made.iter().map(|part| part.state().map(<[f64]>::to_vec)).collect();
    let value = made.run(11..=40);
    let mut again = Parts::new(settings, &joint, &start(), 2);
    for (part, [positions, update]) in again.made.iter_mut().zip(&saved) {
        part.restore([positions, update]).unwrap();
    }
    let other = again.run(11..=40);
    assert!(again.map() == made.map() && other == value && value.is_finite());
    assert!(again.made[0].restore([&[], &[]]).is_err());
}

#[test]
fn invalid_parts_are_rejected() {
    let settings = settings(SimilarityKernel::Student, EntropyWeights::All);
    let affinities = DividedAffinities { starts: vec![0, 1], columns: vec![1], values: vec![0.5], copies: 1 };
    assert!(DividedMapIt::new(settings, affinities.clone(), &[0], vec![0.0, 0.0]).is_err());
    let mut made = DividedMapIt::new(settings, affinities, &[0, 1], vec![0.0, 0.0]).unwrap();
    assert!(made.marginals_of(&[0]).is_ok() && made.marginals_of(&[1]).is_err());
    assert!(made.map_marginals_of(&[1]).is_err());
    assert!(made.set_marginals(&[]).is_err() && made.set_marginals(&[0.5]).is_ok());
    assert!(made.set_copies(&[1.0]).is_err() && made.set_copies(&[1.0, 1.0]).is_ok());
    let grid = made.points_mut().begin(&[0.0, 0.0], &[[-1.0, 1.0], [-1.0, 1.0]], 1e-2).unwrap();
    assert!(made.forces(&grid, &[]).is_err() && made.forces(&grid, &[0.5]).is_ok());
}
