//! MAP IT (Jenssen 2024): the released program, which is a field, and the costs of the paper, which are objectives.
//!
//! With `K` the similarity in the map, `S = -K'` its slope by the squared distance, `N(i)` the `k` largest affinities of
//! row `i`, and `p_j`, `q_j` the sums of `P_lj` and `K_lj` over `l` in `N(j)`, the program moves a point along
//! `F_i = sum_j a_ij S_ij (y_j - y_i)`, where `a_ij` is `p_j / c1 - q_j / c2` for `j` in `N(i)` and `P_ij / c1 - K_ij / c2`
//! otherwise, `c1 = sum P K` and `c2 = sum K^2` over ordered pairs. That is not the gradient of anything.
//!
//! The push `sum_j K_ij S_ij (y_i - y_j)` over all points is: `d/ds K^2 = -2 K S`, so that the potential of `K^2` gives
//! `c2` and, by its gradient over -4, the push. What neighbours do otherwise is a sum over edges.

mod all_pairs;
mod costs;
mod edges;
mod neighborhoods;
mod one_point;
mod program;
mod sampling;
#[cfg(test)]
mod tests;

use rayon::prelude::*;

use super::accuracy::Measure;
use super::edges::Room;
use super::potential::Potential;
use super::{Accuracy, AccuracyControl, Change, Field};
use all_pairs::AllPairs;
use lowland_core::archive::Archive;
use lowland_core::params::choice;
use lowland_core::{Numbering, Points, Result};
use lowland_linalg::Csr;
use lowland_nbody::{Kernel, KernelSum};
use neighborhoods::Neighborhoods;
use program::program;

pub use costs::{CauchySchwarz, Cost};
pub use one_point::{MapItFrozen, MapItPlacement};
pub use sampling::Sampling;

choice! {
    /// Similarity of points in the map.
    pub enum Similarity ("t or gaussian") {
        /// `1 / (1 + s)`, `s` the squared distance.
        Student = "t",
        /// `exp(-s)`.
        Gaussian = "gaussian",
    }
}

impl Similarity {
    /// As a kernel.
    pub(super) fn kernel(self) -> Kernel {
        match self {
            Self::Student => Kernel::Cauchy { power: 1.0 },
            Self::Gaussian => Kernel::Gaussian,
        }
    }

    /// Its square as a kernel of `s / scale`, and the scale.
    pub fn squared(self) -> (Kernel, f64) {
        match self {
            Self::Student => (Kernel::Cauchy { power: 2.0 }, 1.0),
            Self::Gaussian => (Kernel::Gaussian, 0.5),
        }
    }

    /// `K(s)` and `-K'(s)`.
    fn value_and_slope(self, s: f64) -> (f64, f64) {
        let value = self.kernel().value(s);
        (value, if self == Self::Student { value * value } else { value })
    }
}

choice! {
    /// Over which pairs the entropy weights `c1` and `c2` are summed.
    pub enum EntropyWeights ("all or neighbors") {
        /// All pairs, as in the released program.
        All = "all",
        /// Neighbours only, as in figure 14.
        Neighbors = "neighbors",
    }
}

/// Numbers handled at once.
const CHUNK: usize = 1024;

/// Kernel sums whose error is looked after.
pub(super) struct Controlled {
    potential: Potential,
    control: AccuracyControl,
    kernel: Kernel,
    scale: f64,
}

impl Controlled {
    fn new(engine: Box<dyn KernelSum>, n: usize, (kernel, scale): (Kernel, f64), tolerance: f64) -> Self {
        let control = AccuracyControl::new(Accuracy::Fixed, tolerance);
        Self { potential: Potential::new(engine, n), control, kernel, scale }
    }

    /// Fills in the potential at `y`; returns its sum over ordered pairs of different points.
    fn sum(&mut self, y: Points) -> Result<f64> {
        self.potential.load(y, self.scale);
        self.potential.sum(self.kernel, y.dim())
    }

    /// Has a look at the error, if one is due at this iteration.
    fn prepare(&mut self, iteration: usize, y: Points) -> Result<Change> {
        // Sums without error need no looking after; whether they have one is known once there was one.
        if self.potential.bound != Some(0.0) && self.control.due(iteration) {
            let mut control = self.control.clone();
            control.look(None, &mut Looking { sums: self, y })?;
            self.control = control;
        }
        Ok(if self.potential.ask(self.control.asked()) { Change::Accuracy } else { Change::Nothing })
    }
}

struct Looking<'a, 'y> {
    sums: &'a mut Controlled,
    y: Points<'y>,
}

impl Measure for Looking<'_, '_> {
    fn ask(&mut self, accuracy: f64) {
        self.sums.potential.try_out(accuracy);
    }

