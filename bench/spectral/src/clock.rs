//! CPU and wall time.

use std::time::Instant;

/// A running measurement.
pub struct Clock {
    wall: Instant,
    cpu: f64,
}

impl Clock {
    /// From now on.
    pub fn start() -> Self {
        Self { wall: Instant::now(), cpu: cpu_seconds() }
    }

    /// So far.
    pub fn read(&self) -> String {
        format!("{:.2} s CPU, {:.2} s wall", cpu_seconds() - self.cpu, self.wall.elapsed().as_secs_f64())
    }
}

/// User and system time of this process, from the kernel's table (fields 14 and 15, in hundredths of a second).
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    after_name.split_whitespace().skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
}
