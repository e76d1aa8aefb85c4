//! The potential of a fixed map, interpolated on a grid.

use super::MapPotential;
use lowland_core::archive::Archive;
use lowland_core::{Points, Result};
use lowland_nbody::{
    Charges, Engine, Exact, Kernel, KernelSum, KernelTerm, PotentialOutput, PotentialRequest, SumRequest, new_engine,
};

/// Number of points up to which summing over all of them is fast enough.
pub const MIN_FIELD_POINTS: usize = 5000;
/// Distance between grid nodes that is tried first, in units of the kernel; it is halved until the error is small enough.
const FIRST_SPACING: f64 = 0.5;
/// Largest number of nodes.
const MAX_NODES: usize = 1 << 23;
/// How far the grid reaches beyond the map on each side, in units of the kernel. Beyond it, points are summed.
const MARGIN: f64 = 8.0;
/// Number of points of the map where the error is measured.
const SAMPLE_SIZE: usize = 256;
/// Share of the tolerance that the sums at the nodes may use.
const SUM_SHARE: f64 = 0.3;

/// The potential of a map in two dimensions as a cubic spline, which is twice continuously differentiable: searches for a minimum
/// converge as they do on the exact sum.
#[derive(Debug, Clone, PartialEq)]
pub struct MapField {
    /// Coefficients of the B-splines, row by row.
    coefficients: Vec<f32>,
    columns: usize,
    /// Coordinates of the first node and distance between nodes, in units of the map.
    origin: [f64; 2],
    spacing: f64,
    /// Relative root mean square error of the gradient, measured at points of the map.
    error: f64,
}

/// The part of a map that a grid has to cover.
struct Extent {
    low: [f64; 2],
    size: [f64; 2],
}

impl MapField {
    /// Computes the field of a map whose relative error, of the gradient, is at most `tolerance`. Returns `None` if the points are
    /// few, the map has not two dimensions, or a grid that is fine enough would be too large.
    pub(crate) fn new(map: Points, potential: &MapPotential, tolerance: f64) -> Result<Option<Self>> {
        if map.dim() != 2 || map.rows() < MIN_FIELD_POINTS {
            return Ok(None);
        }
        // In units of the kernel.
        let unit = potential.scale.sqrt();
        let sources: Vec<f64> = map.values().iter().map(|v| v / unit).collect();
        let sources = Points::new(&sources, 2)?;
        let extent = Extent::new(sources);
        let ones;
        let charges = match potential.charges {
            Some(charges) => charges,
            None => {
                ones = vec![1.0; map.rows()];
                &ones
            }
        };
        let sample = Sample::new(sources, potential.kernel, charges)?;
        let mut spacing = FIRST_SPACING;
        while extent.nodes(spacing).is_some_and(|[columns, rows]| columns.saturating_mul(rows) <= MAX_NODES) {
            let mut field = Self::with_spacing(sources, &extent, spacing, (potential.kernel, charges), tolerance)?;
            field.error = sample.error_of(&field);
            if field.error <= tolerance {
                field.origin = field.origin.map(|v| v * unit);
                field.spacing *= unit;
                return Ok(Some(field));
            }
            spacing *= 0.5;
        }
        Ok(None)
    }

    fn with_spacing(
        sources: Points,
        extent: &Extent,
        spacing: f64,
        (kernel, charges): (Kernel, &[f64]),
        tolerance: f64,
    ) -> Result<Self> {
        let [columns, rows] = extent.nodes(spacing).expect("checked by the caller");
        let [x, y] = extent.low;
        let place = |at: usize| [x + (at % columns) as f64 * spacing, y + (at / columns) as f64 * spacing];
        let nodes: Vec<f64> = (0..columns * rows).flat_map(place).collect();
        let mut values = vec![0.0; columns * rows];
        let mut engine = new_engine(Engine::Auto, 2, kernel)?;
        engine.set_accuracy(SUM_SHARE * tolerance);
        let terms = [KernelTerm { kernel, charges: 1 }];
        let charges = Charges { values: charges, per_point: 1 };
        let request = SumRequest { terms: &terms, targets: Points::new(&nodes, 2)?, sources, charges };
        engine.sum(request, &mut values)?;
        drop(nodes);
        let mut line = Vec::new();
        for row in values.chunks_exact_mut(columns) {
            replace_with_coefficients(row, &mut line);
        }
        let mut column = vec![0.0; rows];
        for c in 0..columns {
            column.iter_mut().zip(values.iter().skip(c).step_by(columns)).for_each(|(out, v)| *out = *v);
            replace_with_coefficients(&mut column, &mut line);
            values.iter_mut().skip(c).step_by(columns).zip(&column).for_each(|(out, v)| *out = *v);
        }
        let coefficients = values.into_iter().map(|v| v as f32).collect();
        Ok(Self { coefficients, columns, origin: extent.low, spacing, error: f64::NAN })
    }

