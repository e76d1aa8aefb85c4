//! What stands where in a picture, in pixels from its upper left corner. The three writers know nothing else.

use crate::color::Rgb;

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

    /// The rectangle of that size about a point.
    pub fn about([x, y]: [f32; 2], width: f32, height: f32) -> Self {
        Self { left: x - width / 2.0, top: y - height / 2.0, right: x + width / 2.0, bottom: y + height / 2.0 }
    }

    /// Whether the other lies wholly inside.
    pub fn holds(self, other: Rect) -> bool {
        other.left >= self.left && other.right <= self.right && other.top >= self.top && other.bottom <= self.bottom
    }

    pub fn overlaps(self, other: Rect) -> bool {
        self.left < other.right && other.left < self.right && self.top < other.bottom && other.top < self.bottom
    }

    /// The smallest rectangle of whole pixels around it.
    pub fn whole(self) -> Self {
        let Rect { left, top, right, bottom } = self;
        Self { left: left.floor(), top: top.floor(), right: right.ceil(), bottom: bottom.ceil() }
    }
}

/// Which end of a line of text its place is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

impl Anchor {
    /// The share of the text before the anchor.
    pub fn share(self) -> f32 {
        match self {
            Anchor::Start => 0.0,
            Anchor::Middle => 0.5,
            Anchor::End => 1.0,
        }
    }
}

/// A line of text; a capital letter is `height` high.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Text {
    /// The anchor on the baseline.
    pub at: [f32; 2],
    pub anchor: Anchor,
    pub height: f32,
    pub content: String,
    pub color: Rgb,
    pub bold: bool,
    /// A border of this colour, so that it can be read on anything.
    pub halo: Option<Rgb>,
}

impl Text {
    /// Plain text that begins at a place.
    pub fn new(at: [f32; 2], height: f32, content: impl Into<String>, color: Rgb) -> Self {
        Self { at, anchor: Anchor::Start, height, content: content.into(), color, bold: false, halo: None }
    }
}

/// A disc, or where it is a ring its outer edge.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Disc {
    pub at: [f32; 2],
    pub radius: f32,
    pub color: Rgb,
}

/// A picture in the picture, rows from the top.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tile {
    pub place: Rect,
    pub width: usize,
    pub pixels: Vec<[u8; 3]>,
    pub border: Option<Rgb>,
}

impl Tile {
    pub fn height(&self) -> usize {
        self.pixels.len() / self.width
    }
}

/// Width of the border around a tile.
pub(crate) fn border_width(tile: f32) -> f32 {
    (0.06 * tile).max(1.0)
}

/// The points of a map.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Cloud {
    /// Nothing is painted outside.
    pub frame: Rect,
    /// Places in the order of painting.
    pub at: Vec<[f32; 2]>,
    /// Index of each point's colour.
    pub index: Vec<u16>,
    pub colors: Vec<Rgb>,
    /// How far each point counts, from 0 to 1.
    pub weight: Option<Vec<f32>>,
    /// Around each point.
    pub ellipses: Option<Vec<Ellipse>>,
    pub style: Style,
}

/// How points are painted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Style {
    /// Discs of one size; a halo in the colour of the ground keeps neighbours apart.
    Dots { radius: f32, opacity: f32, halo: f32 },
    /// The number of points at each place, on a logarithmic scale; `blur` is the reach of one point.
    Heat { blur: f32, one_color: bool },
}

/// One standard deviation in every direction, in pixels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Ellipse {
    /// Half of its length and half of its width.
    pub reach: [f32; 2],
    /// The direction of its length: a step of one pixel.
    pub along: [f32; 2],
}

/// More than any picture has.
const FARTHEST: f64 = 1e6;

impl Ellipse {
    pub fn circle(radius: f64) -> Self {
        Self { reach: [radius.min(FARTHEST) as f32; 2], along: [1.0, 0.0] }
    }

