//! The null of the flags: a map without tears.
//!
//! Under the null, the data are a sheet of as many dimensions as the map, and the map is that sheet with noise at every point,
//! and stretched at some: hardly at most, at a few by up to [`STRETCH`]. The noise is such that neighbors are kept as well as
//! on the map that is judged. So a point is flagged where its nearest rows are further apart on the map than noise and
//! stretching explain: where the map is torn, or where a point belongs to several places.

use lowland_core::{Points, Result, Seed};
use lowland_neighbors::{NeighborGraph, nearest_points};

use super::neighborhoods::compare;

/// Spreads under the null are simulated for about this many points; no p-value is smaller than one over it.
const SAMPLES: usize = 20_000;
/// Points of a simulation by which the noise is found.
const FIT_SAMPLES: usize = 4_000;
/// Bisections of the noise.
const BISECTIONS: usize = 12;
/// Range of the noise, in units of the mean distance between the points of the sheet.
const NOISE: (f64, f64) = (1e-3, 1e2);
/// The largest local stretching that is no tear: the factor by which torn points are defined in docs/methods/trust.md.
const STRETCH: f64 = 3.0;
/// The logarithm of the stretching, in units of the largest, is this power of an even share. Chosen on generated data so that the
/// false-discovery rate is the requested one; see docs/methods/trust.md.
const STRETCH_POWER: i32 = 20;
/// The fractional parts of its multiples are even shares in an order without pattern.
const GOLDEN_RATIO: f64 = 0.618_033_988_749_894_9;

/// Spreads of neighbors on maps without tears.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct NullSpreads {
    /// Ascending.
    spreads: Vec<f64>,
    /// Standard deviation of the noise, in units of the distance between neighboring points.
    pub noise: f64,
}

impl NullSpreads {
    /// Simulates maps of `n` points in `dim` dimensions that keep neighbors as well as `kept` says.
    pub fn new(kept: &[f64], n: usize, dim: usize, k: usize, seed: Seed) -> Result<Self> {
        let seed = seed.stream("null");
        let wanted = middle_mean(kept.to_vec());
        let few = Sheet::new(n.min(FIT_SAMPLES), dim, k, seed.item(0))?;
        let (mut low, mut high) = (NOISE.0.ln(), NOISE.1.ln());
        for _ in 0..BISECTIONS {
            let noise = 0.5 * (low + high);
            let (found, _) = few.compare_with_noise(noise.exp())?;
            if middle_mean(found) > wanted { low = noise } else { high = noise }
        }
        let noise = (0.5 * (low + high)).exp();
        let n = n.min(SAMPLES);
        let mut spreads = Vec::with_capacity(SAMPLES + n);
        for copy in 1..=SAMPLES.div_ceil(n) {
            spreads.extend(Sheet::new(n, dim, k, seed.item(copy))?.compare_with_noise(noise)?.1);
        }
        stretch(&mut spreads);
        spreads.sort_unstable_by(f64::total_cmp);
        Ok(Self { spreads, noise })
    }

    /// Probability of a spread of at least this size under the null.
    pub fn p_value(&self, spread: f64) -> f64 {
        let below = self.spreads.partition_point(|&null| null < spread);
        (1 + self.spreads.len() - below) as f64 / (1 + self.spreads.len()) as f64
    }
}

/// Stretches each neighborhood by its own factor.
fn stretch(spreads: &mut [f64]) {
    for (at, spread) in spreads.iter_mut().enumerate() {
        let share = ((at as f64 + 0.5) * GOLDEN_RATIO).fract();
        *spread *= STRETCH.powf(share.powi(STRETCH_POWER));
    }
}

/// Points evenly scattered in a cube, one per unit of volume.
struct Sheet {
    values: Vec<f64>,
    dim: usize,
    k: usize,
    near: NeighborGraph,
    shifts: Vec<f64>,
}

impl Sheet {
    fn new(n: usize, dim: usize, k: usize, seed: Seed) -> Result<Self> {
        let side = if dim == 2 { (n as f64).sqrt() } else { (n as f64).powf(1.0 / dim as f64) };
        let draw = seed.stream("sheet");
        let values: Vec<f64> =
            (0..dim * n).map(|at| side * (draw.item(at).0 >> 11) as f64 / (1u64 << 53) as f64).collect();
        let near = nearest_points(Points::new(&values, dim)?, k)?;
        let shifts = seed.stream("noise").normals(dim * n);
        Ok(Self { values, dim, k, near, shifts })
    }

