//! The loss of one point of a neighbor embedding.

use lowland_core::Points;
use lowland_core::simd::{exp, ln, simd_dispatch};

use super::Energy;
use crate::affinity::{NEIGHBORS_PER_PERPLEXITY, entropic_row};
use crate::point_loss::{Jet, PointLoss, Radial, RadialSum};

/// The energy of one point: `sum_j w_j f(s_j)` with affinities `w` that sum to one, and the repulsion by all others, as for new
/// points (see [`NeighborEmbeddingTransform`](super::NeighborEmbeddingTransform)).
pub struct NeighborEmbeddingLoss<'a> {
    /// The map.
    pub map: Points<'a>,
    /// The energy that the map is a minimum of.
    pub energy: Energy,
    /// Strength of the repulsion by each point of the map.
    pub repulsion: f64,
    /// Perplexities of the affinities, which are averaged.
    pub perplexities: &'a [f64],
}

/// The places of a point's neighbors, padded to whole vectors, and their affinities.
#[derive(Default)]
pub struct NeighborEmbeddingRow {
    x: Vec<f64>,
    y: Vec<f64>,
    weights: Vec<f64>,
    neighbors: usize,
    bandwidths: Vec<f64>,
    part: Vec<f64>,
    /// Mean place of the neighbors and their mean squared distance from it, weighted by affinity: all that a quadratic
    /// attraction needs.
    mean: [f64; 2],
    variance: f64,
}

/// Neighbors that are summed at a time.
const LANES: usize = 8;

impl PointLoss for NeighborEmbeddingLoss<'_> {
    type Row = NeighborEmbeddingRow;

    fn map(&self) -> Points<'_> {
        self.map
    }

    fn field(&self) -> Option<RadialSum> {
        Some(RadialSum(match self.energy {
            Energy::Elastic { .. } | Energy::SymmetricSne => Radial::Gaussian { scale: 1.0 },
            Energy::StudentSne { dof } => Radial::Cauchy { power: 0.5 * (dof + 1.0), scale: dof },
        }))
    }

    fn unit(&self) -> f64 {
        self.energy.scale().sqrt()
    }

    fn n_neighbors(&self) -> usize {
        let largest = self.perplexities.iter().copied().fold(1.0, f64::max);
        (NEIGHBORS_PER_PERPLEXITY * largest).ceil() as usize
    }

    fn set_row(&self, row: &mut NeighborEmbeddingRow, _: usize, neighbors: &[u32], lengths: &[f64]) {
        let count = neighbors.len().min(self.n_neighbors());
        let padded = count.next_multiple_of(LANES);
        row.neighbors = count;
        for (c, values) in [&mut row.x, &mut row.y].into_iter().enumerate() {
            values.clear();
            values.extend(neighbors[..count].iter().map(|&j| self.map.values()[2 * j as usize + c]));
            values.resize(padded, 0.0);
        }
        row.weights.clear();
        row.weights.resize(padded, 0.0);
        row.bandwidths.clear();
        let share = 1.0 / self.perplexities.len() as f64;
        for &perplexity in self.perplexities {
            row.part.clear();
            row.part.extend_from_slice(&lengths[..count]);
            let perplexity = perplexity.min(count as f64 / NEIGHBORS_PER_PERPLEXITY).max(1.0);
            row.bandwidths.push(entropic_row(&mut row.part, perplexity));
            row.weights.iter_mut().zip(&row.part).for_each(|(w, part)| *w += share * part);
        }
        self.set_moments(row);
    }

    /// The bandwidths stay as they are.
    fn move_row(&self, row: &mut NeighborEmbeddingRow, lengths: &[f64]) {
        let lengths = &lengths[..row.neighbors];
        row.weights.fill(0.0);
        let share = 1.0 / self.perplexities.len() as f64;
        for bandwidth in &row.bandwidths {
            row.part.clear();
            row.part.extend_from_slice(lengths);
            gaussian_weights(&mut row.part, *bandwidth);
            row.weights.iter_mut().zip(&row.part).for_each(|(w, part)| *w += share * part);
        }
        self.set_moments(row);
    }

    fn at(&self, row: &NeighborEmbeddingRow, place: [f64; 2], field: &Jet) -> Jet {
        match self.energy {
            Energy::StudentSne { dof } => {
                let [value, x, y, xx, xy, yy] = student_attraction(place, &row.x, &row.y, &row.weights, dof);
                let mut jet = Jet { value, gradient: [x, y], hessian: [xx, xy, yy] };
                jet.add(self.repulsion, field);
                jet
            }
            Energy::Elastic { .. } => {
                let mut jet = self.quadratic(row, place);
                jet.add(self.repulsion, field);
                jet
            }
            // As for new points, the logarithm of the kernel sum.
            Energy::SymmetricSne => {
                let points = self.map.rows() as f64;
                let factor = 2.0 * self.repulsion / points;
                let share = factor * field.value;
                let slope = self.repulsion / (1.0 + share);
                let curvature = -factor * slope / (1.0 + share);
                let mut jet = self.quadratic(row, place);
                jet.add(1.0, &field.compose([0.5 * points * share.ln_1p(), slope, curvature]));
                jet
            }
        }
    }
}

