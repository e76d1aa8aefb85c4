//! A kernel sum whose points are divided among several processes: each spreads its own points over the grid, the grids are added up, and
//! each reads the potential of all points at its own.
//!
//! The grid is a function of the bounds and the number of all points, so that every process has the same.

use super::binning::BinnedPoints;
use super::convolution::{Convolution, GridShape, KernelProduct};
use super::grid::{GridParams, GridRequest, choose_grid};
use super::interpolation::{BAND, gather_gradient, spread};
use super::window::{GridWindow, grid_window};
use super::{Bounds, DIMENSIONS};
use crate::{Charges, Kernel, PotentialOutput};
use lowland_core::{Error, Points, Result};

/// One process's part of the potential of unit charges under a kernel. Its methods are called in the order in which they are declared.
pub struct DividedPotential {
    kernel: Kernel,
    dim: usize,
    grid: Option<CurrentGrid>,
    bins: BinnedPoints,
    convolution: Convolution,
    potential: Vec<f64>,
}

/// The grid of the current iteration.
struct CurrentGrid {
    params: GridParams,
    shape: GridShape,
    window: Box<dyn GridWindow>,
    frame: super::binning::GridFrame,
}

fn no_grid() -> Error {
    Error::Numerical { what: "a kernel sum on a grid", reason: "there is no grid yet".into() }
}

impl DividedPotential {
    /// Creates the potential of a kernel in `dim` dimensions.
    pub fn new(kernel: Kernel, dim: usize) -> Result<Self> {
        if !DIMENSIONS.contains(&dim) {
            return Err(Error::Parameter {
                name: "n_components",
                value: dim.to_string(),
                allowed: "from 1 to 3, where the repulsion is summed on a grid".into(),
            });
        }
        let (bins, convolution) = (BinnedPoints::default(), Convolution::default());
        Ok(Self { kernel, dim, grid: None, bins, convolution, potential: Vec::new() })
    }

    /// Chooses the grid for `points` points within `bounds`, all processes together, and a relative error of the force of about
    /// `accuracy`. Returns its number of nodes.
    pub fn set_grid(&mut self, accuracy: f64, points: usize, bounds: &[[f64; 2]]) -> Result<usize> {
        let mut padded: Bounds = [[f64::INFINITY, f64::NEG_INFINITY]; 3];
        padded.iter_mut().zip(bounds).for_each(|(padded, bounds)| *padded = *bounds);
        if bounds.len() != self.dim || bounds.iter().flatten().any(|bound| !bound.is_finite()) {
            let reason = "the bounds of the points are not finite".into();
            return Err(Error::Numerical { what: "a kernel sum on a grid", reason });
        }
        let kernels = &[self.kernel];
        let request = GridRequest { accuracy, kernels, points, grids: 2, slopes: true };
        let (params, _) = choose_grid(request, self.dim, &padded)?;
        let (frame, shape) = params.grid(kernels, self.dim, &padded);
        let window = grid_window(params.order, self.dim, frame, shape.nodes);
        self.grid = Some(CurrentGrid { params, shape, window, frame });
        Ok(shape.nodes.iter().product())
    }

    /// Spreads the points of this process over the grid.
    pub fn spread(&mut self, points: Points) -> Result<Vec<f64>> {
        let CurrentGrid { shape, window, frame, .. } = self.grid.as_ref().ok_or_else(no_grid)?;
        let mut grid = vec![0.0; shape.nodes.iter().product()];
        self.bins.fill(points, frame, BAND, shape.nodes[0].div_ceil(BAND));
        let ones = vec![1.0; points.rows()];
        let charges = Charges { values: &ones, per_point: 1 };
        spread(&**window, &self.bins, points, charges, 1, shape.nodes[1] * shape.nodes[2], &mut grid);
        Ok(grid)
    }

    /// Convolves the sum of the grids of all processes with the kernel, and reads the potential and its gradients at the points that were
    /// spread. A point's own contribution `K(0) = 1` is part of its potential.
    pub fn read(&mut self, points: Points, sum: &[f64], out: PotentialOutput) -> Result<()> {
        let CurrentGrid { params, shape, window, .. } = self.grid.as_ref().ok_or_else(no_grid)?;
        let nodes: usize = shape.nodes.iter().product();
        if sum.len() != nodes {
            return Err(Error::Shape { what: "nodes of a grid", expected: nodes, found: sum.len() });
        }
        self.potential.resize(nodes, 0.0);
        let symbol = |angle| window.symbol(angle);
        self.convolution.prepare(*shape, params.spacing, params.order, &[self.kernel], &symbol);
        let products = &[KernelProduct { kernel: 0, charge: 0 }];
        self.convolution.run(*shape, sum, 1, products, &mut self.potential);
        gather_gradient(&**window, &self.bins, points, &self.potential, out);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Fft, KernelSum, PotentialRequest};
    use lowland_core::Seed;

