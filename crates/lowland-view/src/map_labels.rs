//! Names of classes or islands on a map, next to their points and without overlaps.

mod anchors;
mod coverage;

use lowland::Labels;

use crate::collision_grid::CollisionGrid;
use crate::color::{Rgb, mix};
use crate::scene::{Anchor, Line, Rect, Text};
use crate::text::{self, sanitize};
use crate::theme::Theme;
use anchors::{ClassAnchor, find_anchors};

pub(crate) use anchors::densest_place;
pub(crate) use coverage::Coverage;

/// Names for groups of points. Those of earlier levels are larger and take precedence.
pub(crate) struct LabelLevel<'a> {
    pub labels: &'a Labels,
    /// Color of a class, if points have the colors of these classes. A square in front of the name has it, not the text: colors of text
    /// need more contrast than those of points, and within its bounds only a few are far enough from each other.
    pub color: Option<Box<dyn Fn(u32) -> Rgb + 'a>>,
}

/// Names at their places.
#[derive(Default)]
pub(crate) struct PlacedLabels {
    pub lines: Vec<Line>,
    pub texts: Vec<Text>,
    /// Colors of names, each on a larger square in the color of the background.
    pub marks: Vec<NameMark>,
    /// The space of each name.
    pub rects: Vec<Rect>,
    /// Number of groups with a name, and of those among them whose name is on the map.
    pub named: usize,
    pub placed: usize,
    /// Smallest share of a group's own points around its name's place.
    pub purity: f32,
}

/// A square in the color of a class in front of its name: points are round.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct NameMark {
    pub rect: Rect,
    pub color: Rgb,
    /// Index of the line of text behind it in `PlacedLabels::texts`.
    pub text: usize,
}

impl PlacedLabels {
    /// Returns the squares of all marks in drawing order.
    pub fn boxes(&self, theme: Theme) -> Vec<(Rect, Rgb)> {
        let with_halo = |&NameMark { rect, color, .. }: &NameMark| {
            [(rect.grown((0.2 * rect.width()).max(1.0)), theme.background), (rect, color)]
        };
        self.marks.iter().flat_map(with_halo).collect()
    }
}

/// Side of a mark and its distance from the text, relative to the height of a capital letter.
const MARK_SIDE: f32 = 0.85;
const MARK_GAP: f32 = 0.4;

/// Largest number of names of a level.
const MAX_NAMES: usize = 100;
/// Groups with a smaller share of the points have no name, unless there are few groups.
const MIN_SHARE: f64 = 0.001;
/// Largest distance of a name from its points, relative to the frame.
const REACH: f32 = 0.3;
/// Distance, relative to the frame, that a name moves rather than cover points entirely: beyond its reach, so that it covers points only
/// where there is no free space within it. The cost grows with the root of what is covered, because a few covered points are
/// already hard to see and the name hard to read.
const COVERING_COST: f32 = 0.4;
/// Distances that a name moves rather than be in a dense crowd of points of others, and rather than have only points of others around it.
const FOREIGN_COSTS: [f32; 2] = [0.3, 0.04];
/// Distance that a name moves rather than cross the line of another name.
const CROSSING_COST: f32 = 0.1;
/// Lines of a long name.
const MAX_LINES: usize = 3;

/// Height of letters.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LabelSize {
    pub height: f32,
    /// Whether few names may be larger, because they have space for it.
    pub may_grow: bool,
}

