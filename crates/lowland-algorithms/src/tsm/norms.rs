//! Maps with exactly the norms of the inputs.

use lowland_core::{Data, Embedding, Result};

/// Returns the Euclidean norm of each row; zero for text.
pub fn row_norms(data: &Data) -> Vec<f64> {
    // Squares of single precision neither overflow nor underflow.
    let norm = |values: &[f32]| values.iter().map(|&v| f64::from(v) * f64::from(v)).sum::<f64>().sqrt();
    match data {
        Data::Dense(x) => (0..x.rows()).map(|i| norm(x.row(i))).collect(),
        Data::Sparse(x) => (0..x.rows()).map(|i| norm(x.row(i).1)).collect(),
        Data::Text(_) => vec![0.0; data.rows()],
    }
}

/// Scales every row to the given norm, which leaves all angles as they are. Rows at zero have no direction and stay there;
/// also returns how many of them should have another norm.
pub fn scale_to_norms(embedding: Embedding, norms: &[f64]) -> Result<(Embedding, usize)> {
    let dim = embedding.dim();
    let mut values = embedding.into_values();
    let mut unscaled = 0;
    for (row, &norm) in values.chunks_exact_mut(dim.max(1)).zip(norms) {
        let largest = row.iter().fold(0.0f64, |m, v| m.max(v.abs()));
        if largest == 0.0 {
            unscaled += usize::from(norm > 0.0);
            continue;
        }
        // In units of the largest coordinate, so that squares do not underflow.
        let length = row.iter().map(|v| (v / largest).powi(2)).sum::<f64>().sqrt();
        row.iter_mut().for_each(|v| *v = *v / largest / length * norm);
    }
    Ok((Embedding::new(values, dim)?, unscaled))
}