    /// Relative root mean square error of the gradient, measured at points of the map.
    pub fn error(&self) -> f64 {
        self.error
    }

    /// Number of nodes of the grid.
    pub fn nodes(&self) -> usize {
        self.coefficients.len()
    }

    /// Returns the potential and its gradient; `None` outside of the grid.
    pub(crate) fn at(&self, point: &[f64]) -> Option<(f64, [f64; 2])> {
        let rows = self.coefficients.len() / self.columns;
        let axis = |c: usize, count: usize| {
            let place = (point[c] - self.origin[c]) / self.spacing;
            // Also false if it is NaN.
            let inside = place >= 1.0 && place < (count - 2) as f64;
            inside.then(|| (place as usize - 1, spline_weights(place.fract())))
        };
        let ((column, (x, x_slopes)), (row, (y, y_slopes))) = (axis(0, self.columns)?, axis(1, rows)?);
        let (mut value, mut gradient) = (0.0, [0.0; 2]);
        for r in 0..4 {
            let line = &self.coefficients[(row + r) * self.columns + column..][..4];
            let (mut sum, mut slope) = (0.0, 0.0);
            for c in 0..4 {
                sum += x[c] * f64::from(line[c]);
                slope += x_slopes[c] * f64::from(line[c]);
            }
            value += y[r] * sum;
            gradient[0] += y[r] * slope;
            gradient[1] += y_slopes[r] * sum;
        }
        Some((value, gradient.map(|slope| slope / self.spacing)))
    }

    /// Saves the field under `name/`.
    pub fn save(&self, name: &str, archive: &mut Archive) {
        archive.put(format!("{name}/coefficients"), self.coefficients.as_slice());
        archive.put(format!("{name}/columns"), self.columns as u64);
        let [x, y] = self.origin;
        archive.put(format!("{name}/place"), [x, y, self.spacing, self.error].as_slice());
    }

    /// Loads a field that was saved under `name/`.
    pub fn load(name: &str, archive: &Archive) -> Result<Self> {
        let coefficients = archive.f32s(&format!("{name}/coefficients"))?.to_vec();
        let columns = archive.size(&format!("{name}/columns"))?;
        let &[x, y, spacing, error] = archive.finite(&format!("{name}/place"))? else {
            return Err(archive.invalid("its field has not one place".into()));
        };
        let whole = columns >= 4 && coefficients.len() % columns == 0 && coefficients.len() / columns >= 4;
        if !(whole && spacing > 0.0 && error >= 0.0 && coefficients.iter().all(|v| v.is_finite())) {
            return Err(archive.invalid("its field is not a grid of numbers".into()));
        }
        Ok(Self { coefficients, columns, origin: [x, y], spacing, error })
    }
}

impl Extent {
    fn new(points: Points) -> Self {
        let bounds = [0, 1].map(|c| {
            let column = points.values().iter().skip(c).step_by(2);
            column.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &v| (low.min(v), high.max(v)))
        });
        Self { low: bounds.map(|(low, _)| low - MARGIN), size: bounds.map(|(low, high)| high - low + 2.0 * MARGIN) }
    }

    /// Number of nodes along each axis; `None` if they cannot be counted.
    fn nodes(&self, spacing: f64) -> Option<[usize; 2]> {
        let count = self.size.map(|size| (size / spacing).ceil() + 3.0);
        count.iter().all(|&count| count < MAX_NODES as f64).then(|| count.map(|count| count as usize))
    }
}

/// Points of the map with their exact gradients.
struct Sample {
    points: Vec<f64>,
    gradients: Vec<f64>,
}

