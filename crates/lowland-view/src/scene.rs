//! The contents of a picture: shapes and text in pixels from the upper left corner. Writers see only the scene.

use std::collections::BTreeSet;

use crate::color::Rgb;
use crate::text::glyph_line;

/// A rectangle.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Rect {
    pub left: f32,
    pub top: f32,
    pub right: f32,
    pub bottom: f32,
}

impl Rect {
    pub fn width(self) -> f32 {
        self.right - self.left
    }

    pub fn height(self) -> f32 {
        self.bottom - self.top
    }

    /// Returns the rectangle of a size around a center.
    pub fn centered([x, y]: [f32; 2], width: f32, height: f32) -> Self {
        Self { left: x - width / 2.0, top: y - height / 2.0, right: x + width / 2.0, bottom: y + height / 2.0 }
    }

    /// Returns the rectangle with a margin on each side.
    pub fn grown(self, margin: f32) -> Self {
        let Self { left, top, right, bottom } = self;
        Self { left: left - margin, top: top - margin, right: right + margin, bottom: bottom + margin }
    }

    /// Whether another rectangle lies entirely inside.
    pub fn contains_rect(self, other: Rect) -> bool {
        other.left >= self.left && other.right <= self.right && other.top >= self.top && other.bottom <= self.bottom
    }

    pub fn overlaps(self, other: Rect) -> bool {
        self.left < other.right && other.left < self.right && self.top < other.bottom && other.top < self.bottom
    }

    /// Returns the smallest rectangle of entire pixels that contains it.
    pub fn pixel_bounds(self) -> Self {
        let Rect { left, top, right, bottom } = self;
        Self { left: left.floor(), top: top.floor(), right: right.ceil(), bottom: bottom.ceil() }
    }
}

/// Horizontal alignment of a line of text relative to its position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

impl Anchor {
    /// Fraction of the text to the left of its position.
    pub fn fraction(self) -> f32 {
        match self {
            Anchor::Start => 0.0,
            Anchor::Middle => 0.5,
            Anchor::End => 1.0,
        }
    }
}

/// A line of text.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Text {
    /// Position of the anchor on the baseline.
    pub position: [f32; 2],
    pub anchor: Anchor,
    /// Height of a capital letter.
    pub height: f32,
    pub content: String,
    pub color: Rgb,
    pub bold: bool,
    /// Color of an outline that keeps the text readable on top of points.
    pub halo: Option<Rgb>,
}

impl Text {
    /// Creates regular text that starts at a position.
    pub fn new(position: [f32; 2], height: f32, content: impl Into<String>, color: Rgb) -> Self {
        Self { position, anchor: Anchor::Start, height, content: content.into(), color, bold: false, halo: None }
    }
}

/// Width of the halo of text, relative to the height of a capital letter.
pub(crate) const HALO_WIDTH: f32 = 0.2;

/// Opacity of the halo of text.
pub(crate) const HALO_OPACITY: f32 = 0.85;

/// A filled disc, or a ring with this outer radius.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Disc {
    pub center: [f32; 2],
    pub radius: f32,
    pub color: Rgb,
}

/// A straight line with round ends, and an outline in another color that keeps it visible on top of points.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Line {
    pub ends: [[f32; 2]; 2],
    pub width: f32,
    pub color: Rgb,
    pub halo: Rgb,
}

impl Line {
    /// Returns width and color of the outline and of the line itself, in drawing order.
    pub fn layers(self) -> [(f32, Rgb); 2] {
        [(2.2 * self.width, self.halo), (self.width, self.color)]
    }
}

/// A small image within the picture.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ImageTile {
    pub rect: Rect,
    /// Number of pixels per row.
    pub width: usize,
    /// Pixels in row-major order from the top.
    pub pixels: Vec<[u8; 3]>,
    pub border: Option<Rgb>,
}

impl ImageTile {
    pub fn height(&self) -> usize {
        self.pixels.len() / self.width
    }
}

/// Thickness of the border around an image of this width.
pub(crate) fn tile_border_width(width: f32) -> f32 {
    (0.06 * width).max(1.0)
}

/// The points of a map.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PointCloud {
    /// Nothing is drawn outside of the frame.
    pub frame: Rect,
    /// Positions in drawing order.
    pub positions: Vec<[f32; 2]>,
    /// Index of each point's color in `colors`.
    pub color_indices: Vec<u16>,
    pub colors: Vec<Rgb>,
    /// Opacity of each point, from 0 to 1.
    pub weights: Option<Vec<f32>>,
    /// Uncertainty of each point.
    pub ellipses: Option<Vec<Ellipse>>,
    pub style: PointStyle,
}

/// How points are drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum PointStyle {
    /// Discs of one size; a halo in the background color separates neighbors.
    Dots { radius: f32, opacity: f32, halo: f32 },
    /// Density of the points on a logarithmic scale, smoothed with a radius of `blur` pixels.
    Density { blur: f32, one_color: bool },
}

/// An ellipse around a point, in pixels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Ellipse {
    /// Semi-major and semi-minor axis.
    pub radii: [f32; 2],
    /// Unit vector along the major axis.
    pub direction: [f32; 2],
}

