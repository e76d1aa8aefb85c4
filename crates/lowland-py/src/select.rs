//! Selection of the numbers of neighbors and dimensions by the bound of lllvm.

use lowland::message::Remedy;
use lowland::method::Method;
use lowland::methods::Lllvm;
use lowland::params::Params;
use lowland::run::{Context, Stage};
use lowland::select::{self, Candidate, SubsampleKind, Subsamples};
use lowland::{MemoryBudget, Seed};
use pyo3::prelude::*;

use crate::error::PyFailure;
use crate::panics::catch_panics;
use crate::rows::Rows;
use crate::watch::{Callbacks, watch};

/// Every candidate as `(n_neighbors, n_components, bounds of every subsample and start)`, the index of the best one, the indices of those that are not
/// clearly worse, and the recommendation as text.
type SelectionTuple = (Vec<(usize, usize, Vec<Vec<f64>>)>, Option<usize>, Vec<usize>, String);

/// Compares candidates by the bound of lllvm. `params` are the parameters of that method.
#[pyfunction]
#[pyo3(signature = (rows, params, n_neighbors, n_components, subsamples, subsample_rows, subsample, *, seed=0, threads=None, max_memory=None))]
pub fn choose(
    py: Python<'_>,
    rows: Rows,
    params: Vec<(String, String)>,
    n_neighbors: Vec<usize>,
    n_components: Vec<usize>,
    subsamples: usize,
    subsample_rows: usize,
    subsample: &str,
    seed: u64,
    threads: Option<usize>,
    max_memory: Option<u64>,
) -> PyResult<SelectionTuple> {
    catch_panics(|| {
        let data = rows.to_data()?;
        drop(rows);
        let (seed, memory) = (Seed(seed), MemoryBudget::new(max_memory.or_else(lowland::available_memory)));
        let kind = SubsampleKind::parse(subsample).map_err(PyFailure::from)?;
        let part = Subsamples { count: subsamples, rows: subsample_rows, kind };
        let output = watch(py, threads, &Callbacks::default(), |watcher| -> Result<Vec<Candidate>, PyFailure> {
            data.check_finite()?;
            let model = lllvm_from_text(&params)?;
            let needed = select::memory(&model, data.shape(), &n_neighbors, &n_components, part);
            let remedies = [Remedy::RaiseMaxMemory, Remedy::FewerRows, Remedy::FewerStarts];
            memory.check("the selection", needed, &remedies)?;
            let mut context = Context::new(watcher, seed, None);
            context.announce_stages(&["neighbors", "bounds"].map(|name| Stage { name, weight: 1.0 }))?;
            Ok(select::by_bound(&data, &model, &n_neighbors, &n_components, part, &mut context)?)
        })?;
        if let Some(error) = output.raised {
            return Err(error);
        }
        let candidates = output.result;
        let text = select::recommendation_text(&candidates);
        let (best, close) =
            select::recommend(&candidates).map_or((None, Vec::new()), |(best, close)| (Some(best), close));
        let list = candidates
            .into_iter()
            .map(|candidate| (candidate.n_neighbors, candidate.n_components, candidate.bounds))
            .collect();
        Ok((list, best, close, text))
    })
}

/// Builds the method from parameter values as text, and validates it.
pub fn lllvm_from_text(values: &[(String, String)]) -> Result<Lllvm, PyFailure> {
    let mut method = Lllvm::default();
    for (name, value) in values {
        method.set(name, value)?;
    }
    method.validate()?;
    Ok(method)
}
