//! `lowland plot`: pictures and pages of maps.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use lowland::Metric;
use lowland_io::{Labels, MapTable, Table};
use lowland_view::Density;
use serde_json::{Value, json};

use super::outputs::short;
use super::page::{self, Besides};
use super::picture;
use super::quality::in_order;
use super::shown::{Shown, ShownMap, stem};
use super::written::Written;
use crate::args::{HeaderArg, MissingArg, PlotArgs};
use crate::failure::Failure;
use crate::input;
use crate::observer::Console;
use crate::paths;
use crate::picture_args::DensityArg;
use crate::report;

pub fn plot(args: &PlotArgs) -> Result<ExitCode, Failure> {
    // Everything that can be wrong with the flags is found before the work begins.
    let (pages, pictures) = page::split(&args.out);
    let files = picture::formats(&pictures)?;
    check_flags(args)?;
    let mut console = Console::new(&args.run)?;
    let (shown, captions, metric) = load(args, &mut console)?;
    picture::check(&shown, &args.picture)?;
    if !pages.is_empty() {
        check_page(&args.maps, &shown)?;
    }
    let density = match args.density {
        DensityArg::Auto => Density::Auto,
        DensityArg::On => Density::On,
        DensityArg::Off => Density::Off,
    };
    let mut written = Written::default();
    picture::write(&files, &shown, &args.picture, density, None, &mut written);
    let data = shown.table.as_ref().map(|table| &table.data).filter(|_| metric.is_some());
    if metric.is_none() && !pages.is_empty() {
        console
            .note("the page is without true neighbours: the maps are of prepared data; let embed or compare write it");
    }
    let metric = metric.unwrap_or(Metric::Euclidean);
    let besides = Besides { captions: &captions, data, metric, known: None, table: None, picture: &args.picture };
    page::write(&pages, &shown, &besides, &args.run, &mut console, &mut written);
    console.finish();
    written.finish(&mut console)?;
    Ok(ExitCode::SUCCESS)
}

/// A page shows the same points in every map, row by row.
fn check_page(files: &[PathBuf], shown: &Shown) -> Result<(), Failure> {
    let (first, others) = shown.maps.split_first().expect("at least one map is named");
    let remedy = "a page links the points of its maps: make a page of each, or a picture of both";
    let refuse = |words: String| Err(Failure::Other { code: 3, error: anyhow::anyhow!("{words}; {remedy}") });
    for (other, file) in others.iter().zip(&files[1..]) {
        let (ours, theirs) = (files[0].display(), file.display());
        let (one, two) = (&first.map, &other.map);
        if one.map.rows() != two.map.rows() {
            return refuse(format!("{ours} has {} points, {theirs} has {}", one.map.rows(), two.map.rows()));
        }
        if one.ids.is_some() && two.ids.is_some() && one.ids != two.ids {
            return refuse(format!("{ours} and {theirs} have different ids"));
        }
    }
    Ok(())
}

fn check_flags(args: &PlotArgs) -> Result<(), Failure> {
    let mut read: Vec<&Path> = args.maps.iter().chain(&args.report).map(|path| path.as_path()).collect();
    read.extend(args.data.iter().map(Path::new).chain(args.read.labels.as_deref()));
    paths::check(&read, &args.out.iter().collect::<Vec<_>>())?;
    let about_data = [
        ("--n-points", args.read.n_points.is_some()),
        ("--noise", args.read.noise.is_some()),
        ("--max-rows", args.read.max_rows.is_some()),
        ("--key", args.read.key.is_some()),
        ("--format", args.read.format.is_some()),
        ("--header", !matches!(args.read.header, HeaderArg::Auto)),
        ("--missing", !matches!(args.read.missing, MissingArg::Refuse)),
    ];
    if let Some((flag, _)) = about_data.iter().find(|(_, given)| *given && args.data.is_none()) {
        return Err(Failure::flag(format!("{flag} says how --data is read, and there is none")));
    }
    let maps = args.maps.len();
    for (flag, given) in [("--names", args.names.len()), ("--report", args.report.len())] {
        if given > 0 && given != maps {
            return Err(Failure::flag(format!("{flag} gives {given} for {maps} maps; give one a map, in their order")));
        }
    }
    Ok(())
}

