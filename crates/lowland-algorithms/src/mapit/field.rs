//! The vector field of MAP IT's released program.

use rayon::prelude::*;

use super::all_pairs::AllPairs;
use super::field_edges::add_field_edges;
use super::neighborhoods::Neighborhoods;
use super::{CHUNK, EntropyWeights, MapItFittedState, NonNeighborSampling, SimilarityKernel, edges};
use crate::objective::edge_sums::PaddedPointsBuffer;
use crate::objective::{Accuracy, AccuracyController, KernelPotential, ObjectiveChange, VectorField};
use lowland_core::archive::Archive;
use lowland_core::{MemoryOrder, Points, Result};
use lowland_linalg::Csr;
use lowland_nbody::KernelSum;

/// How the terms of non-neighbors are summed.
enum NonNeighborSums {
    /// All of them, by an engine.
    Potential(Box<KernelPotential>),
    /// All of them, pair by pair.
    AllPairs(AllPairs),
    /// A few of them, drawn anew at every iteration.
    Sample(NonNeighborSampling),
}

/// The vector field of the released program.
pub struct MapItField {
    graph: Neighborhoods,
    similarity: SimilarityKernel,
    entropy: EntropyWeights,
    others: NonNeighborSums,
    /// The order of all arrays here.
    numbering: MemoryOrder,
    coordinates: Vec<f64>,
    forces: Vec<f64>,
    /// `q_j` at the last map.
    map_marginals: Vec<f64>,
    /// Attraction and repulsion over edges, side by side for each point.
    edge_sums: Vec<f64>,
    buffer: PaddedPointsBuffer,
    /// `c1, c2` at the last map.
    entropies: [f64; 2],
}

impl MapItField {
    /// Creates the field for symmetric affinities that sum to one, and neighborhoods of size `k`. The repulsion is summed
    /// by the engine, with a measured relative error of at most `tolerance`.
    pub fn new(
        affinities: &Csr,
        k: usize,
        similarity: SimilarityKernel,
        engine: Box<dyn KernelSum>,
        tolerance: f64,
    ) -> Result<Self> {
        let controller = AccuracyController::new(Accuracy::Fixed, tolerance);
        let mut potential = KernelPotential::new(engine, affinities.rows(), similarity.squared(), controller);
        potential.set_near_pairs(affinities);
        Self::with_sums(affinities, k, similarity, NonNeighborSums::Potential(Box::new(potential)))
    }

    /// Creates the field with the affinities of all pairs stored and summed: for affinities that are not sparse.
    pub fn exact(affinities: &Csr, k: usize, similarity: SimilarityKernel) -> Result<Self> {
        let pairs = NonNeighborSums::AllPairs(AllPairs::new(affinities));
        let mut field = Self::with_sums(affinities, k, similarity, pairs)?;
        field.graph.others = affinities.filter(|_, _, _| false);
        Ok(field)
    }

    /// Creates the field with a sample of the non-neighbors instead of all.
    pub fn sampled(
        affinities: &Csr,
        k: usize,
        similarity: SimilarityKernel,
        sampling: NonNeighborSampling,
    ) -> Result<Self> {
        Self::with_sums(affinities, k, similarity, NonNeighborSums::Sample(sampling))
    }

    fn with_sums(affinities: &Csr, k: usize, similarity: SimilarityKernel, others: NonNeighborSums) -> Result<Self> {
        let n = affinities.rows();
        Ok(Self {
            graph: Neighborhoods::new(affinities, k)?,
            similarity,
            entropy: EntropyWeights::All,
            others,
            numbering: MemoryOrder::default(),
            coordinates: Vec::new(),
            forces: Vec::new(),
            map_marginals: vec![0.0; n],
            edge_sums: Vec::new(),
            buffer: PaddedPointsBuffer::default(),
            entropies: [f64::NAN; 2],
        })
    }

    /// Sets the pairs over which the entropy weights are summed.
    pub fn with_entropy(mut self, entropy: EntropyWeights) -> Self {
        self.entropy = entropy;
        self
    }

    /// Aligns the marginals of points within `reach` steps along the neighborhoods; 1 is the released program. `affinities` are
    /// those that the field was created with.
    pub fn with_reach(mut self, affinities: &Csr, reach: usize) -> Result<Self> {
        self.graph = self.graph.with_reach(affinities, reach)?;
        Ok(self)
    }

    /// Returns the name of the engine and the relative error of its force as measured last.
    pub fn measured_error(&self) -> Option<(&'static str, f64)> {
        match &self.others {
            NonNeighborSums::Potential(potential) => {
                potential.controller().measured_error().map(|error| (potential.engine_name(), error))
            }
            NonNeighborSums::AllPairs(_) | NonNeighborSums::Sample(_) => None,
        }
    }

    /// Returns whether the repulsion is that of a sample of the pairs, drawn by the engine.
    pub fn is_sampled(&self) -> bool {
        matches!(&self.others, NonNeighborSums::Potential(potential) if potential.is_sampled())
    }

    /// Returns the state that the transform of new points needs: the marginals of every point in the data and in the map at
    /// `y`, and the entropy weights there.
    pub fn fitted_state(&mut self, y: Points) -> Result<MapItFittedState> {
        self.evaluate(y, false, &mut vec![0.0; y.values().len()])?;
        let marginals = [&self.graph.marginals, &self.map_marginals].map(|rows| {
            let mut marginals = rows.clone();
            self.numbering.scatter(rows, 1, &mut marginals);
            marginals
        });
        let neighborhoods = self.graph.has_reach().then(|| match self.numbering.is_natural() {
            true => self.graph.near.clone(),
            false => self.graph.near.renumber(&self.numbering.rows()),
        });
        Ok(MapItFittedState { marginals, entropies: self.entropies, neighborhoods })
    }

