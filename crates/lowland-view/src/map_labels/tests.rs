use super::*;
use crate::Palette;
use crate::palette::tests::{DEFICIENCIES, contrast, simulate, smallest_difference};

const FRAME: Rect = Rect { left: 0.0, top: 0.0, right: 1000.0, bottom: 1000.0 };
const SIZE: LabelSize = LabelSize { height: 14.0, may_grow: true };

/// Points of `count` classes on a grid of round islands.
fn islands(count: u32, names: impl Fn(u32) -> String) -> (Labels, Vec<Option<[f32; 2]>>) {
    let across = (count as f32).sqrt().ceil() as u32;
    let spacing = 1000.0 / across as f32;
    let (mut codes, mut positions) = (Vec::new(), Vec::new());
    for code in 0..count {
        let center = [(code % across) as f32 + 0.5, (code / across) as f32 + 0.5].map(|v| v * spacing);
        for i in 0..60 {
            let (angle, reach) = (i as f32 * 2.4, (i as f32 / 60.0).sqrt() * 0.25 * spacing);
            positions.push(Some([center[0] + reach * angle.cos(), center[1] + reach * angle.sin()]));
            codes.push(code);
        }
    }
    (Labels { codes, names: (0..count).map(names).collect() }, positions)
}

fn place(labels: &Labels, positions: &[Option<[f32; 2]>]) -> PlacedLabels {
    let theme = Theme::for_background([255; 3]);
    place_map_labels(&[LabelLevel { labels, color: None }], positions, FRAME, 4.0, SIZE, theme)
}

fn bounds(text: &Text) -> Rect {
    let width = text::width(&text.content, text.height);
    Rect::centered([text.position[0], text.position[1] - 0.5 * text.height], width, text.height)
}

#[test]
fn names_of_separate_islands_are_next_to_them_without_overlap() {
    let (labels, positions) = islands(25, |code| format!("island {code}"));
    let placed = place(&labels, &positions);
    assert_eq!((placed.named, placed.placed, placed.texts.len()), (25, 25, 25));
    assert!(placed.purity > 0.99 && placed.lines.len() < 25, "{}", placed.purity);
    for (at, text) in placed.texts.iter().enumerate() {
        let rect = bounds(text);
        assert!(FRAME.contains_rect(rect));
        assert!(placed.texts[at + 1..].iter().all(|other| !rect.overlaps(bounds(other))), "{}", text.content);
        let covered = positions.iter().flatten().filter(|p| distance_to(rect, **p) == 0.0).count();
        assert!(covered <= 1, "{} covers {covered} points", text.content);
        let code: u32 = text.content.trim_start_matches("island ").parse().unwrap();
        let own = positions.iter().zip(&labels.codes).filter(|(_, c)| **c == code);
        let nearest = own.map(|(p, _)| distance_to(rect, p.unwrap())).fold(f32::INFINITY, f32::min);
        assert!(nearest < 60.0, "{} is {nearest} pixels from its island", text.content);
    }
}

/// A disc of points without gaps, with free space around it: six classes in its middle, surrounded by twelve others.
fn crowded() -> (Labels, Vec<Option<[f32; 2]>>) {
    let (mut codes, mut positions) = (Vec::new(), Vec::new());
    for i in 0..6000 {
        let (angle, share) = ((i as f32 * 2.4) % std::f32::consts::TAU, i as f32 / 6000.0);
        let sector = |count: f32| (angle / std::f32::consts::TAU * count) as u32;
        codes.push(if share < 0.3 { sector(6.0) } else { 6 + sector(12.0) });
        let reach = 260.0 * share.sqrt();
        positions.push(Some([500.0 + reach * angle.cos(), 500.0 + reach * angle.sin()]));
    }
    (Labels { codes, names: (0..18).map(|code| format!("a long name {code}")).collect() }, positions)
}

#[test]
fn names_of_a_crowded_map_are_in_free_space_with_lines_to_their_points() {
    let (labels, positions) = crowded();
    let placed = place(&labels, &positions);
    assert_eq!((placed.named, placed.placed), (18, 18));
    assert_eq!(placed.rects.len(), 18);
    // Those of the inner classes cannot be next to their points.
    assert!(placed.lines.len() >= 6, "{} lines", placed.lines.len());
    for (at, rect) in placed.rects.iter().enumerate() {
        assert!(FRAME.contains_rect(*rect));
        assert!(placed.rects[at + 1..].iter().all(|other| !rect.overlaps(*other)), "name {at} overlaps another");
        let covered = positions.iter().flatten().filter(|p| distance_to(*rect, **p) == 0.0).count();
        assert!(covered <= 3, "name {at} covers {covered} points");
    }
    for (at, line) in placed.lines.iter().enumerate() {
        let [from, to] = line.ends;
        assert!(placed.rects.iter().any(|rect| distance_to(*rect, from) == 0.0), "line {at} begins at a name");
        let nearest = positions.iter().flatten().map(|p| (p[0] - to[0]).hypot(p[1] - to[1]));
        assert!(nearest.fold(f32::INFINITY, f32::min) < 12.0, "line {at} ends among points");
        assert!(!placed.lines[at + 1..].iter().any(|other| cross(line.ends, other.ends)), "line {at} crosses another");
        assert!(!placed.rects.iter().any(|rect| crosses_rect(line.ends, rect.grown(-1.0))), "line {at} crosses a name");
    }
}

