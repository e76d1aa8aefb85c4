//! Functions of two coordinates with their first two derivatives at a place.

use super::Radial;

/// Value, gradient and second derivatives (xx, xy, yy) of a function of two coordinates.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Jet {
    /// The value.
    pub value: f64,
    /// First derivatives.
    pub gradient: [f64; 2],
    /// Second derivatives: xx, xy, yy.
    pub hessian: [f64; 3],
}

impl Jet {
    /// Adds `factor` times another function.
    pub fn add(&mut self, factor: f64, other: &Self) {
        self.value += factor * other.value;
        self.gradient.iter_mut().zip(other.gradient).for_each(|(v, o)| *v += factor * o);
        self.hessian.iter_mut().zip(other.hessian).for_each(|(v, o)| *v += factor * o);
    }

    /// Adds a function of the squared distance from `there`, given its value and derivatives by that.
    pub fn add_of_square(&mut self, [value, slope, curvature]: [f64; 3], y: [f64; 2], there: [f64; 2]) {
        let d = [y[0] - there[0], y[1] - there[1]];
        self.value += value;
        self.gradient[0] += 2.0 * slope * d[0];
        self.gradient[1] += 2.0 * slope * d[1];
        self.hessian[0] += 2.0 * slope + 4.0 * curvature * d[0] * d[0];
        self.hessian[1] += 4.0 * curvature * d[0] * d[1];
        self.hessian[2] += 2.0 * slope + 4.0 * curvature * d[1] * d[1];
    }

    /// Adds `factor` times a radial function around `there`.
    pub fn add_radial(&mut self, factor: f64, radial: Radial, y: [f64; 2], there: [f64; 2]) {
        let square = (y[0] - there[0]).powi(2) + (y[1] - there[1]).powi(2);
        self.add_of_square(radial.derivatives(square).map(|v| factor * v), y, there);
    }

    /// Returns `g` of this function, given `g` and its first two derivatives at the value.
    pub fn compose(&self, [value, slope, curvature]: [f64; 3]) -> Self {
        let [x, y] = self.gradient;
        let squares = [x * x, x * y, y * y];
        let mut hessian = self.hessian;
        hessian.iter_mut().zip(squares).for_each(|(h, square)| *h = slope * *h + curvature * square);
        Self { value, gradient: [slope * x, slope * y], hessian }
    }

    /// Returns the function in coordinates that are `unit` times larger.
    pub fn stretch(mut self, unit: f64) -> Self {
        self.gradient.iter_mut().for_each(|v| *v /= unit);
        self.hessian.iter_mut().for_each(|v| *v /= unit * unit);
        self
    }

    /// Returns the eigenvalues of the second derivatives, the larger one first, with a unit eigenvector of it.
    pub fn curvatures(&self) -> ([f64; 2], [f64; 2]) {
        let [a, b, c] = self.hessian;
        let (mean, half) = (0.5 * (a + c), 0.5 * (a - c));
        let radius = (half * half + b * b).sqrt();
        // The eigenvector in the form without cancellation.
        let vector = if half >= 0.0 { [half + radius, b] } else { [b, radius - half] };
        let length = (vector[0] * vector[0] + vector[1] * vector[1]).sqrt();
        let unit = if length > 0.0 { [vector[0] / length, vector[1] / length] } else { [1.0, 0.0] };
        ([mean + radius, mean - radius], unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curvatures_are_eigenvalues_with_an_eigenvector() {
        for hessian in [[2.0, 1.0, 3.0], [3.0, -0.5, 1.0], [1.0, 0.0, 1.0], [0.0, 2.0, 0.0], [1.0, 0.0, 4.0]] {
            let jet = Jet { hessian, ..Jet::default() };
            let ([large, small], [x, y]) = jet.curvatures();
            let [a, b, c] = hessian;
            assert!((large + small - a - c).abs() < 1e-12 && (large * small - (a * c - b * b)).abs() < 1e-12);
            assert!((a * x + b * y - large * x).abs() < 1e-12 && (b * x + c * y - large * y).abs() < 1e-12);
            assert!((x * x + y * y - 1.0).abs() < 1e-12);
        }
    }
}