    #[test]
    fn parts_of_the_points_add_up_to_the_sum_of_all() {
        for (kernel, dim) in [(Kernel::Cauchy { power: 1.0 }, 2), (Kernel::Gaussian, 1), (Kernel::Gaussian, 3)] {
            let values: Vec<f64> = Seed(2).normals(6000 * dim).iter().map(|v| 4.0 * v).collect();
            let all = Points::new(&values, dim).unwrap();
            let n = all.rows();
            let ones = vec![1.0; n];
            let (mut expected, mut expected_gradients) = (vec![0.0; n], vec![0.0; n * dim]);
            let mut engine = Fft::default();
            engine.set_accuracy(1e-4);
            let request = PotentialRequest { kernel, targets: all, sources: all, charges: &ones };
            let out = PotentialOutput { values: &mut expected, gradients: &mut expected_gradients };
            engine.potential(request, out).unwrap();
            let bounds: Vec<[f64; 2]> = (0..dim)
                .map(|c| {
                    let coordinates = values[c..].iter().step_by(dim);
                    let low = coordinates.clone().copied().fold(f64::INFINITY, f64::min);
                    [low, coordinates.copied().fold(f64::NEG_INFINITY, f64::max)]
                })
                .collect();
            let parts: Vec<&[f64]> =
                vec![&values[..1000 * dim], &values[1000 * dim..1001 * dim], &values[1001 * dim..]];
            let mut engines: Vec<DividedPotential> =
                parts.iter().map(|_| DividedPotential::new(kernel, dim).unwrap()).collect();
            let mut sum = Vec::new();
            for (engine, part) in engines.iter_mut().zip(&parts) {
                sum.resize(engine.set_grid(1e-4, n, &bounds).unwrap(), 0.0);
                let grid = engine.spread(Points::new(part, dim).unwrap()).unwrap();
                sum.iter_mut().zip(grid).for_each(|(sum, own)| *sum += own);
            }
            let (mut found, mut gradients) = (Vec::new(), Vec::new());
            for (engine, part) in engines.iter_mut().zip(&parts) {
                let (mut own, mut slopes) = (vec![0.0; part.len() / dim], vec![0.0; part.len()]);
                let out = PotentialOutput { values: &mut own, gradients: &mut slopes };
                engine.read(Points::new(part, dim).unwrap(), &sum, out).unwrap();
                found.extend(own);
                gradients.extend(slopes);
            }
            let largest = |values: &[f64]| values.iter().fold(0.0f64, |most, v| most.max(v.abs()));
            let differs = |a: &[f64], b: &[f64]| largest(&a.iter().zip(b).map(|(a, b)| a - b).collect::<Vec<_>>());
            assert!(differs(&found, &expected) < 1e-11 * largest(&expected), "{kernel:?}");
            assert!(differs(&gradients, &expected_gradients) < 1e-10 * largest(&expected_gradients), "{kernel:?}");
        }
    }

    #[test]
    fn a_grid_of_another_size_is_rejected() {
        let mut part = DividedPotential::new(Kernel::Gaussian, 2).unwrap();
        let points = Points::new(&[0.0, 0.0, 1.0, 1.0], 2).unwrap();
        assert!(part.spread(points).is_err());
        assert!(part.set_grid(1e-2, 2, &[[0.0, 1.0], [0.0, f64::NAN]]).is_err());
        let nodes = part.set_grid(1e-2, 2, &[[0.0, 1.0], [0.0, 1.0]]).unwrap();
        assert_eq!(part.spread(points).unwrap().len(), nodes);
        let (mut values, mut gradients) = ([0.0; 2], [0.0; 4]);
        let out = PotentialOutput { values: &mut values, gradients: &mut gradients };
        assert!(part.read(points, &vec![0.0; nodes + 1], out).is_err());
        assert!(DividedPotential::new(Kernel::Gaussian, 4).is_err());
    }
}
