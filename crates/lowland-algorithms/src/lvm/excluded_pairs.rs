//! The pairs of a block that are excluded from the dissimilar pairs, and the tiles that the E-step evaluates at once.
//!
//! Point `i` is paired with all later points of its block, in tiles of fixed length.

use super::coarse_graining::DissimilarGroup;
use super::training_pairs::AdjacencyRule;
use lowland_linalg::Csr;

/// Number of points that a row is compared with at once.
pub(super) const TILE: usize = 16;
/// Tiles start at multiples of this.
pub(super) const STRIDE: usize = 8;

/// The padded length of `len` points: whole tiles, wherever they start.
pub(super) fn padded_len(len: usize) -> usize {
    len.next_multiple_of(STRIDE) + TILE - STRIDE
}

/// Start of the first tile of point `i`, which contains the point after `i`.
pub(super) fn first_tile(i: usize) -> usize {
    (i + 1) / STRIDE * STRIDE
}

/// Start of the tile of point `i` that contains the later point `j`.
fn tile_containing(i: usize, j: usize) -> usize {
    first_tile(i) + (j - first_tile(i)) / TILE * TILE
}

/// The excluded pairs of a point with the points of a tile, as bit masks.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ExcludedTile {
    /// Index of the first point of the tile.
    pub start: u32,
    /// The pairs from the point to those of the tile, and from them to the point.
    pub directions: [u16; 2],
}

/// The excluded pairs of all points.
#[derive(Debug, Clone)]
pub(super) struct ExcludedPairs {
    /// For each point, the index of its first tile, followed by the end of the last.
    pub starts: Vec<u32>,
    /// The tiles with excluded pairs, followed by an empty spare entry.
    pub tiles: Vec<ExcludedTile>,
}

impl Default for ExcludedPairs {
    fn default() -> Self {
        Self { starts: vec![0], tiles: vec![ExcludedTile::default()] }
    }
}

impl ExcludedPairs {
    /// Excludes a pair of the current point, whose index in its block is `i`: the pair from it to the later point
    /// `j` (`direction` 0), or from `j` to it (1). The `j` of a point must be added in ascending order.
    pub(super) fn add(&mut self, i: usize, j: usize, direction: usize) {
        let (begin, spare) = (self.starts[self.starts.len() - 1] as usize, self.tiles.len() - 1);
        let at = tile_containing(i, j);
        if spare == begin || self.tiles[spare - 1].start as usize != at {
            self.tiles[spare].start = at as u32;
            self.tiles.push(ExcludedTile::default());
        }
        let last = self.tiles.len() - 2;
        self.tiles[last].directions[direction] |= 1 << (j - at);
    }

    /// Finishes the current point; the next pairs belong to the next point.
    pub(super) fn end_point(&mut self) {
        self.starts.push(self.tiles.len() as u32 - 1);
    }

    /// Returns whether the pair was excluded for the given point, whose index in its block is `i`.
    pub(super) fn has(&self, point: usize, i: usize, j: usize, direction: usize) -> bool {
        let (range, at) = (self.starts[point] as usize..self.starts[point + 1] as usize, tile_containing(i, j));
        self.tiles[range]
            .iter()
            .any(|tile| tile.start as usize == at && tile.directions[direction] & 1 << (j - at) != 0)
    }
}

/// The ordered pairs of a group that are excluded, sorted, as `(i, code)` with `i` the earlier point: `code` is
/// twice the index of the later point, plus one for the pair from the later to the earlier point.
pub(super) fn excluded_pairs(group: &DissimilarGroup, edges: &Csr, adjacency: AdjacencyRule) -> Vec<(u32, u32)> {
    if adjacency == AdjacencyRule::Directed && !group.of_points {
        return Vec::new();
    }
    let mut local: Vec<(u32, u32)> = group.members.iter().copied().zip(0..).collect();
    local.sort_unstable();
    let mut out = Vec::new();
    for (from, &point) in (0..).zip(&group.members) {
        for other in edges.row(point as usize).0 {
            if let Ok(at) = local.binary_search_by_key(other, |entry| entry.0) {
                let to = local[at].1;
                let (i, j) = (from.min(to), from.max(to));
                match adjacency {
                    AdjacencyRule::Directed => out.push((i, 2 * j + u32::from(from > to))),
                    AdjacencyRule::Either => out.extend([(i, 2 * j), (i, 2 * j + 1)]),
                }
            }
        }
    }
    out.sort_unstable();
    out.dedup();
    out
}
