//! Which part of a line the frame shows.

/// A range of coordinates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Limits {
    low: f64,
    high: f64,
}

impl Limits {
    /// The whole range of the values, unless a few stand so far out that the rest would be a speck: then the range of
    /// those no farther from the middle 99 % than half of its width.
    pub fn of(values: impl Iterator<Item = f64>) -> Self {
        let mut values: Vec<f64> = values.collect();
        let rank = values.len() / 200;
        if values.is_empty() {
            return Self { low: 0.0, high: 0.0 };
        }
        let low = *values.select_nth_unstable_by(rank, f64::total_cmp).1;
        let least = values[..=rank].iter().copied().fold(f64::INFINITY, f64::min);
        let top = values.len() - 1 - rank;
        let high = *values.select_nth_unstable_by(top, f64::total_cmp).1;
        let most = values[top..].iter().copied().fold(f64::NEG_INFINITY, f64::max);
        // Halves: the span of finite numbers may not be finite.
        let (middle, whole) = (high / 2.0 - low / 2.0, most / 2.0 - least / 2.0);
        if middle > 0.0 && whole > 3.0 * middle {
            let near = values.iter().copied().filter(|v| (low - middle..=high + middle).contains(v));
            Self { low: near.clone().fold(low, f64::min), high: near.fold(high, f64::max) }
        } else {
            Self { low: least, high: most }
        }
    }

    /// The low end.
    pub fn low(self) -> f64 {
        self.low
    }

    /// Half of the span.
    pub fn half_span(self) -> f64 {
        self.high / 2.0 - self.low / 2.0
    }

    /// Where `value` lies: -1 at the low end, 1 at the high end, 0 throughout when the range is a point.
    pub fn place(self, value: f64) -> f64 {
        let half = self.half_span();
        if half > 0.0 { (value / 2.0 - (self.low / 4.0 + self.high / 4.0)) / half * 2.0 } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_range_is_whole_unless_outliers_would_make_the_rest_a_speck() {
        let even: Vec<f64> = (0..1000).map(f64::from).collect();
        let limits = Limits::of(even.iter().copied());
        assert_eq!((limits.place(0.0), limits.place(999.0)), (-1.0, 1.0));
        let mut with_outlier = even.clone();
        with_outlier.push(1e9);
        let limits = Limits::of(with_outlier.into_iter());
        assert_eq!((limits.place(0.0), limits.place(999.0)), (-1.0, 1.0));
        assert!(limits.place(1e9) > 1.0);
    }

    #[test]
    fn extreme_and_equal_values_have_a_place() {
        let limits = Limits::of([-1.7e308, 1.7e308].into_iter());
        assert!((limits.place(1.7e308) - 1.0).abs() < 1e-12 && (limits.place(-1.7e308) + 1.0).abs() < 1e-12);
        assert_eq!(Limits::of([3.0, 3.0].into_iter()).place(3.0), 0.0);
    }
}
