//! Whole pictures.

mod parse;
mod vector;

use super::*;
use crate::color::rgb;
use crate::scene::{Cloud, Disc, Item, Rect, Scene, Style, Text};
use lowland::Error;

/// Width, height and the pixels of a file.
fn decode(file: &[u8]) -> (usize, usize, Vec<[u8; 3]>) {
    let mut reader = png::Decoder::new(std::io::Cursor::new(file)).read_info().unwrap();
    let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut bytes).unwrap();
    (info.width as usize, info.height as usize, bytes.chunks_exact(3).map(|p| [p[0], p[1], p[2]]).collect())
}

fn small() -> PictureOptions {
    PictureOptions { width: 320, height: Some(300), ..Default::default() }
}

/// Pixels with a clear hue: only points, bars and swatches have one.
fn coloured(file: &[u8]) -> usize {
    let (_, _, pixels) = decode(file);
    pixels.iter().filter(|p| p.iter().max().unwrap() - p.iter().min().unwrap() > 60).count()
}

fn spiral(n: usize, dim: usize) -> Vec<f64> {
    (0..n * dim).map(|at| ((at / dim) as f64).sqrt() * ((at / dim) as f64 * 0.7 + (at % dim) as f64).sin()).collect()
}

fn scene_of(panel: Panel, options: &PictureOptions) -> Scene {
    check::figure(std::slice::from_ref(&panel), options).unwrap();
    layout::scene(&[panel], options).unwrap()
}

fn texts(scene: &Scene) -> Vec<&Text> {
    let all = scene.items.iter().filter_map(|item| if let Item::Texts(texts) = item { Some(texts) } else { None });
    all.flatten().collect()
}

fn clouds(scene: &Scene) -> Vec<&Cloud> {
    scene.items.iter().filter_map(|item| if let Item::Cloud(cloud) = item { Some(cloud) } else { None }).collect()
}

fn rings(scene: &Scene) -> Vec<&Disc> {
    let all = scene.items.iter().filter_map(|item| if let Item::Rings(rings) = item { Some(rings) } else { None });
    all.flatten().collect()
}

fn says(scene: &Scene, words: &str) -> bool {
    texts(scene).iter().any(|text| text.content.contains(words))
}

#[test]
fn a_picture_has_the_size_asked_for_and_repeats() {
    let values = spiral(500, 2);
    let map = Points::new(&values, 2).unwrap();
    let file = png(map, None, &small()).unwrap();
    let (width, height, pixels) = decode(&file);
    assert_eq!((width, height, pixels[0]), (320, 300, [255; 3]));
    for format in [Format::Png, Format::Svg, Format::Pdf] {
        let draw = || draw(&[Panel::new(map)], &small(), format).unwrap();
        assert_eq!(draw(), draw());
    }
    assert!(coloured(&file) > 500);
}

#[test]
fn every_class_has_its_colour_in_the_picture() {
    let values = spiral(300, 2);
    let map = Points::new(&values, 2).unwrap();
    let names: Vec<String> = ["one", "two", "three"].map(String::from).to_vec();
    let codes: Vec<u32> = (0..300).map(|i| i % 3).collect();
    let file = png(map, Some(Labels { codes: &codes, names: &names }), &small()).unwrap();
    let (_, _, pixels) = decode(&file);
    for &hex in &color::CLASSES[..3] {
        let wanted = [16, 8, 0].map(|shift| (hex >> shift) as u8);
        assert!(pixels.contains(&wanted), "{hex:x}");
    }
}

#[test]
fn many_classes_short_names_and_unknown_codes_are_drawn() {
    let values = spiral(400, 2);
    let map = Points::new(&values, 2).unwrap();
    let codes: Vec<u32> = (0..400u32).map(|i| (i % 57).wrapping_mul(75_000_000)).collect();
    for side in [32, 90, 300, 700] {
        let options = PictureOptions { width: side, height: Some(side), title: "t".repeat(300), ..small() };
        let labels = Labels { codes: &codes, names: &["x".repeat(500)] };
        png(map, Some(labels), &options).unwrap();
        let scene = scene_of(Panel { color: Color::Classes(labels), ..Panel::new(map) }, &options);
        // 40 have colours; in a small picture the legend has no room for all of them.
        assert_eq!(says(&scene, "+ 17 more"), side == 700, "{side}");
    }
}

