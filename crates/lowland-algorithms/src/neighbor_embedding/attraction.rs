//! The attraction of an embedding's points along their affinities, stored in the order of the points on the map.

use super::attraction_kernel::AttractionKernel;
use crate::objective::edge_sums::PaddedPointsBuffer;
use lowland_core::archive::Archive;
use lowland_core::{MemoryOrder, Points, Result};
use lowland_linalg::Csr;

/// Symmetric weights with their row sums.
pub(super) struct Attraction {
    numbering: MemoryOrder,
    /// In the order of `numbering`, like all other fields.
    weights: Csr,
    degrees: Vec<f64>,
    coordinates: Vec<f64>,
    forces: Vec<f64>,
    buffer: PaddedPointsBuffer,
}

impl Attraction {
    pub fn new(weights: Csr) -> Self {
        let degrees = weights.row_sums();
        let (coordinates, forces) = (Vec::new(), Vec::new());
        Self {
            numbering: MemoryOrder::default(),
            weights,
            degrees,
            coordinates,
            forces,
            buffer: PaddedPointsBuffer::default(),
        }
    }

    /// Number of points.
    pub fn points(&self) -> usize {
        self.weights.rows()
    }

    /// Returns the weights in the order of the points.
    pub fn matrix(&self) -> Csr {
        if self.numbering.is_natural() { self.weights.clone() } else { self.weights.renumber(&self.numbering.rows()) }
    }

    /// Returns the row sums of the weights in the order of the points.
    pub fn degrees(&self) -> Vec<f64> {
        let mut degrees = self.degrees.clone();
        self.numbering.scatter(&self.degrees, 1, &mut degrees);
        degrees
    }

    /// See [`AttractionKernel::forces`].
    pub fn forces(&mut self, kernel: AttractionKernel, y: Points, with_value: bool, out: &mut [f64]) -> Option<f64> {
        if self.numbering.is_natural() {
            return kernel.forces(&self.weights, &self.degrees, y, with_value, &mut self.buffer, out);
        }
        self.numbering.gather(y.values(), y.dim(), &mut self.coordinates);
        self.forces.resize(out.len(), 0.0);
        let coordinates = Points::new(&self.coordinates, y.dim()).expect("whole rows");
        let found =
            kernel.forces(&self.weights, &self.degrees, coordinates, with_value, &mut self.buffer, &mut self.forces);
        self.numbering.scatter(&self.forces, y.dim(), out);
        found
    }

    /// See [`AttractionKernel::derivative_sums`].
    pub fn derivative_sums(&mut self, kernel: AttractionKernel, y: Points) -> [f64; 2] {
        if self.numbering.is_natural() {
            return kernel.derivative_sums(&self.weights, y);
        }
        self.numbering.gather(y.values(), y.dim(), &mut self.coordinates);
        kernel.derivative_sums(&self.weights, Points::new(&self.coordinates, y.dim()).expect("whole rows"))
    }

    /// Reorders the rows along the map if there are many and a reordering is due at this iteration.
    pub fn begin_iteration(&mut self, iteration: usize, y: Points) {
        if let Some(rows) = self.numbering.reorder_if_due(iteration, y) {
            self.reorder(&rows);
        }
    }

    fn reorder(&mut self, rows: &[u32]) {
        self.weights.renumber_in_place(rows);
        self.degrees = rows.iter().map(|&row| self.degrees[row as usize]).collect();
    }

    pub fn save(&self, archive: &mut Archive) {
        self.numbering.save(archive, self.points());
    }

    pub fn restore(&mut self, archive: &Archive) -> Result<()> {
        if let Some(order) = MemoryOrder::load(archive, self.points())? {
            let rows = self.numbering.set_order(order);
            self.reorder(&rows);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lowland_core::Seed;
    use lowland_core::archive::ArchiveKind;
    use lowland_neighbors::graph::{Symmetrization, symmetrize};

    fn weights(n: usize) -> Csr {
        let links = (0..n).flat_map(|i| (1..=12).map(move |step| (i as u32, ((i * 31 + step * 17) % n) as u32)));
        let weighted = links.filter(|(i, j)| i != j).enumerate().map(|(at, (i, j))| (i, j, 1.0 + (at % 7) as f64));
        symmetrize(&Csr::from_triplets(n, n, weighted).unwrap(), Symmetrization::Average).unwrap()
    }

    /// Returns another order of `n` points.
    fn permutation(n: u32, step: u32) -> Vec<u32> {
        (0..n).map(|i| i * step % n).collect()
    }

    #[test]
    fn reordering_changes_forces_only_by_rounding_and_is_reversible() {
        let (n, given) = (3000, weights(3000));
        let mut attraction = Attraction::new(given.clone());
        for d in [1, 2, 3, 4] {
            let map = Seed(d as u64).normals(n * d);
            let y = Points::new(&map, d).unwrap();
            for kernel in [AttractionKernel::Quadratic, AttractionKernel::Student { dof: 1.0 }] {
                let mut plain = vec![0.0; n * d];
                let value = Attraction::new(given.clone()).forces(kernel, y, true, &mut plain).unwrap();
                let sums = Attraction::new(given.clone()).derivative_sums(kernel, y);
                // From one order to the next, as during the iterations.
                for step in [7, 1201] {
                    let rows = attraction.numbering.set_order(permutation(n as u32, step));
                    attraction.reorder(&rows);
                    let mut force = vec![f64::NAN; n * d];
                    let found = attraction.forces(kernel, y, true, &mut force).unwrap();
                    assert!(force.iter().zip(&plain).all(|(a, b)| (a - b).abs() < 1e-11), "{kernel:?} {d}");
                    assert!((found - value).abs() < 1e-12 * value);
                    let found = attraction.derivative_sums(kernel, y);
                    assert!((0..2).all(|c| (found[c] - sums[c]).abs() <= 1e-12 * sums[c].abs()));
                    assert_eq!(attraction.matrix(), given);
                    assert_eq!(attraction.degrees(), given.row_sums());
                }
            }
        }
        let mut archive = Archive::new(ArchiveKind::Checkpoint);
        attraction.save(&mut archive);
        let mut other = Attraction::new(given);
        other.restore(&archive).unwrap();
        assert_eq!((&other.numbering, &other.weights), (&attraction.numbering, &attraction.weights));
        assert_eq!(other.degrees, attraction.degrees);
    }
}
