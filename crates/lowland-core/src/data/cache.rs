//! Properties of data that are computed once.

use std::sync::OnceLock;

/// Properties computed from the content of data. The content never changes and clones share the cache, so rows are hashed
/// and checked for NaN only once.
#[derive(Debug, Default)]
pub(super) struct ContentCache {
    /// Set once the values have been found to be finite.
    pub is_finite: OnceLock<()>,
    /// Hash of each row.
    pub row_hashes: OnceLock<Vec<u64>>,
}

impl PartialEq for ContentCache {
    /// Always equal: the cache is not part of the content.
    fn eq(&self, _: &Self) -> bool {
        true
    }
}
