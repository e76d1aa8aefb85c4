//! Points of a map that are divided among several processes: what every method needs of them.

use rayon::prelude::*;

use lowland_core::{Error, Points, Result};
use lowland_nbody::{DividedPotential, Exact, Kernel, KernelSum, PotentialOutput, PotentialRequest};

/// Points per task: fixed, because the order of summation depends on it.
pub(crate) const CHUNK: usize = 1024;

/// Minimum and maximum of each coordinate.
pub type CoordinateBounds = Vec<[f64; 2]>;

/// The affinities of the points of one process, by rows. Columns below the number of points are the points themselves, the others copies.
#[derive(Debug, Clone, PartialEq)]
pub struct DividedAffinities {
    /// Start of each row.
    pub starts: Vec<usize>,
    /// Column of each affinity.
    pub columns: Vec<u32>,
    /// The affinities; those of all processes together sum to one.
    pub values: Vec<f64>,
    /// Number of copies.
    pub copies: usize,
}

impl DividedAffinities {
    /// Returns the number of points of the process.
    pub fn own(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// Returns an error if the arrays do not fit each other.
    pub(crate) fn check(&self) -> Result<()> {
        let invalid = |reason: &str| Err(Error::Format { what: "part of an embedding", reason: reason.into() });
        let entries = self.columns.len();
        let rises = self.starts.first() == Some(&0)
            && self.starts.is_sorted()
            && self.starts.last() == Some(&entries)
            && self.values.len() == entries;
        if !rises {
            return invalid("the rows of the affinities do not follow each other");
        }
        let points = self.own() + self.copies;
        if self.columns.iter().any(|&column| column as usize >= points) {
            return invalid("an affinity leads to a point that is not there");
        }
        if self.values.iter().any(|value| !value.is_finite()) {
            return invalid("an affinity is not finite");
        }
        Ok(())
    }
}

/// The points of one process, the copies of points of others, and the potential of all points.
pub struct DividedPoints {
    kernel: Kernel,
    /// Coordinates are multiplied by this before the kernel is applied.
    unit: f64,
    /// Number of points of all processes.
    total: usize,
    dim: usize,
    own: usize,
    /// Positions of the points, then of the copies.
    all: Vec<f64>,
    potential: DividedPotential,
    /// Positions of the points in units of the kernel.
    scaled: Vec<f64>,
    /// The potential at the points, their own part included.
    pub(crate) values: Vec<f64>,
    /// Gradients of the potential by coordinates in units of the kernel.
    pub(crate) gradients: Vec<f64>,
}

impl DividedPoints {
    /// Creates the points of a process at `start`, under a kernel of squared distances divided by `scale`; `total` is the number of points of
    /// all processes.
    pub(crate) fn new(
        (kernel, scale): (Kernel, f64),
        total: usize,
        dim: usize,
        affinities: &DividedAffinities,
        start: Vec<f64>,
    ) -> Result<Self> {
        affinities.check()?;
        let own = affinities.own();
        if start.len() != own * dim {
            return Err(Error::Shape { what: "starting positions of a part", expected: own * dim, found: start.len() });
        }
        if start.iter().any(|value| !value.is_finite()) {
            return Err(Error::Format { what: "part of an embedding", reason: "a position is not finite".into() });
        }
        let mut all = start;
        all.resize((own + affinities.copies) * dim, 0.0);
        Ok(Self {
            kernel,
            unit: 1.0 / scale.sqrt(),
            total,
            dim,
            own,
            all,
            potential: DividedPotential::new(kernel, dim)?,
            scaled: vec![0.0; own * dim],
            values: vec![0.0; own],
            gradients: vec![0.0; own * dim],
        })
    }

    /// Positions of the points of this process.
    pub fn positions(&self) -> &[f64] {
        &self.all[..self.own * self.dim]
    }

    /// Positions of the points, then of the copies.
    pub(crate) fn with_copies(&self) -> &[f64] {
        &self.all
    }

    pub(crate) fn positions_mut(&mut self) -> &mut [f64] {
        &mut self.all[..self.own * self.dim]
    }

    /// Returns the sum of each coordinate, and its bounds.
    pub fn sums_and_bounds(&self) -> (Vec<f64>, CoordinateBounds) {
        let mut bounds = vec![[f64::INFINITY, f64::NEG_INFINITY]; self.dim];
        for point in self.positions().chunks_exact(self.dim) {
            for (bounds, &x) in bounds.iter_mut().zip(point) {
                *bounds = [bounds[0].min(x), bounds[1].max(x)];
            }
        }
        (column_sums(self.positions(), self.dim), bounds)
    }

