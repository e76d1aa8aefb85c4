//! The loss of one point of a map in two dimensions as a function of its place, everything else being fixed.
//!
//! Every method with such a loss implements [`PointLoss`]: its terms for a row and for a row that is moved a little, and the
//! loss with its first two derivatives. Terms that are sums over all points of the map are [`RadialSum`]s, which the caller
//! sums once for all points.

mod jet;
mod radial;

pub use jet::Jet;
pub use radial::Radial;

use lowland_core::Points;

/// A sum over all points of the map: `sum_j radial(|y - y_j|^2)`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RadialSum(pub Radial);

/// The loss of single points of a map.
pub trait PointLoss: Sync {
    /// The terms of one row. Reused for the rows of a thread.
    type Row: Default + Send;

    /// Returns the map that places refer to.
    fn map(&self) -> Points<'_>;

    /// Returns the sum over all points that the loss contains, if it contains one. It includes the point itself, whose part is
    /// subtracted before the loss is evaluated.
    fn field(&self) -> Option<RadialSum>;

    /// Returns the distance within which the loss changes by much.
    fn unit(&self) -> f64;

    /// Returns the number of nearest rows that the loss uses if there are as many.
    fn n_neighbors(&self) -> usize;

    /// Sets the terms of row `i`, given its nearest rows and the distances to them, ascending.
    fn set_row(&self, row: &mut Self::Row, i: usize, neighbors: &[u32], lengths: &[f64]);

    /// Changes the terms to those of the row after a move, after which it has these distances to the same rows.
    fn move_row(&self, row: &mut Self::Row, lengths: &[f64]);

    /// Returns the loss at `place`, where the field of the other points is `field`.
    fn at(&self, row: &Self::Row, place: [f64; 2], field: &Jet) -> Jet;
}

/// Calls `visit` with the positions of the `count` smallest lengths, the shortest first, and the first of equal ones.
pub fn nearest_of(lengths: &[f64], count: usize, order: &mut Vec<usize>) {
    order.clear();
    order.extend(0..lengths.len());
    let by_length = |a: &usize, b: &usize| lengths[*a].total_cmp(&lengths[*b]).then(a.cmp(b));
    if count < order.len() {
        order.select_nth_unstable_by(count, by_length);
        order.truncate(count);
    }
    order.sort_unstable_by(by_length);
}

/// Tests that a loss has the derivatives it returns.
#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Compares the derivatives with differences, at places around each of some points. The field is summed exactly.
    pub fn check_derivatives<L: PointLoss>(loss: &L, row: &L::Row, places: &[[f64; 2]], h: f64) {
        let field = |y: [f64; 2]| {
            let mut sum = Jet::default();
            if let Some(RadialSum(radial)) = loss.field() {
                for j in 0..loss.map().rows() {
                    sum.add_radial(1.0, radial, y, [loss.map().row(j)[0], loss.map().row(j)[1]]);
                }
            }
            sum
        };
        let at = |y: [f64; 2]| loss.at(row, y, &field(y));
        for &y in places {
            let here = at(y);
            let moved = |a: f64, b: f64| at([y[0] + a * h, y[1] + b * h]);
            let (right, left, up, down) = (moved(1.0, 0.0), moved(-1.0, 0.0), moved(0.0, 1.0), moved(0.0, -1.0));
            let slope = |plus: f64, minus: f64| (plus - minus) / (2.0 * h);
            let pairs = [
                (here.gradient[0], slope(right.value, left.value)),
                (here.gradient[1], slope(up.value, down.value)),
                (here.hessian[0], slope(right.gradient[0], left.gradient[0])),
                (here.hessian[1], slope(right.gradient[1], left.gradient[1])),
                (here.hessian[1], slope(up.gradient[0], down.gradient[0])),
                (here.hessian[2], slope(up.gradient[1], down.gradient[1])),
            ];
            let size = pairs.iter().map(|pair| pair.0.abs()).fold(0.0, f64::max);
            for (found, expected) in pairs {
                assert!((found - expected).abs() < 1e-4 * size + 1e-9, "{found} {expected} at {y:?}: {here:?}");
            }
        }
    }

    #[test]
    fn the_shortest_come_first() {
        let mut order = Vec::new();
        nearest_of(&[3.0, 1.0, 2.0, 1.0], 3, &mut order);
        assert_eq!(order, [1, 3, 2]);
        nearest_of(&[3.0, 1.0], 5, &mut order);
        assert_eq!(order, [1, 0]);
    }
}
