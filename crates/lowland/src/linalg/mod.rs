//! Linear algebra: dense products, and what sparse symmetric problems need.

pub mod dense;
