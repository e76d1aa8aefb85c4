//! Every search against the obvious one: all distances by [`distance`], sorted.

mod approximate;
mod coarse;

use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::prelude::*;

use super::*;
use lowland_core::with_threads;
use lowland_core::{Dense, Points, Shape, Sparse};

fn quiet(_: f64) -> Result<()> {
    Ok(())
}

/// All distances from row `i` of `queries`, sorted by the rounded distance, then by index.
fn sorted_row(queries: &Data, i: usize, data: &Data, k: usize, metric: Metric, within: bool) -> Vec<(f32, u32)> {
    let mut row: Vec<(f32, u32)> = (0..data.rows())
        .filter(|&j| !(within && i == j))
        .map(|j| (distance(queries, i, data, j, metric) as f32, j as u32))
        .collect();
    row.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    row.truncate(k);
    row
}

fn edges(graph: &NeighborGraph, i: usize) -> Vec<(f32, u32)> {
    let (columns, lengths) = graph.row(i);
    lengths.iter().copied().zip(columns.iter().copied()).collect()
}

fn exact(k: usize, metric: Metric) -> NeighborParams {
    NeighborParams { n_neighbors: k, metric, search: Search::Exact, seed: Seed(1) }
}

fn assert_matches_sorting(data: &Data, k: usize, metric: Metric) {
    let found = nearest(data, &exact(k, metric), &mut quiet).unwrap();
    for i in 0..data.rows() {
        assert_eq!(edges(&found.graph, i), sorted_row(data, i, data, k, metric, true), "{metric}, row {i}, k {k}");
    }
}

fn normal_rows(rows: usize, dim: usize, seed: u64) -> Vec<f32> {
    Seed(seed).normals(rows * dim).into_iter().map(|x| x as f32).collect()
}

/// Rows of which about a tenth of the entries are not zero; some rows are empty.
fn sparse_rows(rows: usize, dim: usize, seed: u64, positive: bool) -> Sparse {
    let values = normal_rows(rows, dim, seed);
    let (mut indptr, mut indices, mut kept) = (vec![0], Vec::new(), Vec::new());
    for (i, row) in values.chunks_exact(dim).enumerate() {
        for (c, &x) in row.iter().enumerate().filter(|(_, x)| x.abs() > 1.6 && i % 37 != 5) {
            indices.push(c as u32);
            kept.push(if positive { x.abs() } else { x });
        }
        indptr.push(indices.len());
    }
    Sparse::new(indptr, indices, kept, dim).unwrap()
}

fn densified(x: &Sparse) -> Data {
    let mut values = vec![0.0; x.rows() * x.dim()];
    for i in 0..x.rows() {
        let (columns, entries) = x.row(i);
        columns.iter().zip(entries).for_each(|(&c, &v)| values[i * x.dim() + c as usize] = v);
    }
    Data::Dense(Dense::new(values, x.dim()).unwrap())
}

const NUMERIC: [Metric; 12] = [
    Metric::Euclidean,
    Metric::Cosine,
    Metric::Manhattan,
    Metric::Chebyshev,
    Metric::Minkowski(3.0),
    Metric::Minkowski(2.5),
    Metric::Correlation,
    Metric::Hamming,
    Metric::Jaccard,
    Metric::Canberra,
    Metric::BrayCurtis,
    Metric::Hellinger,
];

