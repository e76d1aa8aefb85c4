//! The program as a child that tests talk to, signal and kill.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Longest time that a run of the program may take in a test.
pub const TIMEOUT: Duration = Duration::from_secs(240);
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// A run of the program. It is killed when this is dropped, and after [`TIMEOUT`]: then its output ends, and no test waits
/// forever for it.
pub struct Program {
    child: Arc<Mutex<Child>>,
    watchdog: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Program {
    /// Starts the program with its output in pipes.
    pub fn start(folder: &Path, arguments: &str) -> Self {
        Self::start_with(folder, arguments, |command| command.stdout(Stdio::piped()).stderr(Stdio::piped()))
    }

    /// Starts the program with changes to the command.
    pub fn start_with(folder: &Path, arguments: &str, change: impl FnOnce(&mut Command) -> &mut Command) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lowland"));
        command.args(arguments.split(' ')).current_dir(folder).stdin(Stdio::null());
        default_signals(&mut command);
        let child = Arc::new(Mutex::new(change(&mut command).spawn().expect("the program starts")));
        let (over, end) = channel();
        let (watched, arguments) = (Arc::clone(&child), arguments.to_string());
        let watchdog = std::thread::spawn(move || {
            if end.recv_timeout(TIMEOUT) == Err(RecvTimeoutError::Timeout) {
                let mut child = lock(&watched);
                report_threads(child.id(), &arguments);
                let _ = child.kill();
            }
        });
        Self { child, watchdog: Some((over, watchdog)) }
    }

    /// Lines of the standard output; can be taken once.
    pub fn lines(&self) -> impl Iterator<Item = String> + use<> {
        BufReader::new(lock(&self.child).stdout.take().expect("a pipe")).lines().map_while(Result::ok)
    }

    /// Lines of the standard error; can be taken once.
    pub fn messages(&self) -> impl Iterator<Item = String> + use<> {
        BufReader::new(lock(&self.child).stderr.take().expect("a pipe")).lines().map_while(Result::ok)
    }

    /// Presses Ctrl-C.
    #[cfg(unix)]
    pub fn interrupt(&self) {
        let child = lock(&self.child);
        // SAFETY: signals our own child, which cannot be waited for while it is locked.
        unsafe { libc::kill(child.id() as i32, libc::SIGINT) };
    }

    /// Kills it, as by `kill -9`.
    pub fn kill(&self) {
        lock(&self.child).kill().expect("it was started");
    }

    /// Whether it is still running.
    pub fn is_running(&self) -> bool {
        lock(&self.child).try_wait().expect("it was started").is_none()
    }

    /// Waits for its end.
    pub fn wait(&self) -> ExitStatus {
        loop {
            if let Some(status) = lock(&self.child).try_wait().expect("it was started") {
                return status;
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    /// Waits for its end, and returns the exit code and everything on the standard error.
    pub fn finish(&self) -> (Option<i32>, String) {
        let messages = lock(&self.child).stderr.take();
        let mut text = String::new();
        if let Some(mut messages) = messages {
            let _ = messages.read_to_string(&mut text);
        }
        (self.wait().code(), text)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = lock(&self.child).kill();
        self.wait();
        if let Some((over, watchdog)) = self.watchdog.take() {
            drop(over);
            let _ = watchdog.join();
        }
    }
}

fn lock(child: &Mutex<Child>) -> MutexGuard<'_, Child> {
    child.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Gives the child the default handling of Ctrl-C. If the tests run in the background or in some CI, SIGINT is ignored, and so
/// it would be by their children.
fn default_signals(command: &mut Command) {
    #[cfg(unix)]
    {
        use std::os::unix::process::CommandExt;
        // SAFETY: signal() may be called between fork and exec.
        unsafe {
            command.pre_exec(|| {
                libc::signal(libc::SIGINT, libc::SIG_DFL);
                Ok(())
            })
        };
    }
    #[cfg(not(unix))]
    let _ = command;
}

/// Prints where the threads of a process are, as far as the system tells.
#[allow(clippy::print_stderr)]
fn report_threads(process: u32, arguments: &str) {
    eprintln!("`lowland {arguments}` is stuck after {} s:", TIMEOUT.as_secs());
    for thread in std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten() {
        let read = |name: &str| std::fs::read_to_string(thread.path().join(name)).unwrap_or_default();
        eprintln!(
            "  thread {} waits in {}, system call {}",
            read("comm").trim(),
            read("wchan"),
            read("syscall").trim()
        );
    }
}