impl Sample {
    fn new(sources: Points, kernel: Kernel, charges: &[f64]) -> Result<Self> {
        let count = SAMPLE_SIZE.min(sources.rows());
        let points: Vec<f64> = (0..count).flat_map(|at| sources.row(at * sources.rows() / count)).copied().collect();
        let (mut values, mut gradients) = (vec![0.0; count], vec![0.0; points.len()]);
        let request = PotentialRequest { kernel, targets: Points::new(&points, 2)?, sources, charges };
        Exact.potential(request, PotentialOutput { values: &mut values, gradients: &mut gradients })?;
        Ok(Self { points, gradients })
    }

    fn error_of(&self, field: &MapField) -> f64 {
        let (mut wrong, mut size) = (0.0, 0.0);
        for (point, exact) in self.points.chunks_exact(2).zip(self.gradients.chunks_exact(2)) {
            let Some((_, found)) = field.at(point) else { return f64::INFINITY };
            wrong += (found[0] - exact[0]).powi(2) + (found[1] - exact[1]).powi(2);
            size += exact[0] * exact[0] + exact[1] * exact[1];
        }
        // Where points coincide, there is no force, and no error.
        if size > 0.0 { (wrong / size).sqrt() } else { 0.0 }
    }
}

/// Weights of the four B-splines around a point, and their derivatives, at a fraction of the distance between nodes.
fn spline_weights(t: f64) -> ([f64; 4], [f64; 4]) {
    let s = 1.0 - t;
    let weights = [s * s * s, 4.0 + t * t * (3.0 * t - 6.0), 4.0 + s * s * (3.0 * s - 6.0), t * t * t];
    let slopes = [-0.5 * s * s, t * (1.5 * t - 2.0), -s * (1.5 * s - 2.0), 0.5 * t * t];
    (weights.map(|w| w / 6.0), slopes)
}

