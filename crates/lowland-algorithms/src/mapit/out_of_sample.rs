//! One more point on a fixed map, by the criterion of the fit: the program's field on it, which with everything else fixed is
//! the gradient of a function of its coordinates; or the cost that was minimized, of one point more.

use super::neighborhoods::within_steps;
use super::{MapItCost, SimilarityKernel};
use crate::objective::squared_distance;
use crate::out_of_sample::{
    AffinityRow, MapField, MapPotential, MapSums, OutOfSampleObjective, PointObjective, fields_of, minimize_points,
};
use lowland_core::run::Progress;
use lowland_core::{Error, Points, Result};
use lowland_linalg::Csr;

/// The part of a fit that the transform of new points needs.
#[derive(Debug, Clone, PartialEq)]
pub struct MapItFittedState {
    /// `p_j` and `q_j`, the marginals of the points in the data and in the map.
    pub marginals: [Vec<f64>; 2],
    /// The entropy weights `c1, c2`.
    pub entropies: [f64; 2],
    /// The neighborhoods of the points, if the neighbors of a new point's neighbors are aligned too.
    pub neighborhoods: Option<Csr>,
}

/// The criterion for a new point on a fixed map.
pub struct MapItTransform<'a> {
    /// The map.
    pub map: Points<'a>,
    /// Similarity in the map.
    pub similarity: SimilarityKernel,
    /// The marginals and entropy weights of the map.
    pub state: &'a MapItFittedState,
    /// Number of neighbors of a new point.
    pub k: usize,
    /// Number of steps along the neighborhoods within which marginals are aligned.
    pub reach: usize,
    /// The cost that was minimized, or `None` for the released program.
    pub cost: Option<MapItCost>,
}

impl OutOfSampleObjective for MapItTransform<'_> {
    fn map(&self) -> Points<'_> {
        self.map
    }

    fn fields(&self, tolerance: f64) -> Result<Option<Vec<MapField>>> {
        match self.cost {
            None => fields_of(&FieldOfPoint(self), self.map, tolerance),
            Some(cost) => fields_of(&CostOfPoint { transform: self, cost }, self.map, tolerance),
        }
    }

    fn coordinates(&self, affinities: &Csr, sums: MapSums, progress: &mut Progress) -> Result<Vec<f64>> {
        let n = self.map.rows();
        let [p, q] = &self.state.marginals;
        for (what, found) in
            [("points of the map", affinities.columns()), ("marginals", p.len()), ("marginals of the map", q.len())]
        {
            if found != n {
                return Err(Error::Shape { what, expected: n, found });
            }
        }
        match self.cost {
            None => minimize_points(&FieldOfPoint(self), self.map, affinities, sums, progress),
            Some(cost) => minimize_points(&CostOfPoint { transform: self, cost }, self.map, affinities, sums, progress),
        }
    }
}

impl MapItTransform<'_> {
    /// Returns the points of a row with their affinities, the largest first. All affinities of the map sum to one: a row's
    /// share of that is one n-th.
    fn ranked(&self, (columns, weights): AffinityRow) -> Vec<(usize, f64)> {
        let mut order: Vec<usize> = (0..columns.len()).collect();
        order.sort_by(|&a, &b| weights[b].total_cmp(&weights[a]).then(a.cmp(&b)));
        let n = self.map.rows() as f64;
        order.into_iter().map(|at| (columns[at] as usize, weights[at] / n)).collect()
    }

    /// Returns the coordinates of that attracting point which is most similar to the others: between two groups of them, the
    /// force would almost vanish.
    fn most_central(&self, attractions: &[(usize, f64)]) -> Vec<f64> {
        let near = |a: usize, b: usize| squared_distance(self.map.row(a), self.map.row(b));
        let centrality =
            |a: usize| attractions.iter().map(|&(j, w)| w * self.similarity.value_and_slope(near(a, j)).0).sum::<f64>();
        let best =
            attractions.iter().map(|&(j, _)| (j, centrality(j))).max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)));
        best.map_or(vec![0.0; self.map.dim()], |(j, _)| self.map.row(j).to_vec())
    }

    /// Returns the potential of the squared similarity.
    fn squared_similarity(&self) -> MapPotential<'_> {
        let (kernel, scale) = self.similarity.squared();
        MapPotential { kernel, scale, charges: None }
    }
}

