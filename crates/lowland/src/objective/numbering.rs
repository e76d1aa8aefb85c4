//! Points numbered as they lie on the map.
//!
//! A point's neighbours are anywhere among the rows. Of a million points, looking up each neighbour's place would miss the
//! cache nearly every time; numbered along a curve through the map, neighbours are close in memory too.

use rayon::prelude::*;

use crate::archive::Archive;
use crate::points::{Points, Result};

/// With fewer points, their places fit into the cache however they are numbered.
const MANY: usize = 100_000;
/// Renumbered at powers of two of the iterations, from this on: a map changes fast at first.
const FIRST: usize = 16;
/// Rows handled at once.
const ROWS: usize = 1024;

/// Which point each row of an objective's arrays belongs to.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Numbering {
    /// Empty while rows are as the points were given.
    order: Vec<u32>,
}

impl Numbering {
    /// Whether rows are as the points were given.
    pub fn is_natural(&self) -> bool {
        self.order.is_empty()
    }

    /// Numbers anew by the map at `y`, if there are many points and it is time. Returns the row that each new row was.
    pub fn renew(&mut self, iteration: usize, y: Points) -> Option<Vec<u32>> {
        let due = y.rows() >= MANY && iteration >= FIRST && iteration.is_power_of_two();
        due.then(|| self.adopt(along_curve(y)))
    }

    /// Takes up an order of the points; returns the row that each new row was.
    pub fn adopt(&mut self, order: Vec<u32>) -> Vec<u32> {
        let rows = match self.is_natural() {
            true => order.clone(),
            false => {
                let row = inverse(&self.order);
                order.iter().map(|&point| row[point as usize]).collect()
            }
        };
        self.order = order;
        rows
    }

    /// The row that each point is.
    pub fn rows(&self) -> Vec<u32> {
        inverse(&self.order)
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

    /// Sums depend on the order in their last bits: a run that is taken up goes on in the same.
    pub fn save(&self, archive: &mut Archive) {
        archive.put("numbering", self.order.as_slice());
    }

    /// The order that was saved, of `points` points; none if they were as given.
    pub fn saved(archive: &Archive, points: usize) -> Result<Option<Vec<u32>>> {
        let order = archive.u32s("numbering")?;
        let mut sorted = order.to_vec();
        sorted.sort_unstable();
        let whole = sorted.len() == points && sorted.iter().enumerate().all(|(i, &point)| i == point as usize);
        match order {
            [] => Ok(None),
            order if whole => Ok(Some(order.to_vec())),
            _ => Err(archive.bad("the order of the points is not one of all points".into())),
        }
    }
}

fn inverse(order: &[u32]) -> Vec<u32> {
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

    #[test]
    fn neighbours_on_the_map_are_close_in_memory() {
        let side = 64;
        let map: Vec<f64> =
            (0..side * side).flat_map(|i| [(i * 37 % side) as f64, (i * 37 / side % side) as f64]).collect();
        let row = inverse(&along_curve(Points::new(&map, 2).unwrap()));
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
        let (mut numbering, mut rows) = (Numbering::default(), values.clone());
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
        }
        let mut archive = Archive::new(Kind::Checkpoint);
        numbering.save(&mut archive);
        assert_eq!(Numbering::saved(&archive, 300).unwrap(), Some(numbering.order.clone()));
        for bad in [vec![0u32, 1], vec![0; 300], (1..301).collect()] {
            archive.put("numbering", bad);
            assert!(Numbering::saved(&archive, 300).is_err());
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
