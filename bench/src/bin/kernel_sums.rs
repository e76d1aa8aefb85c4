//! Time and error of the kernel sums on made-up maps: `kernel_sums [MOST_POINTS [SETTING..]]` prints a table.
//!
//! The maps are clusters 100 units wide in all (t-SNE), or as wide as makes 100 points a unit of area (Gaussian). The error
//! is that of the force, root mean square over 500 targets and relative to that of the force.
#![allow(clippy::print_stdout)]

use anyhow::Result;
use lowland::nbody::{BarnesHut, Charges, ErrorReport, Exact, Fft, Kernel, KernelSum, Term};
use lowland::{Points, Seed};
use lowland_bench::timed;

const CAUCHY: Kernel = Kernel::Cauchy { power: 1.0 };
const TSNE: [Term; 2] =
    [Term { kernel: CAUCHY, charges: 1 }, Term { kernel: Kernel::Cauchy { power: 2.0 }, charges: 3 }];
const GAUSSIAN: [Term; 1] = [Term { kernel: Kernel::Gaussian, charges: 3 }];
/// Targets whose error is measured.
const SAMPLE: usize = 500;

fn main() -> Result<()> {
    let most = std::env::args().nth(1).map_or(Ok(1_000_000), |text| text.parse())?;
    let threads = std::env::var("THREADS").map_or(Ok(2), |text| text.parse())?;
    println!("kernel    points    width engine      accuracy  wall ms   CPU ms  first ms   error");
    for points in [10_000, 70_000, 300_000, 1_000_000].into_iter().filter(|&points| points <= most) {
        lowland::with_threads(Some(threads), || measure("cauchy", points, 100.0, &TSNE))??;
        let width = (points as f64 / 100.0).sqrt();
        lowland::with_threads(Some(threads), || measure("gaussian", points, width, &GAUSSIAN))??;
    }
    Ok(())
}

/// Clusters of many sizes, within a square.
fn clusters(points: usize, width: f64) -> Vec<f64> {
    let (spread, centres) = (Seed(1).normals(2 * points), Seed(2).normals(200));
    let coordinate = |k: usize| {
        let cluster = k / 2 % 100;
        spread[k] * (0.25 + 0.01 * cluster as f64) + 2.0 * centres[2 * cluster + k % 2]
    };
    let map: Vec<f64> = (0..2 * points).map(coordinate).collect();
    let largest = map.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
    map.into_iter().map(|x| x / largest * width / 2.0).collect()
}

fn measure(name: &str, count: usize, width: f64, terms: &[Term]) -> Result<()> {
    let map = clusters(count, width);
    let points = Points::new(&map, 2)?;
    let values: Vec<f64> = map.chunks_exact(2).flat_map(|x| [1.0, x[0], x[1]]).collect();
    let charges = Charges { values: &values, per_point: 3 };
    let columns = lowland::nbody::columns(terms);
    let sample: Vec<usize> = (0..SAMPLE).map(|k| k * count / SAMPLE).collect();
    let some: Vec<f64> = sample.iter().flat_map(|&i| [map[2 * i], map[2 * i + 1]]).collect();
    let mut exact = vec![0.0; SAMPLE * columns];
    Exact.sum(terms, Points::new(&some, 2)?, points, charges, &mut exact)?;
    let force = |i: usize, sums: &[f64]| {
        let &[.., s0, s1, s2] = sums else { return [0.0; 2] };
        [map[2 * i] * s0 - s1, map[2 * i + 1] * s0 - s2]
    };
    let right: Vec<[f64; 2]> = (0..SAMPLE).map(|k| force(sample[k], &exact[k * columns..(k + 1) * columns])).collect();
    let error = |found: &dyn Fn(usize) -> [f64; 2]| {
        let square = |x: [f64; 2]| x[0] * x[0] + x[1] * x[1];
        let wrong = |k: usize| square([0, 1].map(|axis| found(sample[k])[axis] - right[k][axis]));
        let (wrong, all): (f64, f64) = ((0..SAMPLE).map(wrong).sum(), right.iter().map(|&x| square(x)).sum());
        (wrong / all).sqrt()
    };
    for accuracy in [1e-1, 1e-2, 1e-3, 1e-4] {
        let (mut fft, mut tree) = (Fft::default(), BarnesHut::default());
        let engines: [&mut dyn KernelSum; 2] = [&mut fft, &mut tree];
        for engine in engines {
            engine.set_accuracy(accuracy);
            let mut out = vec![0.0; count * columns];
            let times = repeat(count, || engine.sum(terms, points, points, charges, &mut out))?;
            let error = error(&|i| force(i, &out[i * columns..(i + 1) * columns]));
            println!("{name:9} {count:7} {width:6.0}   {:11} {accuracy:8.0e} {times} {error:8.1e}", engine.name());
        }
        let (mut potential, mut gradients, ones) = (vec![0.0; count], vec![0.0; 2 * count], vec![1.0; count]);
        let kernel = terms[0].kernel;
        let times = repeat(count, || fft.potential(kernel, points, points, &ones, &mut potential, &mut gradients))?;
        // Both kernels have the gradient -2 sum K' (t - s), where K' is the one that acts.
        let error = error(&|i| [-0.5 * gradients[2 * i], -0.5 * gradients[2 * i + 1]]);
        println!("{name:9} {count:7} {width:6.0}   fft gradient {accuracy:7.0e} {times} {error:8.1e}");
    }
    Ok(())
}

/// Wall and CPU milliseconds of a call when warm, and wall milliseconds of the first.
fn repeat(count: usize, mut call: impl FnMut() -> lowland::Result<ErrorReport>) -> Result<String> {
    let repeats = (500_000 / count).clamp(1, 20);
    let (_, first) = timed(&mut call)?;
    let (_, warm) = timed(|| (0..repeats).try_for_each(|_| call().map(|_| ())))?;
    let per_call = 1e3 / repeats as f64;
    Ok(format!("{:9.1} {:8.1} {:9.1}", warm.wall_s * per_call, warm.cpu_s * per_call, first.wall_s * 1e3))
}
