//! `lowland select`: numbers of neighbours and of dimensions, and edges, by how likely the data become.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use lowland::Data;
use lowland::linalg::Csr;
use lowland::methods::Lllvm;
use lowland::params::Params;
use lowland::points::bytes;
use lowland::run::{Context, Limits, Stage};
use lowland::select::{self, By, Choice, Suspect, Tested};
use lowland_view::{ChartOptions, Curve};
use serde_json::json;

use crate::failure::{Failure, STOPPED};
use crate::input;
use crate::observer::{Console, emit, say};
use crate::paths;
use crate::select_args::{SelectArgs, SelectMethod};

use super::angles::threshold;

pub fn select(args: &SelectArgs) -> Result<ExitCode, Failure> {
    check_outputs(args)?;
    let params = params(args)?;
    let mut console = Console::new(&args.run)?;
    let table = input::load(&args.input, &args.run, &mut console)?;
    let data = args.prepare.apply(&table.data, &args.run)?;
    if args.about_edges() {
        return edges(args, &params, &data, &mut console);
    }
    let (n_neighbors, n_components) = (&args.n_neighbors.0, &args.n_components.0);
    let (by, choices) = match args.method {
        SelectMethod::Tsm => return threshold(args, &data, &mut console),
        SelectMethod::Lllvm => {
            let needed = select::memory(&params, data.shape(), n_neighbors, n_components);
            check_memory(args, needed, data.shape().bytes, &mut console)?;
            let choices = with_context(args, &mut console, |context| {
                select::by_bound(&data, &params, n_neighbors, n_components, context)
            })?;
            (By::Bound, choices)
        }
        SelectMethod::Lvm => {
            let metric = args.metric.to_string();
            let given = args.max_iter.map(|count| count.to_string());
            let mut values = vec![("metric", metric.as_str())];
            values.extend(given.as_deref().map(|count| ("max_iter", count)));
            let choices = lowland::with_threads(args.run.threads(), || {
                let (folds, seed) = (args.folds, args.run.seed());
                let limits = Limits { max_memory: args.memory.limit(), ..Limits::default() };
                select::by_held_out(&data, &values, n_neighbors, n_components, folds, seed, &limits, &mut console)
            })??;
            (By::HeldOut, choices)
        }
    };
    console.finish();
    write_choices(args, by, &choices)?;
    let words = select::in_words(&choices, by);
    if args.run.json {
        let list: Vec<_> = choices.iter().map(as_json).collect();
        emit(&json!({ "event": "choices", "choices": list, "recommendation": words }));
    } else {
        print_table(&choice_table(&choices))?;
        conclude(args, &words);
    }
    Ok(if console.stopped() { ExitCode::from(STOPPED) } else { ExitCode::SUCCESS })
}

fn params(args: &SelectArgs) -> Result<Lllvm, Failure> {
    let mut params = Lllvm { starts: args.starts, metric: args.metric, ..Lllvm::default() };
    params.n_neighbors = args.n_neighbors.0[0];
    params.n_components = args.n_components.0[0];
    params.set("alpha", &args.alpha)?;
    params.max_iter = args.max_iter.unwrap_or(params.max_iter);
    params.tol = args.tol.unwrap_or(params.tol);
    lowland::methods::Recipe::check(&params)?;
    Ok(params)
}

fn check_outputs(args: &SelectArgs) -> Result<(), Failure> {
    let mut read = vec![Path::new(&args.input.input)];
    read.extend(args.edges.as_deref());
    paths::check(&read, &args.out.iter().collect::<Vec<_>>())?;
    let about_edges = args.about_edges();
    let known = |path: &PathBuf| matches!((ending(path).as_str(), about_edges), ("csv", _) | ("png", false));
    match args.out.iter().find(|path| !known(path)) {
        Some(path) if about_edges => Err(Failure::flag(format!("--out {}: edges are written as .csv", path.display()))),
        Some(path) => Err(Failure::flag(format!("--out {}: .csv for the table, .png for a picture", path.display()))),
        None => Ok(()),
    }
}

pub(super) fn ending(path: &Path) -> String {
    path.extension().and_then(|ending| ending.to_str()).unwrap_or("").to_ascii_lowercase()
}

/// Says what the fits need with the data, and refuses more than there may be.
fn check_memory(args: &SelectArgs, needed: u64, data: u64, console: &mut Console) -> Result<(), Failure> {
    let needed = needed.saturating_add(data);
    console.note(&format!("memory: about {}", bytes(needed)));
    match args.memory.limit() {
        Some(limit) if needed > limit => {
            let remedy = "Raise max_memory, use fewer rows (--max-rows) or starts, or choose by --method lvm";
            Err(lowland::Error::Memory { what: "the choice".into(), needed, limit, remedy }.into())
        }
        _ => Ok(()),
    }
}

