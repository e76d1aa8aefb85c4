//! Potentials by a sample of the pairs, for maps of many dimensions and any kernel.
//!
//! The points are dealt at random to blocks, and the blocks form a ring of odd length. A round draws some of the distances on
//! that ring; each block meets the blocks at these distances on both sides, whose pairs count for those of all distances.
//! Pairs within a block, and the pairs that the caller names as near, are always summed. What is sampled is thus symmetric,
//! the same pairs for both points: in every round the gradients are those of a function, the sum of the potentials, as line
//! searches require. Over many rounds the mean is the exact sum.

mod near;
#[cfg(test)]
mod tests;

use rand::seq::{SliceRandom, index};
use rayon::prelude::*;

use self::near::PaddedRows;
use crate::fused::{BLOCK, BlockSums, PointBlocks, set_point};
use crate::request::are_same;
use crate::{ErrorReport, Exact, KernelSum, PotentialOutput, PotentialRequest, SumRequest};
use lowland_core::{Error, Points, Result, Seed, inverse_permutation};

pub use near::NearPairs;

/// Number of distances on the ring that a round draws. A point meets `2 STEPS BLOCK` others, about 3,000.
const STEPS: usize = 24;
/// Number of points up to which sums are exact: a sample would have at least half of the pairs.
pub const MAX_EXACT_POINTS: usize = 4 * STEPS * BLOCK;
/// Bound of the coordinates: their squares are finite in single precision.
const MAX_COORDINATE: f64 = 1e15;
/// Rows per task.
const ROWS: usize = 256;

/// Potentials of unit or other charges by a sample of the pairs; sums of other kinds, and those of few points, are exact.
#[derive(Default)]
pub struct Sampled {
    ring: Ring,
    near: Option<NearPairs>,
    round: u64,
    blocks: PointBlocks,
    rows: PaddedRows,
    /// Gradients without their factor and potential, for the points in the order of the blocks.
    sums: Vec<f64>,
}

impl Sampled {
    /// Whether sums over this many points are of a sample.
    fn is_sample(points: usize) -> bool {
        points > MAX_EXACT_POINTS
    }

    /// Bytes for maps of `dim` dimensions with this many near pairs, each counted from both points.
    pub fn memory(points: f64, dim: f64, near_pairs: f64) -> f64 {
        // Blocks, rows and sums, and the order of the points with its inverse.
        // Coordinates are padded to at most half as many again, or four.
        let width = (1.5 * dim).max(4.0);
        points * (4.0 * (2.0 * width + 1.0) + 8.0 * (dim + 1.0) + 16.0) + 4.0 * near_pairs
    }
}

impl KernelSum for Sampled {
    fn name(&self) -> &'static str {
        "sampled"
    }

    /// Without effect: the size of the sample is fixed.
    fn set_accuracy(&mut self, _accuracy: f64) {}

    fn samples(&self, points: usize) -> bool {
        Self::is_sample(points)
    }

    fn set_near_pairs(&mut self, points: usize, pairs: &dyn Fn() -> NearPairs) {
        self.near = Self::is_sample(points).then(pairs);
    }

    fn begin_round(&mut self, round: u64) {
        self.round = round;
    }

    fn sum(&mut self, request: SumRequest, out: &mut [f64]) -> Result<ErrorReport> {
        Exact.sum(request, out)
    }

    fn potential(&mut self, request: PotentialRequest, out: PotentialOutput) -> Result<ErrorReport> {
        request.check(&out)?;
        let PotentialRequest { kernel, targets, sources, charges } = request;
        if !Self::is_sample(sources.rows()) || !are_same(targets, sources) {
            return Exact.potential(request, out);
        }
        if !sources.values().par_iter().all(|x| x.abs() < MAX_COORDINATE) {
            return Err(Error::Numerical {
                what: "a sampled kernel sum",
                reason: format!("a coordinate is not within {MAX_COORDINATE:e} of zero"),
            });
        }
        let (n, d) = (sources.rows(), sources.dim());
        self.ring.set_points(n);
        let drawn = self.ring.draw(self.round);
        self.load(sources, charges);
        let Self { ring, near, blocks, rows, sums, .. } = self;
        sums.clear();
        sums.resize(ring.blocks * BLOCK * (d + 1), 0.0);
        sums.par_chunks_exact_mut(BLOCK * (d + 1)).enumerate().for_each_init(
            BlockSums::default,
            |found, (at, sums)| {
                found.clear(blocks);
                found.add(kernel, blocks, at, at);
                found.add_to(1.0, d, sums);
                found.clear(blocks);
                for &step in &drawn.steps {
                    found.add(kernel, blocks, at, (at + step) % ring.blocks);
                    found.add(kernel, blocks, at, (at + ring.blocks - step) % ring.blocks);
                }
                found.add_to(drawn.weight, d, sums);
            },
        );
        let (slope, _) = kernel.derivative();
        let values = out.values.par_chunks_mut(ROWS).zip(out.gradients.par_chunks_mut(ROWS * d));
        values.enumerate().for_each_init(<(Vec<_>, Vec<_>)>::default, |(pairs, own), (chunk, (values, gradients))| {
            for (at, (value, gradient)) in values.iter_mut().zip(gradients.chunks_exact_mut(d)).enumerate() {
                let i = chunk * ROWS + at;
                own.clear();
                own.extend_from_slice(&sums[ring.position[i] as usize * (d + 1)..][..d + 1]);
                if let Some(near) = &*near {
                    // The near pairs count once, whatever the sample has of them.
                    pairs.clear();
                    pairs.extend(near.of(i).iter().filter_map(|&j| {
                        let missing = 1.0 - drawn.weight_of(ring.distance(i, j as usize));
                        (missing != 0.0).then_some((j, (missing * charges[j as usize]) as f32))
                    }));
                    rows.add_pairs(kernel, i, pairs, own);
                }
                *value = own[d];
                gradient.iter_mut().zip(&*own).for_each(|(out, sum)| *out = -2.0 * slope * sum);
            }
        });
        let met = 2 * STEPS + 1;
        Ok(ErrorReport { bound: None, force_bound: None, work: (n * met * BLOCK) as f64 })
    }
}

