//! A map of a picture and how it is drawn.

use lowland::{AnnotatedEmbedding, Labels};

/// What points are colored by. All maps of a picture are colored by the same kind of data.
#[derive(Debug, Clone, Copy, Default)]
pub enum Color<'a> {
    /// All points have the same color.
    #[default]
    Plain,
    /// By class; the names are the same for all maps. A code without a name is shown as a number.
    Classes(&'a Labels),
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
    /// The points, with their standard deviations, covariances and ids.
    pub map: &'a AnnotatedEmbedding,
    /// Title above the map; omitted if empty.
    pub title: String,
    /// What the points are colored by.
    pub color: Color<'a>,
    /// Names of groups of points to write on the map, from the coarsest to the finest; if there are none, those of the classes that
    /// points are colored by.
    pub label_levels: Vec<&'a Labels>,
    /// Whether to write the id of each point next to it where there is space; earlier rows take precedence.
    pub show_ids: bool,
    /// Image to draw at each point where there is space.
    pub images: Option<Images<'a>>,
}

impl<'a> MapPanel<'a> {
    /// Creates a panel without a title, colors or images.
    pub fn new(map: &'a AnnotatedEmbedding) -> Self {
        Self { map, title: String::new(), color: Color::Plain, label_levels: Vec::new(), show_ids: false, images: None }
    }

    /// Whether the last level of names on the map are those of the classes that points are colored by.
    pub(crate) fn names_are_classes(&self) -> bool {
        match (self.color, self.label_levels.last()) {
            (Color::Classes(_), None) => true,
            (Color::Classes(labels), Some(names)) => std::ptr::eq(labels, *names) || labels == *names,
            _ => false,
        }
    }

    /// The ids that are written next to the points.
    pub(crate) fn shown_ids(&self) -> Option<&'a [String]> {
        self.map.ids.as_deref().filter(|_| self.show_ids)
    }
}
