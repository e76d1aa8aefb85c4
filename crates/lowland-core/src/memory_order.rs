//! The order of points in memory, chosen so that neighbors in the embedding are close in memory.
//!
//! The neighbors of a point are scattered over all rows. With a million points, nearly every lookup of a neighbor's
//! coordinates would miss the cache. Sorted along a space-filling curve through the embedding, neighbors share cache lines.

use rayon::prelude::*;

use super::{Points, Result};
use crate::archive::Archive;

/// Number of coordinates from which reordering pays off; fewer fit into the cache of a core in any order.
const MIN_COORDINATES: usize = 1 << 17;
/// First iteration at which points are reordered. Reordering happens at powers of two, since the embedding changes fast at
/// first.
const FIRST_ITERATION: usize = 16;
/// Number of rows per parallel task.
const CHUNK_ROWS: usize = 1024;

/// A permutation of the points: the point that each row of the working arrays belongs to.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MemoryOrder {
    /// Empty for the original order.
    order: Vec<u32>,
}

impl MemoryOrder {
    /// Returns whether rows are in the original order of the points.
    pub fn is_natural(&self) -> bool {
        self.order.is_empty()
    }

    /// Sorts the points by their position in `y` if reordering is due. Returns the old row of each new row.
    pub fn reorder_if_due(&mut self, iteration: usize, y: Points) -> Option<Vec<u32>> {
        Self::is_due(iteration, y.values().len()).then(|| self.set_order(z_order(y)))
    }

    /// Returns whether `coordinates` values in total are reordered at this iteration.
    pub fn is_due(iteration: usize, coordinates: usize) -> bool {
        coordinates >= MIN_COORDINATES && iteration >= FIRST_ITERATION && iteration.is_power_of_two()
    }

    /// Sets the order of the points. Returns the old row of each new row.
    pub fn set_order(&mut self, order: Vec<u32>) -> Vec<u32> {
        let rows = match self.is_natural() {
            true => order.clone(),
            false => {
                let row = inverse_permutation(&self.order);
                order.iter().map(|&point| row[point as usize]).collect()
            }
        };
        self.order = order;
        rows
    }

    /// Returns the row of each point.
    pub fn rows(&self) -> Vec<u32> {
        inverse_permutation(&self.order)
    }

    /// Returns the point that a row belongs to.
    pub fn point(&self, row: u32) -> u32 {
        if self.is_natural() { row } else { self.order[row as usize] }
    }

    /// Copies rows of `width` values from the original order into the memory order.
    pub fn gather(&self, values: &[f64], width: usize, out: &mut Vec<f64>) {
        out.resize(values.len(), 0.0);
        out.par_chunks_mut(CHUNK_ROWS * width).zip(self.order.par_chunks(CHUNK_ROWS)).for_each(|(out, order)| {
            for (out, &point) in out.chunks_exact_mut(width).zip(order) {
                out.copy_from_slice(&values[point as usize * width..][..width]);
            }
        });
    }

    /// Copies rows of `width` values from the memory order into the original order.
    pub fn scatter(&self, values: &[f64], width: usize, out: &mut [f64]) {
        for (value, &point) in values.chunks_exact(width).zip(&self.order) {
            out[point as usize * width..][..width].copy_from_slice(value);
        }
    }

    /// Returns rows of `width` values in the original order.
    pub fn to_original_order(&self, values: &[f64], width: usize) -> Vec<f64> {
        let mut out = values.to_vec();
        self.scatter(values, width, &mut out);
        out
    }

    /// Writes the order to a checkpoint: the last bits of sums depend on it, so a resumed run must use the same order.
    pub fn save(&self, archive: &mut Archive, points: usize) {
        let order = if self.is_natural() { (0..points as u32).collect() } else { self.order.clone() };
        archive.put("numbering", order);
    }

    /// Reads the saved order of `points` points; `None` for the original order.
    pub fn load(archive: &Archive, points: usize) -> Result<Option<Vec<u32>>> {
        let order = archive.u32s("numbering")?.to_vec();
        let natural = |order: &[u32]| order.iter().enumerate().all(|(i, &point)| i == point as usize);
        let mut sorted = order.clone();
        sorted.sort_unstable();
        if sorted.len() != points || !natural(&sorted) {
            return Err(archive.invalid("its order of the points is not a permutation".into()));
        }
        Ok((!natural(&order)).then_some(order))
    }
}

/// Returns the inverse of a permutation.
pub fn inverse_permutation(order: &[u32]) -> Vec<u32> {
    let mut inverse = vec![0; order.len()];
    order.iter().enumerate().for_each(|(at, &point)| inverse[point as usize] = at as u32);
    inverse
}

