//! Points numbered as they lie on the map.
//!
//! A point's neighbours are anywhere among the rows. Of a million points, looking up each neighbour's place would miss the
//! cache nearly every time; numbered along a curve through the map, neighbours are close in memory too.

use rayon::prelude::*;

use super::{Points, Result};
use crate::archive::Archive;

/// Fewer coordinates fit into a core's own cache however the points are numbered.
const MANY: usize = 1 << 17;
/// Renumbered at powers of two of the iterations, from this on: a map changes fast at first.
const FIRST: usize = 16;
/// Rows handled at once.
const ROWS: usize = 1024;

/// Which point each row of an iteration's arrays belongs to.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MemoryOrder {
    /// Empty while rows are as the points were given.
    order: Vec<u32>,
}

impl MemoryOrder {
    /// Whether rows are as the points were given.
    pub fn is_natural(&self) -> bool {
        self.order.is_empty()
    }

    /// Numbers anew by the map at `y`, if there are many points and it is time. Returns the row that each new row was.
    pub fn renew(&mut self, iteration: usize, y: Points) -> Option<Vec<u32>> {
        Self::is_due(iteration, y.values().len()).then(|| self.adopt(along_curve(y)))
    }

    /// Whether rows of so many coordinates in all are numbered anew at an iteration.
    pub fn is_due(iteration: usize, coordinates: usize) -> bool {
        coordinates >= MANY && iteration >= FIRST && iteration.is_power_of_two()
    }

    /// Takes up an order of the points; returns the row that each new row was.
    pub fn adopt(&mut self, order: Vec<u32>) -> Vec<u32> {
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

    /// The row that each point is.
    pub fn rows(&self) -> Vec<u32> {
        inverse_permutation(&self.order)
    }

    /// The point that a row is.
    pub fn point(&self, row: u32) -> u32 {
        if self.is_natural() { row } else { self.order[row as usize] }
    }

    /// From the points' order into that of the rows.
    pub fn gather(&self, values: &[f64], width: usize, out: &mut Vec<f64>) {
        out.resize(values.len(), 0.0);
        out.par_chunks_mut(ROWS * width).zip(self.order.par_chunks(ROWS)).for_each(|(out, order)| {
            for (out, &point) in out.chunks_exact_mut(width).zip(order) {
                out.copy_from_slice(&values[point as usize * width..][..width]);
            }
        });
    }

    /// And back.
    pub fn scatter(&self, values: &[f64], width: usize, out: &mut [f64]) {
        for (value, &point) in values.chunks_exact(width).zip(&self.order) {
            out[point as usize * width..][..width].copy_from_slice(value);
        }
    }

    /// Rows of `width` numbers in the points' order.
    pub fn by_points(&self, values: &[f64], width: usize) -> Vec<f64> {
        let mut out = values.to_vec();
        self.scatter(values, width, &mut out);
        out
    }

    /// Sums depend on the order in their last bits: a run that is taken up goes on in the same.
    pub fn save(&self, archive: &mut Archive, points: usize) {
        let order = if self.is_natural() { (0..points as u32).collect() } else { self.order.clone() };
        archive.put("numbering", order);
    }

    /// The order that was saved, of `points` points; none if they were as given.
    pub fn saved(archive: &Archive, points: usize) -> Result<Option<Vec<u32>>> {
        let order = archive.u32s("numbering")?.to_vec();
        let natural = |order: &[u32]| order.iter().enumerate().all(|(i, &point)| i == point as usize);
        let mut sorted = order.clone();
        sorted.sort_unstable();
        if sorted.len() != points || !natural(&sorted) {
            return Err(archive.invalid("the order of the points is not one of all points".into()));
        }
        Ok((!natural(&order)).then_some(order))
    }
}

/// Where each number stands in an order of the numbers below its length.
pub fn inverse_permutation(order: &[u32]) -> Vec<u32> {
    let mut inverse = vec![0; order.len()];
    order.iter().enumerate().for_each(|(at, &point)| inverse[point as usize] = at as u32);
    inverse
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

/// The points in the order of a tree that halves them at the median of their widest coordinate: in more than two dimensions
/// too, those that are near each other mostly follow each other.
pub fn tree_order(y: Points) -> Vec<u32> {
    let mut order: Vec<u32> = (0..y.rows() as u32).collect();
    halve(y, &mut order);
    order
}

/// So few points fit into a core's nearest cache.
const TOGETHER: usize = 64;

fn halve(y: Points, part: &mut [u32]) {
    if part.len() <= TOGETHER {
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
    rayon::join(|| halve(y, left), || halve(y, right));
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
    use crate::archive::ArchiveKind;

    #[test]
    fn neighbours_on_the_map_are_close_in_memory() {
        let side = 64;
        let map: Vec<f64> =
            (0..side * side).flat_map(|i| [(i * 37 % side) as f64, (i * 37 / side % side) as f64]).collect();
        let row = inverse_permutation(&along_curve(Points::new(&map, 2).unwrap()));
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
    fn one_numbering_leads_to_the_next_and_back() {
        let values = Seed(1).normals(600);
        let (mut numbering, mut rows) = (MemoryOrder::default(), values.clone());
        for seed in [2, 3] {
            let map = Seed(seed).normals(600);
            let old = rows.clone();
            let moved = numbering.adopt(along_curve(Points::new(&map, 2).unwrap()));
            rows = moved.iter().flat_map(|&row| old[row as usize * 2..][..2].to_vec()).collect();
            let mut gathered = Vec::new();
            numbering.gather(&values, 2, &mut gathered);
            assert_eq!(gathered, rows);
            let mut back = vec![f64::NAN; 600];
            numbering.scatter(&rows, 2, &mut back);
            assert_eq!(back, values);
            assert_eq!(numbering.by_points(&rows, 2), values);
        }
        let mut archive = Archive::new(ArchiveKind::Checkpoint);
        numbering.save(&mut archive, 300);
        assert_eq!(MemoryOrder::saved(&archive, 300).unwrap(), Some(numbering.order.clone()));
        MemoryOrder::default().save(&mut archive, 300);
        assert_eq!(MemoryOrder::saved(&archive, 300).unwrap(), None);
        for bad in [vec![], vec![0u32, 1], vec![0; 300], (1..301).collect()] {
            archive.put("numbering", bad);
            assert!(MemoryOrder::saved(&archive, 300).is_err());
        }
    }

    #[test]
    fn points_of_one_corner_follow_each_other() {
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
    fn points_without_extent_have_an_order_too() {
        for value in [0.0, f64::NAN, f64::INFINITY] {
            let values = [value; 400];
            for order in [along_curve, tree_order] {
                let mut order = order(Points::new(&values, 2).unwrap());
                order.sort_unstable();
                assert_eq!(order, (0..200).collect::<Vec<u32>>());
            }
        }
    }
}
