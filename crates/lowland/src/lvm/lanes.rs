//! Eight numbers at a time: the two functions the E-step needs, as plain loops that the compiler turns into vectors.
//!
//! Neither uses fused multiply-add, so every machine computes the same bits.

/// Numbers computed side by side.
pub(super) const LANES: usize = 8;

/// One number in each lane.
pub(super) type Lanes = [f64; LANES];

/// What each lane holds, by its number.
#[inline(always)]
pub(super) fn lanes(value: impl Fn(usize) -> f64) -> Lanes {
    let mut out = [0.0; LANES];
    for l in 0..LANES {
        out[l] = value(l);
    }
    out
}

/// The sum over lanes, always in the same order.
#[inline(always)]
pub(super) fn sum(x: &Lanes) -> f64 {
    ((x[0] + x[4]) + (x[1] + x[5])) + ((x[2] + x[6]) + (x[3] + x[7]))
}

/// `1.5 * 2^52`: a number added to it is rounded to a whole one, which then stands in the lowest bits.
const ROUNDER: f64 = 6_755_399_441_055_744.0;
const LOG2_E: f64 = std::f64::consts::LOG2_E;
/// ln 2 in two parts, the first short enough that its product with a small whole number is exact.
const LN2_HIGH: f64 = 6.931_471_803_691_238_2e-1;
const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;
/// 1/k! from 1/2! on.
const FACTORIALS: [f64; 11] = [
    0.5,
    1.0 / 6.0,
    1.0 / 24.0,
    1.0 / 120.0,
    1.0 / 720.0,
    1.0 / 5_040.0,
    1.0 / 40_320.0,
    1.0 / 362_880.0,
    1.0 / 3_628_800.0,
    1.0 / 39_916_800.0,
    1.0 / 479_001_600.0,
];

/// `exp(-x)` and `1 - exp(-x)` for `x >= 0`, each to a few units in the last place: the second without cancellation.
#[inline(always)]
pub(super) fn exp_minus(x: &Lanes) -> (Lanes, Lanes) {
    let (mut falling, mut rest) = ([0.0; LANES], [0.0; LANES]);
    for l in 0..LANES {
        // Beyond 700 the result is below 1e-304 and makes no difference to anything; NaN becomes 700 too.
        let x = -x[l].min(700.0);
        let rounded = x * LOG2_E + ROUNDER;
        let whole = rounded - ROUNDER;
        let f = x - whole * LN2_HIGH - whole * LN2_LOW;
        let mut series = FACTORIALS[10];
        for k in (0..10).rev() {
            series = series * f + FACTORIALS[k];
        }
        let less_one = f + f * f * series;
        let power = f64::from_bits(rounded.to_bits().wrapping_add(1023) << 52);
        falling[l] = power + power * less_one;
        rest[l] = (1.0 - power) - power * less_one;
    }
    (falling, rest)
}

/// Natural logarithm of positive normal numbers.
#[inline(always)]
pub(super) fn ln(x: &Lanes) -> Lanes {
    let mut out = [0.0; LANES];
    for l in 0..LANES {
        let bits = x[l].to_bits();
        // The mantissa is brought to [sqrt 1/2, sqrt 2), so that logarithms of numbers near one stay exact.
        let shifted = bits.wrapping_sub(0x3fe6_a09e_667f_3bcd);
        // The exponent, read through a number whose low bits it is put into.
        let exponent = f64::from_bits(((shifted >> 52) ^ 0x800) | 0x4330_0000_0000_0000) - 4_503_599_627_372_544.0;
        let mantissa = f64::from_bits(bits.wrapping_sub(shifted & 0xfff0_0000_0000_0000));
        // ln m = 2 atanh s, s = (m - 1)/(m + 1).
        let s = (mantissa - 1.0) / (mantissa + 1.0);
        let q = s * s;
        let mut series = 1.0 / 19.0;
        for odd in [17.0, 15.0, 13.0, 11.0, 9.0, 7.0, 5.0, 3.0, 1.0] {
            series = series * q + 1.0 / odd;
        }
        out[l] = exponent * LN2_HIGH + (2.0 * s * series + exponent * LN2_LOW);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn near(found: f64, exact: f64) -> bool {
        (found - exact).abs() <= 4.0 * f64::EPSILON * exact.abs()
    }

    proptest! {
        #[test]
        fn exponentials_and_logarithms_are_those_of_the_standard_library(magnitude in -30.0..9.0f64, y in -300.0..300.0f64) {
            let x = magnitude.exp2();
            let (falling, rest) = exp_minus(&[x; LANES]);
            prop_assert!(near(falling[0], (-x).exp()), "{x}: {}", falling[0]);
            prop_assert!(near(rest[0], -(-x).exp_m1()), "{x}: {}", rest[0]);
            for y in [10f64.powf(y), 1.0 + y * 1e-10] {
                prop_assert!(near(ln(&[y; LANES])[3], y.ln()), "{y}: {}", ln(&[y; LANES])[3]);
            }
        }
    }

    #[test]
    fn the_ends_of_the_range_are_finite() {
        let (falling, rest) = exp_minus(&[0.0, 1e300, f64::INFINITY, f64::NAN, 699.9, 700.1, 5e-324, 1.0]);
        assert_eq!((falling[0], rest[0]), (1.0, 0.0));
        assert!(falling.iter().all(|v| (0.0..=1.0).contains(v)) && rest.iter().all(|v| (0.0..=1.0).contains(v)));
        assert_eq!(ln(&[1.0; LANES]), [0.0; LANES]);
    }
}
