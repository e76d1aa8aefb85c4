//! Writes a scene as SVG: shapes, and text that can be searched and changed.

use std::fmt::Write;

use lowland::Result;

use crate::canvas::png_file;
use crate::color::Rgb;
use crate::letters::CAPITAL;
use crate::page::base64;
use crate::raster::{self, HALO, RING, tile_border};
use crate::scene::{Anchor, Cloud, Disc, Doubt, Item, OUTLINE, Rect, Scene, Style, Text, Tile};

/// The file.
pub(crate) fn write(scene: &Scene) -> Result<Vec<u8>> {
    let (width, height) = (scene.width, scene.height);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         role=\"img\" font-family=\"Helvetica, Arial, 'Liberation Sans', sans-serif\">\n"
    );
    if !scene.title.is_empty() {
        let _ = writeln!(out, "<title>{}</title>", escaped(&scene.title));
    }
    let _ = writeln!(out, "<rect width=\"{width}\" height=\"{height}\" fill=\"{}\"/>", hex(scene.ground));
    for (at, item) in scene.items.iter().enumerate() {
        match item {
            Item::Cloud(cloud) => match raster::pixels(cloud, scene.ground) {
                Some(pixels) => tile(&mut out, &pixels)?,
                None => points(&mut out, cloud, scene.ground, at),
            },
            Item::Boxes(boxes) => boxes.iter().for_each(|&(place, color)| rect(&mut out, place, color)),
            Item::Discs(discs) => discs.iter().for_each(|&disc| circle(&mut out, disc, "")),
            Item::Rings(rings) => rings.iter().for_each(|&disc| ring(&mut out, disc)),
            Item::Tiles(tiles) => tiles.iter().try_for_each(|each| tile(&mut out, each))?,
            Item::Texts(texts) => texts.iter().for_each(|line| text(&mut out, line)),
        }
    }
    out.push_str("</svg>\n");
    Ok(out.into_bytes())
}

