//! Small data sets to test with.

use lowland::data::{Data, Seed, Sparse};

/// `groups` Gaussian clouds of `size` points in `dim` dimensions, their centres `spread` apart.
pub fn clouds(groups: usize, size: usize, dim: usize, spread: f64, seed: u64) -> Data {
    let centres = Seed(seed).stream("centres").normals(groups * dim);
    let noise = Seed(seed).stream("noise").normals(groups * size * dim);
    let values = noise.iter().enumerate().map(|(at, noise)| {
        let (row, column) = (at / dim, at % dim);
        (noise + spread * centres[(row % groups) * dim + column]) as f32
    });
    Data::dense(values.collect(), dim).expect("whole rows")
}

/// Three clouds of 420 points in all, in 300 dimensions: too large for the direct solution of a small problem.
pub fn wide_clouds(seed: u64) -> Data {
    clouds(3, 140, 300, 0.5, seed)
}

/// A rolled-up sheet with noise: one connected manifold.
pub fn roll(points: usize, seed: u64) -> Data {
    let noise = Seed(seed).normals(3 * points);
    let values = (0..points).flat_map(|i| {
        let share = (i as f64 + 0.5) / points as f64;
        let angle = 1.5 * std::f64::consts::PI * (1.0 + 2.0 * share);
        // Steps of the golden ratio cover the width evenly.
        let height = 21.0 * (i as f64 * 0.618_033_988_749_894_9).fract();
        let exact = [angle * angle.cos(), height, angle * angle.sin()];
        [0, 1, 2].map(|c| (exact[c] + 0.05 * noise[3 * i + c]) as f32)
    });
    Data::dense(values.collect(), 3).expect("whole rows")
}

/// The same data with every value multiplied.
pub fn scaled(data: &Data, factor: f64) -> Data {
    let values = dense(data).iter().map(|&v| (f64::from(v) * factor) as f32);
    Data::dense(values.collect(), data.dim()).expect("whole rows")
}

/// The rows of `data`, then the rows of `data` named in `again`.
pub fn with_repeats(data: &Data, again: &[usize]) -> Data {
    let rows: Vec<usize> = (0..data.rows()).chain(again.iter().copied()).collect();
    data.select(&rows)
}

/// The values of dense data.
pub fn dense(data: &Data) -> &[f32] {
    match data {
        Data::Dense(x) => x.values(),
        _ => panic!("the fixture is dense"),
    }
}

/// The same rows with small values dropped, once dense and once sparse.
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
    let sparse = Sparse::new(indptr, indices, values, dim).expect("well formed");
    (Data::dense(kept, dim).expect("whole rows"), Data::Sparse(sparse))
}
