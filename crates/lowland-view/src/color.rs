//! Colours: classes that stay apart, also for the colour-blind, and a ramp of even steps for density.

/// Red, green, blue from 0 to 1, as on the screen.
pub(crate) type Rgb = [f32; 3];

/// Classes in order. The first six are of Okabe and Ito's palette, each of the rest is the colour farthest from
/// all before it, as seen with all cones, without red ones and without green ones (a test measures it).
pub(crate) const CLASSES: [u32; 20] = [
    0x0072b2, 0xd55e00, 0x009e73, 0xcc79a7, 0xe69f00, 0x56b4e9, 0x520514, 0x05058f, 0x6105fa, 0x61eb9e, //
    0x055205, 0x9e0580, 0xeb14fa, 0x705252, 0x8f61db, 0x053342, 0x520570, 0xfa1461, 0xad0524, 0xfa80fa,
];

/// Classes beyond the legend.
pub(crate) const REST: u32 = 0xc4c4c4;

/// Few points to many, on a light ground: lightness falls all the way.
const RAMP: [u32; 6] = [0xc6dcec, 0x7fb8d8, 0x3f8dc0, 0x3a5fa6, 0x3a2f7d, 0x1b0c33];

/// `0xrrggbb`.
pub(crate) fn rgb(hex: u32) -> Rgb {
    [16, 8, 0].map(|shift| ((hex >> shift) & 255) as f32 / 255.0)
}

/// A colour of a class where the ground is dark: lighter, as far as those that are light already leave room.
pub(crate) fn on_dark(color: Rgb) -> Rgb {
    let [lightness, a, b] = to_lab(color);
    from_lab([0.45 + 0.5 * lightness, a, b])
}

/// The part `t` of the way from `a` to `b`.
pub(crate) fn mix(a: Rgb, b: Rgb, t: f32) -> Rgb {
    std::array::from_fn(|c| a[c] + (b[c] - a[c]) * t)
}

/// Whether light text is the readable one on this ground.
pub(crate) fn is_dark(ground: Rgb) -> bool {
    to_lab(ground)[0] < 0.6
}

/// Colour of a density from 0 (few) to 1 (many), on a light or a dark ground.
pub(crate) fn ramp(t: f32, dark_ground: bool) -> Rgb {
    let t = if dark_ground { 1.0 - t } else { t }.clamp(0.0, 1.0) * (RAMP.len() - 1) as f32;
    let at = (t as usize).min(RAMP.len() - 2);
    // Steps are even to the eye in this space, not in red, green and blue.
    from_lab(mix(to_lab(rgb(RAMP[at])), to_lab(rgb(RAMP[at + 1])), t - at as f32))
}

/// Colour of a value from 0 (low) to 1 (high), on a light or a dark ground: lightness rises evenly all the way, so that the order is seen with any eyes and
/// in grey; the hue goes from violet through blue and green to yellow to tell more steps apart.
pub(crate) fn scale(t: f32, dark_ground: bool) -> Rgb {
    let low = if dark_ground { 0.38 } else { 0.27 };
    let (lightness, hue) = (low + 0.6 * t, (305.0 - 200.0 * t).to_radians());
    // As colourful as the screen can show at the darkest, the middle and the lightest.
    let chroma = 0.1 + 0.06 * (2.0 * t - 1.0).powi(2);
    from_lab([lightness, chroma * hue.cos(), chroma * hue.sin()])
}

/// Ottosson's OKLab: lightness, green-red, blue-yellow.
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

    /// What a person without one kind of cone sees (Machado, Oliveira and Fernandes 2009, severity 1).
    fn seen(color: Rgb, blindness: [[f32; 3]; 3]) -> Rgb {
        let linear = color.map(|v| v.powf(2.2));
        blindness.map(|row| row.iter().zip(linear).map(|(m, v)| m * v).sum::<f32>().clamp(0.0, 1.0).powf(1.0 / 2.2))
    }

    const NO_RED: [[f32; 3]; 3] =
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]];
    const NO_GREEN: [[f32; 3]; 3] =
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]];

    #[test]
    fn class_colors_stay_apart_also_for_the_color_blind() {
        for (a, &first) in CLASSES.iter().enumerate() {
            for (b, &second) in CLASSES.iter().enumerate().skip(a + 1) {
                let (x, y) = (rgb(first), rgb(second));
                assert!(distance(x, y) > 0.14, "{a} {b}: {}", distance(x, y));
                if b < 10 {
                    for blindness in [NO_RED, NO_GREEN] {
                        let apart = distance(seen(x, blindness), seen(y, blindness));
                        assert!(apart > 0.07, "{a} {b}: {apart}");
                    }
                }
            }
            assert!(distance(rgb(first), [1.0; 3]) > 0.2, "{a} against white");
        }
    }

    #[test]
    fn class_colors_stay_apart_on_a_dark_ground_too() {
        let colors: Vec<Rgb> = CLASSES.iter().map(|&hex| on_dark(rgb(hex))).collect();
        for (a, &first) in colors.iter().enumerate().take(10) {
            assert!(distance(first, rgb(0x16181d)) > 0.3, "{a} against the ground");
            for (b, &second) in colors.iter().enumerate().take(10).skip(a + 1) {
                assert!(distance(first, second) > 0.09, "{a} {b}: {}", distance(first, second));
            }
        }
    }

    #[test]
    fn the_ramp_only_gets_darker_and_in_even_steps() {
        let lightness: Vec<f32> = (0..=50).map(|t| to_lab(ramp(t as f32 / 50.0, false))[0]).collect();
        let steps: Vec<f32> = lightness.windows(2).map(|w| w[0] - w[1]).collect();
        assert!(steps.iter().all(|&s| s > 0.004 && s < 0.03), "{steps:?}");
        assert_eq!(ramp(0.25, true), ramp(0.75, false));
    }

    #[test]
    fn the_scale_only_gets_lighter_and_in_even_steps_for_all_eyes() {
        let steps = |blind: Option<[[f32; 3]; 3]>| {
            let value = |t: i32| scale(t as f32 / 20.0, false);
            let color = |t: i32| blind.map_or(value(t), |b| seen(value(t), b));
            (0..20).map(|t| to_lab(color(t + 1))[0] - to_lab(color(t))[0]).collect::<Vec<f32>>()
        };
        for blind in [None, Some(NO_RED), Some(NO_GREEN)] {
            assert!(steps(blind).iter().all(|&s| s > 0.008 && s < 0.06), "{:?}", steps(blind));
        }
        assert!(distance(scale(1.0, false), [1.0; 3]) > 0.15 && distance(scale(0.0, true), rgb(0x16181d)) > 0.15);
    }

    #[test]
    fn lab_and_back_is_the_same_color() {
        for &hex in &CLASSES {
            let back = from_lab(to_lab(rgb(hex)));
            assert!(back.iter().zip(rgb(hex)).all(|(a, b)| (a - b).abs() < 1e-3));
        }
    }
}
