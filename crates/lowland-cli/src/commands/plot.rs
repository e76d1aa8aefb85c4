//! `lowland plot`: pictures and pages of maps.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use lowland::message::display_path;
use lowland::{AnnotatedEmbedding, Labels, Metric};
use lowland_io::Table;
use lowland_view::Density;
use serde_json::{Value, json};

use super::figure::{Figure, FigureMap};
use super::output_log::OutputLog;
use super::outputs::Outputs;
use super::page::{self, NeighborSource};
use super::picture;
use super::quality::reorder_by_ids;
use crate::args::{DensityArg, HeaderArg, MissingArg, PlotArgs, RunArgs};
use crate::caption::Caption;
use crate::console::Console;
use crate::failure::Failure;
use crate::input;
use crate::paths::{self, file_name};

pub fn plot(args: &PlotArgs) -> Result<ExitCode, Failure> {
    // Invalid flags are reported before the work begins.
    let outputs = Outputs::figures_only(&args.out)?;
    check_flags(args)?;
    if outputs.has_pages() {
        page::check_names(&args.picture)?;
    }
    let mut console = Console::new(&args.run)?;
    let reports =
        args.report.iter().map(|path| read_report(path, &args.run)).collect::<Result<Vec<Value>, Failure>>()?;
    let figure = load(args, &reports, &mut console)?;
    picture::check(&figure, &args.picture)?;
    if outputs.has_pages() {
        check_same_points(&args.maps, &figure)?;
    }
    let density = match args.density {
        DensityArg::Auto => Density::Auto,
        DensityArg::On => Density::On,
        DensityArg::Off => Density::Off,
    };
    let is_preprocessed = reports.iter().any(is_preprocessed);
    if is_preprocessed && outputs.has_pages() {
        console.info(
            "the page has no true neighbors: the maps are of preprocessed data; write the page with embed or compare",
        );
    }
    let metric = reports.iter().find_map(|report| report["parameters"]["metric"].as_str()?.parse().ok());
    let neighbors = figure.data.as_ref().filter(|_| !is_preprocessed).map(|table| NeighborSource {
        data: &table.data,
        metric: metric.unwrap_or(Metric::Euclidean),
        known: None,
    });
    let mut log = OutputLog::default();
    outputs.write_figure(&figure, &args.picture, density, neighbors, &args.run, &mut console, &mut log);
    log.finish(&mut console)?;
    Ok(ExitCode::SUCCESS)
}

/// Whether the map of a report is of preprocessed data.
fn is_preprocessed(report: &Value) -> bool {
    let steps = report["prepare"].as_object();
    steps.is_some_and(|steps| steps.values().any(|value| *value != json!(false) && *value != json!(0)))
}

/// Rejects pages of maps that do not have the same points, row by row.
fn check_same_points(files: &[PathBuf], figure: &Figure) -> Result<(), Failure> {
    let (first, others) = figure.maps.split_first().expect("at least one map is required");
    let remedy = "a page links the points of its maps: write a page for each, or a picture of both";
    for (other, file) in others.iter().zip(&files[1..]) {
        let (one, two) = (&first.map, &other.map);
        let (ours, theirs) = (display_path(&files[0]), display_path(file));
        if one.rows() != two.rows() {
            let counts = format!("{ours} has {} points, {theirs} has {}", one.rows(), two.rows());
            return Err(Failure::input(format!("{counts}; {remedy}")));
        }
        if one.ids.is_some() && two.ids.is_some() && one.ids != two.ids {
            return Err(Failure::input(format!("{ours} and {theirs} have different ids; {remedy}")));
        }
    }
    Ok(())
}

fn check_flags(args: &PlotArgs) -> Result<(), Failure> {
    let mut inputs: Vec<&Path> = args.maps.iter().chain(&args.report).map(|path| path.as_path()).collect();
    inputs.extend(args.data.as_deref().into_iter().chain(args.read.labels.as_deref()));
    paths::check(&inputs, &args.out.iter().collect::<Vec<_>>())?;
    let data_flags = [
        ("--n-points", args.read.n_points.is_some()),
        ("--noise", args.read.noise.is_some()),
        ("--max-rows", args.read.max_rows.is_some()),
        ("--key", args.read.key.is_some()),
        ("--format", args.read.format.is_some()),
        ("--header", !matches!(args.read.header, HeaderArg::Auto)),
        ("--missing", !matches!(args.read.missing, MissingArg::Refuse)),
    ];
    if let Some((flag, _)) = data_flags.iter().find(|(_, given)| *given && args.data.is_none()) {
        return Err(Failure::flag(format!("{flag} says how --data is read, but there is no --data")));
    }
    let maps = args.maps.len();
    for (flag, given) in [("--names", args.names.len()), ("--report", args.report.len())] {
        if given > 0 && given != maps {
            return Err(Failure::flag(format!(
                "{flag} gives {given} for {maps} maps; give one per map, in the same order"
            )));
        }
    }
    Ok(())
}

