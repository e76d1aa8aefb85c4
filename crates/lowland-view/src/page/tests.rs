use std::io::Read;

use flate2::read::ZlibDecoder;
use lowland::data::Dense;
use lowland::neighbors::NeighborGraph;
use lowland::{Embedding, Error, Metric};
use serde_json::Value;

use super::*;
use crate::PictureError;

/// A page and simple decoders of its sections.
struct ParsedPage(String);

impl ParsedPage {
    fn new(page: &Page) -> Self {
        Self(String::from_utf8(render_html(page).unwrap()).unwrap())
    }

    fn text(&self, name: &str) -> &str {
        let start = self.0.find(&format!(" id=\"{name}\">")).unwrap_or_else(|| panic!("no section {name}"));
        let start = start + self.0[start..].find('>').unwrap() + 1;
        &self.0[start..start + self.0[start..].find("</script>").unwrap()]
    }

    fn header(&self) -> Value {
        serde_json::from_str(self.text("header")).unwrap()
    }

    fn bytes(&self, name: &str) -> Vec<u8> {
        let digit = |c: u8| match c {
            b'A'..=b'Z' => c - b'A',
            b'a'..=b'z' => c - b'a' + 26,
            b'0'..=b'9' => c - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => panic!("{c} is not a base64 digit"),
        };
        let (mut packed, mut bits, mut count) = (Vec::new(), 0u32, 0);
        for c in self.text(name).trim_end_matches('=').bytes() {
            bits = bits << 6 | u32::from(digit(c));
            count += 6;
            if count >= 8 {
                count -= 8;
                packed.push((bits >> count) as u8);
            }
        }
        let mut bytes = Vec::new();
        ZlibDecoder::new(&packed[..]).read_to_end(&mut bytes).unwrap();
        bytes
    }

    fn numbers(&self, name: &str, width: usize) -> Vec<u32> {
        let bytes = self.bytes(name);
        let n = bytes.len() / width;
        (0..n).map(|i| (0..width).map(|b| u32::from(bytes[b * n + i]) << (8 * b)).sum()).collect()
    }
}

fn map(values: Vec<f64>, dim: usize) -> AnnotatedEmbedding {
    Embedding::new(values, dim).unwrap().into()
}

fn with_map(map: &AnnotatedEmbedding) -> Page<'_> {
    let page_map = PageMap { name: "m".into(), caption: "c".into(), map, neighbors: None };
    Page { title: "t".into(), rows: map.rows(), maps: vec![page_map], ..Page::default() }
}

#[test]
fn the_template_has_placeholders_and_a_strict_content_security_policy() {
    assert_eq!(TEMPLATE.matches(DATA).count(), 1);
    assert_eq!(TEMPLATE.matches(CONNECT).count(), 1);
    let shape = map(vec![0.0, 1.0], 2);
    let page = ParsedPage::new(&with_map(&shape));
    assert!(page.0.contains("default-src 'none'") && page.0.contains("connect-src 'none'"));
    assert!(!page.0.contains("unsafe") && !page.0.contains("http://") && !page.0.contains("https://"));
    let live = ParsedPage::new(&Page { live: true, rows: 3, ..Page::default() });
    assert!(live.0.contains("connect-src 'self'"));
}

#[test]
fn coordinates_are_stored_within_one_quantization_step() {
    let values: Vec<f64> = (0..200).map(|i| f64::from(i * i % 97) * 0.37 - 5.0).collect();
    let shape = map(values.clone(), 2);
    let page = ParsedPage::new(&with_map(&shape));
    let header = page.header();
    let about = &header["maps"][0];
    assert_eq!((about["bytes"].as_u64(), about["dim"].as_u64()), (Some(2), Some(2)));
    for (at, step) in page.numbers("map-0", 2).into_iter().enumerate() {
        let [low, high] = ["low", "high"].map(|end| about[end][at % 2].as_f64().unwrap());
        let value = low + (high - low) * f64::from(step) / 65535.0;
        assert!((value - values[at]).abs() <= (high - low) / 131_000.0, "{at}: {value}");
    }
}

#[test]
fn outliers_do_not_reduce_the_precision_of_other_points() {
    let mut values: Vec<f64> = (0..600).map(|i| f64::from(i) * 1e-3).collect();
    values[599] = 1e6;
    let shape = map(values.clone(), 2);
    let page = ParsedPage::new(&with_map(&shape));
    assert_eq!(page.header()["maps"][0]["bytes"], 4);
    let high = page.header()["maps"][0]["high"][1].as_f64().unwrap();
    let low = page.header()["maps"][0]["low"][1].as_f64().unwrap();
    let share = f64::from(f32::from_bits(page.numbers("map-0", 4)[201]));
    assert!((low + share * (high - low) - values[201]).abs() < 1e-3);
}

