//! From maps to a picture: what stands where.

use lowland::Result;

use crate::check::{SIDES, bad_side};
use crate::color::{self, Rgb, mix, rgb};
use crate::key::Key;
use crate::letters::clean;
use crate::marks::Fate;
use crate::scene::{Item, Rect, Scene, Text};
use crate::table::Ruled;
use crate::{Panel, PictureOptions, font, marks};

/// Colours of everything that is not a point.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Inks {
    pub ground: Rgb,
    pub ink: Rgb,
    pub soft: Rgb,
    pub line: Rgb,
}

impl Inks {
    fn on(background: [u8; 3]) -> Self {
        let ground = background.map(|v| f32::from(v) / 255.0);
        let ink = if color::is_dark(ground) { rgb(0xf2f2f2) } else { rgb(0x222222) };
        Self { ground, ink, soft: mix(ink, ground, 0.35), line: mix(ink, ground, 0.8) }
    }
}

impl Inks {
    /// A colour of a class on this ground.
    pub fn class(self, hex: u32) -> Rgb {
        if self.is_dark() { color::on_dark(rgb(hex)) } else { rgb(hex) }
    }

    /// The colour of what has none.
    pub fn rest(self) -> Rgb {
        if self.is_dark() { rgb(0x5c5c5c) } else { rgb(color::REST) }
    }

    pub fn is_dark(self) -> bool {
        color::is_dark(self.ground)
    }
}

/// Sizes that follow from the size of the picture.
struct Sizes {
    unit: f32,
    margin: f32,
    title: f32,
    heading: f32,
    text: f32,
    step: f32,
}

impl Sizes {
    fn new(options: &PictureOptions) -> Self {
        let shorter = options.height.map_or(options.width, |height| height.min(options.width));
        let unit = shorter as f32 / 1600.0;
        // Below about six pixels a letter's grid is finer than a pixel.
        let [title, heading, text] = [30.0, 22.0, 18.0].map(|size: f32| (size * unit).max(6.0));
        Self { unit, margin: 48.0 * unit, title, heading, text, step: 1.9 * text }
    }
}

/// Maps in rows of so many.
fn columns(count: usize, asked: Option<usize>) -> usize {
    let usual = match count {
        0..=3 => count,
        4 => 2,
        5 | 6 | 9 => 3,
        7 | 8 => 4,
        _ => (count as f64).sqrt().ceil() as usize,
    };
    asked.unwrap_or(usual).clamp(1, count)
}

/// Lays out checked maps.
pub(crate) fn scene(panels: &[Panel], options: &PictureOptions) -> Result<Scene> {
    let (sizes, inks) = (Sizes::new(options), Inks::on(options.background));
    let Sizes { unit, margin, step, .. } = sizes;
    let width = options.width as f32;
    let across = width - 2.0 * margin;
    let columns = columns(panels.len(), options.columns);
    let rows = panels.len().div_ceil(columns);
    let heads = panels.iter().any(|panel| !panel.title.trim().is_empty());
    let (gap, head) = (28.0 * unit, if heads { 1.7 * sizes.heading } else { 0.0 });
    let key = Key::new(panels);

    // Below the maps: a table, the caption, a line of notes.
    let mut caption = font::wrap(&clean(&options.caption), sizes.text, across);
    let ruled = options.table.as_ref().map(|table| Ruled::new(table, sizes.text, across));
    let table_height = ruled.as_ref().map_or(0.0, Ruled::height);
    let title = font::fit(&clean(&options.title), sizes.title, across);
    let top = margin + if title.is_empty() { 0.0 } else { 1.9 * sizes.title };

    // The legend takes room from the maps' width, and the maps' width gives the picture's height: a first guess of the
    // height is enough for the legend, which only ever leaves lines out.
    let mut room = Rect { left: margin, top, right: width - margin, bottom: top };
    let square = |room: Rect| (room.width() - gap * (columns - 1) as f32) / columns as f32;
    let given = |caption: usize, height: u32| {
        let below = caption as f32 * step + 0.3 * sizes.text + table_height + margin;
        let left = height as f32 - top - below - rows as f32 * head - gap * (rows - 1) as f32;
        left / rows as f32
    };
    if let Some(height) = options.height {
        // A caption never takes more than a third of the picture.
        caption.truncate(((height as f32 * 0.3 / step) as usize).saturating_sub(1));
    }
    let tall = |room: Rect| match options.height {
        Some(height) => given(caption.len() + 1, height).max(8.0),
        None => square(room).max(8.0),
    };
    let block = |tall: f32| rows as f32 * (tall + head) + gap * (rows - 1) as f32;
    let guess = Rect { right: room.right - if key.is_plain() { 0.0 } else { 0.12 * across }, ..room };
    room.top += head;
    let legend = key.legend(&mut room, block(tall(guess)) - head, sizes.text, inks);
    room.top = top;
    let (wide, tall) = (square(room).max(8.0), tall(room));
    let bottom = top + block(tall);
    let lines = caption.len() + 1;
    let height = match options.height {
        Some(height) => height,
        None => (bottom + table_height + lines as f32 * step + 0.3 * sizes.text + margin).ceil() as u32,
    };
    if !SIDES.contains(&height) {
        return Err(bad_side("height", height));
    }

    let mut items = Vec::new();
    let mut texts = Vec::new();
    if !title.is_empty() {
        texts.push(Text::new([margin, margin + sizes.title], sizes.title, title, inks.ink));
    }
    let hairline = (1.5 * unit).max(1.0);
    let mut fate = Fate::default();
    for (at, panel) in panels.iter().enumerate() {
        let left = room.left + (at % columns) as f32 * (wide + gap);
        let top = room.top + head + (at / columns) as f32 * (tall + head + gap);
        let frame = Rect { left, top, right: left + wide, bottom: top + tall };
        let heading = font::fit(&clean(&panel.title), sizes.heading, wide);
        texts.push(Text::new([left, top - 0.6 * sizes.heading], sizes.heading, heading, inks.ink));
        // Small maps have smaller points, but not as small as they are.
        let part = unit * (wide.min(tall) / (1400.0 * unit)).sqrt().clamp(0.3, 1.0);
        let drawn = marks::draw(panel, &key, frame, options, part, inks);
        fate += drawn.fate;
        items.extend(drawn.items);
        items.push(Item::Boxes(border(frame, hairline, inks.line)));
    }
    items.extend(legend);
    if let Some(ruled) = &ruled {
        items.extend(ruled.items(margin, bottom + 0.3 * sizes.text, hairline, inks));
    }
    let note = font::fit(&note(panels, fate), sizes.text, across);
    let bodies = caption.into_iter().map(|line| (line, inks.ink)).chain([(note, inks.soft)]);
    // Where the height was given there may be no room for all of them.
    let last = height as f32 - 0.3 * sizes.text;
    for (row, (content, color)) in bodies.enumerate() {
        let baseline = bottom + table_height + (row + 1) as f32 * step;
        if baseline <= last {
            texts.push(Text::new([margin, baseline], sizes.text, content, color));
        }
    }
    texts.retain(|text| !text.content.is_empty());
    items.push(Item::Texts(texts));
    let title = clean(&options.title);
    Ok(Scene { width: options.width as usize, height: height as usize, ground: inks.ground, title, items })
}

