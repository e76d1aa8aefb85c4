//! Numbers of neighbours and of dimensions, by how likely the data become.

use lowland::message::Remedy;
use lowland::method::Method;
use lowland::methods::{Lllvm, Lvm};
use lowland::run::{Context, Stage};
use lowland::select::{self, Candidate, SelectionCriterion};
use lowland::{Error, Seed};
use pyo3::prelude::*;

use crate::error::Failure;
use crate::rows::Rows;
use crate::watch::{Listeners, watch};

/// Every choice as `(n_neighbors, n_components, values)`, the place of the best, of those that are not clearly worse, and the
/// recommendation in words.
type Choices = (Vec<(usize, usize, Vec<f64>)>, Option<usize>, Vec<usize>, String);

/// By the bound of lllvm (`folds` none), or the held-out likelihood of lvm. `params` are those of the method.
#[pyfunction]
#[pyo3(signature = (rows, params, n_neighbors, n_components, *, folds=None, seed=0, threads=None, max_memory=None))]
pub fn choose(
    py: Python<'_>,
    rows: Rows,
    params: Vec<(String, String)>,
    n_neighbors: Vec<usize>,
    n_components: Vec<usize>,
    folds: Option<usize>,
    seed: u64,
    threads: Option<usize>,
    max_memory: Option<u64>,
) -> PyResult<Choices> {
    let data = rows.to_data()?;
    drop(rows);
    let seed = Seed(seed);
    let found = watch(py, threads, &Listeners::default(), |watcher| -> Result<Vec<Candidate>, Failure> {
        data.check_finite()?;
        if let Some(folds) = folds {
            let (lvm, limit) = (from_text::<Lvm>(&params)?, max_memory.or_else(lowland_io::available_memory));
            let (k, d) = (&n_neighbors, &n_components);
            return Ok(select::by_held_out(&data, &lvm, k, d, folds, seed, limit, watcher)?);
        }
        let model = from_text::<Lllvm>(&params)?;
        let needed = select::memory(&model, data.shape(), &n_neighbors, &n_components);
        if let Some(limit) = max_memory.or_else(lowland_io::available_memory).filter(|&limit| needed > limit) {
            let remedies =
                vec![Remedy::RaiseMaxMemory, Remedy::FewerRows, Remedy::FewerStarts, Remedy::UseMethod("lvm")];
            return Err(Error::Memory { what: "the selection".into(), needed, limit, remedies }.into());
        }
        let mut context = Context::new(watcher, seed, None);
        context.announce_stages(&["neighbors", "bounds"].map(|name| Stage { name, weight: 1.0 }))?;
        Ok(select::by_bound(&data, &model, &n_neighbors, &n_components, &mut context)?)
    })?;
    if let Some(error) = found.raised {
        return Err(error);
    }
    let (choices, by) =
        (found.result, if folds.is_some() { SelectionCriterion::HeldOut } else { SelectionCriterion::Bound });
    let words = select::recommendation_text(&choices, by);
    let (best, close) = select::recommend(&choices, by).map_or((None, Vec::new()), |(best, close)| (Some(best), close));
    let list = choices.into_iter().map(|choice| (choice.n_neighbors, choice.n_components, choice.values)).collect();
    Ok((list, best, close, words))
}

/// A method with these parameter values, validated.
fn from_text<M: Method>(values: &[(String, String)]) -> Result<M, Failure> {
    let mut method = M::default();
    for (name, text) in values {
        method.set(name, text)?;
    }
    method.validate()?;
    Ok(method)
}
