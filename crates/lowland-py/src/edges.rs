//! Edges of the neighbor graph, compared by the bound of lllvm.

use lowland::message::Remedy;
use lowland::method::Method;
use lowland::run::{Context, Stage};
use lowland::select::{self, EdgeQuestions};
use lowland::{MemoryBudget, Seed};
use pyo3::prelude::*;

use crate::panics::catch_panics;
use crate::rows::Rows;
use crate::select::lllvm_from_text;
use crate::watch::{Callbacks, watch};

/// Every graph as `(name, bounds of the starts)`, suspicious edges as `(i, j, score, resistance)`, and the conclusion.
type EdgesTuple = (Vec<(String, Vec<f64>)>, Vec<(usize, usize, f64, f64)>, String);

/// Compares the neighbor graph with the same graph without some edges and with the graph of `edges`, and lists `screen` edges
/// that are probably wrong. `params` are parameters of lllvm.
#[pyfunction]
#[pyo3(signature = (rows, params, without, edges=None, screen=None, *, seed=0, threads=None, max_memory=None))]
pub fn compare_edges(
    py: Python<'_>,
    rows: Rows,
    params: Vec<(String, String)>,
    without: Vec<(usize, usize)>,
    edges: Option<Vec<(usize, usize)>>,
    screen: Option<usize>,
    seed: u64,
    threads: Option<usize>,
    max_memory: Option<u64>,
) -> PyResult<EdgesTuple> {
    catch_panics(|| {
        let data = rows.to_data()?;
        drop(rows);
        let memory = MemoryBudget::new(max_memory.or_else(lowland::available_memory));
        let output = watch(py, threads, &Callbacks::default(), |watcher| {
            data.check_finite()?;
            let model = lllvm_from_text(&params)?;
            let needed = model.memory(data.shape()).saturating_add(data.shape().bytes);
            memory.check(
                "the comparison",
                needed,
                &[Remedy::RaiseMaxMemory, Remedy::FewerRows, Remedy::FewerStarts],
            )?;
            let other = match edges {
                Some(pairs) => Some(("the given edges".to_string(), select::graph_from_pairs(data.rows(), &pairs)?)),
                None => None,
            };
            let mut context = Context::new(watcher, Seed(seed), None);
            context.announce_stages(&["neighbors", "bounds"].map(|name| Stage { name, weight: 1.0 }))?;
            let questions = EdgeQuestions { without, other, screen };
            Ok(select::compare_edges(&data, &model, questions, &mut context)?)
        })?;
        if let Some(error) = output.raised {
            return Err(error);
        }
        let (tested, suspects) = output.result;
        let text = select::edges_text(&tested);
        Ok((
            tested.into_iter().map(|graph| (graph.name, graph.values)).collect(),
            suspects.into_iter().map(|edge| (edge.i, edge.j, edge.score, edge.resistance)).collect(),
            text,
        ))
    })
}
