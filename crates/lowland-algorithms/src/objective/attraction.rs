//! The affinities an embedding is pulled together by, their rows numbered as the points lie on the map.

use super::edges::Room;
use super::pull::Pull;
use lowland_core::archive::Archive;
use lowland_core::{Numbering, Points, Result};
use lowland_linalg::Csr;

/// Symmetric weights with their row sums.
pub(super) struct Attraction {
    numbering: Numbering,
    /// In the order of the numbering, as all that follows.
    weights: Csr,
    degrees: Vec<f64>,
    places: Vec<f64>,
    forces: Vec<f64>,
    room: Room,
}

impl Attraction {
    pub fn new(weights: Csr) -> Self {
        let degrees = weights.row_sums();
        let (places, forces) = (Vec::new(), Vec::new());
        Self { numbering: Numbering::default(), weights, degrees, places, forces, room: Room::default() }
    }

    /// Number of points.
    pub fn points(&self) -> usize {
        self.weights.rows()
    }

    /// The weights as they were given.
    pub fn matrix(&self) -> Csr {
        if self.numbering.is_natural() { self.weights.clone() } else { self.weights.renumber(&self.numbering.rows()) }
    }

    /// Row sums of the weights as they were given.
    pub fn degrees(&self) -> Vec<f64> {
        let mut degrees = self.degrees.clone();
        self.numbering.scatter(&self.degrees, 1, &mut degrees);
        degrees
    }

    /// See [`Pull::force`].
    pub fn force(&mut self, pull: Pull, y: Points, value: bool, out: &mut [f64]) -> Option<f64> {
        if self.numbering.is_natural() {
            return pull.force(&self.weights, &self.degrees, y, value, &mut self.room, out);
        }
        self.numbering.gather(y.values(), y.dim(), &mut self.places);
        self.forces.resize(out.len(), 0.0);
        let places = Points::new(&self.places, y.dim()).expect("whole rows");
        let found = pull.force(&self.weights, &self.degrees, places, value, &mut self.room, &mut self.forces);
        self.numbering.scatter(&self.forces, y.dim(), out);
        found
    }

    /// See [`Pull::slope_and_bend`].
    pub fn slope_and_bend(&mut self, pull: Pull, y: Points) -> [f64; 2] {
        if self.numbering.is_natural() {
            return pull.slope_and_bend(&self.weights, y);
        }
        self.numbering.gather(y.values(), y.dim(), &mut self.places);
        pull.slope_and_bend(&self.weights, Points::new(&self.places, y.dim()).expect("whole rows"))
    }

    /// Renumbers the rows by the map if there are many and it is time.
    pub fn prepare(&mut self, iteration: usize, y: Points) {
        if let Some(rows) = self.numbering.renew(iteration, y) {
            self.renumber(&rows);
        }
    }

    fn renumber(&mut self, rows: &[u32]) {
        self.weights = self.weights.renumber(rows);
        self.degrees = rows.iter().map(|&row| self.degrees[row as usize]).collect();
    }

    pub fn save(&self, archive: &mut Archive) {
        self.numbering.save(archive, self.points());
    }

    pub fn restore(&mut self, archive: &Archive) -> Result<()> {
        if let Some(order) = Numbering::saved(archive, self.points())? {
            let rows = self.numbering.adopt(order);
            self.renumber(&rows);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lowland_core::Seed;
    use lowland_core::archive::Kind;
    use lowland_neighbors::graph::{Symmetrization, symmetrize};

    fn weights(n: usize) -> Csr {
        let links = (0..n).flat_map(|i| (1..=12).map(move |step| (i as u32, ((i * 31 + step * 17) % n) as u32)));
        let weighted = links.filter(|(i, j)| i != j).enumerate().map(|(at, (i, j))| (i, j, 1.0 + (at % 7) as f64));
        symmetrize(&Csr::from_triplets(n, n, weighted).unwrap(), Symmetrization::Average).unwrap()
    }

    /// Another order of `n` points.
    fn shuffled(n: u32, step: u32) -> Vec<u32> {
        (0..n).map(|i| i * step % n).collect()
    }

    #[test]
    fn renumbering_changes_forces_by_rounding_only_and_can_be_undone() {
        let (n, given) = (3000, weights(3000));
        let mut attraction = Attraction::new(given.clone());
        for d in [1, 2, 3, 4] {
            let map = Seed(d as u64).normals(n * d);
            let y = Points::new(&map, d).unwrap();
            for pull in [Pull::Spring, Pull::Student { dof: 1.0 }] {
                let mut plain = vec![0.0; n * d];
                let value = Attraction::new(given.clone()).force(pull, y, true, &mut plain).unwrap();
                let bend = Attraction::new(given.clone()).slope_and_bend(pull, y);
                // From one order to another, as along the iterations.
                for step in [7, 1201] {
                    let rows = attraction.numbering.adopt(shuffled(n as u32, step));
                    attraction.renumber(&rows);
                    let mut force = vec![f64::NAN; n * d];
                    let found = attraction.force(pull, y, true, &mut force).unwrap();
                    assert!(force.iter().zip(&plain).all(|(a, b)| (a - b).abs() < 1e-11), "{pull:?} {d}");
                    assert!((found - value).abs() < 1e-12 * value);
                    let found = attraction.slope_and_bend(pull, y);
                    assert!((0..2).all(|c| (found[c] - bend[c]).abs() <= 1e-12 * bend[c].abs()));
                    assert_eq!(attraction.matrix(), given);
                    assert_eq!(attraction.degrees(), given.row_sums());
                }
            }
        }
        let mut archive = Archive::new(Kind::Checkpoint);
        attraction.save(&mut archive);
        let mut other = Attraction::new(given);
        other.restore(&archive).unwrap();
        assert_eq!((&other.numbering, &other.weights), (&attraction.numbering, &attraction.weights));
        assert_eq!(other.degrees, attraction.degrees);
    }
}
