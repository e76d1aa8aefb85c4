//! Draws figures as pictures.

use std::collections::BTreeSet;
use std::path::PathBuf;

use lowland::{Data, Labels};
use lowland_view::islands::{IslandContent, find_islands, name_islands};
use lowland_view::{
    Density, FlaggedPoints, Images, LegendPlace, MapLabels, MapPanel, Palette, PictureFormat, PictureOptions,
    SIDE_RANGE, Uncertainty, class_region, draw_picture,
};

use super::coloring::Coloring;
use super::figure::{Figure, FigureMap};
use super::output_log::OutputLog;
use crate::args::{BorderArg, FlaggedArg, LegendArg, PictureArgs, UncertaintyArg};
use crate::console::Console;
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
    for (flag, pixels) in [("--width", style.width()), ("--height", style.height())] {
        if let Some(pixels) = pixels.filter(|pixels| !SIDE_RANGE.contains(pixels)) {
            let (least, most) = (SIDE_RANGE.start(), SIDE_RANGE.end());
            return Err(Failure::flag(format!("{flag}: {pixels} pixels; expected from {least} to {most} (see --dpi)")));
        }
    }
    let coloring = Coloring::new(figure, style.color.as_deref())?;
    images(figure, style)?;
    palette(style)?;
    label_levels(figure, style)?;
    parse_inset(style, &coloring)?;
    Ok(())
}

/// Estimates the bytes of a picture of `maps` maps of `points` points.
pub fn memory(style: &PictureArgs, points: usize, maps: usize) -> u64 {
    let width = u64::from(style.width().unwrap_or(PictureOptions::default().width));
    let height = style.height().map_or(width, u64::from);
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
    console: &mut Console,
    log: &mut OutputLog,
) -> Result<(), Failure> {
    if files.is_empty() {
        return Ok(());
    }
    let (coloring, images) = (Coloring::new(figure, style.color.as_deref())?, images(figure, style)?);
    let levels = label_levels(figure, style)?;
    // Without other colors, points have those of the names on the map.
    let coloring = match (coloring, &style.color) {
        (Coloring::None, None) if !levels.is_empty() => {
            Coloring::Classes(levels.iter().filter_map(|levels| levels.last().cloned()).collect())
        }
        (coloring, _) => coloring,
    };
    let maps = figure.maps.iter().enumerate();
    let panels: Vec<MapPanel> = maps
        .map(|(at, each)| MapPanel {
            map: &each.map,
            title: if figure.maps.len() > 1 { each.name.clone() } else { String::new() },
            color: coloring.map_color(at),
            label_levels: levels.get(at).map_or(Vec::new(), |levels| levels.iter().collect()),
            show_ids: style.words,
            images,
        })
        .collect();
    let palette = palette(style)?;
    let options = PictureOptions {
        palette,
        inset: inset_bounds(figure, style, &coloring)?,
        ..picture_options(figure, style, density)
    };
    let mut missing = BTreeSet::new();
    for (path, format) in files {
        match draw_picture(&panels, &options, *format) {
            Ok(picture) => {
                log.write(path, &picture.file);
                missing.extend(picture.missing_characters);
            }
            Err(error) => log.fail(error.into()),
        }
    }
    if let Some(first) = missing.first() {
        let known =
            missing.iter().take(8).map(|letter| format!("{letter} (U+{:04X})", *letter as u32)).collect::<Vec<_>>();
        let more = if missing.len() > known.len() {
            format!(" and {} more", missing.len() - known.len())
        } else {
            String::new()
        };
        let remedy = if is_ideograph(*first) { ", such as Noto Sans CJK (Debian: fonts-noto-cjk)" } else { "" };
        console.warn(&format!(
            "no font has {}{more}, which the picture shows as boxes: install a font with these characters{remedy}",
            known.join(", ")
        ));
    }
    Ok(())
}

fn picture_options(figure: &Figure, style: &PictureArgs, density: Density) -> PictureOptions {
    let (default, extra) = (PictureOptions::default(), &style.figure);
    PictureOptions {
        width: style.width().unwrap_or(default.width),
        height: style.height(),
        dpi: style.dpi(),
        font_size: extra.font_size,
        // Without its own text, a plain picture has none.
        title: style.title.clone().unwrap_or_else(|| if extra.plain { String::new() } else { figure.title.clone() }),
        caption: style
            .caption
            .clone()
            .unwrap_or_else(|| if extra.plain { String::new() } else { figure.caption.clone() }),
        note: !extra.plain,
        border: extra.border.map(|border| border == BorderArg::Yes),
        letters: extra.letters,
        legend: match extra.legend {
            LegendArg::Auto => LegendPlace::Auto,
            LegendArg::Right => LegendPlace::Right,
            LegendArg::Below => LegendPlace::Below,
            LegendArg::None => LegendPlace::None,
        },
        map_labels: match extra.map_labels.as_str() {
            "off" => MapLabels::Off,
            "auto" => MapLabels::Auto,
            _ => MapLabels::On,
        },
        table: figure.scores.clone().filter(|_| !extra.plain),
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
        ..default
    }
}

