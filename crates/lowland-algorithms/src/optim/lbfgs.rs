//! Limited-memory BFGS (Liu & Nocedal 1989) with the diagonal of the attraction as initial Hessian, and a backtracking line
//! search that tolerates the engine's error.
//!
//! Stored steps are divided, and changes of the gradient multiplied, by the square root of that diagonal's inverse: in these
//! units the diagonal is the identity, and a direction is a linear combination of stored vectors and the gradient. The two
//! loops over the pairs then need only inner products (Chen, Wang & Zhou 2014), and every vector is read twice per step
//! instead of four times. The computation is bound by memory bandwidth, so the vectors are stored in single precision; all
//! products are those of the rounded vectors.

use std::collections::VecDeque;

use rayon::prelude::*;

use super::fixed_point::{diagonal_scales, scale_rows};
use super::line_search::LineSearch;
use super::{Optimizer, StepReport};
use crate::objective::Objective;
use lowland_core::Result;
use lowland_core::archive::Archive;
use lowland_linalg::block::{add_linear_combination, dot, dot_products};

/// Number of stored steps.
const MAX_PAIRS: usize = 15;
/// Minimal curvature of a pair, relative to its lengths; below it, noise dominates.
const MIN_CURVATURE: f64 = 1e-8;
/// Maximal first step, in units of the kernel or in sizes of the map, whichever is larger: where the objective is flat,
/// rounding errors look like curvature and give arbitrarily long steps.
const MAX_STEP: f64 = 10.0;

/// Limited-memory BFGS.
pub struct Lbfgs {
    search: LineSearch,
    /// The square roots of `1 / (4 d_i)`.
    roots: Vec<f64>,
    /// Ordered by time. Only the products of the last pair may be missing.
    pairs: VecDeque<CurvaturePair>,
}

/// A step and the change of the gradient along it.
struct CurvaturePair {
    step: Vec<f32>,
    change: Vec<f32>,
    /// The products of both with the change of every pair.
    products: VecDeque<[f64; 2]>,
}

impl Default for Lbfgs {
    fn default() -> Self {
        Self { search: LineSearch::new(1.0), roots: Vec::new(), pairs: VecDeque::new() }
    }
}

impl Lbfgs {
    /// Returns `-H g` by the two loops over the pairs.
    fn direction(&mut self, gradient: &[f64], dim: usize, factor: f64) -> Vec<f64> {
        let mut scaled_gradient = Vec::new();
        scale_rows(gradient, &self.roots, dim, -1.0, &mut scaled_gradient);
        let along = products_with(&mut self.pairs, &scaled_gradient);
        let (pairs, m) = (&self.pairs, self.pairs.len());
        let curvature = |i: usize| pairs[i].products[i][0];
        let [mut of_steps, mut of_changes] = [vec![0.0; m], vec![0.0; m]];
        for i in (0..m).rev() {
            let later = (i + 1..m).map(|j| pairs[i].products[j][0] * of_changes[j]).sum::<f64>();
            of_changes[i] = -(along[i][0] + later) / curvature(i);
        }
        // The diagonal, scaled to the curvature along the last step.
        let scale = pairs.back().map_or(factor, |last| curvature(m - 1) / last.products[m - 1][1]);
        for i in 0..m {
            let start = along[i][1] + (0..m).map(|j| pairs[i].products[j][1] * of_changes[j]).sum::<f64>();
            let earlier = (0..i).map(|j| pairs[j].products[i][0] * of_steps[j]).sum::<f64>();
            of_steps[i] = -of_changes[i] - (scale * start + earlier) / curvature(i);
        }
        of_changes.iter_mut().for_each(|factor| *factor *= scale);
        scaled_gradient.par_iter_mut().with_min_len(4096).for_each(|g| *g *= scale);
        add_linear_combination(&pair_vectors(pairs), &[of_steps, of_changes].concat(), &mut scaled_gradient);
        let mut direction = Vec::new();
        scale_rows(&scaled_gradient, &self.roots, dim, 1.0, &mut direction);
        direction
    }

    /// Stores a step, if its curvature is positive beyond noise.
    fn store_pair(&mut self, step: Vec<f32>, change: Vec<f32>) {
        let products = dot_products(&[&step, &change], &[&to_f64(&step), &to_f64(&change)]);
        if products[1] > MIN_CURVATURE * (products[0] * products[3]).sqrt() {
            if self.pairs.len() == MAX_PAIRS {
                self.pairs.pop_front();
                for pair in &mut self.pairs {
                    pair.products.pop_front();
                }
            }
            self.pairs.push_back(CurvaturePair { step, change, products: VecDeque::new() });
        }
    }
}

/// Returns all steps, then all changes.
fn pair_vectors(pairs: &VecDeque<CurvaturePair>) -> Vec<&[f32]> {
    pairs.iter().map(|pair| &*pair.step).chain(pairs.iter().map(|pair| &*pair.change)).collect()
}