/// Text as XML wants it; what XML cannot hold was left out before.
fn escaped(text: &str) -> String {
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

/// Hundredths of a pixel, without zeros at the end.
fn number(v: f32) -> String {
    let text = format!("{v:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

fn rect(out: &mut String, place: Rect, color: Rgb) {
    let [x, y, w, h] = [place.left, place.top, place.width(), place.height()].map(number);
    let _ = writeln!(out, "<rect x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\" fill=\"{}\"/>", hex(color));
}

fn circle(out: &mut String, Disc { at, radius, color }: Disc, more: &str) {
    let [x, y, r] = [at[0], at[1], radius].map(number);
    let _ = writeln!(out, "<circle cx=\"{x}\" cy=\"{y}\" r=\"{r}\" fill=\"{}\"{more}/>", hex(color));
}

fn ring(out: &mut String, Disc { at, radius, color }: Disc) {
    let [x, y, r, w] = [at[0], at[1], radius * (1.0 - RING / 2.0), radius * RING].map(number);
    let stroke = hex(color);
    let _ = writeln!(
        out,
        "<circle cx=\"{x}\" cy=\"{y}\" r=\"{r}\" fill=\"none\" stroke=\"{stroke}\" stroke-width=\"{w}\"/>"
    );
}

fn points(out: &mut String, cloud: &Cloud, ground: Rgb, name: usize) {
    let Style::Dots { radius, opacity, halo } = cloud.style else { return };
    let color = |i: usize| cloud.colors[cloud.index[i] as usize];
    if cloud.ellipses.is_some() {
        let [x, y, w, h] = [cloud.frame.left, cloud.frame.top, cloud.frame.width(), cloud.frame.height()].map(number);
        let _ = writeln!(
            out,
            "<clipPath id=\"frame{name}\"><rect x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\"/></clipPath>\n\
             <g clip-path=\"url(#frame{name})\" stroke-opacity=\"{OUTLINE}\">"
        );
        for Doubt { at, ellipse, color, opacity, outline } in cloud.doubts() {
            let mut more = format!(" fill-opacity=\"{opacity:.3}\"");
            if outline > 0.0 {
                let _ = write!(more, " stroke=\"{}\" stroke-width=\"{}\"", hex(color), number(outline));
            }
            if ellipse.is_circle() {
                circle(out, Disc { at, radius: ellipse.reach[0], color }, &more);
                continue;
            }
            let [x, y, long, wide] = [at[0], at[1], ellipse.reach[0], ellipse.reach[1]].map(number);
            let (angle, fill) = (number(ellipse.along[1].atan2(ellipse.along[0]).to_degrees()), hex(color));
            let _ = writeln!(
                out,
                "<ellipse cx=\"{x}\" cy=\"{y}\" rx=\"{long}\" ry=\"{wide}\" \
                 transform=\"rotate({angle} {x} {y})\" fill=\"{fill}\"{more}/>"
            );
        }
        out.push_str("</g>\n");
    }
    // A border of the ground's colour outside of the dot is a dot below it.
    let edge = format!(" stroke=\"{}\" stroke-opacity=\"0.9\" stroke-width=\"{}\"", hex(ground), number(2.0 * halo));
    let edge = if halo > 0.0 { format!("{edge} paint-order=\"stroke\"") } else { String::new() };
    let _ = writeln!(out, "<g fill-opacity=\"{opacity:.2}\"{edge}>");
    for (i, &at) in cloud.at.iter().enumerate() {
        let weight = cloud.weight.as_ref().map_or(1.0, |weight| weight[i]);
        let faint = if weight < 0.995 { format!(" opacity=\"{weight:.2}\"") } else { String::new() };
        circle(out, Disc { at, radius, color: color(i) }, &faint);
    }
    out.push_str("</g>\n");
}

fn tile(out: &mut String, tile: &Tile) -> Result<()> {
    let file = png_file(tile.width, &tile.pixels)?;
    let [x, y, w, h] = [tile.place.left, tile.place.top, tile.place.width(), tile.place.height()].map(number);
    // Pixels that are made larger stay pixels.
    let style = if tile.width < tile.place.width() as usize { " style=\"image-rendering:pixelated\"" } else { "" };
    let _ = writeln!(
        out,
        "<image x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\" preserveAspectRatio=\"none\"{style} \
         href=\"data:image/png;base64,{}\"/>",
        base64(&file)
    );
    if let Some(color) = tile.border {
        tile_border(tile.place).into_iter().for_each(|side| rect(out, side, color));
    }
    Ok(())
}

fn text(out: &mut String, text: &Text) {
    let [x, y, size] = [text.at[0], text.at[1], text.height / CAPITAL].map(number);
    let anchor = match text.anchor {
        Anchor::Start => "",
        Anchor::Middle => " text-anchor=\"middle\"",
        Anchor::End => " text-anchor=\"end\"",
    };
    let bold = if text.bold { " font-weight=\"bold\"" } else { "" };
    let halo = text.halo.map_or(String::new(), |halo| {
        let wide = number(2.0 * HALO * text.height);
        format!(
            " stroke=\"{}\" stroke-width=\"{wide}\" stroke-opacity=\"0.85\" stroke-linejoin=\"round\" paint-order=\"stroke\"",
            hex(halo)
        )
    });
    let (color, content) = (hex(text.color), escaped(&text.content));
    let _ = writeln!(
        out,
        "<text x=\"{x}\" y=\"{y}\" font-size=\"{size}\" fill=\"{color}\"{anchor}{bold}{halo}>{content}</text>"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_text_are_written_as_short_and_as_safe_as_can_be() {
        assert_eq!([1.0, 0.5, 12.345, -3.0].map(number), ["1", "0.5", "12.35", "-3"]);
        assert_eq!(escaped("<a b='c' d=\"e\">&</a>"), "&lt;a b=&#39;c&#39; d=&quot;e&quot;&gt;&amp;&lt;/a&gt;");
    }
}
