//! Reports on maps whose answers are known.

use lowland_core::{Data, Embedding, Points, ReliabilityColumn, Seed};

use crate::{GapVerdict, TrustParams, TrustReport, assess};

fn uniform(seed: u64, count: usize) -> Vec<f64> {
    (0..count).map(|i| (Seed(seed).item(i).0 >> 11) as f64 / (1u64 << 53) as f64).collect()
}

fn report(rows: &[f64], dim: usize, map: &[f64]) -> lowland_core::Result<TrustReport> {
    report_in(2, rows, dim, map)
}

fn report_in(map_dim: usize, rows: &[f64], dim: usize, map: &[f64]) -> lowland_core::Result<TrustReport> {
    let data = Data::dense(rows.iter().map(|&v| v as f32).collect(), dim).unwrap();
    assess(&data, Points::new(map, map_dim).unwrap(), None, None, &TrustParams::default(), &mut |_| Ok(()))
}

/// A sheet, and a map of it that is torn at the first coordinate 0.5.
pub(crate) fn torn_sheet(n: usize) -> (Vec<f64>, Vec<f64>) {
    let sheet = uniform(1, 2 * n);
    let map = sheet.chunks(2).flat_map(|p| [p[0] + if p[0] > 0.5 { 0.5 } else { 0.0 }, p[1]]).collect();
    (sheet, map)
}

#[test]
fn a_tear_is_found_with_the_points_along_it() {
    let (sheet, map) = torn_sheet(2000);
    let report = report(&sheet, 2, &map).unwrap();
    assert_eq!(report.islands.sizes.len(), 2);
    assert_eq!(report.gaps.len(), 1);
    assert_eq!(report.gaps[0].verdict, GapVerdict::Bridged, "{:?}", report.gaps[0]);
    let flags = report.reliability.get(ReliabilityColumn::Flagged).unwrap();
    for (point, &flag) in sheet.chunks(2).zip(flags) {
        // Neighbors of the others are all on their side: fifteen rows are within about 0.05.
        assert!((point[0] - 0.5).abs() < 0.08 || flag == 0.0, "{point:?}");
    }
    assert!(report.flagged() > 50, "{}", report.flagged());
    let bridges = report.reliability.bridges(Points::new(&map, 2).unwrap());
    assert_eq!((bridges.len(), bridges[0].islands), (1, [1, 2]));
    assert!(bridges.iter().flat_map(|bridge| &bridge.ends).all(|end| (end[0] - 0.75).abs() < 0.35));
    assert!(report.summary()[1].contains("Islands 1 and 2 are connected in the data"), "{:?}", report.summary());
}

#[test]
fn the_gap_between_clusters_is_not_doubted_and_no_point_is_flagged() {
    let n = 1500;
    let normals = Seed(2).normals(n * 10);
    let rows: Vec<f64> =
        (0..n * 10).map(|at| normals[at] + if at % 10 == 0 { 7.0 * (at / 10 % 2) as f64 } else { 0.0 }).collect();
    let map: Vec<f64> =
        rows.chunks(10).flat_map(|row| [row[0] + if row[0] > 3.5 { 3.0 } else { 0.0 }, row[1]]).collect();
    let report = report(&rows, 10, &map).unwrap();
    assert_eq!(report.islands.sizes.len(), 2, "{:?}", report.islands.sizes);
    assert_eq!(report.gaps_with(GapVerdict::Bridged), 0, "{:?}", report.gaps);
    assert!(report.merged_islands().is_empty());
    assert!(report.flagged() < 15, "{}", report.flagged());
}

#[test]
fn clusters_that_the_map_merges_are_several_in_the_data() {
    let n = 1500;
    let normals = Seed(3).normals(n * 10);
    let rows: Vec<f64> =
        (0..n * 10).map(|at| normals[at] + if at % 10 == 9 { 12.0 * (at / 10 % 3) as f64 } else { 0.0 }).collect();
    // The last column, which tells the clusters apart, is left out.
    let map: Vec<f64> = rows.chunks(10).flat_map(|row| [row[0], row[1]]).collect();
    let report = report(&rows, 10, &map).unwrap();
    let parts = report.parts.as_ref().unwrap();
    assert_eq!(report.merged_islands(), [1]);
    assert_eq!(parts[0].sizes.len(), 3, "{:?}", parts[0]);
    assert!(report.summary()[1].contains("3 separate groups"), "{:?}", report.summary());
}

