//! Tests of error handling, and of charts.

use super::*;

#[test]
fn invalid_pictures_are_rejected() {
    let values = [0.0, 1.0, f64::NAN, 2.0];
    assert!(matches!(
        draw_png(&map_of(&values, 2), &small()),
        Err(PictureError::Data(Error::NotFinite { row: 1, column: 0, count: 1, .. }))
    ));
    let map = map_of(&values[..2], 2);
    assert!(matches!(
        draw_png(&AnnotatedEmbedding { labels: Some(Labels::default()), ..map.clone() }, &small()),
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
        assert!(draw_png(&map, &options).unwrap_err().is_invalid_option());
    }
    let rejected = |panels: &[MapPanel]| draw_file(panels, &small(), PictureFormat::Svg).unwrap_err();
    assert!(matches!(rejected(&[]), PictureError::NoMaps));
    let plain = MapPanel::new(&map);
    let rejected_map = |map: AnnotatedEmbedding| rejected(&[MapPanel::new(&map)]);
    assert!(matches!(
        rejected_map(AnnotatedEmbedding { std: Some(vec![f64::NAN]), ..map.clone() }),
        PictureError::Data(Error::NotFinite { .. })
    ));
    assert!(matches!(
        rejected_map(AnnotatedEmbedding { std: Some(vec![-0.1]), ..map.clone() }),
        PictureError::NegativeStd { row: 0, .. }
    ));
    assert!(matches!(
        rejected_map(AnnotatedEmbedding { covariances: Some(vec![1.0]), ..map.clone() }),
        PictureError::Data(Error::Shape { .. })
    ));
    let covariances = Some(vec![1.0, 0.0, 0.0, -1.0]);
    assert!(matches!(
        rejected_map(AnnotatedEmbedding { covariances, ..map.clone() }),
        PictureError::NegativeVariance { row: 0, .. }
    ));
    assert!(matches!(
        rejected_map(AnnotatedEmbedding { ids: Some(Vec::new()), ..map.clone() }),
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
    let tall = vec![MapPanel::new(&map); 40];
    let options = PictureOptions { columns: Some(1), ..PictureOptions::default() };
    assert!(matches!(draw_file(&tall, &options, PictureFormat::Png), Err(PictureError::Side { side: "height", .. })));
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
    for at in 0..2 {
        let color = Palette::default().class_color(at, false).unwrap();
        assert!(pixels.contains(&color.map(|v| (v * 255.0 + 0.5) as u8)), "{color:?}");
    }
    let one = Curve { name: String::new(), points: vec![[5.0, -3.0, -3.0, -3.0]] };
    assert!(draw_chart(&[one], &options).is_ok());
    assert!(draw_chart(&[], &options).is_err());
    assert!(draw_chart(&[Curve { name: String::new(), points: vec![[1.0, f64::NAN, 0.0, 0.0]] }], &options).is_err());
    assert!(draw_chart(&[curve("a", 0.0)], &ChartOptions { width: 10, ..options }).is_err());
}
