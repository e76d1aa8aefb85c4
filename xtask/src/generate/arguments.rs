//! Parameters of the estimator classes.

use anyhow::{Context, Result};

use super::description::{MethodDescription, ParameterDescription};
use super::text::{PythonType, identifier, sentence};

/// A parameter of a Python class.
pub struct Argument {
    /// Name in Python.
    pub name: String,
    /// Type annotation.
    pub annotation: String,
    /// Type in the docstring.
    pub documented: String,
    /// Default value as a literal.
    pub default: String,
    /// Description.
    pub help: String,
}

impl Argument {
    /// The parameters of the class of a method: those of the method, each followed by what Python adds to it, then those of a run.
    pub fn all(method: &MethodDescription) -> Result<Vec<Self>> {
        let mut arguments = Vec::new();
        for parameter in &method.parameters {
            arguments.push(Self::from_parameter(parameter)?);
            match parameter.name.as_str() {
                "metric" => arguments.push(Self::metric_params()),
                "search" => {
                    arguments.push(Self::neighbors());
                    if method.name == "umap" {
                        arguments.push(Self::precomputed_knn());
                    }
                }
                _ => {}
            }
        }
        arguments.extend(Self::of_run(method.reports_iterations));
        Ok(arguments)
    }

    fn new(name: &str, annotation: &str, documented: &str, default: &str, help: &str) -> Self {
        let [annotation, documented, default, help] = [annotation, documented, default, help].map(String::from);
        Self { name: identifier(name), annotation, documented, default, help }
    }

    fn from_parameter(parameter: &ParameterDescription) -> Result<Self> {
        let kind = PythonType::from_description(&parameter.expects).with_context(|| parameter.name.clone())?;
        let (default, help) = (kind.literal(&parameter.default), sentence(&parameter.help));
        let mut argument = Self::new(&parameter.name, &kind.annotation, &kind.documented, &default, &help);
        if argument.name != parameter.name {
            argument.help += &format!(" It is called ``{}`` on the command line.", parameter.name);
        }
        if parameter.name == "init" {
            argument.annotation += " | ArrayLike";
            argument.documented += " or array-like";
            argument.help += " An array of shape (n_samples, n_components) is the initial embedding itself.";
        }
        if parameter.name == "metric" {
            let names = parameter.expects.trim_start_matches("a metric: ");
            argument.help += &format!(
                " One of {names}. A function of two rows is called for every pair, which is slow; models that were saved with one take \
                 distances to the training rows when they are loaded."
            );
        }
        Ok(argument)
    }

    fn metric_params() -> Self {
        let help = "Parameters of the metric, such as ``{'p': 3}`` for ``'minkowski'``.";
        Self::new("metric_params", "dict[str, Any] | None", "dict", "None", help)
    }

    fn neighbors() -> Self {
        let help = "Precomputed nearest neighbors of the rows, which saves the search: a :class:`NeighborGraph`, a sparse matrix of \
            distances, or a pair of arrays (indices, distances). If ``metric`` has its default value, the metric of the graph is used. \
            With preprocessing, the graph must be that of the preprocessed rows.";
        let documented = "NeighborGraph, sparse matrix or pair of arrays";
        Self::new("neighbors", "Any", documented, "None", help)
    }

    fn precomputed_knn() -> Self {
        let help = "The same as ``neighbors``, under umap-learn's name: a tuple (indices, distances) or (indices, distances, search index), in \
            which rows may be their own neighbors, or a :class:`NeighborGraph`. The search index has no effect: new rows are placed without it.";
        Self::new("precomputed_knn", "Any", "tuple or NeighborGraph", "None", help)
    }

    /// Parameters that say how to run a fit and not what to compute.
    fn of_run(with_callbacks: bool) -> Vec<Self> {
        let mut arguments = vec![
            Self::new(
                "missing",
                "Literal[\"refuse\", \"drop\"]",
                "{'refuse', 'drop'}",
                "\"refuse\"",
                "Rows with NaN or infinite values: an error that names the first, or left out of the fit, with NaN for their positions.",
            ),
            Self::new(
                "n_jobs",
                "int | None",
                "int",
                "None",
                "Number of threads. -1 means all cores; None too, within the limits of joblib and OMP_NUM_THREADS. The result does not depend on it.",
            ),
            Self::new(
                "device",
                "str",
                "{'auto', 'cpu', 'cuda'} or 'cuda:N'",
                "\"auto\"",
                "Where to compute: on an NVIDIA card where that is faster and there is one, on the processor, or on a card. See :func:`lowland.devices`.",
            ),
            Self::new(
                "random_state",
                "Any",
                "int, RandomState instance or Generator",
                "None",
                "Seed of the random number generator. None means the seed 0, so that runs are reproducible by default.",
            ),
            Self::new(
                "verbose",
                "int",
                "int",
                "0",
                "If positive, progress is shown on stderr, with tqdm where it is installed.",
            ),
        ];
        if with_callbacks {
            arguments.push(Self::new(
                "callbacks",
                "Callable[[int, float, Any], Any] | Sequence[Callable[[int, float, Any], Any]] | None",
                "callable or list of callables",
                "None",
                "Functions called as ``callback(iteration, error, embedding)``. If any of them returns True, the fit stops and keeps \
                 the current embedding.",
            ));
            arguments.push(Self::new(
                "callbacks_every_iters",
                "int",
                "int",
                "50",
                "Number of iterations between two calls of the callbacks.",
            ));
        }
        arguments.push(Self::new(
            "max_memory",
            "float | None",
            "int",
            "None",
            "Memory limit in bytes. A fit that would exceed it raises a MemoryError before the work begins. None means the available \
             memory.",
        ));
        arguments
    }
}
