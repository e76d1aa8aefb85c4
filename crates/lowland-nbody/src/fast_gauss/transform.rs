//! The transform: the series of the source boxes, then for each target box the contributions of all boxes in reach.

use rayon::prelude::*;

use super::bound::ROUNDING;
use super::boxes::PointBoxes;
use super::expansion::{Expansion, ExpansionBasis, gather, spread, translate_axis, translate_last, translation_table};
use super::plan::{BoxMethod, TransformPlan};
use super::scatter;
use crate::pairs::{PairScratch, SourceColumns, add_pairs};
use crate::{Charges, Kernel, KernelTerm};
use lowland_core::Points;
use lowland_core::simd::simd_dispatch;

/// Marks a box without a series.
const NO_SERIES: u32 = u32::MAX;

/// The boxes, series and tables of the sources.
pub(super) struct GaussTransform<'a, const D: usize> {
    points: Points<'a>,
    plan: TransformPlan,
    boxes: PointBoxes<D>,
    /// The sources in the order of the boxes.
    sources: SourceColumns,
    /// `sum |q|` of each box, a row of charges.
    weights: Vec<f64>,
    /// `sum |q|` of all boxes.
    total: Vec<f64>,
    /// One dimension of the translation for every offset from `-radius` to `radius`.
    tables: Vec<f64>,
}

/// The series of the boxes for which one pays off.
struct BoxSeries {
    coefficients: Vec<f64>,
    slots: Vec<u32>,
}

/// The targets of one box.
struct TargetBox<'a, const D: usize> {
    key: [i64; D],
    center: [f64; D],
    points: &'a [f64],
    sums: &'a mut [f64],
}

/// The bounds of a transform.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct CertifiedError {
    /// Of every sum, per unit of `sum |q|`.
    pub values: f64,
    /// Of the gradients of the first charge's potential at all targets: the root of the sum of squares.
    pub gradients: f64,
}

/// Workspace for one target box.
struct BoxWorkspace {
    /// Stage `k` holds the series translated along the dimensions from `k` on; stage 0 is the Taylor series.
    stages: Vec<Vec<f64>>,
    touched: Vec<bool>,
    /// `sum |q|` of the boxes visited.
    visited: Vec<f64>,
    /// Their share of the error.
    error: Vec<f64>,
    /// Bound of the first charge's `sum q (s - t) K` in each dimension.
    moment_error: Vec<f64>,
    pairs: PairScratch,
}

impl<'a, const D: usize> GaussTransform<'a, D> {
    pub fn new(plan: TransformPlan, points: Points<'a>, charges: Charges, boxes: PointBoxes<D>) -> Self {
        let count = plan.shape.charges;
        let sources = SourceColumns::new(points, charges, count, |at| boxes.order[at] as usize);
        let mut weights = vec![0.0; boxes.len() * count];
        weights.par_chunks_mut(count).enumerate().for_each(|(b, weights)| {
            for (c, weight) in weights.iter_mut().enumerate() {
                *weight = sources.charge(c)[boxes.range(b)].iter().map(|q| q.abs()).sum();
            }
        });
        let mut total = vec![0.0; count];
        for weights in weights.chunks_exact(count) {
            total.iter_mut().zip(weights).for_each(|(total, weight)| *total += weight);
        }
        let size = plan.shape.order * plan.shape.width();
        let mut tables = vec![0.0; (2 * plan.radius + 1) * size];
        for (k, table) in tables.chunks_exact_mut(size).enumerate() {
            translation_table(plan.shape, (k as f64 - plan.radius as f64) * plan.side, table);
        }
        Self { points, plan, boxes, sources, weights, total, tables }
    }