/// The function of a new point's coordinates whose gradient is the program's field.
struct FieldOfPoint<'a>(&'a MapItTransform<'a>);

/// The points that attract a new one.
struct Attractions {
    /// Each point, the strength of its attraction, and whether it is a neighbor, which repels by its marginal instead of its
    /// similarity.
    points: Vec<(usize, f64, bool)>,
    /// Sum of the absolute strengths.
    scale: f64,
}

impl PointObjective for FieldOfPoint<'_> {
    type State = Attractions;

    fn potentials(&self) -> Vec<MapPotential<'_>> {
        vec![self.0.squared_similarity()]
    }

    fn start(&self, row: AffinityRow) -> (Vec<f64>, Attractions) {
        let MapItFittedState { marginals: [p, q], entropies: [c1, c2], neighborhoods } = self.0.state;
        let align = |j: usize| (j, p[j] / c1 - q[j] / c2, true);
        let ranked = self.0.ranked(row);
        let (near, others) = ranked.split_at(self.0.k.min(ranked.len()));
        let mut points: Vec<_> = near.iter().map(|&(j, _)| align(j)).collect();
        let mut beyond = Vec::new();
        if let Some(neighborhoods) = neighborhoods {
            let near: Vec<u32> = near.iter().map(|&(j, _)| j as u32).collect();
            beyond = within_steps(neighborhoods, &near, self.0.reach - 1);
            beyond.retain(|j| !near.contains(j));
            points.extend(beyond.iter().map(|&j| align(j as usize)));
        }
        let others = others.iter().filter(|(j, _)| beyond.binary_search(&(*j as u32)).is_err());
        points.extend(others.map(|&(j, affinity)| (j, affinity / c1, false)));
        let scale = points.iter().map(|point| point.1.abs()).sum::<f64>().max(f64::MIN_POSITIVE);
        let weights: Vec<(usize, f64)> = points.iter().map(|&(j, w, _)| (j, w)).collect();
        (self.0.most_central(&weights), Attractions { points, scale })
    }

    /// Evaluates `-sum_j a_j K_j / 2 + (sum_j K_j^2 - sum over neighbors of it) / (4 c2)`, scaled so that the absolute
    /// strengths of attraction sum to one, and times two.
    fn evaluate(
        &self,
        point: &[f64],
        attractions: &Attractions,
        _row: AffinityRow,
        potentials: &[(f64, &[f64])],
    ) -> (f64, Vec<f64>) {
        let c2 = self.0.state.entropies[1];
        let repulsion_factor = 0.25 / c2;
        let (potential, slopes) = potentials[0];
        let mut value = repulsion_factor * potential;
        let mut gradient: Vec<f64> = slopes.iter().map(|slope| repulsion_factor * slope).collect();
        for &(j, strength, near) in &attractions.points {
            let there = self.0.map.row(j);
            let (similar, slope) = self.0.similarity.value_and_slope(squared_distance(point, there));
            let own = if near { similar / c2 } else { 0.0 };
            value -= 0.5 * strength * similar + 0.25 * own * similar;
            let force = (strength + own) * slope;
            gradient.iter_mut().zip(point.iter().zip(there)).for_each(|(g, (a, b))| *g += force * (a - b));
        }
        gradient.iter_mut().for_each(|g| *g *= 2.0 / attractions.scale);
        (2.0 * value / attractions.scale, gradient)
    }
}

