//! How much work to do between two looks at whether to stop.

use std::time::{Duration, Instant};

use rayon::prelude::*;

use super::Progress;
use crate::Result;

/// Less time than this in a batch: take more.
const SHORT: Duration = Duration::from_millis(60);
/// More than this: take less.
const LONG: Duration = Duration::from_millis(150);

/// The number of items to do at once, following the clock; no result may depend on it.
pub struct BatchSizer(usize);

impl Default for BatchSizer {
    /// One item for each thread: nothing is known yet of what it takes.
    fn default() -> Self {
        Self(rayon::current_num_threads())
    }
}

impl BatchSizer {
    pub fn batch(&self) -> usize {
        self.0
    }

    /// Does a batch, and learns from how long it takes.
    pub fn time(&mut self, work: impl FnOnce()) {
        let started = Instant::now();
        work();
        self.learn(started.elapsed());
    }

    fn learn(&mut self, taken: Duration) {
        if taken < SHORT / 8 {
            self.0 = self.0.saturating_mul(8);
        } else if taken < SHORT {
            self.0 = self.0.saturating_mul(2);
        } else if taken > LONG {
            self.0 = (self.0 / 2).max(rayon::current_num_threads());
        }
    }
}

/// `work` for each of `count` items, in parallel and in order, with `progress` told several times a second.
pub fn in_batches<T: Send>(count: usize, progress: &mut Progress, work: impl Fn(usize) -> T + Sync) -> Result<Vec<T>> {
    let mut done = Vec::with_capacity(count);
    let mut pace = BatchSizer::default();
    while done.len() < count {
        progress(done.len() as f64 / count as f64)?;
        let next = done.len()..count.min(done.len().saturating_add(pace.batch()));
        pace.time(|| done.par_extend(next.into_par_iter().map(&work)));
    }
    Ok(done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_grow_while_they_are_short_and_shrink_to_one_item_a_thread() {
        let mut pace = BatchSizer::default();
        let first = pace.batch();
        pace.learn(Duration::from_millis(1));
        assert_eq!(pace.batch(), 8 * first);
        pace.learn(Duration::from_millis(100));
        assert_eq!(pace.batch(), 8 * first);
        (0..10).for_each(|_| pace.learn(Duration::from_secs(1)));
        assert_eq!(pace.batch(), first);
        (0..100).for_each(|_| pace.learn(Duration::ZERO));
        assert_eq!(pace.batch(), usize::MAX);
    }
}