#[test]
fn distances_are_those_of_scikit_learn() {
    let rows = [
        [1.0, 0.0, 2.5, -3.0, 0.0, 0.5, 7.0],
        [0.0, 0.0, 1.5, 4.0, 0.0, -2.0, 1.0],
        [1.0, 2.0, 0.0, 0.0, 3.0, 0.0, 0.25],
    ];
    // sklearn.metrics.pairwise_distances (1.9.1) of rows 0-1, 0-2, 1-2; Hellinger from numpy, on absolute values.
    let golden = [
        (Metric::Euclidean, [9.656603957913983, 8.605957239029253, 6.067330549755798]),
        (Metric::Cosine, [1.0576567806813073, 0.9093890307284351, 0.9861739774035944]),
        (Metric::Manhattan, [17.5, 17.75, 14.25]),
        (Metric::Chebyshev, [7.0, 6.75, 4.0]),
        (Metric::Minkowski(3.0), [8.323343584932033, 7.276655740407667, 4.817368716421776]),
        (Metric::Minkowski(2.5), [8.799714964880646, 7.713917576781868, 5.249712679498403]),
        (Metric::Correlation, [1.218262647170536, 1.2009184434853095, 1.2867366617718474]),
        (Metric::Hamming, [0.7142857142857143, 0.8571428571428571, 1.0]),
        (Metric::Jaccard, [0.2, 0.7142857142857143, 0.8571428571428571]),
        (Metric::Canberra, [4.0, 5.931034482758621, 6.6]),
        (Metric::BrayCurtis, [1.1290322580645162, 0.8765432098765432, 0.9661016949152542]),
        (Metric::Hellinger, [0.4131863383773554, 0.8669914342124267, 0.9650909625227025]),
    ];
    let flat: Vec<f32> = rows.concat();
    let positive: Vec<f32> = flat.iter().map(|x| x.abs()).collect();
    for (metric, expected) in golden {
        let values = if metric == Metric::Hellinger { &positive } else { &flat };
        let dense = Data::dense(values.clone(), 7).unwrap();
        let entries: Vec<usize> = (0..21).filter(|&at| values[at] != 0.0).collect();
        let indptr = (0..=3).map(|i| entries.iter().filter(|&&at| at < 7 * i).count()).collect();
        let columns = entries.iter().map(|at| (at % 7) as u32).collect();
        let sparse = Sparse::new(indptr, columns, entries.iter().map(|&at| values[at]).collect(), 7).unwrap();
        let sparse = Data::Sparse(sparse);
        for ((i, j), expected) in [(0, 1), (0, 2), (1, 2)].into_iter().zip(expected) {
            for data in [&dense, &sparse] {
                let found = distance(data, i, data, j, metric);
                assert!((found - expected).abs() < 1e-14 * expected, "{metric} {} {found} {expected}", data.kind());
            }
        }
    }
}

#[test]
fn rows_without_direction_are_at_distance_one() {
    let data = Data::dense(vec![0.0, 0.0, 0.0, 0.0, 0.3, 0.1], 2).unwrap();
    assert_eq!(distance(&data, 0, &data, 1, Metric::Cosine), 1.0);
    assert_eq!(distance(&data, 0, &data, 2, Metric::Cosine), 1.0);
    assert_eq!(distance(&data, 0, &data, 2, Metric::Correlation), 1.0);
    assert_eq!(distance(&data, 0, &data, 2, Metric::Hellinger), 1.0);
    assert_eq!(distance(&data, 0, &data, 1, Metric::Hellinger), 0.0);
    assert_eq!(distance(&data, 0, &data, 1, Metric::BrayCurtis), 0.0);
}

#[test]
fn the_exact_search_is_that_of_sorting_for_every_metric() {
    // More than two tiles of rows, the last one ragged; with duplicates, zero rows and a column apart.
    let mut values = normal_rows(1100, 9, 3);
    for i in (0..1100).step_by(50) {
        let (from, to) = (i * 9, (i + 7) * 9);
        values.copy_within(from..from + 9, to);
        values[(i + 3) * 9..(i + 4) * 9].fill(0.0);
    }
    let positive: Vec<f32> = values.iter().map(|x| x.abs()).collect();
    for metric in NUMERIC {
        let values = if matches!(metric, Metric::Hellinger | Metric::BrayCurtis) { &positive } else { &values };
        assert_matches_sorting(&Data::dense(values.clone(), 9).unwrap(), 7, metric);
    }
}

#[test]
fn many_ties_are_broken_by_index() {
    let coarse: Vec<f32> = normal_rows(1300, 4, 5).into_iter().map(|x| x.round()).collect();
    for metric in [Metric::Euclidean, Metric::Cosine, Metric::Hamming, Metric::Manhattan] {
        assert_matches_sorting(&Data::dense(coarse.clone(), 4).unwrap(), 20, metric);
    }
    assert_matches_sorting(&Data::dense(vec![2.5; 3 * 1300], 3).unwrap(), 12, Metric::Euclidean);
}

