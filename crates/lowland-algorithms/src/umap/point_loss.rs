//! The loss of one point of a UMAP layout: what its attraction and sampled repulsion descend on average.

use lowland_core::Points;

use super::SimilarityCurve;
use super::fuzzy_graph::{local_distance, membership, smooth_distances};
use crate::point_loss::{Jet, PointLoss, Radial, RadialSum, nearest_of};

/// The mean loss of one point per attraction: `2 sum_j w_j ln(1 + a s^b)` with memberships `w` that sum to one, since each edge
/// attracts in both directions, and for each of the drawn points the mean over all points of `-ln(1 - 1 / (1 + a s^b))`.
pub struct UmapLoss<'a> {
    /// The layout.
    pub map: Points<'a>,
    /// Similarity by distance.
    pub curve: SimilarityCurve,
    /// Weight of the repulsion.
    pub repulsion: f64,
    /// Number of repelling points for each attraction.
    pub negative_samples: usize,
    /// Number of nearest rows, not counting the row itself.
    pub n_neighbors: usize,
    /// Number of nearest rows with membership one.
    pub local_connectivity: f64,
    /// Mean distance between rows and their neighbors.
    pub mean_distance: f64,
}

/// The neighbors of a row with their memberships.
#[derive(Default)]
pub struct UmapRow {
    candidates: Vec<[f64; 2]>,
    sigma: f64,
    terms: Vec<([f64; 2], f64)>,
    order: Vec<usize>,
    sorted: Vec<f32>,
}

/// Added to squared distances. Steps are random and limited, so that points do not keep closer than this.
const SOFTENING: f64 = 2.5e-3;

impl PointLoss for UmapLoss<'_> {
    type Row = UmapRow;

    fn map(&self) -> Points<'_> {
        self.map
    }

    fn field(&self) -> Option<RadialSum> {
        Some(RadialSum(Radial::LogRatio { a: self.curve.a, b: self.curve.b, softening: SOFTENING }))
    }

    /// Returns the distance at which the similarity is one half.
    fn unit(&self) -> f64 {
        self.curve.a.powf(-0.5 / self.curve.b)
    }

    fn n_neighbors(&self) -> usize {
        self.n_neighbors
    }

    fn set_row(&self, row: &mut UmapRow, _: usize, neighbors: &[u32], lengths: &[f64]) {
        row.candidates.clear();
        row.candidates.extend(neighbors.iter().map(|&j| [self.map.row(j as usize)[0], self.map.row(j as usize)[1]]));
        let nearest: Vec<f32> = lengths[..self.n_neighbors.min(lengths.len())].iter().map(|&d| d as f32).collect();
        row.sigma = smooth_distances(&nearest, nearest.len() + 1, self.local_connectivity, self.mean_distance).1;
        self.move_row(row, lengths);
    }

    /// The bandwidth stays as it is.
    fn move_row(&self, row: &mut UmapRow, lengths: &[f64]) {
        nearest_of(lengths, self.n_neighbors, &mut row.order);
        row.sorted.clear();
        row.sorted.extend(row.order.iter().map(|&at| lengths[at] as f32));
        let rho = local_distance(&row.sorted, self.local_connectivity);
        row.terms.clear();
        row.terms.extend(row.order.iter().map(|&at| (row.candidates[at], membership(lengths[at], rho, row.sigma))));
        let total = row.terms.iter().map(|term| term.1).sum::<f64>().max(f64::MIN_POSITIVE);
        row.terms.iter_mut().for_each(|term| term.1 /= total);
    }

    fn at(&self, row: &UmapRow, place: [f64; 2], field: &Jet) -> Jet {
        let attraction = Radial::LogPower { a: self.curve.a, b: self.curve.b, softening: SOFTENING };
        let mut jet = Jet::default();
        jet.add(self.repulsion * self.negative_samples as f64 / self.map.rows() as f64, field);
        for &(there, weight) in &row.terms {
            jet.add_radial(2.0 * weight, attraction, place, there);
        }
        jet
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::point_loss::tests::check_derivatives;
    use lowland_core::Seed;

    #[test]
    fn derivatives_agree_with_differences_before_and_after_a_move() {
        let values = Seed(4).normals(400);
        let loss = UmapLoss {
            map: Points::new(&values, 2).unwrap(),
            curve: SimilarityCurve::fit(0.1, 1.0).unwrap(),
            repulsion: 1.0,
            negative_samples: 5,
            n_neighbors: 8,
            local_connectivity: 1.0,
            mean_distance: 1.5,
        };
        let neighbors: Vec<u32> = (1..31).map(|j| j * 5).collect();
        let mut lengths: Vec<f64> = (0..30).map(|j| 1.0 + 0.1 * f64::from(j)).collect();
        let mut row = UmapRow::default();
        loss.set_row(&mut row, 0, &neighbors, &lengths);
        assert_eq!(row.terms.len(), 8);
        assert!((row.terms.iter().map(|term| term.1).sum::<f64>() - 1.0).abs() < 1e-12);
        check_derivatives(&loss, &row, &[[0.3, -0.2], [2.0, 1.0], [-4.0, 0.1]], 1e-4);
        lengths[20] = 0.5;
        loss.move_row(&mut row, &lengths);
        // The row has moved so that another is the nearest, and is a neighbor now.
        assert_eq!(row.terms[0].0, row.candidates[20]);
        assert!(row.terms[0].1 > row.terms[1].1);
        check_derivatives(&loss, &row, &[[0.3, -0.2]], 1e-4);
    }
}
