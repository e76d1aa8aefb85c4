//! Arranges maps, legend, title, caption and table in a picture.

use crate::check::check_side;
use crate::color::Rgb;
use crate::color_key::ColorKey;
use crate::error::Result;
use crate::inset::InsetSurroundings;
use crate::map_labels::{LabelSize, PlacedLabels};
use crate::marks::{self, DrawCounts};
use crate::panel_grid::{PanelGrid, columns};
use crate::scene::{Rect, Scene, SceneItem, Text};
use crate::table::TableLayout;
use crate::text::{self, sanitize};
use crate::theme::Theme;
use crate::{FlaggedPoints, LegendPlace, MapLabels, MapPanel, PictureOptions, Uncertainty, inset, map_labels};

/// Names replace the legend by default if around each of them at least this share of the points is of its class.
pub(crate) const MIN_PURITY: f32 = 0.6;

/// Sizes of margins and text, in proportion to the size of the picture.
struct LayoutSizes {
    unit: f32,
    margin: f32,
    title: f32,
    heading: f32,
    text: f32,
    line_height: f32,
}

impl LayoutSizes {
    fn new(options: &PictureOptions) -> Self {
        let shorter = options.height.map_or(options.width, |height| height.min(options.width));
        let unit = shorter as f32 / 1600.0;
        if let Some(text) = options.text_height() {
            return Self { unit, margin: text, title: 1.4 * text, heading: 1.15 * text, text, line_height: 1.9 * text };
        }
        // Letters below about six pixels are unreadable.
        let [title, heading, text] = [27.0, 21.0, 17.0].map(|size: f32| (size * unit).max(6.0));
        Self { unit, margin: 48.0 * unit, title, heading, text, line_height: 1.9 * text }
    }
}

/// Table and caption below the maps; one line of notes follows them.
struct Footer {
    table: Option<TableLayout>,
    caption: Vec<String>,
    has_note: bool,
}

impl Footer {
    fn new(options: &PictureOptions, sizes: &LayoutSizes, width: f32) -> Self {
        let mut caption = text::wrap(&sanitize(&options.caption), sizes.text, width);
        if let Some(height) = options.height {
            // The caption takes at most a third of the picture.
            caption.truncate(((height as f32 * 0.3 / sizes.line_height) as usize).saturating_sub(1));
        }
        let table = options.table.as_ref().map(|table| TableLayout::new(table, sizes.text, width));
        Self { table, caption, has_note: options.note }
    }

    fn table_height(&self) -> f32 {
        self.table.as_ref().map_or(0.0, TableLayout::height)
    }

    fn height(&self, sizes: &LayoutSizes) -> f32 {
        let lines = self.caption.len() + usize::from(self.has_note);
        let gap = if lines > 0 || self.table.is_some() { 0.3 * sizes.text } else { 0.0 };
        self.table_height() + lines as f32 * sizes.line_height + gap
    }
}

/// Places the legend to the right of the maps.
///
/// The legend reduces the width of the maps, hence the height of square maps, hence the height available to the legend: a legend
/// that turns out to be too tall is laid out again for the reduced height.
fn place_legend_beside(
    key: &ColorKey,
    grid: PanelGrid,
    end: Option<f32>,
    size: f32,
    theme: Theme,
) -> (PanelGrid, Vec<SceneItem>) {
    let mut bottom = grid.resized(grid.right, end).bottom();
    loop {
        let mut area = Rect { left: grid.left, top: grid.top + grid.title_height, right: grid.right, bottom };
        let legend = key.legend(&mut area, size, theme);
        let resized = grid.resized(area.right, end);
        // Terminates because every further iteration reduces the height by more than a line.
        if legend.is_empty() || resized.bottom() > bottom - 2.0 * size || lowest_baseline(&legend) <= resized.bottom() {
            return (resized, legend);
        }
        bottom = resized.bottom();
    }
}

