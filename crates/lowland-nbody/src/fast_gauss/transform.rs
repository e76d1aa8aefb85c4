//! The transform itself: series of the source boxes, then each target box with all boxes in reach.

use rayon::prelude::*;

use super::bound::ROUNDING;
use super::boxes::Boxes;
use super::expansion::{Basis, gather, spread, translate_axis, translate_last, translation};
use super::plan::{Method, Plan};
use super::scatter;
use crate::pairs::{Columns, Scratch, add_pairs};
use crate::{Charges, Kernel, Term};
use lowland_core::Points;
use lowland_core::simd::simd_dispatch;

/// A box without a series.
const NONE: u32 = u32::MAX;

/// Sources ready to act.
pub(super) struct Transform<const D: usize> {
    plan: Plan,
    boxes: Boxes<D>,
    /// The sources in the order of the boxes.
    sources: Columns,
    /// `sum |q|` of each box, a row of charges, and of all.
    weights: Vec<f64>,
    total: Vec<f64>,
    /// For every offset from `-radius` to `radius` one dimension of the translation.
    tables: Vec<f64>,
}

/// The series of the boxes worth one.
struct Series {
    coefficients: Vec<f64>,
    slots: Vec<u32>,
}

/// The targets of one box.
struct Target<'a, const D: usize> {
    key: [i64; D],
    center: [f64; D],
    points: &'a [f64],
    sums: &'a mut [f64],
}

/// Room for the work on one target box.
struct Work {
    /// Stage `k` holds what has been translated along the dimensions from `k` on; stage 0 is the Taylor series.
    stages: Vec<Vec<f64>>,
    touched: Vec<bool>,
    /// `sum |q|` of the boxes met, and their share of the error.
    met: Vec<f64>,
    error: Vec<f64>,
    pairs: Scratch,
}

