//! Names of classes or islands on a map, next to their points and without overlaps.

mod anchors;
mod coverage;

use lowland::Labels;

use crate::collision_grid::CollisionGrid;
use crate::color::{Rgb, mix, with_lightness};
use crate::scene::{Anchor, Line, Rect, Text};
use crate::text::{self, sanitize};
use crate::theme::Theme;
use anchors::{ClassAnchor, find_anchors};
use coverage::Coverage;

/// Names for groups of points. Those of earlier levels are larger and take precedence.
pub(crate) struct LabelLevel<'a> {
    pub labels: &'a Labels,
    /// Color of a class, if points have the colors of these classes.
    pub color: Option<Box<dyn Fn(u32) -> Rgb + 'a>>,
}

/// Names at their places.
#[derive(Default)]
pub(crate) struct PlacedLabels {
    pub lines: Vec<Line>,
    pub texts: Vec<Text>,
    /// Number of groups with a name, and of those among them whose name is on the map.
    pub named: usize,
    pub placed: usize,
    /// Smallest share of a group's own points around its name's place.
    pub purity: f32,
}

/// Largest number of names of a level.
const MAX_NAMES: usize = 100;
/// Groups with a smaller share of the points have no name, unless there are few groups.
const MIN_SHARE: f64 = 0.001;
/// Distance, relative to the frame, that a name moves rather than cover points entirely.
const AVERSION: f32 = 0.3;
/// Largest distance of a name from its points, relative to the frame.
const REACH: f32 = 0.3;
/// Lines of a long name.
const MAX_LINES: usize = 3;

/// Places names on a map. `positions` are those of the points in the frame, by row; `None` for points that are not drawn.
pub(crate) fn place_map_labels(
    levels: &[LabelLevel],
    positions: &[Option<[f32; 2]>],
    frame: Rect,
    radius: f32,
    size: f32,
    theme: Theme,
) -> PlacedLabels {
    let all = Coverage::new(positions.iter().flatten(), frame, radius);
    let mut grid = CollisionGrid::new(frame, 4.0 * size);
    let mut out = PlacedLabels { purity: 1.0, ..PlacedLabels::default() };
    for (depth, level) in levels.iter().enumerate() {
        let anchors = find_anchors(level.labels, positions, frame, MAX_NAMES, MIN_SHARE);
        // Few names have space for larger letters.
        let enlarged = if levels.len() > 1 { 1.0 } else { 1.0 + 0.5 * (1.0 - anchors.len() as f32 / 24.0).max(0.0) };
        let largest = anchors.first().map_or(1, |anchor| anchor.points).max(1) as f32;
        for anchor in anchors {
            let name = sanitize(&level.labels.names[anchor.code as usize]);
            out.named += 1;
            out.purity = out.purity.min(anchor.purity);
            let importance = (anchor.points as f32 / largest).sqrt();
            let is_upper = depth + 1 < levels.len();
            let size = size * if is_upper { 1.6 } else { enlarged } * (0.85 + 0.35 * importance);
            let lines = text::wrap(&name, size, (9.0 * size).max(0.22 * frame.width()).min(0.45 * frame.width()));
            let Some(block) = TextBlock::new(lines, size) else { continue };
            let Some(center) = find_place(&block, &anchor, frame, [&all, &anchor.coverage(frame, radius)], &grid)
            else {
                continue;
            };
            let rect = block.rect(center);
            grid.insert(rect);
            out.placed += 1;
            let own = level.color.as_ref().map(|color| readable(color(anchor.code), theme));
            let color = own.unwrap_or(if is_upper { theme.text } else { mix(theme.text, theme.background, 0.15) });
            if distance_to(rect, anchor.nearest_point(rect)) > 1.1 * size {
                out.lines.push(Line {
                    ends: [edge_towards(rect, anchor.position), anchor.position],
                    width: (0.07 * size).max(0.8),
                    color: mix(color, theme.background, 0.25),
                    halo: theme.background,
                });
            }
            out.texts.extend(block.texts(center, color, is_upper || level.color.is_some(), theme));
        }
    }
    out
}