fn lowest_baseline(items: &[SceneItem]) -> f32 {
    let texts = items.iter().filter_map(|item| if let SceneItem::Texts(texts) = item { Some(texts) } else { None });
    texts.flatten().map(|text| text.position[1]).fold(0.0, f32::max)
}

/// Lays out panels and options that have been checked.
pub(crate) fn build_scene(panels: &[MapPanel], options: &PictureOptions) -> Result<Scene> {
    let sizes = LayoutSizes::new(options);
    let (theme, key) = (Theme::for_background(options.background), ColorKey::new(panels, &options.palette));
    let LayoutSizes { unit, margin, .. } = sizes;
    let (left, right) = (margin, options.width as f32 - margin);
    let footer = Footer::new(options, &sizes, right - left);
    let below = footer.height(&sizes) + margin;
    let end = options.height.map(|height| height as f32 - below);

    let mut texts = Vec::new();
    let title = text::truncate(&sanitize(&options.title), sizes.title, right - left);
    let top = margin + if title.is_empty() { 0.0 } else { 1.9 * sizes.title };
    texts.push(Text { bold: true, ..Text::new([margin, margin + sizes.title], sizes.title, title, theme.text) });

    let columns = columns(panels.len(), options.columns);
    let has_titles = options.letters || panels.iter().any(|panel| !panel.title.trim().is_empty());
    let (gap, title_height) = (28.0 * unit, if has_titles { 1.7 * sizes.heading } else { 0.0 });
    let rows = panels.len().div_ceil(columns);
    let grid = PanelGrid { left, top, right, columns, rows, gap, title_height, frame_height: 0.0 };
    let full_width = grid.resized(right, end);
    // Points shrink with the map, but less than in proportion.
    let map_unit = |frame: Rect| unit * (frame.width().min(frame.height()) / (1400.0 * unit)).sqrt().clamp(0.3, 1.0);
    // The size of the text, if it is given, is also that of names.
    let may_grow = options.font_size.is_none();
    let relative = if panels.len() > 1 {
        0.9
    } else if may_grow {
        1.15
    } else {
        1.0
    };
    let label_size = LabelSize { height: relative * sizes.text, may_grow };
    let place_labels = |panel: &MapPanel, frame: Rect| {
        let positions = marks::shown_positions(panel, frame, options, map_unit(frame));
        map_labels::place_map_labels(
            &key.label_levels(panel, theme),
            &positions.0,
            frame,
            positions.1,
            label_size,
            theme,
        )
    };
    let with_labels = match options.map_labels {
        MapLabels::On => true,
        MapLabels::Off => false,
        MapLabels::Auto => match panels {
            [panel] => {
                !panel.label_levels.is_empty()
                    || key.can_be_on_map() && panel.images.is_none() && panel.shown_ids().is_none()
            }
            _ => false,
        },
    };
    // Names on the map replace the legend if they tell the same.
    let could_replace = with_labels
        && options.legend == LegendPlace::Auto
        && key.hidden_classes() == 0
        && panels.iter().all(|panel| panel.names_are_classes());
    let mut placed_first: Vec<PlacedLabels> = if could_replace {
        panels.iter().map(|panel| place_labels(panel, full_width.frame(0))).collect()
    } else {
        Vec::new()
    };
    let replaces_legend = could_replace
        && placed_first.iter().all(|placed| {
            let is_clear = options.map_labels == MapLabels::On || placed.purity >= MIN_PURITY;
            placed.named > 0 && placed.placed == placed.named && is_clear
        });
    // Then a single map has the frame that its names were placed in.
    let mut known = placed_first.pop().filter(|_| replaces_legend && panels.len() == 1);
    let is_forced = options.map_labels == MapLabels::On || panels.iter().any(|panel| !panel.label_levels.is_empty());
    let with_labels = with_labels && (replaces_legend || is_forced);
    let no_legend = replaces_legend || options.legend == LegendPlace::None;
    // Next to several small maps a long legend would take the space of a map, so it is placed below them.
    let is_below = !no_legend
        && match options.legend {
            LegendPlace::Below => true,
            LegendPlace::Right => false,
            _ => panels.len() > 1 && key.is_long(full_width.bottom() - top - title_height, sizes.text),
        };
    let legend_below = |top: f32| key.legend_below([left, top + 1.2 * sizes.text], right - left, sizes.text, theme);
    let (grid, legend, legend_height) = if no_legend {
        (full_width, Vec::new(), 0.0)
    } else if is_below && !key.is_scale() {
        let height = legend_below(0.0).1 + 1.2 * sizes.text;
        let grid = grid.resized(right, end.map(|end| end - height));
        (grid, legend_below(grid.bottom()).0, height)
    } else {
        let (grid, legend) = place_legend_beside(&key, grid, end, sizes.text, theme);
        (grid, legend, 0.0)
    };
    let bottom = grid.bottom() + legend_height;
    let height = options.height.unwrap_or((bottom + below).ceil() as u32);
    check_side("height", height)?;

    let mut items = Vec::new();
    let hairline = (1.5 * unit).max(1.0);
    let mut counts = DrawCounts::default();
    for (at, panel) in panels.iter().enumerate() {
        let frame = grid.frame(at);
        let mut position = [frame.left, frame.top - 0.6 * sizes.heading];
        if options.letters {
            let letter = panel_letter(at);
            let (size, shift) = (1.15 * sizes.heading, text::width(&letter, 1.2 * sizes.heading) + 0.8 * sizes.heading);
            texts.push(Text { bold: true, ..Text::new(position, size, letter, theme.text) });
            position[0] += shift;
        }
        let heading = text::truncate(&sanitize(&panel.title), sizes.heading, frame.right - position[0]);
        texts.push(Text::new(position, sizes.heading, heading, theme.text));
        let drawing = marks::draw_map(panel, &key, frame, options, map_unit(frame), theme);
        let has_border = options.border.unwrap_or(panels.len() > 1 || drawing.counts.outside > 0);
        counts += drawing.counts;
        items.extend(drawing.items);
        let mut names = Vec::new();
        if with_labels {
            let placed = known.take().unwrap_or_else(|| place_labels(panel, frame));
            let marks = placed.boxes(theme);
            names = placed.rects;
            items.extend([SceneItem::Lines(placed.lines), SceneItem::Boxes(marks), SceneItem::Texts(placed.texts)]);
        }
        if let Some(region) = options.inset {
            let around = InsetSurroundings { options, names: &names, unit: map_unit(frame), theme };
            items.extend(inset::draw_inset(panel, &key, frame, region, &around));
        }
        if has_border {
            items.push(SceneItem::Boxes(frame_border(frame, hairline, theme.line)));
        }
    }
    items.extend(legend);
    if let Some(table) = &footer.table {
        items.extend(table.items(margin, bottom + 0.3 * sizes.text, hairline, theme));
    }
    let under = bottom + footer.table_height();
    let note = text::truncate(&footnote(panels, options, counts), sizes.text, right - left);
    let note = options.note.then_some((note, theme.muted_text));
    let lines = footer.caption.into_iter().map(|line| (line, theme.text)).chain(note);
    for (row, (content, color)) in lines.enumerate() {
        let baseline = under + (row + 1) as f32 * sizes.line_height;
        // A fixed height may not have space for all lines.
        if baseline <= height as f32 - 0.3 * sizes.text {
            texts.push(Text::new([margin, baseline], sizes.text, content, color));
        }
    }
    texts.retain(|text| !text.content.is_empty());
    items.push(SceneItem::Texts(texts));
    let (title, background) = (sanitize(&options.title), theme.background);
    let dpi = options.dpi;
    Ok(Scene { width: options.width as usize, height: height as usize, background, dpi, title, items })
}

