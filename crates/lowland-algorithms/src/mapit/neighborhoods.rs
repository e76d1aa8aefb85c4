//! Affinities split into each point's neighborhood and the rest.

use lowland_core::{Error, Result};
use lowland_linalg::Csr;

/// Symmetric affinities, with the largest of every row separated from the others.
pub(super) struct Neighborhoods {
    /// The `k` largest affinities of each row: `N(i)`.
    pub near: Csr,
    /// The other affinities.
    pub others: Csr,
    /// `p_j`, the sum of `P_lj` over `l` in `N(j)`.
    pub marginals: Vec<f64>,
}

impl Neighborhoods {
    /// Splits affinities into the `k` largest of each row, or as many as it has, and the others. Among equal affinities,
    /// those with lower column numbers come first.
    pub fn new(affinities: &Csr, k: usize) -> Result<Self> {
        let n = affinities.rows();
        if affinities.columns() != n {
            return Err(Error::Shape { what: "columns of the affinities", expected: n, found: affinities.columns() });
        }
        // The last affinity of each neighborhood; larger ones, and equal ones of lower columns, belong to it too.
        let last: Vec<Option<(f64, usize)>> = (0..n)
            .map(|i| {
                let (columns, values) = affinities.row(i);
                let mut order: Vec<(f64, usize)> =
                    values.iter().copied().zip(columns.iter().map(|&j| j as usize)).collect();
                let at = k.min(order.len()).checked_sub(1)?;
                let by_size = |a: &(f64, usize), b: &(f64, usize)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
                Some(*order.select_nth_unstable_by(at, by_size).1)
            })
            .collect();
        let is_near = |i: usize, j: usize, p: f64| last[i].is_some_and(|(q, last)| p > q || (p == q && j <= last));
        let near = affinities.filter(is_near);
        let others = affinities.filter(|i, j, p| !is_near(i, j, p));
        let marginals = near.row_sums();
        Ok(Self { near, others, marginals })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighborhoods_hold_the_largest_affinities_and_the_first_of_equal_ones() {
        let rows = [(0, 1, 0.3), (0, 2, 0.5), (0, 3, 0.3), (1, 0, 0.3), (2, 0, 0.5), (3, 0, 0.3)];
        let all = Csr::from_triplets(4, 4, rows).unwrap();
        let split = Neighborhoods::new(&all, 2).unwrap();
        assert_eq!(split.near.row(0).0, [1, 2]);
        assert_eq!(split.others.row(0).0, [3]);
        assert_eq!(split.near.row(3).0, [0]);
        assert_eq!(split.marginals, [0.8, 0.3, 0.5, 0.3]);
        assert_eq!(Neighborhoods::new(&all, 0).unwrap().near.entries(), 0);
    }
}
