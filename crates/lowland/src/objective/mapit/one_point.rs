//! One more point on a fixed map: with everything else held still, the program's field on it is the gradient of a cost of
//! its place alone.

use super::Similarity;
use crate::linalg::Csr;
use crate::nbody::{Kernel, KernelSum};
use crate::objective::placement::{OnePoint, Row, place};
use crate::objective::pull::squared_distance;
use crate::points::{Error, Points, Result};
use crate::run::Progress;

/// A fixed map that takes new points.
pub struct MapItPlacement<'a> {
    /// The map.
    pub map: Points<'a>,
    /// Similarity in it.
    pub similarity: Similarity,
    /// `p_j` and `q_j`, the marginals of its points over their neighbourhoods, in the data and in the map.
    pub marginals: [&'a [f64]; 2],
    /// `c1, c2` of the map.
    pub entropies: [f64; 2],
    /// Neighbours of a new point.
    pub k: usize,
}

impl MapItPlacement<'_> {
    /// Places a point for each row of `affinities` (over the points of the map, summing to one in each row).
    pub fn place(&self, affinities: &Csr, engine: &mut dyn KernelSum, progress: &mut Progress) -> Result<Vec<f64>> {
        let n = self.map.rows();
        for (what, found) in [
            ("points of the map", affinities.columns()),
            ("marginals", self.marginals[0].len().min(self.marginals[1].len())),
        ] {
            if found != n {
                return Err(Error::Shape { what, expected: n, found });
            }
        }
        place(self, self.map, affinities, engine, progress)
    }

    /// For each affinity of a row: the point, what it is pulled to it by, and whether it is a neighbour, whose push is its
    /// marginal's instead of its similarity's.
    fn pulls(&self, (columns, weights): Row) -> Vec<(usize, f64, bool)> {
        let [p, q] = self.marginals;
        let [c1, c2] = self.entropies;
        let n = self.map.rows() as f64;
        let mut order: Vec<usize> = (0..columns.len()).collect();
        order.sort_by(|&a, &b| weights[b].total_cmp(&weights[a]).then(a.cmp(&b)));
        let pull = |(rank, at): (usize, usize)| {
            let j = columns[at] as usize;
            // All affinities of the map sum to one: a row's share of that is one part in n.
            if rank < self.k { (j, p[j] / c1 - q[j] / c2, true) } else { (j, weights[at] / n / c1, false) }
        };
        order.into_iter().enumerate().map(pull).collect()
    }
}

impl OnePoint for MapItPlacement<'_> {
    type State = Pulls;

    fn kernel(&self) -> (Kernel, f64) {
        self.similarity.squared()
    }

    /// Among the points it is drawn to, at the one with the most similarity to the others: between two groups there
    /// would be hardly a force.
    fn begin(&self, row: Row) -> (Vec<f64>, Pulls) {
        let pulls = self.pulls(row);
        let scale = pulls.iter().map(|pull| pull.1.abs()).sum::<f64>().max(f64::MIN_POSITIVE);
        let near = |a: usize, b: usize| squared_distance(self.map.row(a), self.map.row(b));
        let drawn =
            |a: usize| pulls.iter().map(|&(j, w, _)| w * self.similarity.value_and_slope(near(a, j)).0).sum::<f64>();
        let best = pulls.iter().map(|&(j, ..)| (j, drawn(j))).max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)));
        let start = best.map_or(vec![0.0; self.map.dim()], |(j, _)| self.map.row(j).to_vec());
        (start, Pulls { pulls, scale })
    }

    /// `-sum_j a_j K_j / 2 + (sum_j K_j^2 - sum over neighbours of it) / (4 c2)`, so scaled that the pulls sum to one.
    fn evaluate(&self, place: &[f64], pulls: &Pulls, _row: Row, potential: f64, slopes: &[f64]) -> (f64, Vec<f64>) {
        let (c2, (_, unit)) = (self.entropies[1], self.kernel());
        let push = 0.25 / c2;
        let mut value = push * potential;
        let mut gradient: Vec<f64> = slopes.iter().map(|slope| push / unit.sqrt() * slope).collect();
        for &(j, pull, near) in &pulls.pulls {
            let there = self.map.row(j);
            let (similar, slope) = self.similarity.value_and_slope(squared_distance(place, there));
            let own = if near { similar / c2 } else { 0.0 };
            value -= 0.5 * pull * similar + 0.25 * own * similar;
            let force = (pull + own) * slope;
            gradient.iter_mut().zip(place.iter().zip(there)).for_each(|(g, (a, b))| *g += force * (a - b));
        }
        gradient.iter_mut().for_each(|g| *g *= 2.0 / pulls.scale);
        (2.0 * value / pulls.scale, gradient)
    }
}

/// What pulls one new point.
pub struct Pulls {
    pulls: Vec<(usize, f64, bool)>,
    /// Their size.
    scale: f64,
}
