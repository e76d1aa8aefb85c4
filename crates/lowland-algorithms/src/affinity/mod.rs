//! Affinities: how strongly each pair of neighbours is drawn together. Rows first, then one symmetric matrix of sum one.

mod entropic;

use lowland_core::archive::Archive;
use lowland_core::params::{ParamValue, choice, refuse};
use lowland_core::{Error, Result};
use lowland_linalg::Csr;
use lowland_neighbors::graph::{Symmetrization, symmetrize};

pub use entropic::{Entropic, entropic};

choice! {
    /// How the weights of a row come from its distances.
    pub enum AffinityKind ("entropic, uniform or precomputed") {
        /// Gaussian weights whose width gives each row the perplexity asked for.
        Entropic = "entropic",
        /// The same weight for every neighbour.
        Uniform = "uniform",
        /// The values of the neighbour graph that was handed in are the weights.
        Precomputed = "precomputed",
    }
}

/// One perplexity, or several whose affinities are averaged: `30` or `30,300`.
#[derive(Debug, Clone, PartialEq)]
pub struct Perplexities(Vec<f64>);

impl Perplexities {
    /// One perplexity and others, if there are any.
    pub fn of(first: f64, others: &[f64]) -> Self {
        Self(std::iter::once(first).chain(others.iter().copied()).collect())
    }

    /// At least one.
    pub fn new(values: Vec<f64>) -> Option<Self> {
        (!values.is_empty()).then_some(Self(values))
    }

    /// All of them.
    pub fn values(&self) -> &[f64] {
        &self.0
    }

    /// The largest.
    pub fn largest(&self) -> f64 {
        self.0.iter().copied().fold(0.0, f64::max)
    }

    /// Refuses what is no number of neighbours.
    pub fn check(&self) -> Result<()> {
        let fine = self.0.iter().all(|p| (1.0..1e9).contains(p));
        if fine { Ok(()) } else { refuse("perplexity", self, "at least 1, a number of neighbours") }
    }

    /// None above `most`.
    pub fn at_most(&self, most: f64) -> Self {
        Self(self.0.iter().map(|p| p.min(most)).collect())
    }

    /// Those a map was made with become part of its model: few points allow less than was asked for.
    pub fn save(&self, archive: &mut Archive) {
        archive.put("placement/perplexity", self.values());
    }

    /// The ones of a model; `self` are those that were asked for.
    pub fn used(&self, archive: &Archive) -> Result<Self> {
        let used = Self(archive.finite("placement/perplexity")?.to_vec());
        if used.check().is_err() || used.0.len() != self.0.len() {
            return Err(archive.bad("a perplexity is below 1, or one is missing".into()));
        }
        Ok(used)
    }
}

impl ParamValue for Perplexities {
    const EXPECTS: &'static str = "a number, or several separated by commas";
    fn parse(text: &str) -> Option<Self> {
        Self::new(text.split(',').map(|part| part.trim().parse().ok()).collect::<Option<_>>()?)
    }
    fn show(&self) -> String {
        self.0.iter().map(f64::to_string).collect::<Vec<_>>().join(",")
    }
}

/// Every neighbour of a row weighs the same; rows sum to one.
pub fn uniform(lengths: &Csr) -> Csr {
    lengths.map(|i, _, _| 1.0 / lengths.row(i).0.len() as f64)
}

/// The values of a graph's edges as their weights; rows sum to one, and a row without weight keeps none.
pub fn given(weights: &Csr) -> Result<Csr> {
    if let Some((i, j, w)) = weights.iter().find(|&(_, _, w)| !(w >= 0.0)) {
        let reason = format!("the affinity of row {i} to row {j} is {w}; affinities are not negative");
        return Err(Error::Format { what: "graph of affinities", reason });
    }
    let sums = weights.row_sums();
    Ok(weights.map(|i, _, w| if sums[i] > 0.0 { w / sums[i] } else { 0.0 }))
}

/// `(P + P') / 2`, scaled to sum to one. Weights of zero are left out.
pub fn joint(rows: Csr) -> Result<Csr> {
    let mut joint = symmetrize(&rows, Symmetrization::Average)?;
    drop(rows);
    let total: f64 = joint.values().iter().sum();
    if !(total > 0.0 && total.is_finite()) {
        let reason = format!("the weights sum to {total}: some pair must be drawn together");
        return Err(Error::Format { what: "graph of affinities", reason });
    }
    joint.scale(1.0 / total);
    // A copy only where there is something to leave out: these are the largest arrays of all.
    let whole = joint.iter().all(|(i, j, w)| i != j && w > 0.0);
    Ok(if whole { joint } else { joint.filter(|i, j, w| i != j && w > 0.0) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joint_affinities_are_symmetric_and_sum_to_one() {
        let rows = Csr::from_triplets(3, 3, [(0, 1, 0.7), (0, 2, 0.3), (1, 0, 1.0), (2, 1, 1.0)]).unwrap();
        let joint = joint(rows).unwrap();
        assert!(joint.is_symmetric());
        assert!((joint.values().iter().sum::<f64>() - 1.0).abs() < 1e-15);
        assert!((joint.get(0, 1) - 1.7 / 6.0).abs() < 1e-15);
    }

    #[test]
    fn affinities_that_are_negative_or_nothing_are_refused() {
        let graph = |a: f64, b: f64| Csr::from_triplets(2, 2, [(0, 1, a), (1, 0, b)]).unwrap();
        assert!(given(&graph(1.0, -1.0)).is_err());
        assert!(given(&graph(1.0, f64::NAN)).is_err());
        assert!(joint(given(&graph(0.0, 0.0)).unwrap()).is_err());
        assert_eq!(given(&graph(4.0, 0.5)).unwrap().values(), [1.0, 1.0]);
    }

    #[test]
    fn perplexities_read_back() {
        let several = Perplexities::parse("5, 30,100").unwrap();
        assert_eq!(several.values(), [5.0, 30.0, 100.0]);
        assert_eq!(Perplexities::parse(&several.show()), Some(several));
        assert!(Perplexities::parse("5,,6").is_none());
        assert!(Perplexities::parse("0.5").unwrap().check().is_err());
        assert!(Perplexities::parse("NaN").unwrap().check().is_err());
    }
}