impl Sampled {
    /// Copies the points to blocks and rows.
    fn load(&mut self, points: Points, charges: &[f64]) {
        let Self { ring, near, blocks, rows, .. } = self;
        blocks.clear(ring.blocks, points.dim());
        let blocks: Vec<&mut [f32]> = blocks.blocks_mut().collect();
        blocks.into_par_iter().zip(ring.order.par_chunks(BLOCK)).for_each(|(block, order)| {
            for (at, &i) in order.iter().enumerate() {
                set_point(block, at, points.row(i as usize), charges[i as usize]);
            }
        });
        if near.is_some() {
            rows.fill(points);
        }
    }
}

/// Blocks of points in a ring of odd length, so that every distance occurs once on each side.
#[derive(Default)]
struct Ring {
    /// The points in the order of the blocks.
    order: Vec<u32>,
    /// The place of each point in `order`.
    position: Vec<u32>,
    blocks: usize,
}

impl Ring {
    /// Deals `n` points to blocks.
    fn set_points(&mut self, n: usize) {
        if self.order.len() == n {
            return;
        }
        self.blocks = n.div_ceil(BLOCK) | 1;
        self.order = (0..n as u32).collect();
        self.order.shuffle(&mut Seed(n as u64).stream("blocks").rng());
        self.position = inverse_permutation(&self.order);
    }

    /// Distance of the blocks of two points.
    fn distance(&self, i: usize, j: usize) -> usize {
        let [a, b] = [i, j].map(|i| self.position[i] as usize / BLOCK);
        let distance = a.abs_diff(b);
        distance.min(self.blocks - distance)
    }

    /// Draws the distances of a round.
    fn draw(&self, round: u64) -> DrawnSteps {
        let distances = self.blocks / 2;
        let mut rng = Seed(self.order.len() as u64).stream("steps").item(round as usize).rng();
        let mut steps: Vec<usize> = index::sample(&mut rng, distances, STEPS).into_iter().map(|at| at + 1).collect();
        // Sums of neighboring blocks share the cache.
        steps.sort_unstable();
        let mut is_drawn = vec![false; distances + 1];
        steps.iter().for_each(|&step| is_drawn[step] = true);
        DrawnSteps { steps, is_drawn, weight: distances as f64 / STEPS as f64 }
    }
}

/// The distances on the ring that are summed in a round.
struct DrawnSteps {
    steps: Vec<usize>,
    is_drawn: Vec<bool>,
    /// Number of distances for which each drawn one counts.
    weight: f64,
}

impl DrawnSteps {
    /// How often the sample counts a pair whose blocks have this distance.
    fn weight_of(&self, distance: usize) -> f64 {
        match distance {
            0 => 1.0,
            distance if self.is_drawn[distance] => self.weight,
            _ => 0.0,
        }
    }
}
