use super::*;

const FRAME: Rect = Rect { left: 0.0, top: 0.0, right: 1000.0, bottom: 1000.0 };

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
    place_map_labels(&[LabelLevel { labels, color: None }], positions, FRAME, 4.0, 14.0, theme)
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
        assert!(covered <= 6, "{} covers {covered} points", text.content);
        let code: u32 = text.content.trim_start_matches("island ").parse().unwrap();
        let own = positions.iter().zip(&labels.codes).filter(|(_, c)| **c == code);
        let nearest = own.map(|(p, _)| distance_to(rect, p.unwrap())).fold(f32::INFINITY, f32::min);
        assert!(nearest < 60.0, "{} is {nearest} pixels from its island", text.content);
    }
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
    let placed = place_map_labels(&levels, &positions, FRAME, 4.0, 14.0, theme);
    assert!(placed.texts[0].content == "upper" && placed.texts[0].height > 1.3 * placed.texts[2].height);
    assert_eq!(placed.named, 11);
}