#[test]
fn one_point_equal_points_and_no_points_are_pictures() {
    for dim in 1..=4 {
        for values in [vec![], vec![3.0; dim], vec![-2.5; dim * 70]] {
            let map = Points::new(&values, dim).unwrap();
            let file = png(map, None, &small()).unwrap();
            assert_eq!(coloured(&file) > 0, !values.is_empty(), "{dim} {}", values.len());
            let std = vec![0.0; map.rows()];
            let options =
                PictureOptions { uncertainty: Uncertainty::Fade, certain: 0.5, density: Density::On, ..small() };
            for format in [Format::Png, Format::Svg, Format::Pdf] {
                draw(&[Panel { std: Some(&std), ..Panel::new(map) }], &options, format).unwrap();
            }
        }
    }
}

#[test]
fn outliers_of_any_size_are_drawn_and_leave_the_rest_visible() {
    let mut values = spiral(3000, 2);
    let alone = coloured(&png(Points::new(&values, 2).unwrap(), None, &small()).unwrap());
    values.extend([1e300, -1e300, 1.7e308, 1.7e308, -1.7e308, 0.0]);
    let map = Points::new(&values, 2).unwrap();
    let scene = scene_of(Panel::new(map), &small());
    let frame = clouds(&scene)[0].frame;
    assert_eq!(rings(&scene).len(), 3);
    for ring in rings(&scene) {
        assert!(frame.holds(Rect::about(ring.at, 0.0, 0.0)));
    }
    assert!(says(&scene, "3 far outside"));
    assert!(coloured(&png(map, None, &small()).unwrap()) > alone / 5);
}

#[test]
fn dense_maps_are_shaded_by_density_in_colour_or_not() {
    let values = spiral(30_000, 2);
    let map = Points::new(&values, 2).unwrap();
    let codes: Vec<u32> = (0..30_000).map(|i| i / 15_000).collect();
    let classes = Panel { color: Color::Classes(Labels { codes: &codes, names: &[] }), ..Panel::new(map) };
    let heat = |panel: &Panel, options: &PictureOptions| {
        let scene = scene_of(panel.clone(), options);
        matches!(clouds(&scene)[0].style, Style::Heat { .. })
    };
    assert!(heat(&Panel::new(map), &small()) && !heat(&classes, &small()));
    let on = PictureOptions { density: Density::On, ..small() };
    let off = PictureOptions { density: Density::Off, ..small() };
    assert!(heat(&classes, &on) && !heat(&Panel::new(map), &off));
    assert!(!heat(&Panel::new(map), &PictureOptions { point_size: Some(3.0), ..small() }));
    for background in [[255; 3], [10, 10, 20]] {
        for panel in [&Panel::new(map), &classes] {
            let file = draw(std::slice::from_ref(panel), &PictureOptions { background, ..on.clone() }, Format::Png);
            assert!(coloured(&file.unwrap()) > 1000);
        }
    }
}

#[test]
fn bars_of_one_dimension_hold_every_point() {
    let values = spiral(900, 1);
    let codes: Vec<u32> = (0..900).map(|i| i % 2).collect();
    let color = Color::Classes(Labels { codes: &codes, names: &[] });
    let scene = scene_of(Panel { color, ..Panel::new(Points::new(&values, 1).unwrap()) }, &small());
    let Item::Boxes(bars) = &scene.items[0] else { panic!("bars") };
    let area = |color| bars.iter().filter(|b| b.1 == color).map(|b| b.0.bottom - b.0.top).sum::<f32>();
    let (one, two) = (area(rgb(color::CLASSES[0])), area(rgb(color::CLASSES[1])));
    assert!(one > 100.0 && (one - two).abs() < 0.01 * one, "{one} {two}");
}

#[test]
fn more_dimensions_than_two_are_said_in_the_caption() {
    let values = spiral(50, 5);
    let scene = scene_of(Panel::new(Points::new(&values, 5).unwrap()), &small());
    assert!(says(&scene, "first two of 5 dimensions"));
    let flat = spiral(50, 2);
    let panels = [Panel::new(Points::new(&values, 5).unwrap()), Panel::new(Points::new(&flat, 2).unwrap())];
    let picture = draw(&panels, &PictureOptions::default(), Format::Svg).unwrap();
    assert!(String::from_utf8(picture).unwrap().contains("first two of 5, 2 dimensions"));
}

