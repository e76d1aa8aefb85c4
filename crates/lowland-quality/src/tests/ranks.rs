//! Ranks compared with sorting.

use proptest::prelude::*;

use super::scatter;
use crate::MetricSpace;
use crate::ranks::neighbor_ranks;
use lowland_core::{Data, Embedding, Metric, Points};

/// All ranks by sorting all keys.
fn sorted_ranks(space: &MetricSpace, i: usize, candidates: &[u32]) -> Vec<u32> {
    let mut order: Vec<usize> = (0..space.rows()).filter(|&l| l != i).collect();
    order.sort_by(|&a, &b| space.key(i, a).total_cmp(&space.key(i, b)).then(a.cmp(&b)));
    candidates.iter().map(|&j| 1 + order.iter().position(|&l| l == j as usize).unwrap() as u32).collect()
}

fn check_ranks(space: &MetricSpace) {
    let n = space.rows();
    let pick = |i: usize| {
        (1..8.min(n)).map(move |step| ((i + step * step * 3 + step) % n) as u32).filter(move |&j| j != i as u32)
    };
    let candidates: Vec<Vec<u32>> = (0..n).map(|i| pick(i).collect()).collect();
    let rows: Vec<u32> = (0..n as u32).collect();
    let found = neighbor_ranks(space, &rows, |s| &candidates[s], &mut |_| Ok(())).unwrap();
    for i in 0..n {
        assert_eq!(found[i], sorted_ranks(space, i, &candidates[i]), "row {i}");
    }
}

#[test]
fn ranks_equal_those_of_sorting_even_below_f32_resolution() {
    for dim in [1, 2, 30] {
        let base = scatter(200, dim, 4);
        // Far from the origin, in near-duplicates, with outliers of all sizes, and very large or small.
        let far: Vec<f64> = base.iter().map(|v| 1e6 + 1e-4 * v).collect();
        let near_copies: Vec<f64> =
            base.iter().enumerate().map(|(at, _)| base[at % (dim * 20)] + 1e-9 * base[at]).collect();
        let grid: Vec<f64> = base.iter().map(|v| (v * 4.0).round()).collect();
        let outliers: Vec<f64> = base
            .iter()
            .enumerate()
            .map(|(at, v)| if at / dim % 9 == 0 { v * 10f64.powi((at / dim % 11) as i32) } else { *v })
            .collect();
        let huge: Vec<f64> = base.iter().map(|v| v * 1e90).collect();
        let tiny: Vec<f64> = base.iter().map(|v| v * 1e-90).collect();
        for values in [&base, &far, &near_copies, &grid, &outliers, &huge, &tiny] {
            check_ranks(&MetricSpace::Map(Points::new(values, dim).unwrap()));
        }
        for values in [&base, &far, &near_copies, &grid, &outliers] {
            let mut rounded: Vec<f32> = values.iter().map(|&v| v as f32).collect();
            rounded[5 * dim..6 * dim].fill(0.0);
            for scale in [1.0, 1e30, 1e-36] {
                let data =
                    Data::dense(rounded.iter().map(|v| (v * scale).clamp(f32::MIN, f32::MAX)).collect(), dim).unwrap();
                check_ranks(&MetricSpace::Data(&data, Metric::Euclidean));
                check_ranks(&MetricSpace::Data(&data, Metric::Cosine));
            }
        }
    }
}

#[test]
fn tiles_wider_than_one_count_every_point_once() {
    let values = scatter(5000, 14, 6);
    let data = Data::dense(values.iter().map(|&v| v as f32).collect(), 14).unwrap();
    let map = Embedding::new(values, 14).unwrap();
    let rows = [0u32, 77, 4999];
    let candidates = [[1u32, 4999], [0, 78], [0, 4998]];
    for space in [
        MetricSpace::Data(&data, Metric::Euclidean),
        MetricSpace::Data(&data, Metric::Cosine),
        MetricSpace::Map(map.points()),
    ] {
        let found = neighbor_ranks(&space, &rows, |s| &candidates[s][..], &mut |_| Ok(())).unwrap();
        for s in 0..3 {
            assert_eq!(found[s], sorted_ranks(&space, rows[s] as usize, &candidates[s]));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn ranks_equal_those_of_sorting_on_a_coarse_grid(
        cells in prop::collection::vec(-3i32..3, 26 * 2..26 * 8),
        dim in prop_oneof![Just(2usize), Just(13)],
    ) {
        let n = cells.len() / dim;
        prop_assume!(n >= 4);
        let values: Vec<f64> = cells[..n * dim].iter().map(|&c| f64::from(c)).collect();
        check_ranks(&MetricSpace::Map(Points::new(&values, dim).unwrap()));
        let data = Data::dense(values.iter().map(|&v| v as f32).collect(), dim).unwrap();
        check_ranks(&MetricSpace::Data(&data, Metric::Cosine));
        check_ranks(&MetricSpace::Data(&data, Metric::Chebyshev));
    }
}
