//! Locally linear extension.
