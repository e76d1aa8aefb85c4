//! The costs of the paper with their gradients. The gradients printed in it (eqs 9, 10, 16, 48, 61) are wrong: eq 53 has
//! `p_k` in place of `p_i`.

use rayon::prelude::*;

use super::neighborhoods::Neighborhoods;
use super::{CHUNK, MIN_ENTROPY_WEIGHT, MapItFittedState, SimilarityKernel, edges};
use crate::objective::edge_sums::PaddedPointsBuffer;
use crate::objective::{Accuracy, AccuracyController, KernelPotential, Objective, ObjectiveChange, VectorField};
use lowland_core::archive::Archive;
use lowland_core::params::param_enum;
use lowland_core::{Points, Result};
use lowland_linalg::Csr;
use lowland_linalg::block::dot;
use lowland_nbody::KernelSum;
use lowland_neighbors::graph::{Symmetrization, symmetrize};

param_enum! {
    /// The Cauchy-Schwarz divergence that is minimized.
    pub enum MapItCost ("pairs, neighborhoods or marginals") {
        /// Between the affinities of pairs (proposition 11).
        Pairs = "pairs",
        /// Between the marginals over neighborhoods (eq 91).
        Neighborhoods = "neighborhoods",
        /// Between the marginals over all points (eq 8), which do not depend on neighborhoods.
        Marginals = "marginals",
    }
}

/// A Cauchy-Schwarz divergence between data and map: `-ln <p, q> + ln |p| + ln |q|`, zero where they are proportional.
pub struct CauchySchwarzDivergence {
    cost: MapItCost,
    similarity: SimilarityKernel,
    graph: Neighborhoods,
    /// The neighborhoods with all weights one, from their centers and to them.
    outgoing: Csr,
    incoming: Csr,
    /// `p`, if one number for each point is compared.
    marginals: Vec<f64>,
    /// `ln |p|`.
    constant: f64,
    attraction: Csr,
    potential: KernelPotential,
    /// `q`, and `p / <p, q> - q / |q|^2`.
    map_marginals: Vec<f64>,
    balance: Vec<f64>,
    zeros: Vec<f64>,
    buffer: PaddedPointsBuffer,
    /// `<p, q>` and `|q|^2` at the last map.
    entropies: [f64; 2],
}

impl CauchySchwarzDivergence {
    /// Creates the divergence for symmetric affinities that sum to one, and neighborhoods of size `k`.
    pub fn new(
        cost: MapItCost,
        affinities: Csr,
        k: usize,
        similarity: SimilarityKernel,
        engine: Box<dyn KernelSum>,
        tolerance: f64,
    ) -> Result<Self> {
        let n = affinities.rows();
        let graph = Neighborhoods::new(&affinities, k)?;
        let outgoing = graph.near.map(|_, _, _| 1.0);
        let incoming = outgoing.transpose();
        let (marginals, attraction) = match cost {
            MapItCost::Pairs => (Vec::new(), affinities),
            MapItCost::Marginals => (affinities.row_sums(), affinities),
            MapItCost::Neighborhoods => {
                // The strength of the attraction where all similarities are one.
                let marginals = graph.marginals.clone();
                let total: f64 = (0..n).map(|i| marginals[i] * outgoing.row(i).0.len() as f64).sum();
                let attraction = symmetrize(
                    &outgoing.map(|i, _, _| marginals[i] / total.max(MIN_ENTROPY_WEIGHT)),
                    Symmetrization::Average,
                )?;
                (marginals, attraction)
            }
        };
        let compared = if cost == MapItCost::Pairs { attraction.values() } else { &marginals[..] };
        let constant = 0.5 * compared.iter().map(|p| p * p).sum::<f64>().max(MIN_ENTROPY_WEIGHT).ln();
        let kernel = if cost == MapItCost::Pairs { similarity.squared() } else { (similarity.kernel(), 1.0) };
        let controller = AccuracyController::new(Accuracy::Fixed, tolerance);
        let mut potential = KernelPotential::new(engine, n, kernel, controller);
        potential.set_near_pairs(&attraction);
        let [map_marginals, balance, zeros] = [(); 3].map(|()| vec![0.0; n]);
        Ok(Self {
            cost,
            similarity,
            graph,
            outgoing,
            incoming,
            marginals,
            constant,
            attraction,
            potential,
            map_marginals,
            balance,
            zeros,
            buffer: PaddedPointsBuffer::default(),
            entropies: [f64::NAN; 2],
        })
    }

    /// Sets the number of iterations in which an engine that samples the pairs sums the same ones.
    pub fn with_sampling_period(mut self, iterations: usize) -> Self {
        self.potential.set_sampling_period(iterations);
        self
    }

    /// Returns the name of the engine and the relative error of its force as measured last.
    pub fn measured_error(&self) -> Option<(&'static str, f64)> {
        self.potential.controller().measured_error().map(|error| (self.potential.engine_name(), error))
    }

    /// Returns whether the repulsion is that of a sample of the pairs.
    pub fn is_sampled(&self) -> bool {
        self.potential.is_sampled()
    }

    /// Returns the state that the transform of new points needs: the marginals that are compared, if any, and the sums over
    /// the map at `y`.
    pub fn fitted_state(&mut self, y: Points) -> Result<MapItFittedState> {
        self.evaluate(y, false, &mut vec![0.0; y.values().len()])?;
        let marginals = match self.cost {
            MapItCost::Pairs => [self.zeros.clone(), self.zeros.clone()],
            MapItCost::Neighborhoods | MapItCost::Marginals => [self.marginals.clone(), self.map_marginals.clone()],
        };
        Ok(MapItFittedState { marginals, entropies: self.entropies, neighborhoods: None })
    }

