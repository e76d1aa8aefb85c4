//! The costs of the paper with their gradients. Those printed in it (eqs 9, 10, 16, 48, 61) are not: eq 53 has `p_k` where
//! `p_i` belongs.

use rayon::prelude::*;

use super::neighborhoods::Neighborhoods;
use super::{CHUNK, Controlled, LEAST_ENTROPY, MapItFrozen, Similarity, edges};
use crate::objective::edges::Room;
use crate::objective::{Change, Field, Objective};
use lowland_core::archive::Archive;
use lowland_core::params::choice;
use lowland_core::{Points, Result};
use lowland_linalg::Csr;
use lowland_linalg::block::dot;
use lowland_nbody::KernelSum;
use lowland_neighbors::graph::{Symmetrization, symmetrize};

choice! {
    /// Which Cauchy-Schwarz divergence is minimised.
    pub enum Cost ("pairs, neighborhoods or marginals") {
        /// Between the affinities of pairs (proposition 11).
        Pairs = "pairs",
        /// Between the marginals over neighbourhoods (eq 91).
        Neighborhoods = "neighborhoods",
        /// Between the marginals over all points (eq 8); who is whose neighbour does not enter.
        Marginals = "marginals",
    }
}

/// A Cauchy-Schwarz divergence between data and map: `-ln <p, q> + ln |p| + ln |q|`, zero where they are proportional.
pub struct CauchySchwarz {
    cost: Cost,
    similarity: Similarity,
    graph: Neighborhoods,
    /// The neighbourhoods with every weight one, from their centres and to them.
    from: Csr,
    to: Csr,
    /// What is compared, if it is one number for each point: `p`.
    marginals: Vec<f64>,
    /// `ln |p|`.
    constant: f64,
    attraction: Csr,
    sums: Controlled,
    /// `q`, and `p / <p, q> - q / |q|^2`.
    map_marginals: Vec<f64>,
    balance: Vec<f64>,
    zeros: Vec<f64>,
    /// Memory of sums over edges.
    room: Room,
    /// `<p, q>` and `|q|^2` at the last map.
    entropies: [f64; 2],
}

impl CauchySchwarz {
    /// With symmetric affinities that sum to one, and neighbourhoods of `k`.
    pub fn new(
        cost: Cost,
        affinities: Csr,
        k: usize,
        similarity: Similarity,
        engine: Box<dyn KernelSum>,
        tolerance: f64,
    ) -> Result<Self> {
        let n = affinities.rows();
        let graph = Neighborhoods::new(&affinities, k)?;
        let from = graph.near.map(|_, _, _| 1.0);
        let to = from.transpose();
        let (marginals, attraction) = match cost {
            Cost::Pairs => (Vec::new(), affinities),
            Cost::Marginals => (affinities.row_sums(), affinities),
            Cost::Neighborhoods => {
                // As strong as where all similarities are one.
                let marginals = graph.marginals.clone();
                let total: f64 = (0..n).map(|i| marginals[i] * from.row(i).0.len() as f64).sum();
                let pull =
                    symmetrize(&from.map(|i, _, _| marginals[i] / total.max(LEAST_ENTROPY)), Symmetrization::Average)?;
                (marginals, pull)
            }
        };
        let compared = if cost == Cost::Pairs { attraction.values() } else { &marginals[..] };
        let constant = 0.5 * compared.iter().map(|p| p * p).sum::<f64>().max(LEAST_ENTROPY).ln();
        let kernel = if cost == Cost::Pairs { similarity.squared() } else { (similarity.kernel(), 1.0) };
        let sums = Controlled::new(engine, n, kernel, tolerance);
        let [map_marginals, balance, zeros] = [(); 3].map(|()| vec![0.0; n]);
        Ok(Self {
            cost,
            similarity,
            graph,
            from,
            to,
            marginals,
            constant,
            attraction,
            sums,
            map_marginals,
            balance,
            zeros,
            room: Room::default(),
            entropies: [f64::NAN; 2],
        })
    }

    /// The engine, and the error of its force as measured last.
    pub fn measured(&self) -> Option<(&'static str, f64)> {
        self.sums.control.measured().map(|error| (self.sums.potential.engine(), error))
    }

    /// What new points are placed by: the marginals that are compared, if any are, and the sums over the map at `y`.
    pub fn frozen(&mut self, y: Points) -> Result<MapItFrozen> {
        self.field(y, false, &mut vec![0.0; y.values().len()])?;
        let marginals = match self.cost {
            Cost::Pairs => [self.zeros.clone(), self.zeros.clone()],
            Cost::Neighborhoods | Cost::Marginals => [self.marginals.clone(), self.map_marginals.clone()],
        };
        Ok(MapItFrozen { marginals, entropies: self.entropies })
    }

