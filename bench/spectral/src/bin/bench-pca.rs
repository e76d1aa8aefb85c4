//! `bench-pca ROWS.npy COMPONENTS`: principal components of float32 rows by both routes, and sparse. `peers.py pca` does
//! the same with scikit-learn.
#![allow(clippy::print_stdout)]

#[path = "../clock.rs"]
mod clock;

use std::fs::File;
use std::io::BufReader;

use anyhow::{Result, ensure};
use clock::Clock;
use lowland::linalg::{RandomizedSvd, Svd, SvdOptions, exact_svd};
use lowland::{Data, Seed, Sparse};

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    ensure!(arguments.len() == 2, "usage: bench-pca ROWS.npy COMPONENTS");
    let components = arguments[1].parse()?;
    let file = npyz::NpyFile::new(BufReader::new(File::open(&arguments[0])?))?;
    let dim = file.shape()[1] as usize;
    let data = Data::dense(file.into_vec()?, dim)?;
    let clock = Clock::start();
    let exact = exact_svd(&data, components, true, &mut |_| Ok(()))?;
    report("covariance", &exact, &exact, &clock);
    for data in [data.clone(), to_sparse(&data)?] {
        let clock = Clock::start();
        let iterated =
            RandomizedSvd::new(&data, components, true, SvdOptions::default(), Seed(0))?.run(&mut |_| Ok(()))?;
        report(&format!("iteration, {}", data.kind()), &iterated, &exact, &clock);
    }
    let clock = Clock::start();
    exact.map().apply(&data)?;
    println!("projection: {}", clock.read());
    Ok(())
}

fn report(name: &str, found: &Svd, exact: &Svd, clock: &Clock) {
    let pairs = found.singular_values.iter().zip(&exact.singular_values);
    let error = pairs.map(|(f, e)| (f / e - 1.0).abs()).fold(0.0, f64::max);
    println!(
        "{name}: {}, {} iterations, converged {}, largest relative error of a singular value {error:.1e}",
        clock.read(),
        found.report.iterations,
        found.report.converged
    );
}

fn to_sparse(data: &Data) -> Result<Data> {
    let Data::Dense(x) = data else { return Ok(data.clone()) };
    let (mut indptr, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
    for i in 0..x.rows() {
        for (j, &v) in x.row(i).iter().enumerate().filter(|(_, v)| **v != 0.0) {
            indices.push(j as u32);
            values.push(v);
        }
        indptr.push(indices.len());
    }
    Ok(Data::Sparse(Sparse::new(indptr, indices, values, x.dim())?))
}
