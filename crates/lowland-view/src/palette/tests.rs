//! Colors must be told apart on light and dark backgrounds, with normal and with deficient color vision.

use super::*;

fn distance(a: Rgb, b: Rgb) -> f32 {
    let (a, b) = (to_lab(a), to_lab(b));
    a.iter().zip(b).map(|(x, y)| (x - y).powi(2)).sum::<f32>().sqrt()
}

/// A color vision deficiency (Machado, Oliveira and Fernandes 2009, severity 1), in linear light.
pub(crate) type Deficiency = [[f32; 3]; 3];

pub(crate) const DEFICIENCIES: [(&str, Deficiency); 3] = [
    ("protanopia", [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]),
    (
        "deuteranopia",
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    ),
    ("tritanopia", [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]),
];

pub(crate) fn simulate(color: Rgb, deficiency: Deficiency) -> Rgb {
    let linear = color.map(|v| if v <= 0.04045 { v / 12.92 } else { ((v + 0.055) / 1.055).powf(2.4) });
    deficiency.map(|row| {
        let v = row.iter().zip(linear).map(|(m, v)| m * v).sum::<f32>().clamp(0.0, 1.0);
        if v <= 0.003_130_8 { 12.92 * v } else { 1.055 * v.powf(1.0 / 2.4) - 0.055 }
    })
}

/// Returns the contrast of two colors as WCAG 2 defines it, from 1 to 21.
pub(crate) fn contrast(a: Rgb, b: Rgb) -> f32 {
    let luminance = |color: Rgb| {
        let [r, g, b] = color.map(|v| if v <= 0.04045 { v / 12.92 } else { ((v + 0.055) / 1.055).powf(2.4) });
        0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05
    };
    let (a, b) = (luminance(a), luminance(b));
    a.max(b) / a.min(b)
}

/// Returns the smallest difference between two of the colors.
pub(crate) fn smallest_difference(colors: &[Rgb]) -> f32 {
    let pairs = colors.iter().enumerate().flat_map(|(at, &a)| colors[at + 1..].iter().map(move |&b| distance(a, b)));
    pairs.fold(f32::INFINITY, f32::min)
}

#[test]
fn ten_twenty_and_sixty_classes_differ_with_any_color_vision_on_light_and_dark() {
    let palette = Palette::default();
    for dark in [false, true] {
        let background = if dark { rgb(0x16181d) } else { [1.0; 3] };
        // Least differences in OKLab: for normal vision, for deficient vision, and from the background; least contrast with the
        // background, below which points are lost on it.
        for (count, normal, deficient, from_background, least_contrast) in
            [(10, 0.15, 0.07, 0.2, 1.8), (20, 0.09, 0.05, 0.15, 1.4), (60, 0.055, 0.025, 0.15, 1.4)]
        {
            let colors: Vec<Rgb> = (0..count).map(|at| palette.class_color(at, dark).unwrap()).collect();
            assert!(smallest_difference(&colors) > normal, "{count} {dark}: {}", smallest_difference(&colors));
            for (name, deficiency) in DEFICIENCIES {
                let seen: Vec<Rgb> = colors.iter().map(|&color| simulate(color, deficiency)).collect();
                assert!(
                    smallest_difference(&seen) > deficient,
                    "{count} {dark} {name}: {}",
                    smallest_difference(&seen)
                );
            }
            let nearest = colors.iter().map(|&color| distance(color, background)).fold(f32::INFINITY, f32::min);
            assert!(nearest > from_background, "{count} {dark}: {nearest}");
            let faintest = colors.iter().map(|&color| contrast(color, background)).fold(f32::INFINITY, f32::min);
            assert!(faintest > least_contrast, "{count} {dark}: contrast {faintest} with the background");
            let gray = colors.iter().map(|&color| distance(color, missing_color(dark))).fold(f32::INFINITY, f32::min);
            assert!(gray > 0.03, "{count} {dark}: {gray} from the gray of unknown classes");
        }
    }
}

#[test]
fn the_first_ten_colors_are_calm() {
    for &hex in &builtin::DEFAULT[..10] {
        let [lightness, a, b] = to_lab(rgb(hex));
        assert!((0.48..0.82).contains(&lightness) && a.hypot(b) < 0.2, "{hex:06x}");
    }
}