/// Returns the points sorted along a Z-order curve through the first two coordinates.
fn z_order(y: Points) -> Vec<u32> {
    let coordinate = |c: usize| {
        let all = || (0..y.rows()).map(move |i| y.row(i).get(c).copied().unwrap_or(0.0));
        let (low, high) = all().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
        // The cast turns NaN into 0, as in an embedding without extent.
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

/// Returns the points in the leaf order of a tree that splits at the median of the widest coordinate. Unlike the Z-order
/// curve, it keeps nearby points together in more than two dimensions as well.
pub fn tree_order(y: Points) -> Vec<u32> {
    let mut order: Vec<u32> = (0..y.rows() as u32).collect();
    split_at_median(y, &mut order);
    order
}

/// Parts of at most this many points fit into the first-level cache and are not split.
const LEAF_SIZE: usize = 64;

fn split_at_median(y: Points, part: &mut [u32]) {
    if part.len() <= LEAF_SIZE {
        return;
    }
    let extent = |c: usize| {
        let all = part.iter().map(|&i| y.row(i as usize)[c]);
        let (low, high) = all.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
        high - low
    };
    let widest = (0..y.dim()).map(|c| (c, extent(c))).reduce(|a, b| if b.1 > a.1 { b } else { a });
    let Some((c, _)) = widest else { return };
    let (middle, at) = (part.len() / 2, |i: &u32| y.row(*i as usize)[c]);
    part.select_nth_unstable_by(middle, |i, j| at(i).total_cmp(&at(j)).then(i.cmp(j)));
    let (left, right) = part.split_at_mut(middle);
    rayon::join(|| split_at_median(y, left), || split_at_median(y, right));
}

/// Interleaves the bits of `x` with zeros.
fn spread_bits(x: u16) -> u32 {
    [(8, 0x00ff_00ff), (4, 0x0f0f_0f0f), (2, 0x3333_3333), (1, 0x5555_5555)]
        .iter()
        .fold(u32::from(x), |x, &(shift, mask)| (x | x << shift) & mask)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seed;
    use crate::archive::ArchiveKind;

    #[test]
    fn neighbors_in_the_embedding_are_close_in_memory() {
        let side = 64;
        let map: Vec<f64> =
            (0..side * side).flat_map(|i| [(i * 37 % side) as f64, (i * 37 / side % side) as f64]).collect();
        let row = inverse_permutation(&z_order(Points::new(&map, 2).unwrap()));
        let at = |x: usize, y: usize| {
            let i = map.chunks_exact(2).position(|p| p == [x as f64, y as f64]).unwrap();
            row[i] as usize
        };
        // The four cells of a block follow each other.
        for (x, y) in [(0, 0), (10, 40), (62, 62)] {
            let cells = [at(x, y), at(x + 1, y), at(x, y + 1), at(x + 1, y + 1)];
            assert_eq!(cells.map(|cell| cell - cells[0]), [0, 1, 2, 3]);
        }
    }

    #[test]
    fn reordering_twice_can_be_undone() {
        let values = Seed(1).normals(600);
        let (mut order, mut rows) = (MemoryOrder::default(), values.clone());
        for seed in [2, 3] {
            let map = Seed(seed).normals(600);
            let old = rows.clone();
            let moved = order.set_order(z_order(Points::new(&map, 2).unwrap()));
            rows = moved.iter().flat_map(|&row| old[row as usize * 2..][..2].to_vec()).collect();
            let mut gathered = Vec::new();
            order.gather(&values, 2, &mut gathered);
            assert_eq!(gathered, rows);
            let mut back = vec![f64::NAN; 600];
            order.scatter(&rows, 2, &mut back);
            assert_eq!(back, values);
            assert_eq!(order.to_original_order(&rows, 2), values);
        }
        let mut archive = Archive::new(ArchiveKind::Checkpoint);
        order.save(&mut archive, 300);
        assert_eq!(MemoryOrder::load(&archive, 300).unwrap(), Some(order.order.clone()));
        MemoryOrder::default().save(&mut archive, 300);
        assert_eq!(MemoryOrder::load(&archive, 300).unwrap(), None);
        for bad in [vec![], vec![0u32, 1], vec![0; 300], (1..301).collect()] {
            archive.put("numbering", bad);
            assert!(MemoryOrder::load(&archive, 300).is_err());
        }
    }

    #[test]
    fn tree_order_keeps_clusters_together() {
        // Eight clouds in the corners of a cube, one after another among the rows.
        let noise = Seed(3).normals(3 * 1024);
        let map: Vec<f64> =
            (0..3 * 1024).map(|at| f64::from(((at / 3) >> (at % 3) & 1) as u8) * 100.0 + noise[at]).collect();
        let order = tree_order(Points::new(&map, 3).unwrap());
        for cloud in order.chunks(128) {
            assert!(cloud.iter().all(|i| i % 8 == cloud[0] % 8));
        }
    }

    #[test]
    fn equal_or_non_finite_points_are_ordered() {
        for value in [0.0, f64::NAN, f64::INFINITY] {
            let values = [value; 400];
            for order in [z_order, tree_order] {
                let mut order = order(Points::new(&values, 2).unwrap());
                order.sort_unstable();
                assert_eq!(order, (0..200).collect::<Vec<u32>>());
            }
        }
    }
}
