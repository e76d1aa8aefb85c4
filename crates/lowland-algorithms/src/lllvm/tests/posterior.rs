//! Tests of the fitted posterior, the transform of new rows and its inverse.

use super::*;
use crate::lllvm::posterior::{PackedSymmetric, PointCovariance};
use lowland_core::Points;

#[test]
fn uncertainty_excludes_translation_and_rotation() {
    let (_, posterior) = posterior(40);
    let (n, dim) = (40, 2);
    // Nothing remains of a covariance that only translates and rotates.
    let latents = posterior.embedding();
    let rotation: Vec<f64> =
        (0..n).map(|i| -latents.row(i)[1] + 3.0).chain((0..n).map(|i| latents.row(i)[0] - 1.0)).collect();
    let covariance: Vec<f64> = (0..80 * 80).map(|at| 5.0 * rotation[at / 80] * rotation[at % 80]).collect();
    let by_coordinate: Vec<f64> = (0..80).map(|a| latents.row(a % n)[a / n]).collect();
    let maps = vec![0.0; 80 * 4];
    let rigid =
        Posterior::new(posterior.hyperparameters, &by_coordinate, &covariance, &maps, &vec![0.0; 80 * 80]).unwrap();
    let scale = max_abs(&covariance).sqrt();
    assert!(rigid.std().iter().all(|s| *s < 1e-3 * scale), "{:?}", rigid.std());
    // Something remains of the fitted one, and less than the prior's translation.
    assert!(posterior.std().iter().all(|s| *s > 0.0 && *s < (1.0 / (1e-3 * n as f64)).sqrt()));
    assert_eq!(posterior.covariances().len(), n * dim * dim);
}

#[test]
fn samples_have_posterior_moments() {
    let (_, posterior) = posterior(15);
    let draws = posterior.samples(4000, Seed(3)).unwrap();
    assert_eq!(draws[7], posterior.samples(8, Seed(3)).unwrap()[7]);
    let mean = posterior.embedding();
    for a in [0, 7, 29] {
        let value = |map: &lowland_core::Embedding| map.values()[a];
        let average = draws.iter().map(value).sum::<f64>() / 4000.0;
        let variance = draws.iter().map(|map| (value(map) - average).powi(2)).sum::<f64>() / 3999.0;
        let index = a % 2 * 15 + a / 2;
        let expected = posterior.latent_covariance.get(index, index);
        assert!((average - mean.values()[a]).abs() < 5.0 * (expected / 4000.0).sqrt());
        assert!((variance / expected - 1.0).abs() < 0.15, "{variance} {expected}");
    }
}

/// The log joint density of a new point's latent coordinates and map, given only the means of its neighbors.
fn log_density(
    posterior: &Posterior,
    rows: &ScaledRows,
    neighbors: &[u32],
    row: &[f64],
    latent: &[f64],
    map: &[f64],
) -> f64 {
    let (n, columns) = (posterior.n, posterior.columns);
    let at = |j: &u32| *j as usize;
    let latents: Vec<f64> = neighbors.iter().flat_map(|j| posterior.latents[at(j) * 2..][..2].to_vec()).collect();
    let wide = |j: &u32, r: usize| posterior.maps[(r * n + at(j)) * columns..][..columns].iter().map(|&v| f64::from(v));
    let maps: Vec<f64> = neighbors.iter().flat_map(|j| (0..2).flat_map(|r| wide(j, r)).collect::<Vec<_>>()).collect();
    let rows: Vec<&[f64]> = neighbors.iter().map(|j| rows.row(at(j))).collect();
    joint_of_new(posterior.hyperparameters, &rows, row, &[latent, &latents].concat(), &[map, &maps].concat())
}

#[test]
fn without_uncertainty_new_row_maximizes_joint() {
    let (problem, mut posterior) = posterior(40);
    // With zero covariances, and a precision so high that the new point's own is negligible, the mean is the mode.
    let zeros = PointCovariance::Full(PackedSymmetric::new(&vec![0.0; 80 * 80], 80));
    posterior.latent_covariance = zeros.clone();
    posterior.map_covariance = zeros;
    posterior.maps.iter_mut().for_each(|c| *c *= 30.0);
    let rows = &problem.rows;
    let neighbors = [3u32, 4, 5, 6];
    let row: Vec<f64> = (0..4).map(|c| 0.4 * rows.row(4)[c] + 0.6 * rows.row(5)[c]).collect();
    let (latent, _) = posterior.fit_new_row(&row, rows, &neighbors);
    // The best map for given latent coordinates, by coordinate descent on a quadratic.
    let value = |latent: &[f64]| {
        let mut map: Vec<f64> = (0..8)
            .map(|at| {
                let (r, c) = (at / 4, at % 4);
                neighbors.iter().map(|&j| f64::from(posterior.maps[(r * 40 + j as usize) * 4 + c])).sum::<f64>() / 4.0
            })
            .collect();
        for _ in 0..200 {
            for at in 0..8 {
                let mut at_offset = |h: f64| {
                    let old = map[at];
                    map[at] += h;
                    let found = log_density(&posterior, rows, &neighbors, &row, latent, &map);
                    map[at] = old;
                    found
                };
                let (low, here, high) = (at_offset(-1.0), at_offset(0.0), at_offset(1.0));
                map[at] -= 0.5 * (high - low) / (high - 2.0 * here + low);
            }
        }
        log_density(&posterior, rows, &neighbors, &row, latent, &map)
    };
    let best = value(&latent);
    let step = 0.2 * posterior.embedding().values().iter().map(|v| v.abs()).fold(0.0, f64::max);
    for (r, sign) in [(0, 1.0), (0, -1.0), (1, 1.0), (1, -1.0)] {
        let mut other = latent.to_vec();
        other[r] += sign * step;
        assert!(value(&other) < best, "moving coordinate {r} by {step} is better: {} {best}", value(&other));
    }
}

#[test]
fn training_rows_are_recovered_and_reconstructed_within_error_bars() {
    let (problem, posterior) = posterior(60);
    let data = data(60);
    let graph = nearest(&data, &data, 6);
    let output = posterior.transform(&data, &problem.rows, &graph, &mut no_progress).unwrap();
    let map = posterior.embedding();
    let spread = (map.values().iter().map(|v| v * v).sum::<f64>() / 60.0).sqrt();
    let errors = map.values().iter().zip(output.embedding.values()).map(|(a, b)| (a - b).powi(2));
    assert!((errors.sum::<f64>() / 60.0).sqrt() < 0.2 * spread);
    assert!(output.std().iter().all(|s| s.is_finite() && *s > 0.0));
    let reconstructed = posterior.inverse_transform(map.points(), &problem.rows, 4, &mut no_progress).unwrap();
    let Data::Dense(rows) = &data else { panic!("dense") };
    let deviation = |at: usize| f64::from((reconstructed.rows[at] - rows.values()[at]) / reconstructed.std[at]);
    let within = (0..240).filter(|&at| deviation(at).abs() < 2.0).count();
    assert!(within > 200, "{within} of 240");
    let far = [1e6, -1e6];
    let away = posterior.inverse_transform(Points::new(&far, 2).unwrap(), &problem.rows, 4, &mut no_progress).unwrap();
    assert!(away.rows.iter().chain(&away.std).all(|v| v.is_finite()) && away.std[0] > reconstructed.std[0]);
}
