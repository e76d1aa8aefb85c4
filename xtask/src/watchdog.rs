//! Runs tests and ends them when they are stuck, with a report of where.
//!
//! `cargo test` never ends a test. It names a test that has been running for a minute; if that test is still running some
//! minutes later, or if nothing at all is printed for longer, the stacks of all its threads are printed and it is ended.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

/// Variable with the number of seconds that a test may take.
const TIMEOUT_VARIABLE: &str = "LOWLAND_TEST_TIMEOUT";
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(300);
/// How long a test runs before libtest names it.
const LIBTEST_NOTICE: Duration = Duration::from_secs(60);
const SLOW: &str = " has been running for over 60 seconds";
/// Interval of the checks.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// How long tests may take.
#[derive(Clone, Copy)]
pub struct Limits {
    /// From libtest's notice that a test is slow.
    after_notice: Duration,
    /// Without any output.
    silence: Duration,
}

impl Limits {
    pub fn from_environment() -> Result<Self> {
        let timeout = match std::env::var(TIMEOUT_VARIABLE) {
            Ok(seconds) => {
                Duration::from_secs(seconds.parse().with_context(|| format!("{TIMEOUT_VARIABLE}={seconds}"))?)
            }
            Err(_) => DEFAULT_TIMEOUT,
        };
        Ok(Self { after_notice: timeout.saturating_sub(LIBTEST_NOTICE), silence: 2 * timeout })
    }

    /// Limits for tests that are meant to take long.
    pub fn extended(self) -> Self {
        Self { after_notice: 20 * self.after_notice, silence: 20 * self.silence }
    }
}

/// What the output says about the tests that are running.
struct TestLog {
    limits: Limits,
    last_line: Instant,
    slow: Vec<(String, Instant)>,
}

impl TestLog {
    fn new(limits: Limits, now: Instant) -> Self {
        Self { limits, last_line: now, slow: Vec::new() }
    }

    /// Takes a line of output. Returns whether it is worth showing.
    fn take(&mut self, line: &str, now: Instant) -> bool {
        self.last_line = now;
        if line.starts_with("running ") || line.starts_with("test result:") {
            self.slow.clear();
        }
        let Some(rest) = line.strip_prefix("test ") else { return !line.trim().is_empty() };
        if let Some(name) = rest.strip_suffix(SLOW) {
            self.slow.push((name.into(), now));
            return true;
        }
        let Some((name, result)) = rest.rsplit_once(" ... ") else { return true };
        self.slow.retain(|(slow, _)| slow != name);
        !result.starts_with("ok")
    }

    /// Says what is stuck, if anything is.
    fn stuck(&self, now: Instant) -> Option<String> {
        let since = |then: Instant| now.saturating_duration_since(then);
        let stuck: Vec<&str> = self
            .slow
            .iter()
            .filter(|(_, at)| since(*at) > self.limits.after_notice)
            .map(|(name, _)| name.as_str())
            .collect();
        if !stuck.is_empty() {
            let seconds = (self.limits.after_notice + LIBTEST_NOTICE).as_secs();
            return Some(format!("still running after {seconds} s: {}", stuck.join(", ")));
        }
        let quiet = since(self.last_line) > self.limits.silence;
        quiet.then(|| format!("nothing was printed for {} s", self.limits.silence.as_secs()))
    }
}

/// Runs a command that prints like libtest, without the lines of tests that passed.
pub fn run(mut command: Command, what: &str, limits: Limits) -> Result<()> {
    println!("== {what}");
    let started = Instant::now();
    let mut child = command.stdout(Stdio::piped()).spawn().with_context(|| format!("cannot start {what}"))?;
    let lines = lines_of(child.stdout.take().expect("stdout is piped"));
    let mut log = TestLog::new(limits, started);
    loop {
        match lines.recv_timeout(POLL_INTERVAL.min(limits.silence)) {
            Ok(line) => {
                if log.take(&line, Instant::now()) {
                    println!("{line}");
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            // Everything that could print has ended, or closed its output: either way there is an end to wait for.
            Err(RecvTimeoutError::Disconnected) => break,
        }
        if let Some(stuck) = log.stuck(Instant::now()) {
            end_with_report(&mut child);
            bail!("{what}: {stuck}; see above for where. More time: {TIMEOUT_VARIABLE}=SECONDS");
        }
    }
    let status = child.wait()?;
    ensure!(status.success(), "{what}: {status}");
    println!("== {what}: {:.0} s", started.elapsed().as_secs_f64());
    Ok(())
}

/// Lines are taken as they come, on a thread of their own. What is no text is no line that matters here.
fn lines_of(output: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, lines) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(output).split(b'\n').map_while(Result::ok) {
            if sender.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                return;
            }
        }
    });
    lines
}

