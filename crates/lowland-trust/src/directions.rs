//! The leading local directions of the data, and rows along them.

use lowland_core::Dense;
use lowland_core::simd::simd_dispatch;

/// Neighbors from which the directions of a row are computed.
pub(crate) const LOCAL_ROWS: usize = 15;
/// Number of directions in which a row is moved, forward and back.
pub(crate) const DIRECTIONS: usize = 2;
/// Steps of the power iteration for a direction.
const POWER_STEPS: usize = 8;
/// Smallest squared length of a direction, in units of the squares of the differences' largest value.
const MIN_SQUARE: f32 = 1e-6;
/// Values of a row that are multiplied at a time. Also the padded number of rows.
const LANES: usize = 16;

/// Buffers for the directions of one row.
#[derive(Default)]
pub(crate) struct LocalDirections {
    /// Differences of the nearest rows from the row, padded with zeros, in units of the largest.
    differences: Vec<f32>,
    direction: Vec<f32>,
    padded_row: Vec<f32>,
    /// For each direction that was found, the differences of all neighbors from the row along it.
    pub along: Vec<Vec<f64>>,
    found: usize,
}

impl LocalDirections {
    /// Finds the principal directions of the first neighbors around row `i`, and projects the differences of all neighbors on
    /// them. Rows that are all equal have no directions.
    pub fn find(&mut self, data: &Dense, i: usize, neighbors: &[u32]) -> &[Vec<f64>] {
        let (own, padded) = (data.row(i), data.row(i).len().next_multiple_of(LANES));
        self.found = 0;
        self.along.resize(DIRECTIONS, Vec::new());
        let local = &neighbors[..LOCAL_ROWS.min(neighbors.len())];
        self.differences.clear();
        self.differences.resize(LANES * padded, 0.0);
        let mut largest = 0f32;
        for (row, &j) in self.differences.chunks_exact_mut(padded).zip(local) {
            for ((out, a), b) in row.iter_mut().zip(data.row(j as usize)).zip(own) {
                *out = a - b;
                largest = largest.max(out.abs());
            }
        }
        if !(largest > 0.0 && largest.is_finite()) {
            return &[];
        }
        // Squares neither overflow nor vanish.
        let inverse = 1.0 / largest;
        self.differences.iter_mut().for_each(|v| *v *= inverse);
        let mut products = products(&self.differences, padded);
        for _ in 0..DIRECTIONS {
            let Some(shares) = leading_shares(&mut products) else { break };
            combine(&self.differences, &shares, &mut self.direction);
            let along = &mut self.along[self.found];
            along.clear();
            for &j in neighbors {
                let row = data.row(j as usize);
                self.padded_row.clear();
                self.padded_row.extend_from_slice(row);
                self.padded_row.resize(padded, 0.0);
                along.push(f64::from(difference_along(&self.padded_row, own, &self.direction)));
            }
            self.found += 1;
        }
        &self.along[..self.found]
    }
}

type Products = [[f32; LANES]; LANES];

/// Inner products of the rows.
#[simd_dispatch]
fn products(rows: &[f32], width: usize) -> Products {
    let mut products = [[0.0; LANES]; LANES];
    for a in 0..LOCAL_ROWS {
        for b in a..LOCAL_ROWS {
            let mut lanes = [0f32; LANES];
            let pair = rows[a * width..(a + 1) * width].chunks_exact(LANES).zip(rows[b * width..].chunks_exact(LANES));
            for (x, y) in pair {
                for lane in 0..LANES {
                    lanes[lane] += x[lane] * y[lane];
                }
            }
            let sum = sum_lanes(lanes);
            (products[a][b], products[b][a]) = (sum, sum);
        }
    }
    products
}

/// Returns the shares of the rows in the unit vector of their largest variance, by power iteration from the longest row, and removes that
/// vector from the products.
#[simd_dispatch]
fn leading_shares(products: &mut Products) -> Option<[f32; LANES]> {
    let mut shares = [0f32; LANES];
    let mut longest = 0;
    for r in 1..LANES {
        longest = if products[r][r] > products[longest][longest] { r } else { longest };
    }
    shares[longest] = 1.0;
    for _ in 0..POWER_STEPS {
        let next = multiply(products, &shares);
        let mut square = 0.0;
        for lane in 0..LANES {
            square += next[lane] * next[lane];
        }
        if !(square > 0.0) {
            return None;
        }
        let inverse = 1.0 / square.sqrt();
        for lane in 0..LANES {
            shares[lane] = next[lane] * inverse;
        }
    }
    let image = multiply(products, &shares);
    let mut square = 0.0;
    for lane in 0..LANES {
        square += image[lane] * shares[lane];
    }
    // Of rows along one direction, rounding errors remain.
    if !(square > MIN_SQUARE) {
        return None;
    }
    let inverse = 1.0 / square.sqrt();
    for r in 0..LANES {
        for lane in 0..LANES {
            products[r][lane] -= (image[r] * inverse) * (image[lane] * inverse);
        }
    }
    for lane in 0..LANES {
        shares[lane] *= inverse;
    }
    Some(shares)
}

