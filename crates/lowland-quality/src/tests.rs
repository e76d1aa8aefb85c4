//! Scores compared with scikit-learn, scipy and plain code.

mod procrustes;
mod ranks;
mod report;

use lowland_core::{Data, Embedding};

/// The numbers of the script that computed the expected values (numpy 2.4, scipy 1.17, scikit-learn 1.9).
fn scatter(n: usize, dim: usize, salt: usize) -> Vec<f64> {
    let cell =
        |i: usize, c: usize| i * i * 31337 + i * (7919 + salt) + c * 104729 + i * c * c * 613 + salt * salt * 911;
    (0..n * dim).map(|at| (cell(at / dim, at % dim) % 1_000_003) as f64 / 1_000_003.0 - 0.5).collect()
}

/// 300 rows, and a map of their first two columns with noise.
fn fixture(dim: usize) -> (Data, Embedding) {
    let values: Vec<f32> = scatter(300, dim, 1).into_iter().map(|v| v as f32).collect();
    let noise = scatter(300, 2, 2);
    let first_two = values.chunks(dim).flat_map(|row| [f64::from(row[0]), f64::from(row[1])]);
    let map = first_two.zip(noise).map(|(x, e)| x + 0.3 * e).collect();
    (Data::dense(values, dim).unwrap(), Embedding::new(map, 2).unwrap())
}

fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-12, "{found} is not {expected}");
}
