//! Peak rates of this machine as a JSON line: arithmetic in registers, sequential reads of memory, and gathers from a table of the
//! size of an embedding. Every one of `THREADS` (default: two) threads has its own work. The report compares profiles with them.
#![allow(clippy::print_stdout)]

use std::hint::black_box;
use std::time::Instant;

use anyhow::Result;
use lowland_core::simd::simd_dispatch;
use serde_json::json;

/// Number of accumulators, enough to hide the latency of every execution unit.
const LANES: usize = 64;
const ROUNDS: usize = 2_000_000;

fn main() -> Result<()> {
    let threads = std::env::var("THREADS").map_or(Ok(2), |text| text.parse())?;
    let flops = 2.0 * (LANES * ROUNDS) as f64;
    let bytes = 1usize << 29;
    let gathers = 1usize << 26;
    println!(
        "{}",
        json!({
            "threads": threads,
            "f32 Gflop/s": rate(threads, flops, || (), |()| multiply_add_f32(black_box(1.0))),
            "f64 Gflop/s": rate(threads, flops, || (), |()| multiply_add_f64(black_box(1.0))),
            "read GB/s": rate(threads, bytes as f64, || vec![1u64; bytes / 8], |data| read_sequentially(data)),
            "gathers of 16 bytes from 70,000, G/s": rate(threads, gathers as f64, gather_table, |table| gather(table, gathers)),
        })
    );
    Ok(())
}

/// Returns billions of operations per second, where every thread does `count`; the best of three runs.
fn rate<T, R>(threads: usize, count: f64, prepare: impl Fn() -> T + Sync, work: impl Fn(&T) -> R + Sync) -> f64 {
    let seconds = |_| {
        let slowest = std::thread::scope(|scope| {
            let run = || {
                let data = prepare();
                let start = Instant::now();
                black_box(work(&data));
                start.elapsed().as_secs_f64()
            };
            let running: Vec<_> = (0..threads).map(|_| scope.spawn(run)).collect();
            running.into_iter().map(|thread| thread.join().expect("no panic")).fold(0.0, f64::max)
        });
        count * threads as f64 / slowest * 1e-9
    };
    (0..3).map(seconds).fold(0.0, f64::max)
}

#[simd_dispatch(fma)]
fn multiply_add_f32(start: f32) -> f32 {
    let mut sums = [start; LANES];
    for _ in 0..ROUNDS {
        for sum in &mut sums {
            *sum = sum.mul_add(0.999, 0.001);
        }
    }
    sums.iter().sum()
}

#[simd_dispatch(fma)]
fn multiply_add_f64(start: f64) -> f64 {
    let mut sums = [start; LANES];
    for _ in 0..ROUNDS {
        for sum in &mut sums {
            *sum = sum.mul_add(0.999, 0.001);
        }
    }
    sums.iter().sum()
}

#[simd_dispatch(fma)]
fn read_sequentially(data: &[u64]) -> u64 {
    data.iter().fold(0, |sum, value| sum ^ value)
}

/// Returns 70,000 points in two dimensions and indices into them in random order.
fn gather_table() -> (Vec<[f64; 2]>, Vec<u32>) {
    let points = 70_000u64;
    let order = (0..1u64 << 16).map(|k| (k.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33) % points);
    (vec![[1.0, 2.0]; points as usize], order.map(|k| k as u32).collect())
}

fn gather((map, order): &(Vec<[f64; 2]>, Vec<u32>), count: usize) -> f64 {
    // Several sums, so that no addition has to wait for the previous one.
    let mut sums = [[0.0; 2]; 8];
    for _ in 0..count / order.len() {
        for places in order.as_chunks::<8>().0 {
            for (sum, &at) in sums.iter_mut().zip(places) {
                let point = map[at as usize];
                sum[0] += point[0];
                sum[1] += point[1];
            }
        }
    }
    sums.as_flattened().iter().sum()
}
