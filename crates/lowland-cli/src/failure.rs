//! Failures and their exit codes, which are a contract for scripts (`lowland --help` lists them).

use std::fmt::Display;
use std::io::Write;
use std::process::ExitCode;

use lowland::Error;
use lowland::message::escape_control_in_lines;
use lowland_io::FileError;
use lowland_view::PictureError;

use crate::print::{check_open, print_stderr};
use crate::terms::FlagTerms;

/// Exit code of a run stopped by Ctrl-C or SIGTERM, as shells expect it.
pub const STOPPED: u8 = 130;
/// Exit code of a failure that is neither the user's nor the input's.
const FAILED: u8 = 1;
const INVALID_FLAG: u8 = 2;
/// Exit code of input that cannot be used.
pub const UNUSABLE_INPUT: u8 = 3;
const TOO_LITTLE_MEMORY: u8 = 4;
/// Exit code after SIGPIPE, as shells expect it.
const CLOSED_PIPE: u8 = 141;

/// Why a command failed.
pub enum Failure {
    /// An invalid flag or value, reported by clap.
    Usage(clap::Error),
    /// The reader of stdout closed it (`| head`); there is nothing to report.
    ClosedPipe,
    /// Anything else: the exit code and the message.
    Message { code: u8, message: String },
}

impl Failure {
    fn new(code: u8, message: impl Display) -> Self {
        Failure::Message { code, message: message.to_string() }
    }

    /// A flag that is invalid or does not apply.
    pub fn flag(message: impl Display) -> Self {
        Self::new(INVALID_FLAG, message)
    }

    /// Input that cannot be used.
    pub fn input(message: impl Display) -> Self {
        Self::new(UNUSABLE_INPUT, message)
    }

    /// A failure of the machine rather than of flags or input.
    pub fn runtime(message: impl Display) -> Self {
        Self::new(FAILED, message)
    }

    /// Results that could not be written to stdout.
    pub fn stdout(error: std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::BrokenPipe => Failure::ClosedPipe,
            _ => Self::runtime(format!("cannot write to standard output: {error}")),
        }
    }

    /// A file that could not be written.
    pub fn write(error: FileError) -> Self {
        Self::runtime(error.describe(&FlagTerms))
    }

    /// The same failure with a prefix, such as the file that it came from.
    pub fn within(self, context: impl Display) -> Self {
        match self {
            Failure::Message { code, message } => Self::new(code, format!("{context}: {message}")),
            other => other,
        }
    }

    /// The same failure with a sentence about what can be done.
    pub fn with_advice(self, advice: &str) -> Self {
        match self {
            Failure::Message { code, message } => Self::new(code, format!("{message}\n{advice}")),
            other => other,
        }
    }

    /// Prints the message and returns the exit code.
    pub fn report(self) -> ExitCode {
        match self {
            Failure::Usage(error) => report_usage(&error),
            Failure::ClosedPipe => ExitCode::from(CLOSED_PIPE),
            Failure::Message { code, message } => {
                print_stderr(&format!("error: {message}"));
                ExitCode::from(code)
            }
        }
    }
}

/// Prints help and versions to stdout, and what is wrong with the arguments to stderr.
fn report_usage(error: &clap::Error) -> ExitCode {
    let text = error.render().to_string();
    if !error.use_stderr() {
        return match check_open().and_then(|()| error.print()).and_then(|()| std::io::stdout().flush()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => Failure::stdout(error).report(),
        };
    }
    // Clap colors its messages, but repeats arguments as they are.
    if escape_control_in_lines(&text) == text {
        let _ = error.print();
    } else {
        print_stderr(text.trim_end());
    }
    ExitCode::from(INVALID_FLAG)
}

impl From<clap::Error> for Failure {
    fn from(error: clap::Error) -> Self {
        Failure::Usage(error)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let code = match &error {
            Error::Parameter { .. } | Error::FixedPositions { .. } => INVALID_FLAG,
            Error::Memory { .. } => TOO_LITTLE_MEMORY,
            Error::Stopped { .. } => STOPPED,
            Error::Threads { .. } | Error::Numerical { .. } | Error::Device { .. } => FAILED,
            _ => UNUSABLE_INPUT,
        };
        Self::new(code, error.describe(&FlagTerms))
    }
}

impl From<PictureError> for Failure {
    fn from(error: PictureError) -> Self {
        match error {
            PictureError::Data(error) => error.into(),
            error if error.is_invalid_option() => Self::flag(error.describe(&FlagTerms)),
            error => Self::input(error.describe(&FlagTerms)),
        }
    }
}

impl From<FileError> for Failure {
    fn from(error: FileError) -> Self {
        let code = if error.kind.is_too_large() { TOO_LITTLE_MEMORY } else { UNUSABLE_INPUT };
        Self::new(code, error.describe(&FlagTerms))
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::runtime(error)
    }
}
