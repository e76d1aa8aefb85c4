//! Limits the memory that reading a file may take. A small compressed file can expand to any size, so everything is
//! counted by its size in memory before it is allocated.

use std::cell::Cell;

use crate::error::{FileErrorKind, Result};

/// Bytes of a string besides its text: pointer, length and capacity, and the smallest block of the allocator.
pub(crate) const STRING_OVERHEAD: usize = 24 + 32;

/// Memory that may be used while a file is read, for the decompressed bytes and the resulting table together.
pub(crate) struct Budget {
    limit: u64,
    reserved: Cell<u64>,
}

impl Budget {
    /// Creates the budget for a file of `file` bytes. Real data rarely compress better than 100 to 1, and text is held
    /// along with values of twice its size; 1 GiB is allowed in any case, so that small files of zeros can be read.
    pub fn new(file: usize, max_bytes: Option<u64>) -> Self {
        let limit = max_bytes.unwrap_or_else(|| (file as u64).saturating_mul(300).max(1 << 30));
        Self { limit, reserved: Cell::new(0) }
    }

    /// Creates a budget without a limit, for data that are already in memory.
    pub fn unlimited() -> Self {
        Self::new(0, Some(u64::MAX))
    }

    /// Bytes that may still be reserved.
    pub fn remaining(&self) -> u64 {
        self.limit - self.reserved.get()
    }

    /// Reserves `count` values of `width` bytes, or returns [`FileErrorKind::TooLarge`].
    pub fn reserve(&self, what: &str, count: usize, width: usize) -> Result<()> {
        let size = (count as u64).checked_mul(width as u64).filter(|&size| size <= self.remaining());
        let size = size.ok_or_else(|| self.too_large(what))?;
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
        self.reserved.set(self.reserved.get().saturating_sub(bytes as u64));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reservations_add_up_to_at_most_the_limit() {
        let budget = Budget::new(1, Some(100));
        budget.reserve("a", 10, 8).unwrap();
        assert!(matches!(budget.reserve("b", 3, 8), Err(FileErrorKind::TooLarge { limit: 100, .. })));
        assert!(budget.reserve("c", usize::MAX, usize::MAX).is_err());
        budget.release(60);
        budget.reserve("b", 3, 8).unwrap();
        assert_eq!(budget.remaining(), 56);
        assert!(budget.reserve_text("x").is_err() && budget.reserve_text("").is_ok());
    }
}