/// Places names on a map. `positions` are those of the points in the frame, by row; `None` for points that are not drawn.
pub(crate) fn place_map_labels(
    levels: &[LabelLevel],
    positions: &[Option<[f32; 2]>],
    frame: Rect,
    radius: f32,
    LabelSize { height: size, may_grow }: LabelSize,
    theme: Theme,
) -> PlacedLabels {
    let all = Coverage::new(positions.iter().flatten(), frame, radius);
    let mut taken = TakenSpace { grid: CollisionGrid::new(frame, 4.0 * size), rects: Vec::new(), leaders: Vec::new() };
    let mut out = PlacedLabels { purity: 1.0, ..PlacedLabels::default() };
    for (depth, level) in levels.iter().enumerate() {
        let anchors = find_anchors(level.labels, positions, frame, MAX_NAMES, MIN_SHARE);
        let can_grow = may_grow && levels.len() == 1;
        let enlarged = if can_grow { 1.0 + 0.5 * (1.0 - anchors.len() as f32 / 24.0).max(0.0) } else { 1.0 };
        let largest = anchors.first().map_or(1, |anchor| anchor.points).max(1) as f32;
        for anchor in anchors {
            let name = sanitize(&level.labels.names[anchor.code as usize]);
            out.named += 1;
            out.purity = out.purity.min(anchor.purity);
            let importance = (anchor.points as f32 / largest).sqrt();
            let is_upper = depth + 1 < levels.len();
            let size = size * if is_upper { 1.6 } else { enlarged } * (0.85 + 0.35 * importance);
            let lines = text::wrap(&name, size, (9.0 * size).max(0.22 * frame.width()).min(0.45 * frame.width()));
            let mark = level.color.as_ref().map(|color| color(anchor.code));
            let bold = is_upper || mark.is_some();
            let Some(block) = TextBlock::new(lines, size, bold, mark) else { continue };
            let coverage = [&all, &anchor.coverage(frame, radius)];
            let Some(center) = find_place(&block, &anchor, frame, coverage, radius, &taken) else { continue };
            let rect = block.rect(center);
            taken.grid.insert(rect);
            taken.rects.push(rect);
            out.placed += 1;
            let color = if bold { theme.text } else { mix(theme.text, theme.background, 0.15) };
            if distance_to(rect, anchor.nearest_point(rect)) > 1.1 * size {
                let ends = [edge_towards(rect, anchor.position), anchor.position];
                taken.leaders.push(ends);
                out.lines.push(Line {
                    ends,
                    width: (0.07 * size).max(0.8),
                    color: mix(theme.text, theme.background, 0.3),
                    halo: theme.background,
                });
            }
            out.marks.extend(block.mark(center).map(|(rect, color)| NameMark { rect, color, text: out.texts.len() }));
            out.texts.extend(block.texts(center, color, theme));
        }
    }
    out.rects = taken.rects;
    out
}

/// Where names and their lines already are.
struct TakenSpace {
    grid: CollisionGrid,
    rects: Vec<Rect>,
    leaders: Vec<Segment>,
}

type Segment = [[f32; 2]; 2];

impl TakenSpace {
    /// Number of crossings that a name and its line, if it needs one, would add.
    fn crossings(&self, rect: Rect, leader: Option<Segment>) -> usize {
        let over_lines = self.leaders.iter().filter(|&&line| crosses_rect(line, rect)).count();
        let Some(leader) = leader else { return over_lines };
        let names = self.rects.iter().filter(|&&other| crosses_rect(leader, other)).count();
        over_lines + names + self.leaders.iter().filter(|&&other| cross(leader, other)).count()
    }
}

/// Whether a part of a segment is inside a rectangle (clipping by Liang and Barsky).
fn crosses_rect([[x0, y0], [x1, y1]]: Segment, rect: Rect) -> bool {
    let (mut from, mut to) = (0.0f32, 1.0f32);
    for (start, step, low, high) in [(x0, x1 - x0, rect.left, rect.right), (y0, y1 - y0, rect.top, rect.bottom)] {
        if step == 0.0 {
            if start <= low || start >= high {
                return false;
            }
            continue;
        }
        let (a, b) = ((low - start) / step, (high - start) / step);
        (from, to) = (from.max(a.min(b)), to.min(a.max(b)));
    }
    from < to
}

/// Whether two segments cross.
fn cross([a, b]: Segment, [c, d]: Segment) -> bool {
    let side = |p: [f32; 2], q: [f32; 2], r: [f32; 2]| (q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0]);
    side(a, b, c) * side(a, b, d) < 0.0 && side(c, d, a) * side(c, d, b) < 0.0
}