#[test]
fn a_class_with_nothing_to_read_in_its_name_is_called_empty() {
    let values = spiral(40, 2);
    let codes: Vec<u32> = (0..40).map(|i| i % 3).collect();
    let names = ["a".to_string(), " \u{200b}".to_string()];
    let color = Color::Classes(Labels { codes: &codes, names: &names });
    let scene = scene_of(Panel { color, ..Panel::new(Points::new(&values, 2).unwrap()) }, &PictureOptions::default());
    let said: Vec<&str> = texts(&scene).iter().map(|text| text.content.as_str()).collect();
    // A code without any name stands for itself.
    assert!(["a", "(empty)", "2"].iter().all(|name| said.contains(name)), "{said:?}");
}

#[test]
fn uncertain_points_fade_have_circles_of_their_deviation_or_are_left_out() {
    let values = spiral(200, 2);
    let std: Vec<f64> = (0..200).map(|i| 0.01 * f64::from(i)).collect();
    let panel = Panel { std: Some(&std), ..Panel::new(Points::new(&values, 2).unwrap()) };
    let plain = scene_of(panel.clone(), &small());
    assert!(clouds(&plain)[0].weight.is_none() && clouds(&plain)[0].ellipses.is_none());
    let faded = scene_of(panel.clone(), &PictureOptions { uncertainty: Uncertainty::Fade, ..small() });
    let weight = clouds(&faded)[0].weight.as_ref().unwrap();
    assert!(weight.contains(&1.0) && weight.iter().any(|&w| w < 0.5));
    let circled = scene_of(panel.clone(), &PictureOptions { uncertainty: Uncertainty::Ellipses, ..small() });
    let cloud = clouds(&circled)[0];
    // The distance of two points in pixels tells what a unit is.
    let by_place = |i: usize| clouds(&plain)[0].at[i];
    let order: Vec<usize> = placement::scattered(200).collect();
    let apart = |a: [f64; 2], b: [f64; 2]| (a[0] - b[0]).hypot(a[1] - b[1]);
    let point = |i: usize| [values[2 * i], values[2 * i + 1]];
    let pixels = apart(by_place(0).map(f64::from), by_place(1).map(f64::from));
    let unit = pixels / apart(point(order[0]), point(order[1]));
    for (i, ellipse) in cloud.ellipses.as_ref().unwrap().iter().enumerate() {
        assert!(ellipse.is_circle() && (f64::from(ellipse.reach[0]) - std[order[i]] * unit).abs() < 0.02 * unit, "{i}");
    }
    let certain = scene_of(panel, &PictureOptions { certain: 0.9, ..small() });
    assert_eq!(clouds(&certain)[0].at.len(), 180);
    assert!(says(&certain, "the 20 least certain are left out"));
}

/// Three points far apart, the middle one with a covariance of length 1 and width 0.25 along a direction up to the right.
fn tilted() -> (Vec<f64>, Vec<f64>, Vec<f64>) {
    let (cos, sin) = (0.8, 0.6);
    let [long, wide] = [1.0, 0.0625];
    let off = (long - wide) * cos * sin;
    let own = [long * cos * cos + wide * sin * sin, off, off, long * sin * sin + wide * cos * cos];
    (vec![0.0, 0.0, 10.0, 10.0, -10.0, -10.0], [own, [0.0; 4], [0.0; 4]].concat(), vec![0.7, 0.0, 0.0])
}

