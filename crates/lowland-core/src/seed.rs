//! Reproducible random numbers, independent of the number of threads.

use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

/// The seed of a run. Every use has its own stream and every row its own generator, so that results do not depend on the
/// order in which threads draw numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Seed(pub u64);

impl Seed {
    /// Returns the seed for one purpose within the run.
    pub fn stream(self, purpose: &str) -> Seed {
        Seed(purpose.bytes().fold(mix(self.0), |state, byte| mix(state ^ u64::from(byte))))
    }

    /// Returns the seed for item `index` of this stream.
    pub fn item(self, index: usize) -> Seed {
        Seed(mix(self.0 ^ mix(index as u64 + 1)))
    }

    /// Returns a random number generator.
    pub fn rng(self) -> Xoshiro256PlusPlus {
        Xoshiro256PlusPlus::seed_from_u64(self.0)
    }

    /// Returns `count` independent standard normal numbers (Box-Muller).
    pub fn normals(self, count: usize) -> Vec<f64> {
        let mut rng = self.rng();
        let mut uniform = move || {
            use rand::Rng;
            // 53 random bits in (0, 1], so that the logarithm below is finite.
            ((rng.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64
        };
        let mut out = Vec::with_capacity(count + 1);
        while out.len() < count {
            let radius = (-2.0 * uniform().ln()).sqrt();
            let (sin, cos) = (std::f64::consts::TAU * uniform()).sin_cos();
            out.extend([radius * cos, radius * sin]);
        }
        out.truncate(count);
        out
    }
}

/// The finalizer of splitmix64: a bijection that maps nearby numbers far apart.
fn mix(z: u64) -> u64 {
    let z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_and_items_are_distinct_and_reproducible() {
        let seed = Seed(7);
        assert_eq!(seed.stream("a"), seed.stream("a"));
        assert_ne!(seed.stream("a"), seed.stream("b"));
        assert_ne!(seed.item(0), seed.item(1));
        assert_ne!(Seed(0).stream("a"), Seed(1).stream("a"));
    }

    #[test]
    fn normals_have_the_moments_of_a_normal_distribution() {
        let x = Seed(1).normals(100_001);
        let mean = x.iter().sum::<f64>() / x.len() as f64;
        let fourth = x.iter().map(|v| v.powi(4)).sum::<f64>() / x.len() as f64;
        assert!(mean.abs() < 0.01 && (fourth - 3.0).abs() < 0.1, "{mean} {fourth}");
    }
}