fn to_f64(values: &[f32]) -> Vec<f64> {
    values.iter().map(|&value| f64::from(value)).collect()
}

/// Returns the products of each pair's vectors with `gradient`. The products of the last pair with all others are computed
/// in the same pass, if they are missing.
fn products_with(pairs: &mut VecDeque<CurvaturePair>, gradient: &[f64]) -> Vec<[f64; 2]> {
    let m = pairs.len();
    let Some(last) = pairs.back().filter(|last| last.products.is_empty()) else {
        let products = dot_products(&pair_vectors(pairs), &[gradient]);
        return (0..m).map(|i| [products[i], products[m + i]]).collect();
    };
    let products = dot_products(&pair_vectors(pairs), &[gradient, &to_f64(&last.step), &to_f64(&last.change)]);
    let product = |vector: usize, with: usize| products[3 * vector + with];
    for (i, pair) in pairs.iter_mut().enumerate().take(m - 1) {
        pair.products.push_back([product(i, 2), product(m + i, 2)]);
    }
    pairs[m - 1].products = (0..m).map(|j| [product(m + j, 1), product(m + j, 2)]).collect();
    (0..m).map(|i| [product(i, 0), product(m + i, 0)]).collect()
}

/// Returns the step that a search begins with: the full direction, if that is not too long.
fn first_step(y: &[f64], direction: &[f64], dim: usize) -> f64 {
    let size = dot(y, y).max((y.len() / dim) as f64).sqrt();
    (MAX_STEP * size / dot(direction, direction).sqrt()).min(1.0)
}

/// Returns `a - b` in units that depend on the point.
fn difference(a: &[f64], b: &[f64], roots: &[f64], dim: usize, unit: fn(f64, f64) -> f64) -> Vec<f32> {
    let mut out = vec![0.0; a.len()];
    let points = out.par_chunks_mut(dim).zip(a.par_chunks(dim).zip(b.par_chunks(dim))).zip(roots).with_min_len(1024);
    points.for_each(|((out, (a, b)), root)| {
        out.iter_mut().zip(a.iter().zip(b)).for_each(|(out, (a, b))| *out = unit(a - b, *root) as f32);
    });
    out
}

impl<F: Objective + ?Sized> Optimizer<F> for Lbfgs {
    fn step(&mut self, objective: &mut F, y: &mut [f64], dim: usize) -> Result<StepReport> {
        if self.roots.is_empty() {
            self.roots = diagonal_scales(objective).into_iter().map(f64::sqrt).collect();
        }
        let factor = 1.0 / objective.exaggeration();
        let before = self.search.gradient(objective, y, dim)?.to_vec();
        let mut direction = self.direction(&before, dim, factor);
        let start = y.to_vec();
        let (mut report, mut accepted) =
            self.search.search(objective, y, dim, &direction, Some(first_step(y, &direction, dim)))?;
        if !accepted && !self.pairs.is_empty() {
            // The stored curvature gives no direction of descent: discard it and follow the gradient.
            self.pairs.clear();
            direction = self.direction(&before, dim, factor);
            (report, accepted) =
                self.search.search(objective, y, dim, &direction, Some(first_step(y, &direction, dim)))?;
        }
        if accepted {
            let after = self.search.gradient(objective, y, dim)?;
            let step = difference(y, &start, &self.roots, dim, |step, root| step / root);
            let change = difference(after, &before, &self.roots, dim, |change, root| change * root);
            self.store_pair(step, change);
        }
        Ok(report)
    }

    fn reset(&mut self) {
        self.search.reset();
        self.pairs.clear();
    }

    fn invalidate_values(&mut self) {
        self.search.invalidate_values();
    }

    fn save(&self, archive: &mut Archive) {
        self.search.save(archive);
        archive.put("lbfgs/pairs", self.pairs.len() as u64);
        let all = |part: fn(&CurvaturePair) -> &[f32]| {
            self.pairs.iter().flat_map(|pair| part(pair).to_vec()).collect::<Vec<_>>()
        };
        if !self.pairs.is_empty() {
            archive.put("lbfgs/steps", all(|pair| &pair.step));
            archive.put("lbfgs/changes", all(|pair| &pair.change));
        }
    }

