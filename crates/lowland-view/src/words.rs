//! Words beside points, none over another.

use crate::color::Rgb;
use crate::font;
use crate::layout::Inks;
use crate::letters::clean;
use crate::occupied::Occupied;
use crate::scene::{Anchor, Disc, Rect, Text};

/// So few points that words can also keep clear of the points of others.
pub(crate) const FEW: usize = 1000;

/// So many words in a row for which there was no room end the search.
const FAILURES: usize = 20_000;

/// The words for which there is room, earlier ones first: right of the point, left, above or below; and dots that say whose they are.
pub(crate) fn words(
    names: &[String],
    rows: impl Iterator<Item = usize>,
    at: impl Fn(usize) -> [f32; 2],
    ink: impl Fn(usize) -> Rgb,
    frame: Rect,
    radius: f32,
    unit: f32,
    inks: Inks,
) -> (Vec<Disc>, Vec<Text>) {
    let size = (15.0 * unit).max(6.0);
    let mut occupied = Occupied::new(frame, 4.0 * size);
    if names.len() <= FEW {
        (0..names.len()).for_each(|i| occupied.block(Rect::about(at(i), 1.6 * radius, 1.6 * radius)));
    }
    let dot = radius.min(0.2 * size).max(1.0);
    let (mut dots, mut texts, mut failures) = (Vec::new(), Vec::new(), 0);
    for i in rows {
        // Only what can be shown of a very long name is looked at.
        let name: String = names[i].chars().take(200).collect();
        let content = font::fit(&clean(&name), size, 0.25 * frame.width());
        if content.is_empty() {
            continue;
        }
        let ([x, y], wide) = (at(i), font::width(&content, size));
        let gap = radius + 0.45 * size;
        let places = [
            ([x + gap, y + 0.5 * size], Anchor::Start),
            ([x - gap, y + 0.5 * size], Anchor::End),
            ([x, y - gap], Anchor::Middle),
            ([x, y + gap + size], Anchor::Middle),
        ];
        let free = places.into_iter().find(|&([x, baseline], anchor)| {
            let (left, pad, tail) = (x - anchor.share() * wide, 0.4 * size, 0.35 * size);
            occupied.take(Rect {
                left: left - pad,
                top: baseline - 1.28 * size,
                right: left + wide + pad,
                bottom: baseline + tail,
            })
        });
        match free {
            Some((place, anchor)) => {
                failures = 0;
                dots.push(Disc { at: [x, y], radius: dot, color: ink(i) });
                texts.push(Text { anchor, halo: Some(inks.ground), ..Text::new(place, size, content, ink(i)) });
            }
            None => failures += 1,
        }
        if failures > FAILURES {
            break;
        }
    }
    (dots, texts)
}