#[test]
fn single_points_equal_points_and_huge_ranges_are_rendered() {
    for values in [vec![3.0, 4.0], vec![2.0; 10], vec![-1.7e308, 1.7e308, 1.7e308, 0.0]] {
        let shape = map(values, 2);
        let page = ParsedPage::new(&with_map(&shape));
        assert!(page.header()["maps"][0]["low"][0].is_f64());
    }
    let long = map(vec![0.5; 12], 6);
    let about = ParsedPage::new(&with_map(&long)).header();
    assert_eq!((about["maps"][0]["dim"].as_u64(), about["maps"][0]["dimOf"].as_u64()), (Some(3), Some(6)));
}

#[test]
fn data_of_a_wrong_length_are_rejected() {
    let shape = map(vec![0.0, 1.0, 2.0, 3.0], 2);
    let ids = vec!["only one".to_string()];
    assert!(render_html(&Page { ids: Some(&ids), ..with_map(&shape) }).is_err());
    let column = PageColumn { name: "x".into(), values: ColumnData::Numbers(vec![1.0]) };
    assert!(render_html(&Page { columns: vec![column], ..with_map(&shape) }).is_err());
    let images = Images { values: &[0.0; 5], width: 2, height: 2 };
    assert!(render_html(&Page { images: Some(images), ..with_map(&shape) }).is_err());
    assert!(render_html(&with_map(&map(vec![0.0, f64::NAN], 2))).is_err());
}

#[test]
fn hostile_text_is_preserved_and_escaped() {
    let hostile = [
        "</script><script>alert(1)</script>".to_string(),
        "<!--<script>".into(),
        "\" ' & \u{2028} \u{202e} \u{0} \\".into(),
        "x".repeat(10_000),
    ];
    let shape = map((0..8).map(f64::from).collect(), 2);
    let labels = Labels { codes: vec![0, 1, 2, 3], names: hostile.to_vec() };
    let column = PageColumn { name: hostile[0].clone(), values: ColumnData::Classes(&labels) };
    let mut page = Page { ids: Some(&hostile), columns: vec![column], ..with_map(&shape) };
    page.title = hostile[0].clone();
    page.maps[0].caption = hostile[1].clone();
    let parts = ParsedPage::new(&page);
    let plain = ParsedPage::new(&with_map(&shape));
    let scripts = |parts: &ParsedPage| parts.0.matches("<script").count();
    assert_eq!(scripts(&parts), scripts(&plain) + 3, "three more sections");
    assert!(!parts.0.contains("alert(1)</script>") && !parts.0.contains("<!--<"));
    assert_eq!(parts.header()["title"], hostile[0]);
    assert_eq!(parts.header()["columns"][0]["name"], hostile[0]);
    assert_eq!(serde_json::from_slice::<Vec<String>>(&parts.bytes("ids")).unwrap(), hostile);
    assert_eq!(serde_json::from_slice::<Vec<String>>(&parts.bytes("names-0")).unwrap(), hostile);
}

#[test]
fn preserved_neighbors_are_those_in_both_graphs() {
    let graph = |lists: [[u32; 2]; 4]| {
        NeighborGraph::uniform(2, lists.concat(), [1.0, 2.0].repeat(4), 4, Metric::Euclidean).unwrap()
    };
    let truth = graph([[1, 2], [0, 2], [3, 1], [2, 0]]);
    let found = graph([[2, 1], [3, 0], [0, 3], [1, 3 - 3]]);
    let shape = map((0..8).map(f64::from).collect(), 2);
    let mut page = with_map(&shape);
    page.neighbors = Some(&truth);
    page.maps[0].neighbors = Some(&found);
    let parts = ParsedPage::new(&page);
    assert_eq!(parts.header()["neighbors"]["k"], 2);
    assert_eq!(parts.numbers("kept-0", 2), [0b11, 0b01, 0b01, 0b10]);
    assert_eq!(parts.numbers("neighbors", 4), truth.indices());
}