    /// Moves the mean of all points, `mean`, to the origin, and spreads the points over the grid for all points within `bounds`, which are
    /// those before the move. Returns the grid of this process.
    pub fn begin(&mut self, mean: &[f64], bounds: &[[f64; 2]], accuracy: f64) -> Result<Vec<f64>> {
        let (dim, unit) = (self.dim, self.unit);
        if mean.len() != dim || bounds.len() != dim {
            return Err(Error::Shape { what: "coordinates of the mean", expected: dim, found: mean.len() });
        }
        let positions = self.all[..self.own * dim].par_chunks_mut(CHUNK * dim);
        positions.zip(self.scaled.par_chunks_mut(CHUNK * dim)).for_each(|(positions, scaled)| {
            for (position, scaled) in positions.chunks_exact_mut(dim).zip(scaled.chunks_exact_mut(dim)) {
                for c in 0..dim {
                    position[c] -= mean[c];
                    scaled[c] = position[c] * unit;
                }
            }
        });
        let bounds: Vec<[f64; 2]> =
            bounds.iter().zip(mean).map(|(bounds, mean)| bounds.map(|bound| (bound - mean) * unit)).collect();
        let width = bounds.iter().map(|[low, high]| high - low).fold(0.0, f64::max);
        self.potential.set_grid(accuracy, self.total, &bounds).map_err(|error| match error {
            // Where points are divided, there is no other engine.
            Error::Numerical { what, .. } if bounds.iter().flatten().all(|bound| bound.is_finite()) => Error::Numerical {
                what,
                reason: format!(
                    "a map {width:.0} wide needs too large a grid for an error of {accuracy}: raise tolerance or, of tsne, exaggeration; or fit a sample, and place the other rows"
                ),
            },
            error => error,
        })?;
        self.potential.spread(Points::new(&self.scaled, dim)?)
    }

    /// Returns the positions of some points, for the copies of other processes.
    pub fn positions_of(&self, points: &[u32]) -> Result<Vec<f64>> {
        self.check_points(points)?;
        let row = |&point: &u32| &self.all[point as usize * self.dim..][..self.dim];
        Ok(points.iter().flat_map(row).copied().collect())
    }

    /// Returns an error if one of the points is not of this process.
    pub(crate) fn check_points(&self, points: &[u32]) -> Result<()> {
        match points.iter().find(|&&point| point as usize >= self.own) {
            Some(&point) => {
                Err(Error::Shape { what: "points of a part", expected: self.own, found: point as usize + 1 })
            }
            None => Ok(()),
        }
    }

    /// Sets the positions of the copies.
    pub fn set_copies(&mut self, copies: &[f64]) -> Result<()> {
        let own = self.own * self.dim;
        if copies.len() != self.all.len() - own {
            let expected = self.all.len() - own;
            return Err(Error::Shape { what: "positions of copies", expected, found: copies.len() });
        }
        self.all[own..].copy_from_slice(copies);
        Ok(())
    }

    /// Reads the potential and its gradients from the sum of the grids; returns the sum of the potential.
    pub(crate) fn read(&mut self, sum: &[f64]) -> Result<f64> {
        let out = PotentialOutput { values: &mut self.values, gradients: &mut self.gradients };
        self.potential.read(Points::new(&self.scaled, self.dim)?, sum, out)?;
        Ok(chunked_sum(&self.values))
    }

    /// Returns the sum of the squares of all coordinates.
    pub(crate) fn size(&self) -> f64 {
        let parts: Vec<f64> = self.positions().par_chunks(CHUNK).map(|y| y.iter().map(|y| y * y).sum()).collect();
        parts.iter().sum()
    }

    /// Returns the exact potential of the points of this process and its gradients at some positions, in units of the kernel: added up over
    /// the processes, they tell the error of those read off the grid.
    pub fn exact_sums(&self, targets: &[f64]) -> Result<(Vec<f64>, Vec<f64>)> {
        let (mut values, mut gradients) = (vec![0.0; targets.len() / self.dim], vec![0.0; targets.len()]);
        let ones = vec![1.0; self.own];
        let (targets, sources) = (Points::new(targets, self.dim)?, Points::new(&self.scaled, self.dim)?);
        let request = PotentialRequest { kernel: self.kernel, targets, sources, charges: &ones };
        Exact.potential(request, PotentialOutput { values: &mut values, gradients: &mut gradients })?;
        Ok((values, gradients))
    }

    /// Returns the positions of some points in units of the kernel, and the potential and its gradients that were read off the grid there.
    pub fn grid_sums(&self, points: &[u32]) -> Result<[Vec<f64>; 3]> {
        self.check_points(points)?;
        let rows = |values: &[f64], dim: usize| {
            points.iter().flat_map(|&point| values[point as usize * dim..][..dim].to_vec()).collect::<Vec<f64>>()
        };
        Ok([rows(&self.scaled, self.dim), rows(&self.values, 1), rows(&self.gradients, self.dim)])
    }
}

/// Copies a saved state over the current one; the parts must have the same sizes.
pub(crate) fn restore_parts<const P: usize>(current: [&mut [f64]; P], saved: [&[f64]; P]) -> Result<()> {
    for (current, saved) in current.iter().zip(&saved) {
        if current.len() != saved.len() {
            return Err(Error::Shape { what: "state of a part", expected: current.len(), found: saved.len() });
        }
    }
    current.into_iter().zip(saved).for_each(|(current, saved)| current.copy_from_slice(saved));
    Ok(())
}

/// Sums in chunks, in order.
fn chunked_sum(values: &[f64]) -> f64 {
    values.par_chunks(CHUNK).map(|chunk| chunk.iter().sum()).collect::<Vec<f64>>().iter().sum()
}

/// The sum of each column.
pub(crate) fn column_sums(values: &[f64], dim: usize) -> Vec<f64> {
    let sums = |rows: &[f64]| {
        rows.chunks_exact(dim).fold(vec![0.0; dim], |mut sums, row| {
            sums.iter_mut().zip(row).for_each(|(sum, v)| *sum += v);
            sums
        })
    };
    let parts: Vec<Vec<f64>> = values.par_chunks(CHUNK * dim).map(sums).collect();
    parts.into_iter().fold(vec![0.0; dim], |mut sums, part| {
        sums.iter_mut().zip(part).for_each(|(sum, v)| *sum += v);
        sums
    })
}