/// The palette that the flags name: a built-in one, or a file.
pub fn palette(style: &PictureArgs) -> Result<Palette, Failure> {
    let Some(name) = &style.figure.palette else { return Ok(Palette::default()) };
    if let Some(palette) = Palette::named(name) {
        return Ok(palette);
    }
    let names = || Palette::names().collect::<Vec<_>>().join(", ");
    let text = std::fs::read_to_string(name).map_err(|error| {
        Failure::flag(format!("--palette {name}: neither a palette ({}) nor a file that can be read: {error}", names()))
    })?;
    Palette::parse(&text).map_err(|error| Failure::flag(format!("--palette {name}: {error}")))
}

/// The names to write on each map besides those of its classes, from coarse to fine.
pub fn label_levels(figure: &Figure, style: &PictureArgs) -> Result<Vec<Vec<Labels>>, Failure> {
    let what = style.figure.map_labels.as_str();
    if ["auto", "on", "off"].contains(&what) {
        return Ok(Vec::new());
    }
    let levels = |each: &FigureMap| -> Result<Vec<Labels>, Failure> {
        let level = |name: &str| match name {
            "islands" => named_islands(figure, each),
            "label" if each.map.labels.is_some() => Ok(each.map.labels.clone().unwrap_or_default()),
            name => {
                let cells = each.map.columns.iter().find(|(known, _)| known == name);
                cells.map(|(_, cells)| Labels::new(cells)).ok_or_else(|| {
                    let known = each.map.columns.iter().map(|(name, _)| name.as_str());
                    let known: Vec<&str> = ["auto", "on", "off", "islands", "label"].into_iter().chain(known).collect();
                    Failure::flag(format!(
                        "--map-labels {name}: the map has no such column; expected {}",
                        known.join(", ")
                    ))
                })
            }
        };
        what.split(',').map(level).collect()
    };
    figure.maps.iter().map(levels).collect()
}

/// The islands of a map, named by words, by columns or by ids.
fn named_islands(figure: &Figure, each: &FigureMap) -> Result<Labels, Failure> {
    let table = figure.data.as_ref();
    let content = match table.map(|table| (&table.data, &table.columns)) {
        Some((Data::Text(lines), _)) => Some(IslandContent::Texts(lines)),
        Some((Data::Dense(rows), Some(columns))) if columns.len() == rows.dim() => {
            Some(IslandContent::Columns(columns, rows))
        }
        _ => each.map.ids.as_deref().map(IslandContent::Ids),
    };
    let content = content.ok_or_else(|| {
        Failure::flag(
            "--map-labels islands: nothing is known that could name them: texts, named columns (see --data) or ids",
        )
    })?;
    let map = each.map.points();
    Ok(name_islands(map, &find_islands(map), content))
}

/// A region to draw larger.
enum InsetRegion {
    /// From and to in the first dimension, from and to in the second.
    Bounds([f64; 4]),
    /// That of a class, by its code.
    Class(usize),
}

/// Parses the region to draw larger: four numbers, or the name of a class.
fn parse_inset(style: &PictureArgs, coloring: &Coloring) -> Result<Option<InsetRegion>, Failure> {
    let Some(text) = &style.figure.inset else { return Ok(None) };
    let refuse = |reason: &str| Err(Failure::flag(format!("--inset {text}: {reason}")));
    let numbers: Option<Vec<f64>> = text.split(',').map(|part| part.trim().parse().ok()).collect();
    if let Some(&[x0, x1, y0, y1]) = numbers.as_deref() {
        if x0 < x1 && y0 < y1 && [x0, x1, y0, y1].into_iter().all(f64::is_finite) {
            return Ok(Some(InsetRegion::Bounds([x0, x1, y0, y1])));
        }
        return refuse("expected X0,X1,Y0,Y1 with X0 < X1 and Y0 < Y1");
    }
    let Coloring::Classes(labels) = coloring else {
        return refuse("neither X0,X1,Y0,Y1 nor a class, because points are not colored by class");
    };
    match labels.first().and_then(|labels| labels.names.iter().position(|name| name == text)) {
        Some(code) => Ok(Some(InsetRegion::Class(code))),
        None => refuse("neither X0,X1,Y0,Y1 nor a class of the map"),
    }
}

/// Returns the bounds of the region to draw larger in the coordinates of the first map, which the others are aligned to.
fn inset_bounds(figure: &Figure, style: &PictureArgs, coloring: &Coloring) -> Result<Option<[f64; 4]>, Failure> {
    let code = match parse_inset(style, coloring)? {
        None => return Ok(None),
        Some(InsetRegion::Bounds(bounds)) => return Ok(Some(bounds)),
        Some(InsetRegion::Class(code)) => code,
    };
    let region = match coloring {
        Coloring::Classes(labels) => class_region(&figure.maps[0].map, &labels[0], code as u32),
        _ => None,
    };
    let nothing = || Failure::flag("--inset: all points of the class are far outside, or the map has one dimension");
    region.map(Some).ok_or_else(nothing)
}

fn is_ideograph(letter: char) -> bool {
    matches!(letter, '\u{2e80}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}' | '\u{20000}'..='\u{3fffd}')
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
