//! Lists of rows, one for each row of the data, in one array: a vector for each would be millions of small allocations, whose memory
//! the allocator keeps.

use lowland_core::Result;
use lowland_core::run::{Progress, fill_in_batches};

/// Index of an empty entry.
pub(super) const NO_NEIGHBOR: u32 = u32::MAX;

/// A list of at most `width` rows for each row.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CandidateLists {
    /// Lists end to end, each padded with [`NO_NEIGHBOR`].
    entries: Vec<u32>,
    width: usize,
}

impl CandidateLists {
    /// Creates empty lists.
    pub fn new(rows: usize, width: usize) -> Self {
        Self { entries: vec![NO_NEIGHBOR; rows * width], width }
    }

    /// Creates lists of equal length, which are given end to end.
    pub fn uniform(entries: Vec<u32>, width: usize) -> Self {
        Self { entries, width }
    }

    /// Number of lists.
    pub fn rows(&self) -> usize {
        self.entries.len().checked_div(self.width).unwrap_or(0)
    }

    /// Returns the list of row `i`.
    pub fn row(&self, i: usize) -> &[u32] {
        let list = &self.entries[i * self.width..(i + 1) * self.width];
        &list[..list.partition_point(|&j| j != NO_NEIGHBOR)]
    }

    /// Returns the lists in an array that can be divided among threads; each takes as many entries as the width.
    pub fn entries_mut(&mut self) -> &mut [u32] {
        &mut self.entries
    }

    /// Computes the lists of `rows` rows in parallel, in tasks of `task_rows`. `work` is called with the first row of a task and a
    /// function that takes the lists of its rows, one after the other.
    pub fn compute(
        rows: usize,
        width: usize,
        task_rows: usize,
        progress: &mut Progress,
        work: impl Fn(usize, &mut dyn FnMut(&mut dyn Iterator<Item = u32>)) + Sync,
    ) -> Result<Self> {
        let mut lists = Self::new(rows, width);
        fill_in_batches(&mut lists.entries, task_rows * width, progress, |task, out| {
            let mut parts = out.chunks_exact_mut(width);
            work(task * task_rows, &mut |list| {
                let part = parts.next().expect("a list for each row of the task");
                part.iter_mut().zip(list).for_each(|(entry, j)| *entry = j);
            });
        })?;
        Ok(lists)
    }

    /// Returns the lists of rows that were renumbered: row `at` of `self` is row `order[at]`, and so are the entries.
    pub fn in_original_order(&self, order: &[u32]) -> Self {
        let mut original = Self::new(self.rows(), self.width);
        for (at, &i) in order.iter().enumerate() {
            let list = &mut original.entries[i as usize * self.width..(i as usize + 1) * self.width];
            list.iter_mut().zip(self.row(at)).for_each(|(entry, &j)| *entry = order[j as usize]);
        }
        original
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_as_long_as_what_they_are_given() {
        let lists = CandidateLists::compute(5, 4, 2, &mut |_| Ok(()), |first, put| {
            (first..5.min(first + 2)).for_each(|i| put(&mut (0..i as u32)));
        })
        .unwrap();
        assert_eq!(lists.rows(), 5);
        (0..5).for_each(|i| assert!(lists.row(i).iter().copied().eq(0..i as u32), "{i}"));
        let order = [4, 2, 0, 1, 3];
        let original = lists.in_original_order(&order);
        assert_eq!(original.row(3), [4, 2, 0, 1]);
        assert_eq!(original.row(4), []);
        assert_eq!(CandidateLists::uniform(vec![1, 0], 1).row(1), [0]);
    }
}