    fn restore(&mut self, archive: &Archive, len: usize) -> Result<()> {
        self.search.restore(archive, len)?;
        let count = archive.size("lbfgs/pairs")?;
        let stored = |name| if count > 0 { archive.f32s(name) } else { Ok(&[][..]) };
        let (steps, changes) = (stored("lbfgs/steps")?, stored("lbfgs/changes")?);
        if count > MAX_PAIRS || steps.len() != count * len || changes.len() != count * len {
            return Err(archive.invalid("the remembered steps do not fit the map".into()));
        }
        self.pairs.clear();
        for (step, change) in steps.chunks(len.max(1)).zip(changes.chunks(len.max(1))) {
            self.pairs.push_back(CurvaturePair {
                step: step.to_vec(),
                change: change.to_vec(),
                products: VecDeque::new(),
            });
            products_with(&mut self.pairs, &to_f64(change));
        }
        let mut curvatures = self.pairs.iter().enumerate().map(|(i, pair)| pair.products[i][0]);
        if !curvatures.all(|curvature| curvature > 0.0 && curvature.is_finite()) {
            return Err(archive.invalid("a remembered step has no curvature".into()));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lowland_core::Seed;
    use lowland_core::archive::ArchiveKind;

    const POINTS: usize = 40;

    /// Returns the direction by the two loops of Liu and Nocedal, with `scales` as initial inverse Hessian.
    fn two_loops(pairs: &[[Vec<f64>; 2]], scales: &[f64], gradient: &[f64], factor: f64) -> Vec<f64> {
        let mut q = gradient.to_vec();
        let add = |to: &mut [f64], factor: f64, v: &[f64]| to.iter_mut().zip(v).for_each(|(to, v)| *to += factor * v);
        let mut weights = Vec::new();
        for [step, change] in pairs.iter().rev() {
            weights.push(dot(step, &q) / dot(step, change));
            add(&mut q, -weights[weights.len() - 1], change);
        }
        let by_scale = |v: &[f64]| v.iter().enumerate().map(|(at, v)| v * scales[at / 2]).collect::<Vec<_>>();
        let scale = pairs.last().map_or(factor, |[step, change]| dot(step, change) / dot(change, &by_scale(change)));
        let mut direction = by_scale(&q);
        direction.iter_mut().for_each(|v| *v *= scale);
        for ([step, change], weight) in pairs.iter().zip(weights.iter().rev()) {
            let back = dot(change, &direction) / dot(step, change);
            add(&mut direction, weight - back, step);
        }
        direction.iter().map(|v| -v).collect()
    }

    #[test]
    fn directions_equal_those_of_the_two_loops() {
        let scales: Vec<f64> = (0..POINTS).map(|i| 0.1 + i as f64).collect();
        let mut lbfgs = Lbfgs { roots: scales.iter().map(|scale| scale.sqrt()).collect(), ..Lbfgs::default() };
        let mut pairs = Vec::new();
        // More than are stored, so that the first ones are discarded.
        for number in 0..MAX_PAIRS as u64 + 4 {
            let gradient = Seed(1000 + number).normals(2 * POINTS);
            let found = lbfgs.direction(&gradient, 2, 0.5);
            let expected = two_loops(&pairs[pairs.len().saturating_sub(MAX_PAIRS)..], &scales, &gradient, 0.5);
            let largest = expected.iter().fold(0.0f64, |most, v| most.max(v.abs()));
            let close = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-5 * largest;
            assert!(found.iter().zip(&expected).all(close), "after {number} steps");

            let step = Seed(number).normals(2 * POINTS);
            let noise = Seed(500 + number).normals(2 * POINTS);
            let change: Vec<f64> = step.iter().zip(noise).map(|(step, noise)| 2.0 * step + 0.5 * noise).collect();
            let zeros = vec![0.0; 2 * POINTS];
            let scaled_step = difference(&step, &zeros, &lbfgs.roots, 2, |step, root| step / root);
            let scaled_change = difference(&change, &zeros, &lbfgs.roots, 2, |change, root| change * root);
            lbfgs.store_pair(scaled_step, scaled_change);
            pairs.push([step, change]);
        }
        // A pair of negative curvature is not stored.
        let (step, change) = (vec![1.0; 2 * POINTS], vec![-1.0; 2 * POINTS]);
        lbfgs.store_pair(step, change);
        let gradient = Seed(7).normals(2 * POINTS);
        let expected = lbfgs.direction(&gradient, 2, 0.5);
        assert_eq!(lbfgs.pairs.len(), MAX_PAIRS);

        // A restored optimizer continues with the same bits.
        let mut archive = Archive::new(ArchiveKind::Checkpoint);
        let optimizer: &dyn Optimizer<crate::neighbor_embedding::NeighborEmbeddingObjective> = &lbfgs;
        optimizer.save(&mut archive);
        archive.put("search/gradient", vec![0.0; 2 * POINTS]);
        let mut other = Lbfgs { roots: lbfgs.roots.clone(), ..Lbfgs::default() };
        let restored: &mut dyn Optimizer<crate::neighbor_embedding::NeighborEmbeddingObjective> = &mut other;
        restored.restore(&archive, 2 * POINTS).unwrap();
        assert_eq!(other.direction(&gradient, 2, 0.5), expected);
    }
}
