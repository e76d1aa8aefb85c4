//! Out-of-sample extension: coordinates of new rows on a fixed map. Each row is placed independently of the other new rows,
//! at a minimum of its own contribution to the objective.

mod map_field;
mod point_search;
mod training_rows;

use lowland_core::run::Progress;
use lowland_core::{Points, Result};
use lowland_linalg::Csr;

pub use map_field::{MIN_FIELD_POINTS, MapField};
pub use point_search::MapSums;
pub(crate) use point_search::{AffinityRow, MapPotential, PointObjective, fields_of, minimize_points};
pub use training_rows::{AffinitySettings, TrainingRows};

/// The contribution of one new point to an objective, with the map fixed.
pub trait OutOfSampleObjective {
    /// Returns the map.
    fn map(&self) -> Points<'_>;

    /// Returns the fields from which the potentials of the map can be interpolated, with a relative error of their gradients of at
    /// most `tolerance`; `None` if there are none and the potentials have to be summed.
    fn fields(&self, tolerance: f64) -> Result<Option<Vec<MapField>>>;

    /// Returns the coordinates of a point for each row of `affinities`, which are to the points of the map and sum to one in
    /// each row. `sums` may hold the result of [`OutOfSampleObjective::fields`].
    fn coordinates(&self, affinities: &Csr, sums: MapSums, progress: &mut Progress) -> Result<Vec<f64>>;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::affinity::{AffinityKind, Perplexities};
    use crate::neighbor_embedding::{Energy, NeighborEmbeddingTransform};
    use lowland_core::{Data, Metric};

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
            let settings = AffinitySettings { affinity, perplexity: perplexity.clone(), min_neighbors: 6 };
            let training = TrainingRows::new(data.clone(), metric, settings, 1e-2);
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
