//! Principal components from the covariance matrix, and by randomized iteration on dense and on sparse rows.

use anyhow::Result;
use lowland::data::{Data, Dense, Seed, Sparse};
use lowland_bench::{Measurement, timed, value};
use lowland_linalg::{RandomizedSvd, SvdOptions, exact_svd};
use serde_json::json;

const CASES: [&str; 4] = [
    "components=50 covariance",
    "components=50 iteration",
    "components=50 sparse-iteration",
    "projection=50 covariance",
];

fn main() -> Result<()> {
    lowland_bench::main(&CASES, measure)
}

fn measure(rows: &Dense, [setting, way]: [&str; 2]) -> Result<Measurement> {
    let components = value(setting)?;
    let dense = Data::Dense(rows.clone());
    let exact = || exact_svd(&dense, components, true);
    if setting.starts_with("projection") {
        let map = exact()?.map();
        let (_, used) = timed(|| map.apply(&dense))?;
        return Ok(Measurement { used, found: json!({}) });
    }
    let (found, used) = if way == "covariance" {
        timed(exact)?
    } else {
        let data = if way == "iteration" { dense.clone() } else { to_sparse(rows)? };
        timed(|| RandomizedSvd::new(&data, components, true, SvdOptions::default(), Seed(0))?.run(&mut |_| Ok(())))?
    };
    let pairs = found.singular_values.iter().zip(exact()?.singular_values);
    let error = pairs.map(|(found, exact)| (found / exact - 1.0).abs()).fold(0.0, f64::max);
    let found = json!({
        "iterations": found.report.iterations,
        "converged": found.report.converged,
        "largest relative error of a singular value": error,
    });
    Ok(Measurement { used, found })
}

fn to_sparse(rows: &Dense) -> Result<Data> {
    let (mut indptr, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
    for i in 0..rows.rows() {
        for (j, &v) in rows.row(i).iter().enumerate().filter(|(_, v)| **v != 0.0) {
            indices.push(j as u32);
            values.push(v);
        }
        indptr.push(indices.len());
    }
    Ok(Data::Sparse(Sparse::new(indptr, indices, values, rows.dim())?))
}
