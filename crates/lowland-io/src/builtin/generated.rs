//! Data whose structure is known, to measure what maps of them claim: clusters at known distances, of different density and
//! with a bridge, a tree, and noise without structure. Each row is drawn by itself, from streams of its own.

use lowland::{Data, Embedding, Labels, Result, Seed};

use super::uniform;
use crate::table::Table;

/// Number of columns of the Gaussian.
pub(super) const GAUSSIAN_DIM: usize = 50;
/// Number of columns of the others.
pub(super) const DIM: usize = 10;

/// Distances between the two clusters of each pair of the mixture.
const DISTANCES: [f64; 6] = [2.0, 3.0, 4.0, 6.0, 8.0, 12.0];
/// Distance between the pairs of the mixture, and between the clusters of unequal density.
const FAR: f64 = 40.0;
/// Spread of each cluster of unequal density.
const SPREADS: [f64; 5] = [0.25, 0.5, 1.0, 2.0, 4.0];
/// Share of the rows on the bridge, its length, and its width relative to the spread of the clusters.
const BRIDGE_SHARE: f64 = 0.04;
const BRIDGE_LENGTH: f64 = 14.0;
const BRIDGE_WIDTH: f64 = 0.4;
/// Branches of the tree: each but the first begins at the end of another, two at each end. Length of a branch.
const BRANCHES: usize = 15;
const BRANCH_LENGTH: f64 = 10.0;

/// A table of `dim` columns from the center, the spread and the class of each row.
fn clusters(n: usize, dim: usize, seed: Seed, row: impl Fn(usize) -> (Vec<f64>, f64, String)) -> Result<Table> {
    let draw = seed.stream("points");
    let mut values = Vec::with_capacity(n * dim);
    let mut classes = Vec::with_capacity(n);
    for i in 0..n {
        let (center, spread, class) = row(i);
        values.extend(center.iter().zip(draw.item(i).normals(dim)).map(|(c, offset)| (c + spread * offset) as f32));
        classes.push(class);
    }
    let mut table = Table::new(Data::dense(values, dim)?);
    table.labels = Some(Labels::new(classes));
    Ok(table)
}

/// Returns a point with these leading coordinates.
fn point(leading: &[f64]) -> Vec<f64> {
    let mut point = vec![0.0; DIM];
    point[..leading.len()].copy_from_slice(leading);
    point
}

pub(super) fn gaussian(n: usize, spread: f64, seed: Seed) -> Result<Table> {
    clusters(n, GAUSSIAN_DIM, seed, |_| (vec![0.0; GAUSSIAN_DIM], spread, "0".into()))
}

pub(super) fn mixture(n: usize, spread: f64, seed: Seed) -> Result<Table> {
    clusters(n, DIM, seed, |i| {
        let (pair, second) = (i / 2 % DISTANCES.len(), i % 2 == 1);
        let mut center = point(&[if second { DISTANCES[pair] } else { 0.0 }]);
        // Each pair has a coordinate of its own, in which it is far from the others.
        center[1 + pair] = FAR;
        (center, spread, format!("{}{}", DISTANCES[pair], if second { 'b' } else { 'a' }))
    })
}

pub(super) fn unequal_density(n: usize, spread: f64, seed: Seed) -> Result<Table> {
    clusters(n, DIM, seed, |i| {
        let cluster = i % SPREADS.len();
        let mut center = point(&[]);
        center[cluster] = FAR;
        (center, spread * SPREADS[cluster], cluster.to_string())
    })
}

pub(super) fn bridge(n: usize, spread: f64, seed: Seed) -> Result<Table> {
    let (draw_group, draw_place) = (seed.stream("group"), seed.stream("place"));
    clusters(n, DIM, seed, |i| {
        let group = uniform(draw_group, i);
        if group < BRIDGE_SHARE {
            return (point(&[BRIDGE_LENGTH * uniform(draw_place, i)]), BRIDGE_WIDTH * spread, "bridge".into());
        }
        let second = group > 0.5 * (1.0 + BRIDGE_SHARE);
        (point(&[if second { BRIDGE_LENGTH } else { 0.0 }]), spread, if second { "b" } else { "a" }.into())
    })
}

