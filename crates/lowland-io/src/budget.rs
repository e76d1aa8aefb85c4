//! Limits the memory that reading a file may take. A small compressed file can expand to any size, so everything is
//! counted by its size in memory before it is allocated.

use std::cell::Cell;

use lowland::MemoryBudget;

use crate::error::{FileErrorKind, Result};

/// Bytes of a string besides its text: pointer, length and capacity, and the smallest block of the allocator.
pub(crate) const STRING_OVERHEAD: usize = 24 + 32;

/// What one file takes of the memory of the run while it is read: the decompressed bytes and the resulting table together.
/// It is returned when reading ends.
pub(crate) struct Budget {
    memory: MemoryBudget,
    /// The most that this file may take.
    limit: u64,
    reserved: Cell<u64>,
}

impl Budget {
    /// Creates the budget for a file of `file` bytes. If the memory of the run has no limit, the file limits it: real data
    /// rarely compress better than 100 to 1, and text is held along with values of twice its size; 1 GiB is allowed in any
    /// case, so that small files of zeros can be read.
    pub fn new(file: usize, memory: &MemoryBudget) -> Self {
        let limit = memory.remaining().unwrap_or_else(|| (file as u64).saturating_mul(300).max(1 << 30));
        Self { memory: memory.clone(), limit, reserved: Cell::new(0) }
    }

    /// Creates a budget for a stream, whose size is not known: half of the memory that is left, since the table takes some
    /// too.
    pub fn for_stream(memory: &MemoryBudget) -> Self {
        let limit = memory.remaining().map_or(1 << 30, |remaining| remaining / 2);
        Self { memory: memory.clone(), limit, reserved: Cell::new(0) }
    }

    /// Creates a budget for another file that is read at the same time.
    pub fn for_file_beside(&self) -> MemoryBudget {
        MemoryBudget::new(Some(self.remaining()))
    }

    /// Creates a budget without a limit, for data that are already in memory.
    pub fn unlimited() -> Self {
        Self { memory: MemoryBudget::default(), limit: u64::MAX, reserved: Cell::new(0) }
    }

    /// Creates a budget of `limit` bytes.
    #[cfg(test)]
    pub fn limited(limit: u64) -> Self {
        Self::new(0, &MemoryBudget::new(Some(limit)))
    }

    /// Bytes that may still be reserved.
    pub fn remaining(&self) -> u64 {
        self.limit - self.reserved.get()
    }

    /// Reserves `count` values of `width` bytes, or returns [`FileErrorKind::TooLarge`].
    pub fn reserve(&self, what: &str, count: usize, width: usize) -> Result<()> {
        let size = (count as u64).checked_mul(width as u64).filter(|&size| size <= self.remaining());
        let size = size.filter(|&size| self.memory.try_reserve(size)).ok_or_else(|| self.too_large(what))?;
        self.reserved.set(self.reserved.get() + size);
        Ok(())
    }

    /// Checks that `count` values of `width` bytes would fit, without reserving them: for what is held only briefly.
    #[cfg(feature = "tables")]
    pub fn check_room(&self, what: &str, count: usize, width: usize) -> Result<()> {
        let size = (count as u64).checked_mul(width as u64).filter(|&size| size <= self.remaining());
        size.map(|_| ()).ok_or_else(|| self.too_large(what))
    }

    /// Returns reserved bytes to the budget.
    pub fn release(&self, bytes: usize) {
        let bytes = self.reserved.get().min(bytes as u64);
        self.reserved.set(self.reserved.get() - bytes);
        self.memory.release(bytes);
    }

    /// Bytes that are reserved now.
    pub fn reserved(&self) -> u64 {
        self.reserved.get()
    }

    /// Returns everything to the budget that was reserved since `reserved` was the number of reserved bytes.
    pub fn release_to(&self, reserved: u64) {
        self.release(usize::try_from(self.reserved.get().saturating_sub(reserved)).unwrap_or(usize::MAX));
    }

    /// The error that `what` does not fit.
    pub fn too_large(&self, what: &str) -> FileErrorKind {
        FileErrorKind::TooLarge { what: what.into(), limit: self.limit }
    }

    /// Reserves memory for a string and returns it.
    pub fn reserve_text(&self, text: impl Into<String>) -> Result<String> {
        let text = text.into();
        self.reserve("the text", 1, STRING_OVERHEAD + text.len())?;
        Ok(text)
    }
}

impl Drop for Budget {
    fn drop(&mut self) {
        self.memory.release(self.reserved.get());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reservations_add_up_to_at_most_the_limit_and_end_with_the_budget() {
        let memory = MemoryBudget::new(Some(150));
        memory.reserve(50);
        let budget = Budget::new(1, &memory);
        budget.reserve("a", 10, 8).unwrap();
        assert!(matches!(budget.reserve("b", 3, 8), Err(FileErrorKind::TooLarge { limit: 100, .. })));
        assert!(budget.reserve("c", usize::MAX, usize::MAX).is_err());
        budget.release(60);
        budget.reserve("b", 3, 8).unwrap();
        assert_eq!((budget.remaining(), memory.reserved()), (56, 94));
        assert!(budget.reserve_text("x").is_err() && budget.reserve_text("").is_ok());
        drop(budget);
        assert_eq!(memory.reserved(), 50);
    }

    #[test]
    fn a_stream_may_take_half_of_what_is_left() {
        let memory = MemoryBudget::new(Some(1000));
        memory.reserve(200);
        assert_eq!(Budget::for_stream(&memory).remaining(), 400);
    }
}
