//! Parallel work in batches, with progress reports and the option to stop in between.

use std::time::{Duration, Instant};

use rayon::prelude::*;

use super::Progress;
use crate::Result;

/// Batches that take less time are enlarged.
const MIN_DURATION: Duration = Duration::from_millis(60);
/// Batches that take more time are reduced.
const MAX_DURATION: Duration = Duration::from_millis(150);

/// Adapts the size of batches to the time they take. Results must not depend on it.
pub struct BatchSizer(usize);

impl Default for BatchSizer {
    /// Starts with one item per thread.
    fn default() -> Self {
        Self(rayon::current_num_threads())
    }
}

impl BatchSizer {
    /// Number of items of the next batch.
    pub fn batch(&self) -> usize {
        self.0
    }

    /// Runs a batch and adapts the size to the time it takes.
    pub fn time(&mut self, work: impl FnOnce()) {
        let started = Instant::now();
        work();
        self.adapt(started.elapsed());
    }

    fn adapt(&mut self, elapsed: Duration) {
        if elapsed < MIN_DURATION / 8 {
            self.0 = self.0.saturating_mul(8);
        } else if elapsed < MIN_DURATION {
            self.0 = self.0.saturating_mul(2);
        } else if elapsed > MAX_DURATION {
            self.0 = (self.0 / 2).max(rayon::current_num_threads());
        }
    }
}

/// Runs `work` for each of `count` items in parallel and returns the results in order. Reports progress several times per
/// second.
pub fn in_batches<T: Send>(count: usize, progress: &mut Progress, work: impl Fn(usize) -> T + Sync) -> Result<Vec<T>> {
    let mut done = Vec::with_capacity(count);
    let mut sizer = BatchSizer::default();
    while done.len() < count {
        progress(done.len() as f64 / count as f64)?;
        let next = done.len()..count.min(done.len().saturating_add(sizer.batch()));
        sizer.time(|| done.par_extend(next.into_par_iter().map(&work)));
    }
    Ok(done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_batches_grow_and_long_batches_shrink_to_one_item_per_thread() {
        let mut sizer = BatchSizer::default();
        let first = sizer.batch();
        sizer.adapt(Duration::from_millis(1));
        assert_eq!(sizer.batch(), 8 * first);
        sizer.adapt(Duration::from_millis(100));
        assert_eq!(sizer.batch(), 8 * first);
        (0..10).for_each(|_| sizer.adapt(Duration::from_secs(1)));
        assert_eq!(sizer.batch(), first);
        (0..100).for_each(|_| sizer.adapt(Duration::ZERO));
        assert_eq!(sizer.batch(), usize::MAX);
    }
}
