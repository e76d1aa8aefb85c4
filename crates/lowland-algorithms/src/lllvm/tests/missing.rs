//! Missing cells: their posterior maximizes the bound, which never decreases, and recovers what was hidden.

use super::*;
use lowland_linalg::dense::Cholesky;

/// A bent ring with cells hidden, the values that are hidden, and their places.
fn hidden(n: usize, every: usize) -> (Data, Vec<(usize, usize, f32)>) {
    let Data::Dense(whole) = data(n) else { unreachable!() };
    let mut values = whole.values().to_vec();
    let mut cells = Vec::new();
    for at in (0..values.len()).filter(|at| (at * 7 + at / 13) % every == 0) {
        cells.push((at / 4, at % 4, values[at]));
        values[at] = f32::NAN;
    }
    (Data::dense(values, 4).unwrap(), cells)
}

fn problem_of(data: &Data) -> LllvmProblem {
    LllvmProblem::new(graph(data.rows()), ScaledRows::new(data).unwrap()).unwrap()
}

/// The bound as a function of the rows: with everything else fixed, `-gamma (y'Ly - y'f) - epsilon |sum y|^2 / 2` plus the entropy.
#[test]
fn posterior_of_missing_cells_maximizes_the_bound() {
    let (data, _) = hidden(20, 5);
    let problem = problem_of(&data);
    let mut em = em(&problem);
    (0..5).for_each(|_| em.step().unwrap());
    let (gamma, epsilon) = (em.gamma(), options().epsilon);
    let (maps, latents) = (em.maps().to_vec(), em.latents().to_vec());
    let graph = &problem.graph;
    let offset = |i: usize, c: usize| {
        let edge = |&j: &u32, r: usize| {
            let (a, b) = (r * 20 + i, r * 20 + j as usize);
            (maps[a * 4 + c] + maps[b * 4 + c]) * (latents[a] - latents[b])
        };
        (0..2).map(|r| graph.neighbors(i).iter().map(|j| edge(j, r)).sum::<f64>()).sum::<f64>()
    };
    em.rows.update_missing(graph, (gamma, epsilon), offset);
    let laplacian = |i: usize, j: usize| match (i == j, graph.neighbors(i).contains(&(j as u32))) {
        (true, _) => graph.neighbors(i).len() as f64,
        (_, true) => -1.0,
        _ => 0.0,
    };
    for c in 0..4 {
        let rows: Vec<usize> =
            problem.rows.missing.iter().filter(|cell| cell.0 as usize == c).map(|cell| cell.1 as usize).collect();
        assert!(!rows.is_empty());
        let mut y: Vec<f64> = (0..20).map(|i| em.rows.rows.row(i)[c]).collect();
        let joint = |y: &[f64]| {
            let quadratic: f64 = (0..400).map(|at| y[at / 20] * laplacian(at / 20, at % 20) * y[at % 20]).sum();
            let linear: f64 = (0..20).map(|i| y[i] * offset(i, c)).sum();
            -gamma * (quadratic - linear) - 0.5 * epsilon * y.iter().sum::<f64>().powi(2)
        };
        let best = joint(&y);
        for &i in &rows {
            for step in [-1e-3, 1e-3] {
                y[i] += step;
                assert!(joint(&y) < best, "row {i}, column {c}");
                y[i] -= step;
            }
        }
        // The expected bound and the entropy as functions of the factor of the covariance.
        let count = rows.len();
        let part: Vec<f64> = (0..count * count).map(|at| laplacian(rows[at / count], rows[at % count])).collect();
        let inverse = Cholesky::new(&part, count).unwrap().inverse();
        let value = |s: f64| {
            let sum: f64 = inverse.iter().sum();
            0.5 * count as f64 * s.ln() - gamma * s * count as f64 - 0.5 * epsilon * s * sum
        };
        let std = em.rows.missing_std();
        let at = problem.rows.missing.iter().position(|cell| cell.0 as usize == c).unwrap();
        let factor = (std[at] / problem.rows.scale).powi(2) / inverse[0];
        assert!(value(factor) > value(1.01 * factor) && value(factor) > value(0.99 * factor), "column {c}");
    }
}

#[test]
fn bound_never_decreases_with_missing_cells() {
    let (data, _) = hidden(50, 6);
    let separate = LllvmOptions { column_noise: ColumnNoise::Separate, ..options() };
    let full = problem_of(&data);
    let modes =
        LaplacianModes::new(ModelGraph::new(&graph(50).laplacian()).unwrap(), 15, None, Seed(3), &mut no_progress);
    let low = LowRankProblem::new(modes.unwrap(), ScaledRows::new(&data).unwrap()).unwrap();
    for options in [options(), separate] {
        check_rise(LllvmEm::random(&full, options, Seed(3)).unwrap());
        check_rise(LowRankEm::new(&low, options, Seed(3)).unwrap());
    }
}

fn check_rise(mut em: impl EmRun) {
    em.step().unwrap();
    for iteration in 0..50 {
        let before = em.hyperparameters().bound;
        em.step().unwrap();
        let bound = em.hyperparameters().bound;
        assert!(bound.is_finite() && bound >= before - 1e-9 * before.abs(), "iteration {iteration}: {before} {bound}");
    }
}

#[test]
fn hidden_cells_are_recovered_within_their_error_bars() {
    let (data, cells) = hidden(120, 9);
    let problem = problem_of(&data);
    let mut em = em(&problem);
    (0..60).for_each(|_| em.step().unwrap());
    let rows = EmRun::rows(&em);
    let std = EmRun::missing_std(&em);
    let (mut squares, mut spread, mut covered) = (0.0, 0.0, 0);
    for &(i, c, value) in &cells {
        let at = rows.missing.iter().position(|&cell| cell == (c as u32, i as u32)).unwrap();
        let mean = rows.center[c] + rows.scale * rows.row(i)[c];
        let error = f64::from(value) - mean;
        squares += error * error;
        spread += (f64::from(value) - rows.center[c]).powi(2);
        covered += usize::from(error.abs() < 2.0 * std[at]);
    }
    // The noise has a standard deviation of 0.05, the columns of some 0.7, 0.7, 0.2 and 0.05.
    let count = cells.len() as f64;
    assert!((squares / count).sqrt() < 0.1, "{} of {}", (squares / count).sqrt(), (spread / count).sqrt());
    assert!(squares < 0.05 * spread);
    assert!(covered as f64 > 0.85 * count, "{covered} of {count}");
}

#[test]
fn columns_without_values_are_rejected() {
    let values = (0..40).map(|at| if at % 4 == 2 { f32::NAN } else { at as f32 }).collect();
    let data = Data::dense(values, 4).unwrap();
    let error = LllvmProblem::new(graph(10), ScaledRows::new(&data).unwrap()).unwrap_err();
    assert!(matches!(error, lowland_core::Error::NoValues { what: "column", index: 2 }), "{error}");
}