/// The Cauchy-Schwarz divergence of the map's points and a new one, `-ln c1 + ln(c2) / 2`, whose sums include it. The other
/// points and their neighborhoods stay fixed; their marginals over all points include the new one.
struct CostOfPoint<'a> {
    transform: &'a MapItTransform<'a>,
    cost: MapItCost,
}

/// A function of the new point's coordinates: value and gradient.
struct ValueAndGradient {
    value: f64,
    gradient: Vec<f64>,
}

impl ValueAndGradient {
    fn add(&mut self, factor: f64, (value, slopes): (f64, &[f64])) {
        self.value += factor * value;
        self.gradient.iter_mut().zip(slopes).for_each(|(g, slope)| *g += factor * slope);
    }
}

impl PointObjective for CostOfPoint<'_> {
    /// The affinities of the row that enter the cost, and their sum.
    type State = (Vec<(usize, f64)>, f64);

    fn potentials(&self) -> Vec<MapPotential<'_>> {
        let of = |charges| MapPotential { kernel: self.transform.similarity.kernel(), scale: 1.0, charges };
        let [p, q] = &self.transform.state.marginals;
        match self.cost {
            MapItCost::Pairs => vec![self.transform.squared_similarity()],
            MapItCost::Neighborhoods => Vec::new(),
            MapItCost::Marginals => vec![of(Some(p)), of(Some(q)), of(None), self.transform.squared_similarity()],
        }
    }

    fn start(&self, row: AffinityRow) -> (Vec<f64>, Self::State) {
        let mut affinities = self.transform.ranked(row);
        if self.cost == MapItCost::Neighborhoods {
            affinities.truncate(self.transform.k);
        }
        let total = affinities.iter().map(|(_, p)| p).sum::<f64>();
        (self.transform.most_central(&affinities), (affinities, total))
    }

    fn evaluate(
        &self,
        point: &[f64],
        (affinities, marginal): &Self::State,
        _row: AffinityRow,
        potentials: &[(f64, &[f64])],
    ) -> (f64, Vec<f64>) {
        let MapItFittedState { entropies: [c1, c2], .. } = self.transform.state;
        let n = self.transform.map.rows() as f64;
        let new = || ValueAndGradient { value: 0.0, gradient: vec![0.0; point.len()] };
        let sum_over_row = |weight: &dyn Fn(f64) -> f64| {
            let mut sum = new();
            for &(j, affinity) in affinities {
                let there = self.transform.map.row(j);
                let (similar, slope) = self.transform.similarity.value_and_slope(squared_distance(point, there));
                let gradient: Vec<f64> = point.iter().zip(there).map(|(a, b)| -2.0 * slope * (a - b)).collect();
                sum.add(weight(affinity), (similar, &gradient));
            }
            sum
        };
        let (mut cross, mut square) = (new(), new());
        // The scale makes the curvature of the attraction about 2.
        let scale = match (self.cost, potentials) {
            (MapItCost::Pairs, &[squares]) => {
                let attraction = sum_over_row(&|affinity| affinity);
                cross.add(2.0, (attraction.value, &attraction.gradient));
                square.add(2.0, squares);
                0.5 * n * c1
            }
            (MapItCost::Marginals, &[by_p, by_q, similar, squares]) => {
                // (p_j + P_j) (q_j + K_j) and (q_j + K_j)^2 of the others, p q and q^2 of the new point.
                let attraction = sum_over_row(&|affinity| affinity);
                let held = affinities.iter().map(|&(j, p)| p * self.transform.state.marginals[1][j]).sum::<f64>();
                cross.value = held;
                cross.add(1.0, (attraction.value, &attraction.gradient));
                cross.add(1.0, by_p);
                cross.add(*marginal, similar);
                square.add(2.0, by_q);
                square.add(1.0, squares);
                square.value += similar.0 * similar.0;
                square.add(2.0 * similar.0, (0.0, similar.1));
                0.5 * n
            }
            _ => {
                let own = sum_over_row(&|_| 1.0);
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