/// Largest radius of an ellipse, beyond the size of any picture.
const MAX_RADIUS: f64 = 1e6;

impl Ellipse {
    pub fn circle(radius: f64) -> Self {
        Self { radii: [radius.min(MAX_RADIUS) as f32; 2], direction: [1.0, 0.0] }
    }

    /// Returns the ellipse of one standard deviation of the covariance `[xx, xy, yy]`, given the pixels per unit of the map.
    pub fn from_covariance([xx, xy, yy]: [f64; 3], pixels: f64) -> Self {
        // Eigenvalues of a 2 x 2 matrix. Terms are halved first because the sum of finite numbers may overflow.
        let (mean, half) = (xx / 2.0 + yy / 2.0, xx / 2.0 - yy / 2.0);
        let spread = half.hypot(xy);
        let radii = [mean + spread, mean - spread].map(|v| (v.max(0.0).sqrt() * pixels).min(MAX_RADIUS) as f32);
        let angle = 0.5 * xy.atan2(half);
        // The y axis points up in the map and down in the picture.
        Self { radii, direction: [angle.cos() as f32, -angle.sin() as f32] }
    }

    pub fn is_circle(self) -> bool {
        self.radii[0] == self.radii[1]
    }

    /// Maps a point of the unit disc to an offset from the center of the ellipse.
    pub fn point_at(self, [u, v]: [f32; 2]) -> [f32; 2] {
        let ([cos, sin], [major, minor]) = (self.direction, self.radii);
        [u * major * cos - v * minor * sin, u * major * sin + v * minor * cos]
    }
}

/// The uncertainty of a point, as it is drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct UncertaintyEllipse {
    pub center: [f32; 2],
    pub ellipse: Ellipse,
    pub color: Rgb,
    pub opacity: f32,
    /// Width of the outline inside of the edge; 0 for no outline.
    pub outline: f32,
}

/// Largest number of points whose ellipses have outlines.
const MAX_OUTLINES: usize = 2000;

/// Opacity of outlines.
pub(crate) const OUTLINE_OPACITY: f32 = 0.4;

impl PointCloud {
    /// Returns the visible ellipses.
    ///
    /// The opacity decreases with the area, so that a very uncertain point is barely visible and overlapping ellipses do not cover
    /// the map. If there are few points, their ellipses have outlines.
    pub fn uncertainty_ellipses(&self) -> impl Iterator<Item = UncertaintyEllipse> {
        let (PointStyle::Dots { radius: dot, .. } | PointStyle::Density { blur: dot, .. }) = self.style;
        let outline = if self.positions.len() <= MAX_OUTLINES { 0.22 * dot } else { 0.0 };
        let draw = move |(i, &ellipse): (usize, &Ellipse)| {
            let strength = (5.0 * dot / ellipse.radii[0]) * (5.0 * dot / ellipse.radii[1].max(0.5));
            let color = self.colors[self.color_indices[i] as usize];
            UncertaintyEllipse { center: self.positions[i], ellipse, color, opacity: 0.25 * strength.min(1.0), outline }
        };
        let all = self.ellipses.iter().flatten().enumerate();
        all.map(draw).filter(|each| each.opacity >= 1.0 / 255.0 || each.outline > 0.0)
    }

    /// Returns a cloud without points.
    pub fn empty(frame: Rect) -> Self {
        let style = PointStyle::Dots { radius: 1.0, opacity: 1.0, halo: 0.0 };
        let (positions, color_indices, colors) = (Vec::new(), Vec::new(), Vec::new());
        Self { frame, positions, color_indices, colors, weights: None, ellipses: None, style }
    }

    /// Returns the cloud in coordinates relative to another origin.
    pub fn relative_to(&self, left: f32, top: f32) -> Self {
        let Rect { left: l, top: t, right, bottom } = self.frame;
        let frame = Rect { left: l - left, top: t - top, right: right - left, bottom: bottom - top };
        Self { frame, positions: self.positions.iter().map(|[x, y]| [x - left, y - top]).collect(), ..self.clone() }
    }
}

/// A layer of a scene.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum SceneItem {
    Cloud(PointCloud),
    /// Filled rectangles.
    Boxes(Vec<(Rect, Rgb)>),
    Discs(Vec<Disc>),
    Rings(Vec<Disc>),
    Lines(Vec<Line>),
    Tiles(Vec<ImageTile>),
    Texts(Vec<Text>),
}

/// The contents of a picture, in drawing order.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Scene {
    pub width: usize,
    pub height: usize,
    pub background: Rgb,
    /// Pixels per inch, if it is known.
    pub dpi: Option<f32>,
    /// Title in the metadata of the file, for screen readers.
    pub title: String,
    pub items: Vec<SceneItem>,
}

impl Scene {
    /// Returns the characters that no font has, in increasing order.
    pub fn missing_characters(&self) -> Vec<char> {
        let texts =
            self.items.iter().filter_map(|item| if let SceneItem::Texts(texts) = item { Some(texts) } else { None });
        let missing = texts.flatten().filter(|text| !text.content.is_ascii());
        missing
            .flat_map(|text| glyph_line(&text.content, text.bold).missing)
            .collect::<BTreeSet<char>>()
            .into_iter()
            .collect()
    }
}