/// Returns a color that is readable as text on the background.
fn readable(color: Rgb, theme: Theme) -> Rgb {
    let dark = theme.is_dark();
    with_lightness(color, |lightness| if dark { lightness.max(0.78) } else { lightness.min(0.52) })
}

/// Centered lines of text.
struct TextBlock {
    lines: Vec<String>,
    size: f32,
    width: f32,
}

/// Distance between lines, in units of the height of a capital letter.
const LINE_HEIGHT: f32 = 1.75;

impl TextBlock {
    fn new(mut lines: Vec<String>, size: f32) -> Option<Self> {
        if lines.len() > MAX_LINES {
            lines.truncate(MAX_LINES);
            lines[MAX_LINES - 1].push('…');
        }
        let width = lines.iter().map(|line| text::width(line, size)).fold(0.0, f32::max);
        (width > 0.0).then_some(Self { lines, size, width })
    }

    fn rect(&self, center: [f32; 2]) -> Rect {
        let height = ((self.lines.len() - 1) as f32 * LINE_HEIGHT + 1.0) * self.size;
        Rect::centered(center, self.width + 0.7 * self.size, height + 0.9 * self.size)
    }

    fn texts(&self, [x, y]: [f32; 2], color: Rgb, bold: bool, theme: Theme) -> impl Iterator<Item = Text> {
        let top = y - 0.5 * (self.lines.len() - 1) as f32 * LINE_HEIGHT * self.size + 0.5 * self.size;
        self.lines.iter().enumerate().map(move |(at, line)| {
            let baseline = top + at as f32 * LINE_HEIGHT * self.size;
            let text = Text::new([x, baseline], self.size, line.clone(), color);
            Text { anchor: Anchor::Middle, bold, halo: Some(theme.background), ..text }
        })
    }
}

/// Returns the best center of a name: free of other names, close to its points and covering few points.
///
/// `coverage` is that by all points, and that by the points of the class.
fn find_place(
    block: &TextBlock,
    anchor: &ClassAnchor,
    frame: Rect,
    coverage: [&Coverage; 2],
    grid: &CollisionGrid,
) -> Option<[f32; 2]> {
    let anchor = anchor.position;
    let side = frame.width().min(frame.height());
    let step = 0.5 * block.size;
    let rings = (REACH * side / step) as usize;
    let mut best: Option<(f32, [f32; 2])> = None;
    for ring in 0..=rings {
        let distance = ring as f32 * step;
        // All further places cost more.
        if best.is_some_and(|(cost, _)| cost < distance / side) {
            break;
        }
        let directions = if ring == 0 { 1 } else { 24 };
        for direction in 0..directions {
            let angle = (direction as f32 / 24.0 - 0.25) * std::f32::consts::TAU;
            // Names are wide: their centers move farther sideways.
            let center = [anchor[0] + distance * angle.cos() * 1.4, anchor[1] + distance * angle.sin()];
            let rect = block.rect(center);
            if !frame.contains_rect(rect) || !grid.is_free(rect) {
                continue;
            }
            // A name belongs to the points around it, which should be its own.
            let around = rect.grown(1.2 * block.size);
            let foreign = coverage[0].share(around) - coverage[1].share(around);
            let cost = distance / side + AVERSION * (coverage[0].share(rect) + foreign.max(0.0));
            if best.is_none_or(|(least, _)| cost < least - 1e-6) {
                best = Some((cost, center));
            }
        }
    }
    best.map(|(_, center)| center)
}

fn distance_to(rect: Rect, [x, y]: [f32; 2]) -> f32 {
    let outside = |v: f32, low: f32, high: f32| (low - v).max(v - high).max(0.0);
    outside(x, rect.left, rect.right).hypot(outside(y, rect.top, rect.bottom))
}

/// Returns the point of the edge of a rectangle that is closest to a point outside.
fn edge_towards(rect: Rect, [x, y]: [f32; 2]) -> [f32; 2] {
    [x.clamp(rect.left, rect.right), y.clamp(rect.top, rect.bottom)]
}

#[cfg(test)]
mod tests;
