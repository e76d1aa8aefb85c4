//! The affinities an embedding is pulled together by, laid out in memory as its points lie on the map.
//!
//! A point's neighbours are anywhere among the rows. Of a million points, looking up each neighbour's place would miss the
//! cache nearly every time; numbered along a curve through the map, neighbours are close in memory too.

use rayon::prelude::*;

use super::pull::{Edges, Pull};
use crate::archive::Archive;
use crate::linalg::Csr;
use crate::points::{Points, Result};

/// With fewer points, their places fit into the cache however they are numbered.
const MANY: usize = 100_000;
/// Renumbered at powers of two of the iterations, from this on: a map changes fast at first.
const FIRST: usize = 16;
/// Rows handled at once.
const ROWS: usize = 1024;

/// Symmetric weights with their row sums.
pub(super) struct Attraction {
    indptr: Vec<usize>,
    indices: Vec<u32>,
    values: Vec<f64>,
    /// Row sums, as the points were given.
    degrees: Vec<f64>,
    /// The point that each row belongs to; empty while rows are as the points were given.
    order: Vec<u32>,
    /// Degrees, places and forces in that order.
    ordered_degrees: Vec<f64>,
    places: Vec<f64>,
    forces: Vec<f64>,
}

impl Attraction {
    pub fn new(weights: Csr) -> Self {
        let degrees = weights.row_sums();
        let (indptr, indices, values) = weights.into_parts();
        let (order, ordered_degrees, places, forces) = Default::default();
        Self { indptr, indices, values, degrees, order, ordered_degrees, places, forces }
    }

    /// The weights as they were given.
    pub fn matrix(&self) -> Csr {
        let (indptr, indices, values) = if self.order.is_empty() {
            (self.indptr.clone(), self.indices.clone(), self.values.clone())
        } else {
            self.renumbered(&inverse(&self.order))
        };
        Csr::new(indptr, indices, values, self.degrees.len()).expect("as it came")
    }

    /// Row sums of the weights as they were given.
    pub fn degrees(&self) -> &[f64] {
        &self.degrees
    }

    /// See [`Pull::force`].
    pub fn force(&mut self, pull: Pull, y: Points, value: bool, out: &mut [f64]) -> Option<f64> {
        let edges = Edges { indptr: &self.indptr, indices: &self.indices, values: &self.values };
        if self.order.is_empty() {
            return pull.force(edges, &self.degrees, y, value, out);
        }
        let (d, order) = (y.dim(), &self.order);
        gather(y, order, &mut self.places);
        self.forces.resize(out.len(), 0.0);
        let places = Points::new(&self.places, d).expect("whole rows");
        let found = pull.force(edges, &self.ordered_degrees, places, value, &mut self.forces);
        for (force, &i) in self.forces.chunks_exact(d).zip(order) {
            out[i as usize * d..(i as usize + 1) * d].copy_from_slice(force);
        }
        found
    }

    /// See [`Pull::slope_and_bend`].
    pub fn slope_and_bend(&mut self, pull: Pull, y: Points) -> [f64; 2] {
        let edges = Edges { indptr: &self.indptr, indices: &self.indices, values: &self.values };
        if self.order.is_empty() {
            return pull.slope_and_bend(edges, y);
        }
        gather(y, &self.order, &mut self.places);
        pull.slope_and_bend(edges, Points::new(&self.places, y.dim()).expect("whole rows"))
    }

    /// Renumbers the rows by the map if there are many and it is time.
    pub fn prepare(&mut self, iteration: usize, y: Points) {
        if y.rows() >= MANY && iteration >= FIRST && iteration.is_power_of_two() {
            self.reorder(along_curve(y));
        }
    }

    /// Numbers the rows so that row `i` belongs to point `order[i]`.
    fn reorder(&mut self, order: Vec<u32>) {
        let back = if self.order.is_empty() { (0..order.len() as u32).collect() } else { inverse(&self.order) };
        let rows: Vec<u32> = order.iter().map(|&point| back[point as usize]).collect();
        (self.indptr, self.indices, self.values) = self.renumbered(&rows);
        self.ordered_degrees = order.iter().map(|&point| self.degrees[point as usize]).collect();
        self.order = order;
    }