/// Centered lines of text, the first with the color of the class in front of it.
struct TextBlock {
    lines: Vec<String>,
    size: f32,
    bold: bool,
    mark: Option<Rgb>,
    /// Width of the first line with its mark.
    first: f32,
    width: f32,
}

/// Distance between lines, in units of the height of a capital letter.
const LINE_HEIGHT: f32 = 1.75;

impl TextBlock {
    fn new(mut lines: Vec<String>, size: f32, bold: bool, mark: Option<Rgb>) -> Option<Self> {
        if lines.len() > MAX_LINES {
            lines.truncate(MAX_LINES);
            lines[MAX_LINES - 1].push('…');
        }
        let text_width = |line: &String| if bold { text::bold_width(line, size) } else { text::width(line, size) };
        let mark_width = if mark.is_some() { (MARK_SIDE + MARK_GAP) * size } else { 0.0 };
        let first = text_width(lines.first()?) + mark_width;
        let width = lines[1..].iter().map(text_width).fold(first, f32::max);
        (width > mark_width).then_some(Self { lines, size, bold, mark, first, width })
    }

    fn rect(&self, center: [f32; 2]) -> Rect {
        let height = ((self.lines.len() - 1) as f32 * LINE_HEIGHT + 1.0) * self.size;
        Rect::centered(center, self.width + 0.7 * self.size, height + 0.9 * self.size)
    }

    /// Baseline of the first line.
    fn baseline(&self, [_, y]: [f32; 2]) -> f32 {
        y - 0.5 * (self.lines.len() - 1) as f32 * LINE_HEIGHT * self.size + 0.5 * self.size
    }

    fn mark(&self, center: [f32; 2]) -> Option<(Rect, Rgb)> {
        let side = MARK_SIDE * self.size;
        let middle = [center[0] - 0.5 * self.first + 0.5 * side, self.baseline(center) - 0.5 * self.size];
        self.mark.map(|color| (Rect::centered(middle, side, side), color))
    }

    fn texts(&self, center: [f32; 2], color: Rgb, theme: Theme) -> impl Iterator<Item = Text> {
        let shift = if self.mark.is_some() { 0.5 * (MARK_SIDE + MARK_GAP) * self.size } else { 0.0 };
        let top = self.baseline(center);
        self.lines.iter().enumerate().map(move |(at, line)| {
            let x = center[0] + if at == 0 { shift } else { 0.0 };
            let text = Text::new([x, top + at as f32 * LINE_HEIGHT * self.size], self.size, line.clone(), color);
            Text { anchor: Anchor::Middle, bold: self.bold, halo: Some(theme.background), ..text }
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
    radius: f32,
    taken: &TakenSpace,
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
        // On larger rings as many directions as keep the places about as close to each other.
        let directions = if ring == 0 { 1 } else { 24 * (1 + ring / 16) };
        for direction in 0..directions {
            let angle = (direction as f32 / directions as f32 - 0.25) * std::f32::consts::TAU;
            // Names are wide: their centers move farther sideways.
            let center = [anchor[0] + distance * angle.cos() * 1.4, anchor[1] + distance * angle.sin()];
            let rect = block.rect(center);
            if !frame.contains_rect(rect) || !taken.grid.is_free(rect) {
                continue;
            }
            // A name belongs to the points around it, which should be its own.
            let around = rect.grown(1.2 * block.size);
            let [any, own] = coverage.map(|points| points.share(around));
            let foreign = (any - own).max(0.0);
            let by_foreign = FOREIGN_COSTS[0] * foreign + FOREIGN_COSTS[1] * foreign / any.max(f32::MIN_POSITIVE);
            let covered = coverage[0].share(rect.grown(radius));
            let cost = distance / side + COVERING_COST * covered.sqrt() + by_foreign;
            let is_better = |cost: f32| best.is_none_or(|(least, _)| cost < least - 1e-6);
            if !is_better(cost) {
                continue;
            }
            let leader = (own == 0.0).then(|| [edge_towards(rect, anchor), anchor]);
            let cost = cost + CROSSING_COST * taken.crossings(rect, leader) as f32;
            if is_better(cost) {
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
