//! `--out`: the ending says what is written.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};

use lowland::Points;
use lowland_io::{About, Table};
use lowland_view::page::{Page, render_html};
use lowland_view::{Color, MapPanel, PictureFormat, PictureOptions};

use crate::args::RunArgs;
use crate::failure::Failure;
use crate::paths;

use super::page;
use super::picture::ending;
use super::written::Written;

/// A map and what is known of how sure its points are.
#[derive(Clone, Copy)]
pub struct Found<'a> {
    pub map: Points<'a>,
    pub std: Option<&'a [f64]>,
    pub covariances: Option<&'a [f64]>,
}

/// The files asked for, by kind.
pub struct Outputs {
    maps: Vec<PathBuf>,
    pictures: Vec<PathBuf>,
    pages: Vec<PathBuf>,
    /// Nothing was asked for: the map goes to stdout.
    to_stdout: bool,
}

const MAPS: [&str; 4] = ["csv", "tsv", "parquet", "npy"];
const PICTURES: [&str; 3] = PictureFormat::EXTENSIONS;

impl Outputs {
    /// Sorts the paths by ending. A picture without a map gets the map beside it, so that nothing has to be computed
    /// again; under another name where that would replace what is not ours.
    pub fn new(paths: &[PathBuf], input: &str, run: &RunArgs) -> Result<Self, Failure> {
        let (mut maps, mut pictures, mut pages) = (Vec::new(), Vec::new(), Vec::new());
        for path in paths {
            let ending = ending(path);
            if MAPS.contains(&ending.as_str()) {
                maps.push(path.clone());
            } else if PICTURES.contains(&ending.as_str()) {
                pictures.push(path.clone());
            } else if ending == page::ENDING {
                pages.push(path.clone());
            } else {
                return Err(Failure::flag(format!(
                    "--out {}: the ending says what is written: .{} for the map, .{} for a picture, .{} for a page",
                    path.display(),
                    MAPS.join(" ."),
                    PICTURES.join(" ."),
                    page::ENDING
                )));
            }
        }
        if let (true, Some(picture)) = (maps.is_empty(), pictures.iter().chain(&pages).next()) {
            maps.push(beside(picture, input));
        }
        if maps.is_empty() && run.json {
            return Err(Failure::flag("--json takes stdout for events, so the map needs an --out FILE"));
        }
        Ok(Self { to_stdout: maps.is_empty(), maps, pictures, pages })
    }

    /// Every file that will be written.
    pub fn files(&self) -> impl Iterator<Item = &PathBuf> {
        self.pictures.iter().chain(&self.pages).chain(&self.maps)
    }

    /// Writes the map, with the standard deviation and the covariance of each point where there are any.
    pub fn write_maps(&self, Found { map, std, covariances }: Found, table: &Table, written: &mut Written) {
        let about = About { ids: table.ids.as_deref(), labels: table.labels.as_ref(), std, covariances };
        for path in &self.maps {
            written.note(path, lowland_io::write_map(path, map, about).map_err(Failure::write));
        }
        if self.to_stdout {
            let mut text = Vec::new();
            let made = lowland_io::write_map_csv(&mut text, map, about).map_err(Failure::write);
            if let Err(failure) = made.and_then(|()| Ok(std::io::stdout().write_all(&text)?)) {
                written.fail(failure);
            }
        }
    }

    /// Draws the map.
    pub fn write_pictures(
        &self,
        Found { map, std, covariances }: Found,
        table: &Table,
        title: &str,
        caption: &str,
        written: &mut Written,
    ) {
        let options = PictureOptions { title: short(title), caption: caption.into(), ..PictureOptions::default() };
        let labels = table.labels.as_ref();
        let labels = labels.map(|labels| lowland_view::ClassLabels { codes: &labels.codes, names: &labels.names });
        let color = labels.map_or(Color::Plain, Color::Classes);
        let panel = MapPanel { color, std, covariances, ..MapPanel::new(map) };
        for path in &self.pictures {
            let format = PictureFormat::from_extension(&ending(path)).unwrap_or(PictureFormat::Png);
            match lowland_view::draw_picture(std::slice::from_ref(&panel), &options, format) {
                Ok(file) => written.bytes(path, &file),
                Err(error) => written.fail(error.into()),
            }
        }
    }

    /// Whether a page was asked for.
    pub fn has_pages(&self) -> bool {
        !self.pages.is_empty()
    }

    /// Writes the page.
    pub fn write_pages(&self, page: &Page, written: &mut Written) {
        match render_html(page) {
            Ok(html) => self.pages.iter().for_each(|path| written.bytes(path, &html)),
            Err(error) => written.fail(error.into()),
        }
    }
}

/// Where the map goes beside a picture: under the picture's name, unless that is a file that is read or someone else's.
fn beside(picture: &Path, input: &str) -> PathBuf {
    let beside = picture.with_extension("csv");
    let taken = paths::same(&beside, Path::new(input)) || (beside.exists() && !is_map(&beside));
    if taken { picture.with_extension("map.csv") } else { beside }
}

/// Whether a file begins as the maps do that we write.
fn is_map(path: &Path) -> bool {
    let mut first = String::new();
    let read = std::fs::File::open(path).and_then(|file| BufReader::new(file.take(200)).read_line(&mut first));
    read.is_ok() && first.split(',').take(2).any(|name| name.trim() == "projection_x")
}

/// Of a path, the name is enough for a title.
pub fn short(title: &str) -> String {
    Path::new(title).file_name().map_or(title.into(), |name| name.to_string_lossy().into_owned())
}