    /// Writes the gradient of proposition 11: `4 sum_j (P_ij / c1 - K_ij / c2) S_ij (y_i - y_j)`.
    fn evaluate_pairs(&mut self, y: Points, out: &mut [f64]) -> Result<f64> {
        let c2 = self.potential.sum(y)?.max(MIN_ENTROPY_WEIGHT);
        out.fill(0.0);
        self.balance.fill(1.0);
        let points = self.buffer.pad(y);
        let c1 = edges::add_weighted(&self.attraction, &self.balance, &self.zeros, points, self.similarity, out);
        let c1 = c1.max(MIN_ENTROPY_WEIGHT);
        let repulsion_factor = 1.0 / self.potential.scale().sqrt() / c2;
        out.par_chunks_mut(CHUNK).zip(self.potential.gradients.par_chunks(CHUNK)).for_each(|(out, slopes)| {
            out.iter_mut().zip(slopes).for_each(|(out, slope)| *out = 4.0 / c1 * *out + repulsion_factor * slope);
        });
        self.entropies = [c1, c2];
        Ok(0.5 * c2.ln() - c1.ln())
    }

    /// Writes the corrected gradient of eq 91, `2 sum_j (M_ij b_i + M_ji b_j) S_ij (y_i - y_j)`, `M` the neighborhoods.
    fn evaluate_neighborhoods(&mut self, y: Points, out: &mut [f64]) -> f64 {
        edges::sum_marginals(&self.graph.near, self.buffer.pad(y), self.similarity, &mut self.map_marginals);
        let value = self.update_balance();
        out.fill(0.0);
        let points = self.buffer.pad(y);
        edges::add_weighted(&self.outgoing, &self.balance, &self.zeros, points, self.similarity, out);
        edges::add_weighted(&self.incoming, &self.zeros, &self.balance, points, self.similarity, out);
        out.par_chunks_mut(CHUNK).for_each(|out| out.iter_mut().for_each(|out| *out *= 2.0));
        value
    }

    /// Writes the gradient of eq 8, `2 sum_j (b_i + b_j) S_ij (y_i - y_j)`, from the potentials of `K` with the charges 1
    /// and `b`; the gradient of a potential is `-2 sum_j q_j S_ij (y_i - y_j)`.
    fn evaluate_marginals(&mut self, y: Points, out: &mut [f64]) -> Result<f64> {
        let d = y.dim();
        self.potential.sum(y)?;
        self.map_marginals.iter_mut().zip(&self.potential.values).for_each(|(q, v)| *q = (v - 1.0).max(0.0));
        let value = self.update_balance();
        for ((out, slopes), balance) in
            out.chunks_exact_mut(d).zip(self.potential.gradients.chunks_exact(d)).zip(&self.balance)
        {
            out.iter_mut().zip(slopes).for_each(|(out, slope)| *out = -balance * slope);
        }
        self.potential.sum_charges(d, &self.balance)?;
        out.iter_mut().zip(&self.potential.gradients).for_each(|(out, slope)| *out -= slope);
        Ok(value)
    }

    /// Updates the balance of the marginals; returns `-ln <p, q> + ln |q|`.
    fn update_balance(&mut self) -> f64 {
        let c1 = dot(&self.marginals, &self.map_marginals).max(MIN_ENTROPY_WEIGHT);
        let c2 = dot(&self.map_marginals, &self.map_marginals).max(MIN_ENTROPY_WEIGHT);
        let marginals = self.marginals.iter().zip(&self.map_marginals);
        self.balance.iter_mut().zip(marginals).for_each(|(balance, (p, q))| *balance = p / c1 - q / c2);
        self.entropies = [c1, c2];
        0.5 * c2.ln() - c1.ln()
    }
}

impl VectorField for CauchySchwarzDivergence {
    fn evaluate(&mut self, y: Points, _with_value: bool, out: &mut [f64]) -> Result<Option<f64>> {
        let value = match self.cost {
            MapItCost::Pairs => self.evaluate_pairs(y, out)?,
            MapItCost::Neighborhoods => self.evaluate_neighborhoods(y, out),
            MapItCost::Marginals => self.evaluate_marginals(y, out)?,
        };
        Ok(Some(value + self.constant))
    }

    fn begin_iteration(&mut self, iteration: usize, y: Points, _value: Option<f64>) -> Result<ObjectiveChange> {
        if self.cost != MapItCost::Neighborhoods {
            return self.potential.adjust_fixed_accuracy(iteration, y);
        }
        Ok(ObjectiveChange::None)
    }

    fn save(&self, archive: &mut Archive) {
        self.potential.save(archive);
    }

    fn restore(&mut self, archive: &Archive) -> Result<()> {
        self.potential.restore(archive)
    }
}

impl Objective for CauchySchwarzDivergence {
    fn attraction(&self) -> Csr {
        self.attraction.clone()
    }

    fn degrees(&self) -> Vec<f64> {
        self.attraction.row_sums()
    }

    fn noise(&self) -> f64 {
        // A relative error of a sum changes its logarithm by at most that much.
        if self.cost == MapItCost::Neighborhoods { 0.0 } else { self.potential.total_error() }
    }
}
