//! What stands where in a picture, in pixels from its upper left corner.

use lowland::Points;

use crate::classes::Classes;
use crate::color::{self, Rgb, rgb};
use crate::placement::Placement;
use crate::{Labels, PictureOptions, font};

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
}

/// A line of text; a capital letter is `height` high.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Text {
    pub left: f32,
    pub baseline: f32,
    pub height: f32,
    pub content: String,
    pub color: Rgb,
}

/// A disc.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Disc {
    pub at: [f32; 2],
    pub radius: f32,
    pub color: Rgb,
}

/// The map itself.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Marks {
    /// Discs of one size, painted in this order; `class` is an index into `colors`.
    Points { at: Vec<[f32; 2]>, class: Vec<u8>, colors: Vec<Rgb>, radius: f32, opacity: f32, halo: f32 },
    /// The number of points at each place; `blur` is the reach of one point.
    Density { at: Vec<[f32; 2]>, blur: f32, dark_ground: bool },
    /// Filled rectangles.
    Bars(Vec<(Rect, Rgb)>),
}

/// A whole picture.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Layout {
    pub width: usize,
    pub height: usize,
    pub ground: Rgb,
    pub line: Rgb,
    pub hairline: f32,
    pub frame: Rect,
    pub marks: Marks,
    /// Points beyond the frame, drawn as rings at its edge.
    pub rings: Vec<Disc>,
    pub swatches: Vec<Disc>,
    pub texts: Vec<Text>,
}

impl Layout {
    /// Lays out a checked map.
    pub fn new(map: Points, labels: Option<Labels>, options: &PictureOptions) -> Self {
        let (width, height) = (options.width as f32, options.height as f32);
        let unit = width.min(height) / 1600.0;
        let ground = options.background.map(|v| f32::from(v) / 255.0);
        let ink = if color::is_dark(ground) { rgb(0xf2f2f2) } else { rgb(0x222222) };
        let (soft, line) = (color::mix(ink, ground, 0.35), color::mix(ink, ground, 0.8));
        let margin = 48.0 * unit;
        let classes = labels.map(Classes::new);
        let mut frame = Rect { left: margin, top: margin, right: width - margin, bottom: height - margin };
        let mut texts = Vec::new();

        // Below about six pixels a letter's grid is finer than a pixel.
        let [title_size, size] = [30.0, 18.0].map(|size: f32| (size * unit).max(6.0));
        if !options.title.trim().is_empty() {
            let content = font::fit(options.title.trim(), title_size, frame.width());
            texts.push(Text { left: margin, baseline: margin + title_size, height: title_size, content, color: ink });
            frame.top += 1.9 * title_size;
        }
        let mut swatches = Vec::new();
        if let Some(classes) = &classes {
            let (discs, lines) = classes.legend(&mut frame, size, [ink, soft]);
            swatches = discs;
            texts.extend(lines);
        }

        // The height of the text below must be known before points are placed, and how many lie beyond the frame only after:
        // what there is to note has a line of its own, whatever the caption.
        let mut caption = font::wrap(&options.caption, size, width - 2.0 * margin);
        let step = 1.9 * size;
        let lines = (caption.len() + 1).min((height * 0.3 / step) as usize);
        caption.truncate(lines.saturating_sub(1));
        frame.bottom -= lines as f32 * step + 0.3 * size;
        frame.bottom = frame.bottom.max(frame.top + 8.0);
        frame.right = frame.right.max(frame.left + 8.0);

        let place = Placement::new(map, frame, options, unit);
        let (marks, rings) = match map.dim() {
            1 => (Marks::Bars(place.bars(map, classes.as_ref(), ink)), Vec::new()),
            _ => place.points(map, classes.as_ref(), options, unit, ground),
        };
        let mut note = format!("{} points", grouped(map.rows()));
        if map.dim() > 2 {
            note += &format!(", first two of {} dimensions", map.dim());
        }
        match rings.len() {
            0 => {}
            1 => note += ", 1 far outside drawn as a ring at the edge",
            beyond => note += &format!(", {} far outside drawn as rings at the edge", grouped(beyond)),
        }
        let note = font::fit(&note, size, width - 2.0 * margin);
        let bodies = caption.into_iter().map(|line| (line, ink)).chain([(note, soft)]);
        for (row, (content, color)) in bodies.take(lines).enumerate() {
            let baseline = frame.bottom + (row + 1) as f32 * step;
            texts.push(Text { left: margin, baseline, height: size, content, color });
        }
        Self {
            width: options.width as usize,
            height: options.height as usize,
            ground,
            line,
            hairline: (1.5 * unit).max(1.0),
            frame,
            marks,
            rings,
            swatches,
            texts,
        }
    }
}

/// `70,000`.
pub(crate) fn grouped(count: usize) -> String {
    let digits = count.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_equal_on_both_axes_and_up_is_up() {
        let values = [0.0, 0.0, 4.0, 0.0, 0.0, 1.0];
        let layout = Layout::new(Points::new(&values, 2).unwrap(), None, &PictureOptions::default());
        let Marks::Points { at, .. } = &layout.marks else { panic!("points") };
        let mut at = at.clone();
        at.sort_by(|a, b| (a[0], -a[1]).partial_cmp(&(b[0], -b[1])).unwrap());
        let (across, up) = (at[2][0] - at[0][0], at[0][1] - at[1][1]);
        assert!((across - 4.0 * up).abs() < 0.01 && across > 1300.0, "{across} {up}");
    }

    #[test]
    fn counts_are_grouped_by_thousands() {
        assert_eq!([7, 1234, 70_000, 1_000_000].map(grouped), ["7", "1,234", "70,000", "1,000,000"]);
    }
}