#[test]
fn images_have_sixteen_shades_and_are_detected_only_if_rows_are_pixels() {
    let pixels: Vec<f32> = (0..128).map(|i| (i * 2) as f32).collect();
    let dense = Dense::new(pixels.clone(), 64).unwrap();
    let images = detect_images(&dense).unwrap();
    let shape = map(vec![0.0, 1.0, 2.0, 3.0], 2);
    let parts = ParsedPage::new(&Page { images: Some(images), ..with_map(&shape) });
    assert_eq!(
        (parts.header()["images"]["width"].as_u64(), parts.header()["images"]["sections"][0].as_str()),
        (Some(8), Some("images-0"))
    );
    let packed = parts.bytes("images-0");
    for (at, &pixel) in pixels.iter().enumerate() {
        let shade = packed[at / 2] >> (4 * (at % 2)) & 15;
        assert!((f32::from(shade) / 15.0 - pixel / 254.0).abs() <= 0.5 / 15.0 + 1e-6, "{at}");
    }
    let scaled = |unit: f32| Dense::new(pixels.iter().map(|v| v * unit).collect(), 64).unwrap();
    assert!(detect_images(&scaled(1.0 / 255.0)).is_some());
    assert!(detect_images(&scaled(0.3)).is_none(), "not bytes");
    assert!(detect_images(&scaled(-1.0)).is_none(), "negative");
    assert!(detect_images(&Dense::new(pixels, 32).unwrap()).is_none(), "not square");
}

#[test]
fn the_number_of_threads_does_not_change_the_page() {
    let shape = map((0..20_000).map(|i| (f64::from(i) * 0.7).sin()).collect(), 2);
    let ids: Vec<String> = (0..10_000).map(|i| format!("point {i}")).collect();
    let page = Page { ids: Some(&ids), ..with_map(&shape) };
    let bytes = |threads| lowland::with_threads(Some(threads), || render_html(&page).unwrap()).unwrap();
    assert!(bytes(1) == bytes(2) && bytes(1) == bytes(3));
}

