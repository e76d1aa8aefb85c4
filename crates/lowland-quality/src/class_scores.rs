//! Scores of how well classes are separated in the map.

use std::collections::BTreeMap;

use lowland_core::{Error, Result};
use lowland_neighbors::NeighborGraph;

/// Neighbor share of a class.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClassShare {
    /// Code of the class.
    pub code: u32,
    /// Number of points of the class.
    pub points: usize,
    /// Mean share of a point's neighbors in the map that have its class.
    pub share: f64,
}

/// Returns the leave-one-out error of the `k`-nearest-neighbor classifier in the map: the share of points whose class
/// is not the most frequent one among their `k` neighbors. Ties go to the class with the nearest point.
pub fn classification_error(map: &NeighborGraph, labels: &[u32], k: usize) -> Result<f64> {
    check_labels(map, labels, k)?;
    let mut votes: Vec<(u32, usize)> = Vec::with_capacity(k);
    let mut wrong = 0usize;
    for i in 0..map.rows() {
        votes.clear();
        for &j in &map.row(i).0[..k] {
            let label = labels[j as usize];
            match votes.iter_mut().find(|vote| vote.0 == label) {
                Some(vote) => vote.1 += 1,
                None => votes.push((label, 1)),
            }
        }
        // Votes are in the order of each class's nearest point; only a strictly larger count wins.
        let winner = votes.iter().fold((labels[i], 0), |best, &vote| if vote.1 > best.1 { vote } else { best });
        wrong += usize::from(winner.0 != labels[i]);
    }
    Ok(wrong as f64 / map.rows() as f64)
}

/// Returns for each class, in order of its code, the mean share of a point's `k` neighbors in the map that have its
/// class.
pub fn class_shares(map: &NeighborGraph, labels: &[u32], k: usize) -> Result<Vec<ClassShare>> {
    check_labels(map, labels, k)?;
    let mut classes: BTreeMap<u32, (usize, usize)> = BTreeMap::new();
    for (i, &label) in labels.iter().enumerate() {
        let (points, same) = classes.entry(label).or_default();
        *points += 1;
        *same += map.row(i).0[..k].iter().filter(|&&j| labels[j as usize] == label).count();
    }
    let share = |(code, (points, same)): (u32, (usize, usize))| ClassShare {
        code,
        points,
        share: same as f64 / (points * k) as f64,
    };
    Ok(classes.into_iter().map(share).collect())
}

fn check_labels(map: &NeighborGraph, labels: &[u32], k: usize) -> Result<()> {
    if labels.len() != map.rows() || map.targets() > labels.len() {
        return Err(Error::Shape { what: "labels", expected: map.rows().max(map.targets()), found: labels.len() });
    }
    if k == 0 || k > map.min_degree() {
        return Err(Error::Parameter {
            name: "n_neighbors",
            value: k.to_string(),
            allowed: format!("from 1 to {}, the neighbors that every row of the graph has", map.min_degree()),
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use lowland_core::Metric;

    /// Four rows on a ring: row 0 has neighbors 1 2 3, and so on.
    fn ring() -> NeighborGraph {
        let indices = vec![1, 2, 3, 2, 3, 0, 3, 0, 1, 0, 1, 2];
        NeighborGraph::uniform(3, indices, [1.0, 2.0, 3.0].repeat(4), 4, Metric::Euclidean).unwrap()
    }

    #[test]
    fn votes_are_counted_and_ties_go_to_the_nearest() {
        // Row 0 sees 5, 7, 7 -> 7; row 1 sees 7, 7, 5 -> 7; row 2 sees 7, 5, 5 -> 5; row 3 sees 5, 5, 7 -> 5.
        let labels = [5, 5, 7, 7];
        assert_eq!(classification_error(&ring(), &labels, 3).unwrap(), 1.0);
        // With two neighbors all are ties but rows 1 and 3, which are wrong; the nearest of row 0 is 5, of row 2 is 7.
        assert_eq!(classification_error(&ring(), &labels, 2).unwrap(), 0.5);
        assert_eq!(classification_error(&ring(), &labels, 1).unwrap(), 0.5);
        assert_eq!(classification_error(&ring(), &[1; 4], 3).unwrap(), 0.0);
    }

    #[test]
    fn shares_are_means_over_the_points_of_a_class() {
        let shares = class_shares(&ring(), &[9, 2, 9, 9], 2).unwrap();
        assert_eq!(shares[0], ClassShare { code: 2, points: 1, share: 0.0 });
        // Rows 0, 2 and 3 see (2, 9), (9, 9) and (9, 2).
        assert_eq!(shares[1], ClassShare { code: 9, points: 3, share: 4.0 / 6.0 });
    }

    #[test]
    fn labels_and_neighbors_must_match() {
        assert!(class_shares(&ring(), &[1, 2, 3], 2).is_err());
        assert!(classification_error(&ring(), &[1; 4], 4).is_err());
        assert!(classification_error(&ring(), &[1; 4], 0).is_err());
    }
}