#[test]
fn covariances_are_ellipses_along_their_own_directions_in_every_format() {
    let (values, covariances, std) = tilted();
    let map = Points::new(&values, 2).unwrap();
    let panel = Panel { covariances: Some(&covariances), std: Some(&std), ..Panel::new(map) };
    let options = PictureOptions { uncertainty: Uncertainty::Ellipses, ..PictureOptions::default() };
    let scene = scene_of(panel.clone(), &options);
    assert!(says(&scene, "ellipses of one standard deviation") && !says(&scene, "circles of"));
    let cloud = clouds(&scene)[0];
    let [first, second] = [0, 1].map(|row| placement::scattered(3).position(|i| i == row).unwrap());
    let (ellipse, other) = (cloud.ellipses.as_ref().unwrap()[first], cloud.at[second]);
    let unit = (other[0] - cloud.at[first][0]) / 10.0;
    let close = |a: f32, b: f32| (a - b).abs() < 1e-3 * unit;
    assert!(close(ellipse.reach[0], unit) && close(ellipse.reach[1], 0.25 * unit), "{ellipse:?} {unit}");
    // Up to the right: the picture counts down.
    assert!(close(ellipse.along[0] * unit, 0.8 * unit) && close(ellipse.along[1] * unit, -0.6 * unit), "{ellipse:?}");
    // In pixels: ink at nine tenths of the way along, none at half of it across.
    let canvas = raster::paint(&scene);
    let color_at = |[x, y]: [f32; 2]| {
        let [dx, dy] = ellipse.at([x, y]);
        let (x, y) = ((cloud.at[first][0] + dx) as usize, (cloud.at[first][1] + dy) as usize);
        canvas.pixels[y * canvas.width + x]
    };
    assert!(color_at([0.9, 0.0]) != [1.0; 3] && color_at([-0.9, 0.0]) != [1.0; 3]);
    assert!(color_at([0.0, 2.0]) == [1.0; 3] && color_at([1.1, 0.0]) == [1.0; 3]);
    let svg = String::from_utf8(draw(std::slice::from_ref(&panel), &options, Format::Svg).unwrap()).unwrap();
    assert!(svg.contains("<ellipse ") && svg.contains("rotate(-36.87 "), "{svg}");
    let circled = Panel { covariances: None, ..panel };
    assert!(says(
        &scene_of(circled.clone(), &options),
        "circles of one standard deviation (known as one number a point"
    ));
    let svg = String::from_utf8(draw(&[circled], &options, Format::Svg).unwrap()).unwrap();
    assert!(!svg.contains("<ellipse "));
}

#[test]
fn several_maps_share_a_legend_and_never_overlap() {
    let maps: Vec<Vec<f64>> = (1..=7).map(|part| spiral(60 * part, 2)).collect();
    let names: Vec<String> = ["class a", "class b"].map(String::from).to_vec();
    let codes: Vec<u32> = (0..420).map(|i| i % 2).collect();
    for count in 1..=7 {
        let panels: Vec<Panel> = (0..count)
            .map(|at| Panel {
                title: format!("map {at}"),
                color: Color::Classes(Labels { codes: &codes[..maps[at].len() / 2], names: &names }),
                ..Panel::new(Points::new(&maps[at], 2).unwrap())
            })
            .collect();
        let table = TextTable {
            header: vec!["method".into(), "a long name of a score".into()],
            rows: vec![vec![Cell { text: "lvm".into(), best: false }, Cell { text: "0.5".into(), best: true }]; count],
        };
        let options = PictureOptions { width: 900, table: Some(table), ..PictureOptions::default() };
        let scene = layout::scene(&panels, &options).unwrap();
        let frames: Vec<Rect> = clouds(&scene).iter().map(|cloud| cloud.frame).collect();
        let whole = Rect { left: 0.0, top: 0.0, right: 900.0, bottom: scene.height as f32 };
        for (a, &frame) in frames.iter().enumerate() {
            assert!(whole.holds(frame) && (frame.width() - frame.height()).abs() < 0.01);
            assert!(frames[..a].iter().all(|&other| !other.overlaps(frame)));
            assert!(says(&scene, &format!("map {a}")));
        }
        let legend = texts(&scene).iter().filter(|text| names.contains(&text.content)).count();
        assert_eq!(legend, 2, "{count}");
        let mut boxes: Vec<Rect> = Vec::new();
        for text in texts(&scene) {
            let wide = font::width(&text.content, text.height);
            let left = text.at[0] - text.anchor.share() * wide;
            let place = Rect { left, top: text.at[1] - text.height, right: left + wide, bottom: text.at[1] };
            assert!(whole.holds(place), "{} {place:?}", text.content);
            assert!(boxes.iter().chain(&frames).all(|&other| !other.overlaps(place)), "{}", text.content);
            boxes.push(place);
        }
    }
}