pub(super) fn tree(n: usize, noise: f64, seed: Seed) -> Result<Table> {
    let (draw_direction, draw_place) = (seed.stream("directions"), seed.stream("place"));
    // Start and direction of each branch.
    let mut branches: Vec<(Vec<f64>, Vec<f64>)> = Vec::with_capacity(BRANCHES);
    for b in 0..BRANCHES {
        let direction = draw_direction.item(b).normals(DIM);
        let length = direction.iter().map(|v| v * v).sum::<f64>().sqrt();
        let direction: Vec<f64> = direction.iter().map(|v| v / length).collect();
        let start = match b {
            0 => vec![0.0; DIM],
            _ => {
                let (start, direction) = &branches[(b - 1) / 2];
                start.iter().zip(direction).map(|(s, d)| s + BRANCH_LENGTH * d).collect()
            }
        };
        branches.push((start, direction));
    }
    let place = |i: usize| {
        let (start, direction) = &branches[i % BRANCHES];
        let along = BRANCH_LENGTH * uniform(draw_place, i);
        start.iter().zip(direction).map(|(s, d)| s + along * d).collect::<Vec<f64>>()
    };
    let mut table = clusters(n, DIM, seed, |i| (place(i), noise, (i % BRANCHES).to_string()))?;
    table.truth = Some(Embedding::new((0..n).flat_map(place).collect(), DIM)?);
    Ok(table)
}

#[cfg(test)]
mod tests {
    use lowland::data::Dense;

    use super::*;

    fn rows(table: &Table) -> &Dense {
        match &table.data {
            Data::Dense(x) => x,
            other => panic!("{}", other.kind()),
        }
    }

    /// Mean of the rows of a class.
    fn center(table: &Table, class: &str) -> Vec<f64> {
        let (x, labels) = (rows(table), table.labels.as_ref().unwrap());
        let of_class: Vec<usize> = (0..x.rows()).filter(|&i| labels.name(i) == class).collect();
        let mean = |c: usize| of_class.iter().map(|&i| f64::from(x.row(i)[c])).sum::<f64>() / of_class.len() as f64;
        (0..x.dim()).map(mean).collect()
    }

    fn distance(a: &[f64], b: &[f64]) -> f64 {
        a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
    }

    #[test]
    fn the_clusters_of_a_mixture_are_at_the_distances_that_their_names_say() {
        let table = mixture(24_000, 1.0, Seed(1)).unwrap();
        for wanted in DISTANCES {
            let apart = distance(&center(&table, &format!("{wanted}a")), &center(&table, &format!("{wanted}b")));
            assert!((apart - wanted).abs() < 0.25, "{wanted}: {apart}");
        }
        assert!(distance(&center(&table, "2a"), &center(&table, "12a")) > 50.0);
    }

    #[test]
    fn a_bridge_has_its_share_of_the_rows_and_lies_between_the_clusters() {
        let table = bridge(20_000, 1.0, Seed(2)).unwrap();
        let labels = table.labels.as_ref().unwrap();
        let on_bridge: Vec<usize> = (0..20_000).filter(|&i| labels.name(i) == "bridge").collect();
        assert!((700..900).contains(&on_bridge.len()), "{}", on_bridge.len());
        assert!(on_bridge.iter().all(|&i| (-2.5..16.5).contains(&rows(&table).row(i)[0])));
        assert!((distance(&center(&table, "a"), &center(&table, "b")) - BRIDGE_LENGTH).abs() < 0.2);
    }

    #[test]
    fn the_truth_of_a_tree_is_its_rows_without_noise_and_is_connected() {
        let (noisy, clean) = (tree(900, 0.3, Seed(3)).unwrap(), tree(900, 0.0, Seed(3)).unwrap());
        assert_eq!(noisy.truth, clean.truth);
        let truth = noisy.truth.as_ref().unwrap();
        let nearest = |i: usize| {
            let others = (0..900).filter(|&j| j != i);
            others.map(|j| distance(truth.row(i), truth.row(j))).fold(f64::INFINITY, f64::min)
        };
        assert!((0..900).all(|i| nearest(i) < 2.0));
        let deviation = rows(&noisy).values().iter().zip(truth.values()).map(|(&x, t)| (f64::from(x) - t).powi(2));
        let deviation = (deviation.sum::<f64>() / 9000.0).sqrt();
        assert!((deviation - 0.3).abs() < 0.01, "{deviation}");
    }

    #[test]
    fn clusters_of_unequal_density_have_their_spreads() {
        let table = unequal_density(5000, 1.0, Seed(4)).unwrap();
        for (cluster, spread) in SPREADS.iter().enumerate() {
            let middle = center(&table, &cluster.to_string());
            let (x, labels) = (rows(&table), table.labels.as_ref().unwrap());
            let of_class: Vec<usize> = (0..5000).filter(|&i| labels.codes[i] as usize == cluster).collect();
            let square =
                |&i: &usize| x.row(i).iter().zip(&middle).map(|(v, m)| (f64::from(*v) - m).powi(2)).sum::<f64>();
            let found = (of_class.iter().map(square).sum::<f64>() / (of_class.len() * DIM) as f64).sqrt();
            assert!((found / spread - 1.0).abs() < 0.05, "{found} {spread}");
        }
    }
}
