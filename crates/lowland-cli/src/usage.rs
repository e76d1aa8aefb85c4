//! Resources used by the process: wall time, CPU time, memory.

use std::time::Instant;

/// Measures the resources used since it was started.
pub struct Stopwatch {
    wall: Instant,
    cpu: f64,
}

/// Wall and CPU time.
#[derive(Debug, Clone, Copy)]
pub struct ResourceUsage {
    pub wall_seconds: f64,
    pub cpu_seconds: f64,
}

impl Stopwatch {
    pub fn start() -> Self {
        Self { wall: Instant::now(), cpu: cpu_seconds() }
    }

    /// Time since the start.
    pub fn elapsed(&self) -> ResourceUsage {
        ResourceUsage { wall_seconds: self.wall.elapsed().as_secs_f64(), cpu_seconds: cpu_seconds() - self.cpu }
    }
}

#[cfg(unix)]
fn rusage() -> libc::rusage {
    // SAFETY: rusage is plain data for which all zeros is a value, and getrusage only writes into it.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &raw mut usage);
        usage
    }
}

/// CPU seconds of all threads.
#[cfg(unix)]
fn cpu_seconds() -> f64 {
    let usage = rusage();
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 * 1e-6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

/// Peak memory of the process in bytes.
#[cfg(unix)]
pub fn peak_memory() -> u64 {
    // Linux counts kilobytes, macOS bytes.
    rusage().ru_maxrss as u64 * if cfg!(target_os = "macos") { 1 } else { 1024 }
}

#[cfg(not(unix))]
fn cpu_seconds() -> f64 {
    f64::NAN
}

#[cfg(not(unix))]
pub fn peak_memory() -> u64 {
    0
}
