//! The two-stage exact search finds what sorting finds, and is used where it should be.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::{assert_matches_sorting, edges, exact, normal_rows, quiet};
use crate::exact::search_pairs;
use crate::inner_product::{CenterAndScale, TransformedRows};
use crate::two_stage_exact::TwoStagePairs;
use crate::{distance, nearest, nearest_to};
use lowland_core::{Data, Metric};

const ROWS: usize = 2300;
const DIM: usize = 40;

/// Rows whose variance decreases from column to column, some of them equal, some zero.
fn decaying_rows() -> Vec<f32> {
    let mut values = normal_rows(ROWS, DIM, 3);
    values.iter_mut().enumerate().for_each(|(at, x)| *x *= 0.8f32.powi((at % DIM) as i32));
    for i in (0..ROWS - 10).step_by(50) {
        values.copy_within(i * DIM..(i + 1) * DIM, (i + 7) * DIM);
        values[(i + 3) * DIM..(i + 4) * DIM].fill(0.0);
    }
    values
}

/// Whether the search uses two stages.
fn uses_two_stages(data: &Data, metric: Metric) -> bool {
    let Data::Dense(x) = data else { return false };
    let transformed = TransformedRows::new(x, metric, &CenterAndScale::new(x, x), false);
    TwoStagePairs::new(&transformed, &|_, _| 0.0, &mut quiet).unwrap().is_some()
}

#[test]
fn the_two_stage_search_agrees_with_sorting() {
    let values = decaying_rows();
    let positive: Vec<f32> = values.iter().map(|x| x.abs()).collect();
    for (metric, k) in [(Metric::Euclidean, 90), (Metric::Cosine, 7), (Metric::Correlation, 7), (Metric::Hellinger, 7)]
    {
        let values = if metric == Metric::Hellinger { &positive } else { &values };
        let data = Data::dense(values.clone(), DIM).unwrap();
        assert!(uses_two_stages(&data, metric), "{metric}");
        assert_matches_sorting(&data, k, metric);
    }
}

#[test]
fn the_two_stage_search_distinguishes_near_rows_far_from_the_origin() {
    // Steps of one unit in the last place, below the rounding error of the projections.
    let values = normal_rows(ROWS, DIM, 9).into_iter().enumerate();
    let values = values.map(|(at, x)| if at % DIM < 20 { 1000.0 + (8.0 * x).round() * 2f32.powi(-14) } else { 1000.0 });
    let data = Data::dense(values.collect(), DIM).unwrap();
    assert!(uses_two_stages(&data, Metric::Euclidean) && uses_two_stages(&data, Metric::Cosine));
    assert_matches_sorting(&data, 10, Metric::Euclidean);
    assert_matches_sorting(&data, 10, Metric::Cosine);
}

#[test]
fn few_short_or_isotropic_rows_are_searched_in_one_stage() {
    let cut = |rows: usize, dim: usize| {
        let values = decaying_rows().chunks_exact(DIM).take(rows).flat_map(|row| row[..dim].to_vec()).collect();
        uses_two_stages(&Data::dense(values, dim).unwrap(), Metric::Euclidean)
    };
    assert!(cut(ROWS, DIM) && !cut(1000, DIM) && !cut(ROWS, 12));
    assert!(!uses_two_stages(&Data::dense(normal_rows(ROWS, DIM, 3), DIM).unwrap(), Metric::Euclidean));
}

#[test]
fn few_distances_are_computed_between_equal_rows() {
    let count = AtomicUsize::new(0);
    let data = Data::dense(vec![0.7; ROWS * DIM], DIM).unwrap();
    let key = |i: usize, j: usize| {
        count.fetch_add(1, Ordering::Relaxed);
        distance(&data, i, &data, j, Metric::Euclidean) as f32
    };
    let Data::Dense(x) = &data else { unreachable!() };
    let transformed = TransformedRows::new(x, Metric::Euclidean, &CenterAndScale::new(x, x), false);
    search_pairs(&TwoStagePairs::new(&transformed, &key, &mut quiet).unwrap().unwrap(), ROWS, 5, &mut quiet).unwrap();
    let computed = count.load(Ordering::Relaxed);
    assert!(computed < 150 * ROWS, "{computed} distances for {ROWS} rows");
    assert_matches_sorting(&data, 5, Metric::Euclidean);
}

#[test]
fn self_queries_agree_with_the_self_search() {
    let data = Data::dense(decaying_rows(), DIM).unwrap();
    let others = nearest(&data, &exact(4, Metric::Euclidean)).unwrap().graph;
    let all = nearest_to(&data, &data, 5, Metric::Euclidean).unwrap();
    for i in (1..ROWS).step_by(50) {
        let rest: Vec<_> = edges(&all, i).into_iter().filter(|&(_, j)| j as usize != i).collect();
        assert_eq!(rest[..4], edges(&others, i));
    }
}
