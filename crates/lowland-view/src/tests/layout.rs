//! Tests of the positions of maps, legends, labels and images.

use super::*;

#[test]
fn several_maps_share_a_legend_and_do_not_overlap() {
    let maps: Vec<AnnotatedEmbedding> = (1..=7).map(|part| map_of(&spiral(60 * part, 2), 2)).collect();
    let names: Vec<String> = ["class a", "class b"].map(String::from).to_vec();
    let classes: Vec<Labels> = maps.iter().map(|map| labels((0..map.rows() as u32).map(|i| i % 2), &names)).collect();
    for count in 1..=7 {
        let panels: Vec<MapPanel> = (0..count)
            .map(|at| MapPanel {
                title: format!("map {at}"),
                color: Color::Classes(&classes[at]),
                ..MapPanel::new(&maps[at])
            })
            .collect();
        let table = TextTable {
            header: vec!["method".into(), "a long name of a score".into()],
            rows: vec![
                vec![TableCell { text: "lvm".into(), best: false }, TableCell { text: "0.5".into(), best: true }];
                count
            ],
        };
        let map_labels = MapLabels::Off;
        let options = PictureOptions { width: 900, table: Some(table), map_labels, ..PictureOptions::default() };
        let scene = build_scene(&panels, &options).unwrap();
        let frames: Vec<Rect> = clouds(&scene).iter().map(|cloud| cloud.frame).collect();
        let picture = Rect { left: 0.0, top: 0.0, right: 900.0, bottom: scene.height as f32 };
        for (a, &frame) in frames.iter().enumerate() {
            assert!(picture.contains_rect(frame) && (frame.width() - frame.height()).abs() < 0.01);
            assert!(frames[..a].iter().all(|&other| !other.overlaps(frame)));
            assert!(has_text(&scene, &format!("map {a}")));
        }
        let legend = texts(&scene).iter().filter(|text| names.contains(&text.content)).count();
        assert_eq!(legend, 2, "{count}");
        let mut boxes: Vec<Rect> = Vec::new();
        for text in texts(&scene) {
            let width = text::width(&text.content, text.height);
            let left = text.position[0] - text.anchor.fraction() * width;
            let place =
                Rect { left, top: text.position[1] - text.height, right: left + width, bottom: text.position[1] };
            assert!(picture.contains_rect(place), "{} {place:?}", text.content);
            assert!(boxes.iter().chain(&frames).all(|&other| !other.overlaps(place)), "{}", text.content);
            boxes.push(place);
        }
    }
}

#[test]
fn a_long_legend_is_below_several_maps() {
    let values = spiral(300, 2);
    let names: Vec<String> = (0..35).map(|i| format!("class number {i}")).collect();
    let (map, labels) = (map_of(&values, 2), labels((0..300).map(|i| i % 35), &names));
    let panel = MapPanel { color: Color::Classes(&labels), ..MapPanel::new(&map) };
    let scene = build_scene(&[panel.clone(), panel.clone(), panel.clone()], &PictureOptions::default()).unwrap();
    let bottom = clouds(&scene).iter().map(|cloud| cloud.frame.bottom).fold(0.0, f32::max);
    for name in &names {
        let text = texts(&scene).into_iter().find(|text| &text.content == name).expect("every class is named");
        assert!(text.position[1] - text.height > bottom && text.position[1] < scene.height as f32, "{name}");
    }
    let alone = scene_of(panel, &PictureOptions::default());
    let frame = clouds(&alone)[0].frame;
    let beside = |text: &&Text| text.content.starts_with("class number");
    assert!(
        texts(&alone)
            .into_iter()
            .filter(beside)
            .all(|text| text.position[0] > frame.right && text.position[1] < frame.bottom)
    );
}

#[test]
fn a_legend_is_not_taller_than_the_map() {
    let map = map_of(&spiral(300, 2), 2);
    for (count, width, height) in
        (1..=45).flat_map(|count| [(count, 1600, None), (count, 400, None), (count, 700, Some(300))])
    {
        let names: Vec<String> = (0..count).map(|i| format!("class with quite a long name {i}")).collect();
        let labels = labels((0..300).map(|i| i % count), &names);
        let panel = MapPanel { color: Color::Classes(&labels), ..MapPanel::new(&map) };
        let scene = scene_of(panel, &PictureOptions { width, height, ..PictureOptions::default() });
        let frame = clouds(&scene)[0].frame;
        for text in texts(&scene).into_iter().filter(|text| text.position[0] > frame.right) {
            assert!(text.position[1] <= frame.bottom + 1.0, "{count} {width}");
        }
    }
}

#[test]
fn labels_and_images_do_not_overlap_and_are_inside_the_frame() {
    let values = spiral(3000, 2);
    let ids = Some((0..3000).map(|i| format!("word {i}")).collect());
    let map = AnnotatedEmbedding { ids, ..map_of(&values, 2) };
    let pixels: Vec<f32> = (0..3000 * 12).map(|at| if at % 5 == 0 { 9.0 } else { -1.0 }).collect();
    let images = Images { values: &pixels, width: 4, height: 3 };
    let panel = MapPanel { show_ids: true, images: Some(images), ..MapPanel::new(&map) };
    let scene = scene_of(panel, &PictureOptions { width: 600, height: Some(600), ..small() });
    let frame = clouds(&scene)[0].frame;
    let Some(SceneItem::Tiles(tiles)) = scene.items.iter().find(|item| matches!(item, SceneItem::Tiles(_))) else {
        panic!()
    };
    assert!(tiles.len() > 100 && has_text(&scene, &format!("{} drawn as images", tiles.len())));
    for (a, tile) in tiles.iter().enumerate() {
        assert!(frame.contains_rect(tile.rect) && tile.pixels.len() == 12);
        assert!(tiles[..a].iter().all(|other| !other.rect.overlaps(tile.rect)));
    }
    let named: Vec<&Text> = texts(&scene).into_iter().filter(|text| text.content.starts_with("word ")).collect();
    assert!(named.len() > 30 && named[0].content == "word 0");
    let place = |text: &Text| {
        let width = text::width(&text.content, text.height);
        let left = text.position[0] - text.anchor.fraction() * width;
        Rect { left, top: text.position[1] - text.height, right: left + width, bottom: text.position[1] }
    };
    for (a, text) in named.iter().enumerate() {
        assert!(frame.contains_rect(place(text)));
        assert!(named[..a].iter().all(|other| !place(other).overlaps(place(text))));
    }
}
