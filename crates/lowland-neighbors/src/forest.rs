//! Initial neighbors from random trees: the rows of a leaf are likely near each other.

use super::descent::NeighborLists;
use super::row_distances::RowDistances;
use lowland_core::run::{Progress, in_batches};
use lowland_core::{Result, Seed};
use rand::Rng;

/// Maximum number of rows in a leaf.
const MAX_LEAF_ROWS: usize = 64;

/// Fills `lists` with the nearest rows of each row among those that share a leaf with it in one of `trees` trees.
///
/// A tree splits its rows by which of two of them they are nearer to (at the median, so that the halves are equal),
/// which needs only distances. The leaves of a tree are disjoint, so they are compared in parallel.
pub(super) fn fill_lists<S: RowDistances>(
    space: &S,
    lists: &mut NeighborLists,
    trees: usize,
    seed: Seed,
    progress: &mut Progress,
) -> Result<()> {
    let rows = space.rows();
    for tree in 0..trees {
        progress(tree as f64 / trees as f64)?;
        let mut order: Vec<u32> = (0..rows as u32).collect();
        let mut leaves = Vec::new();
        split_rows(space, &mut order, seed.item(tree)).into_iter().fold(0, |start, length| {
            leaves.push(start..start + length);
            start + length
        });
        let mut position = vec![0u32; rows];
        order.iter().enumerate().for_each(|(at, &i)| position[i as usize] = at as u32);
        let near = in_batches(leaves.len(), &mut |part| progress((tree as f64 + part) / trees as f64), |leaf| {
            all_distances(space, &order[leaves[leaf].clone()])
        })?;
        let leaf_of: Vec<u32> =
            leaves.iter().enumerate().flat_map(|(l, leaf)| std::iter::repeat_n(l as u32, leaf.len())).collect();
        lists.update_rows(|i, list| {
            let at = position[i] as usize;
            let leaf = leaf_of[at] as usize;
            let (range, width) = (leaves[leaf].clone(), leaves[leaf].len());
            let line = &near[leaf][(at - range.start) * width..][..width];
            for (&d, &j) in line.iter().zip(&order[range]) {
                if j as usize != i {
                    list.offer(d, j);
                }
            }
        });
    }
    Ok(())
}

/// Returns the rows in the order of the leaves of one tree, in which near rows are mostly close together.
pub(super) fn leaf_order<S: RowDistances>(space: &S, seed: Seed) -> Vec<u32> {
    let mut order: Vec<u32> = (0..space.rows() as u32).collect();
    split_rows(space, &mut order, seed);
    order
}

/// Returns all distances within a leaf, row by row.
fn all_distances<S: RowDistances>(space: &S, leaf: &[u32]) -> Vec<f32> {
    let width = leaf.len();
    let mut out = vec![0.0; width * width];
    let mut line = Vec::new();
    for (a, &i) in leaf.iter().enumerate() {
        space.distances(i as usize, &leaf[a + 1..], &mut line);
        for (b, &d) in (a + 1..width).zip(&line) {
            out[a * width + b] = d;
            out[b * width + a] = d;
        }
    }
    out
}

/// Reorders the rows by a tree; returns the sizes of its leaves.
fn split_rows<S: RowDistances>(space: &S, rows: &mut [u32], seed: Seed) -> Vec<usize> {
    if rows.len() <= MAX_LEAF_ROWS {
        return vec![rows.len()];
    }
    let mut rng = seed.rng();
    let first = rows[(rng.next_u64() % rows.len() as u64) as usize];
    let second = rows[(rng.next_u64() % rows.len() as u64) as usize];
    let (mut to_first, mut to_second) = (Vec::new(), Vec::new());
    space.distances(first as usize, rows, &mut to_first);
    space.distances(second as usize, rows, &mut to_second);
    // Ties (equal rows, few different distances) are broken at random; otherwise equal rows would keep their order.
    let mut sides: Vec<(f32, u64, u32)> = (rows.iter().zip(to_first.iter().zip(&to_second)))
        .map(|(&i, (a, b))| (a - b, seed.item(i as usize).0, i))
        .collect();
    let middle = rows.len() / 2;
    sides.select_nth_unstable_by(middle, |x, y| x.0.total_cmp(&y.0).then(x.1.cmp(&y.1)).then(x.2.cmp(&y.2)));
    rows.iter_mut().zip(&sides).for_each(|(row, side)| *row = side.2);
    drop(sides);
    let (left, right) = rows.split_at_mut(middle);
    let (mut lengths, more) = rayon::join(
        || split_rows(space, left, Seed(seed.0 ^ 1).stream("left")),
        || split_rows(space, right, Seed(seed.0 ^ 2).stream("right")),
    );
    lengths.extend(more);
    lengths
}
