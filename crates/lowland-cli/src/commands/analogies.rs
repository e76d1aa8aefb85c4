//! `lowland analogies`: tests whether sums and differences of word vectors are meaningful.

use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;

use lowland::message::display_path;
use lowland::quality::{AnalogyQuestions, AnalogyScore};
use lowland::{Data, Embedding, MemoryBudget};
use lowland_io::ReadOptions;
use serde_json::json;

use super::outputs::MAP_EXTENSIONS;
use crate::args::AnalogyArgs;
use crate::console::Console;
use crate::failure::Failure;
use crate::paths::extension;
use crate::print::{print_json, print_stdout};

/// Prefix of the syntactic categories in the usual list of questions.
const SYNTACTIC_PREFIX: &str = "gram";

pub fn analogies(args: &AnalogyArgs) -> Result<ExitCode, Failure> {
    let (vectors, words) = named_vectors(&args.vectors, args.run.memory())?;
    let text = lowland_io::read_bytes(&args.questions, args.run.memory())?;
    let questions = AnalogyQuestions::parse(&String::from_utf8_lossy(&text))
        .map_err(|error| Failure::from(error).within(display_path(&args.questions)))?;
    let mut console = Console::new(&args.run)?;
    let scores = console.run_stage("analogies", |progress| {
        lowland::quality::score_analogies_with(vectors.points(), &words, &questions, progress)
    })?;
    console.finish();
    let (syntactic, semantic): (Vec<_>, Vec<_>) =
        scores.iter().partition(|score| score.category.starts_with(SYNTACTIC_PREFIX));
    let sums = [
        ("semantic", total(&semantic)),
        ("syntactic", total(&syntactic)),
        ("all", total(&scores.iter().collect::<Vec<_>>())),
    ];
    let lines =
        scores.iter().map(|score| (score.category.as_str(), [score.correct, score.asked, score.skipped])).chain(sums);
    if args.run.json {
        let categories: Vec<_> = lines
            .map(|(name, [right, asked, left_out])| {
                json!({ "category": name, "right": right, "asked": asked, "left_out": left_out })
            })
            .collect();
        print_json(&json!({ "event": "analogies", "categories": categories }));
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = String::new();
    for (name, [right, asked, left_out]) in lines {
        let share = if asked > 0 { format!("{:.1} %", 100.0 * right as f64 / asked as f64) } else { "-".into() };
        let _ = writeln!(text, "{name:<30} {share:>8}  {right} of {asked}, {left_out} left out");
    }
    print_stdout(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn total(scores: &[&AnalogyScore]) -> [usize; 3] {
    let sum = |part: fn(&AnalogyScore) -> usize| scores.iter().map(|score| part(score)).sum();
    [sum(|score| score.correct), sum(|score| score.asked), sum(|score| score.skipped)]
}

/// Reads a map with ids, or word vectors.
fn named_vectors(path: &Path, memory: &MemoryBudget) -> Result<(Embedding, Vec<String>), Failure> {
    let (vectors, words) = if MAP_EXTENSIONS.contains(&extension(path).as_str()) {
        let map = lowland_io::read_map_within(path, memory)?;
        (map.embedding, map.ids)
    } else {
        let table = lowland_io::read(path, &ReadOptions { memory: memory.clone(), ..Default::default() })?;
        let Data::Dense(rows) = table.data.unshifted() else {
            return Err(Failure::flag(format!("{}: word vectors must be rows of numbers", display_path(path))));
        };
        (Embedding::new(rows.values().iter().map(|&v| f64::from(v)).collect(), rows.dim())?, table.ids)
    };
    match words {
        Some(words) => Ok((vectors, words)),
        None => Err(Failure::flag(format!("{}: its rows have no names (a column id)", display_path(path)))),
    }
}
