//! The forces of t-SNE for affinities that need be neither symmetric nor normalized, on points that attract and repel each other or on
//! new points of a fixed map: for callers that move the points themselves.

use rayon::prelude::*;

use lowland_core::{Error, Points, Result};
use lowland_linalg::Csr;
use lowland_nbody::{Engine, Kernel, KernelSum, PotentialOutput, PotentialRequest, new_engine};

use crate::objective::squared_distance;

/// Rows per task: fixed, because the order of summation depends on it.
const ROWS: usize = 256;

/// A kernel with heavy tails, `w(s) = (1 + s / scale)^-power` of squared distances `s`. With `dof` degrees of freedom, Student's t-distribution
/// has the scale `dof` and the power `(dof + 1) / 2`; that of Kobak et al. (2019) has the power `dof`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TailKernel {
    /// Number that squared distances are divided by.
    pub scale: f64,
    /// Power of the denominator.
    pub power: f64,
}

/// Attraction along affinities `p`, and repulsion by a kernel `w`.
///
/// With `u(s) = 1 / (1 + s / scale)`, the field at point `i` is `sum_j (g p_ij - w_ij / W) u_ij (y_i - y_j)`, where `g` is the exaggeration
/// and `W` the sum of the kernel: over all pairs if the points repel each other, over the map's points (`j`) for each new point. The
/// gradient of the divergence is `4 power / scale` times the field, or half of that for new points of a map.
pub struct StudentField {
    affinities: Csr,
    kernel: TailKernel,
    engine: Box<dyn KernelSum>,
}

/// A chunk of the field and the divergence of its rows.
type Part<'a> = (usize, &'a mut [f64]);

impl StudentField {
    /// Creates the field. `affinities` has a row for each point, and a column for each point or for each point of the map. Each
    /// kernel sum has a relative error of about `accuracy`, none if the engine is exact.
    pub fn new(affinities: Csr, kernel: TailKernel, dim: usize, engine: Engine, accuracy: f64) -> Result<Self> {
        for value in [kernel.scale, kernel.power] {
            if !(value > 0.0 && value.is_finite()) {
                return Err(Error::Parameter { name: "dof", value: value.to_string(), allowed: "above 0".into() });
            }
        }
        let mut engine = new_engine(engine, dim, Kernel::Cauchy { power: kernel.power })?;
        engine.set_accuracy(accuracy);
        Ok(Self { affinities, kernel, engine })
    }