#[test]
fn base64_follows_the_standard() {
    let known = [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")];
    for (bytes, text) in known {
        assert_eq!(base64(bytes.as_bytes()), text);
    }
    assert_eq!(base64(&[0xff, 0xef, 0xbe]), "/+++");
}

proptest::proptest! {
    #[test]
    fn any_text_and_numbers_are_preserved(
        texts in proptest::collection::vec(".{0,40}", 1..6),
        numbers in proptest::collection::vec(proptest::num::f64::NORMAL | proptest::num::f64::SUBNORMAL, 1..6),
        dim in 1usize..6,
    ) {
        let rows = texts.len();
        let mut shape = map((0..rows * dim).map(|at| numbers[at % numbers.len()]).collect(), dim);
        shape.std = Some(shape.embedding.values()[..rows].to_vec());
        let codes: Vec<u32> = (0..rows as u32).collect();
        let labels = Labels { codes: codes.clone(), names: texts.clone() };
        let column = PageColumn { name: texts[0].clone(), values: ColumnData::Classes(&labels) };
        let page = Page { ids: Some(&texts), columns: vec![column], ..with_map(&shape) };
        let parts = ParsedPage::new(&page);
        proptest::prop_assert_eq!(serde_json::from_slice::<Vec<String>>(&parts.bytes("ids")).unwrap(), texts.clone());
        proptest::prop_assert_eq!(&parts.header()["columns"][0]["name"], &texts[0]);
        proptest::prop_assert_eq!(parts.numbers("column-0", 4), codes);
        // Header, five sections, and the executable script.
        proptest::prop_assert_eq!(parts.0.matches("<script").count(), 7);
    }
}

#[test]
fn the_initial_view_is_in_the_header_and_is_validated() {
    let shape = map(vec![0.0, 1.0, 2.0, 3.0], 2);
    let start = InitialView {
        color: Some(InitialColor::Column(0)),
        hide: 5,
        circles: true,
        dark: true,
        ..InitialView::default()
    };
    let column = PageColumn { name: "c".into(), values: ColumnData::Numbers(vec![1.0, 2.0]) };
    let page = Page { columns: vec![column], start, ..with_map(&shape) };
    let start = &ParsedPage::new(&page).header()["start"];
    assert_eq!(
        (&start["mode"]["by"], &start["mode"]["column"], &start["hide"]),
        (&"column".into(), &0.into(), &5.into())
    );
    assert!(matches!(
        render_html(&Page { columns: Vec::new(), ..page.clone() }),
        Err(PictureError::MissingColumn { .. })
    ));
    let negative = AnnotatedEmbedding { std: Some(vec![0.1, -0.1]), ..shape.clone() };
    assert!(matches!(
        render_html(&Page { maps: with_map(&negative).maps, ..page }),
        Err(PictureError::NegativeStd { .. })
    ));
}

#[test]
fn hostile_classes_of_a_palette_are_only_keys_of_the_header() {
    let shape = map(vec![0.0, 1.0, 2.0, 3.0], 2);
    let names =
        ["</script><script>window.hacked = 1</script>", "__proto__", "constructor", "\"}, \"x\": {\"", "<!-- \u{202e}"];
    let text: String = names.iter().map(|name| format!("{name} = #102030\n")).collect();
    let page = Page { palette: Palette::parse(&text).unwrap(), ..with_map(&shape) };
    let parsed = ParsedPage::new(&page);
    assert_eq!(
        parsed.0.matches("</script>").count(),
        ParsedPage::new(&with_map(&shape)).0.matches("</script>").count()
    );
    let header = parsed.header();
    let named = header["palette"]["named"].as_object().unwrap();
    let mut found: Vec<&str> = named.keys().map(String::as_str).collect();
    found.sort_unstable();
    let mut expected = names;
    expected.sort_unstable();
    assert_eq!(found, expected);
}

#[test]
fn covariances_of_the_shown_dimensions_are_stored() {
    let values = map((0..8).map(f64::from).collect(), 4);
    let full: Vec<f64> = (0..32).map(f64::from).collect();
    let with_covariances = |all: &[f64]| AnnotatedEmbedding { covariances: Some(all.to_vec()), ..values.clone() };
    let parts = ParsedPage::new(&with_map(&with_covariances(&full)));
    assert_eq!(parts.header()["maps"][0]["covariances"], "covariances-0");
    let found: Vec<f32> = parts.numbers("covariances-0", 4).into_iter().map(f32::from_bits).collect();
    assert_eq!(found, [0.0, 1.0, 2.0, 5.0, 6.0, 10.0, 16.0, 17.0, 18.0, 21.0, 22.0, 26.0]);
    let rejected = |all: &[f64]| render_html(&with_map(&with_covariances(all)));
    assert!(matches!(rejected(&full[..31]), Err(PictureError::Data(Error::Shape { .. }))));
    let negative: Vec<f64> = full.iter().map(|v| -v).collect();
    assert!(matches!(rejected(&negative), Err(PictureError::NegativeVariance { .. })));
}

#[test]
fn reliability_bridges_and_the_slider_are_in_the_page() {
    let mut known = lowland::Reliability::default();
    known.set(ReliabilityColumn::Jump, vec![0.5, f64::NAN, 2.0, 1.0]);
    known.set(ReliabilityColumn::Island, vec![1.0, 1.0, 2.0, 2.0]);
    known.set(ReliabilityColumn::BridgeTo, vec![2.0, 0.0, 1.0, 0.0]);
    let torn = AnnotatedEmbedding { reliability: Some(known), ..map(vec![0.0, 0.0, 1.0, 1.0, 5.0, 5.0, 6.0, 6.0], 2) };
    let each = |name: &str| PageMap { name: name.into(), caption: String::new(), map: &torn, neighbors: None };
    let mut page = Page {
        rows: 4,
        maps: vec![each("a"), each("b")],
        slider: Some(PageSlider { label: "exaggeration", values: vec![1.0, 4.0] }),
        start: InitialView {
            color: Some(InitialColor::Reliability(ReliabilityColumn::Jump)),
            ..InitialView::default()
        },
        ..Page::default()
    };
    let parsed = ParsedPage::new(&page);
    let header = parsed.header();
    assert_eq!(header["slider"]["values"], serde_json::json!([1.0, 4.0]));
    assert_eq!(header["start"]["mode"], serde_json::json!({ "by": "reliability", "name": "jump" }));
    assert_eq!((&header["start"]["flagged"], &header["start"]["bridges"]), (&true.into(), &true.into()));
    let columns = header["maps"][1]["reliability"].as_array().unwrap();
    assert_eq!(
        columns.iter().map(|column| column["name"].as_str().unwrap()).collect::<Vec<_>>(),
        ["jump", "island", "bridge_to"]
    );
    assert!(columns.iter().all(|column| column["meaning"].as_str().unwrap().ends_with('.')));
    let values: Vec<f32> =
        parsed.numbers(columns[0]["section"].as_str().unwrap(), 4).into_iter().map(f32::from_bits).collect();
    assert!(values[0] == 0.5 && values[1].is_nan() && values[2] == 2.0);
    let bridge = &header["maps"][0]["bridges"][0];
    assert_eq!(
        (&bridge["islands"], &bridge["ends"]),
        (&serde_json::json!([1, 2]), &serde_json::json!([[0.0, 0.0], [5.0, 5.0]]))
    );
    page.slider = Some(PageSlider { label: "exaggeration", values: vec![1.0] });
    assert!(render_html(&page).is_err());
}
