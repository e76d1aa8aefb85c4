//! One more point on a fixed map, by what the map was made with: the program's field on it, which with everything else held
//! still is the gradient of a cost of its place alone; or the very cost that was minimised, of one point more.

use super::{Cost, Similarity};
use crate::objective::placement::{OnePoint, Row, Sum, place};
use crate::objective::pull::squared_distance;
use lowland_core::run::Progress;
use lowland_core::{Error, Points, Result};
use lowland_linalg::Csr;
use lowland_nbody::KernelSum;

/// What is kept of a map that takes new points.
#[derive(Debug, Clone, PartialEq)]
pub struct MapItFrozen {
    /// `p_j` and `q_j`, the marginals of its points in the data and in the map.
    pub marginals: [Vec<f64>; 2],
    /// `c1, c2`.
    pub entropies: [f64; 2],
}

/// A fixed map that takes new points.
pub struct MapItPlacement<'a> {
    /// The map.
    pub map: Points<'a>,
    /// Similarity in it.
    pub similarity: Similarity,
    /// Its marginals and entropies.
    pub frozen: &'a MapItFrozen,
    /// Neighbours of a new point.
    pub k: usize,
    /// What was minimised, if it was not the program that made the map.
    pub cost: Option<Cost>,
}

impl MapItPlacement<'_> {
    /// Places a point for each row of `affinities` (over the points of the map, summing to one in each row).
    pub fn place(&self, affinities: &Csr, engine: &mut dyn KernelSum, progress: &mut Progress) -> Result<Vec<f64>> {
        let n = self.map.rows();
        let [p, q] = &self.frozen.marginals;
        for (what, found) in
            [("points of the map", affinities.columns()), ("marginals", p.len()), ("marginals of the map", q.len())]
        {
            if found != n {
                return Err(Error::Shape { what, expected: n, found });
            }
        }
        match self.cost {
            None => place(&ByField(self), self.map, affinities, engine, progress),
            Some(cost) => place(&ByCost { fixed: self, cost }, self.map, affinities, engine, progress),
        }
    }

    /// Points of the map with a row's affinities to them, the largest first. All affinities of the map sum to one: a row's
    /// share of that is one part in n.
    fn ranked(&self, (columns, weights): Row) -> Vec<(usize, f64)> {
        let mut order: Vec<usize> = (0..columns.len()).collect();
        order.sort_by(|&a, &b| weights[b].total_cmp(&weights[a]).then(a.cmp(&b)));
        let n = self.map.rows() as f64;
        order.into_iter().map(|at| (columns[at] as usize, weights[at] / n)).collect()
    }

    /// Among the points it is drawn to, the place of the one with the most similarity to the others: between two groups
    /// there would be hardly a force.
    fn most_drawn(&self, pulls: &[(usize, f64)]) -> Vec<f64> {
        let near = |a: usize, b: usize| squared_distance(self.map.row(a), self.map.row(b));
        let drawn =
            |a: usize| pulls.iter().map(|&(j, w)| w * self.similarity.value_and_slope(near(a, j)).0).sum::<f64>();
        let best = pulls.iter().map(|&(j, _)| (j, drawn(j))).max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)));
        best.map_or(vec![0.0; self.map.dim()], |(j, _)| self.map.row(j).to_vec())
    }

    /// The potential of the squared similarity.
    fn squared(&self) -> Sum<'_> {
        let (kernel, scale) = self.similarity.squared();
        Sum { kernel, scale, charges: None }
    }
}

/// By the program's field.
struct ByField<'a>(&'a MapItPlacement<'a>);

/// What pulls one new point.
struct Pulls {
    /// The point, how strongly, and whether it is a neighbour, whose push is its marginal's instead of its similarity's.
    pulls: Vec<(usize, f64, bool)>,
    /// Their size.
    scale: f64,
}

impl OnePoint for ByField<'_> {
    type State = Pulls;

    fn sums(&self) -> Vec<Sum<'_>> {
        vec![self.0.squared()]
    }

    fn begin(&self, row: Row) -> (Vec<f64>, Pulls) {
        let MapItFrozen { marginals: [p, q], entropies: [c1, c2] } = self.0.frozen;
        let pull = |(rank, (j, affinity)): (usize, (usize, f64))| {
            if rank < self.0.k { (j, p[j] / c1 - q[j] / c2, true) } else { (j, affinity / c1, false) }
        };
        let pulls: Vec<_> = self.0.ranked(row).into_iter().enumerate().map(pull).collect();
        let scale = pulls.iter().map(|pull| pull.1.abs()).sum::<f64>().max(f64::MIN_POSITIVE);
        let weights: Vec<(usize, f64)> = pulls.iter().map(|&(j, w, _)| (j, w)).collect();
        (self.0.most_drawn(&weights), Pulls { pulls, scale })
    }

    /// `-sum_j a_j K_j / 2 + (sum_j K_j^2 - sum over neighbours of it) / (4 c2)`, so scaled that the pulls sum to one.
    fn evaluate(&self, place: &[f64], pulls: &Pulls, _row: Row, potentials: &[(f64, &[f64])]) -> (f64, Vec<f64>) {
        let c2 = self.0.frozen.entropies[1];
        let push = 0.25 / c2;
        let (potential, slopes) = potentials[0];
        let mut value = push * potential;
        let mut gradient: Vec<f64> = slopes.iter().map(|slope| push * slope).collect();
        for &(j, pull, near) in &pulls.pulls {
            let there = self.0.map.row(j);
            let (similar, slope) = self.0.similarity.value_and_slope(squared_distance(place, there));
            let own = if near { similar / c2 } else { 0.0 };
            value -= 0.5 * pull * similar + 0.25 * own * similar;
            let force = (pull + own) * slope;
            gradient.iter_mut().zip(place.iter().zip(there)).for_each(|(g, (a, b))| *g += force * (a - b));
        }
        gradient.iter_mut().for_each(|g| *g *= 2.0 / pulls.scale);
        (2.0 * value / pulls.scale, gradient)
    }
}

