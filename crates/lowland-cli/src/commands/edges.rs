//! `lowland select` with edges: compares neighbor graphs, and ranks edges that look like short circuits.

use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;

use lowland::method::Method;
use lowland::methods::Lllvm;
use lowland::select::{self, EdgeQuestions, EdgeScore, GraphBounds};
use lowland::{Data, MemoryBudget};
use serde_json::json;

use super::select::{check_memory, print_conclusion, with_context};
use crate::args::{SelectArgs, SelectMethod};
use crate::console::Console;
use crate::failure::Failure;
use crate::print::{print_json, print_stdout};

/// Compares the graph of the data with the same graph without some edges and with a graph from a file, and ranks edges.
pub fn compare_edges(
    args: &SelectArgs,
    params: &Lllvm,
    data: &Data,
    console: &mut Console,
) -> Result<ExitCode, Failure> {
    if args.method != SelectMethod::Lllvm || args.n_neighbors.0.len() > 1 || args.n_components.0.len() > 1 {
        return Err(Failure::flag(
            "edges are compared by --method lllvm, for one --n-neighbors and one --n-components",
        ));
    }
    let needed = params.memory(data.shape());
    check_memory(args, needed.saturating_add(data.shape().bytes), console)?;
    let pairs: Vec<(usize, usize)> = args.without_edge.iter().map(|edge| (edge.0, edge.1)).collect();
    let other = match &args.edges {
        None => None,
        Some(path) => {
            let graph = select::graph_from_pairs(data.rows(), &read_pairs(path, args.common.run.memory())?);
            let graph = graph.map_err(|error| Failure::from(error).within(path.display()))?;
            Some(("the file's edges".to_string(), graph))
        }
    };
    let questions = EdgeQuestions { without: pairs, other, screen: args.screen_edges };
    let (tested, suspects) =
        with_context(args, console, |context| select::compare_edges(data, params, questions, context))?;
    console.finish();
    for path in &args.out {
        lowland_io::write_bytes(path, edges_csv(&tested, &suspects).as_bytes()).map_err(Failure::write)?;
    }
    if args.common.run.json {
        let graph = |t: &GraphBounds| json!({ "graph": t.name, "bounds": t.values, "best": t.best(), "mean": t.mean(), "std": t.std() });
        let graphs: Vec<_> = tested.iter().map(graph).collect();
        let ranked: Vec<_> = suspects
            .iter()
            .map(|s| json!({ "i": s.i, "j": s.j, "score": s.score, "resistance": s.resistance }))
            .collect();
        print_json(
            &json!({ "event": "edges", "graphs": graphs, "suspects": ranked, "verdict": select::edges_text(&tested) }),
        );
    } else {
        print_stdout(&edges_table(&tested, &suspects))?;
        print_conclusion(args, &select::edges_text(&tested));
    }
    Ok(console.exit_code())
}

/// Reads pairs of row numbers, one per line; the first line may be a header.
fn read_pairs(path: &Path, memory: &MemoryBudget) -> Result<Vec<(usize, usize)>, Failure> {
    let bytes = lowland_io::read_bytes(path, memory)?;
    let text = String::from_utf8_lossy(&bytes);
    let mut pairs = Vec::new();
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let numbers: Vec<Option<usize>> =
            line.split([',', '\t', ' ', ';']).filter(|word| !word.is_empty()).map(|word| word.parse().ok()).collect();
        match numbers[..] {
            [Some(i), Some(j), ..] => pairs.push((i, j)),
            _ if at == 0 && numbers.iter().all(Option::is_none) => {}
            _ => {
                return Err(Failure::input(format!(
                    "{}, line {}: expected two row numbers, as in 28,29",
                    path.display(),
                    at + 1
                )));
            }
        }
    }
    Ok(pairs)
}

fn edges_table(tested: &[GraphBounds], suspects: &[EdgeScore]) -> String {
    let mut text = String::from("graph                              best          mean           std\n");
    for t in tested {
        let _ = writeln!(text, "{:<25}  {:>12.4}  {:>12.4}  {:>12.4}", t.name, t.best(), t.mean(), t.std());
    }
    if !suspects.is_empty() {
        text.push_str("\nmost suspicious edges        score    resistance\n");
    }
    for s in suspects {
        let _ = writeln!(text, "{:<20}  {:>12.4}  {:>12.4}", format!("{},{}", s.i, s.j), s.score, s.resistance);
    }
    text
}

fn edges_csv(tested: &[GraphBounds], suspects: &[EdgeScore]) -> String {
    let mut text = String::from("what,i,j,value,mean,std\n");
    for t in tested {
        let _ = writeln!(text, "{},,,{},{},{}", t.name.replace(',', "-"), t.best(), t.mean(), t.std());
    }
    for s in suspects {
        let _ = writeln!(text, "suspect,{},{},{},,", s.i, s.j, s.score);
    }
    text
}
