//! Tests that SVG and PDF files are well-formed for any labels.

use proptest::prelude::*;

use super::parse::{XmlElement, page, pdf, pdf_texts, xml};
use super::*;

const HOSTILE: [&str; 8] = [
    "<script>alert(1)</script>",
    "\"quotes\" & 'more' ]]> -->",
    "\u{5e9}\u{5dc}\u{5d5}\u{5dd} \u{639}\u{631}\u{628}\u{64a}",
    "\u{202e}turned\u{0}\u{1b}[2J\u{ffff}",
    ") Tj ET Q (\\",
    "\u{4e2d}\u{6587} \u{1f600}",
    "Ångström — naïve",
    "",
];

fn svg_of(panels: &[MapPanel], options: &PictureOptions) -> Vec<XmlElement> {
    let text = String::from_utf8(draw_file(panels, options, PictureFormat::Svg).unwrap()).unwrap();
    xml(&text).unwrap_or_else(|error| panic!("{error}"))
}

/// Returns the operators of the page, its dictionary and all objects.
fn pdf_of(panels: &[MapPanel], options: &PictureOptions) -> (String, String, Vec<(String, Vec<u8>)>) {
    let objects =
        pdf(&draw_file(panels, options, PictureFormat::Pdf).unwrap()).unwrap_or_else(|error| panic!("{error}"));
    let content = String::from_utf8(objects[3].1.clone()).unwrap();
    page(&content).unwrap_or_else(|error| panic!("{error}"));
    (content, objects[2].0.clone(), objects)
}

#[test]
fn hostile_labels_are_escaped_in_every_format() {
    let mut names: Vec<String> = HOSTILE.map(String::from).to_vec();
    names.push("x".repeat(10_000));
    names.push("<b>".repeat(10_000));
    let n = names.len();
    let values = spiral(n, 2);
    let labels = labels(0..n as u32, &names);
    let map = AnnotatedEmbedding { std: Some(vec![0.1; n]), ids: Some(names.clone()), ..map_of(&values, 2) };
    let color = Color::Classes(&labels);
    let panel = MapPanel { title: names[0].clone(), color, show_ids: true, ..MapPanel::new(&map) };
    let table = TextTable { header: names.clone(), rows: vec![vec![TableCell { text: names[0].clone(), best: true }]] };
    let options = PictureOptions {
        title: names[0].clone(),
        caption: names.join(" "),
        table: Some(table),
        uncertainty: Uncertainty::Ellipses,
        ..PictureOptions::default()
    };
    let panels = [panel.clone(), panel];
    draw_file(&panels, &options, PictureFormat::Png).unwrap();
    let elements = svg_of(&panels, &options);
    let known = ["svg", "title", "rect", "circle", "g", "clipPath", "text", "image", "use", "defs", "path"];
    assert!(elements.iter().all(|element| known.contains(&element.name.as_str())));
    let texts: Vec<&str> = elements.iter().filter(|e| e.name == "text").map(|e| e.text.as_str()).collect();
    assert!(texts.contains(&"<script>alert(1)</script>") && texts.contains(&"turned[2J"), "{texts:?}");
    assert!(texts.iter().all(|text| text.chars().count() < 400));
    let (_, _, objects) = pdf_of(&panels, &options);
    let texts = pdf_texts(&objects);
    for expected in ["<script>alert(1)</script>", ") Tj ET Q (\\", "Ångström — naïve"] {
        assert!(texts.iter().any(|text| text == expected), "{expected} in {texts:?}");
    }
}

#[test]
fn pdf_files_contain_no_actions() {
    let mut names: Vec<String> = HOSTILE.map(String::from).to_vec();
    names.extend(
        ["/JS (app.alert(1)) /OpenAction", ">> /AA << /O 1 0 R >>", "(\\051 /URI (https://example.org))"]
            .map(String::from),
    );
    let n = names.len();
    let (values, labels) = (spiral(n, 2), labels(0..n as u32, &names));
    let map = AnnotatedEmbedding { ids: Some(names.clone()), ..map_of(&values, 2) };
    let panel =
        MapPanel { title: names[8].clone(), color: Color::Classes(&labels), show_ids: true, ..MapPanel::new(&map) };
    let options = PictureOptions { title: names[8].clone(), caption: names.join(" "), ..PictureOptions::default() };
    let (_, _, objects) = pdf_of(&[panel], &options);
    // Text is in streams as numbers of glyphs, and in dictionaries as hexadecimal digits, so that no name of an action is in a dictionary.
    for (dictionary, _) in &objects {
        for action in [
            "/JS",
            "/JavaScript",
            "/OpenAction",
            "/AA",
            "/A",
            "/URI",
            "/Launch",
            "/EmbeddedFile",
            "/Annots",
            "/AcroForm",
        ] {
            assert!(dictionary.split_whitespace().all(|word| word != action), "{action} in {dictionary}");
        }
    }
    assert!(pdf_texts(&objects).iter().any(|text| text.starts_with("/JS (app.alert(1))")), "the text itself is there");
}

#[test]
fn ideographs_of_a_font_of_the_system_are_text_in_every_format() {
    let values = spiral(20, 2);
    let map = map_of(&values, 2);
    let panels = [MapPanel::new(&map)];
    let titled = |title: &str| PictureOptions { title: title.into(), ..small() };
    let drawn = draw_picture(&panels, &titled("中文 a"), PictureFormat::Png).unwrap();
    assert_eq!(drawn.missing_characters, Vec::<char>::new());
    let (_, _, pixels) = decode(&drawn.file);
    let ink = |pixels: &[[u8; 3]]| pixels[..320 * 24].iter().filter(|p| p.iter().all(|v| *v < 128)).count();
    let (_, _, plain) = decode(&draw_file(&panels, &titled("a"), PictureFormat::Png).unwrap());
    assert!(ink(&pixels) > 2 * ink(&plain), "{} and {} dark pixels", ink(&pixels), ink(&plain));
    assert!(
        svg_of(&panels, &titled("中文 a")).iter().any(|element| element.name == "text" && element.text == "中文 a")
    );
    let (_, _, objects) = pdf_of(&panels, &titled("中文 a"));
    let texts = pdf_texts(&objects);
    assert!(texts.iter().any(|text| text.contains("中文")), "{texts:?}");
    let fonts = objects.iter().filter(|(dictionary, _)| dictionary.contains("LowlandTest-")).count();
    assert!(fonts >= 2, "both fonts of the collection are embedded");
}

