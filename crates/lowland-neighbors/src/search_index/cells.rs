//! The cells of an index: k-means on a sample, and the rows in the order of their cells.

use rayon::prelude::*;

use super::{PackedRows, RowTransform};
use lowland_core::archive::Archive;
use lowland_core::{Dense, Result, Seed};
use lowland_linalg::dense::product_nt;

/// Number of cells in units of the square root of the number of rows. More, smaller cells follow the data more closely, but their
/// centers are compared with every new row.
const CELLS: f64 = 4.0;
/// Number of rows in the sample for each cell.
const SAMPLE_PER_CELL: usize = 32;
/// Number of iterations of k-means; more hardly change how many rows a search must visit.
const ITERATIONS: usize = 6;
/// Number of rows per task.
const TASK_ROWS: usize = 256;

/// A division of rows into cells.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Cells {
    pub centers: PackedRows,
    /// Start of each cell in `order`; one more than there are cells.
    pub starts: Vec<usize>,
    /// The rows, cell after cell.
    pub order: Vec<u32>,
}

impl Cells {
    pub fn new(x: &Dense, transform: &RowTransform, seed: Seed) -> Self {
        let n = x.rows();
        let count = ((CELLS * (n as f64).sqrt()) as usize).clamp(1, n);
        // Rows are often in an order, so the sample is drawn.
        let mut drawn: Vec<u32> = (0..n as u32).collect();
        drawn.sort_unstable_by_key(|&i| (seed.item(i as usize).0, i));
        drawn.truncate(count * SAMPLE_PER_CELL);
        let sample = transform.pack(x, &drawn);
        let stride = sample.stride;
        let mut centers = PackedRows { values: sample.values[..count * stride].to_vec(), stride };
        for _ in 0..ITERATIONS {
            let cell_of = nearest_centers(&sample.values, &centers);
            move_to_means(&mut centers, &sample, &cell_of);
        }
        drop(sample);
        let rows: Vec<u32> = (0..n as u32).collect();
        let cell_of: Vec<u32> = rows
            .par_chunks(TASK_ROWS)
            .flat_map_iter(|part| nearest_centers(&transform.pack(x, part).values, &centers))
            .collect();
        let mut starts = vec![0usize; count + 1];
        cell_of.iter().for_each(|&cell| starts[cell as usize + 1] += 1);
        (0..count).for_each(|cell| starts[cell + 1] += starts[cell]);
        let (mut next, mut order) = (starts.clone(), vec![0; n]);
        for (i, &cell) in (0..).zip(&cell_of) {
            order[next[cell as usize]] = i;
            next[cell as usize] += 1;
        }
        Self { centers, starts, order }
    }

    pub fn load(name: &str, archive: &Archive, rows: usize, stride: usize) -> Result<Self> {
        let centers = archive.f32s(&format!("{name}/centers"))?.to_vec();
        let starts = archive.sizes(&format!("{name}/starts"))?;
        let order = archive.u32s(&format!("{name}/order"))?.to_vec();
        let mut sorted = order.clone();
        sorted.sort_unstable();
        let is_permutation = sorted.len() == rows && sorted.iter().enumerate().all(|(at, &i)| at == i as usize);
        let bounds = (starts.first().copied(), starts.last().copied());
        let are_cells = bounds == (Some(0), Some(rows)) && starts.is_sorted() && starts.len() > 1;
        let centers_fit = centers.len() == starts.len().saturating_sub(1) * stride;
        if !(is_permutation && are_cells && centers_fit && centers.iter().all(|v| v.is_finite())) {
            return Err(archive.invalid("its index does not belong to its rows".into()));
        }
        Ok(Self { centers: PackedRows { values: centers, stride }, starts, order })
    }
}

/// Returns `count` row numbers of `n`, evenly spread, or all.
pub(super) fn evenly_spread(n: usize, count: usize) -> Vec<u32> {
    let count = count.min(n);
    (0..count).map(|at| (at * n / count) as u32).collect()
}

/// Returns the nearest center of each row; of centers at the same distance the first.
fn nearest_centers(rows: &[f32], centers: &PackedRows) -> Vec<u32> {
    let stride = centers.stride;
    let squares: Vec<f32> = centers.values.chunks_exact(stride).map(|c| c.iter().map(|v| v * v).sum()).collect();
    let nearest = |rows: &[f32]| {
        let mut products = vec![0.0; rows.len() / stride * squares.len()];
        product_nt(rows, &centers.values, stride, &mut products);
        products.chunks_exact(squares.len()).map(|line| smallest(line, &squares)).collect::<Vec<_>>()
    };
    rows.par_chunks(TASK_ROWS * stride).flat_map_iter(nearest).collect()
}

/// Returns the first position where `square - 2 product` is smallest.
fn smallest(products: &[f32], squares: &[f32]) -> u32 {
    let mut best = (f32::INFINITY, 0);
    for (at, (product, square)) in (0..).zip(products.iter().zip(squares)) {
        let key = square - 2.0 * product;
        if key < best.0 {
            best = (key, at);
        }
    }
    best.1
}

/// Moves each center to the mean of its rows; a center without rows stays.
fn move_to_means(centers: &mut PackedRows, sample: &PackedRows, cell_of: &[u32]) {
    let stride = centers.stride;
    let mut sums = vec![0.0f64; centers.values.len()];
    let mut counts = vec![0u32; centers.values.len() / stride];
    for (row, &cell) in sample.values.chunks_exact(stride).zip(cell_of) {
        counts[cell as usize] += 1;
        let sums = &mut sums[cell as usize * stride..][..stride];
        sums.iter_mut().zip(row).for_each(|(sum, &v)| *sum += f64::from(v));
    }
    let means = centers.values.chunks_exact_mut(stride).zip(sums.chunks_exact(stride));
    for ((center, sums), &count) in means.zip(&counts).filter(|(_, count)| **count > 0) {
        center.iter_mut().zip(sums).for_each(|(c, sum)| *c = (sum / f64::from(count)) as f32);
    }
}