/// How often the exact search computes a distance, where `pairs` are those of `rows` rows.
fn keys_computed(count: &AtomicUsize, rows: usize, k: usize, pairs: &impl Pairs) -> usize {
    exact::search_within(pairs, rows, k, &mut quiet).unwrap();
    count.load(Ordering::Relaxed)
}

#[test]
fn ties_are_settled_without_computing_their_distances() {
    const ROWS: usize = 1500;
    let count = AtomicUsize::new(0);
    let counted = |data: &Data, metric| {
        count.store(0, Ordering::Relaxed);
        let key = |i: usize, j: usize| {
            count.fetch_add(1, Ordering::Relaxed);
            distance(data, i, data, j, metric) as f32
        };
        match data {
            Data::Sparse(x) => {
                let flat = inner::SparseFlat::new(x, metric, 1.0);
                keys_computed(&count, ROWS, 5, &inner::SparseInner::new(&flat, &flat, &key))
            }
            Data::Dense(x) => {
                let flat = inner::Flat::new(x, metric, &inner::Frame::new(x, x), false);
                keys_computed(&count, ROWS, 5, &inner::DenseInner { queries: &flat, points: &flat, key: &key })
            }
            Data::Text(_) => unreachable!(),
        }
    };
    // Rows that mostly share no column (all at distance one), and rows that are all equal (all at distance zero).
    let columns: Vec<u32> = (0..ROWS).flat_map(|i| [(i % 700) as u32, 700 + i as u32]).collect();
    let sparse = Sparse::new((0..=ROWS).map(|i| 2 * i).collect(), columns, normal_rows(ROWS, 2, 4), 2200).unwrap();
    let absolute = Sparse::new(
        sparse.indptr().to_vec(),
        (0..ROWS).flat_map(|i| sparse.row(i).0.to_vec()).collect(),
        sparse.values().iter().map(|x| x.abs()).collect(),
        2200,
    );
    let (sparse, absolute) = (Data::Sparse(sparse), Data::Sparse(absolute.unwrap()));
    let equal = Data::dense(vec![0.7; ROWS * 3], 3).unwrap();
    for (data, metric) in [(&sparse, Metric::Cosine), (&absolute, Metric::Hellinger), (&equal, Metric::Euclidean)] {
        let computed = counted(data, metric);
        assert!(computed < 150 * ROWS, "{metric}: {computed} distances for {ROWS} rows");
        assert_matches_sorting(data, 5, metric);
    }
}

#[test]
fn sparse_rows_at_nearly_a_right_angle_are_told_apart() {
    // Cosines from far below to far above what rounds to a distance of one.
    let indices: Vec<u32> = (0..300).flat_map(|i| [0, 1 + i]).collect();
    let values = (0..300).flat_map(|i| [2f32.powf(-18.0 + (i * 7 % 300) as f32 / 30.0), 1.0]).collect();
    let rows = Sparse::new((0..=300).map(|i| 2 * i).collect(), indices, values, 301).unwrap();
    assert_matches_sorting(&Data::Sparse(rows), 7, Metric::Cosine);
}

#[test]
fn sparse_rows_have_the_neighbours_sorting_finds() {
    for metric in NUMERIC {
        let positive = matches!(metric, Metric::Hellinger | Metric::BrayCurtis);
        let rows = sparse_rows(600, 40, 11, positive);
        assert_matches_sorting(&Data::Sparse(rows.clone()), 6, metric);
        let (sparse, dense) = (Data::Sparse(rows.clone()), densified(&rows));
        for i in (0..600).step_by(71) {
            let (a, b) = (distance(&sparse, i, &sparse, 9, metric), distance(&dense, i, &dense, 9, metric));
            assert!((a - b).abs() <= 1e-12 * b.max(1e-3), "{metric} {a} {b}");
        }
    }
}

#[test]
fn strings_have_the_neighbours_sorting_finds() {
    let letters = ["a", "b", "ß", "ab", "漢", ""];
    let lines: Vec<String> = (0..700)
        .map(|i| {
            let length = if i % 90 == 7 { 80 } else { i % 13 };
            (0..length).map(|at| letters[(Seed(3).item(i).item(at).0 % 6) as usize]).collect()
        })
        .collect();
    assert_matches_sorting(&Data::text(lines), 5, Metric::Levenshtein);
}

