//! Virtual inputs that connect isolated rows to their nearest rows.

use lowland_core::run::Progress;
use lowland_core::{Data, Metric, Result, Sparse};
use lowland_neighbors::cosine_similarity::CosineSimilarity;
use lowland_neighbors::nearest_to_with;

/// More virtual inputs than this would outweigh the row.
pub(super) const MAX_STEPS: f64 = 64.0;

/// Creates points between each isolated row and its nearest row, as many as bring every step within the angle:
/// directions by spherical interpolation, norms linearly. (With linear interpolation, the middle step would be too
/// wide.) Also returns the number of rows without such points.
pub(super) fn virtual_rows(
    cosines: &CosineSimilarity,
    data: &Data,
    tau: f64,
    degrees: &[u32],
    progress: &mut Progress,
) -> Result<(Option<Data>, usize)> {
    let isolated: Vec<usize> = (0..data.rows()).filter(|&i| degrees[i] == 0).collect();
    if isolated.is_empty() || data.rows() < 2 {
        return Ok((None, isolated.len()));
    }
    let graph =
        nearest_to_with(&data.select(&isolated), data, 2, Metric::Cosine, &mut |done| progress(0.6 + 0.1 * done))?;
    let (mut indptr, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
    let mut unconnected = 0;
    for (at, &i) in isolated.iter().enumerate() {
        let Some(j) = graph.row(at).0.iter().map(|&j| j as usize).find(|&j| j != i) else {
            unconnected += 1;
            continue;
        };
        let angle = cosines.cosine(i, j).acos();
        let steps = (angle / tau.acos()).ceil();
        // There is no unique path between opposite rows; a threshold near one would need too many steps.
        if !(angle.sin() > 1e-9) || !(2.0..=MAX_STEPS).contains(&steps) {
            unconnected += 1;
            continue;
        }
        let (from, to) = (cosines.norms()[i], cosines.norms()[j]);
        for step in 1..steps as usize {
            let fraction = step as f64 / steps;
            let norm = (1.0 - fraction) * from + fraction * to;
            let weights = [(i, ((1.0 - fraction) * angle).sin() / from), (j, (fraction * angle).sin() / to)];
            let weights = weights.map(|(row, weight)| (row, weight * norm / angle.sin()));
            append_weighted_sum(data, weights, &mut indices, &mut values);
            indptr.push(values.len());
        }
    }
    if indptr.len() == 1 {
        return Ok((None, unconnected));
    }
    let added = match data {
        Data::Dense(x) => Data::dense(values, x.dim())?,
        _ => Data::Sparse(Sparse::new(indptr, indices, values, data.dim())?),
    };
    Ok((Some(added), unconnected))
}

/// Appends a weighted sum of two rows; `indices` stays empty for dense rows.
fn append_weighted_sum(
    data: &Data,
    [(i, a), (j, b)]: [(usize, f64); 2],
    indices: &mut Vec<u32>,
    values: &mut Vec<f32>,
) {
    let sum = |x: f32, y: f32| (a * f64::from(x) + b * f64::from(y)) as f32;
    match data {
        Data::Dense(x) => values.extend(x.row(i).iter().zip(x.row(j)).map(|(&x, &y)| sum(x, y))),
        Data::Sparse(x) => {
            let ((first, xs), (second, ys)) = (x.row(i), x.row(j));
            let (mut p, mut q) = (0, 0);
            while p < first.len() || q < second.len() {
                let (c, d) = (first.get(p).copied().unwrap_or(u32::MAX), second.get(q).copied().unwrap_or(u32::MAX));
                indices.push(c.min(d));
                values.push(sum(if c <= d { xs[p] } else { 0.0 }, if d <= c { ys[q] } else { 0.0 }));
                p += usize::from(c <= d);
                q += usize::from(d <= c);
            }
        }
        Data::Text(_) => {}
    }
}

/// Concatenates the rows of two data sets.
pub(super) fn concat_rows(above: &Data, below: &Data) -> Result<Data> {
    match (above, below) {
        (Data::Dense(a), Data::Dense(b)) => Data::dense([a.values(), b.values()].concat(), a.dim()),
        (Data::Sparse(a), Data::Sparse(b)) => {
            let end = a.indices().len();
            let indptr = a.indptr().iter().copied().chain(b.indptr()[1..].iter().map(|at| end + at)).collect();
            let indices = [a.indices(), b.indices()].concat();
            Sparse::new(indptr, indices, [a.values(), b.values()].concat(), a.dim()).map(Data::Sparse)
        }
        _ => Ok(above.clone()),
    }
}