    /// Writes the sums and returns their bounds. If `same`, the targets are the sources and share their boxes.
    pub fn sum(&self, terms: &[KernelTerm], targets: Points, same: bool, out: &mut [f64]) -> CertifiedError {
        let other = (!same).then(|| PointBoxes::<D>::new(targets, self.plan.side));
        let target_boxes = other.as_ref().unwrap_or(&self.boxes);
        let series = self.series(target_boxes.max_points());
        let charges = self.plan.shape.charges;
        let points: Vec<f64> = target_boxes.order.iter().flat_map(|&row| targets.row(row as usize)).copied().collect();
        let mut sums = vec![0.0; targets.rows() * charges];
        let mut parts = Vec::with_capacity(target_boxes.len());
        let mut rest = &mut sums[..];
        for b in 0..target_boxes.len() {
            let range = target_boxes.range(b);
            let (sums, later) = rest.split_at_mut(range.len() * charges);
            rest = later;
            let points = &points[range.start * D..range.end * D];
            parts.push(TargetBox { key: target_boxes.keys[b], center: target_boxes.center(b), points, sums });
        }
        let bounds: Vec<CertifiedError> = parts
            .into_par_iter()
            .map_init(|| BoxWorkspace::new(&self.plan), |work, target| self.target_box(&series, target, work))
            .collect();
        scatter(terms, &target_boxes.order, &sums, charges, out);
        let largest = |points: Points| points.values().iter().fold(0.0f64, |most, x| most.max(x.abs()));
        // A gradient is a difference of sums with charges `q t` and `q s`.
        let rounding = 4.0 * ROUNDING * self.total[0] * largest(targets).max(largest(self.points)) * (D as f64).sqrt();
        let squares = bounds.iter().enumerate().map(|(b, bound)| {
            let count = target_boxes.range(b).len() as f64;
            count * (bound.gradients + rounding).powi(2)
        });
        CertifiedError {
            values: bounds.iter().fold(0.0, |most: f64, bound| most.max(bound.values)) + ROUNDING,
            gradients: squares.sum::<f64>().sqrt(),
        }
    }

    fn series(&self, max_targets: usize) -> BoxSeries {
        let mut slots = vec![NO_SERIES; self.boxes.len()];
        let wanted: Vec<usize> =
            (0..self.boxes.len()).filter(|&b| self.plan.wants_series(self.boxes.range(b).len(), max_targets)).collect();
        for (slot, &b) in wanted.iter().enumerate() {
            slots[b] = slot as u32;
        }
        let shape = self.plan.shape;
        let mut coefficients = vec![0.0; wanted.len() * shape.len()];
        coefficients.par_chunks_exact_mut(shape.len()).zip(&wanted).for_each(|(out, &b)| {
            let expansion = Expansion { basis: ExpansionBasis::Moment, shape, center: &self.boxes.center(b) };
            spread(expansion, &self.sources, self.boxes.range(b), out);
        });
        BoxSeries { coefficients, slots }
    }

    /// Computes the sums of one target box, and returns the bounds of each target.
    fn target_box(&self, series: &BoxSeries, target: TargetBox<D>, work: &mut BoxWorkspace) -> CertifiedError {
        work.clear();
        let mut target = target;
        self.visit(0, 0.0, &mut [0; D], series, &mut target, work);
        if work.touched[0] {
            let (basis, shape) = (ExpansionBasis::Power, self.plan.shape);
            let expansion = Expansion { basis, shape, center: &target.center };
            gather(expansion, &work.stages[0], target.points, target.sums);
        }
        let far = (-self.plan.reach).exp();
        let bounds = (0..self.total.len())
            .filter(|&c| self.total[c] > 0.0)
            .map(|c| (work.error[c] + (self.total[c] - work.visited[c]).max(0.0) * far) / self.total[c]);
        // The gradient is 2 sum q (s - t) K. The transform is linear in the charges, so that its error is that of a sum with
        // the charges q (s - t), which the distance of the boxes bounds; r exp(-r^2) decreases beyond the reach.
        let omitted = (self.total[0] - work.visited[0]).max(0.0) * far * self.plan.reach.sqrt();
        let near: f64 = work.moment_error.iter().map(|error| error * error).sum();
        CertifiedError { values: bounds.fold(0.0, f64::max), gradients: 2.0 * (near.sqrt() + omitted) }
    }

    /// Visits the offsets in dimension `level`, given those before; the contributions of a row of boxes are translated along
    /// this dimension once for the whole row.
    fn visit(
        &self,
        level: usize,
        squared: f64,
        offset: &mut [i64; D],
        series: &BoxSeries,
        target: &mut TargetBox<D>,
        work: &mut BoxWorkspace,
    ) {
        if level + 1 == D {
            return self.visit_row(squared, *offset, series, target, work);
        }
        let radius = self.plan.reach_radius as i64;
        for k in -radius..=radius {
            let squared = squared + self.squared_gap(k);
            if squared > self.plan.reach {
                continue;
            }
            offset[level] = k;
            self.visit(level + 1, squared, offset, series, target, work);
            if work.touched[level + 1] {
                let (before, after) = work.stages.split_at_mut(level + 1);
                translate_axis(self.plan.shape, level, self.table(k), &after[0], &mut before[level]);
                after[0].fill(0.0);
                work.touched[level + 1] = false;
                work.touched[level] = true;
            }
        }
    }