    /// The force is divided by the sum over different points: the error of that counts too.
    fn errors(&mut self) -> Result<[f64; 2]> {
        self.sums.sum(self.y)?;
        let [slopes, values] = self.sums.potential.errors(self.sums.kernel, self.y.dim())?;
        Ok([slopes.max(values), values])
    }

    fn curvature(&mut self) -> Result<f64> {
        Ok(f64::NAN)
    }
}

/// How non-neighbours are summed.
enum Others {
    /// All of them, by an engine.
    Summed(Controlled),
    /// All of them, pair by pair.
    AllPairs(AllPairs),
    /// A few of them, drawn anew at every iteration.
    Sampled(Sampling),
}

/// The released program.
pub struct MapIt {
    graph: Neighborhoods,
    similarity: Similarity,
    entropy: EntropyWeights,
    others: Others,
    /// What all of these arrays are numbered by.
    numbering: Numbering,
    places: Vec<f64>,
    forces: Vec<f64>,
    /// `q_j` at the last map.
    map_marginals: Vec<f64>,
    /// Pull and push over edges, side by side for each point.
    edge_sums: Vec<f64>,
    /// Memory of sums over edges.
    room: Room,
    /// `c1, c2` at the last map.
    entropies: [f64; 2],
}

impl MapIt {
    /// With symmetric affinities that sum to one, and neighbourhoods of `k`. The pushes are summed by the engine, to a
    /// measured relative error of `tolerance`.
    pub fn new(
        affinities: &Csr,
        k: usize,
        similarity: Similarity,
        engine: Box<dyn KernelSum>,
        tolerance: f64,
    ) -> Result<Self> {
        let sums = Controlled::new(engine, affinities.rows(), similarity.squared(), tolerance);
        Self::with(affinities, k, similarity, Others::Summed(sums))
    }

    /// With every pair's affinity kept and summed: for affinities that are not sparse.
    pub fn exact(affinities: &Csr, k: usize, similarity: Similarity) -> Result<Self> {
        let mut program = Self::with(affinities, k, similarity, Others::AllPairs(AllPairs::new(affinities)))?;
        program.graph.others = affinities.filter(|_, _, _| false);
        Ok(program)
    }

    /// With a sample of the non-neighbours instead of all.
    pub fn sampled(affinities: &Csr, k: usize, similarity: Similarity, sampling: Sampling) -> Result<Self> {
        Self::with(affinities, k, similarity, Others::Sampled(sampling))
    }

    fn with(affinities: &Csr, k: usize, similarity: Similarity, others: Others) -> Result<Self> {
        let n = affinities.rows();
        Ok(Self {
            graph: Neighborhoods::new(affinities, k)?,
            similarity,
            entropy: EntropyWeights::All,
            others,
            numbering: Numbering::default(),
            places: Vec::new(),
            forces: Vec::new(),
            map_marginals: vec![0.0; n],
            edge_sums: Vec::new(),
            room: Room::default(),
            entropies: [f64::NAN; 2],
        })
    }

    /// Sums the entropy weights over other pairs.
    pub fn with_entropy(mut self, entropy: EntropyWeights) -> Self {
        self.entropy = entropy;
        self
    }

    /// The engine, and the error of its force as measured last.
    pub fn measured(&self) -> Option<(&'static str, f64)> {
        match &self.others {
            Others::Summed(sums) => sums.control.measured().map(|error| (sums.potential.engine(), error)),
            Others::AllPairs(_) | Others::Sampled(_) => None,
        }
    }

    /// What new points are placed by: the marginals of every point in the data and in the map at `y`, and the entropy
    /// weights there.
    pub fn frozen(&mut self, y: Points) -> Result<MapItFrozen> {
        self.field(y, false, &mut vec![0.0; y.values().len()])?;
        let marginals = [&self.graph.marginals, &self.map_marginals].map(|rows| {
            let mut marginals = rows.clone();
            self.numbering.scatter(rows, 1, &mut marginals);
            marginals
        });
        Ok(MapItFrozen { marginals, entropies: self.entropies })
    }
}