#[test]
fn a_long_legend_of_several_maps_stands_below_them() {
    let values = spiral(300, 2);
    let codes: Vec<u32> = (0..300).map(|i| i % 35).collect();
    let names: Vec<String> = (0..35).map(|i| format!("class number {i}")).collect();
    let color = Color::Classes(Labels { codes: &codes, names: &names });
    let panel = Panel { color, ..Panel::new(Points::new(&values, 2).unwrap()) };
    let scene = layout::scene(&[panel.clone(), panel.clone(), panel.clone()], &PictureOptions::default()).unwrap();
    let bottom = clouds(&scene).iter().map(|cloud| cloud.frame.bottom).fold(0.0, f32::max);
    for name in &names {
        let text = texts(&scene).into_iter().find(|text| &text.content == name).expect("every class is named");
        assert!(text.at[1] - text.height > bottom && text.at[1] < scene.height as f32, "{name}");
    }
    let alone = scene_of(panel, &PictureOptions::default());
    let frame = clouds(&alone)[0].frame;
    let beside = |text: &&Text| text.content.starts_with("class number");
    assert!(texts(&alone).into_iter().filter(beside).all(|text| text.at[0] > frame.right && text.at[1] < frame.bottom));
}

#[test]
fn a_legend_beside_a_map_is_no_longer_than_the_map() {
    let values = spiral(300, 2);
    for (count, width, height) in
        (1..=45).flat_map(|count| [(count, 1600, None), (count, 400, None), (count, 700, Some(300))])
    {
        let codes: Vec<u32> = (0..300).map(|i| i % count).collect();
        let names: Vec<String> = (0..count).map(|i| format!("class with quite a long name {i}")).collect();
        let color = Color::Classes(Labels { codes: &codes, names: &names });
        let panel = Panel { color, ..Panel::new(Points::new(&values, 2).unwrap()) };
        let scene = scene_of(panel, &PictureOptions { width, height, ..PictureOptions::default() });
        let frame = clouds(&scene)[0].frame;
        for text in texts(&scene).into_iter().filter(|text| text.at[0] > frame.right) {
            assert!(text.at[1] <= frame.bottom + 1.0, "{count} {width}");
        }
    }
}

#[test]
fn words_and_images_do_not_overlap_and_stay_inside() {
    let values = spiral(3000, 2);
    let words: Vec<String> = (0..3000).map(|i| format!("word {i}")).collect();
    let pixels: Vec<f32> = (0..3000 * 12).map(|at| if at % 5 == 0 { 9.0 } else { -1.0 }).collect();
    let images = Images { values: &pixels, width: 4, height: 3 };
    let panel = Panel { words: Some(&words), images: Some(images), ..Panel::new(Points::new(&values, 2).unwrap()) };
    let scene = scene_of(panel, &PictureOptions { width: 600, height: Some(600), ..small() });
    let frame = clouds(&scene)[0].frame;
    let Some(Item::Tiles(tiles)) = scene.items.iter().find(|item| matches!(item, Item::Tiles(_))) else { panic!() };
    assert!(tiles.len() > 100 && says(&scene, &format!("{} drawn as images", tiles.len())));
    for (a, tile) in tiles.iter().enumerate() {
        assert!(frame.holds(tile.place) && tile.pixels.len() == 12);
        assert!(tiles[..a].iter().all(|other| !other.place.overlaps(tile.place)));
    }
    let named: Vec<&Text> = texts(&scene).into_iter().filter(|text| text.content.starts_with("word ")).collect();
    assert!(named.len() > 30 && named[0].content == "word 0");
    let place = |text: &Text| {
        let wide = font::width(&text.content, text.height);
        let left = text.at[0] - text.anchor.share() * wide;
        Rect { left, top: text.at[1] - text.height, right: left + wide, bottom: text.at[1] }
    };
    for (a, text) in named.iter().enumerate() {
        assert!(frame.holds(place(text)));
        assert!(named[..a].iter().all(|other| !place(other).overlaps(place(text))));
    }
}

