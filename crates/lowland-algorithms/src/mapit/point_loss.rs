//! The loss of one point of a map by MAP IT: the function whose gradient is the released program's field on it.

use lowland_core::Points;
use lowland_nbody::Kernel;

use super::SimilarityKernel;
use super::neighborhoods::within_steps;
use super::out_of_sample::MapItFittedState;
use crate::affinity::entropic_row;
use crate::point_loss::{Jet, PointLoss, Radial, RadialSum, nearest_of};

/// The loss of one point, everything else being fixed, as for new points (see [`MapItTransform`](super::MapItTransform)):
/// `-sum_j a_j K_j / 2 + (sum_j K_j^2 - sum over neighbors of it) / (4 c2)`, scaled so that the absolute strengths of attraction sum
/// to two.
pub struct MapItLoss<'a> {
    /// The map.
    pub map: Points<'a>,
    /// Similarity in the map.
    pub similarity: SimilarityKernel,
    /// The marginals and entropy weights of the map.
    pub state: &'a MapItFittedState,
    /// Number of neighbors.
    pub k: usize,
    /// Number of steps along the neighborhoods within which marginals are aligned.
    pub reach: usize,
    /// Perplexity of the affinities.
    pub perplexity: f64,
    /// Number of nearest rows with affinities.
    pub n_affinities: usize,
}

/// The points that attract a row.
#[derive(Default)]
pub struct MapItRow {
    candidates: Vec<u32>,
    point: u32,
    bandwidth: f64,
    /// Place, strength of attraction, and whether the point is a neighbor.
    attractions: Vec<([f64; 2], f64, bool)>,
    scale: f64,
    order: Vec<usize>,
}

impl SimilarityKernel {
    fn radial(self) -> Radial {
        match self {
            Self::Student => Radial::Cauchy { power: 1.0, scale: 1.0 },
            Self::Gaussian => Radial::Gaussian { scale: 1.0 },
        }
    }

    fn squared_radial(self) -> Radial {
        match self.squared() {
            (Kernel::Gaussian, scale) => Radial::Gaussian { scale },
            (Kernel::Cauchy { power }, scale) => Radial::Cauchy { power, scale },
        }
    }
}

impl MapItLoss<'_> {
    /// Sets the attractions, given affinities to the candidates that sum to one, and their order by size.
    fn set_attractions(&self, row: &mut MapItRow, affinities: &[f64]) {
        let MapItFittedState { marginals: [p, q], entropies: [c1, c2], neighborhoods } = self.state;
        let n = self.map.rows() as f64;
        let place = |j: u32| [self.map.row(j as usize)[0], self.map.row(j as usize)[1]];
        let align = |j: u32| (place(j), p[j as usize] / c1 - q[j as usize] / c2, true);
        let (near, others) = row.order.split_at(self.k.min(row.order.len()));
        let near: Vec<u32> = near.iter().map(|&at| row.candidates[at]).collect();
        row.attractions.clear();
        row.attractions.extend(near.iter().map(|&j| align(j)));
        let mut beyond = Vec::new();
        if let Some(neighborhoods) = neighborhoods.as_ref().filter(|_| self.reach > 1) {
            beyond = within_steps(neighborhoods, &near, self.reach - 1);
            beyond.retain(|&j| !near.contains(&j) && j != row.point);
            row.attractions.extend(beyond.iter().map(|&j| align(j)));
        }
        for &at in others.iter().filter(|&&at| beyond.binary_search(&row.candidates[at]).is_err()) {
            row.attractions.push((place(row.candidates[at]), affinities[at] / n / c1, false));
        }
        row.scale = row.attractions.iter().map(|entry| entry.1.abs()).sum::<f64>().max(f64::MIN_POSITIVE);
    }
}

