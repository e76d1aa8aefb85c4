//! What fuzz targets call: the parsers of everything that the command line takes from outside, without running anything.

use std::cell::RefCell;
use std::ffi::OsString;

use lowland::registry::MethodInfo;

use crate::args::{Command, command, method_values, values_for_each};
use crate::failure::Failure;
use crate::live::answer_request;

thread_local! {
    /// Building the command takes longer than parsing arguments with it.
    static COMMAND: RefCell<clap::Command> = RefCell::new(command());
}

/// Parses arguments, the name of the program first, up to the values of the method's parameters. Returns whether they are
/// valid.
pub fn command_line(arguments: &[OsString]) -> bool {
    COMMAND.with_borrow_mut(|command| check_arguments(command, arguments)).is_ok()
}

fn check_arguments(command: &mut clap::Command, arguments: &[OsString]) -> Result<(), Failure> {
    let (command, matches) = crate::parse(command, arguments)?;
    let matches = matches.subcommand().expect("a subcommand is required").1;
    let parse_values = |info: &MethodInfo, values: &[(&str, String)]| {
        let values: Vec<(&str, &str)> = values.iter().map(|(name, text)| (*name, text.as_str())).collect();
        info.parse(&values)?.method.validate()
    };
    match &command {
        Command::Embed(args) => {
            let info = MethodInfo::find(&args.method)?;
            parse_values(info, &method_values(matches, info)?)?;
        }
        Command::Compare(args) => {
            let infos = args.methods.iter().map(|name| MethodInfo::find(name)).collect::<Result<Vec<_>, _>>()?;
            for (info, values) in infos.iter().zip(values_for_each(matches, &infos)?) {
                parse_values(info, &values)?;
            }
        }
        _ => {}
    }
    command.threads();
    Ok(())
}

/// Answers a request to the live page. Returns whether it was served: `{port}` and `{token}` stand for those of the page.
pub fn live_request(request: &str) -> bool {
    let answer = answer_request(request).expect("writing to memory does not fail");
    assert!(answer.starts_with(b"HTTP/1.1 "), "no status line");
    answer.starts_with(b"HTTP/1.1 2")
}
