//! Sums in eight parts, which are added at the end: in one part, every addition would wait for the one before.

const PARTS: usize = 8;

/// The sum of the products of two vectors.
pub(super) fn dot((a, b): (&[f64], &[f64])) -> f64 {
    let mut parts = [0.0; PARTS];
    let (left, right) = (a.chunks_exact(PARTS), b.chunks_exact(PARTS));
    let rest: f64 = left.remainder().iter().zip(right.remainder()).map(|(a, b)| a * b).sum();
    for (a, b) in left.zip(right) {
        parts.iter_mut().zip(a.iter().zip(b)).for_each(|(part, (a, b))| *part += a * b);
    }
    parts.iter().sum::<f64>() + rest
}

/// The sum of a vector.
pub(super) fn sum(values: &[f64]) -> f64 {
    let mut parts = [0.0; PARTS];
    let chunks = values.chunks_exact(PARTS);
    let rest: f64 = chunks.remainder().iter().sum();
    for values in chunks {
        parts.iter_mut().zip(values).for_each(|(part, v)| *part += v);
    }
    parts.iter().sum::<f64>() + rest
}

/// `out += (a + b) o (y - z)`, elementwise.
pub(super) fn add_edge(out: &mut [f64], (a, b): (&[f64], &[f64]), (y, z): (&[f64], &[f64])) {
    let (maps, rows) = (a.iter().zip(b), y.iter().zip(z));
    out.iter_mut().zip(maps.zip(rows)).for_each(|(out, ((a, b), (y, z)))| *out += (a + b) * (y - z));
}
