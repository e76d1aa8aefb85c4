//! Colors of classes, densities and values, chosen to be distinguishable with color vision deficiency.

/// Red, green and blue from 0 to 1, in sRGB.
pub(crate) type Rgb = [f32; 3];

/// Colors of classes. The first six are from the palette of Okabe and Ito; each of the others is the color farthest from all
/// before it for normal, protanopic and deuteranopic vision (see the tests).
pub(crate) const CLASSES: [u32; 20] = [
    0x0072b2, 0xd55e00, 0x009e73, 0xcc79a7, 0xe69f00, 0x56b4e9, 0x520514, 0x05058f, 0x6105fa, 0x61eb9e, //
    0x055205, 0x9e0580, 0xeb14fa, 0x705252, 0x8f61db, 0x053342, 0x520570, 0xfa1461, 0xad0524, 0xfa80fa,
];

/// Color of the classes that are not in the legend.
pub(crate) const OTHER_CLASSES: u32 = 0xc4c4c4;

/// Colors from low to high density on a light background, with decreasing lightness.
const DENSITY_COLORS: [u32; 6] = [0xc6dcec, 0x7fb8d8, 0x3f8dc0, 0x3a5fa6, 0x3a2f7d, 0x1b0c33];

/// Converts `0xrrggbb`.
pub(crate) fn rgb(hex: u32) -> Rgb {
    [16, 8, 0].map(|shift| ((hex >> shift) & 255) as f32 / 255.0)
}

/// Returns the lighter variant of a class color for a dark background.
pub(crate) fn on_dark(color: Rgb) -> Rgb {
    let [lightness, a, b] = to_lab(color);
    from_lab([0.45 + 0.5 * lightness, a, b])
}

/// Interpolates linearly from `a` to `b`.
pub(crate) fn mix(a: Rgb, b: Rgb, t: f32) -> Rgb {
    std::array::from_fn(|c| a[c] + (b[c] - a[c]) * t)
}

/// Whether a background needs light text.
pub(crate) fn is_dark(background: Rgb) -> bool {
    to_lab(background)[0] < 0.6
}

/// Returns the color of a density from 0 (low) to 1 (high).
pub(crate) fn density_color(t: f32, dark_background: bool) -> Rgb {
    let t = if dark_background { 1.0 - t } else { t }.clamp(0.0, 1.0) * (DENSITY_COLORS.len() - 1) as f32;
    let at = (t as usize).min(DENSITY_COLORS.len() - 2);
    // Interpolated in OKLab, where steps are perceptually uniform.
    from_lab(mix(to_lab(rgb(DENSITY_COLORS[at])), to_lab(rgb(DENSITY_COLORS[at + 1])), t - at as f32))
}

/// Returns the color of a value from 0 (low) to 1 (high). Lightness increases uniformly, so that the order is visible with any
/// color vision and in grayscale; the hue changes from violet through blue and green to yellow.
pub(crate) fn value_color(t: f32, dark_background: bool) -> Rgb {
    let low = if dark_background { 0.38 } else { 0.27 };
    let (lightness, hue) = (low + 0.6 * t, (305.0 - 200.0 * t).to_radians());
    // The largest chroma that is displayable at the darkest, the central and the lightest color.
    let chroma = 0.1 + 0.06 * (2.0 * t - 1.0).powi(2);
    from_lab([lightness, chroma * hue.cos(), chroma * hue.sin()])
}

/// Converts to Ottosson's OKLab: lightness, green-red, blue-yellow.
pub(crate) fn to_lab(color: Rgb) -> [f32; 3] {
    let [r, g, b] = color.map(|v| if v <= 0.04045 { v / 12.92 } else { ((v + 0.055) / 1.055).powf(2.4) });
    let l = (0.412_221_46 * r + 0.536_332_55 * g + 0.051_445_995 * b).cbrt();
    let m = (0.211_903_5 * r + 0.680_699_5 * g + 0.107_396_96 * b).cbrt();
    let s = (0.088_302_46 * r + 0.281_718_85 * g + 0.629_978_7 * b).cbrt();
    [
        0.210_454_26 * l + 0.793_617_8 * m - 0.004_072_047 * s,
        1.977_998_5 * l - 2.428_592_2 * m + 0.450_593_7 * s,
        0.025_904_037 * l + 0.782_771_77 * m - 0.808_675_77 * s,
    ]
}

