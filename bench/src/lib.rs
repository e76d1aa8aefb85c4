//! What the benchmarks share: the clock, reading the array, the JSON line, and the words of the command line, which are
//! those of the peers' scripts too (`peers/common.py`): `NAME cases` lists the cases, `NAME ARRAY.npy CASE` measures one.
//! A case is two words, what is asked and how it is answered: `k=15 exact`.
#![allow(clippy::print_stdout)]

use std::path::Path;
use std::str::FromStr;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use lowland::{Data, Dense};
use serde_json::{Value, json};

/// What some work has used.
pub struct Used {
    /// Seconds on the wall.
    pub wall_s: f64,
    /// CPU seconds of all threads.
    pub cpu_s: f64,
    /// The most memory the process had held by the end of the work, in MB (10^6 bytes), the data included.
    pub peak_mb: f64,
}

/// What one case used and what came of it.
pub struct Measured {
    /// By the work alone.
    pub used: Used,
    /// An object of what was found and how good it is; judged after the clock was read.
    pub found: Value,
}

/// A running clock.
pub struct Clock {
    wall: Instant,
    cpu: f64,
}

impl Clock {
    /// From now on.
    pub fn start() -> Self {
        Self { wall: Instant::now(), cpu: cpu_and_peak().0 }
    }

    /// What was used since the start.
    pub fn used(&self) -> Used {
        let wall_s = self.wall.elapsed().as_secs_f64();
        let (cpu, peak_mb) = cpu_and_peak();
        Used { wall_s, cpu_s: cpu - self.cpu, peak_mb }
    }
}

/// Does the work by the clock.
pub fn timed<T>(work: impl FnOnce() -> lowland::Result<T>) -> Result<(T, Used)> {
    let clock = Clock::start();
    let outcome = work()?;
    Ok((outcome, clock.used()))
}

/// A benchmark's `main`: lists the cases, or measures one on `THREADS` threads (two unless set) and prints its line.
pub fn main(cases: &[&str], measure: fn(&Dense, [&str; 2]) -> Result<Measured>) -> Result<()> {
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

/// The value in a word such as `k=15`.
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

/// CPU seconds of the process so far, and the most memory it has held, in MB.
fn cpu_and_peak() -> (f64, f64) {
    // SAFETY: rusage is plain data for which all zeros is a value, and getrusage only writes into it.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &raw mut usage);
        usage
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 * 1e-6;
    // getrusage's peak is no less than what the parent held when it started us; both count in units of 1024 bytes.
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.split_whitespace().next()?.parse().ok());
    (seconds(usage.ru_utime) + seconds(usage.ru_stime), peak.unwrap_or(usage.ru_maxrss as f64) * 1024e-6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_gives_its_value_and_one_without_is_refused() {
        assert_eq!(value::<usize>("k=15").unwrap(), 15);
        assert_eq!(value::<f64>("tolerance=1e-3").unwrap(), 1e-3);
        assert!(value::<usize>("k=many").is_err());
        assert!(value::<usize>("exact").is_err());
    }

    #[test]
    fn the_peak_holds_what_the_work_has_touched() {
        let size = 200_000_000;
        let (sum, used) = timed(|| Ok(vec![1u8; size].iter().map(|&v| u64::from(v)).sum::<u64>())).unwrap();
        assert_eq!(sum, size as u64);
        assert!(used.peak_mb > 200.0 && used.cpu_s > 0.0 && used.wall_s > 0.0);
    }
}
