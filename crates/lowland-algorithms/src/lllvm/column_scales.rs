//! A noise of its own for each column.
//!
//! The model with one noise describes `Y S`, with `S` a diagonal matrix of scales: then column `c` of `Y` has the precision `gamma s_c^2`,
//! and the prior of its row of the linear maps is `1 / s_c` times as wide, as in the conjugate prior of a regression. With the posteriors
//! of the scaled model fixed, the bound depends on `s_c` by
//!
//! `n ln s_c - gamma (s_c^2 R_c - s_c l_c)`, `R_c = tr(L y_c y_c')`, `l_c = sum_a mu_ac h_ac`,
//!
//! the first term from the change of variables. It is concave, with a maximum in closed form, so the bound still never decreases. Missing
//! cells are scaled with the others: what the change of variables loses, their entropy gains.

use super::problem::MIN_NOISE;

/// The factor by which each column's scale should change, given its `R_c` and `l_c` at the current scales.
pub(super) fn best_column_factors(n: f64, gamma: f64, roughness: &[f64], linear: &[f64]) -> Vec<f64> {
    let factor = |(&r, &l): (&f64, &f64)| {
        // A constant column has nothing to scale.
        if r <= 0.0 {
            return 1.0;
        }
        let best = (gamma * l + ((gamma * l).powi(2) + 8.0 * n * gamma * r).sqrt()) / (4.0 * gamma * r);
        best.min((0.5 * (n - 1.0) / (MIN_NOISE * gamma * r)).sqrt())
    };
    roughness.iter().zip(linear).map(factor).collect()
}
