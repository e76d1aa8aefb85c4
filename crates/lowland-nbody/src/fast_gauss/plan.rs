//! Chooses the parameters of a transform from the accuracy: side of the boxes, number of terms, cutoff, and the method for each
//! pair of boxes.

use super::bound::PairBounds;
use super::expansion::{ExpansionShape, MAX_ORDER};

/// Finer accuracies are left to the exact engine.
pub(super) const MIN_ACCURACY: f64 = 1e-12;
/// Coarser accuracies change nothing.
pub(super) const MAX_ACCURACY: f64 = 1.0;
/// The side of the boxes whose number measures the density of the points.
pub(super) const PROBE_SIDE: f64 = 0.5;
/// Sides tried: `sqrt(2) r` with r from 0.35 to 2. Few bits, so that positions of boxes are exact.
const SIDES: [f64; 6] = [0.5, 0.703125, 1.0, 1.40625, 2.0, 2.8125];
/// Share of the accuracy for what lies beyond the cutoff; the rest is for the series.
const CUTOFF_SHARE: f64 = 0.25;
/// Omitted boxes enter the bound one by one up to this multiple of the squared cutoff, where the kernel is the square of its
/// value at the cutoff.
const REACH: f64 = 2.0;

// Measured costs in nanoseconds on one core; only their ratios matter.
const PAIR: f64 = 1.2;
const PAIR_CHARGE: f64 = 0.15;
const MULTIPLY_ADD: f64 = 0.06;
const BASIS: f64 = 2.0;
const TARGET_CALL: f64 = 25.0;
const BOX_CALL: f64 = 20.0;

/// How the sources of a box contribute to the targets of another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum BoxMethod {
    /// Pair by pair (eq 1).
    Direct,
    /// The sources' series at each target (eq 2): many sources, few targets.
    Hermite,
    /// Each source into the targets' series (eq 3): few sources, many targets.
    Taylor,
    /// Series to series (eq 4).
    Translate,
}

/// The parameters of a transform.
#[derive(Debug, Clone)]
pub(super) struct TransformPlan {
    pub side: f64,
    pub shape: ExpansionShape,
    /// Maximum distance, in sides, of boxes that contribute.
    pub radius: usize,
    /// Boxes whose squared distance exceeds this are omitted.
    pub cutoff: f64,
    /// Maximum distance, in sides, of boxes that enter the bound one by one.
    pub reach_radius: usize,
    /// Boxes whose squared distance exceeds this share one bound.
    pub reach: f64,
    pub bounds: PairBounds,
    /// Estimated number of boxes within the cutoff of a box.
    interaction_list: f64,
}

impl TransformPlan {
    /// Returns the cheapest plan for these numbers of sources and targets; `boxes` is the number of boxes of [`PROBE_SIDE`].
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
            let plan = Self { interaction_list: plan.interaction_list.min(boxes), ..plan };
            let cost = plan.total_cost(sources as f64 / boxes, targets as f64 / boxes, boxes);
            Some((plan, cost))
        });
        plans.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(plan, _)| plan)
    }

    /// Returns the plan with the fewest terms that reach the accuracy, if any number does.
    pub fn with_side(dim: usize, charges: usize, accuracy: f64, side: f64) -> Option<Self> {
        let cutoff = squared_cutoff(dim, CUTOFF_SHARE * accuracy);
        let radius = (cutoff.sqrt() / side) as usize + 1;
        let order = (1..=MAX_ORDER).find(|&order| {
            PairBounds::new(side, order, radius).even_density_error(side, dim) <= (1.0 - CUTOFF_SHARE) * accuracy
        })?;
        let ball = [2.0, std::f64::consts::PI, 4.19][dim - 1] * (cutoff.sqrt() / side + 0.8).powi(dim as i32);
        let reach = REACH * cutoff;
        let reach_radius = (reach.sqrt() / side) as usize + 1;
        let bounds = PairBounds::new(side, order, reach_radius);
        let shape = ExpansionShape { dim, order, charges };
        Some(Self { side, shape, radius, cutoff, reach_radius, reach, bounds, interaction_list: ball })
    }

    /// Returns the cheapest method for these numbers of sources and targets; costs that a box pays once are shared among its
    /// interaction list.
    #[inline]
    pub fn method(&self, sources: usize, targets: usize, has_series: bool) -> BoxMethod {
        let (n, m) = (sources as f64, targets as f64);
        let (point, share) = (self.point_cost(), self.point_cost() / self.interaction_list);
        let direct = self.direct_cost(n, m);
        let taylor = n * point + m * share;
        let few = if direct <= taylor { (direct, BoxMethod::Direct) } else { (taylor, BoxMethod::Taylor) };
        let hermite = m * point + n * share;
        let translate = self.translate_cost() + (n + m) * share;
        let many = if hermite <= translate { (hermite, BoxMethod::Hermite) } else { (translate, BoxMethod::Translate) };
        if !has_series || few.0 <= many.0 { few.1 } else { many.1 }
    }

    /// Whether a series pays off for a box of this many sources, given the maximum number of targets of a box.
    pub fn wants_series(&self, sources: usize, max_targets: usize) -> bool {
        let mut targets = std::iter::successors(Some(max_targets), |&m| (m > 1).then_some(m / 2));
        targets.any(|m| matches!(self.method(sources, m, true), BoxMethod::Hermite | BoxMethod::Translate))
    }

    fn direct_cost(&self, sources: f64, targets: f64) -> f64 {
        // The last few sources cost a whole vector.
        let pair = PAIR + PAIR_CHARGE * self.shape.charges as f64;
        targets * (TARGET_CALL + (sources + 3.5) * pair)
    }

    /// Cost of adding a point to a series, or of evaluating a series at a point.
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
        boxes * self.interaction_list * (BOX_CALL + pair) + boxes * (n + m) * point
    }
}

/// The square of the distance beyond which the kernel is below `share`, and its integral below that share of the whole (in three
/// dimensions by `erfc(c) <= exp(-c^2)`).
fn squared_cutoff(dim: usize, share: f64) -> f64 {
    let mut cutoff = -share.ln();
    if dim == 3 {
        for _ in 0..8 {
            cutoff = (1.0 + 2.0 * (cutoff / std::f64::consts::PI).sqrt()).ln() - share.ln();
        }
    }
    cutoff
}
