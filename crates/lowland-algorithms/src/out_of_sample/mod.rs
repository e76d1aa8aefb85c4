//! Out-of-sample extension: coordinates of new rows on a fixed map. Each row is placed independently of the other new rows,
//! at a minimum of its own contribution to the objective.

mod point_search;

use crate::affinity::{AffinityKind, Perplexities, affinities_from_distances, neighbors_for};
use lowland_core::run::Progress;
use lowland_core::{Data, Embedding, Metric, Points, Result};
use lowland_linalg::Csr;
use lowland_nbody::{Exact, KernelSum};
use lowland_neighbors::nearest_to_with;

pub(crate) use point_search::{AffinityRow, MapPotential, PointObjective, minimize_points};

/// The contribution of one new point to an objective, with the map fixed.
pub trait OutOfSampleObjective {
    /// Returns the map.
    fn map(&self) -> Points<'_>;

    /// Returns the coordinates of a point for each row of `affinities`, which are to the points of the map and sum to one in
    /// each row. `engine` must give every target the same sums as it would alone.
    fn coordinates(&self, affinities: &Csr, engine: &mut dyn KernelSum, progress: &mut Progress) -> Result<Vec<f64>>;
}

/// The rows that a map was fitted to, and how the affinities of new rows to them are computed.
#[derive(Clone, Copy)]
pub struct TrainingRows<'a> {
    /// The rows.
    pub data: &'a Data,
    /// Distance between rows.
    pub metric: Metric,
    /// How affinities are computed from distances. Precomputed ones say nothing about new rows, for which entropic ones
    /// are used instead.
    pub affinity: AffinityKind,
    /// Perplexities of the fit.
    pub perplexity: &'a Perplexities,
    /// Lower bound of the number of neighbors of each new row; zero if the perplexity alone decides.
    pub min_neighbors: usize,
}

/// Share of the neighbor search in the progress.
const SEARCH_SHARE: f64 = 0.3;

impl TrainingRows<'_> {
    /// Returns the affinities of the new rows to their nearest training rows; rows sum to one.
    pub fn affinities(&self, new: &Data, progress: &mut Progress) -> Result<Csr> {
        let n = self.data.rows();
        let kind = if self.affinity == AffinityKind::Precomputed { AffinityKind::Entropic } else { self.affinity };
        let k = neighbors_for(kind, self.perplexity).max(self.min_neighbors).min(n);
        let graph = nearest_to_with(new, self.data, k, self.metric, progress)?;
        let edges = (0..new.rows()).flat_map(|i| {
            let (columns, distances) = graph.row(i);
            columns.iter().zip(distances).map(move |(&j, &d)| (i as u32, j, f64::from(d)))
        });
        affinities_from_distances(Csr::from_triplets(new.rows(), n, edges)?, kind, self.perplexity)
    }

    /// Returns the coordinates of new rows on the map that `objective` belongs to.
    pub fn transform(
        &self,
        new: &Data,
        objective: &impl OutOfSampleObjective,
        progress: &mut Progress,
    ) -> Result<Embedding> {
        let affinities = self.affinities(new, &mut |done| progress(SEARCH_SHARE * done))?;
        let mut rest = |done: f64| progress(SEARCH_SHARE + (1.0 - SEARCH_SHARE) * done);
        Embedding::new(objective.coordinates(&affinities, &mut Exact, &mut rest)?, objective.map().dim())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::neighbor_embedding::{Energy, NeighborEmbeddingTransform};

    #[test]
    fn new_rows_are_transformed_independently_and_close_to_their_neighbors() {
        let data = Data::dense((0..60u8).map(f32::from).collect(), 1).unwrap();
        let map: Vec<f64> = (0..60u8).flat_map(|i| [0.1 * f64::from(i), 0.0]).collect();
        let perplexity = Perplexities::new(vec![3.0]).unwrap();
        let objective = NeighborEmbeddingTransform {
            map: Points::new(&map, 2).unwrap(),
            energy: Energy::SymmetricSne,
            repulsion: 0.0,
        };
        let transform = |affinity: AffinityKind, rows: &[f32], progress: &mut Progress| {
            let (metric, perplexity) = (Metric::Euclidean, &perplexity);
            let training = TrainingRows { data: &data, metric, affinity, perplexity, min_neighbors: 6 };
            training.transform(&Data::dense(rows.to_vec(), 1).unwrap(), &objective, progress).unwrap()
        };
        let mut shares = Vec::new();
        let rows = [30.5, 10.2, 44.0];
        let together = transform(AffinityKind::Entropic, &rows, &mut |done| {
            shares.push(done);
            Ok(())
        });
        assert!(shares.is_sorted() && shares.iter().all(|share| (0.0..=1.0).contains(share)), "{shares:?}");
        for (i, row) in rows.into_iter().enumerate() {
            assert!((together.row(i)[0] - 0.1 * f64::from(row)).abs() < 0.05, "{:?}", together.row(i));
            // Precomputed affinities say nothing about new rows: theirs are entropic.
            for affinity in [AffinityKind::Entropic, AffinityKind::Precomputed] {
                assert_eq!(transform(affinity, &[row], &mut |_| Ok(())).values(), together.row(i));
            }
        }
    }
}
