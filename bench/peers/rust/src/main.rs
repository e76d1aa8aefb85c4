//! `rust-peers CRATE IN.f32 COLUMNS OUT.f32`: embeds rows of little-endian f32 in two dimensions with a Rust crate and its
//! defaults, and prints a JSON line with the time and the peak memory of the fit alone.

use std::fs;
use std::time::Instant;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [name, input, columns, output] = &arguments[..] else {
        eprintln!("usage: rust-peers bhtsne|annembed IN.f32 COLUMNS OUT.f32");
        std::process::exit(2);
    };
    let columns: usize = columns.parse().expect("COLUMNS is not a number");
    let bytes = fs::read(input).expect("cannot read the rows");
    let values: Vec<f32> = bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
    let (wall, cpu) = (Instant::now(), usage().0);
    let embedding = match name.as_str() {
        "bhtsne" => bhtsne(&values, columns),
        "annembed" => annembed(&values, columns),
        other => panic!("unknown crate {other}"),
    };
    let (wall, (now, peak)) = (wall.elapsed().as_secs_f64(), usage());
    println!(r#"{{"wall_s": {wall}, "cpu_s": {}, "peak_mb": {peak}}}"#, now - cpu);
    fs::write(output, embedding.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>()).expect("cannot write");
}

/// t-SNE with the same perplexity and iterations as the other tools (30; 250 + 500).
fn bhtsne(values: &[f32], columns: usize) -> Vec<f32> {
    let rows: Vec<&[f32]> = values.chunks_exact(columns).collect();
    let distance = |a: &&[f32], b: &&[f32]| a.iter().zip(*b).map(|(x, y)| (x - y) * (x - y)).sum::<f32>().sqrt();
    bhtsne::tSNE::<f32, &[f32], 2>::new(&rows).perplexity(30.0).epochs(750).fit_sne(distance).embedding()
}

#[cfg(not(feature = "annembed"))]
fn annembed(_: &[f32], _: usize) -> Vec<f32> {
    eprintln!("built without annembed, which needs the system's OpenBLAS");
    std::process::exit(3)
}

/// The defaults, with the search settings of the MNIST example of the crate (70 connections, ef 50, 6 neighbors).
#[cfg(feature = "annembed")]
fn annembed(values: &[f32], columns: usize) -> Vec<f32> {
    use annembed::fromhnsw::kgraph::{KGraph, kgraph_from_hnsw_all};
    use annembed::prelude::*;
    use hnsw_rs::prelude::*;
    let rows: Vec<Vec<f32>> = values.chunks_exact(columns).map(<[f32]>::to_vec).collect();
    let layers = ((rows.len() as f32).ln() as usize).clamp(1, 16);
    let search = Hnsw::<f32, DistL2>::new(70, rows.len(), layers, 50, DistL2 {});
    let numbered: Vec<(&Vec<f32>, usize)> = rows.iter().zip(0..).collect();
    search.parallel_insert(&numbered);
    let graph: KGraph<f32> = kgraph_from_hnsw_all(&search, 6).expect("no graph");
    let mut embedder = Embedder::new(&graph, EmbedderParams::default());
    embedder.embed().expect("no embedding");
    embedder.get_embedded_reindexed().iter().copied().collect()
}

/// Returns the CPU seconds of the process so far and its peak memory in MB.
fn usage() -> (f64, f64) {
    // SAFETY: all zeros is a valid rusage, and getrusage only writes to it.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &raw mut usage);
        usage
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 * 1e-6;
    let status = fs::read_to_string("/proc/self/status").expect("/proc is only available on Linux");
    let peak =
        status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.split_whitespace().next()?.parse::<f64>().ok());
    (seconds(usage.ru_utime) + seconds(usage.ru_stime), peak.expect("no VmHWM in /proc/self/status") * 1024e-6)
}