/// Reads the maps and their data; captions come from the reports.
fn load(args: &PlotArgs, reports: &[Value], console: &mut Console) -> Result<Figure, Failure> {
    let data = args.data.as_ref().map(|name| input::load_from(name, &args.read, &args.run, console)).transpose()?;
    let captions: Vec<String> = reports.iter().map(|report| Caption::from_report(report).full_text()).collect();
    let mut maps = Vec::new();
    for (at, path) in args.maps.iter().enumerate() {
        let map = lowland_io::read_map_within(path, args.run.memory())?;
        let map = check_finite(&map)
            .and_then(|()| attach_metadata(map, args, data.as_ref()))
            .map_err(|failure| failure.within(display_path(path)))?;
        let name = args.names.get(at).cloned().unwrap_or_else(|| file_stem(path));
        maps.push(FigureMap { name, caption: captions.get(at).cloned().unwrap_or_default(), map });
    }
    let input = reports.first().and_then(|report| report["input"]["name"].as_str());
    let title = match input.map(Path::new).or(args.data.as_deref()) {
        Some(input) => file_name(input),
        None if maps.len() == 1 => maps[0].name.clone(),
        None => String::new(),
    };
    put_in_same_order(&mut maps, console);
    let mut figure = Figure { maps, data, title, caption: captions.join("; "), ..Figure::default() };
    figure.align(console);
    Ok(figure)
}

/// The name of a file without its extension.
fn file_stem(path: &Path) -> String {
    path.file_stem().map_or_else(|| display_path(path), |stem| stem.to_string_lossy().into_owned())
}

/// Puts the points of all maps in the order of the first map that has ids, where they have the same points.
fn put_in_same_order(maps: &mut [FigureMap], console: &mut Console) {
    let Some((name, rows)) = maps.iter().find_map(|each| Some((each.name.clone(), each.map.ids.clone()?))) else {
        return;
    };
    for each in maps {
        let Some(points) = each.map.ids.as_ref().filter(|ids| **ids != rows && ids.len() == rows.len()) else {
            continue;
        };
        // Maps of other points stay as they are; what needs the same points checks for them.
        if let Ok(reordered) = reorder_by_ids(&each.map, &rows, points) {
            each.map = reordered;
            console.info(&format!("the points of {} were put in the order of {name} by their ids", each.name));
        }
    }
}

/// Rejects a map with coordinates that are not finite.
fn check_finite(map: &AnnotatedEmbedding) -> Result<(), Failure> {
    let (values, dim) = (map.embedding.values(), map.embedding.dim());
    match values.iter().position(|value| !value.is_finite()) {
        None => Ok(()),
        Some(at) => {
            let (row, column, value) = (at / dim, at % dim, values[at]);
            Err(Failure::input(format!(
                "row {row}, column {column} of the map is {value}; remove such points from the file"
            )))
        }
    }
}

/// Puts a map in the order of the data, and adds the labels and ids that the data or the flags provide.
fn attach_metadata(
    mut map: AnnotatedEmbedding,
    args: &PlotArgs,
    table: Option<&Table>,
) -> Result<AnnotatedEmbedding, Failure> {
    if let Some(table) = table {
        if let (Some(rows), Some(points)) = (&table.ids, &map.ids)
            && rows != points
        {
            map = reorder_by_ids(&map, rows, points)?;
        }
        let (rows, points) = (table.rows(), map.rows());
        if rows != points {
            return Err(Failure::input(format!("the map has {points} points, but the data have {rows} rows")));
        }
        map.labels = table.labels.clone().or(map.labels);
        map.ids = map.ids.or_else(|| table.ids.clone());
        return Ok(map);
    }
    if let Some(path) = &args.read.labels {
        map.labels = Some(lowland_io::labels_of_rows(path, map.rows())?);
    }
    // Without data, the flags name columns of the map.
    let column = |name: &String| {
        let found = map.columns.iter().find(|(known, _)| known == name).map(|(_, cells)| cells.clone());
        found.ok_or_else(|| Failure::input(format!("there is no column {name:?} (or name the data with --data)")))
    };
    if let Some(name) = &args.read.label_column {
        map.labels = Some(Labels::new(column(name)?));
    }
    if let Some(name) = &args.read.id_column {
        map.ids = Some(column(name)?);
    }
    Ok(map)
}

fn read_report(path: &Path, run: &RunArgs) -> Result<Value, Failure> {
    let bytes = lowland_io::read_bytes(path, run.memory())?;
    let report = serde_json::from_slice(&bytes);
    report.map_err(|error| Failure::input(format!("{}: not a report: {error}", display_path(path))))
}