#[test]
fn segments_and_rectangles_that_cross() {
    let rect = Rect { left: 0.0, top: 0.0, right: 10.0, bottom: 10.0 };
    assert!(crosses_rect([[-5.0, 5.0], [15.0, 6.0]], rect) && crosses_rect([[5.0, 5.0], [50.0, 5.0]], rect));
    assert!(!crosses_rect([[-5.0, 5.0], [5.0, 25.0]], rect) && !crosses_rect([[11.0, -5.0], [11.0, 15.0]], rect));
    assert!(cross([[0.0, 0.0], [4.0, 4.0]], [[0.0, 4.0], [4.0, 0.0]]));
    assert!(!cross([[0.0, 0.0], [4.0, 4.0]], [[0.0, 4.0], [1.0, 3.0]]));
}

#[test]
fn names_have_the_size_of_the_text_where_it_is_given() {
    let (labels, positions) = islands(4, |code| format!("island {code}"));
    let theme = Theme::for_background([255; 3]);
    let heights = |may_grow| {
        let size = LabelSize { height: 14.0, may_grow };
        let placed =
            place_map_labels(&[LabelLevel { labels: &labels, color: None }], &positions, FRAME, 4.0, size, theme);
        placed.texts.iter().map(|text| text.height).fold(0.0, f32::max)
    };
    assert!(heights(true) > 1.3 * 14.0 && heights(false) <= 1.2 * 14.0 + 0.01);
}

#[test]
fn unknown_classes_have_no_name_and_mixed_classes_are_impure() {
    let (mut labels, positions) = islands(4, |code| ["a", "", "unknown", "b"][code as usize].into());
    assert_eq!(place(&labels, &positions).named, 2);
    labels.codes.iter_mut().enumerate().for_each(|(at, code)| *code = if at % 2 == 0 { 0 } else { 3 });
    assert!(place(&labels, &positions).purity < 0.6);
}

#[test]
fn long_names_are_broken_into_lines_and_cut() {
    let (labels, positions) = islands(1, |_| "a very long name of a class ".repeat(40));
    let placed = place(&labels, &positions);
    assert_eq!(placed.texts.len(), MAX_LINES);
    assert!(placed.texts.last().unwrap().content.ends_with('…'));
}

#[test]
fn upper_levels_are_larger_and_hostile_names_are_only_text() {
    let (fine, positions) = islands(9, |code| format!("<script>{code}</script>"));
    let coarse =
        Labels { codes: fine.codes.iter().map(|code| code / 5).collect(), names: vec!["upper".into(), "lower".into()] };
    let theme = Theme::for_background([255; 3]);
    let levels = [LabelLevel { labels: &coarse, color: None }, LabelLevel { labels: &fine, color: None }];
    let placed = place_map_labels(&levels, &positions, FRAME, 4.0, SIZE, theme);
    assert!(placed.texts[0].content == "upper" && placed.texts[0].height > 1.3 * placed.texts[2].height);
    assert_eq!(placed.named, 11);
}

#[test]
fn names_are_readable_and_their_marks_have_the_colors_of_the_points() {
    let palette = Palette::default();
    // The bounds of the palette for points, normal vision and deficiencies.
    for (count, normal, deficient) in [(10, 0.15, 0.07), (20, 0.09, 0.05), (60, 0.055, 0.025)] {
        let (labels, positions) = islands(count, |code| format!("{code}"));
        for background in [[255; 3], [0x16, 0x18, 0x1d]] {
            let theme = Theme::for_background(background);
            let color = |code: u32| palette.class_color(code as usize, theme.is_dark()).unwrap();
            let level = LabelLevel { labels: &labels, color: Some(Box::new(color)) };
            let placed = place_map_labels(&[level], &positions, FRAME, 4.0, SIZE, theme);
            assert_eq!((placed.texts.len(), placed.marks.len()), (count as usize, count as usize));
            assert!(placed.texts.iter().all(|text| contrast(text.color, theme.background) > 7.0));
            for (mark, rect) in placed.marks.iter().zip(&placed.rects) {
                let text = &placed.texts[mark.text];
                assert_eq!(mark.color, color(text.content.parse().unwrap()), "the mark of {}", text.content);
                let width = text::bold_width(&text.content, text.height);
                let gap = text.position[0] - 0.5 * width - mark.rect.right;
                assert!((0.2 * text.height..0.6 * text.height).contains(&gap), "{gap} pixels to {}", text.content);
                assert!(rect.contains_rect(mark.rect) && text.position[0] + 0.5 * width < rect.right);
            }
            let colors: Vec<Rgb> = placed.marks.iter().map(|mark| mark.color).collect();
            assert!(smallest_difference(&colors) > normal, "{count}: {}", smallest_difference(&colors));
            for (name, deficiency) in DEFICIENCIES {
                let seen: Vec<Rgb> = colors.iter().map(|&color| simulate(color, deficiency)).collect();
                assert!(smallest_difference(&seen) > deficient, "{count} {name}: {}", smallest_difference(&seen));
            }
        }
    }
}

#[test]
fn larger_classes_have_larger_names() {
    let (mut labels, mut positions) = islands(3, |code| format!("island {code}"));
    // One half of the points of class 1 and three quarters of those of class 2 are left out.
    let keep = |at: usize, code: u32| at.is_multiple_of(1 << code);
    let kept: Vec<usize> = (0..positions.len()).filter(|&at| keep(at, labels.codes[at])).collect();
    labels.codes = kept.iter().map(|&at| labels.codes[at]).collect();
    positions = kept.iter().map(|&at| positions[at]).collect();
    let placed = place(&labels, &positions);
    let height = |name: &str| placed.texts.iter().find(|text| text.content == name).unwrap().height;
    let heights = [height("island 0"), height("island 1"), height("island 2")];
    assert!(heights[0] > 1.05 * heights[1] && heights[1] > 1.05 * heights[2], "{heights:?}");
}
