//! `lowland methods` and `lowland completions`.

use std::fmt::Write as _;
use std::process::ExitCode;

use lowland::params::{ParamSpec, Params};
use lowland::preprocessing::Preprocessing;
use lowland::registry::{DEFAULT_METHOD, METHODS, MethodInfo};
use serde_json::{Value, json};

use crate::args::command;
use crate::failure::Failure;
use crate::print::{print_data, print_stdout};
use crate::terms::flag_name;

/// Lists all methods, or describes one of them with its parameters.
pub fn methods(name: Option<&str>, as_json: bool) -> Result<ExitCode, Failure> {
    let method = name.map(MethodInfo::find).transpose()?;
    let text = match method {
        _ if as_json => format!("{:#}\n", methods_json(method)),
        None => list_text(),
        Some(info) => method_text(info),
    };
    print_stdout(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// All methods, or one of them, and the preprocessing steps. The Python estimators are generated from it.
fn methods_json(method: Option<&MethodInfo>) -> Value {
    let methods: Vec<Value> = match method {
        Some(info) => vec![method_json(info)],
        None => METHODS.iter().map(method_json).collect(),
    };
    let preprocessing: Vec<Value> = Preprocessing::specs().iter().map(parameter_json).collect();
    json!({ "methods": methods, "preprocessing": preprocessing })
}

fn list_text() -> String {
    let mut text = String::new();
    for info in METHODS {
        let default = if info.name == DEFAULT_METHOD { " (the default)" } else { "" };
        let _ = writeln!(text, "{}{default}: {}\n    {}\n", info.name, info.summary, info.advice);
    }
    text.push_str("auto: compares tsne, lvm, spectral, isomap and pca on a part of the rows, and takes the best.\n\n");
    text.push_str("`lowland methods NAME` shows the parameters of a method.\n");
    text
}

fn method_text(info: &MethodInfo) -> String {
    let mut text = format!("{}: {}\n{}\n\n", info.name, info.summary, info.advice);
    for spec in info.params() {
        let _ = writeln!(text, "--{} [default: {}]", flag_name(spec.name), spec.default);
        let _ = writeln!(text, "    {} Takes {}.", spec.help, spec.expects);
    }
    text
}

fn method_json(info: &MethodInfo) -> Value {
    json!({
        "name": info.name,
        "class_name": info.class_name,
        "is_default": info.name == DEFAULT_METHOD,
        "summary": info.summary,
        "advice": info.advice,
        "notes": info.notes,
        "objective": info.objective,
        "reports_iterations": info.reports_iterations,
        "gives_std": info.has_std,
        "has_inverse": info.has_inverse,
        "has_likelihood": info.has_likelihood,
        "has_covariances": info.has_covariances,
        "has_samples": info.has_samples,
        "parameters": info.params().iter().map(parameter_json).collect::<Vec<_>>(),
    })
}

fn parameter_json(spec: &ParamSpec) -> Value {
    json!({ "name": spec.name, "default": spec.default, "help": spec.help, "expects": spec.expects })
}

/// Prints a completion script.
pub fn completions(shell: clap_complete::Shell) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command(), "lowland", &mut script);
    print_data(&script)?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_method_has_a_class_name_of_its_own() {
        let mut names: Vec<&str> = METHODS.iter().map(|info| info.class_name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), METHODS.len());
        assert!(!names.contains(&""));
    }

    #[test]
    fn the_json_describes_methods_parameters_and_preprocessing() {
        let all = methods_json(None);
        assert_eq!(all["methods"].as_array().map(Vec::len), Some(METHODS.len()));
        let only_tsne = methods_json(Some(MethodInfo::find("tsne").unwrap()));
        let tsne = &only_tsne["methods"][0];
        assert_eq!((&tsne["class_name"], &tsne["gives_std"]), (&"TSNE".into(), &false.into()));
        assert_eq!(tsne["parameters"][1]["name"], "perplexity");
        assert_eq!(tsne["parameters"][1]["default"], "30");
        assert_eq!(only_tsne["preprocessing"][0]["name"], "log1p");
    }
}