    /// Name of the engine that sums the repulsion.
    pub fn engine_name(&self) -> &'static str {
        self.engine.name()
    }

    /// Writes the field at the points `y` to `out`, with the attraction multiplied by `exaggeration`. If the divergence is asked for,
    /// returns it, without exaggeration: `sum p ln(p W / w)`.
    pub fn evaluate(
        &mut self,
        y: Points,
        map: Option<Points>,
        exaggeration: f64,
        with_divergence: bool,
        out: &mut [f64],
    ) -> Result<Option<f64>> {
        let (n, d) = (y.rows(), y.dim());
        let others = map.unwrap_or(y);
        for (what, expected, found) in [
            ("points", self.affinities.rows(), n),
            ("points that the affinities refer to", self.affinities.columns(), others.rows()),
            ("dimensions of the points", others.dim(), d),
            ("values of the field", n * d, out.len()),
        ] {
            if expected != found {
                return Err(Error::Shape { what, expected, found });
            }
        }
        let (mut totals, gradients) = self.repulsion(y, others)?;
        if map.is_none() {
            // Every point meets itself.
            let total = totals.iter().map(|value| value - 1.0).sum::<f64>().max(f64::MIN_POSITIVE);
            totals.fill(total);
        }
        totals.iter_mut().for_each(|total| *total = total.max(f64::MIN_POSITIVE));
        let Self { affinities, kernel: TailKernel { scale, power }, .. } = self;
        let factor = 0.5 * scale.sqrt() / *power;
        let divergences: Vec<f64> = out
            .par_chunks_mut(ROWS * d)
            .enumerate()
            .map(|(chunk, out): Part| {
                let mut divergence = 0.0;
                for (row, out) in out.chunks_exact_mut(d).enumerate() {
                    let i = chunk * ROWS + row;
                    let point = y.row(i);
                    out.iter_mut().zip(&gradients[i * d..]).for_each(|(out, g)| *out = factor * g / totals[i]);
                    let (columns, values) = affinities.row(i);
                    for (&j, &p) in columns.iter().zip(values) {
                        let other = others.row(j as usize);
                        let square = squared_distance(point, other) / *scale;
                        let pull = exaggeration * p / (1.0 + square);
                        out.iter_mut().zip(point.iter().zip(other)).for_each(|(out, (a, b))| *out += pull * (a - b));
                        if with_divergence && p > 0.0 {
                            divergence += p * (p.ln() + totals[i].ln() + *power * square.ln_1p());
                        }
                    }
                }
                divergence
            })
            .collect();
        Ok(with_divergence.then(|| divergences.iter().sum()))
    }

    /// Returns the sum of the kernel at each point and its gradient, with coordinates in units of the kernel.
    fn repulsion(&mut self, y: Points, others: Points) -> Result<(Vec<f64>, Vec<f64>)> {
        let scale = 1.0 / self.kernel.scale.sqrt();
        let scaled = |points: Points| points.values().par_iter().map(|v| v * scale).collect::<Vec<f64>>();
        let (targets, sources) = (scaled(y), scaled(others));
        let request = PotentialRequest {
            kernel: Kernel::Cauchy { power: self.kernel.power },
            targets: Points::new(&targets, y.dim())?,
            sources: Points::new(&sources, y.dim())?,
            charges: &vec![1.0; others.rows()],
        };
        let (mut values, mut gradients) = (vec![0.0; y.rows()], vec![0.0; targets.len()]);
        let output = PotentialOutput { values: &mut values, gradients: &mut gradients };
        self.engine.potential(request, output)?;
        Ok((values, gradients))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lowland_core::Seed;

    fn affinities(rows: usize, columns: usize) -> Csr {
        let weights = Seed(3).normals(rows * 5);
        let entries = (0..rows).flat_map(|i| (0..5).map(move |k| (i, (i * 3 + k * 7 + 1) % columns, i * 5 + k)));
        let entries = entries.filter(|&(i, j, _)| rows != columns || i != j);
        let total: f64 = weights.iter().map(|w| w.abs()).sum();
        Csr::from_triplets(rows, columns, entries.map(|(i, j, at)| (i as u32, j as u32, weights[at].abs() / total)))
            .unwrap()
    }

    const CAUCHY: TailKernel = TailKernel { scale: 1.0, power: 1.0 };

    fn field(p: &Csr, kernel: TailKernel, y: &[f64], map: Option<&[f64]>, exaggeration: f64) -> (f64, Vec<f64>) {
        let mut field = StudentField::new(p.clone(), kernel, 2, Engine::Exact, 1e-3).unwrap();
        let mut out = vec![0.0; y.len()];
        let map = map.map(|values| Points::new(values, 2).unwrap());
        let value = field.evaluate(Points::new(y, 2).unwrap(), map, exaggeration, true, &mut out).unwrap();
        (value.unwrap(), out)
    }

    #[test]
    fn the_field_of_symmetric_affinities_is_the_gradient_of_the_divergence() {
        let n = 30;
        let directed = affinities(n, n);
        let mut p = directed.add(&directed.transpose()).unwrap();
        p.scale(1.0 / p.values().iter().sum::<f64>());
        let y = Seed(1).normals(2 * n);
        for (scale, power) in [(0.7, 0.85), (1.0, 1.0), (2.5, 1.75), (0.5, 0.5)] {
            let dof = TailKernel { scale, power };
            let (_, forces) = field(&p, dof, &y, None, 1.0);
            for at in [0, 7, 31] {
                let moved = |step: f64| {
                    let mut y = y.clone();
                    y[at] += step;
                    field(&p, dof, &y, None, 1.0).0
                };
                let slope = (moved(1e-5) - moved(-1e-5)) / 2e-5;
                assert!((4.0 * power / scale * forces[at] - slope).abs() < 1e-8, "{dof:?} {at}");
            }
            // The divergence does not contain the exaggeration; the field is linear in it.
            let (value, plain) = field(&p, dof, &y, None, 1.0);
            let (same, more) = field(&p, dof, &y, None, 3.0);
            let (_, none) = field(&p, dof, &y, None, 0.0);
            assert_eq!(value, same);
            assert!(more.iter().zip(&plain).zip(&none).all(|((m, p), z)| (m - z - 3.0 * (p - z)).abs() < 1e-12));
        }
    }

    #[test]
    fn new_points_of_a_map_do_not_know_of_each_other() {
        let (n, m, dof) = (12, 40, CAUCHY);
        let p = affinities(n, m);
        let (y, map) = (Seed(1).normals(2 * n), Seed(2).normals(2 * m));
        let (_, forces) = field(&p, dof, &y, Some(&map), 2.0);
        for i in 0..n {
            let one = Csr::from_triplets(1, m, p.iter().filter(|e| e.0 == i).map(|e| (0, e.1 as u32, e.2))).unwrap();
            let (_, alone) = field(&one, dof, &y[2 * i..2 * i + 2], Some(&map), 2.0);
            assert_eq!(alone, forces[2 * i..2 * i + 2]);
        }
        let normalized = p.map(|i, _, w| w / p.row_sums()[i]);
        let (_, forces) = field(&normalized, dof, &y, Some(&map), 1.0);
        let moved = |step: f64| {
            let mut y = y.clone();
            y[5] += step;
            field(&normalized, dof, &y, Some(&map), 1.0).0
        };
        assert!((2.0 * forces[5] - (moved(1e-5) - moved(-1e-5)) / 2e-5).abs() < 1e-7);
    }

    #[test]
    fn sizes_that_do_not_match_are_errors() {
        let mut field = StudentField::new(affinities(10, 10), CAUCHY, 2, Engine::Exact, 1e-3).unwrap();
        let y = Seed(1).normals(18);
        assert!(field.evaluate(Points::new(&y, 2).unwrap(), None, 1.0, false, &mut [0.0; 18]).is_err());
        assert!(
            StudentField::new(affinities(10, 10), TailKernel { power: 0.0, ..CAUCHY }, 2, Engine::Exact, 1e-3).is_err()
        );
    }
}
