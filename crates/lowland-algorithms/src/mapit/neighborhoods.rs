//! Affinities split into each point's neighborhood and the rest.

use lowland_core::{Error, Result};
use lowland_linalg::Csr;
use rayon::prelude::*;

/// Symmetric affinities, with the largest of every row separated from the others.
pub(super) struct Neighborhoods {
    /// The `k` largest affinities of each row: `N(i)`, over which marginals are summed.
    pub near: Csr,
    /// Pairs within `reach` steps along `near`, with their affinities; `None` if these are `near` itself.
    reached: Option<Csr>,
    /// The affinities of pairs that are not aligned.
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
        Ok(Self::of_rows(affinities, k, |column| column))
    }

    /// Like [`Neighborhoods::new`] for some of the rows. Among equal affinities, those whose columns have lower numbers come first.
    pub fn of_rows(affinities: &Csr, k: usize, number: impl Fn(usize) -> usize) -> Self {
        // The last affinity of each neighborhood; larger ones, and equal ones of lower columns, belong to it too.
        let last: Vec<Option<(f64, usize)>> = (0..affinities.rows())
            .map(|i| {
                let (columns, values) = affinities.row(i);
                let mut order: Vec<(f64, usize)> =
                    values.iter().copied().zip(columns.iter().map(|&j| number(j as usize))).collect();
                let at = k.min(order.len()).checked_sub(1)?;
                let by_size = |a: &(f64, usize), b: &(f64, usize)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
                Some(*order.select_nth_unstable_by(at, by_size).1)
            })
            .collect();
        let is_near =
            |i: usize, j: usize, p: f64| last[i].is_some_and(|(q, last)| p > q || (p == q && number(j) <= last));
        let near = affinities.filter(is_near);
        let others = affinities.filter(|i, j, p| !is_near(i, j, p));
        let marginals = near.row_sums();
        Self { near, reached: None, others, marginals }
    }

    /// Aligns neighbors of neighbors too, up to `reach` steps from each point. `affinities` are those of [`Self::new`].
    pub fn with_reach(mut self, affinities: &Csr, reach: usize) -> Result<Self> {
        if reach <= 1 {
            return Ok(self);
        }
        let n = self.near.rows();
        let rows: Vec<Vec<u32>> = (0..n)
            .into_par_iter()
            .map(|i| {
                let mut row = within_steps(&self.near, self.near.row(i).0, reach - 1);
                row.retain(|&j| j as usize != i);
                row
            })
            .collect();
        let indptr = [0].into_iter().chain(rows.iter().scan(0, |end, row| {
            *end += row.len();
            Some(*end)
        }));
        let pairs =
            rows.iter().enumerate().flat_map(|(i, row)| row.iter().map(move |&j| affinities.get(i, j as usize)));
        let (indptr, values) = (indptr.collect(), pairs.collect());
        self.others = self.others.filter(|i, j, _| rows[i].binary_search(&(j as u32)).is_err());
        self.reached = Some(Csr::new(indptr, rows.concat(), values, n)?);
        Ok(self)
    }

    /// Returns the pairs whose marginals are aligned, with their affinities.
    pub fn aligned(&self) -> &Csr {
        self.reached.as_ref().unwrap_or(&self.near)
    }

    /// Returns whether pairs beyond the neighborhoods are aligned.
    pub fn has_reach(&self) -> bool {
        self.reached.is_some()
    }

    /// Permutes the points: row `rows[i]` becomes row `i`.
    pub fn renumber(&mut self, rows: &[u32]) {
        for graph in [&mut self.near, &mut self.others].into_iter().chain(&mut self.reached) {
            graph.renumber_in_place(rows);
        }
        self.marginals = rows.iter().map(|&row| self.marginals[row as usize]).collect();
    }
}

/// Returns `first` and the points within `steps` of them along the rows of `near`, in ascending order.
pub(super) fn within_steps(near: &Csr, first: &[u32], steps: usize) -> Vec<u32> {
    let mut found = first.to_vec();
    found.sort_unstable();
    let mut frontier = found.clone();
    for _ in 0..steps {
        let mut next: Vec<u32> = frontier.iter().flat_map(|&j| near.row(j as usize).0).copied().collect();
        next.sort_unstable();
        next.dedup();
        next.retain(|j| found.binary_search(j).is_err());
        if next.is_empty() {
            break;
        }
        found.extend(&next);
        found.sort_unstable();
        frontier = next;
    }
    found
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
