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

/// Runs `work` for each chunk of `len` elements of `out` in parallel (the last may be shorter), with the number of the chunk.
/// Reports progress several times per second.
pub fn fill_in_batches<T: Send>(
    out: &mut [T],
    len: usize,
    progress: &mut Progress,
    work: impl Fn(usize, &mut [T]) + Sync,
) -> Result<()> {
    let (count, mut done) = (out.len().div_ceil(len), 0);
    let (mut rest, mut sizer) = (out, BatchSizer::default());
    while done < count {
        progress(done as f64 / count as f64)?;
        let end = count.min(done.saturating_add(sizer.batch()));
        let (batch, later) = rest.split_at_mut(rest.len().min((end - done) * len));
        sizer.time(|| batch.par_chunks_mut(len).enumerate().for_each(|(at, chunk)| work(done + at, chunk)));
        (rest, done) = (later, end);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_chunk_is_filled_once() {
        for (elements, len) in [(0, 3), (1, 3), (1000, 7), (999, 3)] {
            let (mut out, mut shares) = (vec![0; elements], Vec::new());
            let mut listen = |share| {
                shares.push(share);
                Ok(())
            };
            let work =
                |at: usize, chunk: &mut [usize]| chunk.iter_mut().enumerate().for_each(|(i, v)| *v += at * len + i);
            fill_in_batches(&mut out, len, &mut listen, work).unwrap();
            assert!(out.iter().copied().eq(0..elements));
            assert!(shares.is_sorted() && shares.iter().all(|share| (0.0..1.0).contains(share)));
        }
    }

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
