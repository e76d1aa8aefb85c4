//! `exp` and `ln` of any `f64`, as polynomials.
//!
//! They are inlined into loops that are compiled for each instruction set (`#[simd_dispatch]`).

/// Adding this rounds to an integer, which is then held in the low bits: `1.5 * 2^52`.
const ROUND: f64 = 6_755_399_441_055_744.0;
/// The high part of `ln 2`, with 20 zero bits at the end, so that its product with an exponent is exact.
const LN_2_HIGH: f64 = f64::from_bits(0x3fe6_2e42_fef0_0000);
/// The low part of `ln 2`.
const LN_2_LOW: f64 = 7.440_617_110_012_397e-11;

/// `q` in `e^r = 1 + r + r^2 q(r)`, `|r| <= ln(2) / 2`: interpolated at the Chebyshev nodes, within 1e-17.
const EXP: [f64; 10] = [
    0.500_000_000_000_000_1,
    0.166_666_666_666_666_69,
    0.041_666_666_666_624_136,
    0.008_333_333_333_330_063,
    0.001_388_888_891_720_967,
    0.000_198_412_698_630_505_06,
    2.480_152_130_224_108_2e-5,
    2.755_726_846_483_162_7e-6,
    2.762_008_545_501_841_4e-7,
    2.510_038_319_586_702e-8,
];

/// `2/3 + 2/5 z + ...` in `2 artanh(s) = 2 s + s z (2/3 + 2/5 z + ...)`, `z = s^2 <= 0.0295`.
const ARTANH: [f64; 10] = [
    2.0 / 3.0,
    2.0 / 5.0,
    2.0 / 7.0,
    2.0 / 9.0,
    2.0 / 11.0,
    2.0 / 13.0,
    2.0 / 15.0,
    2.0 / 17.0,
    2.0 / 19.0,
    2.0 / 21.0,
];

/// `e^x` to two units in the last place; zero below -745.2, infinite above 709.79.
#[inline(always)]
pub fn exp(x: f64) -> f64 {
    let n = (x * std::f64::consts::LOG2_E + ROUND) - ROUND;
    let r = (x - n * LN_2_HIGH) - n * LN_2_LOW;
    let q = polynomial(&EXP, r);
    let e = 1.0 + (r + r * r * q);
    // 2^n in two steps: the first stays normal where the result is not.
    let half = n * 0.5 + ROUND;
    let rest = (n - (half - ROUND)) + ROUND;
    let y = e * power_of_two(half) * power_of_two(rest);
    let y = if x < -745.2 { 0.0 } else { y };
    if x > 709.79 { f64::INFINITY } else { y }
}

/// `2^n`, given `n + ROUND`.
#[inline(always)]
fn power_of_two(rounded: f64) -> f64 {
    f64::from_bits(rounded.to_bits().wrapping_add(1023) << 52)
}

/// `sum_k c_k x^k`. A plain loop, because a closure would not be inlined and the loop around it not vectorized.
#[inline(always)]
fn polynomial<const N: usize>(coefficients: &[f64; N], x: f64) -> f64 {
    let mut sum = coefficients[N - 1];
    let mut k = N - 1;
    while k > 0 {
        k -= 1;
        sum = sum * x + coefficients[k];
    }
    sum
}

