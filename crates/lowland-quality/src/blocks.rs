//! Parallel work over blocks of rows, with progress between batches.

use std::ops::Range;

use lowland_core::Result;
use lowland_core::run::{Progress, in_batches};

/// Runs `work` on fixed blocks of `0..rows` and returns the results in order.
pub(super) fn in_blocks<T: Send>(
    rows: usize,
    block: usize,
    progress: &mut Progress,
    work: impl Fn(Range<usize>) -> T + Sync,
) -> Result<Vec<T>> {
    in_batches(rows.div_ceil(block), progress, |b| work(b * block..((b + 1) * block).min(rows)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use lowland_core::Error;

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
