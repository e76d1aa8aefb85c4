//! From maps to the file of a picture.

use std::path::{Path, PathBuf};

use lowland::Data;
use lowland_view::{Density, Images, MapPanel, PictureFormat, PictureOptions, TextTable, Uncertainty, draw_picture};

use super::shown::{Coloring, Shown};
use super::written::Written;
use crate::failure::Failure;
use crate::picture_args::{PictureArgs, UncertaintyArg};

/// The ending of a file, in small letters.
pub fn ending(path: &Path) -> String {
    path.extension().and_then(|ending| ending.to_str()).unwrap_or("").to_ascii_lowercase()
}

/// The formats of the files asked for.
pub fn formats(paths: &[PathBuf]) -> Result<Vec<(&PathBuf, PictureFormat)>, Failure> {
    let refuse = |path: &PathBuf| {
        let known = PictureFormat::EXTENSIONS.join(" .");
        Failure::flag(format!(
            "--out {}: the ending says what is written: .{known} (a picture), .html (a page)",
            path.display()
        ))
    };
    paths
        .iter()
        .map(|path| Ok((path, PictureFormat::from_extension(&ending(path)).ok_or_else(|| refuse(path))?)))
        .collect()
}

/// What the flags ask for, found in the maps and their data.
struct Asked<'a> {
    coloring: Coloring,
    images: Option<Images<'a>>,
    /// For each map.
    words: Vec<Option<&'a [String]>>,
}

impl<'a> Asked<'a> {
    fn new(shown: &'a Shown, args: &PictureArgs) -> Result<Self, Failure> {
        let known = shown.maps.iter().any(|each| each.map.std.is_some());
        for (flag, asked) in
            [("--uncertainty", args.uncertainty != UncertaintyArg::None), ("--certain", args.certain.is_some())]
        {
            if asked && !known {
                return Err(Failure::flag(format!("{flag}: the map has no column std; lvm, lllvm and gplvm give one")));
            }
        }
        let words = |at| if args.words { words(shown, at).map(Some) } else { Ok(None) };
        Ok(Self {
            coloring: Coloring::new(shown, args.color.as_deref())?,
            images: args.images.as_deref().map(|size| images(shown, size)).transpose()?,
            words: (0..shown.maps.len()).map(words).collect::<Result<_, _>>()?,
        })
    }
}

/// Refuses flags that ask for what the maps and their data do not have.
pub fn check(shown: &Shown, args: &PictureArgs) -> Result<(), Failure> {
    Asked::new(shown, args).map(drop)
}

/// Draws the maps and writes the files.
pub fn write(
    files: &[(&PathBuf, PictureFormat)],
    shown: &Shown,
    args: &PictureArgs,
    density: Density,
    table: Option<TextTable>,
    written: &mut Written,
) {
    let Asked { coloring, images, words } = match Asked::new(shown, args) {
        Ok(asked) => asked,
        Err(failure) => return written.fail(failure),
    };
    let panels: Vec<MapPanel> = shown
        .maps
        .iter()
        .enumerate()
        .map(|(at, each)| MapPanel {
            map: each.map.map.points(),
            title: if shown.maps.len() > 1 { each.name.clone() } else { String::new() },
            color: coloring.of_map(at),
            std: each.map.std.as_deref(),
            covariances: each.map.covariances.as_deref(),
            words: words[at],
            images,
        })
        .collect();
    let options = PictureOptions { density, table, ..options(shown, args) };
    for (path, format) in files {
        match draw_picture(&panels, &options, *format) {
            Ok(file) => written.bytes(path, &file),
            Err(error) => written.fail(error.into()),
        }
    }
}

/// The look that the flags ask for.
fn options(shown: &Shown, args: &PictureArgs) -> PictureOptions {
    let usual = PictureOptions::default();
    PictureOptions {
        width: args.width.unwrap_or(usual.width),
        height: args.height,
        title: args.title.clone().unwrap_or_else(|| shown.title.clone()),
        caption: args.caption.clone().unwrap_or_else(|| shown.caption.clone()),
        columns: args.columns.map(|columns| columns as usize),
        point_size: args.point_size,
        uncertainty: match args.uncertainty {
            UncertaintyArg::None => Uncertainty::None,
            UncertaintyArg::Fade => Uncertainty::Fade,
            UncertaintyArg::Ellipses => Uncertainty::Ellipses,
        },
        certain: args.certain.unwrap_or(usual.certain),
        background: args.background,
        ..usual
    }
}

/// The ids of a map, or else of the data.
fn words(shown: &Shown, at: usize) -> Result<&[String], Failure> {
    let ids = shown.maps[at].map.ids.as_ref().or_else(|| shown.table.as_ref()?.ids.as_ref());
    ids.map(Vec::as_slice).ok_or_else(|| Failure::flag("--words: the points have no names (a column id; see --data)"))
}

/// The rows of the data as images.
pub fn images<'a>(shown: &'a Shown, size: &str) -> Result<Images<'a>, Failure> {
    let Some(Data::Dense(rows)) = shown.table.as_ref().map(|table| &table.data) else {
        return Err(Failure::flag("--images: name the images with --data INPUT (dense rows of pixels)"));
    };
    let (width, height) = image_size(size, rows.dim())?;
    Ok(Images { values: rows.values(), width, height })
}

/// The size of the images that rows of `dim` numbers are: `square`, or such as `28x28`.
fn image_size(words: &str, dim: usize) -> Result<(usize, usize), Failure> {
    let size = match words.split_once('x') {
        Some((width, height)) => width.parse().ok().zip(height.parse().ok()),
        None if words == "square" => Some((dim.isqrt(), dim.isqrt())),
        None => None,
    };
    let Some((width, height)) = size else {
        return Err(Failure::flag(format!("--images={words}: expected WIDTHxHEIGHT, such as 28x28")));
    };
    if usize::checked_mul(width, height) != Some(dim) || dim == 0 {
        return Err(Failure::flag(format!(
            "--images: rows of {dim} columns are not images of {width} x {height}; say --images=WIDTHxHEIGHT"
        )));
    }
    Ok((width, height))
}
