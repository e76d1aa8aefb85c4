//! Which true neighbours of a point are still its neighbours in a map.

use lowland::neighbors::NeighborGraph;

/// More neighbours than this are not told apart: the answer for a point is two bytes.
pub const MOST: usize = 16;

/// Neighbours a point that both graphs have in every row, as far as they are shown; 0 when there is nothing to compare.
pub fn common(data: &NeighborGraph, map: Option<&NeighborGraph>) -> usize {
    map.map_or(MOST, NeighborGraph::min_degree).min(data.min_degree()).min(MOST)
}

/// Bit `r` of a row is set when its `r`-th nearest in the data is among its `k` nearest in the map.
pub fn bits(data: &NeighborGraph, map: &NeighborGraph, k: usize) -> Vec<u16> {
    let row = |i: usize| {
        let (wanted, found) = (&data.row(i).0[..k], &map.row(i).0[..k]);
        wanted.iter().enumerate().map(|(r, j)| u16::from(found.contains(j)) << r).sum()
    };
    (0..data.rows().min(map.rows())).map(row).collect()
}