#[test]
fn a_map_without_tears_is_not_doubted() {
    let sheet = uniform(4, 3000);
    let report = report(&sheet, 2, &sheet).unwrap();
    assert_eq!((report.flagged(), report.gaps.len(), report.islands.sizes.len()), (0, 0, 1));
    assert!(report.summary()[0].starts_with("100% of the points"), "{:?}", report.summary());
}

#[test]
fn maps_of_one_three_and_ten_dimensions_are_compared_with_a_null_of_as_many() {
    for (dim, n) in [(1, 1500), (3, 2000), (10, 1500)] {
        let rows = uniform(7, n * dim);
        // Noise that moves neighbors, but tears nothing.
        let normals = Seed(8).normals(n * dim);
        let spacing = (n as f64).powf(-1.0 / dim as f64);
        let noise = [0.0, 3.0, 0.0, 0.5][dim.min(3)] * spacing * if dim > 3 { 0.3 } else { 1.0 };
        let map: Vec<f64> = rows.iter().zip(&normals).map(|(v, shift)| v + noise * shift).collect();
        let whole = report_in(dim, &rows, dim, &map).unwrap();
        assert_eq!(whole.flagged(), 0, "{dim}: {:?}", whole.null_noise);
        let p = whole.reliability.get(ReliabilityColumn::PValue).unwrap();
        assert!(p.iter().all(|p| *p > 0.0 && *p <= 1.0));
        // The jump and the fragility are those of maps of two dimensions.
        let reasons: Vec<&str> = whole.omitted.iter().map(|(_, reason)| reason.as_str()).collect();
        let reason = format!("the loss is evaluated on maps of 2 dimensions, and this one has {dim}");
        assert_eq!(reasons, [&reason, &reason]);
        // The same map, cut in the middle of the first coordinate.
        let first = |at: usize| at.is_multiple_of(dim) && rows[at] > 0.5;
        let torn: Vec<f64> = map.iter().enumerate().map(|(at, v)| v + if first(at) { 4.0 } else { 0.0 }).collect();
        let found = report_in(dim, &rows, dim, &torn).unwrap();
        let flags = found.reliability.get(ReliabilityColumn::Flagged).unwrap();
        // Points with four of their fifteen nearest rows on the other side of the cut.
        let row = |i: usize| &rows[i * dim..(i + 1) * dim];
        let square = |i: usize, j: usize| row(i).iter().zip(row(j)).map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
        let is_torn = |i: usize| {
            let mut others: Vec<usize> = (0..n).filter(|&j| j != i).collect();
            others.select_nth_unstable_by(15, |&a, &b| square(i, a).total_cmp(&square(i, b)));
            others[..15].iter().filter(|&&j| (row(j)[0] > 0.5) != (row(i)[0] > 0.5)).count() >= 4
        };
        let torn: Vec<bool> = (0..n).map(is_torn).collect();
        let count = |wanted: bool| (0..n).filter(|&i| torn[i] == wanted && flags[i] == 1.0).count();
        let all = torn.iter().filter(|&&torn| torn).count();
        assert!(all > 3 && count(true) >= all * 9 / 10, "{dim}: {} of {all}", count(true));
        assert!(count(false) <= all / 10, "{dim}: {} beside {all}", count(false));
        assert_eq!(found.islands.sizes.len(), 2, "{dim}");
    }
}

#[test]
fn maps_of_other_rows_are_refused() {
    let (sheet, map) = torn_sheet(400);
    let reversed: Vec<f64> = map.chunks(2).rev().flatten().copied().collect();
    let message = report(&sheet, 2, &reversed).unwrap_err().to_string();
    assert!(message.contains("its points are not these rows, or are in another order"), "{message}");
    let message = report(&sheet, 2, &map[..700]).unwrap_err().to_string();
    assert!(message.contains("expected 400, found 350"), "{message}");
    let message = report(&sheet, 2, &[1.0; 800]).unwrap_err().to_string();
    assert!(message.contains("all 400 points are at one place"), "{message}");
    let message = report(&sheet[..60], 2, &map[..60]).unwrap_err().to_string();
    assert!(message.contains("34") && message.contains("30"), "{message}");
}