impl NeighborEmbeddingLoss<'_> {
    fn set_moments(&self, row: &mut NeighborEmbeddingRow) {
        if let Energy::StudentSne { .. } = self.energy {
            return;
        }
        let mean = |values: &[f64]| row.weights.iter().zip(values).map(|(w, v)| w * v).sum::<f64>();
        let center = [mean(&row.x), mean(&row.y)];
        let places = row.x.iter().zip(&row.y);
        let squares = places.map(|(x, y)| (x - center[0]).powi(2) + (y - center[1]).powi(2));
        let variance = squares.zip(&row.weights).map(|(square, w)| square * w).sum();
        (row.mean, row.variance) = (center, variance);
    }

    fn quadratic(&self, row: &NeighborEmbeddingRow, place: [f64; 2]) -> Jet {
        let mut jet = Jet { value: row.variance, ..Jet::default() };
        let square = (place[0] - row.mean[0]).powi(2) + (place[1] - row.mean[1]).powi(2);
        jet.add_of_square([square, 1.0, 0.0], place, row.mean);
        jet
    }
}

/// Replaces distances by Gaussian weights of this bandwidth; they sum to one.
#[simd_dispatch]
fn gaussian_weights(row: &mut [f64], bandwidth: f64) {
    let mut nearest = f64::INFINITY;
    for d in row.iter() {
        nearest = if *d < nearest { *d } else { nearest };
    }
    let inverse = 1.0 / bandwidth;
    for d in row.iter_mut() {
        *d = exp(-0.5 * ((*d - nearest) * inverse) * ((*d + nearest) * inverse));
    }
    let mut total = 0.0;
    for w in row.iter() {
        total += w;
    }
    for w in row.iter_mut() {
        *w /= total;
    }
}

