//! Selects neighbors that can be reached in both directions: the neighborhood graph of Saul (2020).

use rayon::prelude::*;

use super::Edge;
use lowland_core::{Error, Result};
use lowland_linalg::Csr;

/// Implements Saul (2020), eqs 22-24: of the directed edges stored in `lengths` (the pattern `K`), keeps those in the
/// spanning `tree` `T` and those whose end can reach their start within `steps` steps: `E = K o (T + R o R')` with
/// `R = K + K^2 + .. + K^s`. Since `K` is part of `R`, only `R'` has to be looked up.
pub fn mutual_reach(lengths: &Csr, tree: &[Edge], steps: usize) -> Result<Csr> {
    let n = lengths.rows();
    if n != lengths.columns() {
        return Err(Error::Shape { what: "columns of a square matrix", expected: n, found: lengths.columns() });
    }
    let mut tree: Vec<(u32, u32)> = tree.iter().map(|edge| (edge.from, edge.to)).collect();
    tree.sort_unstable();
    let incoming = lengths.transpose();
    // For each point j, the points i with an edge i -> j that is kept.
    let kept: Vec<Vec<u32>> = (0..n)
        .into_par_iter()
        .map_init(
            || ReachableSet::new(n),
            |walk, j| {
                let starts = incoming.row(j).0;
                if starts.is_empty() {
                    return Vec::new();
                }
                walk.from(lengths, j, steps);
                let in_tree = |i: u32| tree.binary_search(&(i.min(j as u32), i.max(j as u32))).is_ok();
                starts.iter().copied().filter(|&i| walk.reaches(i) || in_tree(i)).collect()
            },
        )
        .collect();
    // Column j of E lists its rows ascending, so a row's columns arrive in order and can be looked up.
    Ok(lengths.filter(|i, j, _| i != j && kept[j].binary_search(&(i as u32)).is_ok()))
}

/// The points within some steps of a point, marked by the number of the search.
struct ReachableSet {
    seen: Vec<u32>,
    round: u32,
    reached: Vec<u32>,
}

impl ReachableSet {
    fn new(points: usize) -> Self {
        Self { seen: vec![0; points], round: 0, reached: Vec::new() }
    }

    fn from(&mut self, pattern: &Csr, start: usize, steps: usize) {
        self.round += 1;
        self.reached.clear();
        let mut frontier = 0..0;
        for step in 0..steps {
            let sources: Vec<u32> =
                if step == 0 { vec![start as u32] } else { self.reached[frontier.clone()].to_vec() };
            for source in sources {
                for &next in pattern.row(source as usize).0 {
                    if self.seen[next as usize] != self.round {
                        self.seen[next as usize] = self.round;
                        self.reached.push(next);
                    }
                }
            }
            if frontier.end == self.reached.len() {
                break;
            }
            frontier = frontier.end..self.reached.len();
        }
    }

    fn reaches(&self, point: u32) -> bool {
        self.seen[point as usize] == self.round
    }
}

#[cfg(test)]
mod tests {
    use super::super::{minimum_spanning_forest, undirected_edges};
    use super::*;
    use proptest::prelude::*;

    /// Eqs 22-24 as printed, on full matrices.
    fn as_printed(k: &[[f64; 8]; 8], t: &[[f64; 8]; 8], steps: usize) -> Vec<(usize, usize)> {
        let times = |a: &[[f64; 8]; 8]| {
            let mut out = [[0.0; 8]; 8];
            for i in 0..8 {
                for j in 0..8 {
                    out[i][j] = (0..8).map(|l| a[i][l] * k[l][j]).sum();
                }
            }
            out
        };
        let (mut power, mut r) = (*k, *k);
        for _ in 1..steps {
            power = times(&power);
            (0..64).for_each(|at| r[at / 8][at % 8] += power[at / 8][at % 8]);
        }
        (0..64).map(|at| (at / 8, at % 8)).filter(|&(i, j)| k[i][j] * (t[i][j] + r[i][j] * r[j][i]) > 0.0).collect()
    }

    proptest! {
        #[test]
        fn the_edges_kept_are_those_of_the_printed_equations(edges in prop::collection::vec((0u32..8, 0u32..8, 1u8..9), 0..40), steps in 1usize..4) {
            let edges = edges.into_iter().filter(|(i, j, _)| i != j).map(|(i, j, d)| (i, j, f64::from(d)));
            let lengths = Csr::from_triplets(8, 8, edges).unwrap();
            let tree = minimum_spanning_forest(8, undirected_edges(&lengths)).unwrap();
            let (mut k, mut t) = ([[0.0; 8]; 8], [[0.0; 8]; 8]);
            lengths.iter().for_each(|(i, j, _)| k[i][j] = 1.0);
            for edge in &tree {
                t[edge.from as usize][edge.to as usize] = 1.0;
                t[edge.to as usize][edge.from as usize] = 1.0;
            }
            let kept = mutual_reach(&lengths, &tree, steps).unwrap();
            let pattern: Vec<(usize, usize)> = kept.iter().map(|(i, j, _)| (i, j)).collect();
            prop_assert_eq!(pattern, as_printed(&k, &t, steps));
            kept.iter().for_each(|(i, j, d)| assert_eq!(d, lengths.get(i, j)));
        }
    }
}
