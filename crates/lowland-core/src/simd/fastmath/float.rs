//! `exp(-x)`, `1 - exp(-x)` and `ln` in `f32` and `f64`, for the E-step of latent variable models.

use std::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};

/// A floating-point type that the E-step can be computed in.
pub trait FastFloat:
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
    /// A small positive number whose square does not underflow.
    const TINY: Self;
    /// A number `x` for which `1 - exp(-x)` rounds to one.
    const NEGLIGIBLE_EXP_NEG: Self;
    /// Rounds an `f64` to this type.
    fn from_f64(value: f64) -> Self;
    /// Converts to `f64`, exactly.
    fn to_f64(self) -> f64;
    /// Returns `exp(-x)` and `1 - exp(-x)` for `x >= 0`, both to a few units in the last place; the second is computed without
    /// cancellation. Where `exp(-x)` does not change the rounded value of one, it may be replaced by another such number.
    fn exp_neg(self) -> (Self, Self);
    /// Natural logarithm of a positive normal number.
    #[inline(always)]
    fn ln(self) -> Self {
        self.ln_with_complement(Self::from_f64(1.0) - self)
    }
    /// Natural logarithm, given `1 - self`: to a few units in the last place of the complement, where `self` is near one.
    fn ln_with_complement(self, complement: Self) -> Self;
    /// Returns `m` and `e` of a positive normal number `m 2^e`, where `m` is in `[1, 2)`.
    fn mantissa_and_exponent(self) -> (Self, Self);
    /// Square root.
    fn sqrt(self) -> Self;
}

impl FastFloat for f64 {
    const TINY: f64 = 1e-150;
    const NEGLIGIBLE_EXP_NEG: f64 = 40.0;

    #[inline(always)]
    fn from_f64(value: f64) -> f64 {
        value
    }

    #[inline(always)]
    fn to_f64(self) -> f64 {
        self
    }

    #[inline(always)]
    fn exp_neg(self) -> (f64, f64) {
        /// `1.5 * 2^52`: adding this rounds to an integer, which is then held in the low bits.
        const ROUND: f64 = 6_755_399_441_055_744.0;
        /// `ln 2` in two parts, the first with so few bits that its product with a small integer is exact.
        const LN2: [f64; 2] = [0.693_147_180_369_123_8, 1.908_214_929_270_587_7e-10];
        // Beyond 700 the result is below 1e-304, which is negligible. NaN becomes 700 too.
        let x = if self < 700.0 { -self } else { -700.0 };
        let rounded = x * std::f64::consts::LOG2_E + ROUND;
        let integer = rounded - ROUND;
        let f = x - integer * LN2[0] - integer * LN2[1];
        // Taylor series by pairs of terms, |f| <= ln 2 / 2.
        let f2 = f * f;
        let f4 = f2 * f2;
        let low = (0.5 + f * (1.0 / 6.0)) + f2 * (1.0 / 24.0 + f * (1.0 / 120.0));
        let middle = (1.0 / 720.0 + f * (1.0 / 5_040.0)) + f2 * (1.0 / 40_320.0 + f * (1.0 / 362_880.0));
        let high = (1.0 / 3_628_800.0 + f * (1.0 / 39_916_800.0)) + f2 * (1.0 / 479_001_600.0);
        let exp_m1 = f + f2 * (low + f4 * (middle + f4 * high));
        let power = f64::from_bits(rounded.to_bits().wrapping_add(1023) << 52);
        (power + power * exp_m1, (1.0 - power) - power * exp_m1)
    }

    #[inline(always)]
    fn ln_with_complement(self, complement: f64) -> f64 {
        const LN2: [f64; 2] = [0.693_147_180_369_123_8, 1.908_214_929_270_587_7e-10];
        let bits = self.to_bits();
        // The mantissa is reduced to [sqrt 1/2, sqrt 2), so that logarithms of numbers near one stay accurate.
        let shifted = bits.wrapping_sub(std::f64::consts::FRAC_1_SQRT_2.to_bits());
        // The exponent as a number: it is put into the low bits of one.
        let exponent = f64::from_bits(((shifted >> 52) ^ 0x800) | 0x4330_0000_0000_0000) - 4_503_599_627_372_544.0;
        let mantissa = f64::from_bits(bits.wrapping_sub(shifted & 0xfff0_0000_0000_0000));
        // ln m = 2 atanh s, s = (m - 1)/(m + 1).
        let s = if exponent == 0.0 { -complement } else { mantissa - 1.0 } / (mantissa + 1.0);
        let q = s * s;
        let q2 = q * q;
        let q4 = q2 * q2;
        let low = (1.0 + q * (1.0 / 3.0)) + q2 * (1.0 / 5.0 + q * (1.0 / 7.0));
        let high = (1.0 / 9.0 + q * (1.0 / 11.0)) + q2 * (1.0 / 13.0 + q * (1.0 / 15.0));
        let series = low + q4 * (high + q4 * (1.0 / 17.0 + q * (1.0 / 19.0)));
        exponent * LN2[0] + (2.0 * s * series + exponent * LN2[1])
    }

    #[inline(always)]
    fn mantissa_and_exponent(self) -> (f64, f64) {
        let bits = self.to_bits();
        let exponent = f64::from_bits((bits >> 52) | 0x4330_0000_0000_0000) - 4_503_599_627_371_519.0;
        (f64::from_bits((bits & 0x000f_ffff_ffff_ffff) | 0x3ff0_0000_0000_0000), exponent)
    }

    #[inline(always)]
    fn sqrt(self) -> f64 {
        f64::sqrt(self)
    }
}

