//! The functions the E-step needs, written so that a loop around them becomes vectors: no branches, no tables, no
//! calls.
//!
//! Neither uses fused multiply-add, so every machine computes the same bits, whatever the width of its vectors.

use std::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};

/// A number the E-step can be computed in.
pub trait Number:
    Copy
    + Default
    + PartialOrd
    + Send
    + Sync
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + AddAssign
    + SubAssign
{
    /// A positive number so small that its square is just not lost.
    const LEAST: Self;
    /// `exp(-x)` of this makes no difference to one.
    const FAR: Self;
    /// Rounded to this type.
    fn of(value: f64) -> Self;
    /// Exactly.
    fn wide(self) -> f64;
    /// `exp(-x)` and `1 - exp(-x)` for `x >= 0`, to a few units in the last place: the second without cancellation. Of
    /// numbers that make no difference to one, the first need only be as small.
    fn exp_minus(self) -> (Self, Self);
    /// Natural logarithm of a positive normal number.
    #[inline(always)]
    fn ln(self) -> Self {
        self.ln_with(Self::of(1.0) - self)
    }
    /// The same, told what the number lacks to one: to a few units in the last place of that.
    fn ln_with(self, short: Self) -> Self;
    /// `m` and `e` of a positive normal number `m 2^e`, `m` at least 1 and below 2.
    fn parts(self) -> (Self, Self);
    /// Square root.
    fn root(self) -> Self;
}

impl Number for f64 {
    const LEAST: f64 = 1e-150;
    const FAR: f64 = 40.0;

    #[inline(always)]
    fn of(value: f64) -> f64 {
        value
    }

    #[inline(always)]
    fn wide(self) -> f64 {
        self
    }

    #[inline(always)]
    fn exp_minus(self) -> (f64, f64) {
        /// `1.5 * 2^52`: a number added to it is rounded to a whole one, which then stands in the lowest bits.
        const ROUNDER: f64 = 6_755_399_441_055_744.0;
        /// ln 2 in two parts, the first short enough that its product with a small whole number is exact.
        const LN2: [f64; 2] = [0.693_147_180_369_123_8, 1.908_214_929_270_587_7e-10];
        // Beyond 700 the result is below 1e-304 and makes no difference to anything; NaN becomes 700 too.
        let x = if self < 700.0 { -self } else { -700.0 };
        let rounded = x * std::f64::consts::LOG2_E + ROUNDER;
        let whole = rounded - ROUNDER;
        let f = x - whole * LN2[0] - whole * LN2[1];
        // Taylor's series by pairs of terms, |f| <= ln 2 / 2.
        let f2 = f * f;
        let f4 = f2 * f2;
        let low = (0.5 + f * (1.0 / 6.0)) + f2 * (1.0 / 24.0 + f * (1.0 / 120.0));
        let middle = (1.0 / 720.0 + f * (1.0 / 5_040.0)) + f2 * (1.0 / 40_320.0 + f * (1.0 / 362_880.0));
        let high = (1.0 / 3_628_800.0 + f * (1.0 / 39_916_800.0)) + f2 * (1.0 / 479_001_600.0);
        let less_one = f + f2 * (low + f4 * (middle + f4 * high));
        let power = f64::from_bits(rounded.to_bits().wrapping_add(1023) << 52);
        (power + power * less_one, (1.0 - power) - power * less_one)
    }

    #[inline(always)]
    fn ln_with(self, short: f64) -> f64 {
        const LN2: [f64; 2] = [0.693_147_180_369_123_8, 1.908_214_929_270_587_7e-10];
        let bits = self.to_bits();
        // The mantissa is brought to [sqrt 1/2, sqrt 2), so that logarithms of numbers near one stay exact.
        let shifted = bits.wrapping_sub(std::f64::consts::FRAC_1_SQRT_2.to_bits());
        // The exponent, read through a number whose low bits it is put into.
        let exponent = f64::from_bits(((shifted >> 52) ^ 0x800) | 0x4330_0000_0000_0000) - 4_503_599_627_372_544.0;
        let mantissa = f64::from_bits(bits.wrapping_sub(shifted & 0xfff0_0000_0000_0000));
        // ln m = 2 atanh s, s = (m - 1)/(m + 1).
        let s = if exponent == 0.0 { -short } else { mantissa - 1.0 } / (mantissa + 1.0);
        let q = s * s;
        let q2 = q * q;
        let q4 = q2 * q2;
        let low = (1.0 + q * (1.0 / 3.0)) + q2 * (1.0 / 5.0 + q * (1.0 / 7.0));
        let high = (1.0 / 9.0 + q * (1.0 / 11.0)) + q2 * (1.0 / 13.0 + q * (1.0 / 15.0));
        let series = low + q4 * (high + q4 * (1.0 / 17.0 + q * (1.0 / 19.0)));
        exponent * LN2[0] + (2.0 * s * series + exponent * LN2[1])
    }

    #[inline(always)]
    fn parts(self) -> (f64, f64) {
        let bits = self.to_bits();
        let exponent = f64::from_bits((bits >> 52) | 0x4330_0000_0000_0000) - 4_503_599_627_371_519.0;
        (f64::from_bits((bits & 0x000f_ffff_ffff_ffff) | 0x3ff0_0000_0000_0000), exponent)
    }

    #[inline(always)]
    fn root(self) -> f64 {
        self.sqrt()
    }
}

