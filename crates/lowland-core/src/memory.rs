//! Memory: the budget of a run, and what the system has left.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sysinfo::{MemoryRefreshKind, ProcessRefreshKind, ProcessesToUpdate, System};

use crate::message::Remedy;
use crate::{Error, Result};

/// The memory that a run may use, from reading to writing: a limit, and what is reserved of it.
///
/// Whoever holds memory for longer than a function call reserves it; whoever is about to allocate much checks that it fits
/// beside what is reserved. The rows are the exception: each stage counts them, because they are passed to it. Clones share
/// the reservations.
#[derive(Debug, Clone, Default)]
pub struct MemoryBudget {
    limit: Option<u64>,
    reserved: Arc<AtomicU64>,
}

impl MemoryBudget {
    /// Creates a budget of `limit` bytes; `None` for no limit.
    pub fn new(limit: Option<u64>) -> Self {
        Self { limit, reserved: Arc::default() }
    }

    /// Returns the limit in bytes; `None` for no limit.
    pub fn limit(&self) -> Option<u64> {
        self.limit
    }

    /// Returns the reserved bytes.
    pub fn reserved(&self) -> u64 {
        self.reserved.load(Ordering::Relaxed)
    }

    /// Returns the bytes that are not reserved; `None` for no limit.
    pub fn remaining(&self) -> Option<u64> {
        self.limit.map(|limit| limit.saturating_sub(self.reserved()))
    }

    /// Reserves bytes if they fit, and returns whether they do.
    #[must_use]
    pub fn try_reserve(&self, bytes: u64) -> bool {
        let fits = self.remaining().is_none_or(|remaining| bytes <= remaining);
        if fits {
            self.reserve(bytes);
        }
        fits
    }

    /// Reserves bytes that are allocated already, whether they fit or not.
    pub fn reserve(&self, bytes: u64) {
        let add = |reserved: u64| Some(reserved.saturating_add(bytes));
        let _ = self.reserved.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
    }

    /// Returns reserved bytes to the budget.
    pub fn release(&self, bytes: u64) {
        let subtract = |reserved: u64| Some(reserved.saturating_sub(bytes));
        let _ = self.reserved.fetch_update(Ordering::Relaxed, Ordering::Relaxed, subtract);
    }

    /// Checks that `what` with `needed` bytes fits beside what is reserved. Returns the bytes of both together.
    pub fn check(&self, what: impl Into<String>, needed: u64, remedies: &[Remedy]) -> Result<u64> {
        let total = needed.saturating_add(self.reserved());
        match self.limit.filter(|&limit| total > limit) {
            None => Ok(total),
            Some(limit) => Err(Error::Memory { what: what.into(), needed: total, limit, remedies: remedies.to_vec() }),
        }
    }
}

/// Returns the bytes that can be allocated without swapping, and within a limit of the address space (`ulimit -v`); `None`
/// if the system does not tell.
pub fn available_memory() -> Option<u64> {
    let free = || {
        let mut system = System::new();
        system.refresh_memory_specifics(MemoryRefreshKind::nothing().with_ram());
        Some(system.available_memory()).filter(|&bytes| bytes > 0)
    };
    let address_space = AddressSpace::current().map(|space| {
        // Threads have yet to reserve most of theirs.
        space.left.saturating_sub(rayon::current_num_threads() as u64 * THREAD_STACK.max(product_buffer()))
    });
    match (free(), address_space) {
        (Some(free), Some(left)) => Some(free.min(left)),
        (free, left) => free.or(left),
    }
}

/// Returns the bytes of memory that the process holds now; 0 if the system does not tell.
pub fn resident_memory() -> u64 {
    let Ok(process) = sysinfo::get_current_pid() else { return 0 };
    let mut system = System::new();
    let what = ProcessRefreshKind::nothing().with_memory();
    system.refresh_processes_specifics(ProcessesToUpdate::Some(&[process]), false, what);
    system.process(process).map_or(0, sysinfo::Process::memory)
}

/// Address space of a process with a limit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AddressSpace {
    /// The limit in bytes.
    pub limit: u64,
    /// Bytes that are left of it.
    pub left: u64,
}

impl AddressSpace {
    /// Returns `None` if there is no limit, or none is known.
    pub fn current() -> Option<Self> {
        let text = std::fs::read_to_string("/proc/self/limits").ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix("Max address space"))?;
        let limit: u64 = line.split_whitespace().next()?.parse().ok()?;
        Some(Self { limit, left: limit.saturating_sub(used_address_space()?) })
    }
}

/// Returns the bytes of the address space in use.
fn used_address_space() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmSize:"))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? * 1024)
}

/// Address space of the stack of a thread.
pub(crate) const THREAD_STACK: u64 = 2 << 20;

/// Returns the address space that a thread reserves for products of matrices: twice the size of the last cache. Only the
/// part that a product needs becomes memory.
pub(crate) fn product_buffer() -> u64 {
    const UNKNOWN: u64 = 32 << 20;
    let size = || -> Option<u64> {
        let text = std::fs::read_to_string("/sys/devices/system/cpu/cpu0/cache/index3/size").ok()?;
        Some(text.trim().strip_suffix('K')?.parse::<u64>().ok()? * 1024)
    };
    2 * size().unwrap_or(UNKNOWN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reservations_are_shared_by_clones_and_add_up_to_at_most_the_limit() {
        let budget = MemoryBudget::new(Some(100));
        let clone = budget.clone();
        assert!(clone.try_reserve(60) && !budget.try_reserve(41));
        assert_eq!((budget.reserved(), budget.remaining()), (60, Some(40)));
        assert_eq!(budget.check("a stage", 40, &[]), Ok(100));
        let refused = budget.check("a stage", 41, &[Remedy::FewerRows]);
        assert!(matches!(refused, Err(Error::Memory { needed: 101, limit: 100, .. })), "{refused:?}");
        budget.release(20);
        assert!(clone.try_reserve(60));
        clone.release(u64::MAX);
        assert_eq!(budget.reserved(), 0);
    }

    #[test]
    fn a_budget_without_a_limit_allows_everything() {
        let budget = MemoryBudget::default();
        assert!(budget.try_reserve(u64::MAX) && budget.try_reserve(u64::MAX));
        assert_eq!((budget.remaining(), budget.check("a stage", 1, &[])), (None, Ok(u64::MAX)));
    }

    #[test]
    fn the_system_tells_what_is_free_and_what_is_used() {
        assert!(available_memory().is_some_and(|bytes| bytes > 1 << 20));
        assert!(resident_memory() > 1 << 20 && product_buffer() > 1 << 20);
    }
}