/// Runs work that is not one of the methods' fits, on the threads asked for.
fn with_context<T: Send>(
    args: &SelectArgs,
    console: &mut Console,
    work: impl FnOnce(&mut Context) -> lowland::Result<T> + Send,
) -> Result<T, Failure> {
    Ok(lowland::with_threads(args.run.threads(), || {
        let mut context = Context::new(console, args.run.seed(), None);
        let stages = ["neighbours", "bounds"].map(|name| Stage { name, weight: 1.0 });
        context.plan(&stages)?;
        work(&mut context)
    })??)
}

/// Hypotheses about edges: the graph as it is, without some, another, and which edges look wrong.
fn edges(args: &SelectArgs, params: &Lllvm, data: &Data, console: &mut Console) -> Result<ExitCode, Failure> {
    if args.method != SelectMethod::Lllvm || args.n_neighbors.0.len() > 1 || args.n_components.0.len() > 1 {
        return Err(Failure::flag(
            "edges are compared by --method lllvm, for one --n-neighbors and one --n-components",
        ));
    }
    let needed = select::memory(params, data.shape(), &args.n_neighbors.0, &args.n_components.0);
    check_memory(args, needed, data.shape().bytes, console)?;
    let pairs: Vec<(usize, usize)> = args.without_edge.iter().map(|edge| (edge.0, edge.1)).collect();
    let other = args.edges.as_deref().map(|path| read_edges(path, data.rows())).transpose()?;
    let (tested, suspects) = with_context(args, console, |context| {
        let graph = select::graph(data, params, context)?;
        let mut graphs = vec![("all edges".to_string(), graph.clone())];
        for (i, j) in &pairs {
            graphs.push((format!("without {i},{j}"), select::without(&graph, &[(*i, *j)])?));
        }
        if pairs.len() > 1 {
            graphs.push(("without all of these".into(), select::without(&graph, &pairs)?));
        }
        // What is screened is the graph someone brought, if someone did.
        let judged = if other.is_some() { graphs.len() } else { 0 };
        graphs.extend(other.map(|other| ("the file's edges".to_string(), other)));
        let Some(count) = args.screen_edges else {
            return Ok((select::compare(data, params, &graphs, context)?, Vec::new()));
        };
        // Its bounds come with the screening: it is not fitted again.
        let screened = graphs.remove(judged);
        let (known, mut suspects) = select::screen(data, params, &screened, context)?;
        suspects.truncate(count);
        if suspects.len() > 1 && pairs.is_empty() {
            let all: Vec<(usize, usize)> = suspects.iter().map(|suspect| (suspect.i, suspect.j)).collect();
            if let Ok(rest) = select::without(&screened.1, &all) {
                graphs.push((format!("without the first {}", all.len()), rest));
            }
        }
        let mut tested = if graphs.is_empty() { Vec::new() } else { select::compare(data, params, &graphs, context)? };
        tested.insert(judged.min(tested.len()), known);
        Ok((tested, suspects))
    })?;
    console.finish();
    for path in args.out.iter().filter(|path| ending(path) == "csv") {
        lowland_io::write_bytes(path, edge_csv(&tested, &suspects).as_bytes()).map_err(Failure::write)?;
    }
    if args.run.json {
        let graph = |t: &Tested| json!({ "graph": t.name, "bounds": t.values, "best": t.best(), "mean": t.mean(), "std": t.std() });
        let graphs: Vec<_> = tested.iter().map(graph).collect();
        let ranked: Vec<_> = suspects
            .iter()
            .map(|s| json!({ "i": s.i, "j": s.j, "score": s.score, "resistance": s.resistance }))
            .collect();
        emit(&json!({ "event": "edges", "graphs": graphs, "suspects": ranked, "verdict": verdict(&tested) }));
    } else {
        print_table(&edge_table(&tested, &suspects))?;
        conclude(args, &verdict(&tested));
    }
    Ok(if console.stopped() { ExitCode::from(STOPPED) } else { ExitCode::SUCCESS })
}

fn verdict(tested: &[Tested]) -> String {
    let best = tested.iter().reduce(|a, b| if b.best() > a.best() { b } else { a });
    let Some((best, base)) = best.zip(tested.first()) else { return String::new() };
    if best.name == base.name {
        return "the graph as it is has the largest bound".into();
    }
    let (gain, scatter) = (best.best() - base.best(), base.std().max(best.std()));
    let clear = if gain > scatter { "more" } else { "less" };
    format!("{}: the largest bound, by {gain:.3}; {clear} than the starts scatter ({scatter:.3})", best.name)
}