    /// Visits the boxes of one row, which are adjacent in memory.
    fn visit_row(
        &self,
        squared: f64,
        offset: [i64; D],
        series: &BoxSeries,
        target: &mut TargetBox<D>,
        work: &mut BoxWorkspace,
    ) {
        let (shape, radius, last) = (self.plan.shape, self.plan.reach_radius as i64, D - 1);
        let mut key: [i64; D] = std::array::from_fn(|k| target.key[k] + offset[k]);
        key[last] = target.key[last] - radius;
        let first = self.boxes.keys.partition_point(|other| *other < key);
        key[last] = target.key[last] + radius;
        let mut direct = 0..0;
        for b in (first..self.boxes.len()).take_while(|&b| self.boxes.keys[b] <= key) {
            let end = self.boxes.keys[b][last] - target.key[last];
            let distances = (0..D).map(|k| if k == last { end } else { offset[k] }.unsigned_abs() as usize);
            let (range, slot) = (self.boxes.range(b), series.slots[b]);
            let method = (squared + self.squared_gap(end) <= self.plan.cutoff)
                .then(|| self.plan.method(range.len(), target.points.len() / D, slot != NO_SERIES));
            let error = match method {
                Some(method) => self.plan.bounds.error(method, distances),
                None => self.plan.bounds.omission_error(distances),
            };
            for (c, weight) in self.weights[b * shape.charges..][..shape.charges].iter().enumerate() {
                work.visited[c] += weight;
                work.error[c] += weight * error;
            }
            let first = self.weights[b * shape.charges] * error * self.plan.side;
            for (k, moment) in work.moment_error.iter_mut().enumerate() {
                let distance = if k == last { end } else { offset[k] }.unsigned_abs();
                *moment += first * (distance + 1) as f64;
            }
            let Some(method) = method else { continue };
            let coefficients = || &series.coefficients[slot as usize * shape.len()..][..shape.len()];
            match method {
                BoxMethod::Direct if direct.end == range.start => direct.end = range.end,
                BoxMethod::Direct => {
                    add_direct::<D>(shape.charges, target.points, &self.sources, direct, &mut work.pairs, target.sums);
                    direct = range;
                }
                BoxMethod::Hermite => {
                    let center = self.boxes.center(b);
                    let expansion = Expansion { basis: ExpansionBasis::Hermite, shape, center: &center };
                    gather(expansion, coefficients(), target.points, target.sums);
                }
                BoxMethod::Taylor => {
                    let out = &mut work.stages[0];
                    let expansion = Expansion { basis: ExpansionBasis::Derivative, shape, center: &target.center };
                    spread(expansion, &self.sources, range, out);
                    work.touched[0] = true;
                }
                BoxMethod::Translate => {
                    translate_last(shape, self.table(end), coefficients(), &mut work.stages[last]);
                    work.touched[last] = true;
                }
            }
        }
        add_direct::<D>(shape.charges, target.points, &self.sources, direct, &mut work.pairs, target.sums);
    }

    /// The square of the distance between boxes `k` sides apart, in one dimension.
    #[inline]
    fn squared_gap(&self, k: i64) -> f64 {
        let gap = (k.unsigned_abs().saturating_sub(1)) as f64 * self.plan.side;
        gap * gap
    }

    fn table(&self, k: i64) -> &[f64] {
        let size = self.plan.shape.order * self.plan.shape.width();
        &self.tables[(k + self.plan.radius as i64) as usize * size..][..size]
    }
}

/// Adds the sums over the sources in `range`, pair by pair.
#[simd_dispatch]
fn add_direct<const D: usize>(
    charges: usize,
    targets: &[f64],
    sources: &SourceColumns,
    range: std::ops::Range<usize>,
    scratch: &mut PairScratch,
    out: &mut [f64],
) {
    if range.is_empty() {
        return;
    }
    let term = [KernelTerm { kernel: Kernel::Gaussian, charges }];
    for (target, out) in targets.chunks_exact(D).zip(out.chunks_exact_mut(charges)) {
        add_pairs::<D>(&term, target, sources, range.clone(), scratch, out);
    }
}

impl BoxWorkspace {
    fn new(plan: &TransformPlan) -> Self {
        let (shape, charges) = (plan.shape, plan.shape.charges);
        Self {
            stages: vec![vec![0.0; shape.len()]; shape.dim],
            touched: vec![false; shape.dim],
            visited: vec![0.0; charges],
            error: vec![0.0; charges],
            moment_error: vec![0.0; shape.dim],
            pairs: PairScratch::new(),
        }
    }

    /// Clears the workspace for the next box: the other stages were cleared when they were translated.
    fn clear(&mut self) {
        if std::mem::take(&mut self.touched[0]) {
            self.stages[0].fill(0.0);
        }
        self.visited.fill(0.0);
        self.error.fill(0.0);
        self.moment_error.fill(0.0);
    }
}
