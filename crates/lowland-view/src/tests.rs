//! Whole pictures.

use super::*;

/// Width, height and the pixels of a file.
fn decode(file: &[u8]) -> (usize, usize, Vec<[u8; 3]>) {
    let mut reader = png::Decoder::new(std::io::Cursor::new(file)).read_info().unwrap();
    let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut bytes).unwrap();
    (info.width as usize, info.height as usize, bytes.chunks_exact(3).map(|p| [p[0], p[1], p[2]]).collect())
}

fn small() -> PictureOptions {
    PictureOptions { width: 320, height: 300, ..Default::default() }
}

/// Pixels with a clear hue: only points, bars and swatches have one.
fn coloured(file: &[u8]) -> usize {
    let (_, _, pixels) = decode(file);
    pixels.iter().filter(|p| p.iter().max().unwrap() - p.iter().min().unwrap() > 60).count()
}

fn spiral(n: usize, dim: usize) -> Vec<f64> {
    (0..n * dim).map(|at| ((at / dim) as f64).sqrt() * ((at / dim) as f64 * 0.7 + (at % dim) as f64).sin()).collect()
}

#[test]
fn a_picture_has_the_size_asked_for_and_repeats() {
    let values = spiral(500, 2);
    let map = Points::new(&values, 2).unwrap();
    let file = png(map, None, &small()).unwrap();
    let (width, height, pixels) = decode(&file);
    assert_eq!((width, height, pixels[0]), (320, 300, [255; 3]));
    assert_eq!(file, png(map, None, &small()).unwrap());
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
        let options = PictureOptions { width: side, height: side, title: "t".repeat(300), ..small() };
        png(map, Some(Labels { codes: &codes, names: &["x".repeat(500)] }), &options).unwrap();
    }
}

#[test]
fn one_point_equal_points_and_no_points_are_pictures() {
    for dim in 1..=4 {
        for values in [vec![], vec![3.0; dim], vec![-2.5; dim * 70]] {
            let file = png(Points::new(&values, dim).unwrap(), None, &small()).unwrap();
            assert_eq!(coloured(&file) > 0, !values.is_empty(), "{dim} {}", values.len());
        }
    }
}

#[test]
fn outliers_of_any_size_are_drawn_and_leave_the_rest_visible() {
    let mut values = spiral(3000, 2);
    let alone = coloured(&png(Points::new(&values, 2).unwrap(), None, &small()).unwrap());
    values.extend([1e300, -1e300, 1.7e308, 1.7e308, -1.7e308, 0.0]);
    let map = Points::new(&values, 2).unwrap();
    let layout = layout::Layout::new(map, None, &small());
    assert_eq!(layout.rings.len(), 3);
    for ring in &layout.rings {
        let [x, y] = ring.at;
        assert!(x > layout.frame.left && x < layout.frame.right && y > layout.frame.top && y < layout.frame.bottom);
    }
    assert!(layout.texts.iter().any(|text| text.content.contains("3 far outside")));
    assert!(coloured(&png(map, None, &small()).unwrap()) > alone / 5);
}

#[test]
fn dense_maps_are_shaded_by_density() {
    let values = spiral(30_000, 2);
    let map = Points::new(&values, 2).unwrap();
    let layout = layout::Layout::new(map, None, &small());
    assert!(matches!(&layout.marks, layout::Marks::Density { at, .. } if at.len() == 30_000));
    assert!(coloured(&png(map, None, &small()).unwrap()) > 1000);
    let dark = PictureOptions { background: [10, 10, 20], ..small() };
    assert!(coloured(&png(map, None, &dark).unwrap()) > 1000);
}

#[test]
fn bars_of_one_dimension_hold_every_point() {
    let values = spiral(900, 1);
    let codes: Vec<u32> = (0..900).map(|i| i % 2).collect();
    let labels = Labels { codes: &codes, names: &[] };
    let layout = layout::Layout::new(Points::new(&values, 1).unwrap(), Some(labels), &small());
    let layout::Marks::Bars(bars) = &layout.marks else { panic!("bars") };
    let area = |color| bars.iter().filter(|b| b.1 == color).map(|b| b.0.bottom - b.0.top).sum::<f32>();
    let (one, two) = (area(color::rgb(color::CLASSES[0])), area(color::rgb(color::CLASSES[1])));
    assert!(one > 100.0 && (one - two).abs() < 0.01 * one, "{one} {two}");
}

#[test]
fn more_dimensions_than_two_are_said_in_the_caption() {
    let values = spiral(50, 5);
    let layout = layout::Layout::new(Points::new(&values, 5).unwrap(), None, &small());
    assert!(layout.texts.iter().any(|text| text.content.contains("first two of 5 dimensions")));
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
        PictureOptions { height: 1 << 20, ..small() },
        PictureOptions { point_size: Some(f32::NAN), ..small() },
        PictureOptions { point_size: Some(-1.0), ..small() },
    ] {
        assert!(matches!(png(map, None, &options), Err(Error::Parameter { .. })));
    }
}

#[test]
fn a_chart_shows_every_curve_and_refuses_what_it_cannot_draw() {
    let curve = |name: &str, shift: f64| Curve {
        name: name.into(),
        points: (3..12).map(|k| [f64::from(k), shift - f64::from((k - 7) * (k - 7)), 3.0]).collect(),
    };
    let options = ChartOptions { title: "bound".into(), across: "n_neighbors".into(), ..ChartOptions::default() };
    let file = chart(&[curve("d = 1", -1e4), curve("d = 2", -1e4 + 20.0)], &options).unwrap();
    let (width, height, pixels) = decode(&file);
    assert_eq!((width, height), (900, 560));
    for &hex in &color::CLASSES[..2] {
        assert!(pixels.contains(&[16, 8, 0].map(|shift| (hex >> shift) as u8)), "{hex:x}");
    }
    let one = Curve { name: String::new(), points: vec![[5.0, -3.0, 0.0]] };
    assert!(chart(&[one], &options).is_ok());
    assert!(chart(&[], &options).is_err());
    assert!(chart(&[Curve { name: String::new(), points: vec![[1.0, f64::NAN, 0.0]] }], &options).is_err());
    assert!(chart(&[curve("a", 0.0)], &ChartOptions { width: 10, ..options }).is_err());
}
