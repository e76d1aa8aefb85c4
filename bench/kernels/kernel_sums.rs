//! Time and error of the kernel sums on synthetic embeddings: `kernel_sums [MAX_POINTS]` prints a table, `kernel_sums growth` the
//! growth of the fast Gauss transform up to a million points, with its certified bound.
//!
//! The embeddings consist of clusters within a width of 100 (t-SNE), or with 100 points per unit of area (Gaussian); in three
//! dimensions they are as wide as those of MNIST by MAP IT and s-SNE. The error is the root mean square error of the force over
//! 500 targets, relative to the root mean square of the force.
#![allow(clippy::print_stdout)]

use anyhow::Result;
use lowland::{Points, Seed};
use lowland_bench::timed;
use lowland_nbody::{
    BarnesHut, Charges, ErrorReport, Exact, FastGauss, Fft, Kernel, KernelSum, KernelTerm, PotentialOutput,
    PotentialRequest, SumRequest,
};

const CAUCHY: Kernel = Kernel::Cauchy { power: 1.0 };
/// Number of targets whose error is measured.
const SAMPLE: usize = 500;

fn main() -> Result<()> {
    if std::env::args().nth(1).as_deref() == Some("growth") {
        return measure_growth();
    }
    let max_points = std::env::args().nth(1).map_or(Ok(1_000_000), |text| text.parse())?;
    let threads = std::env::var("THREADS").map_or(Ok(2), |text| text.parse())?;
    println!("kernel   d  points    width engine      accuracy  wall ms   CPU ms  first ms   error");
    for points in [10_000, 70_000, 300_000, 1_000_000].into_iter().filter(|&points| points <= max_points) {
        let width = (points as f64 / 100.0).sqrt();
        for (kernel, dim, width) in [
            (CAUCHY, 2, 100.0),
            (Kernel::Gaussian, 2, width),
            (CAUCHY, 3, 12.0),
            (CAUCHY, 3, 40.0),
            (Kernel::Gaussian, 3, 20.0),
        ] {
            lowland::with_threads(Some(threads), || match dim {
                2 => measure::<2>(kernel, points, width),
                _ => measure::<3>(kernel, points, width),
            })??;
        }
    }
    Ok(())
}

/// Prints work, CPU time, error and bound of the fast Gauss transform's force at maps of the same density.
fn measure_growth() -> Result<()> {
    println!("points accuracy work cpu_ms error bound");
    for count in [1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000] {
        let map = clusters::<2>(count, (count as f64 / 100.0).sqrt());
        let points = Points::new(&map, 2)?;
        let (mut values, mut gradients, ones) = (vec![0.0; count], vec![0.0; 2 * count], vec![1.0; count]);
        let some: Vec<f64> = (0..SAMPLE).flat_map(|k| map[2 * (k * count / SAMPLE)..][..2].to_vec()).collect();
        let (mut exact_values, mut exact) = (vec![0.0; SAMPLE], vec![0.0; 2 * SAMPLE]);
        let request = PotentialRequest { kernel: Kernel::Gaussian, targets: points, sources: points, charges: &ones };
        let sampled = PotentialRequest { targets: Points::new(&some, 2)?, ..request };
        Exact.potential(sampled, PotentialOutput { values: &mut exact_values, gradients: &mut exact })?;
        for accuracy in [1.0, 1e-2, 1e-4] {
            let mut engine = FastGauss::new(accuracy);
            let (report, times) = timed(|| {
                engine.potential(request, PotentialOutput { values: &mut values, gradients: &mut gradients })
            })?;
            let found = (0..SAMPLE).flat_map(|k| gradients[2 * (k * count / SAMPLE)..][..2].to_vec());
            let wrong: f64 = found.zip(&exact).map(|(a, b)| (a - b).powi(2)).sum();
            let error = (wrong / exact.iter().map(|g| g * g).sum::<f64>()).sqrt();
            let size = gradients.iter().map(|g| g * g).sum::<f64>().sqrt();
            let bound = report.force_bound.unwrap_or(f64::INFINITY) / size;
            let (work, cpu) = (report.work, times.cpu_s * 1e3);
            println!("{count} {accuracy:.0e} {work:.3e} {cpu:.2} {error:.2e} {bound:.2e}");
        }
    }
    Ok(())
}

/// Returns points in clusters of different sizes within a square or a cube.
fn clusters<const D: usize>(points: usize, width: f64) -> Vec<f64> {
    let (spread, centers) = (Seed(1).normals(D * points), Seed(2).normals(D * 100));
    let coordinate = |k: usize| {
        let cluster = k / D % 100;
        spread[k] * (0.25 + 0.01 * cluster as f64) + 2.0 * centers[D * cluster + k % D]
    };
    let map: Vec<f64> = (0..D * points).map(coordinate).collect();
    let largest = map.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
    map.into_iter().map(|x| x / largest * width / 2.0).collect()
}

