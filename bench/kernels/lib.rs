//! Shared by the benchmark programs: measuring time and memory, reading the array, and printing the result as a JSON line.
//!
//! The programs have the same command line as the peers (`peers/common.py`): `NAME ARRAY.npy SETTING WAY` measures one case,
//! for example `neighbors mnist.npy k=15 exact`. `NAME cases` lists the cases.
#![allow(clippy::print_stdout)]

use std::path::Path;
use std::str::FromStr;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use lowland::data::{Data, Dense};
use serde_json::{Value, json};

/// Time and memory used by some work.
pub struct ResourceUsage {
    /// Wall-clock seconds.
    pub wall_s: f64,
    /// CPU seconds of all threads.
    pub cpu_s: f64,
    /// Peak memory of the process at the end of the work, including the data, in MB (10^6 bytes).
    pub peak_mb: f64,
}

/// Result of one case.
pub struct Measurement {
    /// Resources used by the work alone.
    pub used: ResourceUsage,
    /// A JSON object that describes the result and its quality, evaluated after the measurement.
    pub found: Value,
}

/// Measures time since its start.
pub struct Clock {
    wall: Instant,
    cpu: f64,
}

impl Clock {
    /// Starts the clock.
    pub fn start() -> Self {
        Self { wall: Instant::now(), cpu: cpu_and_peak().0 }
    }

    /// Returns the resources used since the start.
    pub fn used(&self) -> ResourceUsage {
        let wall_s = self.wall.elapsed().as_secs_f64();
        let (cpu, peak_mb) = cpu_and_peak();
        ResourceUsage { wall_s, cpu_s: cpu - self.cpu, peak_mb }
    }
}

/// Runs the work and returns its result and the resources it used.
pub fn timed<T>(work: impl FnOnce() -> lowland::Result<T>) -> Result<(T, ResourceUsage)> {
    let clock = Clock::start();
    let outcome = work()?;
    Ok((outcome, clock.used()))
}

/// The `main` of a benchmark: lists the cases, or measures one with `THREADS` threads (default: two) and prints its JSON line.
pub fn main(cases: &[&str], measure: fn(&Dense, [&str; 2]) -> Result<Measurement>) -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["cases"] => println!("{}", cases.join("\n")),
        [array, setting, way] if cases.contains(&format!("{setting} {way}").as_str()) => {
            let rows = read(Path::new(array))?;
            let threads = std::env::var("THREADS").map_or(Ok(2), |text| text.parse()).context("THREADS")?;
            let measured = lowland::with_threads(Some(threads), || measure(&rows, [setting, way]))??;
            let line = json!({
                "setting": setting, "program": format!("lowland {way}"),
                "rows": rows.rows(), "columns": rows.dim(), "threads": threads,
                "wall_s": measured.used.wall_s, "cpu_s": measured.used.cpu_s, "peak_mb": measured.used.peak_mb,
                "found": measured.found,
            });
            println!("{line}");
        }
        _ => bail!("usage: cases | ARRAY.npy CASE, where CASE is one of\n{}", cases.join("\n")),
    }
    Ok(())
}

/// Returns the value in a setting such as `k=15`.
pub fn value<T: FromStr<Err: std::error::Error + Send + Sync + 'static>>(word: &str) -> Result<T> {
    let (_, text) = word.split_once('=').with_context(|| format!("no value in {word}"))?;
    text.parse().with_context(|| word.to_owned())
}

fn read(path: &Path) -> Result<Dense> {
    match lowland_io::read(path, &Default::default())?.data {
        Data::Dense(rows) => Ok(rows),
        other => bail!("{}: expected a dense array, found {}", path.display(), other.kind()),
    }
}

/// Returns the CPU seconds of the process so far and its peak memory in MB.
fn cpu_and_peak() -> (f64, f64) {
    // SAFETY: all zeros is a valid rusage, and getrusage only writes to it.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &raw mut usage);
        usage
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 * 1e-6;
    // The peak that getrusage reports includes that of the parent before the fork. Both are in units of 1024 bytes.
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.split_whitespace().next()?.parse().ok());
    (seconds(usage.ru_utime) + seconds(usage.ru_stime), peak.unwrap_or(usage.ru_maxrss as f64) * 1024e-6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn value_parses_settings_and_rejects_text_without_a_number() {
        assert_eq!(value::<usize>("k=15").unwrap(), 15);
        assert_eq!(value::<f64>("tolerance=1e-3").unwrap(), 1e-3);
        assert!(value::<usize>("k=many").is_err());
        assert!(value::<usize>("exact").is_err());
    }

    #[test]
    fn peak_memory_includes_the_memory_of_the_work() {
        let size = 200_000_000;
        let (sum, used) = timed(|| Ok(vec![1u8; size].iter().map(|&v| u64::from(v)).sum::<u64>())).unwrap();
        assert_eq!(sum, size as u64);
        assert!(used.peak_mb > 200.0 && used.cpu_s > 0.0 && used.wall_s > 0.0);
    }
}