    /// Returns the shares of neighbors kept and the certain spreads of the map with noise.
    fn compare_with_noise(&self, noise: f64) -> Result<(Vec<f64>, Vec<f64>)> {
        let map: Vec<f64> = self.values.iter().zip(&self.shifts).map(|(v, shift)| v + noise * shift).collect();
        let map = Points::new(&map, self.dim)?;
        let found = compare(&self.near, &nearest_points(map, self.k)?, map, None, self.k, self.k);
        Ok((found.kept, found.certain_spread))
    }
}

/// Returns the mean of the middle half: points at tears do not count.
fn middle_mean(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let quarter = values.len() / 4;
    let middle = &values[quarter..values.len() - quarter];
    middle.iter().sum::<f64>() / middle.len() as f64
}

/// Returns which hypotheses are rejected at this false-discovery rate (Benjamini & Hochberg 1995). P-values that are NaN are
/// not tested.
pub(crate) fn benjamini_hochberg(p_values: &[f64], rate: f64) -> Vec<bool> {
    let mut order: Vec<usize> = (0..p_values.len()).filter(|&i| !p_values[i].is_nan()).collect();
    order.sort_by(|&a, &b| p_values[a].total_cmp(&p_values[b]));
    let tested = order.len() as f64;
    let passes = |rank: usize| p_values[order[rank]] <= rate * (rank + 1) as f64 / tested;
    let rejected = (0..order.len()).rev().find(|&rank| passes(rank)).map_or(0, |last| last + 1);
    let mut flags = vec![false; p_values.len()];
    order[..rejected].iter().for_each(|&i| flags[i] = true);
    flags
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn benjamini_hochberg_rejects_up_to_the_last_p_value_below_its_line() {
        // The fourth of five is below 0.05 * 4/5 although the second and third are above their lines.
        let p = [0.001, 0.03, 0.039, 0.035, 0.9, f64::NAN];
        assert_eq!(benjamini_hochberg(&p, 0.05), [true, true, true, true, false, false]);
        assert_eq!(benjamini_hochberg(&p, 0.01), [true, false, false, false, false, false]);
        assert_eq!(benjamini_hochberg(&[0.5, 0.06], 0.05), [false, false]);
        assert_eq!(benjamini_hochberg(&[f64::NAN], 0.05), [false]);
    }

    #[test]
    fn few_neighborhoods_are_stretched_and_none_by_more_than_the_largest_factor() {
        let mut factors = vec![1.0; 10_000];
        stretch(&mut factors);
        let above = |factor: f64| factors.iter().filter(|&&found| found > factor).count();
        assert_eq!((above(STRETCH), above(0.999)), (0, 10_000));
        // The shares u with 3^(u^20) above 1.25 and 2.
        assert!(above(1.25).abs_diff(766) < 20 && above(2.0).abs_diff(228) < 20, "{} {}", above(1.25), above(2.0));
    }

    #[test]
    fn the_noise_of_a_noisy_sheet_is_found_in_any_number_of_dimensions() {
        for (dim, noise, n) in [(1, 3.0, 3000), (2, 0.8, 3000), (3, 0.5, 3000), (10, 0.15, 1500)] {
            let (kept, mut spreads) = Sheet::new(n, dim, 15, Seed(9)).unwrap().compare_with_noise(noise).unwrap();
            stretch(&mut spreads);
            let null = NullSpreads::new(&kept, n, dim, 15, Seed(1)).unwrap();
            assert!((null.noise / noise - 1.0).abs() < 0.1, "{dim}: {}", null.noise);
            let small = spreads.iter().filter(|&&spread| null.p_value(spread) < 0.1).count();
            assert!((n / 15..n * 2 / 15).contains(&small), "{dim}: {small} of {n}");
            assert!(null.p_value(100.0) < 1e-4 && null.p_value(0.0) == 1.0);
        }
    }
}
