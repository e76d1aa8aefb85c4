//! A map and the data that are drawn with it.

use lowland::Points;

/// Class of each point.
#[derive(Debug, Clone, Copy)]
pub struct ClassLabels<'a> {
    /// Class code of each point.
    pub codes: &'a [u32],
    /// Name of each code; a code without a name is shown as a number.
    pub names: &'a [String],
}

/// What points are colored by. All maps of a picture are colored by the same kind of data.
#[derive(Debug, Clone, Copy, Default)]
pub enum Color<'a> {
    /// All points have the same color.
    #[default]
    Plain,
    /// By class; the names are the same for all maps.
    Classes(ClassLabels<'a>),
    /// By value, on a continuous scale.
    Values {
        /// Title of the color scale.
        name: &'a str,
        /// Value of each point; values that are not finite are shown as missing, in gray.
        values: &'a [f64],
    },
}

/// One grayscale image per point.
#[derive(Debug, Clone, Copy)]
pub struct Images<'a> {
    /// Pixels of all images in turn, each in row-major order from the top, on any scale.
    pub values: &'a [f32],
    /// Width of an image in pixels.
    pub width: usize,
    /// Height of an image in pixels.
    pub height: usize,
}

/// One map of a picture.
#[derive(Debug, Clone)]
pub struct MapPanel<'a> {
    /// Coordinates of the points.
    pub map: Points<'a>,
    /// Title above the map; omitted if empty.
    pub title: String,
    /// What the points are colored by.
    pub color: Color<'a>,
    /// Standard deviation of each point, in the units of the map.
    pub std: Option<&'a [f64]>,
    /// Covariance matrix of each point, in the units of the map.
    pub covariances: Option<&'a [f64]>,
    /// Text to write next to each point where there is space; earlier rows take precedence.
    pub words: Option<&'a [String]>,
    /// Image to draw at each point where there is space.
    pub images: Option<Images<'a>>,
}

impl<'a> MapPanel<'a> {
    /// Creates a panel of a map without any other data.
    pub fn new(map: Points<'a>) -> Self {
        Self { map, title: String::new(), color: Color::Plain, std: None, covariances: None, words: None, images: None }
    }
}