fn measure<const D: usize>(kernel: Kernel, count: usize, width: f64) -> Result<()> {
    let gaussian = kernel == Kernel::Gaussian;
    let name = if gaussian { "gaussian" } else { "cauchy" };
    let (_, next) = kernel.derivative();
    let terms = [KernelTerm { kernel, charges: 1 }, KernelTerm { kernel: next, charges: 1 + D }];
    let terms = if gaussian { &terms[1..] } else { &terms[..] };
    let map = clusters::<D>(count, width);
    let points = Points::new(&map, D)?;
    let values: Vec<f64> = map.chunks_exact(D).flat_map(|x| std::iter::once(1.0).chain(x.iter().copied())).collect();
    let charges = Charges { values: &values, per_point: 1 + D };
    let columns = lowland_nbody::column_count(terms);
    let sample: Vec<usize> = (0..SAMPLE).map(|k| k * count / SAMPLE).collect();
    let some: Vec<f64> = sample.iter().flat_map(|&i| map[D * i..][..D].iter().copied()).collect();
    let mut exact = vec![0.0; SAMPLE * columns];
    let request = SumRequest { terms, targets: points, sources: points, charges };
    Exact.sum(SumRequest { targets: Points::new(&some, D)?, ..request }, &mut exact)?;
    let force = |i: usize, sums: &[f64]| -> [f64; D] {
        let moments = &sums[columns - 1 - D..];
        std::array::from_fn(|axis| map[D * i + axis] * moments[0] - moments[1 + axis])
    };
    let right: Vec<[f64; D]> = (0..SAMPLE).map(|k| force(sample[k], &exact[k * columns..(k + 1) * columns])).collect();
    let error = |found: &dyn Fn(usize) -> [f64; D]| {
        let square = |x: &[f64; D]| x.iter().map(|x| x * x).sum::<f64>();
        let wrong = |k: usize| {
            let found = found(sample[k]);
            square(&std::array::from_fn(|axis| found[axis] - right[k][axis]))
        };
        let (wrong, all): (f64, f64) = ((0..SAMPLE).map(wrong).sum(), right.iter().map(square).sum());
        (wrong / all).sqrt()
    };
    for accuracy in [1e-1, 1e-2, 1e-3, 1e-4] {
        let (mut fft, mut tree, mut gauss) = (Fft::default(), BarnesHut::default(), FastGauss::new(accuracy));
        let mut engines: Vec<&mut dyn KernelSum> = vec![&mut tree];
        if Fft::fits(&[kernel, next], points, points, accuracy) {
            engines.push(&mut fft);
        }
        if gaussian {
            engines.push(&mut gauss);
        }
        for engine in engines {
            engine.set_accuracy(accuracy);
            let mut out = vec![0.0; count * columns];
            let times = time_calls(count, || engine.sum(request, &mut out))?;
            let error = error(&|i| force(i, &out[i * columns..(i + 1) * columns]));
            println!("{name:8} {D} {count:7} {width:6.0}   {:11} {accuracy:8.0e} {times} {error:8.1e}", engine.name());
        }
        if !Fft::fits(&[kernel], points, points, accuracy) {
            continue;
        }
        let (mut potential, mut gradients, ones) = (vec![0.0; count], vec![0.0; D * count], vec![1.0; count]);
        let request = PotentialRequest { kernel, targets: points, sources: points, charges: &ones };
        let times = time_calls(count, || {
            fft.potential(request, PotentialOutput { values: &mut potential, gradients: &mut gradients })
        })?;
        // Both kernels have the gradient -2 sum K' (t - s), where K' is the kernel of the force.
        let error = error(&|i| std::array::from_fn(|axis| -0.5 * gradients[D * i + axis]));
        println!("{name:8} {D} {count:7} {width:6.0}   fft gradient {accuracy:7.0e} {times} {error:8.1e}");
    }
    Ok(())
}

/// Formats the wall and CPU milliseconds of a call after the first, and the wall milliseconds of the first.
fn time_calls(count: usize, mut call: impl FnMut() -> lowland::Result<ErrorReport>) -> Result<String> {
    let repeats = (500_000 / count).clamp(1, 20);
    let (_, first) = timed(&mut call)?;
    let (_, warm) = timed(|| (0..repeats).try_for_each(|_| call().map(|_| ())))?;
    let per_call = 1e3 / repeats as f64;
    Ok(format!("{:9.1} {:8.1} {:9.1}", warm.wall_s * per_call, warm.cpu_s * per_call, first.wall_s * 1e3))
}
