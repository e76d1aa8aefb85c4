//! New points on a fixed map: the energy is minimized over the coordinates of each new point.

use super::Energy;
use crate::objective::squared_distance;
use crate::out_of_sample::{
    AffinityRow, MapField, MapPotential, MapSums, OutOfSampleObjective, PointObjective, fields_of, minimize_points,
};
use lowland_core::run::Progress;
use lowland_core::{Error, Points, Result};
use lowland_linalg::Csr;

/// The energy of a new point on a fixed map.
pub struct NeighborEmbeddingTransform<'a> {
    /// The map.
    pub map: Points<'a>,
    /// The energy that the map is a minimum of.
    pub energy: Energy,
    /// Strength of the repulsion by each point of the map, for a new point whose affinities sum to one.
    pub repulsion: f64,
}

impl OutOfSampleObjective for NeighborEmbeddingTransform<'_> {
    fn map(&self) -> Points<'_> {
        self.map
    }

    fn fields(&self, tolerance: f64) -> Result<Option<Vec<MapField>>> {
        fields_of(self, self.map, tolerance)
    }

    fn coordinates(&self, affinities: &Csr, sums: MapSums, progress: &mut Progress) -> Result<Vec<f64>> {
        let n = self.map.rows();
        if affinities.columns() != n {
            return Err(Error::Shape { what: "points of the map", expected: n, found: affinities.columns() });
        }
        minimize_points(self, self.map, affinities, sums, progress)
    }
}

