//! Tests of flagged points and of lines between islands.

use super::*;
use lowland::{Reliability, ReliabilityColumn};

/// Two groups of points, of which every tenth is flagged; the first points of both groups are neighbors in the data.
fn torn_map() -> AnnotatedEmbedding {
    let values: Vec<f64> =
        (0..100).flat_map(|i| [f64::from(i % 10) + 20.0 * f64::from(i / 50), f64::from(i / 10 % 5)]).collect();
    let mut known = Reliability::default();
    known.set(ReliabilityColumn::Flagged, (0..100).map(|i| f64::from(u8::from(i % 10 == 0))).collect());
    known.set(ReliabilityColumn::Island, (0..100).map(|i| f64::from(1 + i / 50)).collect());
    let bridge = |i: i32| if i % 50 < 5 { f64::from(2 - i / 50) } else { 0.0 };
    known.set(ReliabilityColumn::BridgeTo, (0..100).map(bridge).collect());
    AnnotatedEmbedding { reliability: Some(known), ..map_of(&values, 2) }
}

fn lines(scene: &Scene) -> Vec<Line> {
    let all = scene.items.iter().filter_map(|item| if let SceneItem::Lines(lines) = item { Some(lines) } else { None });
    all.flatten().copied().collect()
}

#[test]
fn flagged_points_are_hollow_or_fade_or_look_like_the_others() {
    let map = torn_map();
    let scene = |flagged| scene_of(MapPanel::new(&map), &PictureOptions { flagged, ..small() });
    let hollow = scene(FlaggedPoints::Hollow);
    assert_eq!((clouds(&hollow)[0].positions.len(), rings(&hollow).len()), (90, 10));
    assert!(clouds(&hollow)[0].weights.is_none() && has_text(&hollow, "10 flagged drawn hollow"));
    let fade = scene(FlaggedPoints::Fade);
    let weights = clouds(&fade)[0].weights.as_ref().unwrap();
    assert_eq!((weights.len(), weights.iter().filter(|&&w| w < 0.5).count(), rings(&fade).len()), (100, 10, 0));
    assert!(has_text(&fade, "10 flagged drawn faded"));
    let none = scene(FlaggedPoints::None);
    assert!(clouds(&none)[0].weights.is_none() && rings(&none).is_empty() && !has_text(&none, "flagged"));
}

#[test]
fn lines_join_islands_that_are_connected_in_the_data_in_every_format() {
    let map = torn_map();
    let scene = scene_of(MapPanel::new(&map), &small());
    let found = lines(&scene);
    assert_eq!(found.len(), 1);
    assert!(has_text(&scene, "1 bridge between islands"));
    // From the mean of five points on the left to that of five points on the right.
    let [from, to] = found[0].ends;
    assert!(from[0] < to[0] && (from[1] - to[1]).abs() < 0.01, "{found:?}");
    let without = scene_of(MapPanel::new(&map), &PictureOptions { bridges: false, ..small() });
    assert!(lines(&without).is_empty() && !has_text(&without, "bridge"));
    let draw =
        |bridges, format| draw_file(&[MapPanel::new(&map)], &PictureOptions { bridges, ..small() }, format).unwrap();
    let svg = String::from_utf8(draw(true, PictureFormat::Svg)).unwrap();
    assert_eq!(svg.matches("<line ").count(), 2, "the line and its outline");
    for format in [PictureFormat::Png, PictureFormat::Pdf] {
        assert!(draw(true, format) != draw(false, format));
    }
}

#[test]
fn maps_without_columns_of_reliability_are_drawn_as_before() {
    let map = AnnotatedEmbedding { reliability: None, ..torn_map() };
    let scene = scene_of(MapPanel::new(&map), &small());
    assert!(lines(&scene).is_empty() && rings(&scene).is_empty() && clouds(&scene)[0].positions.len() == 100);
}
