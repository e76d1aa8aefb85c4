//! Times the neighbour searches on one array: `bench-neighbors ARRAY.npy K SEARCH [METRIC]` prints one JSON line.
//!
//! `SEARCH` is `exact`, `approximate`, or `map` (the nearest points of the first two columns). CPU seconds are those of
//! the whole process during the search.
#![allow(clippy::print_stdout)]

use std::error::Error;
use std::fs::File;
use std::io::BufReader;
use std::time::Instant;

use lowland::neighbors::{NeighborParams, nearest, nearest_points};
use lowland::{Data, Points, Seed};
use serde_json::json;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, k, search, rest @ ..] = &arguments[..] else {
        return Err("usage: bench-neighbors ARRAY.npy K exact|approximate|map [METRIC]".into());
    };
    let metric = rest.first().map_or("euclidean", String::as_str);
    let (values, dim) = read(path)?;
    let rows = values.len() / dim;
    let n_neighbors: usize = k.parse()?;

    let start = (Instant::now(), cpu_seconds());
    let found = if search == "map" {
        let plane: Vec<f64> = values.chunks_exact(dim).flat_map(|row| [f64::from(row[0]), f64::from(row[1])]).collect();
        let graph = nearest_points(Points::new(&plane, 2)?, n_neighbors)?;
        json!({ "algorithm": "k-d tree", "edges": graph.indices().len() })
    } else {
        let params = NeighborParams { n_neighbors, metric: metric.parse()?, search: search.parse()?, seed: Seed(0) };
        let found = nearest(&Data::dense(values, dim)?, &params, &mut |_| Ok(()))?;
        json!({
            "algorithm": found.algorithm.to_string(),
            "edges": found.graph.indices().len(),
            "recall": found.recall.map(|recall| recall.value),
            "fingerprint": format!("{:016x}", fingerprint(found.graph.indices())),
        })
    };
    let (wall, cpu) = (start.0.elapsed().as_secs_f64(), cpu_seconds() - start.1);
    println!(
        "{}",
        json!({
            "program": "lowland", "search": search, "metric": metric, "rows": rows, "columns": dim, "k": n_neighbors,
            "threads": rayon::current_num_threads(), "wall_s": wall, "cpu_s": cpu, "found": found,
        })
    );
    Ok(())
}

/// A row-major `float32` array and its number of columns.
fn read(path: &str) -> Result<(Vec<f32>, usize), Box<dyn Error>> {
    let array = npyz::NpyFile::new(BufReader::new(File::open(path)?))?;
    let &[_, dim] = array.shape() else { return Err("the array must have two dimensions".into()) };
    Ok((array.into_vec::<f32>()?, dim as usize))
}

/// To see that two runs found the same.
fn fingerprint(indices: &[u32]) -> u64 {
    indices.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &j| (hash ^ u64::from(j)).wrapping_mul(0x0100_0000_01b3))
}

/// User and system time of this process.
fn cpu_seconds() -> f64 {
    // SAFETY: getrusage writes the structure it is given, and zero bytes are a valid one.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage
    };
    let seconds = |t: libc::timeval| t.tv_sec as f64 + t.tv_usec as f64 * 1e-6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}