/// By a Cauchy-Schwarz divergence of the map's points and the new one: `-ln c1 + ln(c2) / 2`, whose sums grow with it. The
/// others stay where they are and keep their neighbourhoods; their marginals over all points take the new one in.
struct ByCost<'a> {
    fixed: &'a MapItPlacement<'a>,
    cost: Cost,
}

/// A number that depends on a place, and its gradient.
struct Growing {
    value: f64,
    gradient: Vec<f64>,
}

impl Growing {
    fn add(&mut self, factor: f64, (value, slopes): (f64, &[f64])) {
        self.value += factor * value;
        self.gradient.iter_mut().zip(slopes).for_each(|(g, slope)| *g += factor * slope);
    }
}

impl OnePoint for ByCost<'_> {
    /// The affinities that count, and their sum.
    type State = (Vec<(usize, f64)>, f64);

    fn sums(&self) -> Vec<Sum<'_>> {
        let of = |charges| Sum { kernel: self.fixed.similarity.kernel(), scale: 1.0, charges };
        let [p, q] = &self.fixed.frozen.marginals;
        match self.cost {
            Cost::Pairs => vec![self.fixed.squared()],
            Cost::Neighborhoods => Vec::new(),
            Cost::Marginals => vec![of(Some(p)), of(Some(q)), of(None), self.fixed.squared()],
        }
    }

    fn begin(&self, row: Row) -> (Vec<f64>, Self::State) {
        let mut affinities = self.fixed.ranked(row);
        if self.cost == Cost::Neighborhoods {
            affinities.truncate(self.fixed.k);
        }
        let total = affinities.iter().map(|(_, p)| p).sum::<f64>();
        (self.fixed.most_drawn(&affinities), (affinities, total))
    }

    fn evaluate(
        &self,
        place: &[f64],
        (affinities, marginal): &Self::State,
        _row: Row,
        potentials: &[(f64, &[f64])],
    ) -> (f64, Vec<f64>) {
        let MapItFrozen { entropies: [c1, c2], .. } = self.fixed.frozen;
        let n = self.fixed.map.rows() as f64;
        let new = || Growing { value: 0.0, gradient: vec![0.0; place.len()] };
        let over_row = |weight: &dyn Fn(f64) -> f64| {
            let mut sum = new();
            for &(j, affinity) in affinities {
                let there = self.fixed.map.row(j);
                let (similar, slope) = self.fixed.similarity.value_and_slope(squared_distance(place, there));
                let ways: Vec<f64> = place.iter().zip(there).map(|(a, b)| -2.0 * slope * (a - b)).collect();
                sum.add(weight(affinity), (similar, &ways));
            }
            sum
        };
        let (mut cross, mut square) = (new(), new());
        // The scale: the curvature of what draws it is about 2.
        let scale = match (self.cost, potentials) {
            (Cost::Pairs, &[squares]) => {
                let pulls = over_row(&|affinity| affinity);
                cross.add(2.0, (pulls.value, &pulls.gradient));
                square.add(2.0, squares);
                0.5 * n * c1
            }
            (Cost::Marginals, &[by_p, by_q, similar, squares]) => {
                // (p_j + P_j) (q_j + K_j) and (q_j + K_j)^2 of the others, p q and q^2 of itself.
                let pulls = over_row(&|affinity| affinity);
                let held = affinities.iter().map(|&(j, p)| p * self.fixed.frozen.marginals[1][j]).sum::<f64>();
                cross.value = held;
                cross.add(1.0, (pulls.value, &pulls.gradient));
                cross.add(1.0, by_p);
                cross.add(*marginal, similar);
                square.add(2.0, by_q);
                square.add(1.0, squares);
                square.value += similar.0 * similar.0;
                square.add(2.0 * similar.0, (0.0, similar.1));
                0.5 * n
            }
            _ => {
                let own = over_row(&|_| 1.0);
                cross.add(*marginal, (own.value, &own.gradient));
                square.value = own.value * own.value;
                square.add(2.0 * own.value, (0.0, &own.gradient));
                c1 / (marginal * affinities.len() as f64).max(f64::MIN_POSITIVE)
            }
        };
        let value = 0.5 * (square.value / c2).ln_1p() - (cross.value / c1).ln_1p();
        let [by_square, by_cross] = [0.5 / (c2 + square.value), 1.0 / (c1 + cross.value)];
        let gradient = square.gradient.iter().zip(&cross.gradient).map(|(s, c)| scale * (by_square * s - by_cross * c));
        (scale * value, gradient.collect())
    }
}
