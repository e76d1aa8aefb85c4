//! Parallel work over blocks of rows, with progress between batches.

use std::ops::Range;
use std::time::{Duration, Instant};

use rayon::prelude::*;

use crate::points::Result;
use crate::run::Progress;

/// Runs `work` on blocks of `0..rows` and returns the results in order. Blocks are fixed; only the number of blocks
/// between two calls of `progress` follows the clock, which no result can see.
pub(super) fn in_blocks<T: Send>(
    rows: usize,
    block: usize,
    progress: &mut Progress,
    work: impl Fn(Range<usize>) -> T + Sync,
) -> Result<Vec<T>> {
    let blocks = rows.div_ceil(block);
    let threads = rayon::current_num_threads();
    let (mut done, mut batch) = (Vec::with_capacity(blocks), threads);
    while done.len() < blocks {
        let started = Instant::now();
        let next = done.len()..(done.len() + batch).min(blocks);
        done.par_extend(next.into_par_iter().map(|b| work(b * block..((b + 1) * block).min(rows))));
        progress(done.len() as f64 / blocks as f64)?;
        let taken = started.elapsed();
        if taken < Duration::from_millis(60) {
            batch *= 2;
        } else if taken > Duration::from_millis(150) {
            batch = (batch / 2).max(threads);
        }
    }
    Ok(done)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::points::Error;

    #[test]
    fn blocks_cover_every_row_once_and_in_order() {
        let ranges = in_blocks(1003, 10, &mut |_| Ok(()), |range| range).unwrap();
        assert_eq!(ranges.into_iter().flatten().collect::<Vec<_>>(), (0..1003).collect::<Vec<_>>());
    }

    #[test]
    fn an_error_from_progress_stops_the_work() {
        let mut calls = 0;
        let mut stop = |_| {
            calls += 1;
            Err(Error::Stopped { stage: "scores" })
        };
        assert!(in_blocks(1_000_000, 1, &mut stop, |range| range.start).is_err());
        assert_eq!(calls, 1);
    }
}