#[test]
fn points_are_shapes_up_to_a_limit() {
    let values = spiral(20_001, 2);
    let maps = [map_of(&values[..600], 2), map_of(&values, 2)];
    let [few, many] = [0, 1].map(|at| [MapPanel::new(&maps[at])]);
    let off = PictureOptions { density: Density::Off, title: "points".into(), ..small() };
    let circles = |elements: &[XmlElement]| elements.iter().filter(|e| e.name == "circle").count();
    let images = |elements: &[XmlElement]| elements.iter().filter(|e| e.name == "image").count();
    let (shapes, pixels) = (svg_of(&few, &off), svg_of(&many, &off));
    assert_eq!((circles(&shapes), images(&shapes)), (300, 0));
    assert_eq!((circles(&pixels), images(&pixels)), (0, 1));
    let image = pixels.iter().find(|e| e.name == "image").unwrap();
    assert!(image.attributes["href"].starts_with("data:image/png;base64,iVBORw0KGgo"));
    assert!(pixels.iter().any(|e| e.name == "text" && e.text == "20,001 points"));

    let (content, about, _) = pdf_of(&few, &off);
    assert_eq!(content.matches(" l S").count(), 300);
    assert!(!about.contains("/I0") && about.matches("/F0 ").count() == 1);
    let (content, about, objects) = pdf_of(&many, &off);
    assert!(content.contains("/I0 Do") && about.contains("/I0 6 0 R"));
    let size = |name: &str| -> usize {
        let rest = objects[5].0.split(name).nth(1).unwrap();
        rest.trim().split(' ').next().unwrap().parse().unwrap()
    };
    assert_eq!(objects[5].1.len(), size("/Width") * size("/Height") * 3);
    assert!(objects[4].0.contains("<feff0070006f0069006e00740073>"), "the title");
}

#[test]
fn all_resources_of_a_page_are_defined() {
    let values = spiral(50, 2);
    let pixels: Vec<f32> = (0..50 * 16).map(|v| v as f32).collect();
    let std: Vec<f64> = (0..50).map(f64::from).collect();
    let map = AnnotatedEmbedding { std: Some(std.clone()), ..map_of(&values, 2) };
    let panel = MapPanel {
        images: Some(Images { values: &pixels, width: 4, height: 4 }),
        color: Color::Values { name: "v", values: &std },
        ..MapPanel::new(&map)
    };
    let options = PictureOptions { uncertainty: Uncertainty::Fade, ..small() };
    let (content, about, objects) = pdf_of(std::slice::from_ref(&panel), &options);
    let named: Vec<&str> = content.split_whitespace().filter(|word| word.starts_with('/')).collect();
    assert!(named.len() > 20);
    assert!(named.iter().all(|name| about.contains(&format!("{name} "))), "{about}");
    let images = content.matches(" Do").count();
    let stored = objects.iter().filter(|(dictionary, _)| dictionary.contains("/Subtype /Image")).count();
    assert!(images > 3 && stored == images);
    let in_svg = svg_of(&[panel], &options).iter().filter(|e| e.name == "image").count();
    assert_eq!(in_svg, images);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn any_map_with_any_labels_is_a_well_formed_file(
        dim in 1usize..4,
        values in prop::collection::vec(prop::num::f64::NORMAL | prop::num::f64::ZERO, 3..60),
        names in prop::collection::vec(any::<String>(), 20),
        width in 32u32..700,
        dark: bool,
        ellipses: bool,
        square: bool,
    ) {
        let n = values.len() / dim;
        let labels = labels((0..n as u32).map(|i| i % 23), &names);
        let std: Vec<f64> = values[..n].iter().map(|v| v.abs()).collect();
        let ids: Vec<String> = (0..n).map(|i| names[i % 20].clone()).collect();
        // Any numbers except negative variances.
        let variance = |at: usize| at / dim == at % dim;
        let covariances: Vec<f64> = (0..n * dim * dim)
            .map(|at| if variance(at % (dim * dim)) { values[at % n].abs() } else { values[at % n] })
            .collect();
        let map = AnnotatedEmbedding {
            std: Some(std),
            covariances: square.then_some(covariances),
            ids: Some(ids),
            ..map_of(&values[..n * dim], dim)
        };
        let panel = MapPanel {
            color: Color::Classes(&labels),
            show_ids: true,
            title: names[1].clone(),
            ..MapPanel::new(&map)
        };
        let options = PictureOptions {
            width,
            title: names[2].clone(),
            caption: names.join(" "),
            background: if dark { [20; 3] } else { [255; 3] },
            uncertainty: if ellipses { Uncertainty::Ellipses } else { Uncertainty::Fade },
            ..PictureOptions::default()
        };
        let panels = [panel.clone(), panel];
        match draw_file(&panels, &options, PictureFormat::Png) {
            Ok(_) => {
                svg_of(&panels, &options);
                pdf_of(&panels, &options);
            }
            Err(error) => prop_assert!(matches!(error, PictureError::Side { side: "height", .. }), "{error}"),
        }
    }
}
