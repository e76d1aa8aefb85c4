//! `--out`: the extension of a file determines what is written.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use lowland::message::{Remedy, display_path};
use lowland::{AnnotatedEmbedding, MemoryBudget};
use lowland_io::{Table, WriteOptions};
use lowland_view::{Density, PictureFormat};

use super::figure::Figure;
use super::output_log::OutputLog;
use super::page::{self, NeighborSource};
use super::picture;
use crate::args::{PictureArgs, RunArgs};
use crate::console::Console;
use crate::failure::Failure;
use crate::paths::{extension, is_same_file};
use crate::print::print_data;

/// The extension of an interactive page.
pub const PAGE_EXTENSION: &str = "html";
/// The extensions of tables of coordinates.
pub const MAP_EXTENSIONS: [&str; 4] = ["csv", "tsv", "parquet", "npy"];

/// The requested files, by kind.
#[derive(Default)]
pub struct Outputs {
    maps: Vec<PathBuf>,
    pictures: Vec<(PathBuf, PictureFormat)>,
    pages: Vec<PathBuf>,
    /// Whether the map is written to stdout.
    to_stdout: bool,
}

impl Outputs {
    /// The files of a command that computes a map. If there are pictures or pages but no file with the map, the map is
    /// written next to them, so that it need not be computed again; never over a file of something else.
    pub fn with_map(paths: &[PathBuf], input: &Path, run: &RunArgs) -> Result<Self, Failure> {
        let mut outputs = Self::default();
        for path in paths {
            if MAP_EXTENSIONS.contains(&extension(path).as_str()) {
                outputs.maps.push(path.clone());
            } else if !outputs.add_figure(path) {
                let maps = format!(".{} (the map), ", MAP_EXTENSIONS.join(" ."));
                return Err(unknown_extension(path, &maps));
            }
        }
        if outputs.maps.is_empty() {
            let figure = outputs.figures().next().cloned();
            match figure {
                Some(figure) => outputs.maps = vec![map_path_beside(&figure, input)],
                None if run.json => {
                    return Err(Failure::flag("--json writes events to stdout, so the map needs --out FILE"));
                }
                None => outputs.to_stdout = true,
            }
        }
        Ok(outputs)
    }

    /// The files of a command that only draws.
    pub fn figures_only(paths: &[PathBuf]) -> Result<Self, Failure> {
        let mut outputs = Self::default();
        match paths.iter().find(|path| !outputs.add_figure(path)) {
            Some(path) => Err(unknown_extension(path, "")),
            None => Ok(outputs),
        }
    }

    /// Adds a picture or page; returns whether it is one.
    fn add_figure(&mut self, path: &Path) -> bool {
        let extension = extension(path);
        if extension == PAGE_EXTENSION {
            self.pages.push(path.into());
            return true;
        }
        let format = PictureFormat::from_extension(&extension);
        self.pictures.extend(format.map(|format| (path.into(), format)));
        format.is_some()
    }

    fn figures(&self) -> impl Iterator<Item = &PathBuf> {
        self.pictures.iter().map(|(path, _)| path).chain(&self.pages)
    }

    /// All files that will be written.
    pub fn files(&self) -> impl Iterator<Item = &PathBuf> {
        self.figures().chain(&self.maps)
    }

    /// Whether there are pages.
    pub fn has_pages(&self) -> bool {
        !self.pages.is_empty()
    }

    /// Checks that the pictures of `maps` maps of a table fit into memory, and then the pages.
    pub fn check_memory(
        &self,
        table: Option<&Table>,
        points: usize,
        maps: usize,
        style: &PictureArgs,
        memory: &MemoryBudget,
    ) -> Result<(), Failure> {
        let held = table.map_or(0, |table| table.data.shape().bytes);
        let remedies = [Remedy::RaiseMaxMemory, Remedy::FewerRows];
        if !self.pictures.is_empty() {
            memory.check("the picture", held.saturating_add(picture::memory(style, points, maps)), &remedies)?;
        }
        if self.has_pages() {
            memory.check("the page", held.saturating_add(page::memory(table, points, maps)), &remedies)?;
        }
        Ok(())
    }

    /// Writes the map to its files or to stdout.
    pub fn write_map(&self, map: &AnnotatedEmbedding, options: &WriteOptions, log: &mut OutputLog) {
        for path in &self.maps {
            log.record(path, lowland_io::write_map(path, map, options).map_err(Failure::write));
        }
        if self.to_stdout {
            let mut text = Vec::new();
            let encoded = lowland_io::write_map_csv(&mut text, map, options).map_err(Failure::write);
            if let Err(failure) = encoded.and_then(|()| print_data(&text)) {
                log.fail(failure);
            }
        }
    }

    /// Draws a figure and writes its pictures and pages. `neighbors` are for pages; `None` leaves them out.
    pub fn write_figure(
        &self,
        figure: &Figure,
        style: &PictureArgs,
        density: Density,
        neighbors: Option<NeighborSource>,
        run: &RunArgs,
        console: &mut Console,
        log: &mut OutputLog,
    ) {
        let points = figure.maps.first().map_or(0, |each| each.map.rows());
        if let Err(failure) = self.check_memory(figure.data.as_ref(), points, figure.maps.len(), style, run.memory()) {
            return log.fail(failure);
        }
        if let Err(failure) = picture::write(&self.pictures, figure, style, density, console, log) {
            log.fail(failure);
        }
        if self.has_pages() && !figure.maps.is_empty() {
            match page::render(figure, style, neighbors, run, console) {
                Ok(html) => self.pages.iter().for_each(|path| log.write(path, &html)),
                Err(failure) => log.fail(failure),
            }
        }
        console.finish();
    }
}

fn unknown_extension(path: &Path, maps: &str) -> Failure {
    Failure::flag(format!(
        "--out {}: the extension determines what is written: {maps}.{} (a picture), .{PAGE_EXTENSION} (a page)",
        display_path(path),
        PictureFormat::EXTENSIONS.join(" ."),
    ))
}

/// The path of the map next to a figure: the same name, unless that is the input or a file that is not a map.
fn map_path_beside(figure: &Path, input: &Path) -> PathBuf {
    let path = figure.with_extension("csv");
    let is_taken = is_same_file(&path, input) || (path.exists() && !is_map(&path));
    if is_taken { figure.with_extension("map.csv") } else { path }
}

/// Whether a file begins like a map written by this program.
fn is_map(path: &Path) -> bool {
    let mut first = String::new();
    let read = std::fs::File::open(path).and_then(|file| BufReader::new(file.take(200)).read_line(&mut first));
    read.is_ok() && first.split(',').take(2).any(|name| name.trim() == "projection_x")
}