impl PointObjective for NeighborEmbeddingTransform<'_> {
    type State = ();

    fn potentials(&self) -> Vec<MapPotential<'_>> {
        vec![MapPotential { kernel: self.energy.kernel(), scale: self.energy.scale(), charges: None }]
    }

    /// Starts at the mean of the neighbors, weighted by affinity.
    fn start(&self, (columns, weights): AffinityRow) -> (Vec<f64>, ()) {
        let total = weights.iter().sum::<f64>().max(f64::MIN_POSITIVE);
        let mut mean = vec![0.0; self.map.dim()];
        for (&j, &w) in columns.iter().zip(weights) {
            mean.iter_mut().zip(self.map.row(j as usize)).for_each(|(s, y)| *s += w / total * y);
        }
        (mean, ())
    }

    fn evaluate(
        &self,
        point: &[f64],
        _: &(),
        (columns, weights): AffinityRow,
        potentials: &[(f64, &[f64])],
    ) -> (f64, Vec<f64>) {
        let d = point.len();
        let attraction = self.energy.attraction();
        let (potential, slopes) = potentials[0];
        let (mut value, repulsion) = match self.energy {
            Energy::Elastic { .. } | Energy::StudentSne { .. } => (self.repulsion * potential, self.repulsion),
            // The logarithm of the kernel sum, to which the new point adds its potential twice, once in each order. Its linear
            // term, which is all that t-SNE needs, would be unbounded where the points of the map are so isolated that the
            // sum of their Gaussian kernels nearly vanishes.
            Energy::SymmetricSne => {
                let points = self.map.rows() as f64;
                let share = 2.0 * self.repulsion * potential / points;
                (0.5 * points * share.ln_1p(), self.repulsion / (1.0 + share))
            }
        };
        let mut gradient: Vec<f64> = slopes.iter().map(|slope| repulsion * slope).collect();
        for (&j, &w) in columns.iter().zip(weights) {
            let there = self.map.row(j as usize);
            let (f, slope, _) = attraction.derivatives(squared_distance(point, there));
            value += w * f;
            for c in 0..d {
                gradient[c] += 2.0 * w * slope * (point[c] - there[c]);
            }
        }
        (value, gradient)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lowland_core::Seed;

    #[test]
    fn a_new_point_is_at_a_minimum_and_independent_of_the_others() {
        let (n, d) = (200, 2);
        let values = Seed(1).normals(n * d);
        let map = Points::new(&values, d).unwrap();
        let rows = 30;
        let entries = (0..rows).flat_map(|i| (0..8u32).map(move |k| (i, (i * 6 + k * 11) % 200, 0.125)));
        let affinities = Csr::from_triplets(rows as usize, n, entries).unwrap();
        for energy in [Energy::Elastic { lambda: 0.1 }, Energy::SymmetricSne, Energy::StudentSne { dof: 1.5 }] {
            let transform = NeighborEmbeddingTransform { map, energy, repulsion: 0.02 };
            let found = transform.coordinates(&affinities, MapSums::Exact, &mut |_| Ok(())).unwrap();
            let value = |point: &[f64], row: usize| {
                let attraction: f64 = affinities
                    .row(row)
                    .0
                    .iter()
                    .map(|&j| 0.125 * energy.attraction().derivatives(squared_distance(point, map.row(j as usize))).0)
                    .sum();
                let kernel = energy.kernel();
                let squared = |j: usize| squared_distance(point, map.row(j)) / energy.scale();
                let potential: f64 = (0..n).map(|j| kernel.value(squared(j))).sum();
                let normalized = 0.5 * n as f64 * (1.0 + 0.04 * potential / n as f64).ln();
                attraction + if energy == Energy::SymmetricSne { normalized } else { 0.02 * potential }
            };
            for row in 0..rows as usize {
                let point = &found[row * d..(row + 1) * d];
                let here = value(point, row);
                for (dx, dy) in [(1e-3, 0.0), (-1e-3, 0.0), (0.0, 1e-3), (0.0, -1e-3)] {
                    assert!(value(&[point[0] + dx, point[1] + dy], row) > here, "{energy:?} row {row}");
                }
            }
            let one = Csr::from_triplets(1, n, affinities.iter().filter(|e| e.0 == 7).map(|e| (0, e.1 as u32, e.2)));
            let alone = transform.coordinates(&one.unwrap(), MapSums::Exact, &mut |_| Ok(())).unwrap();
            assert_eq!(alone, found[7 * d..8 * d]);
        }
    }

    #[test]
    fn interpolated_placements_are_those_of_the_exact_sums_within_the_tolerance() {
        let (n, d, rows) = (6000, 2, 60usize);
        let (noise, centers) = (Seed(2).normals(n * d), Seed(3).normals(24));
        let values: Vec<f64> =
            (0..n * d).map(|at| 2.0 * noise[at] + 10.0 * centers[at / 2 % 12 * 2 + at % 2]).collect();
        let map = Points::new(&values, d).unwrap();
        // Neighbors in one cluster each.
        let entries =
            (0..rows).flat_map(|i| (0..12).map(move |k| (i as u32, ((i + 12 * (3 * i + k)) % n) as u32, 1.0 / 12.0)));
        let affinities = Csr::from_triplets(rows, n, entries).unwrap();
        for energy in [Energy::Elastic { lambda: 0.1 }, Energy::SymmetricSne, Energy::StudentSne { dof: 1.0 }] {
            let transform = NeighborEmbeddingTransform { map, energy, repulsion: 2e-3 };
            let fields = transform.fields(1e-3).unwrap().expect("a small map");
            let place = |sums| transform.coordinates(&affinities, sums, &mut |_| Ok(())).unwrap();
            let (exact, found) = (place(MapSums::Exact), place(MapSums::Interpolated(&fields)));
            let mut distances: Vec<f64> = (0..rows)
                .map(|i| squared_distance(&exact[2 * i..2 * i + 2], &found[2 * i..2 * i + 2]).sqrt())
                .collect();
            distances.sort_by(f64::total_cmp);
            assert!(exact != found, "{energy:?}");
            assert!(distances[rows / 2] < 2e-3 && distances[rows * 9 / 10] < 2e-2, "{energy:?} {distances:?}");
            // Alone, and far from the map, where the potential is summed.
            let one = Csr::from_triplets(1, n, affinities.iter().filter(|e| e.0 == 7).map(|e| (0, e.1 as u32, e.2)));
            let alone = transform.coordinates(&one.unwrap(), MapSums::Interpolated(&fields), &mut |_| Ok(())).unwrap();
            assert_eq!(alone, found[14..16]);
        }
    }
}
