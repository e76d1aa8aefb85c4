//! Nearest-neighbor search for all rows.

use anyhow::Result;
use lowland::data::{Data, Dense, Metric, Seed};
use lowland::neighbors::{NeighborParams, nearest};
use lowland_bench::{Measurement, timed, value};
use serde_json::json;

const CASES: [&str; 4] = ["k=15 exact", "k=15 approximate", "k=90 exact", "k=90 approximate"];

fn main() -> Result<()> {
    lowland_bench::main(&CASES, measure)
}

fn measure(rows: &Dense, [k, search]: [&str; 2]) -> Result<Measurement> {
    let params =
        NeighborParams { n_neighbors: value(k)?, metric: Metric::Euclidean, search: search.parse()?, seed: Seed(0) };
    let data = Data::Dense(rows.clone());
    let (found, used) = timed(|| nearest(&data, &params))?;
    let found = json!({
        "algorithm": found.algorithm.to_string(),
        "recall": found.recall.map(|recall| recall.value),
        "fingerprint": format!("{:016x}", fingerprint(found.graph.indices())),
    });
    Ok(Measurement { used, found })
}

/// Returns a hash (FNV-1a, one index at a time) that shows whether two runs found the same neighbors.
fn fingerprint(indices: &[u32]) -> u64 {
    indices.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &j| (hash ^ u64::from(j)).wrapping_mul(0x0100_0000_01b3))
}