    /// Of variances and covariance in a map's units, with so many pixels for a unit. The eigenvalues of a matrix of two rows; in
    /// halves, as sums of finite numbers may not be finite. The map counts up, the picture down.
    pub fn of_covariance([xx, xy, yy]: [f64; 3], pixels: f64) -> Self {
        let (mean, half) = (xx / 2.0 + yy / 2.0, xx / 2.0 - yy / 2.0);
        let apart = half.hypot(xy);
        let reach = [mean + apart, mean - apart].map(|v| (v.max(0.0).sqrt() * pixels).min(FARTHEST) as f32);
        let angle = 0.5 * xy.atan2(half);
        Self { reach, along: [angle.cos() as f32, -angle.sin() as f32] }
    }

    /// Whether all directions are alike.
    pub fn is_circle(self) -> bool {
        self.reach[0] == self.reach[1]
    }

    /// The place on it or, for a smaller or larger one, inside or outside, that the unit circle has at `u`, `v`.
    pub fn at(self, [u, v]: [f32; 2]) -> [f32; 2] {
        let ([cos, sin], [long, wide]) = (self.along, self.reach);
        [u * long * cos - v * wide * sin, u * long * sin + v * wide * cos]
    }
}

/// How far a point may be from its place.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Doubt {
    pub at: [f32; 2],
    pub ellipse: Ellipse,
    pub color: Rgb,
    pub opacity: f32,
    /// Width of the outline, inside of the edge; none where it is 0.
    pub outline: f32,
}

/// So few ellipses have outlines.
const OUTLINED: usize = 2000;

/// Opacity of outlines.
pub(crate) const OUTLINE: f32 = 0.4;

impl Cloud {
    /// The ellipses that can be seen, and their opacity. Each point has the same amount of ink, spread over its ellipse: one that
    /// may be anywhere is a breath, and many that overlap are no blot. Where points are few the ellipses have outlines.
    pub fn doubts(&self) -> impl Iterator<Item = Doubt> {
        let (Style::Dots { radius: dot, .. } | Style::Heat { blur: dot, .. }) = self.style;
        let outline = if self.at.len() <= OUTLINED { 0.22 * dot } else { 0.0 };
        let doubt = move |(i, &ellipse): (usize, &Ellipse)| {
            let ink = (5.0 * dot / ellipse.reach[0]) * (5.0 * dot / ellipse.reach[1].max(0.5));
            let color = self.colors[self.index[i] as usize];
            Doubt { at: self.at[i], ellipse, color, opacity: 0.25 * ink.min(1.0), outline }
        };
        let all = self.ellipses.iter().flatten().enumerate();
        all.map(doubt).filter(|doubt| doubt.opacity >= 1.0 / 255.0 || doubt.outline > 0.0)
    }

    /// No points.
    pub fn empty(frame: Rect) -> Self {
        let style = Style::Dots { radius: 1.0, opacity: 1.0, halo: 0.0 };
        let (at, index, colors) = (Vec::new(), Vec::new(), Vec::new());
        Self { frame, at, index, colors, weight: None, ellipses: None, style }
    }

    /// The same points seen from another corner.
    pub fn seen_from(&self, left: f32, top: f32) -> Self {
        let Rect { left: l, top: t, right, bottom } = self.frame;
        let frame = Rect { left: l - left, top: t - top, right: right - left, bottom: bottom - top };
        Self { frame, at: self.at.iter().map(|[x, y]| [x - left, y - top]).collect(), ..self.clone() }
    }
}

/// One layer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Item {
    Cloud(Cloud),
    /// Filled rectangles.
    Boxes(Vec<(Rect, Rgb)>),
    Discs(Vec<Disc>),
    Rings(Vec<Disc>),
    Tiles(Vec<Tile>),
    Texts(Vec<Text>),
}

/// A whole picture: items in the order they are painted.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Scene {
    pub width: usize,
    pub height: usize,
    pub ground: Rgb,
    /// For whoever cannot see it.
    pub title: String,
    pub items: Vec<Item>,
}
