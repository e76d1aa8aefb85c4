//! `lowland methods` and `lowland completions`.

use std::fmt::Write as _;
use std::io::Write;
use std::process::ExitCode;

use lowland::registry::{DEFAULT_METHOD, METHODS, MethodInfo};

use crate::args::command;
use crate::failure::Failure;
use crate::print::print_stdout;
use crate::terms::flag_name;

pub fn methods(name: Option<&str>) -> Result<ExitCode, Failure> {
    let mut text = String::new();
    match name {
        None => {
            for info in METHODS {
                let default = if info.name == DEFAULT_METHOD { " (the default)" } else { "" };
                let _ = writeln!(text, "{}{default}: {}\n    {}\n", info.name, info.summary, info.advice);
            }
            text.push_str("`lowland methods NAME` shows the parameters of a method.\n");
        }
        Some(name) => {
            let info = MethodInfo::find(name)?;
            let _ = writeln!(text, "{}: {}\n{}\n", info.name, info.summary, info.advice);
            for spec in info.params() {
                let _ = writeln!(text, "--{} [default: {}]", flag_name(spec.name), spec.default);
                let _ = writeln!(text, "    {} Takes {}.", spec.help, spec.expects);
            }
        }
    }
    print_stdout(&text)?;
    Ok(ExitCode::SUCCESS)
}

pub fn completions(shell: clap_complete::Shell) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command(), "lowland", &mut script);
    std::io::stdout().write_all(&script)?;
    Ok(ExitCode::SUCCESS)
}