fn read_edges(path: &Path, points: usize) -> Result<Csr, Failure> {
    let bytes = lowland_io::read_bytes(path, 1 << 30)?;
    let text = String::from_utf8_lossy(&bytes);
    let mut pairs = Vec::new();
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let numbers: Vec<Option<usize>> =
            line.split([',', '\t', ' ', ';']).filter(|word| !word.is_empty()).map(|word| word.parse().ok()).collect();
        match numbers[..] {
            [Some(i), Some(j), ..] => pairs.push((i, j)),
            // The first line may name the columns.
            _ if at == 0 && numbers.iter().all(Option::is_none) => {}
            _ => {
                let error =
                    anyhow::anyhow!("{}, line {}: expected two row numbers, as in 28,29", path.display(), at + 1);
                return Err(Failure::Other { code: 3, error });
            }
        }
    }
    select::from_pairs(points, &pairs).map_err(|error| Failure::from(error).within(&path.display().to_string()))
}

pub(super) fn print_table(text: &str) -> Result<(), Failure> {
    use std::io::Write as _;
    Ok(std::io::stdout().write_all(text.as_bytes())?)
}

pub(super) fn conclude(args: &SelectArgs, words: &str) {
    if !args.run.quiet {
        say(words);
    }
}

fn choice_table(choices: &[Choice]) -> String {
    let mut text = String::from("n_neighbors  n_components          best          mean           std\n");
    for choice in choices {
        let _ = writeln!(
            text,
            "{:>11}  {:>12}  {:>12.4}  {:>12.4}  {:>12.4}",
            choice.n_neighbors,
            choice.n_components,
            choice.best(),
            choice.mean(),
            choice.std()
        );
    }
    text
}

fn edge_table(tested: &[Tested], suspects: &[Suspect]) -> String {
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

fn edge_csv(tested: &[Tested], suspects: &[Suspect]) -> String {
    let mut text = String::from("what,i,j,value,mean,std\n");
    for t in tested {
        let _ = writeln!(text, "{},,,{},{},{}", t.name.replace(',', "-"), t.best(), t.mean(), t.std());
    }
    for s in suspects {
        let _ = writeln!(text, "suspect,{},{},{},,", s.i, s.j, s.score);
    }
    text
}

fn as_json(choice: &Choice) -> serde_json::Value {
    json!({
        "n_neighbors": choice.n_neighbors, "n_components": choice.n_components, "values": choice.values,
        "best": choice.best(), "mean": choice.mean(), "std": choice.std(),
    })
}

fn write_choices(args: &SelectArgs, by: By, choices: &[Choice]) -> Result<(), Failure> {
    for path in &args.out {
        let bytes = if ending(path) == "csv" {
            let mut text = String::from("n_neighbors,n_components,best,mean,std\n");
            for c in choices {
                let _ = writeln!(text, "{},{},{},{},{}", c.n_neighbors, c.n_components, c.best(), c.mean(), c.std());
            }
            text.into_bytes()
        } else {
            picture(args, by, choices)?
        };
        lowland_io::write_bytes(path, &bytes).map_err(Failure::write)?;
    }
    Ok(())
}

/// Of a picture: the name of the input.
pub(super) fn title(args: &SelectArgs) -> String {
    Path::new(&args.input.input).file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

/// Against the longer list, a curve for each number of the other.
fn picture(args: &SelectArgs, by: By, choices: &[Choice]) -> Result<Vec<u8>, Failure> {
    let by_dimension = args.n_neighbors.0.len() == 1 && args.n_components.0.len() > 1;
    let (across, rest) = if by_dimension { ("n_components", "n_neighbors") } else { ("n_neighbors", "n_components") };
    let numbers = |choice: &Choice| {
        let pair = (choice.n_neighbors, choice.n_components);
        if by_dimension { (pair.1, pair.0) } else { pair }
    };
    let mut curves: Vec<(usize, Curve)> = Vec::new();
    for choice in choices {
        let (x, curve) = numbers(choice);
        if !curves.iter().any(|known| known.0 == curve) {
            curves.push((curve, Curve { name: format!("{rest} {curve}"), points: Vec::new() }));
        }
        let known = curves.iter_mut().find(|known| known.0 == curve).expect("just put there");
        let (mean, std) = (choice.mean(), choice.std());
        known.1.points.push([x as f64, by.value(choice), mean - std, mean + std]);
    }
    let up = match by {
        By::Bound => "bound of the best start; bars: mean and standard deviation over starts",
        By::HeldOut => "held-out log-likelihood: mean and standard deviation over folds",
    };
    let options =
        ChartOptions { title: title(args), x_label: across.into(), y_label: up.into(), ..ChartOptions::default() };
    Ok(lowland_view::draw_chart(&curves.into_iter().map(|(_, curve)| curve).collect::<Vec<_>>(), &options)?)
}