#[test]
fn scales_change_lightness_in_even_steps_with_any_color_vision() {
    for name in ["violet-yellow", "ember", "blues", "greens"] {
        let palette = Palette::named(name).unwrap();
        for dark in [false, true] {
            let steps = |deficiency: Option<Deficiency>| {
                let value = |t: i32| palette.value_color(t as f32 / 20.0, dark);
                let lightness = |t: i32| to_lab(deficiency.map_or(value(t), |kind| simulate(value(t), kind)))[0];
                (0..20).map(|t| lightness(t + 1) - lightness(t)).collect::<Vec<f32>>()
            };
            let direction = steps(None)[10].signum();
            for deficiency in std::iter::once(None).chain(DEFICIENCIES.map(|(_, kind)| Some(kind))) {
                let steps = steps(deficiency);
                assert!(
                    steps.iter().all(|&step| (0.004..0.065).contains(&(step * direction))),
                    "{name} {dark}: {steps:?}"
                );
            }
        }
    }
}

#[test]
fn scales_have_steps_of_about_equal_size_on_light_and_dark() {
    const STEPS: u16 = 64;
    for name in ["default", "violet-yellow", "ember", "blues", "greens", "blue-red", "purple-green"] {
        let palette = Palette::named(name).unwrap();
        for dark in [false, true] {
            let color = |step: u16| palette.value_color(f32::from(step) / f32::from(STEPS), dark);
            let sizes: Vec<f32> = (0..STEPS).map(|step| distance(color(step), color(step + 1))).collect();
            let (least, most) =
                (sizes.iter().copied().fold(f32::MAX, f32::min), sizes.iter().copied().fold(0.0, f32::max));
            assert!(most < 1.25 * least, "{name} {dark}: steps from {least} to {most}");
            // Together they are long enough for 64 steps to be seen.
            assert!(sizes.iter().sum::<f32>() > 0.55, "{name} {dark}");
        }
    }
}

#[test]
fn diverging_scales_are_symmetric_and_their_ends_differ() {
    for name in ["blue-red", "purple-green"] {
        let palette = Palette::named(name).unwrap();
        assert!(palette.is_diverging());
        for dark in [false, true] {
            let at = |t: f32| palette.value_color(t, dark);
            for t in [0.0, 0.1, 0.25, 0.4] {
                assert!((to_lab(at(t))[0] - to_lab(at(1.0 - t))[0]).abs() < 0.03, "{name} {t}");
            }
            for (_, deficiency) in DEFICIENCIES {
                assert!(distance(simulate(at(0.1), deficiency), simulate(at(0.9), deficiency)) > 0.04, "{name}");
            }
            let [_, a, b] = to_lab(at(0.5));
            assert!(a.hypot(b) < 0.02, "{name} is gray in the middle");
        }
    }
}

#[test]
fn density_colors_get_darker_in_even_steps() {
    let lightness: Vec<f32> = (0..=50).map(|t| to_lab(density_color(t as f32 / 50.0, false))[0]).collect();
    let steps: Vec<f32> = lightness.windows(2).map(|w| w[0] - w[1]).collect();
    assert!(steps.iter().all(|&s| s > 0.004 && s < 0.03), "{steps:?}");
    assert_eq!(density_color(0.25, true), density_color(0.75, false));
}

#[test]
fn palettes_of_files_name_classes_and_give_the_others_their_colors_in_turn() {
    let palette = Palette::parse("// mine\nB cell = #102030\n#ffffff\n\n000000 // black\n").unwrap();
    assert_eq!(palette.named_class(" B cell ", true), Some(rgb(0x102030)));
    assert_eq!(
        (palette.class_color(0, true), palette.class_color(1, false), palette.class_color(2, false)),
        (Some([1.0; 3]), Some([0.0; 3]), None)
    );
    assert!(palette.value_color(0.0, false)[0] > 0.99 && palette.value_color(1.0, false)[0] < 0.01);
    let Err(error) = Palette::parse("#ffffff\nnot a color") else { panic!() };
    assert!(error.to_string().contains("line 2"), "{error}");
    assert!(Palette::parse("\n//\n").is_err());
}

#[test]
fn built_in_palettes_are_found_by_name() {
    assert!(Palette::names().all(|name| Palette::named(name).is_some()));
    assert_eq!(Palette::named("okabe-ito").unwrap().len(), 7);
    assert_eq!(Palette::named("nothing"), None);
}

#[test]
fn unknown_classes_are_recognized_by_name() {
    assert!(["", " ", "NaN", "Unknown", "N/A"].into_iter().all(is_unknown));
    assert!(!["0", "-1", "Nana", "other"].into_iter().any(is_unknown));
}