#[test]
fn scaling_the_data_scales_the_distances_and_nothing_else() {
    let values = normal_rows(400, 5, 8);
    let at = |power: i32| {
        let scaled = values.iter().map(|x| x * 2f32.powi(power)).collect();
        nearest(&Data::dense(scaled, 5).unwrap(), &exact(5, Metric::Euclidean), &mut quiet).unwrap().graph
    };
    let plain = at(0);
    for power in [-100, 100] {
        let scaled = at(power);
        assert_eq!(scaled.indices(), plain.indices());
        let expected: Vec<f32> = plain.distances().iter().map(|d| d * 2f32.powi(power)).collect();
        assert_eq!(scaled.distances(), expected);
    }
}

#[test]
fn near_duplicates_far_from_the_origin_are_told_apart() {
    // Steps of one unit in the last place around 1000: |a|^2 + |b|^2 - 2ab would see nothing.
    let mut values = Vec::new();
    for i in 0..900u32 {
        let jitter = (Seed(2).item(i as usize).0 % 64) as f32 * 2f32.powi(-14);
        values.extend([1000.0 + jitter, -1000.0 + (i % 7) as f32 * 2f32.powi(-14), (i % 3) as f32 * 1000.0]);
    }
    assert_matches_sorting(&Data::dense(values, 3).unwrap(), 10, Metric::Euclidean);
}

#[test]
fn the_same_bytes_for_any_number_of_threads() {
    let data = Data::dense(normal_rows(1700, 12, 4), 12).unwrap();
    for metric in [Metric::Euclidean, Metric::Manhattan] {
        let run = |threads| {
            with_threads(Some(threads), || nearest(&data, &exact(9, metric), &mut quiet).unwrap().graph).unwrap()
        };
        let one = run(1);
        assert!(run(2) == one && run(3) == one);
    }
}

#[test]
fn a_query_gets_the_same_answer_in_any_company() {
    let data = Data::dense(normal_rows(900, 20, 6), 20).unwrap();
    let mut values = normal_rows(700, 20, 7);
    values[..20].fill(1e30);
    let queries = Data::dense(values, 20).unwrap();
    for metric in [Metric::Euclidean, Metric::Cosine, Metric::Chebyshev] {
        let together = nearest_to(&queries, &data, 8, metric, &mut quiet).unwrap();
        for i in [0, 1, 350, 699] {
            let alone = nearest_to(&queries.select(&[i]), &data, 8, metric, &mut quiet).unwrap();
            assert_eq!(edges(&alone, 0), edges(&together, i));
            assert_eq!(edges(&together, i), sorted_row(&queries, i, &data, 8, metric, false), "{metric} {i}");
        }
    }
}

#[test]
fn precomputed_distances_are_read_off() {
    let data = Data::dense(normal_rows(60, 3, 9), 3).unwrap();
    let matrix: Vec<f32> =
        (0..3600).map(|at| distance(&data, at / 60, &data, at % 60, Metric::Euclidean) as f32).collect();
    let matrix = Data::dense(matrix, 60).unwrap();
    let read = nearest(&matrix, &exact(4, Metric::Precomputed), &mut quiet).unwrap();
    let searched = nearest(&data, &exact(4, Metric::Euclidean), &mut quiet).unwrap();
    assert_eq!(read.graph.indices(), searched.graph.indices());
    assert_eq!(read.algorithm, Algorithm::Precomputed);

    let sparse = Sparse::new(vec![0, 3, 4, 5], vec![0, 1, 2, 0, 0], vec![0.0, 2.0, 1.0, 2.0, 1.0], 3).unwrap();
    let sparse = Data::Sparse(sparse);
    let one = nearest(&sparse, &exact(1, Metric::Precomputed), &mut quiet).unwrap();
    assert_eq!(edges(&one.graph, 0), [(1.0, 2)]);
    let error = nearest(&sparse, &exact(2, Metric::Precomputed), &mut quiet).unwrap_err().to_string();
    assert!(error.contains("row 1") && error.contains("found 1"), "{error}");
    let new = Data::dense(vec![3.0, 0.0, 1.0], 3).unwrap();
    let nearest_new = nearest_to(&new, &sparse, 2, Metric::Precomputed, &mut quiet).unwrap();
    assert_eq!(edges(&nearest_new, 0), [(0.0, 1), (1.0, 2)]);
}