    /// The arrays with row `rows[i]` in place `i`, and columns numbered accordingly. The entries of a row stay in their
    /// order, so that sums over them are the same to the last bit.
    fn renumbered(&self, rows: &[u32]) -> (Vec<usize>, Vec<u32>, Vec<f64>) {
        let range = |row: u32| self.indptr[row as usize]..self.indptr[row as usize + 1];
        let place = inverse(rows);
        let mut indptr = vec![0];
        rows.iter().fold(0, |end, &row| {
            indptr.push(end + range(row).len());
            end + range(row).len()
        });
        let (mut indices, mut values) = (vec![0; self.indices.len()], vec![0.0; self.values.len()]);
        let mut tasks = Vec::new();
        let (mut more_indices, mut more_values) = (&mut indices[..], &mut values[..]);
        for rows in rows.chunks(ROWS) {
            let length = rows.iter().map(|&row| range(row).len()).sum();
            let (indices, values);
            (indices, more_indices) = more_indices.split_at_mut(length);
            (values, more_values) = more_values.split_at_mut(length);
            tasks.push((rows, indices, values));
        }
        tasks.into_par_iter().for_each(|(rows, indices, values)| {
            let mut at = 0;
            for &row in rows {
                let to = at..at + range(row).len();
                at = to.end;
                values[to.clone()].copy_from_slice(&self.values[range(row)]);
                indices[to]
                    .iter_mut()
                    .zip(&self.indices[range(row)])
                    .for_each(|(new, &old)| *new = place[old as usize]);
            }
        });
        (indptr, indices, values)
    }

    /// Values depend on the order in their last bits: a run that is taken up goes on in the same.
    pub fn save(&self, archive: &mut Archive) {
        archive.put("attraction/order", self.order.as_slice());
    }

    pub fn restore(&mut self, archive: &Archive) -> Result<()> {
        let order = archive.u32s("attraction/order")?;
        if order.is_empty() {
            return Ok(());
        }
        let mut sorted = order.to_vec();
        sorted.sort_unstable();
        if sorted.len() != self.degrees.len() || sorted.iter().enumerate().any(|(i, &row)| i != row as usize) {
            return Err(archive.bad("the order of the points is not one of all points".into()));
        }
        self.reorder(order.to_vec());
        Ok(())
    }
}

fn inverse(order: &[u32]) -> Vec<u32> {
    let mut inverse = vec![0; order.len()];
    order.iter().enumerate().for_each(|(at, &row)| inverse[row as usize] = at as u32);
    inverse
}

fn gather(y: Points, order: &[u32], places: &mut Vec<f64>) {
    let d = y.dim();
    places.resize(y.values().len(), 0.0);
    places.par_chunks_mut(ROWS * d).zip(order.par_chunks(ROWS)).for_each(|(places, order)| {
        places.chunks_exact_mut(d).zip(order).for_each(|(place, &i)| place.copy_from_slice(y.row(i as usize)));
    });
}

/// The points along a Z-shaped curve through the map, by its first two coordinates.
fn along_curve(y: Points) -> Vec<u32> {
    let coordinate = |c: usize| {
        let all = || (0..y.rows()).map(move |i| y.row(i).get(c).copied().unwrap_or(0.0));
        let (low, high) = all().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
        // NaN and no extent become 0.
        all().map(move |v| ((v - low) / (high - low) * f64::from(u16::MAX)) as u16)
    };
    let mut codes: Vec<(u32, u32)> = coordinate(0)
        .zip(coordinate(1))
        .enumerate()
        .map(|(i, (x, y))| (spread_bits(x) | spread_bits(y) << 1, i as u32))
        .collect();
    codes.par_sort_unstable();
    codes.into_iter().map(|(_, i)| i).collect()
}

