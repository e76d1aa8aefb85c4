//! Thread pools.

use crate::memory::{AddressSpace, THREAD_STACK, product_buffer};
use crate::{Error, Result};

/// Runs `work` on a private pool of `threads` threads (`None` for all cores), or fewer if the address space is limited:
/// see [`threads_within_limits`].
pub fn with_threads<T: Send>(threads: Option<usize>, work: impl FnOnce() -> T + Send) -> Result<T> {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads_within_limits(threads))
        .build()
        .map_err(|e| Error::Threads { reason: e.to_string() })?;
    Ok(pool.install(work))
}

/// Number of threads per core that are started at most.
const MAX_PER_CORE: usize = 4;
/// Number of threads that are started on request on any machine.
const ALWAYS_ALLOWED: usize = 16;

/// Returns the number of threads that [`with_threads`] starts: as many as asked for (`None` for all cores), but at most four
/// per core (or 16), and as many as fit into half of the address space if that is limited (`ulimit -v`). Each thread reserves
/// address space for products of matrices and for its stack, and a failed reservation would end the process.
pub fn threads_within_limits(threads: Option<usize>) -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let wanted = threads.filter(|&count| count > 0).unwrap_or(cores).min((MAX_PER_CORE * cores).max(ALWAYS_ALLOWED));
    match AddressSpace::current() {
        None => wanted,
        Some(space) => wanted.min(threads_in(space.left / 2)),
    }
}

/// Returns the limit of the address space in bytes; `None` if there is none.
pub fn address_space_limit() -> Option<u64> {
    AddressSpace::current().map(|space| space.limit)
}

fn threads_in(bytes: u64) -> usize {
    usize::try_from(bytes / (product_buffer() + THREAD_STACK)).unwrap_or(usize::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_always_a_thread_and_more_fit_into_more_address_space() {
        assert_eq!(threads_in(0), 1);
        assert_eq!(threads_in(3 * (product_buffer() + THREAD_STACK)), 3);
        assert_eq!(with_threads(Some(2), rayon::current_num_threads), Ok(threads_within_limits(Some(2))));
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        assert!(
            threads_within_limits(Some(1_000_000)) <= (4 * cores).max(16),
            "a request of a million threads is limited"
        );
    }
}
