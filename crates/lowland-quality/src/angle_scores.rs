//! Scores of maps that should preserve norms and small angles (Saul 2022, eqs 11 and 12).

use super::check_finite;
use lowland_core::run::{Progress, in_batches};
use lowland_core::{Data, Error, Points, Result};
use lowland_neighbors::cosine_similarity::{CosineSimilarity, TILE, for_each_above};

/// How well a map preserves norms and small angles.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AngleScores {
    /// Mean change of the angles within the threshold in the data, in degrees; pairs of a row with itself count, as in
    /// the paper.
    pub deviation: f64,
    /// Number of pairs within the threshold in both data and map, as a share of those within it in either.
    pub jaccard: f64,
    /// `sqrt(sum (|y| - |x|)^2 / sum |x|^2)`.
    pub norm_error: f64,
    /// Number of pairs within the threshold in the data, in both orders, including pairs of a row with itself.
    pub pairs: u64,
}

/// Partial sums over some rows.
#[derive(Clone, Copy, Default)]
struct AngleSums {
    deviation: f64,
    in_data: u64,
    in_map: u64,
    in_both: u64,
}

/// Scores a map on the pairs of rows whose cosine exceeds `tau`. Visits every pair and stores none.
pub fn angle_scores(data: &Data, map: Points, tau: f64) -> Result<AngleScores> {
    angle_scores_with(data, map, tau, &mut |_| Ok(()))
}

