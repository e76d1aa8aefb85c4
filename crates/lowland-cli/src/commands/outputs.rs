//! `--out`: the ending says what is written.

use std::io::Write;
use std::path::{Path, PathBuf};

use lowland::Points;
use lowland::points::bytes;
use lowland_io::Table;
use lowland_view::page::{Page, html};
use lowland_view::{Color, Format, Panel, PictureOptions};

use crate::args::RunArgs;
use crate::failure::Failure;
use crate::paths;

use super::page;
use super::picture::ending;

/// The files asked for, by kind.
pub struct Outputs {
    maps: Vec<PathBuf>,
    pictures: Vec<PathBuf>,
    pages: Vec<PathBuf>,
    /// Nothing was asked for: the map goes to stdout.
    to_stdout: bool,
}

const MAPS: [&str; 4] = ["csv", "tsv", "parquet", "npy"];
const PICTURES: [&str; 3] = Format::ENDINGS;

impl Outputs {
    /// Sorts the paths by ending. A picture without a map gets the map beside it, so that nothing has to be computed
    /// again; under another name where that would replace `input`.
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
            let beside = picture.with_extension("csv");
            let clash = paths::same(&beside, Path::new(input));
            maps.push(if clash { picture.with_extension("map.csv") } else { beside });
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

    /// Writes the map, with the standard deviation of each point where there is one.
    pub fn write_maps(&self, map: Points, table: &Table, std: Option<&[f64]>) -> Result<(), Failure> {
        let (ids, labels) = (table.ids.as_deref(), table.labels.as_ref());
        for path in &self.maps {
            lowland_io::write_map(path, map, ids, labels, std).map_err(Failure::write)?;
        }
        if self.to_stdout {
            let mut text = Vec::new();
            lowland_io::write_map_csv(&mut text, map, ids, labels, std).map_err(Failure::write)?;
            std::io::stdout().write_all(&text)?;
        }
        Ok(())
    }

    /// Draws the map.
    pub fn write_pictures(
        &self,
        map: Points,
        table: &Table,
        std: Option<&[f64]>,
        title: &str,
        caption: &str,
    ) -> Result<(), Failure> {
        let options = PictureOptions { title: short(title), caption: caption.into(), ..PictureOptions::default() };
        let labels = table.labels.as_ref();
        let labels = labels.map(|labels| lowland_view::Labels { codes: &labels.codes, names: &labels.names });
        let panel = Panel { color: labels.map_or(Color::Plain, Color::Classes), std, ..Panel::new(map) };
        for path in &self.pictures {
            let format = Format::of_ending(&ending(path)).unwrap_or(Format::Png);
            let file = lowland_view::draw(std::slice::from_ref(&panel), &options, format)?;
            lowland_io::write_bytes(path, &file).map_err(Failure::write)?;
        }
        Ok(())
    }

    /// Whether a page was asked for.
    pub fn has_pages(&self) -> bool {
        !self.pages.is_empty()
    }

    /// Writes the page.
    pub fn write_pages(&self, page: &Page) -> Result<(), Failure> {
        let html = html(page)?;
        self.pages.iter().try_for_each(|path| lowland_io::write_bytes(path, &html).map_err(Failure::write))
    }

    /// `wrote digits.png, digits.html (1.2 MiB), digits.csv`
    pub fn written<'a>(&'a self, more: impl Iterator<Item = &'a PathBuf>) -> String {
        let name = |path: &PathBuf| match std::fs::metadata(path) {
            // A page is sent to people: its size matters.
            Ok(file) if self.pages.contains(path) => format!("{} ({})", path.display(), bytes(file.len())),
            _ => path.display().to_string(),
        };
        let all: Vec<String> = self.files().chain(more).map(name).collect();
        if all.is_empty() { String::new() } else { format!("wrote {}\n", all.join(", ")) }
    }
}

/// Of a path, the name is enough for a title.
pub fn short(title: &str) -> String {
    Path::new(title).file_name().map_or(title.into(), |name| name.to_string_lossy().into_owned())
}
