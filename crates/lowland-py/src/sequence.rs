//! Maps of a sequence of data sets.

use lowland::growth::SharedRow;
use lowland::params::Params;
use lowland::params::parse;
use lowland::preprocessing::Preprocessing;
use lowland::registry::{MethodInfo, ParsedMethod};
use lowland::sequence::{self, SequenceOptions};
use lowland::{Data, Error, MemoryBudget, Seed};
use pyo3::prelude::*;

use crate::error::PyFailure;
use crate::model::PyModel;
use crate::panics::catch_panics;
use crate::rows::Rows;
use crate::watch::{Callbacks, WatchOutput, watch};

/// Fits a map to each of several data sets. `shared` has, for each of them but the first, the pairs of its rows and those of the data
/// set before that they are.
#[pyfunction]
#[pyo3(signature = (
    method, params, slices, shared, anchor, passes, *, preprocessing=Vec::new(), seed=0, threads=None, max_memory=None,
    feature_names=Vec::new(), on_progress=None, on_note=None
))]
pub fn fit_sequence<'py>(
    py: Python<'py>,
    method: &str,
    params: Vec<(String, String)>,
    slices: Vec<Rows<'py>>,
    shared: Vec<Vec<SharedRow>>,
    anchor: &str,
    passes: usize,
    preprocessing: Vec<(String, String)>,
    seed: u64,
    threads: Option<usize>,
    max_memory: Option<u64>,
    feature_names: Vec<String>,
    on_progress: Option<Bound<'py, PyAny>>,
    on_note: Option<Bound<'py, PyAny>>,
) -> PyResult<Vec<PyModel>> {
    catch_panics(|| {
        let params: Vec<(&str, &str)> = params.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        let ParsedMethod { method, landmarks } =
            MethodInfo::find(method).and_then(|info| info.parse(&params)).map_err(PyFailure::from)?;
        if let Some(count) = landmarks {
            let allowed = "0 in a sequence, all of whose rows are fitted".into();
            return Err(
                PyFailure::from(Error::Parameter { name: "landmarks", value: count.to_string(), allowed }).into()
            );
        }
        let mut steps = Preprocessing::default();
        for (name, text) in &preprocessing {
            steps.set(name, text).map_err(PyFailure::from)?;
        }
        let anchor = parse("anchor", anchor).map_err(PyFailure::from)?;
        let data = slices.iter().map(Rows::to_data).collect::<PyResult<Vec<Data>>>()?;
        drop(slices);
        let callbacks = Callbacks { on_progress, on_note, ..Callbacks::default() };
        let WatchOutput { result, raised } = watch(py, threads, &callbacks, |watcher| {
            let options = SequenceOptions {
                anchor,
                passes,
                preprocessing: steps,
                seed: Seed(seed),
                feature_names,
                observer: Some(watcher),
                memory: MemoryBudget::new(max_memory.or_else(lowland::available_memory)),
            };
            let slices: Vec<&Data> = data.iter().collect();
            Ok(sequence::fit_sequence(method.as_ref(), &slices, &shared, options)?)
        })?;
        raised.map_or(Ok(()), Err)?;
        Ok(result.into_iter().map(|inner| PyModel { inner }).collect())
    })
}
