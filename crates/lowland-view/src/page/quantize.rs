//! Coordinates with 16 bits per value.

use lowland::Points;

/// Coordinates in steps of 1 / 65535 of the range of each dimension.
#[derive(Debug, Clone, PartialEq)]
pub struct QuantizedPoints {
    /// Number of dimensions, at most three.
    pub dim: usize,
    /// Smallest coordinate of each dimension.
    pub low: Vec<f64>,
    /// Largest coordinate of each dimension.
    pub high: Vec<f64>,
    /// Coordinates in row-major order.
    pub values: Vec<u16>,
}

/// Quantizes the first three dimensions of a map of finite coordinates.
pub fn quantize(map: Points) -> QuantizedPoints {
    let dim = map.dim().min(3);
    let (mut low, mut high) = (vec![f64::INFINITY; dim], vec![f64::NEG_INFINITY; dim]);
    for row in map.values().chunks_exact(map.dim()) {
        for c in 0..dim {
            low[c] = low[c].min(row[c]);
            high[c] = high[c].max(row[c]);
        }
    }
    if map.rows() == 0 {
        low.fill(0.0);
        high.fill(0.0);
    }
    let values = normalized(map, &low, &high).map(|value| (value * f64::from(u16::MAX)).round() as u16).collect();
    QuantizedPoints { dim, low, high, values }
}

/// Returns the coordinates relative to their range, from 0 to 1.
pub(super) fn normalized<'a>(map: Points<'a>, low: &'a [f64], high: &'a [f64]) -> impl Iterator<Item = f64> + 'a {
    map.values().chunks_exact(map.dim()).flat_map(move |row| {
        (0..low.len()).map(move |c| {
            // Halved, because the difference of two finite numbers may overflow.
            let span = high[c] / 2.0 - low[c] / 2.0;
            if span > 0.0 { ((row[c] / 2.0 - low[c] / 2.0) / span).clamp(0.0, 1.0) } else { 0.5 }
        })
    })
}

/// Whether outliers widen the range of a dimension so much that the quantization of the other points would be visible.
pub(super) fn is_too_coarse(map: Points, column: usize, low: f64, high: f64) -> bool {
    let mut values: Vec<f64> = map.values().iter().skip(column).step_by(map.dim()).copied().collect();
    let rank = values.len() / 100;
    let Some(top) = values.len().checked_sub(1 + rank) else { return false };
    let inner_low = *values.select_nth_unstable_by(rank, f64::total_cmp).1;
    let inner_high = *values.select_nth_unstable_by(top, f64::total_cmp).1;
    high / 2.0 - low / 2.0 > 8.0 * (inner_high / 2.0 - inner_low / 2.0)
}