fn from_lab([lightness, a, b]: [f32; 3]) -> Rgb {
    let l = (lightness + 0.396_337_78 * a + 0.215_803_76 * b).powi(3);
    let m = (lightness - 0.105_561_346 * a - 0.063_854_17 * b).powi(3);
    let s = (lightness - 0.089_484_18 * a - 1.291_485_5 * b).powi(3);
    let linear = [
        4.076_741_7 * l - 3.307_711_6 * m + 0.230_969_94 * s,
        -1.268_438 * l + 2.609_757_4 * m - 0.341_319_38 * s,
        -0.004_196_086_3 * l - 0.703_418_6 * m + 1.707_614_7 * s,
    ];
    linear.map(|v| {
        let v = v.clamp(0.0, 1.0);
        if v <= 0.003_130_8 { 12.92 * v } else { 1.055 * v.powf(1.0 / 2.4) - 0.055 }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn distance(a: Rgb, b: Rgb) -> f32 {
        let (a, b) = (to_lab(a), to_lab(b));
        a.iter().zip(b).map(|(x, y)| (x - y).powi(2)).sum::<f32>().sqrt()
    }

    /// Simulates a color vision deficiency (Machado, Oliveira and Fernandes 2009, severity 1).
    fn simulate(color: Rgb, deficiency: [[f32; 3]; 3]) -> Rgb {
        let linear = color.map(|v| v.powf(2.2));
        deficiency.map(|row| row.iter().zip(linear).map(|(m, v)| m * v).sum::<f32>().clamp(0.0, 1.0).powf(1.0 / 2.2))
    }

    const PROTANOPIA: [[f32; 3]; 3] =
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]];
    const DEUTERANOPIA: [[f32; 3]; 3] =
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]];

    #[test]
    fn class_colors_are_distinct_with_any_color_vision() {
        for (a, &first) in CLASSES.iter().enumerate() {
            for (b, &second) in CLASSES.iter().enumerate().skip(a + 1) {
                let (x, y) = (rgb(first), rgb(second));
                assert!(distance(x, y) > 0.14, "{a} {b}: {}", distance(x, y));
                if b < 10 {
                    for deficiency in [PROTANOPIA, DEUTERANOPIA] {
                        let apart = distance(simulate(x, deficiency), simulate(y, deficiency));
                        assert!(apart > 0.07, "{a} {b}: {apart}");
                    }
                }
            }
            assert!(distance(rgb(first), [1.0; 3]) > 0.2, "{a} against white");
        }
    }

    #[test]
    fn class_colors_are_distinct_on_a_dark_background() {
        let colors: Vec<Rgb> = CLASSES.iter().map(|&hex| on_dark(rgb(hex))).collect();
        for (a, &first) in colors.iter().enumerate().take(10) {
            assert!(distance(first, rgb(0x16181d)) > 0.3, "{a} against the background");
            for (b, &second) in colors.iter().enumerate().take(10).skip(a + 1) {
                assert!(distance(first, second) > 0.09, "{a} {b}: {}", distance(first, second));
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
    fn value_colors_get_lighter_in_even_steps_with_any_color_vision() {
        let steps = |deficiency: Option<[[f32; 3]; 3]>| {
            let value = |t: i32| value_color(t as f32 / 20.0, false);
            let color = |t: i32| deficiency.map_or(value(t), |b| simulate(value(t), b));
            (0..20).map(|t| to_lab(color(t + 1))[0] - to_lab(color(t))[0]).collect::<Vec<f32>>()
        };
        for deficiency in [None, Some(PROTANOPIA), Some(DEUTERANOPIA)] {
            assert!(steps(deficiency).iter().all(|&s| s > 0.008 && s < 0.06), "{:?}", steps(deficiency));
        }
        assert!(
            distance(value_color(1.0, false), [1.0; 3]) > 0.15
                && distance(value_color(0.0, true), rgb(0x16181d)) > 0.15
        );
    }

    #[test]
    fn conversion_to_oklab_and_back_is_the_identity() {
        for &hex in &CLASSES {
            let back = from_lab(to_lab(rgb(hex)));
            assert!(back.iter().zip(rgb(hex)).all(|(a, b)| (a - b).abs() < 1e-3));
        }
    }
}
