//! Candidates and the recommendation among them.

/// The scores of one combination of the numbers of neighbors and dimensions.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// Number of neighbors of each point.
    pub n_neighbors: usize,
    /// Number of dimensions of the embedding.
    pub n_components: usize,
    /// Bound of each random start.
    pub values: Vec<f64>,
}

impl Candidate {
    /// Returns the mean of the values.
    pub fn mean(&self) -> f64 {
        mean(&self.values)
    }

    /// Returns the standard standard_deviation of the values.
    pub fn std(&self) -> f64 {
        standard_deviation(&self.values)
    }

    /// Returns the largest value.
    pub fn best(&self) -> f64 {
        largest(&self.values)
    }
}

pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

pub(super) fn standard_deviation(values: &[f64]) -> f64 {
    let mean = mean(values);
    let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    (squares / values.len().saturating_sub(1).max(1) as f64).sqrt()
}

pub(super) fn largest(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

/// Returns the index of the best candidate, and the indices of those within one standard deviation of it.
pub fn recommend(candidates: &[Candidate]) -> Option<(usize, Vec<usize>)> {
    let best = (0..candidates.len()).reduce(|a, b| if candidates[b].best() > candidates[a].best() { b } else { a })?;
    let threshold = candidates[best].best() - candidates[best].std();
    let close = (0..candidates.len()).filter(|&at| at != best && candidates[at].best() >= threshold).collect();
    Some((best, close))
}

/// Describes the recommendation.
pub fn recommendation_text(candidates: &[Candidate]) -> String {
    let Some((best, close)) = recommend(candidates) else { return "there is nothing to choose from".into() };
    let name = |candidate: &Candidate| {
        format!("n_neighbors {}, n_components {}", candidate.n_neighbors, candidate.n_components)
    };
    let best_candidate = &candidates[best];
    let mut text = format!(
        "take {}: bound {:.4e}, starts scatter by {:.2e}",
        name(best_candidate),
        best_candidate.best(),
        best_candidate.std()
    );
    if candidates.len() == 1 {
        text.push_str("; it is the only one");
    } else if close.is_empty() {
        text.push_str("; every other choice is worse by more than that");
    } else {
        let others: Vec<String> = close.iter().take(5).map(|&at| name(&candidates[at])).collect();
        text.push_str(&format!("; not clearly worse: {}", others.join("; ")));
    }
    let is_at_end = |value: fn(&Candidate) -> usize| {
        let values = candidates.iter().map(value);
        let (low, high) = (values.clone().min(), values.max());
        low != high && (Some(value(best_candidate)) == low || Some(value(best_candidate)) == high)
    };
    if is_at_end(|candidate| candidate.n_neighbors) {
        text.push_str("; it is at the end of the tested numbers of neighbors: try larger or smaller ones");
    }
    if is_at_end(|candidate| candidate.n_components) && best_candidate.n_components > 1 {
        text.push_str("; it is at the end of the tested numbers of dimensions: try larger or smaller ones");
    }
    text
}