impl MapIt {
    /// The field in the order of the rows; returns the value.
    fn rows(&mut self, y: Points, out: &mut [f64]) -> Result<f64> {
        let (d, similarity) = (y.dim(), self.similarity);
        let places = self.room.places(y);
        let near = edges::marginals(&self.graph.near, places, similarity, &mut self.map_marginals);
        let entropies = match &mut self.others {
            Others::Summed(sums) => {
                self.edge_sums.clear();
                self.edge_sums.resize(2 * y.values().len(), 0.0);
                let sum = &mut self.edge_sums;
                let c1 = program(&self.graph, &self.map_marginals, false, places, similarity, sum);
                let c2 = sums.sum(y)?;
                let [c1, c2] = self.entropy.choose([c1, c2], near);
                // The push is the potential's gradient over -4, which is by the places, in units of the kernel.
                let push = 0.25 / sums.scale.sqrt() / c2;
                let rows = out.par_chunks_mut(CHUNK * d).zip(self.edge_sums.par_chunks(CHUNK * 2 * d));
                rows.zip(sums.potential.slopes.par_chunks(CHUNK * d)).for_each(|((out, edges), slopes)| {
                    let rows = out.chunks_exact_mut(d).zip(edges.chunks_exact(2 * d)).zip(slopes.chunks_exact(d));
                    for ((out, edges), slopes) in rows {
                        (0..d).for_each(|c| out[c] = edges[c] / c1 + edges[d + c] / c2 + push * slopes[c]);
                    }
                });
                [c1, c2]
            }
            Others::AllPairs(pairs) => {
                self.edge_sums.resize(2 * y.values().len(), 0.0);
                let [c1, c2] = self.entropy.choose(pairs.sums(y, similarity, &mut self.edge_sums), near);
                program(&self.graph, &self.map_marginals, true, places, similarity, &mut self.edge_sums);
                out.par_chunks_mut(d).zip(self.edge_sums.par_chunks(2 * d)).with_min_len(CHUNK).for_each(
                    |(out, sums)| {
                        (0..d).for_each(|c| out[c] = sums[c] / c1 + sums[d + c] / c2);
                    },
                );
                [c1, c2]
            }
            Others::Sampled(sampling) => {
                let found = sampling.entropies(&self.graph, y, similarity, near);
                let entropies = self.entropy.choose(found, near);
                sampling.field(&self.graph, &self.map_marginals, entropies, y, similarity, out);
                entropies
            }
        };
        self.entropies = entropies;
        Ok(entropies[1].ln() - entropies[0].ln())
    }

    fn renumber(&mut self, rows: &[u32]) {
        let graph = &mut self.graph;
        (graph.near, graph.others) = (graph.near.renumber(rows), graph.others.renumber(rows));
        graph.marginals = rows.iter().map(|&row| graph.marginals[row as usize]).collect();
    }
}

impl Field for MapIt {
    /// The value is `-ln c1 + ln c2`, which costs nothing more; the field need not descend it.
    fn field(&mut self, y: Points, _value: bool, out: &mut [f64]) -> Result<Option<f64>> {
        if self.numbering.is_natural() {
            return self.rows(y, out).map(Some);
        }
        let (mut places, mut forces) = (std::mem::take(&mut self.places), std::mem::take(&mut self.forces));
        self.numbering.gather(y.values(), y.dim(), &mut places);
        forces.resize(out.len(), 0.0);
        let value = self.rows(Points::new(&places, y.dim())?, &mut forces)?;
        self.numbering.scatter(&forces, y.dim(), out);
        (self.places, self.forces) = (places, forces);
        Ok(Some(value))
    }

    fn prepare(&mut self, iteration: usize, y: Points, _value: Option<f64>) -> Result<Change> {
        match &mut self.others {
            Others::Summed(sums) => {
                let change = sums.prepare(iteration, y);
                if let Some(rows) = self.numbering.renew(iteration, y) {
                    self.renumber(&rows);
                }
                return change;
            }
            Others::AllPairs(_) => {}
            Others::Sampled(sampling) => sampling.prepare(iteration),
        }
        Ok(Change::Nothing)
    }

    fn save(&self, archive: &mut Archive) {
        if let Others::Summed(sums) = &self.others {
            sums.control.save(archive);
            self.numbering.save(archive, self.map_marginals.len());
        }
    }

    fn restore(&mut self, archive: &Archive) -> Result<()> {
        match &mut self.others {
            Others::Summed(sums) => {
                sums.control.restore(archive)?;
                sums.potential.ask(sums.control.asked());
                if let Some(order) = Numbering::saved(archive, self.map_marginals.len())? {
                    let rows = self.numbering.adopt(order);
                    self.renumber(&rows);
                }
                Ok(())
            }
            Others::AllPairs(_) | Others::Sampled(_) => Ok(()),
        }
    }
}

impl EntropyWeights {
    /// Neither is zero: far points of a Gaussian would be divided by it.
    fn choose(self, all: [f64; 2], near: [f64; 2]) -> [f64; 2] {
        let chosen = if self == Self::All { all } else { near };
        chosen.map(|c| c.max(LEAST_ENTROPY))
    }
}

/// The smallest that an entropy weight may be.
const LEAST_ENTROPY: f64 = 1e-200;
