//! Islands: groups of points on the map with empty space around them, found without labels.

use lowland_neighbors::NeighborGraph;

/// Neighbor whose distance is the local spacing of the map.
const SPACING_NEIGHBOR: usize = 5;
/// Returns the width of the smallest gap in units of the median spacing. In an even scatter at least forty points are within this
/// distance of each point, so that chance opens no gap.
fn gap_factor(dim: usize) -> f64 {
    if dim == 1 { 8.0 } else { 3.0 }
}

/// The islands of a map.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Islands {
    /// Island of each point, from 1 by size (ties by the first point); 0 for points in no island.
    pub of_point: Vec<u32>,
    /// Number of points of each island, largest first.
    pub sizes: Vec<usize>,
    /// Median distance of the points to their fifth neighbor.
    pub spacing: f64,
    /// Points of the same island are linked by steps of at most this length: three times the spacing, or eight times on a line.
    pub gap_width: f64,
    /// Fewest points of an island.
    pub min_size: usize,
}

impl Islands {
    /// Finds the islands of a map of `dim` dimensions from the nearest neighbors of its points.
    pub(crate) fn find(in_map: &NeighborGraph, dim: usize, min_size: usize) -> Self {
        let n = in_map.rows();
        let at = SPACING_NEIGHBOR.min(in_map.min_degree()) - 1;
        let mut spacing: Vec<f32> = (0..n).map(|i| in_map.row(i).1[at]).collect();
        spacing.sort_unstable_by(f32::total_cmp);
        // Where most points coincide with others, the spacing is that of the rest.
        let positive = &spacing[spacing.partition_point(|&d| d == 0.0)..];
        let middle = if spacing[n / 2] > 0.0 {
            spacing[n / 2]
        } else {
            positive.get(positive.len() / 2).copied().unwrap_or(0.0)
        };
        let spacing = f64::from(middle);
        let gap_width = gap_factor(dim) * spacing;
        let mut sets = PointSets::new(n);
        for i in 0..n {
            let (columns, lengths) = in_map.row(i);
            for (&j, _) in columns.iter().zip(lengths).take_while(|&(_, &d)| f64::from(d) <= gap_width) {
                sets.join(i as u32, j);
            }
        }
        let mut size = vec![0usize; n];
        let roots: Vec<u32> = (0..n as u32).map(|i| sets.root(i)).collect();
        roots.iter().for_each(|&root| size[root as usize] += 1);
        // The root of a set is its first point, so that ties are ordered by it.
        let mut order: Vec<u32> = (0..n as u32).filter(|&i| size[i as usize] >= min_size).collect();
        order.sort_by_key(|&i| std::cmp::Reverse(size[i as usize]));
        let mut number = vec![0u32; n];
        order.iter().zip(1..).for_each(|(&root, island)| number[root as usize] = island);
        Self {
            of_point: roots.iter().map(|&root| number[root as usize]).collect(),
            sizes: order.iter().map(|&root| size[root as usize]).collect(),
            spacing,
            gap_width,
            min_size,
        }
    }

    /// Returns the points of each island, ascending; those of island `a` are at `a - 1`.
    pub(crate) fn members(&self) -> Vec<Vec<u32>> {
        let mut members: Vec<Vec<u32>> = self.sizes.iter().map(|&size| Vec::with_capacity(size)).collect();
        for (i, &island) in self.of_point.iter().enumerate().filter(|(_, island)| **island > 0) {
            members[island as usize - 1].push(i as u32);
        }
        members
    }
}

/// Disjoint sets; the root of a set is its smallest element.
struct PointSets(Vec<u32>);

impl PointSets {
    fn new(n: usize) -> Self {
        Self((0..n as u32).collect())
    }

    fn root(&mut self, mut i: u32) -> u32 {
        while self.0[i as usize] != i {
            self.0[i as usize] = self.0[self.0[i as usize] as usize];
            i = self.0[i as usize];
        }
        i
    }

    fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.root(a), self.root(b));
        self.0[a.max(b) as usize] = a.min(b);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lowland_core::{Points, Seed};
    use lowland_neighbors::nearest_points;

    #[test]
    fn islands_are_ordered_by_size_and_single_points_are_in_none() {
        let grid = |count: usize, shift: f64| (0..count).flat_map(move |i| [(i % 10) as f64 + shift, (i / 10) as f64]);
        let mut map: Vec<f64> = grid(60, 0.0).chain(grid(100, 30.0)).collect();
        map.extend([15.0, 90.0]);
        let islands = Islands::find(&nearest_points(Points::new(&map, 2).unwrap(), 20).unwrap(), 2, 10);
        assert_eq!(islands.sizes, [100, 60]);
        assert_eq!((islands.of_point[0], islands.of_point[60], islands.of_point[160]), (2, 1, 0));
        assert_eq!(islands.members()[1], (0..60).collect::<Vec<u32>>());
    }

    #[test]
    fn an_even_scatter_is_one_island() {
        for (dim, seed) in (1..4).flat_map(|dim| (0..5).map(move |seed| (dim, seed))) {
            let uniform: Vec<f64> = (0..2000 * dim).map(|i| Seed(seed).item(i).0 as f64).collect();
            let islands = Islands::find(&nearest_points(Points::new(&uniform, dim).unwrap(), 60).unwrap(), dim, 15);
            assert_eq!(islands.sizes.len(), 1, "{:?}", islands.sizes);
        }
    }

    #[test]
    fn points_at_one_place_are_one_island() {
        let mut map = vec![1.0; 80];
        map.extend((0..40).map(f64::from));
        let islands = Islands::find(&nearest_points(Points::new(&map, 2).unwrap(), 20).unwrap(), 2, 10);
        assert_eq!(islands.sizes[0], 60);
    }
}