/// The bits of a number, each followed by a zero.
fn spread_bits(x: u16) -> u32 {
    [(8, 0x00ff_00ff), (4, 0x0f0f_0f0f), (2, 0x3333_3333), (1, 0x5555_5555)]
        .iter()
        .fold(u32::from(x), |x, &(shift, mask)| (x | x << shift) & mask)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seed;
    use crate::archive::Kind;
    use crate::graph::{Symmetrize, symmetrize};

    fn weights(n: usize) -> Csr {
        let links = (0..n).flat_map(|i| (1..=12).map(move |step| (i as u32, ((i * 31 + step * 17) % n) as u32)));
        let weighted = links.filter(|(i, j)| i != j).enumerate().map(|(at, (i, j))| (i, j, 1.0 + (at % 7) as f64));
        symmetrize(&Csr::from_triplets(n, n, weighted).unwrap(), Symmetrize::Average).unwrap()
    }

    #[test]
    fn renumbering_changes_no_force_and_can_be_undone() {
        let (n, given) = (3000, weights(3000));
        let mut attraction = Attraction::new(given.clone());
        for d in [1, 2, 3, 4] {
            let maps = [Seed(d as u64).normals(n * d), Seed(9 + d as u64).normals(n * d)];
            for pull in [Pull::Spring, Pull::Student { dof: 1.0 }] {
                let y = Points::new(&maps[0], d).unwrap();
                let mut plain = vec![0.0; n * d];
                let value = Attraction::new(given.clone()).force(pull, y, true, &mut plain).unwrap();
                let bend = Attraction::new(given.clone()).slope_and_bend(pull, y);
                // From one order to another, as along the iterations.
                for map in &maps {
                    attraction.reorder(along_curve(Points::new(map, d).unwrap()));
                    let mut force = vec![f64::NAN; n * d];
                    let found = attraction.force(pull, y, true, &mut force).unwrap();
                    assert_eq!(force, plain, "{pull:?} {d}");
                    assert!((found - value).abs() < 1e-12 * value);
                    let found = attraction.slope_and_bend(pull, y);
                    assert!((0..2).all(|c| (found[c] - bend[c]).abs() <= 1e-12 * bend[c].abs()));
                    assert_eq!(attraction.matrix(), given);
                    assert_eq!(attraction.degrees(), given.row_sums());
                }
            }
        }
    }

    #[test]
    fn neighbours_on_the_map_are_close_in_memory() {
        let side = 64;
        let map: Vec<f64> =
            (0..side * side).flat_map(|i| [(i * 37 % side) as f64, (i * 37 / side % side) as f64]).collect();
        let place = inverse(&along_curve(Points::new(&map, 2).unwrap()));
        let at = |x: usize, y: usize| {
            let i = map.chunks_exact(2).position(|p| p == [x as f64, y as f64]).unwrap();
            place[i] as usize
        };
        // The four cells of a block follow each other.
        for (x, y) in [(0, 0), (10, 40), (62, 62)] {
            let cells = [at(x, y), at(x + 1, y), at(x, y + 1), at(x + 1, y + 1)];
            assert_eq!(cells.map(|cell| cell - cells[0]), [0, 1, 2, 3]);
        }
    }

    #[test]
    fn an_order_is_taken_up_again_and_nonsense_is_refused() {
        let map = Seed(5).normals(600);
        let mut attraction = Attraction::new(weights(300));
        attraction.reorder(along_curve(Points::new(&map, 2).unwrap()));
        let mut archive = Archive::new(Kind::Checkpoint);
        attraction.save(&mut archive);
        let mut other = Attraction::new(weights(300));
        other.restore(&archive).unwrap();
        assert_eq!((&other.order, &other.indices), (&attraction.order, &attraction.indices));
        for bad in [vec![0u32, 1], vec![0; 300], (1..301).collect()] {
            archive.put("attraction/order", bad);
            assert!(other.restore(&archive).is_err());
        }
    }

    #[test]
    fn points_without_extent_have_an_order_too() {
        for value in [0.0, f64::NAN, f64::INFINITY] {
            let mut order = along_curve(Points::new(&[value; 20], 2).unwrap());
            order.sort_unstable();
            assert_eq!(order, (0..10).collect::<Vec<u32>>());
        }
    }
}
