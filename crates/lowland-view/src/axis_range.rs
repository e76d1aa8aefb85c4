//! The range of values that an axis shows.

/// A range of coordinates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct AxisRange {
    low: f64,
    high: f64,
}

impl AxisRange {
    /// Returns the full range of the values, unless outliers would compress the rest too much: then the range of the values
    /// within half a width of the central 99 %.
    pub fn from_values(values: impl Iterator<Item = f64>) -> Self {
        let mut values: Vec<f64> = values.collect();
        let rank = values.len() / 200;
        if values.is_empty() {
            return Self { low: 0.0, high: 0.0 };
        }
        let low = *values.select_nth_unstable_by(rank, f64::total_cmp).1;
        let min = values[..=rank].iter().copied().fold(f64::INFINITY, f64::min);
        let top = values.len() - 1 - rank;
        let high = *values.select_nth_unstable_by(top, f64::total_cmp).1;
        let max = values[top..].iter().copied().fold(f64::NEG_INFINITY, f64::max);
        // Halved, because the difference of two finite numbers may overflow.
        let (central, full) = (high / 2.0 - low / 2.0, max / 2.0 - min / 2.0);
        if central > 0.0 && full > 3.0 * central {
            let inner = values.iter().copied().filter(|v| (low - central..=high + central).contains(v));
            Self { low: inner.clone().fold(low, f64::min), high: inner.fold(high, f64::max) }
        } else {
            Self { low: min, high: max }
        }
    }

    /// Returns the range extended to the same length on both sides of zero, if zero is in it.
    pub fn around_zero(self) -> Self {
        let reach = self.high.max(-self.low);
        if self.low < 0.0 && self.high > 0.0 { Self { low: -reach, high: reach } } else { self }
    }

    /// Returns the value at a relative position.
    pub fn value(self, position: f64) -> f64 {
        self.low / 2.0 + self.high / 2.0 + position * self.half_span()
    }

    /// Lower end.
    pub fn low(self) -> f64 {
        self.low
    }

    /// Half of the length.
    pub fn half_span(self) -> f64 {
        self.high / 2.0 - self.low / 2.0
    }

    /// Returns the relative position of a value: -1 at the lower end and 1 at the upper end, or 0 if the range is a single value.
    pub fn normalize(self, value: f64) -> f64 {
        let half = self.half_span();
        if half > 0.0 { (value / 2.0 - (self.low / 4.0 + self.high / 4.0)) / half * 2.0 } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_outliers_reduce_the_range() {
        let even: Vec<f64> = (0..1000).map(f64::from).collect();
        let range = AxisRange::from_values(even.iter().copied());
        assert_eq!((range.normalize(0.0), range.normalize(999.0)), (-1.0, 1.0));
        let mut with_outlier = even.clone();
        with_outlier.push(1e9);
        let range = AxisRange::from_values(with_outlier.into_iter());
        assert_eq!((range.normalize(0.0), range.normalize(999.0)), (-1.0, 1.0));
        assert!(range.normalize(1e9) > 1.0);
    }

    #[test]
    fn extreme_and_equal_values_are_normalized() {
        let range = AxisRange::from_values([-1.7e308, 1.7e308].into_iter());
        assert!((range.normalize(1.7e308) - 1.0).abs() < 1e-12 && (range.normalize(-1.7e308) + 1.0).abs() < 1e-12);
        assert_eq!(AxisRange::from_values([3.0, 3.0].into_iter()).normalize(3.0), 0.0);
    }
}
