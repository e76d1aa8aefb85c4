//! The parametric map of eq 16: a new row is mapped to where its thresholded similarities to the prototypes (the
//! training rows and their positions) match those in the data.

use rayon::prelude::*;

use lowland_core::run::{Progress, in_batches};
use lowland_core::{Data, Embedding, Points, Result};
use lowland_linalg::dense::Cholesky;
use lowland_neighbors::cosine_similarity::CosineSimilarity;

/// Maximum number of Newton steps; the objective is piecewise quadratic, and a handful suffices.
const MAX_STEPS: usize = 50;

/// Solves `max(0, x.mu_j - tau |x||mu_j|) = max(0, y.nu_j - tau |y||nu_j|)` for each row `x` of `new` in the
/// least-squares sense, over the prototypes `mu` (`data`) and `nu` (`map`). On the right-hand side `|y|` is replaced
/// by `r = |x|`, times the ratio by which the map changed the norm of the prototype nearest in angle, which makes
/// the problem convex:
///
/// `sum over similar j of (y.nu_j - tau r |nu_j| - s_j)^2 + sum over the others of max(0, y.nu_j - tau r |nu_j|)^2`.
///
/// Starts from `start`; a row that is similar to no prototype stays there.
pub fn relu_transform(
    new: &Data,
    data: &Data,
    map: Points,
    tau: f64,
    start: &Embedding,
    progress: &mut Progress,
) -> Result<Embedding> {
    let dim = map.dim();
    let prototypes = CosineSimilarity::new(data)?;
    let map_norms: Vec<f64> = (0..map.rows()).map(|j| map.row(j).iter().map(|v| v * v).sum::<f64>().sqrt()).collect();
    let rows = CosineSimilarity::new(new)?;
    let positions = in_batches(new.rows(), progress, |i| {
        let norm = rows.norms()[i];
        let mut y = start.row(i).to_vec();
        if norm == 0.0 {
            return vec![0.0; dim];
        }
        let similar: Vec<f64> =
            (0..data.rows()).map(|j| prototypes.dot_with(new, i, j) - tau * norm * prototypes.norms()[j]).collect();
        if similar.iter().all(|s| *s <= 0.0) {
            return y;
        }
        let cosine = |j: usize| similar[j] / prototypes.norms()[j].max(f64::MIN_POSITIVE);
        let nearest = (0..data.rows()).reduce(|best, j| if cosine(j) > cosine(best) { j } else { best });
        let target_norm = norm * nearest.map_or(1.0, |j| map_norms[j] / prototypes.norms()[j]);
        let value = |y: &[f64], j: usize| -> f64 {
            map.row(j).iter().zip(y).map(|(nu, y)| nu * y).sum::<f64>() - tau * target_norm * map_norms[j]
        };
        // The residual at prototype j; `None` where the ReLU is inactive.
        let residual = |y: &[f64], j: usize| -> Option<f64> {
            let value = value(y, j);
            if similar[j] > 0.0 { Some(value - similar[j]) } else { (value > 0.0).then_some(value) }
        };
        let cost = |y: &[f64]| (0..map.rows()).filter_map(|j| residual(y, j)).map(|m| m * m).sum::<f64>();
        let mut current_cost = cost(&y);
        for _ in 0..MAX_STEPS {
            let (mut hessian, mut gradient) = (vec![0.0; dim * dim], vec![0.0; dim]);
            for j in 0..map.rows() {
                let Some(residual_value) = residual(&y, j) else { continue };
                let nu = map.row(j);
                for a in 0..dim {
                    gradient[a] += residual_value * nu[a];
                    (0..=a).for_each(|b| hessian[a * dim + b] += nu[a] * nu[b]);
                }
            }
            let mean = (0..dim).map(|a| hessian[a * dim + a]).sum::<f64>() / dim as f64;
            (0..dim).for_each(|a| hessian[a * dim + a] += 1e-10 * mean + f64::MIN_POSITIVE.sqrt());
            let Ok(factor) = Cholesky::new(&hessian, dim) else { break };
            factor.solve(&mut gradient, 1);
            // The active pieces can change along the step: halve it until the cost decreases.
            let mut step_size = 1.0;
            let accepted = loop {
                let candidate: Vec<f64> = y.iter().zip(&gradient).map(|(y, step)| y - step_size * step).collect();
                let candidate_cost = cost(&candidate);
                if candidate_cost < current_cost {
                    break Some((candidate, candidate_cost));
                }
                step_size *= 0.5;
                if step_size < 1e-4 {
                    break None;
                }
            };
            let Some((candidate, candidate_cost)) = accepted else { break };
            let decrease = (current_cost - candidate_cost) / current_cost;
            (y, current_cost) = (candidate, candidate_cost);
            if decrease < 1e-9 {
                break;
            }
        }
        y
    })?;
    Embedding::new(positions.into_par_iter().flatten_iter().collect(), dim)
}