#[test]
fn rows_that_are_all_equal_have_no_p_value() {
    let (mut sheet, map) = torn_sheet(600);
    sheet[..80].fill(0.25);
    let report = report(&sheet, 2, &map).unwrap();
    let p = report.reliability.get(ReliabilityColumn::PValue).unwrap();
    assert!(p[..40].iter().all(|p| p.is_nan()) && p[40..].iter().all(|p| *p > 0.0 && *p <= 1.0));
}

#[test]
fn copies_of_one_row_and_points_at_few_places_are_refused() {
    let (sheet, map) = torn_sheet(300);
    let message = report(&[0.5; 600], 2, &map).unwrap_err().to_string();
    assert!(message.contains("300 of the 300 rows have 15 or more copies"), "{message}");
    let places: Vec<f64> = (0..600).map(|at| if at < 300 { 0.0 } else { 1.0 }).collect();
    let message = report(&sheet, 2, &places).unwrap_err().to_string();
    assert!(message.contains("300 of the 300 rows have 15 or more copies in the data or on the map"), "{message}");
}

#[test]
fn a_point_alone_is_in_no_island_and_has_no_gap() {
    let (mut sheet, mut map) = torn_sheet(600);
    sheet.extend([3.0, 3.0]);
    map.extend([6.0, 6.0]);
    let report = report(&sheet, 2, &map).unwrap();
    assert_eq!((report.islands.of_point[600], report.islands.sizes.len(), report.gaps.len()), (0, 2, 1));
    let p = report.reliability.get(ReliabilityColumn::PValue).unwrap();
    assert!(p.iter().all(|p| *p > 0.0 && *p <= 1.0), "{:?}", p[600]);
    assert_eq!(report.reliability.get(ReliabilityColumn::BridgeTo).unwrap()[600], 0.0);
}

#[test]
fn parameters_without_meaning_are_refused() {
    let (sheet, map) = torn_sheet(100);
    let data = Data::dense(sheet.iter().map(|&v| v as f32).collect(), 2).unwrap();
    let refuse = |params: TrustParams| {
        let points = Points::new(&map, 2).unwrap();
        assess(&data, points, None, None, &params, &mut |_| Ok(())).unwrap_err().to_string()
    };
    let of = |n_neighbors: usize, fdr: f64| refuse(TrustParams { n_neighbors, fdr, ..TrustParams::default() });
    assert!(of(100, 0.05).contains("at least 204 points, found 100"));
    assert!(of(1, 0.05).contains("at least 2"));
    assert!(of(15, 1.0).contains("above 0 and below 1"));
    let mut holes = map.clone();
    holes[7] = f64::NAN;
    let message = report(&sheet, 2, &holes).unwrap_err().to_string();
    assert!(message.contains("NaN"), "{message}");
}

#[test]
fn results_are_the_same_for_any_number_of_threads() {
    let (sheet, map) = torn_sheet(900);
    let compute = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        format!("{:?}", pool.install(|| report(&sheet, 2, &map).unwrap()))
    };
    let one = compute(1);
    assert!(compute(2) == one && compute(3) == one);
}

#[test]
fn reports_do_not_depend_on_who_searched_the_neighbors() {
    let (sheet, map) = torn_sheet(500);
    let data = Data::dense(sheet.iter().map(|&v| v as f32).collect(), 2).unwrap();
    let embedding = Embedding::new(map.clone(), 2).unwrap();
    let params = lowland_neighbors::NeighborParams {
        n_neighbors: 90,
        metric: lowland_core::Metric::Euclidean,
        search: lowland_neighbors::Search::Exact,
        seed: Seed(0),
    };
    let graph = lowland_neighbors::nearest(&data, &params).unwrap().graph;
    let known =
        assess(&data, embedding.points(), Some(&graph), None, &TrustParams::default(), &mut |_| Ok(())).unwrap();
    assert_eq!(format!("{known:?}"), format!("{:?}", report(&sheet, 2, &map).unwrap()));
}
