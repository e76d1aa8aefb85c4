//! Minimization of the loss of one point.

use lowland_algorithms::point_loss::{Jet, PointLoss, Radial};

use super::field::GridField;

/// Most steps of a minimization.
const MAX_STEPS: usize = 25;
/// A minimization ends with steps shorter than this, in units of the loss.
const TOLERANCE: f64 = 1e-2;
/// Longest step, in units of the loss.
const MAX_STEP: f64 = 2.0;
/// A start within this distance of a known minimum leads there again, in units of the loss.
const SAME: f64 = 1.0;
/// Smallest curvature of a step relative to the largest.
const MIN_CURVATURE: f64 = 1e-3;
/// Most places at which minimizations begin.
const MAX_STARTS: usize = 4;

/// Searches for places of one point with a low loss.
pub(crate) struct PlaceSearch<'a, L> {
    loss: &'a L,
    field: Option<&'a (Radial, GridField)>,
    /// Place of the point on the map: a point does not repel itself.
    own: [f64; 2],
    unit: f64,
}

impl<'a, L: PointLoss> PlaceSearch<'a, L> {
    pub fn new(loss: &'a L, field: Option<&'a (Radial, GridField)>, own: [f64; 2]) -> Self {
        Self { loss, field, own, unit: loss.unit() }
    }

    /// Returns the loss at `place`.
    pub fn at(&self, row: &L::Row, place: [f64; 2]) -> Jet {
        let mut sum = Jet::default();
        if let Some((radial, field)) = self.field {
            sum = field.at(place);
            sum.add_radial(-1.0, *radial, place, self.own);
        }
        self.loss.at(row, place, &sum)
    }

    /// Returns the minimum with the lowest loss, of those that are found from `first` and `others`.
    pub fn best(&self, row: &L::Row, first: [f64; 2], others: impl Iterator<Item = [f64; 2]>) -> [f64; 2] {
        let mut best = self.minimize(row, first);
        let (mut known, mut count) = ([best.0; MAX_STARTS], 1);
        for start in others.take(MAX_STARTS - 1) {
            let near = |place: &[f64; 2]| (start[0] - place[0]).hypot(start[1] - place[1]) < SAME * self.unit;
            if known[..count].iter().any(near) {
                continue;
            }
            let found = self.minimize(row, start);
            known[count] = found.0;
            count += 1;
            if found.1 < best.1 {
                best = found;
            }
        }
        best.0
    }

    /// Returns a local minimum near `start` with its loss, by Newton's method with steps that lower the loss.
    pub fn minimize(&self, row: &L::Row, start: [f64; 2]) -> ([f64; 2], f64) {
        let mut y = start;
        let mut jet = self.at(row, y);
        let shortest = TOLERANCE * self.unit;
        for _ in 0..MAX_STEPS {
            let mut step = descent_step(&jet, MAX_STEP * self.unit);
            let mut next = None;
            while step[0] * step[0] + step[1] * step[1] > shortest * shortest {
                let trial = [y[0] + step[0], y[1] + step[1]];
                let found = self.at(row, trial);
                if found.value < jet.value {
                    next = Some((trial, found));
                    break;
                }
                step = [0.5 * step[0], 0.5 * step[1]];
            }
            match next {
                Some((trial, found)) => (y, jet) = (trial, found),
                None => break,
            }
        }
        (y, jet.value)
    }
}

/// Returns Newton's step where the loss is convex, with the absolute values of the eigenvalues elsewhere.
fn descent_step(jet: &Jet, longest: f64) -> [f64; 2] {
    let ([large, small], [cos, sin]) = jet.curvatures();
    let least = (MIN_CURVATURE * large.abs().max(small.abs())).max(f64::MIN_POSITIVE);
    let along = [cos * jet.gradient[0] + sin * jet.gradient[1], cos * jet.gradient[1] - sin * jet.gradient[0]];
    let scaled = [along[0] / large.abs().max(least), along[1] / small.abs().max(least)];
    let step = [-(cos * scaled[0] - sin * scaled[1]), -(sin * scaled[0] + cos * scaled[1])];
    let length = (step[0] * step[0] + step[1] * step[1]).sqrt();
    let shorten = if length > longest { longest / length } else { 1.0 };
    [shorten * step[0], shorten * step[1]]
}

#[cfg(test)]
mod tests {
    use super::*;
    use lowland_algorithms::neighbor_embedding::{Energy, NeighborEmbeddingLoss, NeighborEmbeddingRow};
    use lowland_core::{Points, Seed};

    #[test]
    fn minima_are_minima_of_the_exact_loss() {
        let map: Vec<f64> = Seed(2).normals(600).iter().map(|v| 5.0 * v).collect();
        let points = Points::new(&map, 2).unwrap();
        for energy in [Energy::StudentSne { dof: 1.0 }, Energy::SymmetricSne, Energy::Elastic { lambda: 1.0 }] {
            let loss = NeighborEmbeddingLoss { map: points, energy, repulsion: 0.05, perplexities: &[4.0] };
            let neighbors: Vec<u32> = (1..13).map(|j| j * 13).collect();
            let lengths: Vec<f64> = (0..12).map(|j| 1.0 + 0.05 * f64::from(j)).collect();
            let mut row = NeighborEmbeddingRow::default();
            loss.set_row(&mut row, 0, &neighbors, &lengths);
            let radial = loss.field().unwrap().0;
            let field = (radial, GridField::new(points, radial).unwrap());
            let search = PlaceSearch::new(&loss, Some(&field), [map[0], map[1]]);
            let exact = |y: [f64; 2]| {
                let mut sum = Jet::default();
                (1..300).for_each(|j| sum.add_radial(1.0, radial, y, [map[2 * j], map[2 * j + 1]]));
                loss.at(&row, y, &sum).value
            };
            for y in [[0.5, -1.0], [3.0, 4.0], [-6.0, 2.0]] {
                assert!((search.at(&row, y).value - exact(y)).abs() < 1e-3 * exact(y).abs(), "{energy:?}");
                let (place, value) = search.minimize(&row, y);
                assert!(value <= search.at(&row, y).value);
                for (a, b) in [(0.05, 0.0), (-0.05, 0.0), (0.0, 0.05), (0.0, -0.05)] {
                    assert!(exact([place[0] + a, place[1] + b]) > exact(place) - 1e-3, "{energy:?} {place:?}");
                }
            }
            let best = search.best(&row, [40.0, 40.0], [[0.5, -1.0], [3.0, 4.0]].into_iter());
            assert!([[0.5, -1.0], [3.0, 4.0]].iter().all(|&y| exact(best) < search.minimize(&row, y).1 + 1e-3));
        }
    }
}
