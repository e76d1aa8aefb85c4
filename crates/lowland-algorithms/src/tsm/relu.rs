//! The parametric map of eq 16: a new row's place is where its thresholded similarities to the prototypes (the rows fitted and
//! their places) come out as they are in the data.

use rayon::prelude::*;

use lowland_core::run::{Progress, in_batches};
use lowland_core::{Data, Embedding, Points, Result};
use lowland_linalg::dense::Cholesky;
use lowland_neighbors::cosine_similarity::CosineSimilarity;

/// Newton steps at the most; the objective is piecewise quadratic, and a handful suffices.
const STEPS: usize = 50;

/// Solves `max(0, x.mu_j - tau |x||mu_j|) = max(0, y.nu_j - tau |y||nu_j|)` for each row `x` of `new` in the least squares sense,
/// over the prototypes `mu` (`data`) and `nu` (`map`). On the right `|y|` is taken as `r = |x|`, times what the map has made of the
/// norm of the prototype nearest in angle, so that the problem is convex:
///
/// `sum over similar j of (y.nu_j - tau r |nu_j| - s_j)^2 + sum over the others of max(0, y.nu_j - tau r |nu_j|)^2`.
///
/// Starts from `start`, and leaves a row there that is similar to no prototype.
pub fn relu_places(
    new: &Data,
    data: &Data,
    map: Points,
    tau: f64,
    start: &Embedding,
    progress: &mut Progress,
) -> Result<Embedding> {
    let dim = map.dim();
    let prototypes = CosineSimilarity::new(data)?;
    let lengths: Vec<f64> = (0..map.rows()).map(|j| map.row(j).iter().map(|v| v * v).sum::<f64>().sqrt()).collect();
    let rows = CosineSimilarity::new(new)?;
    let places = in_batches(new.rows(), progress, |i| {
        let own = rows.norms()[i];
        let mut y = start.row(i).to_vec();
        if own == 0.0 {
            return vec![0.0; dim];
        }
        let similar: Vec<f64> =
            (0..data.rows()).map(|j| prototypes.dot_with(new, i, j) - tau * own * prototypes.norms()[j]).collect();
        if similar.iter().all(|s| *s <= 0.0) {
            return y;
        }
        let cosine = |j: usize| similar[j] / prototypes.norms()[j].max(f64::MIN_POSITIVE);
        let nearest = (0..data.rows()).reduce(|best, j| if cosine(j) > cosine(best) { j } else { best });
        let length = own * nearest.map_or(1.0, |j| lengths[j] / prototypes.norms()[j]);
        let value = |y: &[f64], j: usize| -> f64 {
            map.row(j).iter().zip(y).map(|(nu, y)| nu * y).sum::<f64>() - tau * length * lengths[j]
        };
        // What is left to match at prototype j; `None` where the ReLU hides it.
        let misfit = |y: &[f64], j: usize| -> Option<f64> {
            let value = value(y, j);
            if similar[j] > 0.0 { Some(value - similar[j]) } else { (value > 0.0).then_some(value) }
        };
        let cost = |y: &[f64]| (0..map.rows()).filter_map(|j| misfit(y, j)).map(|m| m * m).sum::<f64>();
        let mut now = cost(&y);
        for _ in 0..STEPS {
            let (mut hessian, mut slope) = (vec![0.0; dim * dim], vec![0.0; dim]);
            for j in 0..map.rows() {
                let Some(miss) = misfit(&y, j) else { continue };
                let nu = map.row(j);
                for a in 0..dim {
                    slope[a] += miss * nu[a];
                    (0..=a).for_each(|b| hessian[a * dim + b] += nu[a] * nu[b]);
                }
            }
            let mean = (0..dim).map(|a| hessian[a * dim + a]).sum::<f64>() / dim as f64;
            (0..dim).for_each(|a| hessian[a * dim + a] += 1e-10 * mean + f64::MIN_POSITIVE.sqrt());
            let Ok(factor) = Cholesky::new(&hessian, dim) else { break };
            factor.solve(&mut slope, 1);
            // The pieces can change on the way: halve the step until the cost falls.
            let mut share = 1.0;
            let moved = loop {
                let tried: Vec<f64> = y.iter().zip(&slope).map(|(y, step)| y - share * step).collect();
                let then = cost(&tried);
                if then < now {
                    break Some((tried, then));
                }
                share *= 0.5;
                if share < 1e-4 {
                    break None;
                }
            };
            let Some((tried, then)) = moved else { break };
            let fell = (now - then) / now;
            (y, now) = (tried, then);
            if fell < 1e-9 {
                break;
            }
        }
        y
    })?;
    Embedding::new(places.into_par_iter().flatten_iter().collect(), dim)
}
