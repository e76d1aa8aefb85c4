//! Writes a scene as SVG. Text is drawn as outlines, which look the same in every program, below invisible text that can be selected.

mod glyphs;

use std::fmt::Write;

use crate::canvas::encode_png;
use crate::color::Rgb;
use crate::error::Result;
use crate::page::base64;
use crate::raster::{RING_THICKNESS, rasterize_cloud, tile_border};
use crate::scene::{
    Disc, ImageTile, Line, OUTLINE_OPACITY, PointCloud, PointStyle, Rect, Scene, SceneItem, UncertaintyEllipse,
};
use glyphs::GlyphOutlines;

/// Returns the contents of the file.
pub(crate) fn write(scene: &Scene) -> Result<Vec<u8>> {
    let (width, height) = (scene.width, scene.height);
    let length = |pixels: usize| match scene.dpi {
        Some(dpi) => format!("{}mm", format_number(pixels as f32 / dpi * 25.4)),
        None => pixels.to_string(),
    };
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\" viewBox=\"0 0 {width} {height}\" \
         role=\"img\" font-family=\"Inter, Helvetica, Arial, 'Liberation Sans', sans-serif\">\n",
        length(width),
        length(height)
    );
    if !scene.title.is_empty() {
        let _ = writeln!(out, "<title>{}</title>", escape_xml(&scene.title));
    }
    let _ = writeln!(out, "<rect width=\"{width}\" height=\"{height}\" fill=\"{}\"/>", hex(scene.background));
    let mut outlines = GlyphOutlines::default();
    for (at, item) in scene.items.iter().enumerate() {
        match item {
            SceneItem::Cloud(cloud) => match rasterize_cloud(cloud, scene.background) {
                Some(tile) => write_tile(&mut out, &tile)?,
                None => write_points(&mut out, cloud, scene.background, at),
            },
            SceneItem::Boxes(boxes) => boxes.iter().for_each(|&(rect, color)| write_rect(&mut out, rect, color)),
            SceneItem::Discs(discs) => discs.iter().for_each(|&disc| write_circle(&mut out, disc, "")),
            SceneItem::Rings(rings) => rings.iter().for_each(|&disc| write_ring(&mut out, disc)),
            SceneItem::Lines(lines) => lines.iter().for_each(|&line| write_line(&mut out, line)),
            SceneItem::Tiles(tiles) => tiles.iter().try_for_each(|each| write_tile(&mut out, each))?,
            SceneItem::Texts(texts) => texts.iter().for_each(|text| outlines.write_text(&mut out, text)),
        }
    }
    outlines.write_definitions(&mut out);
    out.push_str("</svg>\n");
    Ok(out.into_bytes())
}

/// Escapes text for XML. Characters that XML forbids have been removed before.
fn escape_xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            _ => out.push(letter),
        }
    }
    out
}

fn hex(color: Rgb) -> String {
    let [r, g, b] = color.map(|v| (v.clamp(0.0, 1.0) * 255.0 + 0.5) as u8);
    format!("#{r:02x}{g:02x}{b:02x}")
}

