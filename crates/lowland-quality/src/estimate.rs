//! Means over samples of rows, with their standard errors.

/// A value and its standard error, as an estimate of the value over all rows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Estimate {
    pub value: f64,
    pub standard_error: f64,
}

impl Estimate {
    /// Estimates a value that is linear in the mean of `counts`, one for each row of a sample without replacement from
    /// `population` rows; `per_count` is what one count more in every row adds to it.
    pub fn from_counts(value: f64, counts: &[u64], per_count: f64, population: usize) -> Self {
        let m = counts.len() as f64;
        let mean = counts.iter().map(|&count| count as f64).sum::<f64>() / m;
        let squares: f64 = counts.iter().map(|&count| (count as f64 - mean).powi(2)).sum();
        let variance = squares / (m - 1.0).max(1.0);
        let not_drawn = (1.0 - m / population as f64).max(0.0);
        Self { value, standard_error: per_count.abs() * (variance / m * not_drawn).sqrt() }
    }

    /// Estimates Spearman's correlation from this many pairs, with the standard error of Bonett and Wright (2000).
    pub fn correlation(value: f64, pairs: usize) -> Self {
        let of_transform = ((1.0 + value * value / 2.0) / (pairs as f64 - 3.0).max(1.0)).sqrt();
        Self { value, standard_error: (1.0 - value * value) * of_transform }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_of_a_share_is_that_of_a_sample_without_replacement() {
        let counts: Vec<u64> = (0..400).map(|i| u64::from(i % 4 == 0)).collect();
        let estimate = |population| Estimate::from_counts(0.25, &counts, 1.0, population).standard_error;
        let binomial = (0.25f64 * 0.75 / 399.0).sqrt();
        assert!((estimate(usize::MAX) - binomial).abs() < 1e-12);
        assert!((estimate(800) - binomial * 0.5f64.sqrt()).abs() < 1e-12);
        assert_eq!(estimate(400), 0.0);
    }
}