#[test]
fn impossible_numbers_of_neighbours_are_refused_with_what_is_allowed() {
    let data = Data::dense(vec![0.0, 1.0, 2.0], 1).unwrap();
    let search = |k| nearest(&data, &exact(k, Metric::Euclidean), &mut quiet);
    assert!(search(0).unwrap_err().to_string().contains("from 1 to 2"));
    assert!(search(3).unwrap_err().to_string().contains("at least 4 points, found 3"));
    assert!(search(2).is_ok());
    let empty = Data::dense(vec![], 4).unwrap();
    assert!(nearest(&empty, &exact(1, Metric::Euclidean), &mut quiet).is_err());
    assert!(nearest_to(&empty, &data, 1, Metric::Euclidean, &mut quiet).is_err());
    let unlike = Data::Sparse(sparse_rows(5, 1, 1, false));
    assert!(nearest_to(&unlike, &data, 1, Metric::Euclidean, &mut quiet).is_err());
    let none = Data::Dense(Dense::shared(std::sync::Arc::new(Vec::new()), 0, 1).unwrap());
    assert_eq!(nearest_to(&none, &data, 1, Metric::Euclidean, &mut quiet).unwrap().rows(), 0);
    // Rows without columns are all equal.
    let flat = Data::Dense(Dense::shared(std::sync::Arc::new(Vec::new()), 3, 0).unwrap());
    assert_eq!(
        edges(&nearest(&flat, &exact(2, Metric::Euclidean), &mut quiet).unwrap().graph, 1),
        [(0.0, 0), (0.0, 2)]
    );
    assert!(nearest(&data, &exact(1, Metric::Minkowski(f64::NAN)), &mut quiet).is_err());
    let infinite = Data::dense(vec![1.0, -1.0], 1).unwrap();
    assert!(nearest(&infinite, &exact(1, Metric::BrayCurtis), &mut quiet).unwrap_err().to_string().contains("finite"));
}

#[test]
fn a_search_stops_when_it_is_told_to() {
    let data = Data::dense(normal_rows(2000, 4, 1), 4).unwrap();
    let mut calls = 0;
    let mut stop = |fraction: f64| {
        assert!((0.0..=1.0).contains(&fraction));
        calls += 1;
        if calls == 2 { Err(Error::Stopped { stage: "neighbours" }) } else { Ok(()) }
    };
    let stopped = nearest(&data, &exact(5, Metric::Euclidean), &mut stop);
    assert_eq!(stopped.unwrap_err(), Error::Stopped { stage: "neighbours" });
}

#[test]
fn slow_distances_are_searched_in_small_tiles_with_the_same_result() {
    // Either would be a single tile of 512 rows, and could be stopped only when all is done.
    let wide = Data::dense(normal_rows(200, 400, 2), 400).unwrap();
    let letter = |i: usize, at: usize| char::from(b'a' + (Seed(7).item(i).item(at).0 % 4) as u8);
    let long = Data::text((0..150).map(|i| (0..90 + i).map(|at| letter(i, at)).collect()).collect());
    for (data, metric) in [(&wide, Metric::Minkowski(2.5)), (&long, Metric::Levenshtein)] {
        let mut calls = 0;
        let mut count = |_| {
            calls += 1;
            Ok(())
        };
        with_threads(Some(1), || nearest(data, &exact(4, metric), &mut count).unwrap()).unwrap();
        assert!(calls > 3, "{metric}: {calls} looks");
        assert_matches_sorting(data, 4, metric);
    }
}

#[test]
fn names_of_searches_read_back() {
    for search in [Search::Auto, Search::Exact, Search::Approximate] {
        assert_eq!(search.to_string().parse::<Search>().unwrap(), search);
    }
    assert!("fast".parse::<Search>().unwrap_err().to_string().contains("approximate"));
}