/// As for `f64`, with shorter series.
impl Number for f32 {
    const LEAST: f32 = 1e-18;
    const FAR: f32 = 25.0;

    #[inline(always)]
    fn of(value: f64) -> f32 {
        value as f32
    }

    #[inline(always)]
    fn wide(self) -> f64 {
        f64::from(self)
    }

    #[inline(always)]
    fn exp_minus(self) -> (f32, f32) {
        const ROUNDER: f32 = 12_582_912.0;
        // `(2^f - 1) / f` to 2e-8 for |f| <= 1/2, by least squares with the largest errors levelled.
        const SERIES: [f32; 6] =
            [std::f32::consts::LN_2, 0.240_226_5, 0.055_503_573, 0.009_618_238, 0.001_339_073_5, 0.000_154_035_12];
        // Smaller results would make products denormal, which is slow.
        let x = if self < 40.0 { self } else { 40.0 };
        let x = x * -std::f32::consts::LOG2_E;
        let rounded = x + ROUNDER;
        let f = x - (rounded - ROUNDER);
        let f2 = f * f;
        let [a, b, c, d, e, g] = SERIES;
        let less_one = f * ((a + b * f) + f2 * ((c + d * f) + f2 * (e + g * f)));
        let power = f32::from_bits(rounded.to_bits().wrapping_add(127) << 23);
        (power + power * less_one, (1.0 - power) - power * less_one)
    }

    #[inline(always)]
    fn ln_with(self, short: f32) -> f32 {
        const LN2: [f32; 2] = [0.693_359_4, -2.121_944_4e-4];
        let bits = self.to_bits();
        let shifted = bits.wrapping_sub(std::f32::consts::FRAC_1_SQRT_2.to_bits());
        let exponent = f32::from_bits(((shifted >> 23) ^ 0x100) | 0x4b00_0000) - 8_388_864.0;
        let mantissa = f32::from_bits(bits.wrapping_sub(shifted & 0xff80_0000));
        let s = if exponent == 0.0 { -short } else { mantissa - 1.0 } / (mantissa + 1.0);
        let q = s * s;
        let series = (1.0 + q * (1.0 / 3.0)) + (q * q) * ((1.0 / 5.0 + q * (1.0 / 7.0)) + (q * q) * (1.0 / 9.0));
        exponent * LN2[0] + (2.0 * s * series + exponent * LN2[1])
    }

    #[inline(always)]
    fn parts(self) -> (f32, f32) {
        let bits = self.to_bits();
        let exponent = f32::from_bits((bits >> 23) | 0x4b00_0000) - 8_388_735.0;
        (f32::from_bits((bits & 0x007f_ffff) | 0x3f80_0000), exponent)
    }

    #[inline(always)]
    fn root(self) -> f32 {
        self.sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn near<T: Number>(found: T, exact: f64, unit: f64) -> bool {
        (found.wide() - exact).abs() <= 4.0 * unit * exact.abs()
    }

    fn check<T: Number>(x: f64, y: f64, unit: f64) -> Result<(), TestCaseError> {
        let (x, y) = (T::of(x), T::of(y));
        let (falling, rest) = x.exp_minus();
        // A short exponent is rounded itself, which counts for more the larger it is.
        let rounded = unit * (1.0 + if unit > 1e-10 { 0.5 * x.wide() } else { 0.0 });
        prop_assert!(near(falling, (-x.wide()).exp(), rounded), "{}: {}", x.wide(), falling.wide());
        prop_assert!(near(rest, -(-x.wide()).exp_m1(), unit), "{}: {}", x.wide(), rest.wide());
        prop_assert!(near(y.ln(), y.wide().ln(), unit), "{}: {}", y.wide(), y.ln().wide());
        // Near one a number says little about what it lacks.
        let exact = (-rest.wide()).ln_1p();
        prop_assert!(rest.wide() > 0.9 || near(falling.ln_with(rest), exact, unit), "{}: {exact}", rest.wide());
        let (mantissa, exponent) = y.parts();
        prop_assert!((1.0..2.0).contains(&mantissa.wide()) && mantissa.wide() * exponent.wide().exp2() == y.wide());
        Ok(())
    }

    proptest! {
        #[test]
        fn exponentials_and_logarithms_are_those_of_the_standard_library(magnitude in -30.0..9.0f64, y in -300.0..300.0f64) {
            for y in [10f64.powf(y), 1.0 + y * 1e-10] {
                check::<f64>(magnitude.exp2(), y, f64::EPSILON)?;
            }
            for y in [10f64.powf(y / 10.0), 1.0 + y * 1e-4] {
                check::<f32>((magnitude - 3.0).exp2().min(39.0), y.abs().max(1e-6), f64::from(f32::EPSILON))?;
            }
        }
    }

    #[test]
    fn the_ends_of_the_range_are_finite() {
        assert_eq!(0f64.exp_minus(), (1.0, 0.0));
        assert_eq!(0f32.exp_minus(), (1.0, 0.0));
        for x in [1e300, f64::INFINITY, f64::NAN, 699.9, 700.1, 5e-324, 1.0] {
            let (falling, rest) = x.exp_minus();
            assert!((0.0..=1.0).contains(&falling) && (0.0..=1.0).contains(&rest), "{x}: {falling} {rest}");
            let (falling, rest) = (x as f32).exp_minus();
            assert!((0.0..=1.0).contains(&falling) && (0.0..=1.0).contains(&rest), "{x}: {falling} {rest}");
        }
    }
}
