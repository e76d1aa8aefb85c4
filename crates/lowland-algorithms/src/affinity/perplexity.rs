//! The perplexities of entropic affinities.

use lowland_core::Result;
use lowland_core::archive::Archive;
use lowland_core::params::{ParamValue, invalid_parameter};

/// One perplexity, or several whose affinities are averaged: `30` or `30,300`.
#[derive(Debug, Clone, PartialEq)]
pub struct Perplexities(Vec<f64>);

impl Perplexities {
    /// One perplexity and others, if there are any.
    pub fn of(first: f64, others: &[f64]) -> Self {
        Self(std::iter::once(first).chain(others.iter().copied()).collect())
    }

    /// Returns the perplexities, or `None` if there are none.
    pub fn new(values: Vec<f64>) -> Option<Self> {
        (!values.is_empty()).then_some(Self(values))
    }

    /// Returns all perplexities.
    pub fn values(&self) -> &[f64] {
        &self.0
    }

    /// Returns the largest perplexity.
    pub fn max(&self) -> f64 {
        self.0.iter().copied().fold(0.0, f64::max)
    }

    /// Checks that every perplexity is a valid number of neighbors.
    pub fn check(&self) -> Result<()> {
        let fine = self.0.iter().all(|p| (1.0..1e9).contains(p));
        if fine { Ok(()) } else { invalid_parameter("perplexity", self, "at least 1, a number of neighbors") }
    }

    /// Returns the perplexities limited to `max`.
    pub fn limited_to(&self, max: f64) -> Self {
        Self(self.0.iter().map(|p| p.min(max)).collect())
    }

    /// Writes the perplexities of a fit to its model. With few points, they are lower than requested.
    pub fn save(&self, archive: &mut Archive) {
        archive.put("placement/perplexity", self.values());
    }

    /// Reads the perplexities of a fit from its model; `requested` are the parameters of the fit.
    pub fn load(archive: &Archive, requested: &Self) -> Result<Self> {
        let used = Self(archive.finite("placement/perplexity")?.to_vec());
        if used.check().is_err() || used.0.len() != requested.0.len() {
            return Err(archive.invalid("a perplexity is below 1, or one is missing".into()));
        }
        Ok(used)
    }
}

impl ParamValue for Perplexities {
    const EXPECTS: &'static str = "a number, or several separated by commas";
    fn parse(text: &str) -> Option<Self> {
        Self::new(text.split(',').map(|part| part.trim().parse().ok()).collect::<Option<_>>()?)
    }
    fn to_text(&self) -> String {
        self.0.iter().map(f64::to_string).collect::<Vec<_>>().join(",")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn displayed_perplexities_parse_to_the_same_values() {
        let several = Perplexities::parse("5, 30,100").unwrap();
        assert_eq!(several.values(), [5.0, 30.0, 100.0]);
        assert_eq!(Perplexities::parse(&several.to_text()), Some(several));
        assert!(Perplexities::parse("5,,6").is_none());
        assert!(Perplexities::parse("0.5").unwrap().check().is_err());
        assert!(Perplexities::parse("NaN").unwrap().check().is_err());
    }
}
