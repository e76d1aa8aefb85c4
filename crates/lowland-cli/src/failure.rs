//! Failures and their exit codes, which are a contract for scripts (`lowland --help` lists them).

use std::fmt::Display;
use std::process::ExitCode;

use lowland::Error;
use lowland_io::FileError;
use lowland_view::PictureError;

use crate::print::print_stderr;
use crate::terms::FlagTerms;

/// Exit code of a run stopped by Ctrl-C or SIGTERM, as shells expect it.
pub const STOPPED: u8 = 130;
/// Exit code of a failure that is neither the user's nor the input's.
const FAILED: u8 = 1;
const INVALID_FLAG: u8 = 2;
const UNUSABLE_INPUT: u8 = 3;
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

    /// Prints the message and returns the exit code.
    pub fn report(self) -> ExitCode {
        match self {
            Failure::Usage(error) => {
                let _ = error.print();
                ExitCode::from(INVALID_FLAG)
            }
            Failure::ClosedPipe => ExitCode::from(CLOSED_PIPE),
            Failure::Message { code, message } => {
                print_stderr(&format!("error: {message}"));
                ExitCode::from(code)
            }
        }
    }
}

impl From<clap::Error> for Failure {
    fn from(error: clap::Error) -> Self {
        Failure::Usage(error)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let code = match &error {
            Error::Parameter { .. } => INVALID_FLAG,
            Error::Memory { .. } => TOO_LITTLE_MEMORY,
            Error::Stopped { .. } => STOPPED,
            Error::Threads { .. } | Error::Numerical { .. } => FAILED,
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
        if error.kind() == std::io::ErrorKind::BrokenPipe { Failure::ClosedPipe } else { Self::runtime(error) }
    }
}
