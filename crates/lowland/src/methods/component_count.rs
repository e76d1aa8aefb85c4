//! The number of principal components: a count, or a share of the variance.

use lowland_core::params::{ParamValue, invalid_parameter};
use lowland_core::{DataShape, Result};

/// Number of principal components.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ComponentCount {
    /// So many components.
    Count(usize),
    /// As few components as explain this share of the variance.
    Variance(f64),
}

impl From<usize> for ComponentCount {
    fn from(count: usize) -> Self {
        ComponentCount::Count(count)
    }
}

impl ParamValue for ComponentCount {
    const EXPECTS: &'static str = "a whole number or a share of the variance below 1";

    fn parse(text: &str) -> Option<Self> {
        match usize::parse(text) {
            Some(count) => Some(ComponentCount::Count(count)),
            None => f64::parse(text).filter(|share| *share > 0.0 && *share < 1.0).map(ComponentCount::Variance),
        }
    }

    fn to_text(&self) -> String {
        match self {
            ComponentCount::Count(count) => count.to_text(),
            ComponentCount::Variance(share) => share.to_text(),
        }
    }
}

impl ComponentCount {
    /// Returns an error if no data has so many components.
    pub(super) fn validate(self) -> Result<()> {
        match self {
            ComponentCount::Count(0) => invalid_parameter("n_components", &self, "at least 1"),
            ComponentCount::Variance(share) if !(share > 0.0 && share < 1.0) => {
                invalid_parameter("n_components", &self, "a share of the variance is above 0 and below 1")
            }
            _ => Ok(()),
        }
    }

    /// Returns the count, or 2 if it depends on the data.
    pub(super) fn nominal(self) -> usize {
        match self {
            ComponentCount::Count(count) => count,
            ComponentCount::Variance(_) => 2,
        }
    }

    /// Returns the largest possible count.
    pub(super) fn at_most(self, shape: DataShape) -> usize {
        match self {
            ComponentCount::Count(count) => count,
            ComponentCount::Variance(_) => shape.dim.max(1),
        }
    }
}

/// Returns the smallest number of components that explain a share of the sum of squares, at least one.
pub(super) fn components_for(share: f64, singular_values: &[f64], total_squares: f64) -> usize {
    let mut explained = 0.0;
    let enough = singular_values.iter().position(|s| {
        explained += s * s;
        explained >= share * total_squares
    });
    enough.map_or(singular_values.len(), |at| at + 1).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_are_counts_and_fractions_shares() {
        assert_eq!(ComponentCount::parse("3"), Some(ComponentCount::Count(3)));
        assert_eq!(ComponentCount::parse("0.95"), Some(ComponentCount::Variance(0.95)));
        assert_eq!((ComponentCount::parse("1.5"), ComponentCount::parse("-2")), (None, None));
        assert_eq!(ComponentCount::Variance(0.95).to_text(), "0.95");
        assert!(ComponentCount::Count(0).validate().is_err());
    }

    #[test]
    fn a_share_needs_as_few_components_as_reach_it() {
        let values = [3.0, 2.0, 1.0];
        assert_eq!([0.5, 0.65, 0.9, 0.99].map(|share| components_for(share, &values, 14.0)), [1, 2, 2, 3]);
        assert_eq!(components_for(0.5, &[0.0, 0.0], 0.0), 1);
    }
}
