//! The settings, from the accuracy asked for: side of the boxes, terms, cut-off, and what to do for each pair of boxes.

use super::bound::PairBounds;
use super::expansion::{MAX_ORDER, Shape};

/// Below this the exact engine does the work.
pub(super) const FINEST: f64 = 1e-12;
/// The side whose number of boxes tells how dense the points are.
pub(super) const PROBE_SIDE: f64 = 0.5;
/// Sides tried: `sqrt(2) r` with r from 0.35 to 2. Few bits, so that places of boxes are exact.
const SIDES: [f64; 6] = [0.5, 0.703125, 1.0, 1.40625, 2.0, 2.8125];
/// The part of the accuracy spent on what lies beyond the cut-off; the rest goes to the series.
const CUT_SHARE: f64 = 0.25;
/// Boxes left out are counted one by one up to this times the squared cut-off: beyond, the kernel is the square of what it
/// is at the cut-off.
const REACH: f64 = 2.0;

// Costs in nanoseconds on one core, measured; only their ratios matter.
const PAIR: f64 = 1.2;
const PAIR_CHARGE: f64 = 0.15;
const MULTIPLY_ADD: f64 = 0.06;
const BASIS: f64 = 2.0;
const TARGET_CALL: f64 = 25.0;
const BOX_CALL: f64 = 20.0;

/// How the sources of a box reach the targets of another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Method {
    /// Pair by pair (eq 1).
    Direct,
    /// The sources' series at each target (eq 2): many sources, few targets.
    Hermite,
    /// Each source into the targets' series (eq 3): few sources, many targets.
    Taylor,
    /// Series to series (eq 4).
    Translate,
}

/// All settings of a transform.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub side: f64,
    pub shape: Shape,
    /// How many sides away a box can be and still act.
    pub radius: usize,
    /// Boxes whose squared distance exceeds this are left out.
    pub cut: f64,
    /// How many sides away a box can be and still count in the bound for itself.
    pub reach_radius: usize,
    /// Boxes whose squared distance exceeds this have one bound in common.
    pub reach: f64,
    pub bounds: PairBounds,
    /// Boxes a box meets.
    list: f64,
}

impl Plan {
    /// The cheapest plan for so many sources and targets; `boxes` of [`PROBE_SIDE`] hold the sources.
    pub fn new(
        dim: usize,
        charges: usize,
        accuracy: f64,
        sources: usize,
        targets: usize,
        boxes: usize,
    ) -> Option<Self> {
        let plans = SIDES.iter().filter_map(|&side| {
            let plan = Self::with_side(dim, charges, accuracy, side)?;
            let shrink = (PROBE_SIDE / side).powi(dim as i32);
            let boxes = (boxes as f64 * shrink).max(1.0);
            let plan = Self { list: plan.list.min(boxes), ..plan };
            let cost = plan.total_cost(sources as f64 / boxes, targets as f64 / boxes, boxes);
            Some((plan, cost))
        });
        plans.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(plan, _)| plan)
    }

    /// The fewest terms that keep to the accuracy, where some number does.
    pub fn with_side(dim: usize, charges: usize, accuracy: f64, side: f64) -> Option<Self> {
        let cut = squared_cut(dim, CUT_SHARE * accuracy);
        let radius = (cut.sqrt() / side) as usize + 1;
        let order = (1..=MAX_ORDER).find(|&order| {
            PairBounds::new(side, order, radius).even_density(side, dim) <= (1.0 - CUT_SHARE) * accuracy
        })?;
        let ball = [2.0, std::f64::consts::PI, 4.19][dim - 1] * (cut.sqrt() / side + 0.8).powi(dim as i32);
        let reach = REACH * cut;
        let reach_radius = (reach.sqrt() / side) as usize + 1;
        let bounds = PairBounds::new(side, order, reach_radius);
        let shape = Shape { dim, order, charges };
        Some(Self { side, shape, radius, cut, reach_radius, reach, bounds, list: ball })
    }

    /// The cheapest way for these numbers of sources and targets; what both boxes share is spread over their lists.
    #[inline]
    pub fn method(&self, sources: usize, targets: usize, has_series: bool) -> Method {
        let (n, m) = (sources as f64, targets as f64);
        let (point, share) = (self.point_cost(), self.point_cost() / self.list);
        let direct = self.direct_cost(n, m);
        let taylor = n * point + m * share;
        let few = if direct <= taylor { (direct, Method::Direct) } else { (taylor, Method::Taylor) };
        let hermite = m * point + n * share;
        let translate = self.translate_cost() + (n + m) * share;
        let many = if hermite <= translate { (hermite, Method::Hermite) } else { (translate, Method::Translate) };
        if !has_series || few.0 <= many.0 { few.1 } else { many.1 }
    }

    /// Whether a box of so many sources is worth a series, given the most targets a box has.
    pub fn wants_series(&self, sources: usize, most_targets: usize) -> bool {
        let mut targets = std::iter::successors(Some(most_targets), |&m| (m > 1).then_some(m / 2));
        targets.any(|m| matches!(self.method(sources, m, true), Method::Hermite | Method::Translate))
    }

    fn direct_cost(&self, sources: f64, targets: f64) -> f64 {
        // A whole vector is computed for the last few sources.
        let pair = PAIR + PAIR_CHARGE * self.shape.charges as f64;
        targets * (TARGET_CALL + (sources + 3.5) * pair)
    }

    /// A point into a series, or a series at a point.
    fn point_cost(&self) -> f64 {
        MULTIPLY_ADD * self.shape.len() as f64 + BASIS * (self.shape.dim * self.shape.order) as f64
    }

    fn translate_cost(&self) -> f64 {
        // Along the last axis for each box, along the others for each row of boxes.
        let along = MULTIPLY_ADD * (self.shape.len() * self.shape.order) as f64;
        along * (1.0 + (self.shape.dim - 1) as f64 / (self.radius as f64 + 1.0))
    }

    pub fn total_cost(&self, sources: f64, targets: f64, boxes: f64) -> f64 {
        let (n, m, point) = (sources, targets, self.point_cost());
        let pair = self.direct_cost(n, m).min(m * point).min(n * point).min(self.translate_cost());
        boxes * self.list * (BOX_CALL + pair) + boxes * (n + m) * point
    }
}

/// The square of the distance beyond which the kernel integrates to less than `share` of its whole (in three dimensions by
/// `erfc(c) <= exp(-c^2)`), and is below it.
fn squared_cut(dim: usize, share: f64) -> f64 {
    let mut cut = -share.ln();
    if dim == 3 {
        for _ in 0..8 {
            cut = (1.0 + 2.0 * (cut / std::f64::consts::PI).sqrt()).ln() - share.ln();
        }
    }
    cut
}