/// The natural logarithm to a few units in the last place; equal to [`f64::ln`] at zero, infinity and below zero.
#[inline(always)]
pub fn ln(x: f64) -> f64 {
    const TWO_54: f64 = 18_014_398_509_481_984.0;
    let tiny = x < f64::MIN_POSITIVE;
    let bits = (if tiny { x * TWO_54 } else { x }).to_bits();
    // The exponent as a number: the exponent field of 2^52 above it makes it an integer.
    let exponent = f64::from_bits((bits >> 52) | 0x4330_0000_0000_0000) - 4_503_599_627_370_496.0;
    let exponent = exponent - if tiny { 1077.0 } else { 1023.0 };
    let m = f64::from_bits((bits & 0x000f_ffff_ffff_ffff) | 0x3ff0_0000_0000_0000);
    let high = m > std::f64::consts::SQRT_2;
    let m = if high { 0.5 * m } else { m };
    let exponent = if high { exponent + 1.0 } else { exponent };
    // ln m = 2 artanh(s), s = (m - 1) / (m + 1), |s| <= 0.172; 2 s = f - s f keeps the rounding of s small.
    let f = m - 1.0;
    let s = f / (2.0 + f);
    let z = s * s;
    let tail = s * (f - z * polynomial(&ARTANH, z));
    let y = exponent * LN_2_HIGH + (f - (tail - exponent * LN_2_LOW));
    let y = if x == f64::INFINITY { x } else { y };
    let y = if x == 0.0 { f64::NEG_INFINITY } else { y };
    if x >= 0.0 { y } else { f64::NAN }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::simd::simd_dispatch;

    /// `e^x` of every value, in place.
    #[simd_dispatch]
    fn exp_slice(values: &mut [f64]) {
        for value in values {
            *value = exp(*value);
        }
    }

    /// The natural logarithm of every value, in place.
    #[simd_dispatch]
    fn ln_slice(values: &mut [f64]) {
        for value in values {
            *value = ln(*value);
        }
    }

    /// Distance in units in the last place of the expected value.
    fn ulps(found: f64, expected: f64) -> f64 {
        if found == expected || (found.is_nan() && expected.is_nan()) {
            return 0.0;
        }
        let unit = f64::from_bits(expected.abs().to_bits() + 1) - expected.abs();
        (found - expected).abs() / unit
    }

    #[test]
    fn exp_matches_std_over_the_whole_range() {
        let worst = (0..=800_000).map(|i| -745.0 + i as f64 * 0.0018).fold(0.0f64, |w, x| w.max(ulps(exp(x), x.exp())));
        assert!(worst <= 2.0, "{worst}");
    }

    #[test]
    fn exp_handles_special_values() {
        assert_eq!(exp(0.0), 1.0);
        assert_eq!(exp(-0.0), 1.0);
        assert_eq!(exp(-746.0), 0.0);
        assert_eq!(exp(f64::NEG_INFINITY), 0.0);
        assert_eq!(exp(f64::MIN), 0.0);
        assert_eq!(exp(f64::INFINITY), f64::INFINITY);
        assert!(exp(f64::NAN).is_nan());
        assert!(ulps(exp(-744.4), (-744.4f64).exp()) <= 1.0, "subnormal");
    }

    #[test]
    fn ln_matches_std_near_one_and_at_every_exponent() {
        let near = (1..=200_000).map(|i| 0.5 + i as f64 * 1e-5);
        let exponents = (-1074..1024).flat_map(|e| [1.0, 1.3, 1.41, 1.42, 1.99].map(|m| m * 2f64.powi(e)));
        let worst = near.chain(exponents).fold(0.0f64, |w, x| w.max(ulps(ln(x), x.ln())));
        assert!(worst <= 3.0, "{worst}");
    }

    #[test]
    fn ln_handles_special_values() {
        assert_eq!(ln(1.0), 0.0);
        assert_eq!(ln(0.0), f64::NEG_INFINITY);
        assert_eq!(ln(-0.0), f64::NEG_INFINITY);
        assert_eq!(ln(f64::INFINITY), f64::INFINITY);
        assert!(ln(-1.0).is_nan() && ln(f64::NAN).is_nan() && ln(f64::NEG_INFINITY).is_nan());
    }

    proptest! {
        #[test]
        fn arbitrary_bits_match_std(bits: u64) {
            let x = f64::from_bits(bits);
            prop_assert!(ulps(ln(x), x.ln()) <= 3.0, "ln {x}: {} {}", ln(x), x.ln());
            prop_assert!(ulps(exp(x), x.exp()) <= 2.0, "exp {x}: {} {}", exp(x), x.exp());
        }

        #[test]
        fn vectorized_loops_return_the_same_bits_as_scalar_calls(x in prop::collection::vec(-800.0..800.0f64, 0..40)) {
            let (mut e, mut l) = (x.clone(), x.clone());
            exp_slice(&mut e);
            ln_slice(&mut l);
            for i in 0..x.len() {
                prop_assert_eq!(e[i].to_bits(), exp(x[i]).to_bits());
                prop_assert!(l[i].to_bits() == ln(x[i]).to_bits() || l[i].is_nan() && ln(x[i]).is_nan());
            }
        }
    }
}
