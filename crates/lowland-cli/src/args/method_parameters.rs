//! Flags of the methods' parameters, generated from the library's list of methods.

use clap::{Arg, ArgMatches};
use lowland::method_choice::AUTO;
use lowland::registry::{METHODS, MethodInfo};

use crate::failure::Failure;
use crate::terms::flag_name;

/// Name and value of a parameter, as typed.
pub type ParameterValue = (&'static str, String);

/// One flag per parameter of any method.
pub fn flags() -> Vec<Arg> {
    parameter_names().into_iter().map(parameter_flag).collect()
}

/// Returns the parameters on the command line; fails if one does not belong to the method.
pub fn method_values(matches: &ArgMatches, info: &MethodInfo) -> Result<Vec<ParameterValue>, Failure> {
    let given = given_values(matches);
    check_parameters(&given, &[info])?;
    Ok(given)
}

/// Returns the parameters on the command line that the method has.
pub fn own_values(matches: &ArgMatches, info: &MethodInfo) -> Vec<ParameterValue> {
    given_values(matches).into_iter().filter(|(name, _)| has_parameter(info, name)).collect()
}

/// Returns, for each method, the parameters on the command line that it has; fails if none of them has one.
pub fn values_for_each(matches: &ArgMatches, infos: &[&MethodInfo]) -> Result<Vec<Vec<ParameterValue>>, Failure> {
    let given = given_values(matches);
    check_parameters(&given, infos)?;
    let own = |info: &&MethodInfo| given.iter().filter(|(name, _)| has_parameter(info, name)).cloned().collect();
    Ok(infos.iter().map(own).collect())
}

/// The names of all methods, and the name that stands for the choice of one.
pub fn method_names_with_auto() -> clap::builder::PossibleValuesParser {
    clap::builder::PossibleValuesParser::new(METHODS.iter().map(|info| info.name).chain([AUTO]))
}

/// Returns the parameters on the command line, of whichever method.
pub fn given_values(matches: &ArgMatches) -> Vec<ParameterValue> {
    parameter_names().into_iter().filter_map(|name| Some((name, matches.get_one::<String>(name)?.clone()))).collect()
}

/// The names of all methods.
pub fn method_names() -> clap::builder::PossibleValuesParser {
    clap::builder::PossibleValuesParser::new(METHODS.iter().map(|info| info.name))
}

fn check_parameters(given: &[ParameterValue], infos: &[&MethodInfo]) -> Result<(), Failure> {
    let Some((name, _)) = given.iter().find(|(name, _)| !infos.iter().any(|info| has_parameter(info, name))) else {
        return Ok(());
    };
    let others: Vec<&str> = methods_with(name).map(|other| other.name).collect();
    let requested: Vec<&str> = infos.iter().map(|info| info.name).collect();
    Err(Failure::flag(format!(
        "--{} is not a parameter of {}; it belongs to {}",
        flag_name(name),
        requested.join(", "),
        others.join(", ")
    )))
}

fn has_parameter(info: &MethodInfo, name: &str) -> bool {
    info.params().iter().any(|spec| spec.name == name)
}

/// The methods that have a parameter.
fn methods_with(name: &str) -> impl Iterator<Item = &'static MethodInfo> + '_ {
    METHODS.iter().filter(move |info| has_parameter(info, name))
}

/// Parameter names of all methods, each once, in the order in which the methods list them.
fn parameter_names() -> Vec<&'static str> {
    let mut names: Vec<&str> = Vec::new();
    for spec in METHODS.iter().flat_map(MethodInfo::params) {
        if !names.contains(&spec.name) {
            names.push(spec.name);
        }
    }
    names
}

fn parameter_flag(name: &'static str) -> Arg {
    let specs: Vec<_> = methods_with(name)
        .map(|info| (info.name, info.params().into_iter().find(|spec| spec.name == name).expect("it has it")))
        .collect();
    let defaults: Vec<&str> = specs.iter().map(|(_, spec)| spec.default.as_str()).collect();
    let default = if defaults.iter().all(|default| *default == defaults[0]) {
        defaults[0].to_string()
    } else {
        specs.iter().map(|(method, spec)| format!("{method} {}", spec.default)).collect::<Vec<_>>().join(", ")
    };
    let methods = if specs.len() == METHODS.len() {
        String::new()
    } else {
        format!(" ({})", specs.iter().map(|(method, _)| *method).collect::<Vec<_>>().join(", "))
    };
    let spec = &specs[0].1;
    Arg::new(name)
        .long(flag_name(name))
        .value_name("VALUE")
        .help(format!("{}{methods} [default: {default}]", spec.help.trim_end_matches('.')))
        .long_help(format!("{} Takes: {}{methods} [default: {default}]", spec.help, spec.expects))
        .help_heading("Method parameters")
        .allow_hyphen_values(true)
}
