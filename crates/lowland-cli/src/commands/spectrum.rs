//! `lowland spectrum`: t-SNE from strong repulsion to strong attraction, on one page with a slider.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::ArgMatches;
use lowland::message::display_path;
use lowland::method::Method;
use lowland::methods::Tsne;
use lowland::params::{Auto, Params};
use lowland::quality::{QualityReport, ScoredRows};
use lowland::registry::MethodInfo;
use lowland::spectrum::{self, Spectrum};
use lowland::{AnnotatedEmbedding, Embedding, FitOptions};
use lowland_view::Density;
use serde_json::{Value, json};

use super::comparison_table::{ComparisonRow, ComparisonTable};
use super::figure::{Figure, FigureMap};
use super::output_log::OutputLog;
use super::outputs::Outputs;
use super::page::{self, NeighborSource};
use super::picture;
use super::scoring;
use crate::args::{SpectrumArgs, method_values};
use crate::caption::Caption;
use crate::console::Console;
use crate::failure::Failure;
use crate::input;
use crate::paths::{self, file_name};
use crate::print::{print_json, print_stdout};
use crate::report;

pub fn spectrum(args: &SpectrumArgs, matches: &ArgMatches) -> Result<ExitCode, Failure> {
    // Invalid flags are reported before the work begins.
    let outputs = Outputs::figures_only(&args.out)?;
    if outputs.has_pages() {
        page::check_names(&args.picture)?;
    }
    let method = parse_method(matches)?;
    check_paths(args)?;
    let mut console = Console::new(&args.common.run)?;
    let table = input::load(&args.common.input, &args.common.run, &mut console)?;
    let mut placeholder = AnnotatedEmbedding::from(Embedding::new(vec![0.0; 2 * table.rows()], 2)?);
    (placeholder.ids, placeholder.labels) = (table.ids.clone(), table.labels.clone());
    let placeholder = FigureMap { name: String::new(), caption: String::new(), map: placeholder };
    let title = file_name(&args.common.input.input);
    let mut figure = Figure { maps: vec![placeholder], data: Some(table), title, ..Figure::default() };
    picture::check(&figure, &args.picture)?;
    let table = figure.data.as_ref().expect("set above");
    let options = FitOptions {
        seed: args.common.run.seed(),
        preprocessing: args.common.preprocessing.steps(),
        observer: Some(&mut console),
        memory: args.common.run.memory().clone(),
        ..FitOptions::default()
    };
    let Spectrum { maps, data, neighbors } = spectrum::fit(&method, &args.exaggerations, &table.data, options)?;
    console.keep_map_on_stop();
    console.finish();
    if maps.len() < args.exaggerations.len() {
        console.info(&format!("stopped; {} of {} maps are kept", maps.len(), args.exaggerations.len()));
    }
    let notes = maps.first().map_or(Vec::new(), |found| found.notes.clone());
    let mut results = Vec::new();
    for found in maps {
        let map = AnnotatedEmbedding { ids: table.ids.clone(), labels: table.labels.clone(), ..found.embedding.into() };
        let stopped = console.stopped();
        let scores = (!stopped)
            .then(|| {
                scoring::score(
                    &data,
                    &map,
                    method.metric,
                    neighbors.as_ref(),
                    ScoredRows::Affordable,
                    &args.common.run,
                    &mut console,
                )
            })
            .flatten();
        results.push((found.exaggeration, map, scores));
    }
    let mut log = OutputLog::default();
    let scores = score_table(&results);
    if args.common.run.json {
        print_json(&results_json(&method, &results));
    } else if let Err(failure) = print_stdout(&format!("scores of the maps by exaggeration:\n{}", scores.to_text())) {
        log.fail(failure);
    }
    let values = Tsne { exaggeration: Auto::Value(1.0), ..method.clone() }.values();
    let parameters: Vec<_> = values.into_iter().filter(|(name, _)| *name != "exaggeration").collect();
    figure.caption = format!(
        "Each map starts from the one before and is aligned to it. {}.",
        Caption::new(Tsne::NAME, &parameters, &notes, None).summary()
    );
    figure.scores = Some(scores.to_text_table());
    figure.slider = results.iter().map(|(exaggeration, ..)| *exaggeration).collect();
    figure.maps = results
        .into_iter()
        .map(|(exaggeration, map, scores)| FigureMap {
            name: map_name(exaggeration),
            caption: Caption::new(Tsne::NAME, &parameters, &notes, scores.as_ref()).details(),
            map,
        })
        .collect();
    for each in &figure.maps {
        if let Some(path) = map_path(args, &each.name) {
            log.record(&path, lowland_io::write_map(&path, &each.map, &args.write.options()).map_err(Failure::write));
        }
    }
    let source = NeighborSource { data: &data, metric: method.metric, known: neighbors.as_ref() };
    let source = (!console.stopped()).then_some(source);
    outputs.write_figure(&figure, &args.picture, Density::Auto, source, &args.common.run, &mut console, &mut log);
    log.finish(&mut console)?;
    Ok(console.exit_code())
}

