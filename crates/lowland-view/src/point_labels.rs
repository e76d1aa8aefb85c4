//! Labels next to points, without overlaps.

use crate::collision_grid::CollisionGrid;
use crate::color::Rgb;
use crate::scene::{Anchor, Disc, Rect, Text};
use crate::text::{self, sanitize};
use crate::theme::Theme;

/// Up to this many points, labels also avoid the points of others.
pub(crate) const FEW_POINTS: usize = 1000;

/// The search ends after this many labels in a row for which there is no space.
const MAX_FAILURES: usize = 20_000;

/// Places labels where there is space, earlier rows first: to the right of the point, to the left, above or below. Also returns a dot
/// at each labeled point.
pub(crate) fn place_labels(
    labels: &[String],
    rows: impl Iterator<Item = usize>,
    position: impl Fn(usize) -> [f32; 2],
    color_of: impl Fn(usize) -> Rgb,
    frame: Rect,
    radius: f32,
    size: f32,
    theme: Theme,
) -> (Vec<Disc>, Vec<Text>) {
    let mut grid = CollisionGrid::new(frame, 4.0 * size);
    if labels.len() <= FEW_POINTS {
        (0..labels.len()).for_each(|i| grid.insert(Rect::centered(position(i), 1.6 * radius, 1.6 * radius)));
    }
    let dot_radius = radius.min(0.2 * size).max(1.0);
    let (mut dots, mut texts, mut failures) = (Vec::new(), Vec::new(), 0);
    for i in rows {
        // Only the start of a very long label is processed.
        let label: String = labels[i].chars().take(200).collect();
        let content = text::truncate(&sanitize(&label), size, 0.25 * frame.width());
        if content.is_empty() {
            continue;
        }
        let ([x, y], width) = (position(i), text::width(&content, size));
        let gap = radius + 0.45 * size;
        let candidates = [
            ([x + gap, y + 0.5 * size], Anchor::Start),
            ([x - gap, y + 0.5 * size], Anchor::End),
            ([x, y - gap], Anchor::Middle),
            ([x, y + gap + size], Anchor::Middle),
        ];
        let free = candidates.into_iter().find(|&([x, baseline], anchor)| {
            let (left, padding, descent) = (x - anchor.fraction() * width, 0.4 * size, 0.35 * size);
            grid.try_insert(Rect {
                left: left - padding,
                top: baseline - 1.28 * size,
                right: left + width + padding,
                bottom: baseline + descent,
            })
        });
        match free {
            Some((start, anchor)) => {
                failures = 0;
                dots.push(Disc { center: [x, y], radius: dot_radius, color: color_of(i) });
                let text = Text::new(start, size, content, color_of(i));
                texts.push(Text { anchor, halo: Some(theme.background), ..text });
            }
            None => failures += 1,
        }
        if failures > MAX_FAILURES {
            break;
        }
    }
    (dots, texts)
}
