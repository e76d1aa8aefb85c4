//! The choice of a method.

use lowland::method_choice::{ChoiceOptions, MethodChoice, SkipReason, choose_method as choose};
use lowland::params::Params;
use lowland::preprocessing::Preprocessing;
use lowland::{MemoryBudget, Seed};
use pyo3::prelude::*;

use crate::error::{PyFailure, PythonTerms};
use crate::panics::catch_panics;
use crate::rows::Rows;
use crate::watch::{Callbacks, watch};

/// The chosen method and the reason; every method as `(name, neighbors kept, held-out rows placed, global order)`; the methods that were
/// not compared as `(name, reason)`.
type ChoiceTuple = (&'static str, String, Vec<(&'static str, f64, f64, f64)>, Vec<(&'static str, String)>);

/// Compares a few methods on a part of the rows. `params` are parameters of any of them as text.
#[pyfunction]
#[pyo3(signature = (rows, params, *, preprocessing=Vec::new(), uses_neighbors=false, seed=0, threads=None, max_memory=None))]
pub fn choose_method(
    py: Python<'_>,
    rows: Rows,
    params: Vec<(String, String)>,
    preprocessing: Vec<(String, String)>,
    uses_neighbors: bool,
    seed: u64,
    threads: Option<usize>,
    max_memory: Option<u64>,
) -> PyResult<ChoiceTuple> {
    catch_panics(|| {
        let mut steps = Preprocessing::default();
        for (name, text) in &preprocessing {
            steps.set(name, text).map_err(PyFailure::from)?;
        }
        let data = rows.to_data()?;
        drop(rows);
        let values: Vec<(&str, &str)> = params.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        let output = watch(py, threads, &Callbacks::default(), |watcher| {
            let options = ChoiceOptions {
                seed: Seed(seed),
                preprocessing: steps,
                uses_neighbors,
                memory: MemoryBudget::new(max_memory.or_else(lowland::available_memory)),
                observer: Some(watcher),
            };
            Ok(choose(&data, &values, options)?)
        })?;
        if let Some(error) = output.raised {
            return Err(error);
        }
        let choice = output.result;
        let (method, reason) = (choice.method, choice.reason());
        let MethodChoice { scores, skipped, .. } = choice;
        let skipped = skipped.into_iter().map(|each| (each.method, skip_reason(&each.reason)));
        let scores = scores.into_iter().map(|each| (each.method, each.kept, each.placed, each.order));
        Ok((method, reason, scores.collect(), skipped.collect()))
    })
}

fn skip_reason(reason: &SkipReason) -> String {
    match reason {
        SkipReason::TooManyRows(rows) => format!("it takes too long for more than {rows} rows"),
        SkipReason::NoNeighbors => "it does not use neighbors".into(),
        SkipReason::Failed(error) => error.describe(&PythonTerms),
    }
}
