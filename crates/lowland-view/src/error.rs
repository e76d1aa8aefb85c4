//! The error type of this crate.

use lowland::message::{RustTerms, Terms};

use crate::{DPI_RANGE, FONT_SIZE_RANGE, SIDE_RANGE};

/// Result of drawing a picture or rendering a page.
pub type Result<T> = std::result::Result<T, PictureError>;

/// Reasons why a picture, a chart or a page cannot be produced.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PictureError {
    /// The data are invalid: values that are not finite, or arrays whose lengths do not match.
    #[error(transparent)]
    Data(#[from] lowland::Error),

    /// A picture was requested without any map.
    #[error("a picture needs at least one map")]
    NoMaps,

    /// The width or the height of a picture is out of range.
    #[error("{}", side_out_of_range(side, *pixels, &RustTerms))]
    Side {
        /// `width` or `height`.
        side: &'static str,
        /// The requested or computed length.
        pixels: u32,
    },

    /// The diameter of a point is out of range.
    #[error("{}", point_size_out_of_range(*.0, &RustTerms))]
    PointSize(f32),

    /// The number of pixels per inch is out of range.
    #[error("{}", resolution_out_of_range(*.0, &RustTerms))]
    Resolution(f32),

    /// The size of the text is out of range.
    #[error("{}", font_size_out_of_range(*.0, &RustTerms))]
    FontSize(f32),

    /// The region of an inset is empty or not finite.
    #[error("{}", empty_inset(*.0, &RustTerms))]
    Inset([f64; 4]),

    /// The fraction of points to draw is out of range.
    #[error("{}", share_out_of_range(*.0, &RustTerms))]
    CertainShare(f64),

    /// The images at the points have no pixels.
    #[error("{}", empty_images(*width, *height, &RustTerms))]
    ImageSize {
        /// Width of an image in pixels.
        width: usize,
        /// Height of an image in pixels.
        height: usize,
    },

    /// The maps of a picture are colored by different kinds of data.
    #[error("all maps of a picture must be colored by the same kind of data")]
    MixedColors,

    /// A standard deviation is negative.
    #[error("the standard deviation of row {row} is {value}; standard deviations must not be negative")]
    NegativeStd {
        /// First row with a negative standard deviation.
        row: usize,
        /// The standard deviation of that row.
        value: f64,
    },

    /// A covariance matrix has a negative variance.
    #[error("the covariance matrix of row {row} has the variance {value}; variances must not be negative")]
    NegativeVariance {
        /// First row with a negative variance.
        row: usize,
        /// The first negative variance of that row.
        value: f64,
    },

    /// A chart has no points, or points that are not finite.
    #[error("a chart needs at least one point, and all points must be finite")]
    ChartPoints,

    /// The width or the height of a chart is out of range.
    #[error("chart of {width} x {height} pixels: from 200 x 150 to 8192 x 8192 pixels")]
    ChartSize {
        /// Requested width in pixels.
        width: u32,
        /// Requested height in pixels.
        height: u32,
    },

    /// A line of a file of colors is not a color.
    #[error(
        "line {line} of the palette, `{text}`: expected a color such as #1f77b4, or a class and its color such as B cell = #1f77b4"
    )]
    PaletteLine {
        /// Number of the line, from 1.
        line: usize,
        /// The line.
        text: String,
    },

    /// A file of colors has none.
    #[error("the palette has no colors: expected a color such as #1f77b4 on each line")]
    EmptyPalette,

    /// A page is to be colored by a column that it does not have.
    #[error("the page is to be colored by column {column}, but it has {columns} columns")]
    MissingColumn {
        /// Index of the requested column.
        column: usize,
        /// Number of columns of the page.
        columns: usize,
    },

    /// The file could not be encoded.
    #[error("cannot encode the picture: {reason}")]
    Encoding {
        /// Message of the encoder.
        reason: String,
    },
}

impl PictureError {
    /// The message in the words of an interface.
    pub fn describe(&self, terms: &dyn Terms) -> String {
        match self {
            PictureError::Data(error) => error.describe(terms),
            PictureError::Side { side, pixels } => side_out_of_range(side, *pixels, terms),
            PictureError::PointSize(size) => point_size_out_of_range(*size, terms),
            PictureError::Resolution(dpi) => resolution_out_of_range(*dpi, terms),
            PictureError::FontSize(size) => font_size_out_of_range(*size, terms),
            PictureError::Inset(region) => empty_inset(*region, terms),
            PictureError::CertainShare(share) => share_out_of_range(*share, terms),
            PictureError::ImageSize { width, height } => empty_images(*width, *height, terms),
            _ => self.to_string(),
        }
    }

    /// Whether an option is out of range, rather than the data being invalid.
    pub fn is_invalid_option(&self) -> bool {
        use PictureError::{CertainShare, FontSize, ImageSize, Inset, MixedColors, PointSize, Resolution, Side};
        matches!(
            self,
            Side { .. }
                | Resolution(_)
                | FontSize(_)
                | Inset(_)
                | PointSize(_)
                | CertainShare(_)
                | ImageSize { .. }
                | MixedColors
        )
    }
}

fn side_out_of_range(side: &str, pixels: u32, terms: &dyn Terms) -> String {
    format!("{}: from {} to {} pixels", terms.setting(side, &pixels), SIDE_RANGE.start(), SIDE_RANGE.end())
}

fn point_size_out_of_range(size: f32, terms: &dyn Terms) -> String {
    format!("{}: more than 0 and at most 1000 pixels", terms.setting("point_size", &size))
}

fn resolution_out_of_range(dpi: f32, terms: &dyn Terms) -> String {
    format!("{}: from {} to {} pixels per inch", terms.setting("dpi", &dpi), DPI_RANGE.start(), DPI_RANGE.end())
}

fn font_size_out_of_range(size: f32, terms: &dyn Terms) -> String {
    format!(
        "{}: from {} to {} points",
        terms.setting("font_size", &size),
        FONT_SIZE_RANGE.start(),
        FONT_SIZE_RANGE.end()
    )
}

fn empty_inset([x0, x1, y0, y1]: [f64; 4], terms: &dyn Terms) -> String {
    let value = format!("{x0},{x1},{y0},{y1}");
    format!(
        "{}: from and to of the first dimension, then of the second, each in increasing order",
        terms.setting("inset", &value)
    )
}

fn share_out_of_range(share: f64, terms: &dyn Terms) -> String {
    format!("{}: a share above 0 and at most 1, such as 0.95", terms.setting("certain", &share))
}

fn empty_images(width: usize, height: usize, terms: &dyn Terms) -> String {
    format!("{}: at least 1x1", terms.setting("images", &format!("{width}x{height}")))
}
