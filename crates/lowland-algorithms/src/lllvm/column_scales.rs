//! A noise of its own for each column.
//!
//! The model with one noise describes `Y S`, with `S` a diagonal matrix of scales: then column `c` of `Y` has the precision `gamma s_c^2`,
//! and the prior of its row of the linear maps is `1 / s_c` times as wide, as in the conjugate prior of a regression. With the posteriors
//! of the scaled model fixed, the bound depends on `s_c` by
//!
//! `n ln s_c - gamma (s_c^2 R_c - s_c l_c)`, `R_c = tr(L y_c y_c')`, `l_c = sum_a mu_ac h_ac`,
//!
//! the first term from the change of variables. It is concave, with a maximum in closed form, so the bound still never decreases.

use super::em::LllvmEm;
use super::problem::MIN_NOISE;

impl LllvmEm<'_> {
    /// The factor by which each column's scale should change, given its `R_c` and `l_c` at the current scales.
    pub(super) fn best_column_factors(&self, roughness: &[f64], linear: &[f64]) -> Vec<f64> {
        let (n, gamma) = (self.problem.points() as f64, self.gamma);
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

    /// `R_c` of every column.
    pub(super) fn column_roughness(&self) -> Vec<f64> {
        let mut sums = vec![0.0; self.problem.columns()];
        for (i, j) in self.problem.graph.edges() {
            let pairs = self.rows.row(i).iter().zip(self.rows.row(j));
            sums.iter_mut().zip(pairs).for_each(|(sum, (a, b))| *sum += (a - b) * (a - b));
        }
        sums
    }

    /// `l_c` of every column.
    pub(super) fn column_linear(&self) -> Vec<f64> {
        let columns = self.problem.columns();
        let mut sums = vec![0.0; columns];
        for (maps, h) in self.maps.chunks_exact(columns).zip(self.h.chunks_exact(columns)) {
            sums.iter_mut().zip(maps.iter().zip(h)).for_each(|(sum, (m, h))| *sum += m * h);
        }
        sums
    }

    /// Scales the columns of the rows, starting from those of the problem, so that a restored state has the same bits.
    pub(super) fn set_column_scales(&mut self, scales: &[f64]) -> bool {
        let Some(rows) = self.problem.rows.clone().with_column_scales(scales) else { return false };
        self.roughness = self.problem.graph.roughness(&rows.values, rows.columns());
        self.rows = std::borrow::Cow::Owned(rows);
        true
    }
}
