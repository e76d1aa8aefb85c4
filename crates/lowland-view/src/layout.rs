//! From maps to a picture: what stands where.

use lowland::Result;

use crate::check::{SIDES, bad_side};
use crate::color::{self, Rgb, mix, rgb};
use crate::key::Key;
use crate::letters::clean;
use crate::marks::Fate;
use crate::scene::{Item, Rect, Scene, Text};
use crate::table::Ruled;
use crate::{Panel, PictureOptions, Uncertainty, font, marks};

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
    /// The colour of a class on this ground, by its place in the legend: when the strong colours are used up, pale ones.
    pub fn class(self, at: usize) -> Rgb {
        let strong = rgb(color::CLASSES[at % color::CLASSES.len()]);
        let strong = if self.is_dark() { color::on_dark(strong) } else { strong };
        let pale = if self.is_dark() { 0.4 } else { 0.6 };
        if at < color::CLASSES.len() { strong } else { mix(strong, self.ground, pale) }
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

/// Frames in rows and columns, each under a line for its title.
#[derive(Clone, Copy)]
struct Grid {
    left: f32,
    top: f32,
    right: f32,
    columns: usize,
    rows: usize,
    gap: f32,
    head: f32,
    /// Height of a frame.
    tall: f32,
}

impl Grid {
    /// Width of a frame.
    fn wide(self) -> f32 {
        ((self.right - self.left - self.gap * (self.columns - 1) as f32) / self.columns as f32).max(8.0)
    }

    fn bottom(self) -> f32 {
        self.top + self.rows as f32 * (self.tall + self.head) + self.gap * (self.rows - 1) as f32
    }

    fn frame(self, at: usize) -> Rect {
        let left = self.left + (at % self.columns) as f32 * (self.wide() + self.gap);
        let top = self.top + self.head + (at / self.columns) as f32 * (self.tall + self.head + self.gap);
        Rect { left, top, right: left + self.wide(), bottom: top + self.tall }
    }

    /// Ends here on the right: frames are square, or as high as there is room down to `bottom`.
    fn within(self, right: f32, bottom: Option<f32>) -> Self {
        let grid = Self { right, tall: 0.0, ..self };
        let tall = bottom.map_or(grid.wide(), |bottom| (bottom - grid.bottom()) / self.rows as f32);
        Self { tall: tall.max(8.0), ..grid }
    }
}

/// What stands below the maps: a table, the caption, a line of notes.
struct Foot {
    table: Option<Ruled>,
    caption: Vec<String>,
}

impl Foot {
    fn new(options: &PictureOptions, sizes: &Sizes, across: f32) -> Self {
        let mut caption = font::wrap(&clean(&options.caption), sizes.text, across);
        if let Some(height) = options.height {
            // A caption never takes more than a third of the picture.
            caption.truncate(((height as f32 * 0.3 / sizes.step) as usize).saturating_sub(1));
        }
        Self { table: options.table.as_ref().map(|table| Ruled::new(table, sizes.text, across)), caption }
    }

    fn table_height(&self) -> f32 {
        self.table.as_ref().map_or(0.0, Ruled::height)
    }

    fn height(&self, sizes: &Sizes) -> f32 {
        self.table_height() + (self.caption.len() + 1) as f32 * sizes.step + 0.3 * sizes.text
    }
}

/// The legend takes room from the maps' width, which gives their height, which is the room of the legend: a legend that turns out
/// too long is made again for the height there is.
fn with_legend_beside(key: &Key, grid: Grid, end: Option<f32>, size: f32, inks: Inks) -> (Grid, Vec<Item>) {
    let mut bottom = grid.within(grid.right, end).bottom();
    loop {
        let mut room = Rect { left: grid.left, top: grid.top + grid.head, right: grid.right, bottom };
        let legend = key.legend(&mut room, size, inks);
        let fitted = grid.within(room.right, end);
        // Each turn is shorter by more than a line, or the last.
        if legend.is_empty() || fitted.bottom() > bottom - 2.0 * size || reach(&legend) <= fitted.bottom() {
            return (fitted, legend);
        }
        bottom = fitted.bottom();
    }
}

/// The lowest baseline.
fn reach(items: &[Item]) -> f32 {
    let texts = items.iter().filter_map(|item| if let Item::Texts(texts) = item { Some(texts) } else { None });
    texts.flatten().map(|text| text.at[1]).fold(0.0, f32::max)
}

/// Lays out checked maps.
pub(crate) fn scene(panels: &[Panel], options: &PictureOptions) -> Result<Scene> {
    let (sizes, inks, key) = (Sizes::new(options), Inks::on(options.background), Key::new(panels));
    let Sizes { unit, margin, .. } = sizes;
    let (left, right) = (margin, options.width as f32 - margin);
    let foot = Foot::new(options, &sizes, right - left);
    let below = foot.height(&sizes) + margin;
    let end = options.height.map(|height| height as f32 - below);

    let mut texts = Vec::new();
    let title = font::fit(&clean(&options.title), sizes.title, right - left);
    let top = margin + if title.is_empty() { 0.0 } else { 1.9 * sizes.title };
    texts.push(Text::new([margin, margin + sizes.title], sizes.title, title, inks.ink));

    let columns = columns(panels.len(), options.columns);
    let headed = panels.iter().any(|panel| !panel.title.trim().is_empty());
    let (gap, head) = (28.0 * unit, if headed { 1.7 * sizes.heading } else { 0.0 });
    let grid = Grid { left, top, right, columns, rows: panels.len().div_ceil(columns), gap, head, tall: 0.0 };
    let whole = grid.within(right, end);
    // Beside several small maps a long legend would take the room of one: it goes below them.
    let is_below = panels.len() > 1 && key.is_long(whole.bottom() - top - head, sizes.text);
    let legend_below = |top: f32| key.legend_below([left, top + 1.2 * sizes.text], right - left, sizes.text, inks);
    let (grid, legend, legend_height) = if is_below {
        let height = legend_below(0.0).1 + 1.2 * sizes.text;
        let grid = grid.within(right, end.map(|end| end - height));
        (grid, legend_below(grid.bottom()).0, height)
    } else {
        let (grid, legend) = with_legend_beside(&key, grid, end, sizes.text, inks);
        (grid, legend, 0.0)
    };
    let bottom = grid.bottom() + legend_height;
    let height = options.height.unwrap_or((bottom + below).ceil() as u32);
    if !SIDES.contains(&height) {
        return Err(bad_side("height", height));
    }

    let mut items = Vec::new();
    let hairline = (1.5 * unit).max(1.0);
    let mut fate = Fate::default();
    for (at, panel) in panels.iter().enumerate() {
        let frame = grid.frame(at);
        let heading = font::fit(&clean(&panel.title), sizes.heading, frame.width());
        let place = [frame.left, frame.top - 0.6 * sizes.heading];
        texts.push(Text::new(place, sizes.heading, heading, inks.ink));
        // Small maps have smaller points, but not as small as they are.
        let part = unit * (frame.width().min(frame.height()) / (1400.0 * unit)).sqrt().clamp(0.3, 1.0);
        let drawn = marks::draw(panel, &key, frame, options, part, inks);
        fate += drawn.fate;
        items.extend(drawn.items);
        items.push(Item::Boxes(border(frame, hairline, inks.line)));
    }
    items.extend(legend);
    if let Some(table) = &foot.table {
        items.extend(table.items(margin, bottom + 0.3 * sizes.text, hairline, inks));
    }
    let under = bottom + foot.table_height();
    let note = font::fit(&note(panels, options.uncertainty, fate), sizes.text, right - left);
    let lines = foot.caption.into_iter().map(|line| (line, inks.ink)).chain([(note, inks.soft)]);
    for (row, (content, color)) in lines.enumerate() {
        let baseline = under + (row + 1) as f32 * sizes.step;
        // Where the height was given there may be no room for all of them.
        if baseline <= height as f32 - 0.3 * sizes.text {
            texts.push(Text::new([margin, baseline], sizes.text, content, color));
        }
    }
    texts.retain(|text| !text.content.is_empty());
    items.push(Item::Texts(texts));
    let (title, ground) = (clean(&options.title), inks.ground);
    Ok(Scene { width: options.width as usize, height: height as usize, ground, title, items })
}

/// `70,000 points, first two of 3 dimensions, the 3,500 least certain are left out, 2 far outside drawn as rings at the edge`
fn note(panels: &[Panel], uncertainty: Uncertainty, Fate { beyond, hidden, images }: Fate) -> String {
    let map = panels[0].map;
    let mut note = match panels.iter().all(|panel| panel.map.rows() == map.rows()) {
        true => format!("{} points", grouped(map.rows())),
        false => panels.iter().map(|panel| grouped(panel.map.rows())).collect::<Vec<_>>().join(", ") + " points",
    };
    let dims: Vec<usize> = panels.iter().map(|panel| panel.map.dim()).collect();
    if dims.iter().any(|&dim| dim > 2) {
        let same = dims.iter().all(|&dim| dim == dims[0]);
        let each = |dims: &[usize]| dims.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
        note += &format!(", first two of {} dimensions", each(if same { &dims[..1] } else { &dims }));
    }
    if hidden > 0 {
        note += &format!(", the {} least certain are left out", grouped(hidden));
    }
    if uncertainty == Uncertainty::Ellipses {
        // Bars have none.
        let known = || panels.iter().filter(|panel| panel.map.dim() > 1);
        if known().any(|panel| panel.covariances.is_some()) {
            note += ", ellipses of one standard deviation";
        }
        if known().any(|panel| panel.covariances.is_none() && panel.std.is_some()) {
            note += ", circles of one standard deviation (known as one number a point, not by direction)";
        }
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
    fn pale_colours_are_no_strong_ones() {
        for background in [[255; 3], [0x16, 0x18, 0x1d]] {
            let inks = Inks::on(background);
            let lab: Vec<[f32; 3]> = (0..2 * color::CLASSES.len()).map(|at| color::to_lab(inks.class(at))).collect();
            for (a, x) in lab.iter().enumerate() {
                for (b, y) in lab.iter().enumerate().skip(a + 1) {
                    let apart = x.iter().zip(y).map(|(x, y)| (x - y).powi(2)).sum::<f32>().sqrt();
                    assert!(apart > 0.02, "{a} {b}: {apart}");
                }
            }
        }
    }

    #[test]
    fn counts_are_grouped_by_thousands() {
        assert_eq!([7, 1234, 70_000, 1_000_000].map(grouped), ["7", "1,234", "70,000", "1,000,000"]);
    }
}