/// All pairs of a map in `f64`; the set of neighbours is by (squared distance, index).
fn sorted_points(points: Points, i: usize, k: usize) -> Vec<u32> {
    let mut row: Vec<(f64, u32)> = (0..points.rows())
        .filter(|&j| j != i)
        .map(|j| (points.row(i).iter().zip(points.row(j)).map(|(a, b)| (a - b) * (a - b)).sum(), j as u32))
        .collect();
    row.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let mut indices: Vec<u32> = row[..k].iter().map(|&(_, j)| j).collect();
    indices.sort_unstable();
    indices
}

#[test]
fn neighbours_in_a_map_are_those_of_sorting_in_any_dimension() {
    for dim in 1..=10 {
        for coarse in [false, true] {
            let mut values = Seed(dim as u64).normals(500 * dim);
            if coarse {
                values.iter_mut().for_each(|x| *x = (*x * 2.0).round());
            }
            let points = Points::new(&values, dim).unwrap();
            let graph = nearest_points(points, 6, &mut quiet).unwrap();
            for i in 0..500 {
                let mut found = graph.row(i).0.to_vec();
                found.sort_unstable();
                assert_eq!(found, sorted_points(points, i, 6), "dim {dim}, row {i}");
            }
        }
    }
}

#[test]
fn neighbours_of_a_map_stop_when_told_to_and_coinciding_points_have_the_lowest_indices() {
    for dim in [2, 9] {
        let mut values = Seed(4).normals(3000 * dim);
        values[1000 * dim..].fill(0.5);
        let points = Points::new(&values, dim).unwrap();
        let graph = nearest_points(points, 20, &mut quiet).unwrap();
        assert_eq!(graph.row(2999).0, (1000..1020).collect::<Vec<u32>>());
        assert_eq!(graph.row(1001).0, [1000].into_iter().chain(1002..1021).collect::<Vec<u32>>());
        let stopped = nearest_points(points, 20, &mut |_| Err(Error::Stopped { stage: "neighbours" }));
        assert_eq!(stopped.unwrap_err(), Error::Stopped { stage: "neighbours" });
        let threads = |t| with_threads(Some(t), || nearest_points(points, 20, &mut quiet).unwrap()).unwrap();
        assert!(threads(1) == graph && threads(2) == graph && threads(3) == graph);
    }
}

#[test]
fn maps_with_extreme_or_missing_coordinates_give_neighbours_or_an_error() {
    let tiny: Vec<f64> = Seed(1).normals(40).into_iter().map(|x| x * 1e-30).collect();
    let plain: Vec<f64> = tiny.iter().map(|x| x * 1e30).collect();
    let (tiny, plain) = (Points::new(&tiny, 2).unwrap(), Points::new(&plain, 2).unwrap());
    assert_eq!(
        nearest_points(tiny, 3, &mut quiet).unwrap().indices(),
        nearest_points(plain, 3, &mut quiet).unwrap().indices()
    );
    let huge = [0.0, 1e300, -1e300];
    assert!(nearest_points(Points::new(&huge, 1).unwrap(), 1, &mut quiet).is_err());
    let bad = [0.0, 1.0, f64::NAN, 2.0];
    let error = nearest_points(Points::new(&bad, 2).unwrap(), 1, &mut quiet).unwrap_err();
    assert!(matches!(error, Error::NotFinite { row: 1, column: 0, count: 1, .. }));
    assert!(nearest_points(Points::new(&[], 2).unwrap(), 1, &mut quiet).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn hostile_numbers_never_break_the_exact_search(
        values in prop::collection::vec(
            prop_oneof![4 => -3.0f32..3.0, 1 => Just(0.0f32), 1 => Just(1e-38f32), 1 => Just(-1e18f32), 1 => Just(1e19f32), 1 => Just(1e-20f32)],
            4..120,
        ),
        dim in 1usize..4,
        k in 1usize..5,
        which in 0usize..12,
    ) {
        let rows = values.len() / dim;
        let metric = NUMERIC[which];
        let values: Vec<f32> = values[..rows * dim].iter().map(|x| x.abs()).collect();
        let data = Data::dense(values, dim).unwrap();
        let found = nearest(&data, &exact(k, metric), &mut quiet);
        prop_assert_eq!(found.is_ok(), k < rows);
        if let Ok(found) = found {
            for i in 0..rows {
                prop_assert_eq!(edges(&found.graph, i), sorted_row(&data, i, &data, k, metric, true));
            }
        }
    }
}
