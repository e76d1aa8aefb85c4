//! What cannot be drawn is refused by name.

use lowland::{Error, Points, Result};

use crate::{Color, Panel, PictureOptions};

/// Smallest and largest side of a picture, in pixels.
pub const SIDES: std::ops::RangeInclusive<u32> = 32..=16_384;

/// Checks everything that comes from outside.
pub(crate) fn figure(panels: &[Panel], options: &PictureOptions) -> Result<()> {
    for (name, side) in [("width", Some(options.width)), ("height", options.height)] {
        if let Some(side) = side.filter(|side| !SIDES.contains(side)) {
            return Err(bad_side(name, side));
        }
    }
    if panels.is_empty() {
        let remedy = "Give at least one map";
        return Err(Error::TooFewPoints { what: "a picture (maps)".into(), needed: 1, found: 0, remedy });
    }
    if let Some(size) = options.point_size.filter(|&size| !(size > 0.0 && size <= 1000.0)) {
        let allowed = "more than 0 and at most 1000 pixels".into();
        return Err(Error::Parameter { name: "point_size", value: size.to_string(), allowed });
    }
    if !(options.certain > 0.0 && options.certain <= 1.0) {
        let allowed = "a share above 0 and at most 1, such as 0.95".into();
        return Err(Error::Parameter { name: "certain", value: options.certain.to_string(), allowed });
    }
    panels.iter().try_for_each(|panel| self::panel(panel, &panels[0]))
}

/// A side out of range.
pub(crate) fn bad_side(name: &'static str, side: u32) -> Error {
    let allowed = format!("from {} to {} pixels", SIDES.start(), SIDES.end());
    Error::Parameter { name, value: side.to_string(), allowed }
}

fn panel(panel: &Panel, first: &Panel) -> Result<()> {
    finite(panel.map)?;
    let n = panel.map.rows();
    let same = |what: &'static str, found: usize, expected: usize| {
        if found == expected { Ok(()) } else { Err(Error::Shape { what, expected, found }) }
    };
    match panel.color {
        Color::Plain => {}
        Color::Classes(labels) => same("labels of a picture", labels.codes.len(), n)?,
        Color::Values { values, .. } => same("values of a picture", values.len(), n)?,
    }
    if std::mem::discriminant(&panel.color) != std::mem::discriminant(&first.color) {
        let allowed = "the same kind of colours for all maps of a picture".into();
        return Err(Error::Parameter { name: "color", value: "different kinds".into(), allowed });
    }
    if let Some(std) = panel.std {
        same("standard deviations of a picture", std.len(), n)?;
        standard_deviations(std)?;
    }
    if let Some(all) = panel.covariances {
        same("covariances of a picture", all.len(), n.saturating_mul(panel.map.dim().pow(2)))?;
        covariances(all, panel.map.dim())?;
    }
    if let Some(words) = panel.words {
        same("words of a picture", words.len(), n)?;
    }
    if let Some(images) = panel.images {
        let Some(pixels) = images.width.checked_mul(images.height).filter(|&pixels| pixels > 0) else {
            let value = format!("{}x{}", images.width, images.height);
            return Err(Error::Parameter { name: "images", value, allowed: "at least 1x1".into() });
        };
        same("pixels of the images of a picture", images.values.len(), n.saturating_mul(pixels))?;
        if let Some(at) = images.values.iter().position(|v| !v.is_finite()) {
            let (row, column, value) = (at / pixels, at % pixels, images.values[at]);
            return Err(Error::NotFinite { row, column, value, count: 1 });
        }
    }
    Ok(())
}

/// Refuses what cannot be a standard deviation, naming the first.
pub(crate) fn standard_deviations(std: &[f64]) -> Result<()> {
    finite(Points::new(std, 1)?)?;
    match std.iter().position(|&value| value < 0.0) {
        None => Ok(()),
        Some(row) => {
            let reason = format!("that of row {row} is {}, and none is below zero", std[row]);
            Err(Error::Format { what: "standard deviations", reason })
        }
    }
}

/// Refuses what cannot be covariances, naming the first row.
pub(crate) fn covariances(all: &[f64], dim: usize) -> Result<()> {
    finite(Points::new(all, dim * dim)?)?;
    let bad = |own: &[f64]| own.iter().step_by(dim + 1).any(|&variance| variance < 0.0);
    match all.chunks_exact(dim * dim).position(bad) {
        None => Ok(()),
        Some(row) => {
            let reason = format!("row {row} has a variance below zero");
            Err(Error::Format { what: "covariances", reason })
        }
    }
}

/// Refuses NaN and infinities, naming the first.
pub(crate) fn finite(map: Points) -> Result<()> {
    let mut bad = map.values().iter().enumerate().filter(|(_, v)| !v.is_finite());
    if let Some((at, &value)) = bad.next() {
        let (row, column, count) = (at / map.dim(), at % map.dim(), 1 + bad.count());
        return Err(Error::NotFinite { row, column, value: value as f32, count });
    }
    Ok(())
}