impl PointLoss for MapItLoss<'_> {
    type Row = MapItRow;

    fn map(&self) -> Points<'_> {
        self.map
    }

    fn field(&self) -> Option<RadialSum> {
        Some(RadialSum(self.similarity.squared_radial()))
    }

    fn unit(&self) -> f64 {
        1.0
    }

    fn n_neighbors(&self) -> usize {
        self.n_affinities
    }

    fn set_row(&self, row: &mut MapItRow, i: usize, neighbors: &[u32], lengths: &[f64]) {
        let count = neighbors.len().min(self.n_affinities);
        row.point = i as u32;
        row.candidates.clear();
        row.candidates.extend_from_slice(&neighbors[..count]);
        let mut affinities = lengths[..count].to_vec();
        row.bandwidth = entropic_row(&mut affinities, self.perplexity);
        nearest_of(&lengths[..count], count, &mut row.order);
        self.set_attractions(row, &affinities);
    }

    /// The bandwidth stays as it is.
    fn move_row(&self, row: &mut MapItRow, lengths: &[f64]) {
        let lengths = &lengths[..row.candidates.len()];
        let nearest = lengths.iter().copied().fold(f64::INFINITY, f64::min);
        let weight = |d: &f64| (-0.5 * (d - nearest) / row.bandwidth * ((d + nearest) / row.bandwidth)).exp();
        let mut affinities: Vec<f64> = lengths.iter().map(weight).collect();
        let total: f64 = affinities.iter().sum();
        affinities.iter_mut().for_each(|w| *w /= total);
        nearest_of(lengths, lengths.len(), &mut row.order);
        self.set_attractions(row, &affinities);
    }

    fn at(&self, row: &MapItRow, place: [f64; 2], field: &Jet) -> Jet {
        let c2 = self.state.entropies[1];
        let [kernel, squared] = [self.similarity.radial(), self.similarity.squared_radial()];
        let mut jet = Jet::default();
        jet.add(0.25 / c2, field);
        for &(there, strength, near) in &row.attractions {
            jet.add_radial(-0.5 * strength, kernel, place, there);
            if near {
                jet.add_radial(-0.25 / c2, squared, place, there);
            }
        }
        let mut scaled = Jet::default();
        scaled.add(2.0 / row.scale, &jet);
        scaled
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::point_loss::tests::check_derivatives;
    use lowland_core::Seed;
    use lowland_linalg::Csr;

    #[test]
    fn derivatives_agree_with_differences_before_and_after_a_move() {
        let values = Seed(4).normals(400);
        let map = Points::new(&values, 2).unwrap();
        let near = (0..200u32).flat_map(|i| (1..5u32).map(move |k| (i, (i + 7 * k) % 200, 1.0)));
        let state = MapItFittedState {
            marginals: [vec![0.004; 200], vec![0.3; 200]],
            entropies: [0.8, 900.0],
            neighborhoods: Some(Csr::from_triplets(200, 200, near).unwrap()),
        };
        let neighbors: Vec<u32> = (1..31).map(|j| j * 5).collect();
        for similarity in [SimilarityKernel::Student, SimilarityKernel::Gaussian] {
            for reach in [1, 2] {
                let loss = MapItLoss { map, similarity, state: &state, k: 6, reach, perplexity: 5.0, n_affinities: 15 };
                let mut lengths: Vec<f64> = (0..30).map(|j| 1.0 + 0.1 * f64::from(j)).collect();
                let mut row = MapItRow::default();
                loss.set_row(&mut row, 0, &neighbors, &lengths);
                assert!(row.attractions.len() >= 15 && (reach == 1) == (row.attractions.len() == 15));
                check_derivatives(&loss, &row, &[[0.3, -0.2], [2.0, 1.0]], 1e-4);
                let before = loss.at(&row, [0.3, -0.2], &Jet::default());
                lengths[12] = 0.5;
                loss.move_row(&mut row, &lengths);
                assert_eq!(row.attractions[0].0, [map.row(65)[0], map.row(65)[1]]);
                check_derivatives(&loss, &row, &[[0.3, -0.2]], 1e-4);
                assert!(loss.at(&row, [0.3, -0.2], &Jet::default()) != before);
            }
        }
    }
}