    /// Writes the field in the order of the rows; returns the value.
    fn evaluate_rows(&mut self, y: Points, out: &mut [f64]) -> Result<f64> {
        let (d, similarity) = (y.dim(), self.similarity);
        let points = self.buffer.pad(y);
        let near = edges::sum_marginals(&self.graph.near, points, similarity, &mut self.map_marginals);
        let entropies = match &mut self.others {
            NonNeighborSums::Potential(potential) => {
                self.edge_sums.clear();
                self.edge_sums.resize(2 * y.values().len(), 0.0);
                let sum = &mut self.edge_sums;
                let c1 = add_field_edges(&self.graph, &self.map_marginals, false, points, similarity, sum);
                let c2 = potential.sum(y)?;
                let [c1, c2] = self.entropy.choose([c1, c2], near);
                // The repulsion is the potential's gradient divided by -4, which is by coordinates in units of the kernel.
                let repulsion_factor = 0.25 / potential.scale().sqrt() / c2;
                let rows = out.par_chunks_mut(CHUNK * d).zip(self.edge_sums.par_chunks(CHUNK * 2 * d));
                rows.zip(potential.gradients.par_chunks(CHUNK * d)).for_each(|((out, edges), slopes)| {
                    let rows = out.chunks_exact_mut(d).zip(edges.chunks_exact(2 * d)).zip(slopes.chunks_exact(d));
                    for ((out, edges), slopes) in rows {
                        (0..d).for_each(|c| out[c] = edges[c] / c1 + edges[d + c] / c2 + repulsion_factor * slopes[c]);
                    }
                });
                [c1, c2]
            }
            NonNeighborSums::AllPairs(pairs) => {
                self.edge_sums.resize(2 * y.values().len(), 0.0);
                let [c1, c2] = self.entropy.choose(pairs.sums(y, similarity, &mut self.edge_sums), near);
                add_field_edges(&self.graph, &self.map_marginals, true, points, similarity, &mut self.edge_sums);
                out.par_chunks_mut(d).zip(self.edge_sums.par_chunks(2 * d)).with_min_len(CHUNK).for_each(
                    |(out, sums)| {
                        (0..d).for_each(|c| out[c] = sums[c] / c1 + sums[d + c] / c2);
                    },
                );
                [c1, c2]
            }
            NonNeighborSums::Sample(sampling) => {
                let aligned = match self.graph.has_reach() {
                    true => edges::sum_marginals(self.graph.aligned(), points, similarity, &mut vec![0.0; y.rows()]),
                    false => near,
                };
                let found = sampling.entropies(&self.graph, y, similarity, aligned);
                let entropies = self.entropy.choose(found, near);
                sampling.field(&self.graph, &self.map_marginals, entropies, y, similarity, out);
                entropies
            }
        };
        self.entropies = entropies;
        Ok(entropies[1].ln() - entropies[0].ln())
    }
}

impl VectorField for MapItField {
    /// The value is `-ln c1 + ln c2`, which has no extra cost; the field need not be a direction of its descent.
    fn evaluate(&mut self, y: Points, _with_value: bool, out: &mut [f64]) -> Result<Option<f64>> {
        if self.numbering.is_natural() {
            return self.evaluate_rows(y, out).map(Some);
        }
        let (mut coordinates, mut forces) = (std::mem::take(&mut self.coordinates), std::mem::take(&mut self.forces));
        self.numbering.gather(y.values(), y.dim(), &mut coordinates);
        forces.resize(out.len(), 0.0);
        let value = self.evaluate_rows(Points::new(&coordinates, y.dim())?, &mut forces)?;
        self.numbering.scatter(&forces, y.dim(), out);
        (self.coordinates, self.forces) = (coordinates, forces);
        Ok(Some(value))
    }

    fn begin_iteration(&mut self, iteration: usize, y: Points, _value: Option<f64>) -> Result<ObjectiveChange> {
        match &mut self.others {
            NonNeighborSums::Potential(potential) => {
                let change = potential.adjust_fixed_accuracy(iteration, y);
                // The near pairs of a sample stay in the order of the rows.
                if !potential.is_sampled()
                    && let Some(rows) = self.numbering.reorder_if_due(iteration, y)
                {
                    self.graph.renumber(&rows);
                }
                return change;
            }
            NonNeighborSums::AllPairs(_) => {}
            NonNeighborSums::Sample(sampling) => sampling.begin_iteration(iteration),
        }
        Ok(ObjectiveChange::None)
    }

    fn save(&self, archive: &mut Archive) {
        if let NonNeighborSums::Potential(potential) = &self.others {
            potential.save(archive);
            self.numbering.save(archive, self.map_marginals.len());
        }
    }

    fn restore(&mut self, archive: &Archive) -> Result<()> {
        match &mut self.others {
            NonNeighborSums::Potential(potential) => {
                potential.restore(archive)?;
                if let Some(order) = MemoryOrder::load(archive, self.map_marginals.len())? {
                    let rows = self.numbering.set_order(order);
                    self.graph.renumber(&rows);
                }
                Ok(())
            }
            NonNeighborSums::AllPairs(_) | NonNeighborSums::Sample(_) => Ok(()),
        }
    }
}