/// `70,000 points, first two of 3 dimensions, the 3,500 least certain are left out, 2 far outside drawn as rings at the edge`
fn note(panels: &[Panel], Fate { beyond, hidden, images }: Fate) -> String {
    let map = panels[0].map;
    let mut note = match panels.iter().all(|panel| panel.map.rows() == map.rows()) {
        true => format!("{} points", grouped(map.rows())),
        false => panels.iter().map(|panel| grouped(panel.map.rows())).collect::<Vec<_>>().join(", ") + " points",
    };
    let most = panels.iter().map(|panel| panel.map.dim()).max().unwrap_or(0);
    if most > 2 {
        note += &format!(", first two of {most} dimensions");
    }
    if hidden > 0 {
        note += &format!(", the {} least certain are left out", grouped(hidden));
    }
    if images > 0 {
        note += &format!(", {} drawn as images", grouped(images));
    }
    match beyond {
        0 => {}
        1 => note += ", 1 far outside drawn as a ring at the edge",
        beyond => note += &format!(", {} far outside drawn as rings at the edge", grouped(beyond)),
    }
    note
}

/// The four sides of a frame.
fn border(frame: Rect, t: f32, line: Rgb) -> Vec<(Rect, Rgb)> {
    let Rect { left, top, right, bottom } = frame;
    let sides = [
        Rect { left, top, right, bottom: top + t },
        Rect { left, top: bottom - t, right, bottom },
        Rect { left, top: top + t, right: left + t, bottom: bottom - t },
        Rect { left: right - t, top: top + t, right, bottom: bottom - t },
    ];
    sides.map(|side| (side, line)).to_vec()
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
    use lowland::Points;

    #[test]
    fn units_are_equal_on_both_axes_and_up_is_up() {
        let values = [0.0, 0.0, 4.0, 0.0, 0.0, 1.0];
        let panel = Panel::new(Points::new(&values, 2).unwrap());
        let scene = scene(&[panel], &PictureOptions::default()).unwrap();
        let Item::Cloud(cloud) = &scene.items[0] else { panic!("points") };
        let mut at = cloud.at.clone();
        at.sort_by(|a, b| (a[0], -a[1]).partial_cmp(&(b[0], -b[1])).unwrap());
        let (across, up) = (at[2][0] - at[0][0], at[0][1] - at[1][1]);
        assert!((across - 4.0 * up).abs() < 0.01 && across > 1300.0, "{across} {up}");
    }

    #[test]
    fn counts_are_grouped_by_thousands() {
        assert_eq!([7, 1234, 70_000, 1_000_000].map(grouped), ["7", "1,234", "70,000", "1,000,000"]);
    }
}
