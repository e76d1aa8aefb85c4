//! Output to the terminal: messages go to stderr, data to stdout.

use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};

use lowland::message::escape_control_in_lines;
use serde_json::Value;

use crate::failure::Failure;

/// The first failure of [`print_json`].
static JSON_FAILURE: Mutex<Option<io::Error>> = Mutex::new(None);

/// Prints a line to stderr. A closed stderr is ignored.
pub fn print_stderr(text: &str) {
    let _ = writeln!(io::stderr(), "{}", escape_control_in_lines(text));
}

/// Prints a JSON value as a line to stdout. If that fails, the run goes on to write its files; [`check_json`] reports it.
pub fn print_json(value: &Value) {
    let mut failure = JSON_FAILURE.lock().unwrap_or_else(PoisonError::into_inner);
    if failure.is_none() {
        *failure = write_stdout(format!("{value}\n").as_bytes()).err();
    }
}

/// Fails if a JSON value could not be printed.
pub fn check_json() -> Result<(), Failure> {
    let failure = JSON_FAILURE.lock().unwrap_or_else(PoisonError::into_inner).take();
    failure.map_or(Ok(()), |error| Err(Failure::stdout(error)))
}

/// Prints text for people to stdout.
pub fn print_stdout(text: &str) -> Result<(), Failure> {
    print_data(escape_control_in_lines(text).as_bytes())
}

/// Writes data to stdout as they are.
pub fn print_data(bytes: &[u8]) -> Result<(), Failure> {
    write_stdout(bytes).map_err(Failure::stdout)
}

fn write_stdout(bytes: &[u8]) -> io::Result<()> {
    check_open()?;
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    // What remains in the buffer would be written when nobody looks at errors any more.
    out.flush()
}

/// Fails if stdout was closed when the program was started.
#[cfg(target_os = "linux")]
pub fn check_open() -> io::Result<()> {
    if initial_stdout::IS_CLOSED.load(std::sync::atomic::Ordering::Relaxed) {
        return Err(io::Error::from_raw_os_error(libc::EBADF));
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
pub fn check_open() -> io::Result<()> {
    Ok(())
}

/// Before `main`, the runtime opens /dev/null in place of a closed stdout, so this has to look earlier.
#[cfg(target_os = "linux")]
mod initial_stdout {
    use std::sync::atomic::{AtomicBool, Ordering};

    pub static IS_CLOSED: AtomicBool = AtomicBool::new(false);

    extern "C" fn look() {
        // SAFETY: reads the flags of a descriptor, which need not exist.
        let is_closed = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) } == -1;
        IS_CLOSED.store(is_closed, Ordering::Relaxed);
    }

    // SAFETY: the loader calls the functions in this section, which take no arguments that `look` would need.
    #[used]
    #[unsafe(link_section = ".init_array")]
    static LOOK: extern "C" fn() = look;
}

/// Formats a duration: `450 ms`, `3.2 s`, `4 min 10 s`.
pub fn format_duration(seconds: f64) -> String {
    if seconds < 0.995 {
        format!("{:.0} ms", seconds * 1e3)
    } else if seconds < 59.95 {
        format!("{seconds:.1} s")
    } else if seconds < 3600.0 {
        format!("{} min {:02.0} s", (seconds / 60.0) as u64, (seconds % 60.0).floor())
    } else {
        format!("{} h {:02} min", (seconds / 3600.0) as u64, (seconds % 3600.0 / 60.0) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_formatted_in_readable_units() {
        assert_eq!(format_duration(0.25), "250 ms");
        assert_eq!(format_duration(12.34), "12.3 s");
        assert_eq!(format_duration(250.0), "4 min 10 s");
        assert_eq!(format_duration(7300.0), "2 h 01 min");
    }
}
