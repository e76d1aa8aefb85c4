//! Cardinal B-splines: the weights of the grid nodes around a point.

/// The pieces of the spline of order `W` (degree `W - 1`), a polynomial in the point's fraction of a cell for each of the
/// `W` nodes around it: `coefficients[k][node]` belongs to `fraction^k`, so that all nodes are evaluated at once.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spline<const W: usize> {
    coefficients: [[f64; W]; W],
}

impl<const W: usize> Spline<W> {
    /// Computes the pieces by the recurrence `(n - 1) M_n(x) = x M_{n-1}(x) + (n - x) M_{n-1}(x - 1)`, piece by piece.
    pub(super) fn new() -> Self {
        // pieces[j][k]: coefficient of f^k on x = j + f.
        let mut pieces = [[0.0; W]; W];
        pieces[0][0] = 1.0;
        for n in 2..=W {
            for j in (0..n).rev() {
                let (here, before) = (pieces[j], if j > 0 { pieces[j - 1] } else { [0.0; W] });
                for k in 0..W {
                    let (lower, lower_before) = if k > 0 { (here[k - 1], before[k - 1]) } else { (0.0, 0.0) };
                    let sum = j as f64 * here[k] + lower + (n - j) as f64 * before[k] - lower_before;
                    pieces[j][k] = sum / (n - 1) as f64;
                }
            }
        }
        // The leftmost node has the point in the rightmost piece of its support.
        let mut coefficients = [[0.0; W]; W];
        for (k, row) in coefficients.iter_mut().enumerate() {
            for (node, value) in row.iter_mut().enumerate() {
                *value = pieces[W - 1 - node][k];
            }
        }
        Self { coefficients }
    }

    /// The weights of the `W` nodes, the first of which lies `W / 2 - 1` nodes before the point's cell.
    #[inline(always)]
    pub(super) fn weights(&self, fraction: f64) -> [f64; W] {
        let mut values = self.coefficients[W - 1];
        for k in (0..W - 1).rev() {
            for node in 0..W {
                values[node] = values[node] * fraction + self.coefficients[k][node];
            }
        }
        values
    }

    /// The weights and their derivatives by the fraction.
    #[inline(always)]
    pub(super) fn weights_and_slopes(&self, fraction: f64) -> ([f64; W], [f64; W]) {
        let (mut values, mut slopes) = (self.coefficients[W - 1], [0.0; W]);
        for k in (0..W - 1).rev() {
            for node in 0..W {
                slopes[node] = slopes[node] * fraction + values[node];
                values[node] = values[node] * fraction + self.coefficients[k][node];
            }
        }
        (values, slopes)
    }

    /// The discrete Fourier transform of the spline at the nodes, at an angle per node.
    pub(super) fn symbol(&self, angle: f64) -> f64 {
        let at_nodes = self.weights(0.0);
        let center = W / 2 - 1;
        (0..W - 1).map(|node| at_nodes[node] * (angle * (node as f64 - center as f64)).cos()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_sum_to_one_reproduce_lines_and_match_their_slopes() {
        let spline = Spline::<6>::new();
        for step in 0..20 {
            let fraction = f64::from(step) / 20.0;
            let (weights, slopes) = spline.weights_and_slopes(fraction);
            assert_eq!(weights, spline.weights(fraction));
            let total: f64 = weights.iter().sum();
            let mean: f64 = (0..6).map(|node| weights[node] * (node as f64 - 2.0)).sum();
            assert!((total - 1.0).abs() < 1e-12 && (mean - fraction).abs() < 1e-12, "{total} {mean}");
            let (after, before) = (spline.weights(fraction + 1e-6), spline.weights(fraction - 1e-6));
            for node in 0..6 {
                assert!(((after[node] - before[node]) / 2e-6 - slopes[node]).abs() < 1e-8);
            }
        }
    }

    #[test]
    fn cubic_spline_has_the_textbook_values() {
        let spline = Spline::<4>::new();
        let [a, b, c, d] = spline.weights(0.0);
        assert!((a - 1.0 / 6.0).abs() < 1e-15 && (b - 4.0 / 6.0).abs() < 1e-15);
        assert!((c - 1.0 / 6.0).abs() < 1e-15 && d.abs() < 1e-15);
        assert!((spline.symbol(0.0) - 1.0).abs() < 1e-15);
        assert!((spline.symbol(std::f64::consts::PI) - 1.0 / 3.0).abs() < 1e-15);
    }
}