/// Like [`angle_scores`], and reports progress.
pub fn angle_scores_with(data: &Data, map: Points, tau: f64, progress: &mut Progress) -> Result<AngleScores> {
    let n = data.rows();
    if map.rows() != n {
        return Err(Error::Shape { what: "rows of the map", expected: n, found: map.rows() });
    }
    if !(tau > 0.0 && tau < 1.0) {
        return Err(Error::Parameter { name: "tau", value: tau.to_string(), allowed: "above 0 and below 1".into() });
    }
    check_finite(map)?;
    data.check_finite()?;
    let rows = CosineSimilarity::new(data)?;
    // The map in single precision serves only as a filter; pairs near the threshold are decided in double precision.
    let largest = map.values().iter().fold(0.0f64, |m, v| m.max(v.abs()));
    let unit = lowland_linalg::dense::power_of_two_near(largest);
    let single = Data::dense(map.values().iter().map(|v| (v / unit) as f32).collect(), map.dim())?;
    let places = CosineSimilarity::new(&single)?;
    let norms: Vec<f64> = (0..n).map(|i| map.row(i).iter().map(|v| (v / unit).powi(2)).sum::<f64>().sqrt()).collect();
    let cosine_in_map = |i: usize, j: usize| -> f64 {
        let dot: f64 = map.row(i).iter().zip(map.row(j)).map(|(a, b)| a / unit * (b / unit)).sum();
        let lengths = norms[i] * norms[j];
        if lengths > 0.0 { (dot / lengths).clamp(-1.0, 1.0) } else { 0.0 }
    };
    let cut = tau as f32;
    let margin = |cosines: &CosineSimilarity| cosines.tile_error_bound() + 4.0 * f32::EPSILON;
    let (row_margin, place_margin) = (margin(&rows), margin(&places));
    let parts = in_batches(n.div_ceil(TILE), progress, |block| {
        let lines = block * TILE..n.min((block + 1) * TILE);
        let (mut in_rows, mut in_places) = (vec![0f32; TILE * TILE], vec![0f32; TILE * TILE]);
        let mut part = AngleSums::default();
        for start in (lines.start..n).step_by(TILE) {
            let columns = start..n.min(start + TILE);
            let size = lines.len() * columns.len();
            rows.fill_tile(lines.clone(), columns.clone(), &mut in_rows[..size]);
            places.fill_tile(lines.clone(), columns.clone(), &mut in_places[..size]);
            for (line, i) in lines.clone().enumerate() {
                let span = line * columns.len()..(line + 1) * columns.len();
                let (near, placed) = (&in_rows[span.clone()], &in_places[span]);
                let in_map = |at: usize, j: usize| match placed[at] - cut {
                    off if off > place_margin => true,
                    off if off < -place_margin => false,
                    _ => cosine_in_map(i, j) > tau,
                };
                for_each_above(placed, cut - place_margin, |at| {
                    let j = columns.start + at;
                    part.in_map += u64::from(j > i && in_map(at, j));
                });
                for_each_above(near, cut - row_margin, |at| {
                    let j = columns.start + at;
                    if j > i {
                        let cosine = rows.cosine(i, j);
                        if cosine > tau {
                            part.in_data += 1;
                            part.in_both += u64::from(in_map(at, j));
                            part.deviation += (cosine.acos() - cosine_in_map(i, j).acos()).abs();
                        }
                    }
                });
            }
        }
        part
    })?;
    let mut sum = AngleSums::default();
    for part in parts {
        sum.deviation += part.deviation;
        sum.in_data += part.in_data;
        sum.in_map += part.in_map;
        sum.in_both += part.in_both;
    }
    // Every nonzero row is within any angle of itself; a point at the origin is within none.
    let own = |keep: &dyn Fn(usize) -> bool| (0..n).filter(|&i| keep(i)).count() as u64;
    let (has_row, has_place) = (|i: usize| rows.norms()[i] > 0.0, |i: usize| norms[i] > 0.0);
    let pairs = 2 * sum.in_data + own(&has_row);
    let lost = own(&|i| has_row(i) && !has_place(i)) as f64;
    let both = 2 * sum.in_both + own(&|i| has_row(i) && has_place(i));
    let either = pairs + 2 * sum.in_map + own(&has_place) - both;
    let off: f64 = rows.norms().iter().zip(&norms).map(|(x, y)| (x - y * unit).powi(2)).sum();
    let total: f64 = rows.norms().iter().map(|x| x * x).sum();
    let deviation = 2.0 * sum.deviation + lost * std::f64::consts::FRAC_PI_2;
    Ok(AngleScores {
        deviation: if pairs > 0 { (deviation / pairs as f64).to_degrees() } else { 0.0 },
        jaccard: if either > 0 { both as f64 / either as f64 } else { 1.0 },
        norm_error: if total > 0.0 { (off / total).sqrt() } else { 0.0 },
        pairs,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use lowland_core::Seed;

    #[test]
    fn scores_agree_with_all_pairs_one_by_one() {
        let (n, tau) = (TILE + 60, 0.8);
        let mut x = Seed(1).normals(n * 4);
        x[8..12].fill(0.0);
        let mut y: Vec<f64> = x.iter().zip(Seed(2).normals(n * 4)).map(|(x, e)| x + 0.2 * e).collect();
        y[20..24].fill(0.0);
        let data = Data::dense(x.iter().map(|&v| v as f32).collect(), 4).unwrap();
        let found = angle_scores(&data, Points::new(&y, 4).unwrap(), tau).unwrap();
        let x: Vec<f64> = x.iter().map(|&v| f64::from(v as f32)).collect();
        let norm = |v: &[f64], i: usize| v[4 * i..4 * i + 4].iter().map(|v| v * v).sum::<f64>().sqrt();
        let cosine = |v: &[f64], i: usize, j: usize| {
            let dot: f64 = (0..4).map(|c| v[4 * i + c] * v[4 * j + c]).sum();
            let size = norm(v, i) * norm(v, j);
            if size > 0.0 { (dot / size).clamp(-1.0, 1.0) } else { 0.0 }
        };
        let (mut sum, mut pairs, mut both, mut either) = (0.0, 0u64, 0u64, 0u64);
        for i in 0..n {
            for j in 0..n {
                let (a, b) = (cosine(&x, i, j), cosine(&y, i, j));
                both += u64::from(a > tau && b > tau);
                either += u64::from(a > tau || b > tau);
                if a > tau {
                    pairs += 1;
                    sum += (a.acos() - b.acos()).abs();
                }
            }
        }
        assert_eq!(found.pairs, pairs);
        assert!((found.jaccard - both as f64 / either as f64).abs() < 1e-12);
        // The angle of a row with itself is a rounding error in the plain sum.
        assert!((found.deviation - (sum / pairs as f64).to_degrees()).abs() < 1e-7);
        let exact = angle_scores(&data, Points::new(&x, 4).unwrap(), tau).unwrap();
        assert!(exact.jaccard == 1.0 && exact.deviation < 1e-9 && exact.norm_error < 1e-12, "{exact:?}");
    }

    #[test]
    fn invalid_input_is_rejected() {
        let data = Data::dense(vec![1.0, 2.0], 1).unwrap();
        let points = |values| Points::new(values, 1).unwrap();
        assert!(angle_scores(&data, points(&[1.0]), 0.5).is_err());
        assert!(angle_scores(&data, points(&[1.0, f64::NAN]), 0.5).is_err());
        assert!(angle_scores(&data, points(&[1.0, 1.0]), f64::NAN).is_err());
        assert!(angle_scores(&Data::text(vec!["a".into()]), points(&[1.0]), 0.5).is_err());
        let zero = Data::dense(vec![0.0, 0.0], 1).unwrap();
        assert_eq!(angle_scores(&zero, points(&[0.0, 0.0]), 0.5).unwrap().jaccard, 1.0);
    }
}