/// Formats a number with up to two decimals.
fn format_number(v: f32) -> String {
    let text = format!("{v:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

fn write_rect(out: &mut String, rect: Rect, color: Rgb) {
    let [x, y, w, h] = [rect.left, rect.top, rect.width(), rect.height()].map(format_number);
    let _ = writeln!(out, "<rect x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\" fill=\"{}\"/>", hex(color));
}

fn write_circle(out: &mut String, Disc { center, radius, color }: Disc, attributes: &str) {
    let [x, y, r] = [center[0], center[1], radius].map(format_number);
    let _ = writeln!(out, "<circle cx=\"{x}\" cy=\"{y}\" r=\"{r}\" fill=\"{}\"{attributes}/>", hex(color));
}

fn write_ring(out: &mut String, Disc { center, radius, color }: Disc) {
    let [x, y, r, w] =
        [center[0], center[1], radius * (1.0 - RING_THICKNESS / 2.0), radius * RING_THICKNESS].map(format_number);
    let stroke = hex(color);
    let _ = writeln!(
        out,
        "<circle cx=\"{x}\" cy=\"{y}\" r=\"{r}\" fill=\"none\" stroke=\"{stroke}\" stroke-width=\"{w}\"/>"
    );
}

fn write_line(out: &mut String, line: Line) {
    let [[ax, ay], [bx, by]] = line.ends.map(|end| end.map(format_number));
    for (width, color) in line.layers() {
        let (width, color) = (format_number(width), hex(color));
        let _ = writeln!(
            out,
            "<line x1=\"{ax}\" y1=\"{ay}\" x2=\"{bx}\" y2=\"{by}\" stroke=\"{color}\" stroke-width=\"{width}\" \
             stroke-linecap=\"round\"/>"
        );
    }
}

fn write_points(out: &mut String, cloud: &PointCloud, background: Rgb, id: usize) {
    let PointStyle::Dots { radius, opacity, halo } = cloud.style else { return };
    let color = |i: usize| cloud.colors[cloud.color_indices[i] as usize];
    if cloud.ellipses.is_some() {
        let [x, y, w, h] =
            [cloud.frame.left, cloud.frame.top, cloud.frame.width(), cloud.frame.height()].map(format_number);
        let _ = writeln!(
            out,
            "<clipPath id=\"frame{id}\"><rect x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\"/></clipPath>\n\
             <g clip-path=\"url(#frame{id})\" stroke-opacity=\"{OUTLINE_OPACITY}\">"
        );
        for UncertaintyEllipse { center, ellipse, color, opacity, outline } in cloud.uncertainty_ellipses() {
            let mut attributes = format!(" fill-opacity=\"{opacity:.3}\"");
            if outline > 0.0 {
                let _ = write!(attributes, " stroke=\"{}\" stroke-width=\"{}\"", hex(color), format_number(outline));
            }
            if ellipse.is_circle() {
                write_circle(out, Disc { center, radius: ellipse.radii[0], color }, &attributes);
                continue;
            }
            let [x, y, major, minor] = [center[0], center[1], ellipse.radii[0], ellipse.radii[1]].map(format_number);
            let (angle, fill) =
                (format_number(ellipse.direction[1].atan2(ellipse.direction[0]).to_degrees()), hex(color));
            let _ = writeln!(
                out,
                "<ellipse cx=\"{x}\" cy=\"{y}\" rx=\"{major}\" ry=\"{minor}\" \
                 transform=\"rotate({angle} {x} {y})\" fill=\"{fill}\"{attributes}/>"
            );
        }
        out.push_str("</g>\n");
    }
    // The halo is a stroke in the background color, painted below the fill.
    let stroke = format!(
        " stroke=\"{}\" stroke-opacity=\"0.9\" stroke-width=\"{}\"",
        hex(background),
        format_number(2.0 * halo)
    );
    let stroke = if halo > 0.0 { format!("{stroke} paint-order=\"stroke\"") } else { String::new() };
    let _ = writeln!(out, "<g fill-opacity=\"{opacity:.2}\"{stroke}>");
    for (i, &center) in cloud.positions.iter().enumerate() {
        let weight = cloud.weights.as_ref().map_or(1.0, |weights| weights[i]);
        let attributes = if weight < 0.995 { format!(" opacity=\"{weight:.2}\"") } else { String::new() };
        write_circle(out, Disc { center, radius, color: color(i) }, &attributes);
    }
    out.push_str("</g>\n");
}

fn write_tile(out: &mut String, tile: &ImageTile) -> Result<()> {
    let file = encode_png(tile.width, &tile.pixels, None)?;
    let [x, y, w, h] = [tile.rect.left, tile.rect.top, tile.rect.width(), tile.rect.height()].map(format_number);
    // Enlarged pixels are not interpolated.
    let style = if tile.width < tile.rect.width() as usize { " style=\"image-rendering:pixelated\"" } else { "" };
    let _ = writeln!(
        out,
        "<image x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\" preserveAspectRatio=\"none\"{style} \
         href=\"data:image/png;base64,{}\"/>",
        base64(&file)
    );
    if let Some(color) = tile.border {
        tile_border(tile.rect).into_iter().for_each(|side| write_rect(out, side, color));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_text_is_escaped() {
        assert_eq!([1.0, 0.5, 12.345, -3.0].map(format_number), ["1", "0.5", "12.35", "-3"]);
        assert_eq!(escape_xml("<a b='c' d=\"e\">&</a>"), "&lt;a b=&#39;c&#39; d=&quot;e&quot;&gt;&amp;&lt;/a&gt;");
    }
}
