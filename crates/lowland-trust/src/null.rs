//! The null of the flags: a map without tears.
//!
//! Under the null, the data are a sheet, and the map is that sheet with noise at every point, and stretched locally by up to a
//! factor of two. The noise is such that neighbors are kept as well as on the map that is judged. So a point is flagged
//! where its nearest rows are further apart on the map than noise and stretching explain: where the map is torn, or where
//! a point belongs to several places.

use lowland_core::{Points, Result, Seed};
use lowland_neighbors::nearest_points;

use super::neighborhoods::compare;

/// Spreads under the null are simulated for about this many points; no p-value is smaller than one over it.
const SAMPLES: usize = 20_000;
/// Points of a simulation by which the noise is found.
const FIT_SAMPLES: usize = 4_000;
/// Bisections of the noise.
const BISECTIONS: usize = 12;
/// Range of the noise, in units of the mean distance between the points of the sheet.
const NOISE: (f64, f64) = (1e-3, 1e2);
/// Local stretching that is no tear. Chosen on generated data so that the false-discovery rate is the requested one; see
/// docs/methods/trust.md.
const STRETCH: f64 = 2.1;

/// Spreads of neighbors on maps without tears.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct NullSpreads {
    /// Ascending.
    spreads: Vec<f64>,
    /// Standard deviation of the noise, in units of the distance between neighboring points.
    pub noise: f64,
}

impl NullSpreads {
    /// Simulates maps of `n` points that keep neighbors as well as `kept` says.
    pub fn new(kept: &[f64], n: usize, k: usize, seed: Seed) -> Result<Self> {
        let seed = seed.stream("null");
        let wanted = middle_mean(kept.to_vec());
        let few = n.min(FIT_SAMPLES);
        let (mut low, mut high) = (NOISE.0.ln(), NOISE.1.ln());
        for _ in 0..BISECTIONS {
            let noise = 0.5 * (low + high);
            let (found, _) = simulate(few, k, noise.exp(), seed.item(0))?;
            if middle_mean(found) > wanted { low = noise } else { high = noise }
        }
        let noise = (0.5 * (low + high)).exp();
        let n = n.min(SAMPLES);
        let mut spreads = Vec::with_capacity(SAMPLES + n);
        for copy in 1..=SAMPLES.div_ceil(n) {
            spreads.extend(simulate(n, k, noise, seed.item(copy))?.1);
        }
        spreads.sort_unstable_by(f64::total_cmp);
        Ok(Self { spreads, noise })
    }

    /// Probability of a spread of at least this size under the null.
    pub fn p_value(&self, spread: f64) -> f64 {
        let below = self.spreads.partition_point(|&null| STRETCH * null < spread);
        (1 + self.spreads.len() - below) as f64 / (1 + self.spreads.len()) as f64
    }
}

/// Returns the shares of neighbors kept and the certain spreads of a sheet of `n` points with noise.
fn simulate(n: usize, k: usize, noise: f64, seed: Seed) -> Result<(Vec<f64>, Vec<f64>)> {
    let side = (n as f64).sqrt();
    let draw = seed.stream("sheet");
    let sheet: Vec<f64> = (0..2 * n).map(|at| side * (draw.item(at).0 >> 11) as f64 / (1u64 << 53) as f64).collect();
    let shifts = seed.stream("noise").normals(2 * n);
    let map: Vec<f64> = sheet.iter().zip(shifts).map(|(v, shift)| v + noise * shift).collect();
    let (sheet, map) = (Points::new(&sheet, 2)?, Points::new(&map, 2)?);
    let found = compare(&nearest_points(sheet, k)?, &nearest_points(map, k)?, map, k, k);
    Ok((found.kept, found.certain_spread))
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
    fn the_noise_of_a_noisy_sheet_is_found() {
        let (kept, spreads) = simulate(3000, 15, 0.8, Seed(9)).unwrap();
        let null = NullSpreads::new(&kept, 3000, 15, Seed(1)).unwrap();
        assert!((null.noise / 0.8 - 1.0).abs() < 0.1, "{}", null.noise);
        let small = spreads.iter().filter(|&&spread| null.p_value(STRETCH * spread) < 0.1).count();
        assert!((200..400).contains(&small), "{small} of 3000");
        assert!(null.p_value(100.0) < 1e-4 && null.p_value(0.0) == 1.0);
    }
}
