//! Determines which true neighbors of a point are still its neighbors in a map.

use lowland::neighbors::NeighborGraph;

/// Largest number of neighbors per point, one bit each.
pub const MAX_NEIGHBORS: usize = 16;

/// Returns the number of neighbors that every row has in both graphs, up to `MAX_NEIGHBORS`.
pub fn common_neighbors(data: &NeighborGraph, map: Option<&NeighborGraph>) -> usize {
    map.map_or(MAX_NEIGHBORS, NeighborGraph::min_degree).min(data.min_degree()).min(MAX_NEIGHBORS)
}

/// Returns a bit set for each row: bit `r` is set if the `r`-th nearest neighbor in the data is among the `k` nearest in the map.
pub fn retention_bits(data: &NeighborGraph, map: &NeighborGraph, k: usize) -> Vec<u16> {
    let row = |i: usize| {
        let (expected, found) = (&data.row(i).0[..k], &map.row(i).0[..k]);
        expected.iter().enumerate().map(|(r, j)| u16::from(found.contains(j)) << r).sum()
    };
    (0..data.rows().min(map.rows())).map(row).collect()
}