    /// Proposition 11: `4 sum_j (P_ij / c1 - K_ij / c2) S_ij (y_i - y_j)`.
    fn pairs(&mut self, y: Points, out: &mut [f64]) -> Result<f64> {
        let c2 = self.sums.sum(y)?.max(LEAST_ENTROPY);
        out.fill(0.0);
        self.balance.fill(1.0);
        let places = self.room.places(y);
        let c1 = edges::weighted(&self.attraction, &self.balance, &self.zeros, places, self.similarity, out);
        let c1 = c1.max(LEAST_ENTROPY);
        let push = 1.0 / self.sums.scale.sqrt() / c2;
        out.par_chunks_mut(CHUNK).zip(self.sums.potential.slopes.par_chunks(CHUNK)).for_each(|(out, slopes)| {
            out.iter_mut().zip(slopes).for_each(|(out, slope)| *out = 4.0 / c1 * *out + push * slope);
        });
        self.entropies = [c1, c2];
        Ok(0.5 * c2.ln() - c1.ln())
    }

    /// Eq 91, as trap 1 corrects it: `2 sum_j (M_ij b_i + M_ji b_j) S_ij (y_i - y_j)`, `M` the neighbourhoods.
    fn neighborhoods(&mut self, y: Points, out: &mut [f64]) -> f64 {
        edges::marginals(&self.graph.near, self.room.places(y), self.similarity, &mut self.map_marginals);
        let value = self.weigh();
        out.fill(0.0);
        let places = self.room.places(y);
        edges::weighted(&self.from, &self.balance, &self.zeros, places, self.similarity, out);
        edges::weighted(&self.to, &self.zeros, &self.balance, places, self.similarity, out);
        out.par_chunks_mut(CHUNK).for_each(|out| out.iter_mut().for_each(|out| *out *= 2.0));
        value
    }

    /// Eq 8: `2 sum_j (b_i + b_j) S_ij (y_i - y_j)`, from the potentials of `K` with the charges 1 and `b`; a potential's
    /// gradient is `-2 sum_j q_j S_ij (y_i - y_j)`.
    fn all_marginals(&mut self, y: Points, out: &mut [f64]) -> Result<f64> {
        let d = y.dim();
        self.sums.sum(y)?;
        self.map_marginals.iter_mut().zip(&self.sums.potential.values).for_each(|(q, v)| *q = (v - 1.0).max(0.0));
        let value = self.weigh();
        for ((out, slopes), balance) in
            out.chunks_exact_mut(d).zip(self.sums.potential.slopes.chunks_exact(d)).zip(&self.balance)
        {
            out.iter_mut().zip(slopes).for_each(|(out, slope)| *out = -balance * slope);
        }
        self.sums.potential.sum_charges(self.sums.kernel, d, &self.balance)?;
        out.iter_mut().zip(&self.sums.potential.slopes).for_each(|(out, slope)| *out -= slope);
        Ok(value)
    }

    /// Fills in the balance of the marginals; returns `-ln <p, q> + ln |q|`.
    fn weigh(&mut self) -> f64 {
        let c1 = dot(&self.marginals, &self.map_marginals).max(LEAST_ENTROPY);
        let c2 = dot(&self.map_marginals, &self.map_marginals).max(LEAST_ENTROPY);
        let marginals = self.marginals.iter().zip(&self.map_marginals);
        self.balance.iter_mut().zip(marginals).for_each(|(balance, (p, q))| *balance = p / c1 - q / c2);
        self.entropies = [c1, c2];
        0.5 * c2.ln() - c1.ln()
    }
}

impl Field for CauchySchwarz {
    fn field(&mut self, y: Points, _value: bool, out: &mut [f64]) -> Result<Option<f64>> {
        let value = match self.cost {
            Cost::Pairs => self.pairs(y, out)?,
            Cost::Neighborhoods => self.neighborhoods(y, out),
            Cost::Marginals => self.all_marginals(y, out)?,
        };
        Ok(Some(value + self.constant))
    }

    fn prepare(&mut self, iteration: usize, y: Points, _value: Option<f64>) -> Result<Change> {
        if self.cost != Cost::Neighborhoods {
            return self.sums.prepare(iteration, y);
        }
        Ok(Change::Nothing)
    }

    fn save(&self, archive: &mut Archive) {
        self.sums.control.save(archive);
    }

    fn restore(&mut self, archive: &Archive) -> Result<()> {
        self.sums.control.restore(archive)
    }
}

impl Objective for CauchySchwarz {
    fn attraction(&self) -> Csr {
        self.attraction.clone()
    }

    fn degrees(&self) -> Vec<f64> {
        self.attraction.row_sums()
    }

    fn noise(&self) -> f64 {
        let exact = self.cost == Cost::Neighborhoods || self.sums.potential.bound == Some(0.0);
        // Sums within this share of the true ones move their logarithms by no more.
        if exact { 0.0 } else { self.sums.control.noise() }
    }
}