/// The parameters of t-SNE on the command line.
fn parse_method(matches: &ArgMatches) -> Result<Tsne, Failure> {
    let mut method = Tsne::default();
    for (name, text) in method_values(matches, MethodInfo::find(Tsne::NAME)?)? {
        match name {
            "exaggeration" => {
                return Err(Failure::flag("--exaggeration: a spectrum has several; use --exaggerations A,B,.."));
            }
            "landmarks" => return Err(Failure::flag("--landmarks: a spectrum fits all rows; use --max-rows instead")),
            _ => method.set(name, &text)?,
        }
    }
    method.validate()?;
    Ok(method)
}

fn map_name(exaggeration: f64) -> String {
    format!("exaggeration {exaggeration}")
}

/// The file to which `--maps` writes a map.
fn map_path(args: &SpectrumArgs, name: &str) -> Option<PathBuf> {
    args.maps.as_ref().map(|folder| folder.join(format!("{}.csv", name.replace(' ', "-"))))
}

fn check_paths(args: &SpectrumArgs) -> Result<(), Failure> {
    if let Some(folder) = args.maps.as_ref().filter(|folder| !folder.is_dir()) {
        let folder = display_path(folder);
        return Err(Failure::flag(format!("--maps {folder}: there is no such folder; create it first")));
    }
    let maps: Vec<PathBuf> =
        args.exaggerations.iter().filter_map(|exaggeration| map_path(args, &map_name(*exaggeration))).collect();
    let inputs: Vec<&Path> =
        [args.common.input.input.as_path()].into_iter().chain(args.common.input.read.labels.as_deref()).collect();
    paths::check(&inputs, &args.out.iter().chain(&maps).collect::<Vec<_>>())
}

fn score_table(results: &[(f64, AnnotatedEmbedding, Option<QualityReport>)]) -> ComparisonTable {
    let row = |(exaggeration, _, scores): &'_ (f64, AnnotatedEmbedding, Option<QualityReport>)| ComparisonRow {
        name: exaggeration.to_string(),
        scores: scores.as_ref().map_or(Vec::new(), |report| report.scores.clone()),
        seconds: None,
    };
    ComparisonTable::new("exaggeration", &results.iter().map(row).collect::<Vec<_>>())
}

fn results_json(method: &Tsne, results: &[(f64, AnnotatedEmbedding, Option<QualityReport>)]) -> Value {
    let maps: Vec<Value> = results
        .iter()
        .map(|(exaggeration, map, scores)| {
            let scores = scores.as_ref().map(|scores| report::scores_json(scores, map.labels.as_ref()));
            json!({ "exaggeration": exaggeration, "scores": scores })
        })
        .collect();
    json!({ "event": "spectrum", "parameters": report::parameters_json(&method.values()), "maps": maps })
}
