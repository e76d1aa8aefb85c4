//! How much memory reading a file may take. A small packed file can stand for any amount of it, so everything is counted
//! at the width it has in memory, before it is made.

use std::cell::Cell;

use crate::error::{FileErrorKind, Result};

/// What a string takes besides its letters: pointer, length and capacity, and the least block of the allocator.
pub(crate) const STRING_OVERHEAD: usize = 24 + 32;

/// Bytes that may be held while a file is read: what is unpacked and the table made of it, together.
pub(crate) struct Budget {
    limit: u64,
    taken: Cell<u64>,
}

impl Budget {
    /// For a file of this size. Real data rarely pack better than 100 to 1, and text is held beside values of twice its
    /// size; a gigabyte is allowed in any case, so that small files of zeros are read.
    pub fn new(file: usize, max_bytes: Option<u64>) -> Self {
        let limit = max_bytes.unwrap_or_else(|| (file as u64).saturating_mul(300).max(1 << 30));
        Self { limit, taken: Cell::new(0) }
    }

    /// For what is in memory already.
    pub fn unlimited() -> Self {
        Self::new(0, Some(u64::MAX))
    }

    /// Bytes that may still be taken.
    pub fn remaining(&self) -> u64 {
        self.limit - self.taken.get()
    }

    /// Sets room aside for `count` things of `width` bytes, or says that there is none.
    pub fn reserve(&self, what: &str, count: usize, width: usize) -> Result<()> {
        let size = (count as u64).checked_mul(width as u64).filter(|&size| size <= self.remaining());
        let size = size.ok_or_else(|| self.too_large(what))?;
        self.taken.set(self.taken.get() + size);
        Ok(())
    }

    /// Checks that `count` values of `width` bytes would fit, without reserving them: for what is held only briefly.
    #[cfg(feature = "tables")]
    pub fn check_room(&self, what: &str, count: usize, width: usize) -> Result<()> {
        let size = (count as u64).checked_mul(width as u64).filter(|&size| size <= self.remaining());
        size.map(|_| ()).ok_or_else(|| self.too_large(what))
    }

    /// Room that is free again.
    pub fn release(&self, bytes: usize) {
        self.taken.set(self.taken.get().saturating_sub(bytes as u64));
    }

    /// The problem that `what` does not fit.
    pub fn too_large(&self, what: &str) -> FileErrorKind {
        FileErrorKind::TooLarge { what: what.into(), limit: self.limit }
    }

    /// Keeps a string, if there is room for it.
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
    fn everything_taken_counts_together_and_nothing_beyond_the_limit_is_given() {
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