/// Everything that the files say: the maps, a caption for each where a report tells it, and the metric of the data, none where
/// the maps are of data that were prepared first.
fn load(args: &PlotArgs, console: &mut Console) -> Result<(Shown, Vec<String>, Option<Metric>), Failure> {
    let table = args.data.as_ref().map(|name| input::load_named(name, &args.read, &args.run, console)).transpose()?;
    let mut maps = Vec::new();
    for (at, path) in args.maps.iter().enumerate() {
        let read = lowland_io::read_map(path)?;
        let map = whole(&read)
            .and_then(|()| completed(read, args, table.as_ref()))
            .map_err(|failure| failure.within(&path.display().to_string()))?;
        maps.push(ShownMap { name: args.names.get(at).cloned().unwrap_or_else(|| stem(path)), map });
    }
    let reports = args.report.iter().map(|path| read_report(path)).collect::<Result<Vec<Value>, Failure>>()?;
    let captions: Vec<String> = reports.iter().map(report::caption_of_report).collect();
    let input = reports.first().and_then(|report| report["input"]["name"].as_str());
    let title = input.or(args.data.as_deref()).map(short);
    let title = title.unwrap_or_else(|| if maps.len() == 1 { maps[0].name.clone() } else { String::new() });
    let metric = reports.iter().find_map(|report| report["parameters"]["metric"].as_str()?.parse().ok());
    let metric = metric.unwrap_or(Metric::Euclidean);
    let prepared = reports.iter().filter_map(|report| report["prepare"].as_object());
    let prepared = prepared.flat_map(|steps| steps.values()).any(|value| *value != json!(false) && *value != json!(0));
    put_in_order(&mut maps, console);
    let mut shown = Shown { maps, table, title, caption: captions.join("; ") };
    shown.align(console);
    Ok((shown, captions, (!prepared).then_some(metric)))
}

/// Puts the points of all maps into the order of the first that has ids, where they are the same points.
fn put_in_order(maps: &mut [ShownMap], console: &mut Console) {
    let Some((name, rows)) = maps.iter().find_map(|each| Some((each.name.clone(), each.map.ids.clone()?))) else {
        return;
    };
    for each in maps {
        let Some(points) = each.map.ids.as_ref().filter(|ids| **ids != rows && ids.len() == rows.len()) else {
            continue;
        };
        // Other points stay as they are; whoever needs the same says so.
        if let Ok(ordered) = in_order(&each.map, &rows, points) {
            each.map = ordered;
            console.note(&format!("the points of {} were put into the order of {name} by their ids", each.name));
        }
    }
}

/// Refuses a map with places that are none.
fn whole(map: &MapTable) -> Result<(), Failure> {
    let (values, dim) = (map.map.values(), map.map.dim());
    match values.iter().position(|value| !value.is_finite()) {
        None => Ok(()),
        Some(at) => {
            let (row, column, value) = (at / dim, at % dim, values[at]);
            let words = format!("row {row}, column {column} of the map is {value}; take such points out of the file");
            Err(Failure::Other { code: 3, error: anyhow::anyhow!(words) })
        }
    }
}

/// The map in the order of the data, with the classes and names that the data or the flags give it.
fn completed(mut map: MapTable, args: &PlotArgs, table: Option<&Table>) -> Result<MapTable, Failure> {
    let refuse = |error: anyhow::Error| Failure::Other { code: 3, error };
    if let Some(table) = table {
        if let (Some(rows), Some(points)) = (&table.ids, &map.ids)
            && rows != points
        {
            map = in_order(&map, rows, points)?;
        }
        let (rows, points) = (table.rows(), map.map.rows());
        if rows != points {
            return Err(refuse(anyhow::anyhow!("the map has {points} points, the data have {rows} rows")));
        }
        map.labels = table.labels.clone().or(map.labels);
        map.ids = map.ids.or_else(|| table.ids.clone());
        return Ok(map);
    }
    if let Some(path) = &args.read.labels {
        map.labels = Some(lowland_io::labels_of_rows(path, map.map.rows())?);
    }
    // Without data, the columns named are the map's own.
    let column = |name: &String| {
        let found = map.others.iter().find(|(known, _)| known == name).map(|(_, cells)| cells.clone());
        found.ok_or_else(|| refuse(anyhow::anyhow!("there is no column {name:?} (or name the data with --data)")))
    };
    if let Some(name) = &args.read.label_column {
        map.labels = Some(Labels::new(column(name)?));
    }
    if let Some(name) = &args.read.id_column {
        map.ids = Some(column(name)?);
    }
    Ok(map)
}

fn read_report(path: &Path) -> Result<Value, Failure> {
    let bytes = lowland_io::read_bytes(path, u64::MAX)?;
    serde_json::from_slice(&bytes).map_err(|error| Failure::Other {
        code: 3,
        error: anyhow::Error::from(error).context(format!("{}: not a report", path.display())),
    })
}