/// As for `f64`, with shorter series.
impl FastFloat for f32 {
    const TINY: f32 = 1e-18;
    const NEGLIGIBLE_EXP_NEG: f32 = 25.0;

    #[inline(always)]
    fn from_f64(value: f64) -> f32 {
        value as f32
    }

    #[inline(always)]
    fn to_f64(self) -> f64 {
        f64::from(self)
    }

    #[inline(always)]
    fn exp_neg(self) -> (f32, f32) {
        const ROUND: f32 = 12_582_912.0;
        // `(2^f - 1) / f` to 2e-8 for |f| <= 1/2, by reweighted least squares (minimax).
        const SERIES: [f32; 6] =
            [std::f32::consts::LN_2, 0.240_226_5, 0.055_503_573, 0.009_618_238, 0.001_339_073_5, 0.000_154_035_12];
        // Smaller results would make products denormal, which is slow.
        let x = if self < 40.0 { self } else { 40.0 };
        let x = x * -std::f32::consts::LOG2_E;
        let rounded = x + ROUND;
        let f = x - (rounded - ROUND);
        let f2 = f * f;
        let [a, b, c, d, e, g] = SERIES;
        let exp2_m1 = f * ((a + b * f) + f2 * ((c + d * f) + f2 * (e + g * f)));
        let power = f32::from_bits(rounded.to_bits().wrapping_add(127) << 23);
        (power + power * exp2_m1, (1.0 - power) - power * exp2_m1)
    }

    #[inline(always)]
    fn ln_with_complement(self, complement: f32) -> f32 {
        const LN2: [f32; 2] = [0.693_359_4, -2.121_944_4e-4];
        let bits = self.to_bits();
        let shifted = bits.wrapping_sub(std::f32::consts::FRAC_1_SQRT_2.to_bits());
        let exponent = f32::from_bits(((shifted >> 23) ^ 0x100) | 0x4b00_0000) - 8_388_864.0;
        let mantissa = f32::from_bits(bits.wrapping_sub(shifted & 0xff80_0000));
        let s = if exponent == 0.0 { -complement } else { mantissa - 1.0 } / (mantissa + 1.0);
        let q = s * s;
        let series = (1.0 + q * (1.0 / 3.0)) + (q * q) * ((1.0 / 5.0 + q * (1.0 / 7.0)) + (q * q) * (1.0 / 9.0));
        exponent * LN2[0] + (2.0 * s * series + exponent * LN2[1])
    }

    #[inline(always)]
    fn mantissa_and_exponent(self) -> (f32, f32) {
        let bits = self.to_bits();
        let exponent = f32::from_bits((bits >> 23) | 0x4b00_0000) - 8_388_735.0;
        (f32::from_bits((bits & 0x007f_ffff) | 0x3f80_0000), exponent)
    }

    #[inline(always)]
    fn sqrt(self) -> f32 {
        f32::sqrt(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn near<T: FastFloat>(found: T, exact: f64, unit: f64) -> bool {
        (found.to_f64() - exact).abs() <= 4.0 * unit * exact.abs()
    }

    fn check<T: FastFloat>(x: f64, y: f64, unit: f64) -> Result<(), TestCaseError> {
        let (x, y) = (T::from_f64(x), T::from_f64(y));
        let (falling, rest) = x.exp_neg();
        // An `f32` argument of `exp` is rounded itself, which matters the more the larger it is.
        let rounded = unit * (1.0 + if unit > 1e-10 { 0.5 * x.to_f64() } else { 0.0 });
        prop_assert!(near(falling, (-x.to_f64()).exp(), rounded), "{}: {}", x.to_f64(), falling.to_f64());
        prop_assert!(near(rest, -(-x.to_f64()).exp_m1(), unit), "{}: {}", x.to_f64(), rest.to_f64());
        prop_assert!(near(y.ln(), y.to_f64().ln(), unit), "{}: {}", y.to_f64(), y.ln().to_f64());
        // Near zero the complement does not determine the number.
        let exact = (-rest.to_f64()).ln_1p();
        prop_assert!(
            rest.to_f64() > 0.9 || near(falling.ln_with_complement(rest), exact, unit),
            "{}: {exact}",
            rest.to_f64()
        );
        let (mantissa, exponent) = y.mantissa_and_exponent();
        prop_assert!(
            (1.0..2.0).contains(&mantissa.to_f64()) && mantissa.to_f64() * exponent.to_f64().exp2() == y.to_f64()
        );
        Ok(())
    }

    proptest! {
        #[test]
        fn exp_neg_and_ln_match_std(magnitude in -30.0..9.0f64, y in -300.0..300.0f64) {
            for y in [10f64.powf(y), 1.0 + y * 1e-10] {
                check::<f64>(magnitude.exp2(), y, f64::EPSILON)?;
            }
            for y in [10f64.powf(y / 10.0), 1.0 + y * 1e-4] {
                check::<f32>((magnitude - 3.0).exp2().min(39.0), y.abs().max(1e-6), f64::from(f32::EPSILON))?;
            }
        }
    }

    #[test]
    fn exp_neg_stays_in_the_unit_interval() {
        assert_eq!(0f64.exp_neg(), (1.0, 0.0));
        assert_eq!(0f32.exp_neg(), (1.0, 0.0));
        for x in [1e300, f64::INFINITY, f64::NAN, 699.9, 700.1, 5e-324, 1.0] {
            let (falling, rest) = x.exp_neg();
            assert!((0.0..=1.0).contains(&falling) && (0.0..=1.0).contains(&rest), "{x}: {falling} {rest}");
            let (falling, rest) = (x as f32).exp_neg();
            assert!((0.0..=1.0).contains(&falling) && (0.0..=1.0).contains(&rest), "{x}: {falling} {rest}");
        }
    }
}
