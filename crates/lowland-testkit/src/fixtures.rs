//! Small data sets for tests.

use lowland::data::{Data, Seed, Sparse};

/// Returns `groups` Gaussian clusters of `size` points in `dim` dimensions. The centers have standard deviation `spread`.
pub fn clouds(groups: usize, size: usize, dim: usize, spread: f64, seed: u64) -> Data {
    let centers = Seed(seed).stream("centres").normals(groups * dim);
    let noise = Seed(seed).stream("noise").normals(groups * size * dim);
    let values = noise.iter().enumerate().map(|(at, noise)| {
        let (row, column) = (at / dim, at % dim);
        (noise + spread * centers[(row % groups) * dim + column]) as f32
    });
    Data::dense(values.collect(), dim).expect("complete rows")
}

/// Returns three clusters of 420 points in total in 300 dimensions: too large for the direct solvers of small problems.
pub fn wide_clouds(seed: u64) -> Data {
    clouds(3, 140, 300, 0.5, seed)
}

/// Returns a Swiss roll with noise: one connected manifold.
pub fn roll(points: usize, seed: u64) -> Data {
    let noise = Seed(seed).normals(3 * points);
    let values = (0..points).flat_map(|i| {
        let share = (i as f64 + 0.5) / points as f64;
        let angle = 1.5 * std::f64::consts::PI * (1.0 + 2.0 * share);
        // Multiples of the golden ratio cover the width evenly.
        let height = 21.0 * (i as f64 * 0.618_033_988_749_894_9).fract();
        let exact = [angle * angle.cos(), height, angle * angle.sin()];
        [0, 1, 2].map(|c| (exact[c] + 0.05 * noise[3 * i + c]) as f32)
    });
    Data::dense(values.collect(), 3).expect("complete rows")
}

/// Returns the data multiplied by a factor.
pub fn scaled(data: &Data, factor: f64) -> Data {
    let values = dense(data).iter().map(|&v| (f64::from(v) * factor) as f32);
    Data::dense(values.collect(), data.dim()).expect("complete rows")
}

/// Returns the rows of `data`, followed by the rows with the indices in `again`.
pub fn with_repeats(data: &Data, again: &[usize]) -> Data {
    let rows: Vec<usize> = (0..data.rows()).chain(again.iter().copied()).collect();
    data.select(&rows)
}

/// Returns the values of dense data.
pub fn dense(data: &Data) -> &[f32] {
    match data {
        Data::Dense(x) => x.values(),
        _ => panic!("the fixture is dense"),
    }
}

/// Returns the data with small values set to zero, as dense and as sparse rows.
pub fn sparse_pair(data: &Data, threshold: f32) -> (Data, Data) {
    let dim = data.dim();
    let kept: Vec<f32> = dense(data).iter().map(|&v| if v.abs() < threshold { 0.0 } else { v }).collect();
    let (mut indptr, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
    for row in kept.chunks_exact(dim) {
        for (j, &v) in row.iter().enumerate().filter(|(_, v)| **v != 0.0) {
            indices.push(j as u32);
            values.push(v);
        }
        indptr.push(indices.len());
    }
    let sparse = Sparse::new(indptr, indices, values, dim).expect("a valid matrix");
    (Data::dense(kept, dim).expect("complete rows"), Data::Sparse(sparse))
}
