//! Tests of complete pictures.

mod layout;
mod parse;
mod reliability;
mod uncertainty;
mod validation;
mod vector;

use lowland::{Embedding, Error, Labels};

use super::*;
use crate::layout::build_scene;
use crate::scene::{Disc, Line, PointCloud, PointStyle, Rect, Scene, SceneItem, Text};

/// Returns width, height and pixels of a PNG file.
fn decode(file: &[u8]) -> (usize, usize, Vec<[u8; 3]>) {
    let mut reader = png::Decoder::new(std::io::Cursor::new(file)).read_info().unwrap();
    let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut bytes).unwrap();
    (info.width as usize, info.height as usize, bytes.chunks_exact(3).map(|p| [p[0], p[1], p[2]]).collect())
}

fn small() -> PictureOptions {
    PictureOptions { width: 320, height: Some(300), ..Default::default() }
}

/// Counts the pixels with a saturated color, which only points, bars and swatches have.
fn colored_pixels(file: &[u8]) -> usize {
    let (_, _, pixels) = decode(file);
    pixels.iter().filter(|p| p.iter().max().unwrap() - p.iter().min().unwrap() > 60).count()
}

fn draw_file(panels: &[MapPanel], options: &PictureOptions, format: PictureFormat) -> Result<Vec<u8>> {
    draw_picture(panels, options, format).map(|picture| picture.file)
}

/// Returns the color of a class on a light background.
fn class_color(at: usize) -> color::Rgb {
    Palette::default().class_color(at, false).unwrap()
}

fn spiral(n: usize, dim: usize) -> Vec<f64> {
    (0..n * dim).map(|at| ((at / dim) as f64).sqrt() * ((at / dim) as f64 * 0.7 + (at % dim) as f64).sin()).collect()
}

fn map_of(values: &[f64], dim: usize) -> AnnotatedEmbedding {
    Embedding::new(values.to_vec(), dim).unwrap().into()
}

fn labels(codes: impl IntoIterator<Item = u32>, names: &[String]) -> Labels {
    Labels { codes: codes.into_iter().collect(), names: names.to_vec() }
}

fn scene_of(panel: MapPanel, options: &PictureOptions) -> Scene {
    check::check_picture(std::slice::from_ref(&panel), options).unwrap();
    build_scene(&[panel], options).unwrap()
}

fn texts(scene: &Scene) -> Vec<&Text> {
    let all = scene.items.iter().filter_map(|item| if let SceneItem::Texts(texts) = item { Some(texts) } else { None });
    all.flatten().collect()
}

fn clouds(scene: &Scene) -> Vec<&PointCloud> {
    scene.items.iter().filter_map(|item| if let SceneItem::Cloud(cloud) = item { Some(cloud) } else { None }).collect()
}

fn rings(scene: &Scene) -> Vec<&Disc> {
    let all = scene.items.iter().filter_map(|item| if let SceneItem::Rings(rings) = item { Some(rings) } else { None });
    all.flatten().collect()
}

fn has_text(scene: &Scene, content: &str) -> bool {
    texts(scene).iter().any(|text| text.content.contains(content))
}

#[test]
fn pictures_have_the_requested_size_and_are_reproducible() {
    let values = spiral(500, 2);
    let map = map_of(&values, 2);
    let file = draw_png(&map, &small()).unwrap();
    let (width, height, pixels) = decode(&file);
    assert_eq!((width, height, pixels[0]), (320, 300, [255; 3]));
    for format in [PictureFormat::Png, PictureFormat::Svg, PictureFormat::Pdf] {
        let draw = || draw_file(&[MapPanel::new(&map)], &small(), format).unwrap();
        assert_eq!(draw(), draw());
    }
    assert!(colored_pixels(&file) > 500);
}

#[test]
fn every_class_has_its_own_color() {
    let values = spiral(300, 2);
    let names = ["one", "two", "three"].map(String::from);
    let labels = Some(labels((0..300).map(|i| i % 3), &names));
    let options = PictureOptions { legend: LegendPlace::Right, ..small() };
    let file = draw_png(&AnnotatedEmbedding { labels, ..map_of(&values, 2) }, &options).unwrap();
    let (_, _, pixels) = decode(&file);
    for at in 0..3 {
        let wanted = class_color(at).map(|v| (v * 255.0 + 0.5) as u8);
        assert!(pixels.contains(&wanted), "{wanted:?}");
    }
}

#[test]
fn many_classes_long_names_and_unnamed_codes_are_drawn() {
    let values = spiral(400, 2);
    let labels = labels((0..400u32).map(|i| (i % 77).wrapping_mul(55_000_000)), &["x".repeat(500)]);
    let map = AnnotatedEmbedding { labels: Some(labels.clone()), ..map_of(&values, 2) };
    for side in [32, 90, 300, 700] {
        let options = PictureOptions { width: side, height: Some(side), title: "t".repeat(300), ..small() };
        draw_png(&map, &options).unwrap();
        let scene = scene_of(MapPanel { color: Color::Classes(&labels), ..MapPanel::new(&map) }, &options);
        // 60 classes have colors; the legend of a small picture has no space for all of them.
        assert_eq!(has_text(&scene, "+ 17 more"), side == 700, "{side}");
    }
}

