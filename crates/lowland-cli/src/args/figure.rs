//! The flags for pictures in papers: sizes in millimeters, text, colors, names on the map.

use clap::{Args, ValueEnum};
use lowland_view::{DPI_RANGE, FONT_SIZE_RANGE, SIDE_RANGE};

use super::picture::parse_if;

/// Pixels per inch of a picture whose size is given in millimeters, points or inches.
pub const PRINT_DPI: f32 = 300.0;

/// Sizes, text, colors and names of a picture.
#[derive(Args, Clone, Default)]
#[command(next_help_heading = "Picture")]
pub struct FigureArgs {
    /// Pixels per inch (default: 300 if a length is in mm, cm, in or pt)
    #[arg(long, value_name = "DPI", value_parser = parse_dpi, allow_negative_numbers = true)]
    pub dpi: Option<f32>,
    /// Size of the text in points (default: by the width)
    #[arg(long, value_name = "POINTS", value_parser = parse_font_size, allow_negative_numbers = true)]
    pub font_size: Option<f32>,
    /// Colors: default, okabe-ito, violet-yellow, ember, blues, greens, blue-red, purple-green, or a file of colors
    #[arg(long, value_name = "NAME|FILE")]
    pub palette: Option<String>,
    /// Names on the map: auto, on, off, `islands` (named by words, columns or ids), or columns, from coarse to fine
    #[arg(long, value_name = "WHAT", default_value = "auto")]
    pub map_labels: String,
    /// Where the legend of classes is
    #[arg(long, value_name = "WHERE", value_enum, default_value_t)]
    pub legend: LegendArg,
    /// Letters a, b, c on the maps
    #[arg(long)]
    pub letters: bool,
    /// Draw only the maps and what explains their colors: no title, no caption, no last line
    #[arg(long)]
    pub plain: bool,
    /// Draw a border around the maps: yes or no (default: around several maps)
    #[arg(long, value_name = "YES|NO")]
    pub border: Option<BorderArg>,
    /// Draw a region larger in a corner: from and to of the first dimension, from and to of the second, or a class
    #[arg(long, value_name = "X0,X1,Y0,Y1|CLASS", allow_hyphen_values = true)]
    pub inset: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum BorderArg {
    Yes,
    No,
}

#[derive(Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum LegendArg {
    /// Next to the maps, or nowhere if all names are on the map
    #[default]
    Auto,
    Right,
    Below,
    None,
}

/// A width or height.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Length {
    Pixels(u32),
    Inches(f32),
}

impl Length {
    /// Parses pixels, or a length such as `85mm`, `3.3in`, `8.5cm` or `240pt`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let pixels = format!("from {} to {} pixels", SIDE_RANGE.start(), SIDE_RANGE.end());
        let expected = format!("expected {pixels}, or a length such as 85mm, 8.5cm, 3.3in or 240pt");
        let units = [("mm", 25.4), ("cm", 2.54), ("in", 1.0), ("pt", 72.0), ("px", 0.0)];
        for (unit, per_inch) in units {
            let Some(number) = text.strip_suffix(unit) else { continue };
            if per_inch == 0.0 {
                return parse_if(number.trim(), |side| SIDE_RANGE.contains(side), expected).map(Length::Pixels);
            }
            let valid = |length: &f32| *length > 0.0 && *length < 100.0 * per_inch;
            return parse_if(number.trim(), valid, expected).map(|length: f32| Length::Inches(length / per_inch));
        }
        parse_if(text, |side| SIDE_RANGE.contains(side), expected).map(Length::Pixels)
    }

    /// Number of pixels at a resolution.
    pub fn pixels(self, dpi: f32) -> u32 {
        match self {
            Length::Pixels(pixels) => pixels,
            Length::Inches(inches) => (inches * dpi).round() as u32,
        }
    }
}

fn parse_dpi(text: &str) -> Result<f32, String> {
    let expected = format!("expected from {} to {} pixels per inch", DPI_RANGE.start(), DPI_RANGE.end());
    parse_if(text, |dpi| DPI_RANGE.contains(dpi), expected)
}

fn parse_font_size(text: &str) -> Result<f32, String> {
    let expected = format!("expected from {} to {} points", FONT_SIZE_RANGE.start(), FONT_SIZE_RANGE.end());
    parse_if(text, |size| FONT_SIZE_RANGE.contains(size), expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_pixels_or_have_a_unit() {
        assert_eq!(Length::parse("1600"), Ok(Length::Pixels(1600)));
        assert_eq!(Length::parse("1600px"), Ok(Length::Pixels(1600)));
        assert_eq!(Length::parse("85mm").unwrap().pixels(300.0), 1004);
        assert_eq!(Length::parse("8.5 cm").unwrap().pixels(300.0), 1004);
        assert_eq!(Length::parse("72pt").unwrap().pixels(100.0), 100);
        for wrong in ["", "mm", "-1", "-3mm", "nanmm", "1e9in", "31", "20000", "5 apples"] {
            assert!(Length::parse(wrong).is_err(), "{wrong}");
        }
    }
}
