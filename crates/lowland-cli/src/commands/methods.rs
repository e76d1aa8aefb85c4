//! `lowland methods` and `lowland completions`.

use std::fmt::Write as _;
use std::io::Write;
use std::process::ExitCode;

use lowland::methods::{DEFAULT_METHOD, METHODS, MethodInfo};
use lowland::params::{ParamSpec, Params};
use lowland::prepare::Prepare;
use serde_json::{Value, json};

use crate::args::{command, dashes};
use crate::failure::Failure;

/// Lists all methods, or describes one of them with its parameters.
pub fn methods(name: Option<&str>, as_json: bool) -> Result<ExitCode, Failure> {
    let method = name.map(MethodInfo::find).transpose()?;
    let text = match method {
        _ if as_json => format!("{:#}\n", document(method)),
        None => list_text(),
        Some(info) => method_text(info),
    };
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// All methods, or one of them, and the preprocessing steps. The Python estimators are generated from it.
fn document(method: Option<&MethodInfo>) -> Value {
    let methods: Vec<Value> = match method {
        Some(info) => vec![method_json(info)],
        None => METHODS.iter().map(method_json).collect(),
    };
    let preprocessing: Vec<Value> = Prepare::specs().iter().map(parameter_json).collect();
    json!({ "methods": methods, "preprocessing": preprocessing })
}

fn list_text() -> String {
    let mut text = String::new();
    for info in METHODS {
        let default = if info.name == DEFAULT_METHOD { " (the default)" } else { "" };
        let _ = writeln!(text, "{}{default}: {}\n    {}\n", info.name, info.summary, info.advice);
    }
    text.push_str("`lowland methods NAME` shows a method's parameters.\n");
    text
}

fn method_text(info: &MethodInfo) -> String {
    let mut text = format!("{}: {}\n{}\n\n", info.name, info.summary, info.advice);
    for spec in info.params() {
        let _ = writeln!(text, "--{} [default: {}]", dashes(spec.name), spec.default);
        let _ = writeln!(text, "    {} Takes {}.", spec.help, spec.expects);
    }
    text
}

fn method_json(info: &MethodInfo) -> Value {
    let traits = traits(info.name);
    let gives_std = info.build(&[]).is_ok_and(|method| method.gives_std());
    json!({
        "name": info.name,
        "class_name": traits.class_name,
        "is_default": info.name == DEFAULT_METHOD,
        "summary": info.summary,
        "advice": info.advice,
        "notes": traits.notes,
        "objective": traits.objective,
        "reports_iterations": traits.reports_iterations,
        "gives_std": gives_std,
        "has_inverse": traits.has_inverse,
        "has_likelihood": traits.has_likelihood,
        "parameters": info.params().iter().map(parameter_json).collect::<Vec<_>>(),
    })
}

fn parameter_json(spec: &ParamSpec) -> Value {
    json!({ "name": spec.name, "default": spec.default, "help": spec.help, "expects": spec.expects })
}

/// Properties of a method that do not follow from its parameters.
struct MethodTraits {
    /// Name of the Python class.
    class_name: &'static str,
    /// What users of the model should know beyond the summary and the advice.
    notes: &'static str,
    /// Name of the objective, if it has a common one.
    objective: Option<&'static str>,
    /// Whether a fit reports an embedding after each iteration.
    reports_iterations: bool,
    /// Whether the model maps points of the embedding back to rows.
    has_inverse: bool,
    /// Whether the model computes the likelihood of a row.
    has_likelihood: bool,
}

const DIRECT: MethodTraits = MethodTraits {
    class_name: "",
    notes: "",
    objective: None,
    reports_iterations: false,
    has_inverse: false,
    has_likelihood: false,
};
const ITERATIVE: MethodTraits = MethodTraits { reports_iterations: true, ..DIRECT };
const LATENT: MethodTraits =
    MethodTraits { objective: Some("lower_bound"), has_inverse: true, has_likelihood: true, ..ITERATIVE };
const DIVERGENCE: MethodTraits = MethodTraits { objective: Some("kl_divergence"), ..ITERATIVE };

const LVM_NOTES: &str = "The likelihood of a row is the likelihood of its relations to its neighbors, given its distances to them: how \
    well the embedding keeps near rows near and the others apart. Use it to compare embeddings of the same rows (numbers of neighbors or \
    of dimensions). It is not a density of the rows and does not detect outliers: a row far from all others has few relations to keep \
    and a wide scale of its own, and may score higher than an ordinary row. To find outliers, use the standard deviation of the \
    transformed rows.";

const TSNE_NOTES: &str = "The gradient includes the factor 4 of the original paper, as in scikit-learn. openTSNE and FIt-SNE omit it, so \
    their learning rates are four times larger than those used here.";

fn traits(method: &str) -> MethodTraits {
    match method {
        "lvm" => MethodTraits { class_name: "LVM", notes: LVM_NOTES, ..LATENT },
        "lllvm" => MethodTraits { class_name: "LLLVM", has_likelihood: false, ..LATENT },
        "gplvm" => MethodTraits { class_name: "GPLVM", ..LATENT },
        "tsne" => MethodTraits { class_name: "TSNE", notes: TSNE_NOTES, ..DIVERGENCE },
        "ssne" => MethodTraits { class_name: "SymmetricSNE", ..DIVERGENCE },
        "ee" => MethodTraits { class_name: "ElasticEmbedding", ..ITERATIVE },
        "mapit" => MethodTraits { class_name: "MapIt", ..ITERATIVE },
        "tsm" => MethodTraits { class_name: "TSM", ..ITERATIVE },
        "spectral" => MethodTraits { class_name: "SpectralEmbedding", ..ITERATIVE },
        "isomap" => MethodTraits { class_name: "Isomap", ..DIRECT },
        "lle" => MethodTraits { class_name: "LocallyLinearEmbedding", ..DIRECT },
        "ltsa" => MethodTraits { class_name: "LTSA", ..DIRECT },
        "pca" => MethodTraits { class_name: "PCA", ..DIRECT },
        "svd" => MethodTraits { class_name: "TruncatedSVD", ..DIRECT },
        _ => DIRECT,
    }
}

/// Prints a completion script.
pub fn completions(shell: clap_complete::Shell) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command(), "lowland", &mut script);
    std::io::stdout().write_all(&script)?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_method_has_a_class_name_of_its_own() {
        let mut names: Vec<&str> = METHODS.iter().map(|info| traits(info.name).class_name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), METHODS.len());
        assert!(!names.contains(&""));
    }
    #[test]
    fn the_document_describes_methods_parameters_and_preprocessing() {
        let all = document(None);
        assert_eq!(all["methods"].as_array().map(Vec::len), Some(METHODS.len()));
        let only_tsne = document(Some(MethodInfo::find("tsne").unwrap()));
        let tsne = &only_tsne["methods"][0];
        assert_eq!((&tsne["class_name"], &tsne["gives_std"]), (&"TSNE".into(), &false.into()));
        assert_eq!(tsne["parameters"][1]["name"], "perplexity");
        assert_eq!(tsne["parameters"][1]["default"], "30");
        assert_eq!(only_tsne["preprocessing"][0]["name"], "log1p");
    }
}
