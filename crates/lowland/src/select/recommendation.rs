//! Candidates and the recommendation among them.

/// The bounds of one combination of the numbers of neighbors and dimensions.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// Number of neighbors of each point.
    pub n_neighbors: usize,
    /// Number of dimensions of the embedding.
    pub n_components: usize,
    /// For each subsample, the bound of each random start.
    pub bounds: Vec<Vec<f64>>,
}

impl Candidate {
    /// Returns the largest bound of each subsample, which is the tightest.
    pub fn best_bounds(&self) -> Vec<f64> {
        self.bounds.iter().map(|starts| largest(starts)).collect()
    }

    /// Returns the mean over subsamples of the largest bound.
    pub fn bound(&self) -> f64 {
        mean(&self.best_bounds())
    }

    /// Returns the standard deviation of the bound: over subsamples, or over starts if there is one subsample.
    pub fn std(&self) -> f64 {
        match &self.bounds[..] {
            [starts] => standard_deviation(starts),
            _ => standard_deviation(&self.best_bounds()),
        }
    }

    /// Returns how much larger the bound is than that of another candidate, and the error of this difference: its standard error
    /// over subsamples, or the standard deviation over starts if there is one subsample.
    pub fn difference(&self, other: &Self) -> (f64, f64) {
        let differences: Vec<f64> =
            self.best_bounds().iter().zip(other.best_bounds()).map(|(own, other)| own - other).collect();
        let error = match self.bounds.len() {
            1 => self.std().max(other.std()),
            count => standard_deviation(&differences) / (count as f64).sqrt(),
        };
        (mean(&differences), error)
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

/// Candidates whose bound differs by at most this many errors cannot be told apart.
const CLOSE: f64 = 2.0;

/// Returns the index of the candidate with the largest bound, and the indices of those that are not clearly worse: by no more than
/// two standard errors over subsamples, or one standard deviation over starts.
pub fn recommend(candidates: &[Candidate]) -> Option<(usize, Vec<usize>)> {
    let best =
        (0..candidates.len()).reduce(|a, b| if candidates[b].bound() > candidates[a].bound() { b } else { a })?;
    let is_close = |at: &usize| {
        let (difference, error) = candidates[best].difference(&candidates[*at]);
        let allowed = if candidates[best].bounds.len() == 1 { candidates[best].std() } else { CLOSE * error };
        *at != best && difference <= allowed
    };
    Some((best, (0..candidates.len()).filter(is_close).collect()))
}

/// Describes the recommendation.
pub fn recommendation_text(candidates: &[Candidate]) -> String {
    let Some((best, close)) = recommend(candidates) else { return "there is nothing to choose from".into() };
    let name = |candidate: &Candidate| {
        format!("n_neighbors {}, n_components {}", candidate.n_neighbors, candidate.n_components)
    };
    let best_candidate = &candidates[best];
    let mut text = format!("take {}: bound {:.4e}", name(best_candidate), best_candidate.bound());
    match best_candidate.bounds.len() {
        1 => text.push_str(&format!(", starts scatter by {:.2e}", best_candidate.std())),
        count => {
            text.push_str(&format!(", the mean of {count} subsamples that scatter by {:.2e}", best_candidate.std()))
        }
    }
    let others = (0..candidates.len()).filter(|&at| at != best);
    if let Some(next) = others.reduce(|a, b| if candidates[b].bound() > candidates[a].bound() { b } else { a }) {
        let (difference, error) = best_candidate.difference(&candidates[next]);
        let next = name(&candidates[next]);
        text.push_str(&format!("; larger than the next, {next}, by {difference:.3e} with an error of {error:.2e}"));
    }
    if candidates.len() == 1 {
        text.push_str("; it is the only one");
    } else if close.is_empty() {
        text.push_str("; every other choice is clearly worse");
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
