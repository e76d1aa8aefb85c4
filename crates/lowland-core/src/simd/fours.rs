//! Vectors of four numbers, for what no compiler makes of plain loops: rows from anywhere in memory that are to stand as
//! columns.

/// What a machine does with four numbers at once. The bits are the same on every machine: nothing is fused.
pub trait Fours: Copy {
    /// Four numbers.
    type Four: Copy;

    fn load(self, numbers: [f64; 4]) -> Self::Four;
    fn store(self, four: Self::Four) -> [f64; 4];
    fn add(self, a: Self::Four, b: Self::Four) -> Self::Four;
    fn sub(self, a: Self::Four, b: Self::Four) -> Self::Four;
    fn mul(self, a: Self::Four, b: Self::Four) -> Self::Four;
    fn div(self, a: Self::Four, b: Self::Four) -> Self::Four;
    /// The columns of four rows.
    fn transpose(self, rows: [Self::Four; 4]) -> [Self::Four; 4];

    /// One number four times.
    #[inline(always)]
    fn splat(self, number: f64) -> Self::Four {
        self.load([number; 4])
    }

    /// The sum of the four.
    #[inline(always)]
    fn sum(self, four: Self::Four) -> f64 {
        let [a, b, c, d] = self.store(four);
        (a + b) + (c + d)
    }
}

/// A loop over vectors of four. `run`, and all that it calls, must be `#[inline(always)]`: only then is it compiled for the
/// machine that it is to run on, as part of the `multiversion` function that calls [`run`]. Closures cannot be.
pub trait Loop {
    type Output;

    fn run<F: Fours>(self, fours: F) -> Self::Output;
}

/// Runs a loop with the machine's own vectors, where it has such. To be called by a function that is compiled for each machine.
#[inline(always)]
pub fn run<L: Loop>(body: L) -> L::Output {
    #[cfg(target_arch = "x86_64")]
    if let Some(machine) = pulp::x86::V3::try_new() {
        return body.run(machine);
    }
    body.run(Plain)
}

/// Runs a loop as [`run`] does, or as any machine can: to be compared.
#[doc(hidden)]
pub fn run_as<L: Loop>(body: L, plain: bool) -> L::Output {
    if plain { body.run(Plain) } else { run(body) }
}

/// Any machine.
#[derive(Clone, Copy)]
pub struct Plain;

impl Fours for Plain {
    type Four = [f64; 4];

    #[inline(always)]
    fn load(self, numbers: [f64; 4]) -> [f64; 4] {
        numbers
    }

    #[inline(always)]
    fn store(self, four: [f64; 4]) -> [f64; 4] {
        four
    }

    #[inline(always)]
    fn add(self, a: [f64; 4], b: [f64; 4]) -> [f64; 4] {
        [a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3]]
    }

    #[inline(always)]
    fn sub(self, a: [f64; 4], b: [f64; 4]) -> [f64; 4] {
        [a[0] - b[0], a[1] - b[1], a[2] - b[2], a[3] - b[3]]
    }

    #[inline(always)]
    fn mul(self, a: [f64; 4], b: [f64; 4]) -> [f64; 4] {
        [a[0] * b[0], a[1] * b[1], a[2] * b[2], a[3] * b[3]]
    }

    #[inline(always)]
    fn div(self, a: [f64; 4], b: [f64; 4]) -> [f64; 4] {
        [a[0] / b[0], a[1] / b[1], a[2] / b[2], a[3] / b[3]]
    }

    #[inline(always)]
    fn transpose(self, [a, b, c, d]: [[f64; 4]; 4]) -> [[f64; 4]; 4] {
        [[a[0], b[0], c[0], d[0]], [a[1], b[1], c[1], d[1]], [a[2], b[2], c[2], d[2]], [a[3], b[3], c[3], d[3]]]
    }
}

#[cfg(target_arch = "x86_64")]
mod avx {
    use std::arch::x86_64::__m256d;

    use pulp::x86::V3;

    use super::Fours;

    impl Fours for V3 {
        type Four = __m256d;

        #[inline(always)]
        fn load(self, numbers: [f64; 4]) -> __m256d {
            pulp::cast(numbers)
        }

        #[inline(always)]
        fn store(self, four: __m256d) -> [f64; 4] {
            pulp::cast(four)
        }

        #[inline(always)]
        fn add(self, a: __m256d, b: __m256d) -> __m256d {
            self.avx._mm256_add_pd(a, b)
        }

        #[inline(always)]
        fn sub(self, a: __m256d, b: __m256d) -> __m256d {
            self.avx._mm256_sub_pd(a, b)
        }

        #[inline(always)]
        fn mul(self, a: __m256d, b: __m256d) -> __m256d {
            self.avx._mm256_mul_pd(a, b)
        }

        #[inline(always)]
        fn div(self, a: __m256d, b: __m256d) -> __m256d {
            self.avx._mm256_div_pd(a, b)
        }

        #[inline(always)]
        fn transpose(self, [a, b, c, d]: [__m256d; 4]) -> [__m256d; 4] {
            let avx = self.avx;
            let (even_ab, odd_ab) = (avx._mm256_unpacklo_pd(a, b), avx._mm256_unpackhi_pd(a, b));
            let (even_cd, odd_cd) = (avx._mm256_unpacklo_pd(c, d), avx._mm256_unpackhi_pd(c, d));
            // The low halves of two vectors, then the high ones.
            [
                avx._mm256_permute2f128_pd::<0x20>(even_ab, even_cd),
                avx._mm256_permute2f128_pd::<0x20>(odd_ab, odd_cd),
                avx._mm256_permute2f128_pd::<0x31>(even_ab, even_cd),
                avx._mm256_permute2f128_pd::<0x31>(odd_ab, odd_cd),
            ]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Everything that four numbers can do.
    #[derive(Clone, Copy)]
    struct All([[f64; 4]; 4]);

    impl Loop for All {
        type Output = Vec<[f64; 4]>;

        #[inline(always)]
        fn run<F: Fours>(self, fours: F) -> Vec<[f64; 4]> {
            let [a, b, c, d] = self.0;
            let (x, y) = (fours.load(a), fours.load(b));
            let [p, q, r, s] = fours.transpose([x, y, fours.load(c), fours.load(d)]);
            let found =
                [fours.add(x, y), fours.sub(x, y), fours.mul(x, y), fours.div(x, y), fours.splat(a[1]), p, q, r, s];
            let mut found: Vec<[f64; 4]> = found.into_iter().map(|four| fours.store(four)).collect();
            found.push([fours.sum(x); 4]);
            found
        }
    }

    #[test]
    fn every_machine_finds_the_same_bits() {
        let rows =
            [[0.1, -2.5, 3e9, 7.0], [1.0 / 3.0, 1e-300, -0.0, 5.0], [1.1, 2.1, 3.1, 4.1], [8.0, 9.0, 10.0, 11.0]];
        let [plain, own] = [true, false].map(|plain| run_as(All(rows), plain));
        let bits = |found: &[[f64; 4]]| found.as_flattened().iter().map(|v| v.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&plain), bits(&own));
        assert_eq!(plain[5..9], [0, 1, 2, 3].map(|c| [rows[0][c], rows[1][c], rows[2][c], rows[3][c]]));
        assert_eq!(plain[9][0], (0.1 - 2.5) + (3e9 + 7.0));
    }
}
