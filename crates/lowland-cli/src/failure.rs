//! Failures and their exit codes, a contract for scripts (`lowland --help` lists them).

use std::process::ExitCode;

use lowland::Error;
use lowland_io::FileError;
use lowland_view::PictureError;

/// Stopped by Ctrl-C or SIGTERM, as shells count it.
pub const STOPPED: u8 = 130;

/// What goes to stderr, and the exit code.
pub enum Failure {
    /// A wrong flag or value, shown as clap shows its own.
    Usage(clap::Error),
    /// Whoever read our output has had enough (`| head`): nothing to say, and the exit code a shell expects.
    ClosedPipe,
    /// Anything else, with its exit code.
    Other { code: u8, error: anyhow::Error },
}

impl Failure {
    /// A flag or value that cannot be used.
    pub fn usage(error: clap::Error) -> Self {
        Failure::Usage(error)
    }

    /// A flag that cannot be used here, in words.
    pub fn flag(message: impl std::fmt::Display) -> Self {
        Failure::Other { code: 2, error: anyhow::anyhow!("{message}") }
    }

    /// A file that could not be written.
    pub fn write(error: FileError) -> Self {
        Failure::Other { code: 1, error: error.into() }
    }

    /// The same failure, with the file it came from.
    pub fn within(self, path: &str) -> Self {
        match self {
            Failure::Other { code, error } => Failure::Other { code, error: error.context(path.to_string()) },
            usage => usage,
        }
    }

    /// Says what is wrong and gives the exit code.
    pub fn report(self) -> ExitCode {
        match self {
            Failure::Usage(error) => {
                let _ = error.print();
                ExitCode::from(2)
            }
            Failure::ClosedPipe => ExitCode::from(141),
            Failure::Other { code, error } => {
                crate::observer::say(&format!("error: {}", in_flags(&format!("{error:#}"))));
                ExitCode::from(code)
            }
        }
    }
}

/// The library speaks of parameters; on the command line they are flags.
fn in_flags(text: &str) -> String {
    let words = [
        ("missing = drop", "--missing drop"),
        ("landmarks = ", "--landmarks "),
        ("max_memory", "--max-memory"),
        ("(pca)", "(--pca 50)"),
    ];
    words.iter().fold(text.to_string(), |text, (parameter, flag)| text.replace(parameter, flag))
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let code = match &error {
            Error::Parameter { .. } => 2,
            Error::Memory { .. } => 4,
            Error::Stopped { .. } => STOPPED,
            Error::Threads { .. } | Error::Numerical { .. } => 1,
            _ => 3,
        };
        Failure::Other { code, error: error.into() }
    }
}

impl From<PictureError> for Failure {
    fn from(error: PictureError) -> Self {
        match error {
            PictureError::Data(error) => error.into(),
            error => Failure::Other { code: if error.is_invalid_option() { 2 } else { 3 }, error: error.into() },
        }
    }
}

impl From<FileError> for Failure {
    fn from(error: FileError) -> Self {
        Failure::Other { code: 3, error: error.into() }
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        if error.kind() == std::io::ErrorKind::BrokenPipe {
            return Failure::ClosedPipe;
        }
        Failure::Other { code: 1, error: error.into() }
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Failure::Other { code: 1, error }
    }
}
