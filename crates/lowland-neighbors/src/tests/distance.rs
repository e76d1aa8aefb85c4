//! Distances compared with scikit-learn.

use super::*;

#[test]
fn distances_equal_those_of_scikit_learn() {
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
fn zero_rows_are_at_distance_one() {
    let data = Data::dense(vec![0.0, 0.0, 0.0, 0.0, 0.3, 0.1], 2).unwrap();
    assert_eq!(distance(&data, 0, &data, 1, Metric::Cosine), 1.0);
    assert_eq!(distance(&data, 0, &data, 2, Metric::Cosine), 1.0);
    assert_eq!(distance(&data, 0, &data, 2, Metric::Correlation), 1.0);
    assert_eq!(distance(&data, 0, &data, 2, Metric::Hellinger), 1.0);
    assert_eq!(distance(&data, 0, &data, 1, Metric::Hellinger), 0.0);
    assert_eq!(distance(&data, 0, &data, 1, Metric::BrayCurtis), 0.0);
}