impl<const D: usize> Transform<D> {
    pub fn new(plan: Plan, sources: Points, charges: Charges, boxes: Boxes<D>) -> Self {
        let count = plan.shape.charges;
        let sources = Columns::new(sources, charges, count, |at| boxes.order[at] as usize);
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
            translation(plan.shape, (k as f64 - plan.radius as f64) * plan.side, table);
        }
        Self { plan, boxes, sources, weights, total, tables }
    }

    /// Writes the sums; the bound per unit of `sum |q|`. `same`: the targets are the sources, and need no boxes of their own.
    pub fn sum(&self, terms: &[Term], targets: Points, same: bool, out: &mut [f64]) -> f64 {
        let other = (!same).then(|| Boxes::<D>::new(targets, self.plan.side));
        let target_boxes = other.as_ref().unwrap_or(&self.boxes);
        let series = self.series(target_boxes.fullest());
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
            parts.push(Target { key: target_boxes.keys[b], center: target_boxes.center(b), points, sums });
        }
        let bounds = parts
            .into_par_iter()
            .map_init(|| Work::new(&self.plan), |work, target| self.target_box(&series, target, work));
        let bound = bounds.reduce(|| 0.0, f64::max);
        scatter(terms, &target_boxes.order, &sums, charges, out);
        bound + ROUNDING
    }

    fn series(&self, most_targets: usize) -> Series {
        let mut slots = vec![NONE; self.boxes.len()];
        let wanted: Vec<usize> = (0..self.boxes.len())
            .filter(|&b| self.plan.wants_series(self.boxes.range(b).len(), most_targets))
            .collect();
        for (slot, &b) in wanted.iter().enumerate() {
            slots[b] = slot as u32;
        }
        let shape = self.plan.shape;
        let mut coefficients = vec![0.0; wanted.len() * shape.len()];
        coefficients.par_chunks_exact_mut(shape.len()).zip(&wanted).for_each(|(out, &b)| {
            spread(Basis::Moment, shape, &self.sources, self.boxes.range(b), &self.boxes.center(b), out);
        });
        Series { coefficients, slots }
    }

    /// The sums of one target box, and its bound.
    fn target_box(&self, series: &Series, target: Target<D>, work: &mut Work) -> f64 {
        work.clear();
        let mut target = target;
        self.visit(0, 0.0, &mut [0; D], series, &mut target, work);
        if work.touched[0] {
            gather(Basis::Power, self.plan.shape, &work.stages[0], &target.center, target.points, target.sums);
        }
        let far = (-self.plan.reach).exp();
        let bounds = (0..self.total.len())
            .filter(|&c| self.total[c] > 0.0)
            .map(|c| (work.error[c] + (self.total[c] - work.met[c]).max(0.0) * far) / self.total[c]);
        bounds.fold(0.0, f64::max)
    }

    /// Walks over the offsets in dimension `level`, given those before; what a row of boxes gives is translated along
    /// this dimension once for the whole row.
    fn visit(
        &self,
        level: usize,
        squared: f64,
        offset: &mut [i64; D],
        series: &Series,
        target: &mut Target<D>,
        work: &mut Work,
    ) {
        if level + 1 == D {
            return self.row(squared, *offset, series, target, work);
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

    /// The boxes of one row, which are neighbours in memory.
    fn row(&self, squared: f64, offset: [i64; D], series: &Series, target: &mut Target<D>, work: &mut Work) {
        let (shape, radius, last) = (self.plan.shape, self.plan.reach_radius as i64, D - 1);
        let mut key: [i64; D] = std::array::from_fn(|k| target.key[k] + offset[k]);
        key[last] = target.key[last] - radius;
        let first = self.boxes.keys.partition_point(|other| *other < key);
        key[last] = target.key[last] + radius;
        let mut direct = 0..0;
        for b in (first..self.boxes.len()).take_while(|&b| self.boxes.keys[b] <= key) {
            let end = self.boxes.keys[b][last] - target.key[last];
            let apart = (0..D).map(|k| if k == last { end } else { offset[k] }.unsigned_abs() as usize);
            let (range, slot) = (self.boxes.range(b), series.slots[b]);
            let method = (squared + self.squared_gap(end) <= self.plan.cut)
                .then(|| self.plan.method(range.len(), target.points.len() / D, slot != NONE));
            let error = match method {
                Some(method) => self.plan.bounds.error(method, apart),
                None => self.plan.bounds.left_out(apart),
            };
            for (c, weight) in self.weights[b * shape.charges..][..shape.charges].iter().enumerate() {
                work.met[c] += weight;
                work.error[c] += weight * error;
            }
            let Some(method) = method else { continue };
            let coefficients = || &series.coefficients[slot as usize * shape.len()..][..shape.len()];
            match method {
                Method::Direct if direct.end == range.start => direct.end = range.end,
                Method::Direct => {
                    near::<D>(shape.charges, target.points, &self.sources, direct, &mut work.pairs, target.sums);
                    direct = range;
                }
                Method::Hermite => {
                    let center = self.boxes.center(b);
                    gather(Basis::Hermite, shape, coefficients(), &center, target.points, target.sums);
                }
                Method::Taylor => {
                    let out = &mut work.stages[0];
                    spread(Basis::Derivative, shape, &self.sources, range, &target.center, out);
                    work.touched[0] = true;
                }
                Method::Translate => {
                    translate_last(shape, self.table(end), coefficients(), &mut work.stages[last]);
                    work.touched[last] = true;
                }
            }
        }
        near::<D>(shape.charges, target.points, &self.sources, direct, &mut work.pairs, target.sums);
    }

    /// The square of the distance between boxes so many sides apart, in one dimension.
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

/// Sources in `range` and targets, pair by pair.
#[simd_dispatch]
fn near<const D: usize>(
    charges: usize,
    targets: &[f64],
    sources: &Columns,
    range: std::ops::Range<usize>,
    scratch: &mut Scratch,
    out: &mut [f64],
) {
    if range.is_empty() {
        return;
    }
    let term = [Term { kernel: Kernel::Gaussian, charges }];
    for (target, out) in targets.chunks_exact(D).zip(out.chunks_exact_mut(charges)) {
        add_pairs::<D>(&term, target, sources, range.clone(), scratch, out);
    }
}

impl Work {
    fn new(plan: &Plan) -> Self {
        let (shape, charges) = (plan.shape, plan.shape.charges);
        Self {
            stages: vec![vec![0.0; shape.len()]; shape.dim],
            touched: vec![false; shape.dim],
            met: vec![0.0; charges],
            error: vec![0.0; charges],
            pairs: Scratch::new(),
        }
    }

    /// Ready for the next box: the other stages are clean since they were translated.
    fn clear(&mut self) {
        if std::mem::take(&mut self.touched[0]) {
            self.stages[0].fill(0.0);
        }
        self.met.fill(0.0);
        self.error.fill(0.0);
    }
}