#[test]
fn single_points_equal_points_and_empty_maps_are_drawn() {
    for dim in 1..=4 {
        for values in [vec![], vec![3.0; dim], vec![-2.5; dim * 70]] {
            let mut map = map_of(&values, dim);
            let file = draw_png(&map, &small()).unwrap();
            assert_eq!(colored_pixels(&file) > 0, !values.is_empty(), "{dim} {}", values.len());
            map.std = Some(vec![0.0; map.rows()]);
            let options =
                PictureOptions { uncertainty: Uncertainty::Fade, certain: 0.5, density: Density::On, ..small() };
            for format in [PictureFormat::Png, PictureFormat::Svg, PictureFormat::Pdf] {
                draw_file(&[MapPanel::new(&map)], &options, format).unwrap();
            }
        }
    }
}

#[test]
fn outliers_are_drawn_at_the_edge() {
    let mut values = spiral(3000, 2);
    let alone = colored_pixels(&draw_png(&map_of(&values, 2), &small()).unwrap());
    values.extend([1e300, -1e300, 1.7e308, 1.7e308, -1.7e308, 0.0]);
    let map = map_of(&values, 2);
    let scene = scene_of(MapPanel::new(&map), &small());
    let frame = clouds(&scene)[0].frame;
    assert_eq!(rings(&scene).len(), 3);
    for ring in rings(&scene) {
        assert!(frame.contains_rect(Rect::centered(ring.center, 0.0, 0.0)));
    }
    assert!(has_text(&scene, "3 far outside"));
    assert!(colored_pixels(&draw_png(&map, &small()).unwrap()) > alone / 5);
}

#[test]
fn large_maps_are_drawn_by_density() {
    let values = spiral(30_000, 2);
    let map = map_of(&values, 2);
    let labels = labels((0..30_000).map(|i| i / 15_000), &[]);
    let classes = MapPanel { color: Color::Classes(&labels), ..MapPanel::new(&map) };
    let is_density = |panel: &MapPanel, options: &PictureOptions| {
        let scene = scene_of(panel.clone(), options);
        matches!(clouds(&scene)[0].style, PointStyle::Density { .. })
    };
    assert!(is_density(&MapPanel::new(&map), &small()) && !is_density(&classes, &small()));
    let on = PictureOptions { density: Density::On, ..small() };
    let off = PictureOptions { density: Density::Off, ..small() };
    assert!(is_density(&classes, &on) && !is_density(&MapPanel::new(&map), &off));
    assert!(!is_density(&MapPanel::new(&map), &PictureOptions { point_size: Some(3.0), ..small() }));
    for background in [[255; 3], [10, 10, 20]] {
        for panel in [&MapPanel::new(&map), &classes] {
            let file = draw_file(
                std::slice::from_ref(panel),
                &PictureOptions { background, ..on.clone() },
                PictureFormat::Png,
            );
            assert!(colored_pixels(&file.unwrap()) > 1000);
        }
    }
}

#[test]
fn histograms_contain_every_point() {
    let values = spiral(900, 1);
    let labels = labels((0..900).map(|i| i % 2), &[]);
    let color = Color::Classes(&labels);
    let scene = scene_of(MapPanel { color, ..MapPanel::new(&map_of(&values, 1)) }, &small());
    let SceneItem::Boxes(bars) = &scene.items[0] else { panic!("bars") };
    let area = |color| bars.iter().filter(|b| b.1 == color).map(|b| b.0.bottom - b.0.top).sum::<f32>();
    let (one, two) = (area(class_color(0)), area(class_color(1)));
    assert!(one > 100.0 && (one - two).abs() < 0.01 * one, "{one} {two}");
}

#[test]
fn the_caption_mentions_further_dimensions() {
    let values = spiral(50, 5);
    let map = map_of(&values, 5);
    let scene = scene_of(MapPanel::new(&map), &small());
    assert!(has_text(&scene, "first two of 5 dimensions"));
    let flat = map_of(&spiral(50, 2), 2);
    let panels = [MapPanel::new(&map), MapPanel::new(&flat)];
    let picture = draw_file(&panels, &PictureOptions::default(), PictureFormat::Svg).unwrap();
    assert!(String::from_utf8(picture).unwrap().contains("first two of 5, 2 dimensions"));
}

#[test]
fn a_class_with_a_blank_name_is_called_empty() {
    let values = spiral(40, 2);
    let labels = labels((0..40).map(|i| i % 3), &["a".to_string(), " \u{200b}".to_string()]);
    let color = Color::Classes(&labels);
    let scene = scene_of(MapPanel { color, ..MapPanel::new(&map_of(&values, 2)) }, &PictureOptions::default());
    let found: Vec<&str> = texts(&scene).iter().map(|text| text.content.as_str()).collect();
    // A code without a name is shown as a number.
    assert!(["a", "(empty)", "2"].iter().all(|name| found.contains(name)), "{found:?}");
}
