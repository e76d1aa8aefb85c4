//! Graph tools.