#[test]
fn what_cannot_be_drawn_is_refused_by_name() {
    let values = [0.0, 1.0, f64::NAN, 2.0];
    let map = Points::new(&values, 2).unwrap();
    assert!(matches!(png(map, None, &small()), Err(Error::NotFinite { row: 1, column: 0, count: 1, .. })));
    let map = Points::new(&values[..2], 2).unwrap();
    assert!(matches!(png(map, Some(Labels { codes: &[], names: &[] }), &small()), Err(Error::Shape { .. })));
    for options in [
        PictureOptions { width: 0, ..small() },
        PictureOptions { height: Some(1 << 20), ..small() },
        PictureOptions { point_size: Some(f32::NAN), ..small() },
        PictureOptions { point_size: Some(-1.0), ..small() },
        PictureOptions { certain: 0.0, ..small() },
        PictureOptions { certain: f64::NAN, ..small() },
    ] {
        assert!(matches!(png(map, None, &options), Err(Error::Parameter { .. })));
    }
    let refused = |panels: &[Panel]| draw(panels, &small(), Format::Svg).unwrap_err();
    assert!(matches!(refused(&[]), Error::TooFewPoints { .. }));
    let plain = Panel::new(map);
    assert!(matches!(refused(&[Panel { std: Some(&[f64::NAN]), ..plain.clone() }]), Error::NotFinite { .. }));
    assert!(matches!(refused(&[Panel { std: Some(&[-0.1]), ..plain.clone() }]), Error::Format { .. }));
    assert!(matches!(refused(&[Panel { covariances: Some(&[1.0]), ..plain.clone() }]), Error::Shape { .. }));
    let negative = [1.0, 0.0, 0.0, -1.0];
    assert!(matches!(refused(&[Panel { covariances: Some(&negative), ..plain.clone() }]), Error::Format { .. }));
    assert!(matches!(refused(&[Panel { words: Some(&[]), ..plain.clone() }]), Error::Shape { .. }));
    let images = |values, width, height| Some(Images { values, width, height });
    assert!(matches!(refused(&[Panel { images: images(&[], 0, 3), ..plain.clone() }]), Error::Parameter { .. }));
    assert!(matches!(refused(&[Panel { images: images(&[1.0], 1, 3), ..plain.clone() }]), Error::Shape { .. }));
    assert!(matches!(
        refused(&[Panel { images: images(&[f32::NAN], 1, 1), ..plain.clone() }]),
        Error::NotFinite { .. }
    ));
    let valued = Panel { color: Color::Values { name: "v", values: &[1.0] }, ..plain.clone() };
    assert!(matches!(refused(&[plain, valued]), Error::Parameter { name: "color", .. }));
    let tall = vec![Panel::new(map); 40];
    let options = PictureOptions { columns: Some(1), ..PictureOptions::default() };
    assert!(matches!(draw(&tall, &options, Format::Png), Err(Error::Parameter { name: "height", .. })));
}

#[test]
fn a_chart_shows_every_curve_and_refuses_what_it_cannot_draw() {
    let curve = |name: &str, shift: f64| Curve {
        name: name.into(),
        points: (3..12)
            .map(|k| (f64::from(k), shift - f64::from((k - 7) * (k - 7))))
            .map(|(k, value)| [k, value, value - 6.0, value - 1.0])
            .collect(),
    };
    let options = ChartOptions { title: "bound".into(), across: "n_neighbors".into(), ..ChartOptions::default() };
    let file = chart(&[curve("d = 1", -1e4), curve("d = 2", -1e4 + 20.0)], &options).unwrap();
    let (width, height, pixels) = decode(&file);
    assert_eq!((width, height), (900, 560));
    for &hex in &color::CLASSES[..2] {
        assert!(pixels.contains(&[16, 8, 0].map(|shift| (hex >> shift) as u8)), "{hex:x}");
    }
    let one = Curve { name: String::new(), points: vec![[5.0, -3.0, -3.0, -3.0]] };
    assert!(chart(&[one], &options).is_ok());
    assert!(chart(&[], &options).is_err());
    assert!(chart(&[Curve { name: String::new(), points: vec![[1.0, f64::NAN, 0.0, 0.0]] }], &options).is_err());
    assert!(chart(&[curve("a", 0.0)], &ChartOptions { width: 10, ..options }).is_err());
}
