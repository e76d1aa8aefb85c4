//! Tests of error handling, and of charts.

use super::*;

#[test]
fn invalid_pictures_are_rejected() {
    let values = [0.0, 1.0, f64::NAN, 2.0];
    let map = Points::new(&values, 2).unwrap();
    assert!(matches!(
        draw_png(map, None, &small()),
        Err(PictureError::Data(Error::NotFinite { row: 1, column: 0, count: 1, .. }))
    ));
    let map = Points::new(&values[..2], 2).unwrap();
    assert!(matches!(
        draw_png(map, Some(ClassLabels { codes: &[], names: &[] }), &small()),
        Err(PictureError::Data(Error::Shape { .. }))
    ));
    for options in [
        PictureOptions { width: 0, ..small() },
        PictureOptions { height: Some(1 << 20), ..small() },
        PictureOptions { point_size: Some(f32::NAN), ..small() },
        PictureOptions { point_size: Some(-1.0), ..small() },
        PictureOptions { certain: 0.0, ..small() },
        PictureOptions { certain: f64::NAN, ..small() },
    ] {
        assert!(draw_png(map, None, &options).unwrap_err().is_invalid_option());
    }
    let rejected = |panels: &[MapPanel]| draw_picture(panels, &small(), PictureFormat::Svg).unwrap_err();
    assert!(matches!(rejected(&[]), PictureError::NoMaps));
    let plain = MapPanel::new(map);
    assert!(matches!(
        rejected(&[MapPanel { std: Some(&[f64::NAN]), ..plain.clone() }]),
        PictureError::Data(Error::NotFinite { .. })
    ));
    assert!(matches!(
        rejected(&[MapPanel { std: Some(&[-0.1]), ..plain.clone() }]),
        PictureError::NegativeStd { row: 0, .. }
    ));
    assert!(matches!(
        rejected(&[MapPanel { covariances: Some(&[1.0]), ..plain.clone() }]),
        PictureError::Data(Error::Shape { .. })
    ));
    let negative = [1.0, 0.0, 0.0, -1.0];
    assert!(matches!(
        rejected(&[MapPanel { covariances: Some(&negative), ..plain.clone() }]),
        PictureError::NegativeVariance { row: 0, .. }
    ));
    assert!(matches!(
        rejected(&[MapPanel { words: Some(&[]), ..plain.clone() }]),
        PictureError::Data(Error::Shape { .. })
    ));
    let images = |values, width, height| Some(Images { values, width, height });
    assert!(matches!(
        rejected(&[MapPanel { images: images(&[], 0, 3), ..plain.clone() }]),
        PictureError::ImageSize { .. }
    ));
    assert!(matches!(
        rejected(&[MapPanel { images: images(&[1.0], 1, 3), ..plain.clone() }]),
        PictureError::Data(Error::Shape { .. })
    ));
    assert!(matches!(
        rejected(&[MapPanel { images: images(&[f32::NAN], 1, 1), ..plain.clone() }]),
        PictureError::Data(Error::NotFinite { .. })
    ));
    let valued = MapPanel { color: Color::Values { name: "v", values: &[1.0] }, ..plain.clone() };
    assert!(matches!(rejected(&[plain, valued]), PictureError::MixedColors));
    let tall = vec![MapPanel::new(map); 40];
    let options = PictureOptions { columns: Some(1), ..PictureOptions::default() };
    assert!(matches!(
        draw_picture(&tall, &options, PictureFormat::Png),
        Err(PictureError::Side { side: "height", .. })
    ));
}

#[test]
fn charts_show_every_curve_and_reject_invalid_data() {
    let curve = |name: &str, shift: f64| Curve {
        name: name.into(),
        points: (3..12)
            .map(|k| (f64::from(k), shift - f64::from((k - 7) * (k - 7))))
            .map(|(k, value)| [k, value, value - 6.0, value - 1.0])
            .collect(),
    };
    let options = ChartOptions { title: "bound".into(), x_label: "n_neighbors".into(), ..ChartOptions::default() };
    let file = draw_chart(&[curve("d = 1", -1e4), curve("d = 2", -1e4 + 20.0)], &options).unwrap();
    let (width, height, pixels) = decode(&file);
    assert_eq!((width, height), (900, 560));
    for &hex in &color::CLASSES[..2] {
        assert!(pixels.contains(&[16, 8, 0].map(|shift| (hex >> shift) as u8)), "{hex:x}");
    }
    let one = Curve { name: String::new(), points: vec![[5.0, -3.0, -3.0, -3.0]] };
    assert!(draw_chart(&[one], &options).is_ok());
    assert!(draw_chart(&[], &options).is_err());
    assert!(draw_chart(&[Curve { name: String::new(), points: vec![[1.0, f64::NAN, 0.0, 0.0]] }], &options).is_err());
    assert!(draw_chart(&[curve("a", 0.0)], &ChartOptions { width: 10, ..options }).is_err());
}