/// `70,000 points, first two of 3 dimensions, the 3,500 least certain are left out, 2 far outside drawn as rings at the edge`
fn footnote(panels: &[MapPanel], options: &PictureOptions, counts: DrawCounts) -> String {
    let DrawCounts { outside, hidden, images, flagged, bridges } = counts;
    let rows = panels[0].map.rows();
    let mut note = match panels.iter().all(|panel| panel.map.rows() == rows) {
        true => format!("{} points", format_thousands(rows)),
        false => {
            panels.iter().map(|panel| format_thousands(panel.map.rows())).collect::<Vec<_>>().join(", ") + " points"
        }
    };
    let dims: Vec<usize> = panels.iter().map(|panel| panel.map.embedding.dim()).collect();
    if dims.iter().any(|&dim| dim > 2) {
        let same = dims.iter().all(|&dim| dim == dims[0]);
        let join = |dims: &[usize]| dims.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
        note += &format!(", first two of {} dimensions", join(if same { &dims[..1] } else { &dims }));
    }
    if hidden > 0 {
        note += &format!(", the {} least certain are left out", format_thousands(hidden));
    }
    if options.uncertainty == Uncertainty::Ellipses {
        // Histograms have no ellipses.
        let planar = || panels.iter().filter(|panel| panel.map.embedding.dim() > 1);
        if planar().any(|panel| panel.map.covariances.is_some()) {
            note += ", ellipses of one standard deviation";
        }
        if planar().any(|panel| panel.map.covariances.is_none() && panel.map.std.is_some()) {
            note += ", circles of one standard deviation (a single value per point, without direction)";
        }
    }
    if flagged > 0 {
        let how = if options.flagged == FlaggedPoints::Fade { "faded" } else { "hollow" };
        note += &format!(", {} flagged drawn {how}", format_thousands(flagged));
    }
    if bridges > 0 {
        let lines = if bridges == 1 { "bridge" } else { "bridges" };
        note += &format!(", {} {lines} between islands", format_thousands(bridges));
    }
    if images > 0 {
        note += &format!(", {} drawn as images", format_thousands(images));
    }
    match outside {
        0 => {}
        1 => note += ", 1 far outside drawn as a ring at the edge",
        outside => note += &format!(", {} far outside drawn as rings at the edge", format_thousands(outside)),
    }
    note
}

