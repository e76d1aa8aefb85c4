//! The flags that determine how a picture looks.

use std::ffi::OsString;

use clap::{Args, ValueEnum};

use super::figure::{FigureArgs, Length, PRINT_DPI};
use crate::failure::Failure;

/// How a picture looks.
#[derive(Args, Clone)]
#[command(next_help_heading = "Picture")]
pub struct PictureArgs {
    /// Title at the top
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
    /// Text below the maps (default: method, parameters and scores, where a report has them)
    #[arg(long, value_name = "TEXT")]
    pub caption: Option<String>,
    /// Color by `label`, `std`, a column of the map or of --data, or `none` (default: label, if there is one)
    #[arg(long, value_name = "COLUMN")]
    pub color: Option<String>,
    /// Diameter of a point in pixels (default: by the number of points)
    #[arg(long, value_name = "PIXELS", value_parser = parse_point_size, allow_negative_numbers = true)]
    pub point_size: Option<f32>,
    /// Show the standard deviations of the points
    #[arg(long, value_name = "HOW", default_value = "none")]
    pub uncertainty: UncertaintyArg,
    /// Draw only this share of the points, the most certain ones: 0.95 hides the 5 % with the largest std
    #[arg(long, value_name = "SHARE", value_parser = parse_share, allow_negative_numbers = true)]
    pub certain: Option<f64>,
    /// Draw rows of the data as small grayscale images where there is space (square, or WIDTHxHEIGHT)
    #[arg(long, value_name = "WxH", num_args = 0..=1, default_missing_value = "square", require_equals = true)]
    pub images: Option<String>,
    /// Write the ids of the points next to them where there is space
    #[arg(long)]
    pub words: bool,
    /// How points that are flagged as unreliable are drawn, in maps with a column flagged (see `lowland trust`)
    #[arg(long, value_enum, default_value_t = FlaggedArg::Hollow)]
    pub flagged: FlaggedArg,
    /// Do not draw lines between islands that are connected in the data, in maps with columns island and bridge_to
    #[arg(long)]
    pub no_bridges: bool,
    /// Number of maps side by side (default: by their number)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub columns: Option<u32>,
    /// Width in pixels, or with a unit: 85mm, 8.5cm, 3.3in, 240pt (default: 1600)
    #[arg(long, value_name = "LENGTH", value_parser = Length::parse, allow_negative_numbers = true)]
    pub width: Option<Length>,
    /// Height in pixels, or with a unit (default: what the maps need)
    #[arg(long, value_name = "LENGTH", value_parser = Length::parse, allow_negative_numbers = true)]
    pub height: Option<Length>,
    /// Background: light, dark, or a color such as 202830
    #[arg(long, value_name = "COLOR", default_value = "light", value_parser = parse_background)]
    pub background: [u8; 3],
    #[command(flatten)]
    pub figure: FigureArgs,
}

impl PictureArgs {
    /// Pixels per inch, if they are given or a length has a unit.
    pub fn dpi(&self) -> Option<f32> {
        let has_unit =
            [self.width, self.height].into_iter().flatten().any(|length| matches!(length, Length::Inches(_)));
        self.figure.dpi.or(has_unit.then_some(PRINT_DPI))
    }

    /// Width in pixels, if it is given.
    pub fn width(&self) -> Option<u32> {
        self.width.map(|length| length.pixels(self.dpi().unwrap_or(PRINT_DPI)))
    }

    /// Height in pixels, if it is given.
    pub fn height(&self) -> Option<u32> {
        self.height.map(|length| length.pixels(self.dpi().unwrap_or(PRINT_DPI)))
    }
}

const LIGHT: [u8; 3] = [255; 3];

impl Default for PictureArgs {
    /// The look of pictures of commands without these flags.
    fn default() -> Self {
        Self {
            title: None,
            caption: None,
            color: None,
            point_size: None,
            uncertainty: UncertaintyArg::None,
            certain: None,
            images: None,
            words: false,
            flagged: FlaggedArg::Hollow,
            no_bridges: false,
            columns: None,
            width: None,
            height: None,
            background: LIGHT,
            figure: FigureArgs { map_labels: "auto".into(), ..FigureArgs::default() },
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DensityArg {
    Auto,
    On,
    Off,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum UncertaintyArg {
    /// Draw all points the same
    None,
    /// Fade uncertain points
    Fade,
    /// Draw ellipses of one standard deviation, or circles if the map has no covariances (columns cov_x_x, ...)
    Ellipses,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FlaggedArg {
    /// Draw all points the same
    None,
    /// Draw flagged points as rings
    Hollow,
    /// Fade flagged points
    Fade,
}

/// Rejects `--images 8x8`, which would be read as `--images` and a file named `8x8`.
pub fn check_images_flag(arguments: &[OsString]) -> Result<(), Failure> {
    let is_size = |text: &OsString| {
        let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        let sides = text.to_str().and_then(|text| text.split_once('x'));
        sides.is_some_and(|(width, height)| is_number(width) && is_number(height))
    };
    match arguments.windows(2).find(|pair| pair[0] == "--images" && is_size(&pair[1])) {
        Some(pair) => Err(Failure::flag(format!("write --images={}, without a space", pair[1].display()))),
        None => Ok(()),
    }
}

/// Parses a value that satisfies a condition, which `expected` describes.
pub(super) fn parse_if<T: std::str::FromStr>(
    text: &str,
    holds: impl Fn(&T) -> bool,
    expected: String,
) -> Result<T, String> {
    text.parse().ok().filter(holds).ok_or(expected)
}

fn parse_point_size(text: &str) -> Result<f32, String> {
    parse_if(text, |&size| size > 0.0 && size <= 1000.0, "expected more than 0 and at most 1000 pixels".into())
}

fn parse_share(text: &str) -> Result<f64, String> {
    parse_if(text, |&share| share > 0.0 && share <= 1.0, "expected a share above 0 and at most 1, such as 0.95".into())
}

fn parse_background(text: &str) -> Result<[u8; 3], String> {
    match text {
        "light" => Ok(LIGHT),
        "dark" => Ok([0x16, 0x18, 0x1d]),
        _ => {
            let digits = text.strip_prefix('#').unwrap_or(text);
            let valid = digits.len() == 6 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
            let hex = valid.then(|| u32::from_str_radix(digits, 16).ok()).flatten();
            let hex = hex.ok_or("expected light, dark, or six hexadecimal digits such as 202830")?;
            Ok([16, 8, 0].map(|shift| (hex >> shift) as u8))
        }
    }
}