/// Sums the attraction of the neighbors: value, gradient and second derivatives (xx, xy, yy).
#[simd_dispatch]
fn student_attraction(place: [f64; 2], x: &[f64], y: &[f64], weights: &[f64], dof: f64) -> [f64; 6] {
    let (inverse, factor) = (1.0 / dof, 0.5 * (dof + 1.0));
    let mut sums = [[0.0; LANES]; 6];
    let neighbors = x.chunks_exact(LANES).zip(y.chunks_exact(LANES)).zip(weights.chunks_exact(LANES));
    for ((x, y), weights) in neighbors {
        for lane in 0..LANES {
            let d = [place[0] - x[lane], place[1] - y[lane]];
            let base = 1.0 + inverse * (d[0] * d[0] + d[1] * d[1]);
            let ratio = inverse / base;
            let first = 2.0 * factor * weights[lane] * ratio;
            let second = 2.0 * first * ratio;
            sums[0][lane] += weights[lane] * ln(base);
            sums[1][lane] += first * d[0];
            sums[2][lane] += first * d[1];
            sums[3][lane] += first - second * d[0] * d[0];
            sums[4][lane] -= second * d[0] * d[1];
            sums[5][lane] += first - second * d[1] * d[1];
        }
    }
    let mut totals = [0.0; 6];
    for (total, lanes) in totals.iter_mut().zip(&sums) {
        *total = ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
    }
    totals[0] *= factor;
    totals
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::point_loss::tests::check_derivatives;
    use lowland_core::Seed;

    const ENERGIES: [Energy; 4] = [
        Energy::StudentSne { dof: 1.0 },
        Energy::StudentSne { dof: 1.6 },
        Energy::SymmetricSne,
        Energy::Elastic { lambda: 0.1 },
    ];

    fn row_of(loss: &NeighborEmbeddingLoss) -> (NeighborEmbeddingRow, Vec<u32>, Vec<f64>) {
        let neighbors: Vec<u32> = (1..31).map(|j| j * 5).collect();
        let lengths: Vec<f64> = (0..30).map(|j| 1.0 + 0.1 * f64::from(j)).collect();
        let mut row = NeighborEmbeddingRow::default();
        loss.set_row(&mut row, 0, &neighbors, &lengths);
        (row, neighbors, lengths)
    }

    #[test]
    fn derivatives_agree_with_differences() {
        let values = Seed(4).normals(400);
        let map = Points::new(&values, 2).unwrap();
        for energy in ENERGIES {
            let loss = NeighborEmbeddingLoss { map, energy, repulsion: 0.03, perplexities: &[5.0, 9.0] };
            let (mut row, _, mut lengths) = row_of(&loss);
            check_derivatives(&loss, &row, &[[0.3, -0.2], [2.0, 1.0], [-4.0, 0.1]], 1e-4);
            lengths[3] = 0.2;
            loss.move_row(&mut row, &lengths);
            check_derivatives(&loss, &row, &[[0.3, -0.2]], 1e-4);
        }
    }

    #[test]
    fn a_row_that_is_not_moved_keeps_its_affinities() {
        let values = Seed(4).normals(400);
        let map = Points::new(&values, 2).unwrap();
        let energy = Energy::StudentSne { dof: 1.0 };
        let loss = NeighborEmbeddingLoss { map, energy, repulsion: 0.03, perplexities: &[8.0] };
        let (mut row, _, mut lengths) = row_of(&loss);
        let before = row.weights.clone();
        assert!((before.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        loss.move_row(&mut row, &lengths);
        assert!(row.weights.iter().zip(&before).all(|(a, b)| (a - b).abs() < 1e-12));
        lengths[7] = 0.5;
        loss.move_row(&mut row, &lengths);
        assert!(row.weights[7] > 2.0 * before[7] && row.weights[0] < before[0]);
    }

    #[test]
    fn the_loss_is_that_of_new_points() {
        let values = Seed(4).normals(400);
        let map = Points::new(&values, 2).unwrap();
        for energy in ENERGIES {
            let loss = NeighborEmbeddingLoss { map, energy, repulsion: 0.03, perplexities: &[8.0] };
            let (row, neighbors, _) = row_of(&loss);
            let (y, kernel) = ([0.4, 0.7], energy.kernel());
            let square = |j: usize| (y[0] - map.row(j)[0]).powi(2) + (y[1] - map.row(j)[1]).powi(2);
            let potential: f64 = (0..200).map(|j| kernel.value(square(j) / energy.scale())).sum();
            let attraction: f64 = neighbors
                .iter()
                .zip(&row.weights)
                .map(|(&j, w)| w * energy.attraction().derivatives(square(j as usize)).0)
                .sum();
            let repulsion = match energy {
                Energy::SymmetricSne => 100.0 * (2.0 * 0.03 * potential / 200.0).ln_1p(),
                _ => 0.03 * potential,
            };
            let mut field = Jet { value: potential, ..Jet::default() };
            if let Some(RadialSum(radial)) = loss.field() {
                let sum: f64 = (0..200).map(|j| radial.derivatives(square(j))[0]).sum();
                assert!((sum / potential - 1.0).abs() < 1e-12, "{energy:?}");
                field.value = sum;
            }
            assert!((loss.at(&row, y, &field).value - attraction - repulsion).abs() < 1e-10, "{energy:?}");
        }
    }
}
