//! Tests of standard deviations and covariances.

use super::*;

#[test]
fn uncertain_points_fade_have_circles_or_are_left_out() {
    let values = spiral(200, 2);
    let std: Vec<f64> = (0..200).map(|i| 0.01 * f64::from(i)).collect();
    let map = AnnotatedEmbedding { std: Some(std.clone()), ..map_of(&values, 2) };
    let panel = MapPanel::new(&map);
    let plain = scene_of(panel.clone(), &small());
    assert!(clouds(&plain)[0].weights.is_none() && clouds(&plain)[0].ellipses.is_none());
    let faded = scene_of(panel.clone(), &PictureOptions { uncertainty: Uncertainty::Fade, ..small() });
    let weight = clouds(&faded)[0].weights.as_ref().unwrap();
    assert!(weight.contains(&1.0) && weight.iter().any(|&w| w < 0.5));
    let circled = scene_of(panel.clone(), &PictureOptions { uncertainty: Uncertainty::Ellipses, ..small() });
    let cloud = clouds(&circled)[0];
    // The distance between two points determines the pixels per unit.
    let position = |i: usize| clouds(&plain)[0].positions[i];
    let order: Vec<usize> = marks::interleaved_order(200).collect();
    let distance = |a: [f64; 2], b: [f64; 2]| (a[0] - b[0]).hypot(a[1] - b[1]);
    let point = |i: usize| [values[2 * i], values[2 * i + 1]];
    let pixels = distance(position(0).map(f64::from), position(1).map(f64::from));
    let unit = pixels / distance(point(order[0]), point(order[1]));
    for (i, ellipse) in cloud.ellipses.as_ref().unwrap().iter().enumerate() {
        assert!(ellipse.is_circle() && (f64::from(ellipse.radii[0]) - std[order[i]] * unit).abs() < 0.02 * unit, "{i}");
    }
    let certain = scene_of(panel, &PictureOptions { certain: 0.9, ..small() });
    assert_eq!(clouds(&certain)[0].positions.len(), 180);
    assert!(has_text(&certain, "the 20 least certain are left out"));
}

/// Returns three distant points, their covariances and standard deviations. The first has an ellipse with semi-axes 1 and 0.25 that
/// points up and to the right.
fn tilted_ellipse() -> (Vec<f64>, Vec<f64>, Vec<f64>) {
    let (cos, sin) = (0.8, 0.6);
    let [major, minor] = [1.0, 0.0625];
    let off = (major - minor) * cos * sin;
    let matrix = [major * cos * cos + minor * sin * sin, off, off, major * sin * sin + minor * cos * cos];
    (vec![0.0, 0.0, 10.0, 10.0, -10.0, -10.0], [matrix, [0.0; 4], [0.0; 4]].concat(), vec![0.7, 0.0, 0.0])
}

#[test]
fn covariances_are_drawn_as_oriented_ellipses_in_every_format() {
    let (values, covariances, std) = tilted_ellipse();
    let map = AnnotatedEmbedding { covariances: Some(covariances), std: Some(std), ..map_of(&values, 2) };
    let panel = MapPanel::new(&map);
    let options = PictureOptions { uncertainty: Uncertainty::Ellipses, ..PictureOptions::default() };
    let scene = scene_of(panel.clone(), &options);
    assert!(has_text(&scene, "ellipses of one standard deviation") && !has_text(&scene, "circles of"));
    let cloud = clouds(&scene)[0];
    let [first, second] = [0, 1].map(|row| marks::interleaved_order(3).position(|i| i == row).unwrap());
    let (ellipse, other) = (cloud.ellipses.as_ref().unwrap()[first], cloud.positions[second]);
    let unit = (other[0] - cloud.positions[first][0]) / 10.0;
    let close = |a: f32, b: f32| (a - b).abs() < 1e-3 * unit;
    assert!(close(ellipse.radii[0], unit) && close(ellipse.radii[1], 0.25 * unit), "{ellipse:?} {unit}");
    // The y axis of the picture points down.
    assert!(
        close(ellipse.direction[0] * unit, 0.8 * unit) && close(ellipse.direction[1] * unit, -0.6 * unit),
        "{ellipse:?}"
    );
    // Pixels are colored at nine tenths of the major axis and white outside of the minor axis.
    let canvas = raster::render(&scene);
    let color_at = |[x, y]: [f32; 2]| {
        let [dx, dy] = ellipse.point_at([x, y]);
        let (x, y) = ((cloud.positions[first][0] + dx) as usize, (cloud.positions[first][1] + dy) as usize);
        canvas.pixels[y * canvas.width + x]
    };
    assert!(color_at([0.9, 0.0]) != [1.0; 3] && color_at([-0.9, 0.0]) != [1.0; 3]);
    assert!(color_at([0.0, 2.0]) == [1.0; 3] && color_at([1.1, 0.0]) == [1.0; 3]);
    let svg =
        String::from_utf8(draw_file(std::slice::from_ref(&panel), &options, PictureFormat::Svg).unwrap()).unwrap();
    assert!(svg.contains("<ellipse ") && svg.contains("rotate(-36.87 "), "{svg}");
    let map = AnnotatedEmbedding { covariances: None, ..map.clone() };
    let circled = MapPanel::new(&map);
    assert!(has_text(
        &scene_of(circled.clone(), &options),
        "circles of one standard deviation (a single value per point"
    ));
    let svg = String::from_utf8(draw_file(&[circled], &options, PictureFormat::Svg).unwrap()).unwrap();
    assert!(!svg.contains("<ellipse "));
}
