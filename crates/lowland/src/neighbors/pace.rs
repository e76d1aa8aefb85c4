//! How much work to do between two looks at whether to stop.

use std::time::{Duration, Instant};

/// Less time than this in a batch: take more.
const SHORT: Duration = Duration::from_millis(60);
/// More than this: take less.
const LONG: Duration = Duration::from_millis(150);

/// The number of items to do at once, following the clock; no result may depend on it.
pub(super) struct Pace(usize);

impl Default for Pace {
    /// One item for each thread: nothing is known yet of what it takes.
    fn default() -> Self {
        Self(rayon::current_num_threads())
    }
}

impl Pace {
    pub(super) fn batch(&self) -> usize {
        self.0
    }

    /// Does a batch, and learns from how long it takes.
    pub(super) fn time(&mut self, work: impl FnOnce()) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_grow_while_they_are_short_and_shrink_to_one_item_a_thread() {
        let mut pace = Pace::default();
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