/// Reports where a process and its descendants are, and ends them.
fn end_with_report(child: &mut Child) {
    let descendants = descendants(child.id());
    for &process in &descendants {
        report(process);
    }
    // Children first: a parent that sees its child end may start another.
    for process in descendants.iter().rev() {
        let _ = Command::new("kill").args(["-9", &process.to_string()]).status();
    }
    let _ = child.kill();
    let _ = child.wait();
}

/// The process and its descendants, parents first. Elsewhere than on Linux only the process.
fn descendants(root: u32) -> Vec<u32> {
    let parent_of = |entry: std::fs::DirEntry| -> Option<(u32, u32)> {
        let id = entry.file_name().to_str()?.parse().ok()?;
        let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
        // The name in parentheses may contain anything; the state and the parent follow it.
        Some((stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()?, id))
    };
    let parents: Vec<(u32, u32)> =
        std::fs::read_dir("/proc").into_iter().flatten().flatten().filter_map(parent_of).collect();
    let mut found = vec![root];
    let mut at = 0;
    while let Some(&parent) = found.get(at) {
        found.extend(parents.iter().filter(|(of, _)| *of == parent).map(|(_, id)| *id));
        at += 1;
    }
    found
}

/// Prints the command, the threads and, where gdb is installed, their stacks.
fn report(process: u32) {
    let folder = format!("/proc/{process}");
    let read = |path: String| std::fs::read_to_string(path).unwrap_or_default().replace('\0', " ");
    println!("\nprocess {process}: {}", read(format!("{folder}/cmdline")));
    for thread in std::fs::read_dir(format!("{folder}/task")).into_iter().flatten().flatten() {
        let thread = thread.path().display().to_string();
        let stat = read(format!("{thread}/stat"));
        let state = stat.rsplit_once(')').map_or("", |(_, rest)| rest.trim_start().get(..1).unwrap_or(""));
        let (name, wait) = (read(format!("{thread}/comm")), read(format!("{thread}/wchan")));
        // libtest names the thread of a test after the test.
        println!(
            "  thread {}: state {state}, waits in {}",
            name.trim(),
            if wait == "0" { "user code" } else { wait.trim() }
        );
    }
    let id = process.to_string();
    let stacks =
        Command::new("gdb").args(["-p", &id, "-batch", "-nx", "-ex", "thread apply all backtrace 40"]).output();
    match stacks {
        Ok(output) => println!("{}", String::from_utf8_lossy(&output.stdout)),
        Err(_) => println!("  (with gdb installed, the stacks would follow)"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { after_notice: Duration::from_secs(240), silence: Duration::from_secs(600) };

    #[test]
    fn a_slow_test_is_stuck_until_it_ends() {
        let start = Instant::now();
        let mut log = TestLog::new(LIMITS, start);
        let at = |seconds| start + Duration::from_secs(seconds);
        assert!(log.take("test graph::a has been running for over 60 seconds", at(60)));
        assert_eq!(log.stuck(at(299)), None);
        assert_eq!(log.stuck(at(301)).unwrap(), "still running after 300 s: graph::a");
        assert!(!log.take("test graph::a ... ok", at(302)));
        assert_eq!(log.stuck(at(303)), None);
        assert!(log.take("test graph::b ... FAILED", at(303)) && !log.take("", at(303)));
        assert_eq!(log.stuck(at(904)).unwrap(), "nothing was printed for 600 s");
    }

    #[cfg(unix)]
    #[test]
    fn a_command_that_is_stuck_is_ended_with_its_children() {
        let limits = Limits { after_notice: Duration::from_millis(100), silence: Duration::from_secs(30) };
        let started = Instant::now();
        let mut command = Command::new("sh");
        command.args(["-c", "echo 'test a::b has been running for over 60 seconds'; sleep 100; echo no"]);
        let error = run(command, "the tests", limits).unwrap_err().to_string();
        assert!(error.contains("still running") && error.contains("a::b"), "{error}");
        assert!(started.elapsed() < Duration::from_secs(60), "it was waited for");
    }
}