#[inline(always)]
fn multiply(products: &Products, shares: &[f32; LANES]) -> [f32; LANES] {
    let mut out = [0f32; LANES];
    for r in 0..LANES {
        for lane in 0..LANES {
            out[lane] += products[r][lane] * shares[r];
        }
    }
    out
}

/// Sums the rows with their shares.
#[simd_dispatch]
fn combine(rows: &[f32], shares: &[f32; LANES], out: &mut Vec<f32>) {
    let width = rows.len() / LANES;
    out.clear();
    out.resize(width, 0.0);
    for (row, share) in rows.chunks_exact(width).zip(shares) {
        for (out, v) in out.iter_mut().zip(row) {
            *out += share * v;
        }
    }
}

/// Returns the difference of a padded row from `own` along a padded direction.
#[simd_dispatch]
fn difference_along(row: &[f32], own: &[f32], direction: &[f32]) -> f32 {
    let mut lanes = [0f32; LANES];
    let whole = own.len() / LANES * LANES;
    let parts = row[..whole].chunks_exact(LANES).zip(own.chunks_exact(LANES)).zip(direction.chunks_exact(LANES));
    for ((x, own), direction) in parts {
        for lane in 0..LANES {
            lanes[lane] += (x[lane] - own[lane]) * direction[lane];
        }
    }
    let mut sum = sum_lanes(lanes);
    for c in whole..own.len() {
        sum += (row[c] - own[c]) * direction[c];
    }
    sum
}

#[inline(always)]
fn sum_lanes(mut lanes: [f32; LANES]) -> f32 {
    let mut width = LANES / 2;
    while width > 0 {
        for lane in 0..width {
            lanes[lane] += lanes[lane + width];
        }
        width /= 2;
    }
    lanes[0]
}

#[cfg(test)]
mod tests {
    use super::*;
    use lowland_core::Data;

    #[test]
    fn directions_are_those_of_the_largest_variance() {
        let row = |i: i32| {
            let t = i as f32 - 8.0;
            [t, 0.3 * (t * 7.0).sin(), 0.01 * (t * 3.0).cos()]
        };
        // Also at a scale at which squares vanish, and wider than a vector.
        for (scale, width) in [(1.0, 3), (1e-25, 3), (1.0, 40)] {
            let values = (0..20).flat_map(|i| {
                let mut values = row(i).map(|v| scale * v).to_vec();
                values.resize(width, 0.0);
                values
            });
            let data = Data::dense(values.collect(), width).unwrap();
            let Data::Dense(data) = &data else { unreachable!() };
            let neighbors: Vec<u32> = (0..16).filter(|&j| j != 8).chain([18]).collect();
            let mut directions = LocalDirections::default();
            let found = directions.find(data, 8, &neighbors);
            assert_eq!(found.len(), 2);
            let sign = found[0][15].signum();
            for (&j, along) in neighbors.iter().zip(&found[0]) {
                let expected = f64::from(scale) * (f64::from(j) - 8.0);
                assert!((sign * along - expected).abs() < 0.02 * f64::from(scale) * 8.0, "{j}: {along} {expected}");
            }
            // Further away, the part of the first direction in the second one counts.
            let expected = |j: u32| f64::from(scale * (row(j as i32)[1] - row(8)[1]));
            let pairs = || neighbors[..15].iter().zip(&found[1]);
            let sign = pairs().map(|(&j, along)| along * expected(j)).sum::<f64>().signum();
            for (&j, along) in pairs() {
                assert!((sign * along - expected(j)).abs() < 0.15 * f64::from(scale), "{j}: {along} {}", expected(j));
            }
        }
    }

    #[test]
    fn equal_rows_have_no_directions_and_rows_on_a_line_one() {
        let Data::Dense(data) = Data::dense(vec![1.5; 16 * 4], 4).unwrap() else { unreachable!() };
        let neighbors: Vec<u32> = (1..16).collect();
        assert!(LocalDirections::default().find(&data, 0, &neighbors).is_empty());
        let line = (0..16).flat_map(|i| [i as f32, 2.0 * i as f32]).collect();
        let Data::Dense(data) = Data::dense(line, 2).unwrap() else { unreachable!() };
        assert_eq!(LocalDirections::default().find(&data, 0, &neighbors).len(), 1);
    }
}