/// Replaces values at nodes with the coefficients of the splines that pass through them, which continue symmetrically beyond both ends:
/// `c[i-1] + 4 c[i] + c[i+1] = 6 f[i]`, solved by elimination. `ratios` is scratch memory.
fn replace_with_coefficients(values: &mut [f64], ratios: &mut Vec<f64>) {
    let last = values.len() - 1;
    ratios.clear();
    let (mut ratio, mut before) = (0.0, 0.0);
    for (i, value) in values.iter_mut().enumerate() {
        // At the ends, both neighbors are the same.
        let (left, right) = if i == 0 {
            (0.0, 2.0)
        } else if i == last {
            (2.0, 0.0)
        } else {
            (1.0, 1.0)
        };
        let pivot = 4.0 - left * ratio;
        ratio = right / pivot;
        before = (6.0 * *value - left * before) / pivot;
        *value = before;
        ratios.push(ratio);
    }
    for i in (0..last).rev() {
        values[i] -= ratios[i] * values[i + 1];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lowland_core::Seed;
    use lowland_core::archive::ArchiveKind;

    const POINTS: usize = 6000;

    fn map() -> Vec<f64> {
        let (noise, centers) = (Seed(1).normals(2 * POINTS), Seed(2).normals(20));
        noise.iter().enumerate().map(|(at, v)| 2.0 * v + 12.0 * centers[at / 2 % 10 * 2 + at % 2]).collect()
    }

    #[test]
    fn the_field_is_the_sum_within_the_tolerance_and_its_gradient_is_its_derivative() {
        let map = map();
        let points = Points::new(&map, 2).unwrap();
        let charges: Vec<f64> = Seed(3).normals(POINTS).iter().map(|v| 1.0 + 0.5 * v).collect();
        let kernels = [Kernel::Gaussian, Kernel::Cauchy { power: 1.0 }, Kernel::Cauchy { power: 2.0 }];
        for (kernel, scale) in kernels.into_iter().flat_map(|kernel| [(kernel, 1.0), (kernel, 2.25)]) {
            for charges in [None, Some(charges.as_slice())] {
                let potential = MapPotential { kernel, scale, charges };
                let field = MapField::new(points, &potential, 1e-3).unwrap().expect("a small map");
                assert!(field.error() <= 1e-3);
                // Between the points of the map, where the error was not measured.
                let (mut wrong, mut size) = (0.0, 0.0);
                for point in Seed(4).normals(200).chunks_exact(2).map(|p| [8.0 * p[0], 8.0 * p[1]]) {
                    let mut exact = (0.0, [0.0; 2]);
                    let (slope, next) = kernel.derivative();
                    for (j, other) in map.chunks_exact(2).enumerate() {
                        let d = [point[0] - other[0], point[1] - other[1]];
                        let (square, charge) = ((d[0] * d[0] + d[1] * d[1]) / scale, charges.map_or(1.0, |q| q[j]));
                        exact.0 += charge * kernel.value(square);
                        let factor = -2.0 * charge * slope * next.value(square) / scale;
                        (0..2).for_each(|c| exact.1[c] += factor * d[c]);
                    }
                    let (value, gradient) = field.at(&point).unwrap();
                    assert!((value - exact.0).abs() < 2e-3 * exact.0.abs().max(1.0), "{kernel:?} {value} {exact:?}");
                    for c in 0..2 {
                        wrong += (gradient[c] - exact.1[c]).powi(2);
                        size += exact.1[c].powi(2);
                        let moved = |by: f64| {
                            let mut point = point;
                            point[c] += by;
                            field.at(&point).unwrap().0
                        };
                        let difference = (moved(1e-5) - moved(-1e-5)) / 2e-5;
                        assert!((difference - gradient[c]).abs() < 1e-4 * exact.0.abs().max(1.0), "{kernel:?}");
                    }
                }
                assert!((wrong / size).sqrt() < 2e-3, "{kernel:?} {}", (wrong / size).sqrt());
            }
        }
    }

    #[test]
    fn splines_pass_through_the_values_at_the_nodes() {
        let values: Vec<f64> = Seed(5).normals(50);
        let mut coefficients = values.clone();
        replace_with_coefficients(&mut coefficients, &mut Vec::new());
        let (weights, _) = spline_weights(0.0);
        for i in 1..49 {
            let found: f64 = (0..3).map(|at| weights[at] * coefficients[i - 1 + at]).sum();
            assert!((found - values[i]).abs() < 1e-13);
        }
        for t in [0.0, 0.3, 0.99] {
            let (weights, slopes) = spline_weights(t);
            assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-15 && slopes.iter().sum::<f64>().abs() < 1e-15);
        }
    }

    #[test]
    fn there_is_no_field_of_few_points_of_wide_maps_or_in_other_dimensions() {
        let map = map();
        let potential = MapPotential { kernel: Kernel::Gaussian, scale: 1.0, charges: None };
        let field = |values: &[f64], dim: usize| {
            MapField::new(Points::new(values, dim).unwrap(), &potential, 1e-2).unwrap().is_some()
        };
        assert!(field(&map, 2));
        assert!(!field(&map[..2 * (MIN_FIELD_POINTS - 1)], 2));
        assert!(!field(&Seed(6).normals(3 * POINTS), 3));
        assert!(!field(&map.iter().map(|v| 1e5 * v).collect::<Vec<_>>(), 2));
        // All at the same place.
        assert!(field(&vec![1.0; 2 * POINTS], 2));
    }

    #[test]
    fn a_field_is_loaded_as_it_was_saved_and_is_none_outside_of_the_grid() {
        let map = map();
        let potential = MapPotential { kernel: Kernel::Cauchy { power: 1.0 }, scale: 1.0, charges: None };
        let field = MapField::new(Points::new(&map, 2).unwrap(), &potential, 1e-2).unwrap().unwrap();
        for point in [[1e4, 0.0], [0.0, -1e4], [f64::NAN, 0.0], [f64::INFINITY, 0.0]] {
            assert!(field.at(&point).is_none());
        }
        let mut archive = Archive::new(ArchiveKind::Model);
        field.save("field", &mut archive);
        assert_eq!(MapField::load("field", &archive).unwrap(), field);
        for (name, array) in [("coefficients", vec![1.0f32; 10]), ("coefficients", vec![f32::NAN; field.nodes()])] {
            let mut archive = archive.clone();
            archive.put(format!("field/{name}"), array);
            assert!(MapField::load("field", &archive).is_err());
        }
        archive.put("field/place", vec![0.0, 0.0, 0.0, 0.0]);
        assert!(MapField::load("field", &archive).is_err());
    }
}
