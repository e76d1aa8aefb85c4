//! Selection of the numbers of neighbors and dimensions by the bound of lllvm.

use lowland::message::Remedy;
use lowland::method::Method;
use lowland::methods::Lllvm;
use lowland::params::Params;
use lowland::run::{Context, Stage};
use lowland::select::{self, Candidate};
use lowland::{Error, Seed};
use pyo3::prelude::*;

use crate::error::PyFailure;
use crate::rows::Rows;
use crate::watch::{Callbacks, watch};

/// Every candidate as `(n_neighbors, n_components, values)`, the index of the best one, the indices of those that are not
/// clearly worse, and the recommendation as text.
type SelectionTuple = (Vec<(usize, usize, Vec<f64>)>, Option<usize>, Vec<usize>, String);

/// Compares candidates by the bound of lllvm. `params` are the parameters of that method.
#[pyfunction]
#[pyo3(signature = (rows, params, n_neighbors, n_components, *, seed=0, threads=None, max_memory=None))]
pub fn choose(
    py: Python<'_>,
    rows: Rows,
    params: Vec<(String, String)>,
    n_neighbors: Vec<usize>,
    n_components: Vec<usize>,
    seed: u64,
    threads: Option<usize>,
    max_memory: Option<u64>,
) -> PyResult<SelectionTuple> {
    let data = rows.to_data()?;
    drop(rows);
    let seed = Seed(seed);
    let output = watch(py, threads, &Callbacks::default(), |watcher| -> Result<Vec<Candidate>, PyFailure> {
        data.check_finite()?;
        let model = from_text(&params)?;
        let needed = select::memory(&model, data.shape(), &n_neighbors, &n_components);
        if let Some(limit) = max_memory.or_else(lowland_io::available_memory).filter(|&limit| needed > limit) {
            let remedies = vec![Remedy::RaiseMaxMemory, Remedy::FewerRows, Remedy::FewerStarts];
            return Err(Error::Memory { what: "the selection".into(), needed, limit, remedies }.into());
        }
        let mut context = Context::new(watcher, seed, None);
        context.announce_stages(&["neighbors", "bounds"].map(|name| Stage { name, weight: 1.0 }))?;
        Ok(select::by_bound(&data, &model, &n_neighbors, &n_components, &mut context)?)
    })?;
    if let Some(error) = output.raised {
        return Err(error);
    }
    let candidates = output.result;
    let text = select::recommendation_text(&candidates);
    let (best, close) = select::recommend(&candidates).map_or((None, Vec::new()), |(best, close)| (Some(best), close));
    let list = candidates
        .into_iter()
        .map(|candidate| (candidate.n_neighbors, candidate.n_components, candidate.values))
        .collect();
    Ok((list, best, close, text))
}

/// Builds the method from parameter values as text, and validates it.
fn from_text(values: &[(String, String)]) -> Result<Lllvm, PyFailure> {
    let mut method = Lllvm::default();
    for (name, value) in values {
        method.set(name, value)?;
    }
    method.validate()?;
    Ok(method)
}
