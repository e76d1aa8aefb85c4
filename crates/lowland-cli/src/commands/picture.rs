//! Draws figures as pictures.

use std::path::PathBuf;

use lowland::Data;
use lowland_view::{
    Density, FlaggedPoints, Images, MapPanel, PictureFormat, PictureOptions, Uncertainty, draw_picture,
};

use super::coloring::Coloring;
use super::figure::Figure;
use super::output_log::OutputLog;
use crate::args::{FlaggedArg, PictureArgs, UncertaintyArg};
use crate::failure::Failure;

/// Rejects flags that need something that the maps and their data do not have.
pub fn check(figure: &Figure, style: &PictureArgs) -> Result<(), Failure> {
    let has_std = figure.maps.iter().any(|each| each.map.std.is_some());
    let flags = [("--uncertainty", style.uncertainty != UncertaintyArg::None), ("--certain", style.certain.is_some())];
    if let Some((flag, _)) = flags.iter().find(|(_, given)| *given && !has_std) {
        return Err(Failure::flag(format!("{flag}: the map has no column std; lvm, lllvm and gplvm compute one")));
    }
    if style.words && figure.maps.iter().any(|each| each.map.ids.is_none()) {
        return Err(Failure::flag("--words: the points have no names (a column id; see --data)"));
    }
    Coloring::new(figure, style.color.as_deref())?;
    images(figure, style)?;
    Ok(())
}

/// Estimates the bytes of a picture of `maps` maps of `points` points.
pub fn memory(style: &PictureArgs, points: usize, maps: usize) -> u64 {
    let width = u64::from(style.width.unwrap_or(PictureOptions::default().width));
    let height = style.height.map_or(width, u64::from);
    // Colors in single precision, sums of a density, and the encoded file; positions, colors and weights of the points.
    let pixels = width.saturating_mul(height).saturating_mul(32);
    pixels.saturating_add((points as u64).saturating_mul(80).saturating_mul(maps as u64))
}

/// Draws the maps of a figure and writes the pictures.
pub fn write(
    files: &[(PathBuf, PictureFormat)],
    figure: &Figure,
    style: &PictureArgs,
    density: Density,
    log: &mut OutputLog,
) -> Result<(), Failure> {
    if files.is_empty() {
        return Ok(());
    }
    let (coloring, images) = (Coloring::new(figure, style.color.as_deref())?, images(figure, style)?);
    let maps = figure.maps.iter().enumerate();
    let panels: Vec<MapPanel> = maps
        .map(|(at, each)| MapPanel {
            map: &each.map,
            title: if figure.maps.len() > 1 { each.name.clone() } else { String::new() },
            color: coloring.map_color(at),
            show_ids: style.words,
            images,
        })
        .collect();
    let options = picture_options(figure, style, density);
    for (path, format) in files {
        match draw_picture(&panels, &options, *format) {
            Ok(file) => log.write(path, &file),
            Err(error) => log.fail(error.into()),
        }
    }
    Ok(())
}

fn picture_options(figure: &Figure, style: &PictureArgs, density: Density) -> PictureOptions {
    let default = PictureOptions::default();
    PictureOptions {
        width: style.width.unwrap_or(default.width),
        height: style.height,
        title: style.title.clone().unwrap_or_else(|| figure.title.clone()),
        caption: style.caption.clone().unwrap_or_else(|| figure.caption.clone()),
        table: figure.scores.clone(),
        columns: style.columns.map(|columns| columns as usize),
        point_size: style.point_size,
        density,
        uncertainty: match style.uncertainty {
            UncertaintyArg::None => Uncertainty::None,
            UncertaintyArg::Fade => Uncertainty::Fade,
            UncertaintyArg::Ellipses => Uncertainty::Ellipses,
        },
        flagged: match style.flagged {
            FlaggedArg::None => FlaggedPoints::None,
            FlaggedArg::Hollow => FlaggedPoints::Hollow,
            FlaggedArg::Fade => FlaggedPoints::Fade,
        },
        bridges: !style.no_bridges,
        certain: style.certain.unwrap_or(default.certain),
        background: style.background,
    }
}

/// The rows of the data as images, if the flags ask for them.
pub fn images<'a>(figure: &'a Figure, style: &PictureArgs) -> Result<Option<Images<'a>>, Failure> {
    let Some(size) = &style.images else { return Ok(None) };
    let Some(Data::Dense(rows)) = figure.data.as_ref().map(|table| &table.data) else {
        return Err(Failure::flag("--images: name the images with --data INPUT (dense rows of pixels)"));
    };
    let (width, height) = image_size(size, rows.dim())?;
    Ok(Some(Images { values: rows.values(), width, height }))
}

/// The size of images with `dim` pixels, from `square` or a size such as `28x28`.
fn image_size(text: &str, dim: usize) -> Result<(usize, usize), Failure> {
    let size = match text.split_once('x') {
        Some((width, height)) => width.parse().ok().zip(height.parse().ok()),
        None if text == "square" => Some((dim.isqrt(), dim.isqrt())),
        None => None,
    };
    let Some((width, height)) = size else {
        return Err(Failure::flag(format!("--images={text}: expected WIDTHxHEIGHT, such as 28x28")));
    };
    if usize::checked_mul(width, height) != Some(dim) || dim == 0 {
        return Err(Failure::flag(format!(
            "--images: rows of {dim} columns are not images of {width} x {height}; use --images=WIDTHxHEIGHT"
        )));
    }
    Ok((width, height))
}