/// Returns a, b, ..., z, aa, ab, ...
fn panel_letter(at: usize) -> String {
    let letter = char::from(b'a' + (at % 26) as u8);
    if at < 26 { letter.into() } else { panel_letter(at / 26 - 1) + &letter.to_string() }
}

/// Returns the four sides of a frame.
pub(crate) fn frame_border(frame: Rect, thickness: f32, color: Rgb) -> Vec<(Rect, Rgb)> {
    let (Rect { left, top, right, bottom }, t) = (frame, thickness);
    let sides = [
        Rect { left, top, right, bottom: top + t },
        Rect { left, top: bottom - t, right, bottom },
        Rect { left, top: top + t, right: left + t, bottom: bottom - t },
        Rect { left: right - t, top: top + t, right, bottom: bottom - t },
    ];
    sides.map(|side| (side, color)).to_vec()
}

/// Formats a count with separators between thousands, such as `70,000`.
pub(crate) fn format_thousands(count: usize) -> String {
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
    use lowland::Embedding;

    #[test]
    fn both_axes_have_the_same_units_and_y_points_up() {
        let map = Embedding::new(vec![0.0, 0.0, 4.0, 0.0, 0.0, 1.0], 2).unwrap().into();
        let scene = build_scene(&[MapPanel::new(&map)], &PictureOptions::default()).unwrap();
        let SceneItem::Cloud(cloud) = &scene.items[0] else { panic!("points") };
        let mut at = cloud.positions.clone();
        at.sort_by(|a, b| (a[0], -a[1]).partial_cmp(&(b[0], -b[1])).unwrap());
        let (across, up) = (at[2][0] - at[0][0], at[0][1] - at[1][1]);
        assert!((across - 4.0 * up).abs() < 0.01 && across > 1300.0, "{across} {up}");
    }

    #[test]
    fn counts_are_grouped_by_thousands() {
        assert_eq!([7, 1234, 70_000, 1_000_000].map(format_thousands), ["7", "1,234", "70,000", "1,000,000"]);
    }
}
