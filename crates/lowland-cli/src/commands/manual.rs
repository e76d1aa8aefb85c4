//! The manual: the definitions of the commands and flags as man pages or as one page in Markdown.

use std::fmt::Write;
use std::path::Path;
use std::process::ExitCode;

use clap::{Arg, Command, CommandFactory};

use crate::args::{Cli, ManualFormat, command};
use crate::failure::Failure;
use crate::print::{print_data, print_stdout};

/// Prints the manual, or writes its man pages into a folder.
pub fn manual(format: ManualFormat, out: Option<&Path>) -> Result<ExitCode, Failure> {
    let mut program = command();
    program.build();
    match (format, out) {
        (ManualFormat::Man, Some(folder)) => write_man_pages(&program, folder)?,
        (ManualFormat::Man, None) => print_data(&man_page(&program)?)?,
        (ManualFormat::Markdown, None) => print_stdout(&markdown(&program))?,
        (ManualFormat::Markdown, Some(_)) => {
            return Err(Failure::flag("--out is a folder for man pages; Markdown is one page, printed to stdout"));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Commands with pages of their own, in the order of their declaration.
fn documented(program: &Command) -> Vec<&Command> {
    let is_shown = |command: &&Command| command.get_name() != "help" && !command.is_hide_set();
    let mut commands: Vec<&Command> = program.get_subcommands().filter(is_shown).collect();
    let declared = Cli::command();
    commands.sort_by_key(|command| declared.get_subcommands().position(|other| other.get_name() == command.get_name()));
    commands
}

fn write_man_pages(program: &Command, folder: &Path) -> Result<(), Failure> {
    for page in std::iter::once(program).chain(documented(program)) {
        let path = folder.join(format!("{}.1", page.get_display_name().unwrap_or(page.get_name())));
        lowland_io::write_bytes(&path, &man_page(page)?).map_err(Failure::write)?;
    }
    Ok(())
}

fn man_page(page: &Command) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    clap_mangen::Man::new(page.clone()).render(&mut bytes).map_err(|error| Failure::runtime(error.to_string()))?;
    Ok(bytes)
}

/// All commands as one page, with a section for each.
fn markdown(program: &Command) -> String {
    let mut text = String::from("# Commands and flags\n\n");
    text.push_str("Generated from the program's own definitions (`lowland manual --format markdown`). ");
    text.push_str("[The command line](../guide/command-line.md) explains formats, columns and exit codes.\n\n");
    text.push_str("| Command | What it does |\n|---|---|\n");
    for command in documented(program) {
        let name = command.get_name();
        writeln!(text, "| [`{name}`](#{name}) | {} |", cell(&about(command))).expect("writing to a string");
    }
    for command in documented(program) {
        section(&mut text, command, 2);
    }
    text.trim_end().to_string() + "\n"
}

fn about(command: &Command) -> String {
    command.get_about().map(ToString::to_string).unwrap_or_default()
}

fn section(text: &mut String, command: &Command, level: usize) {
    let names = command.get_bin_name().unwrap_or(command.get_name()).trim_start_matches("lowland ").to_string();
    let usage = command.clone().render_usage().to_string();
    write!(text, "\n{} {names}\n\n{}.\n\n", "#".repeat(level), about(command)).expect("writing to a string");
    writeln!(text, "```text\n{}\n```", usage.trim_start_matches("Usage: ")).expect("writing to a string");
    let shown: Vec<&Arg> = command.get_arguments().filter(|arg| !arg.is_hide_set() && arg.get_id() != "help").collect();
    let mut headings: Vec<Option<&str>> = Vec::new();
    for arg in &shown {
        if !headings.contains(&arg.get_help_heading()) {
            headings.push(arg.get_help_heading());
        }
    }
    for heading in headings {
        let title = heading.unwrap_or("Arguments and options");
        write!(text, "\n**{title}**\n\n| Flag | Meaning |\n|---|---|\n").expect("writing to a string");
        for arg in shown.iter().filter(|arg| arg.get_help_heading() == heading) {
            writeln!(text, "| {} | {} |", flag(arg), cell(&meaning(arg))).expect("writing to a string");
        }
    }
    if let Some(after) = command.get_after_help() {
        writeln!(text, "\n```text\n{after}\n```").expect("writing to a string");
    }
    for nested in documented(command) {
        section(text, nested, level + 1);
    }
}

/// How an argument is written: `--seed VALUE`, `-o`, `DATA`.
fn flag(arg: &Arg) -> String {
    let takes_value = arg.get_action().takes_values();
    let values: Vec<String> = arg.get_value_names().unwrap_or_default().iter().map(ToString::to_string).collect();
    let values = values.join(" ");
    let names: Vec<String> =
        [arg.get_short().map(|short| format!("-{short}")), arg.get_long().map(|long| format!("--{long}"))]
            .into_iter()
            .flatten()
            .collect();
    let text = match (names.is_empty(), takes_value) {
        (true, _) => values,
        (false, true) => format!("{} {values}", names.join(", ")),
        (false, false) => names.join(", "),
    };
    format!("`{}`", text.trim_end().replace('|', "\\|"))
}

/// The help of an argument with its values and its default.
fn meaning(arg: &Arg) -> String {
    let mut text = arg.get_long_help().or(arg.get_help()).map(ToString::to_string).unwrap_or_default();
    let values: Vec<String> = arg
        .get_possible_values()
        .iter()
        .filter(|value| !value.is_hide_set())
        .map(|value| format!("`{}`", value.get_name()))
        .collect();
    if arg.get_action().takes_values() && !values.is_empty() && !arg.is_hide_possible_values_set() {
        write!(text, " Values: {}.", values.join(", ")).expect("writing to a string");
    }
    let defaults: Vec<String> =
        arg.get_default_values().iter().map(|value| value.to_string_lossy().into_owned()).collect();
    if arg.get_action().takes_values() && !defaults.is_empty() && !arg.is_hide_default_value_set() {
        write!(text, " Default: `{}`.", defaults.join(" ")).expect("writing to a string");
    }
    text
}

/// Text for a cell of a table.
fn cell(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_markdown_names_every_command_and_every_flag() {
        let mut program = command();
        program.build();
        let text = markdown(&program);
        for command in documented(&program) {
            assert!(text.contains(&format!("\n## {}\n", command.get_name())), "{}", command.get_name());
            for arg in command.get_arguments().filter(|arg| !arg.is_hide_set() && arg.get_id() != "help") {
                assert!(text.contains(&format!("| {} |", flag(arg))), "{} {}", command.get_name(), arg.get_id());
            }
        }
        // Every row of a table has two cells.
        for line in text.lines().filter(|line| line.starts_with('|')) {
            assert_eq!(line.replace("\\|", "").matches('|').count(), 3, "{line}");
        }
    }

    #[test]
    fn there_is_a_man_page_for_every_command() {
        let folder = tempfile::tempdir().unwrap();
        assert!(manual(ManualFormat::Man, Some(folder.path())).is_ok());
        let mut program = command();
        program.build();
        let page = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
        for command in documented(&program) {
            assert!(page(&format!("lowland-{}.1", command.get_name())).contains(".SH OPTIONS"));
        }
        assert!(page("lowland.1").contains("lowland\\-embed(1)"));
    }
}
