//! Colors in sRGB and in OKLab.

/// Red, green and blue from 0 to 1, in sRGB.
pub(crate) type Rgb = [f32; 3];

/// Converts `0xrrggbb`.
pub(crate) fn rgb(hex: u32) -> Rgb {
    [16, 8, 0].map(|shift| ((hex >> shift) & 255) as f32 / 255.0)
}

/// Returns a color with another lightness, from 0 to 1.
pub(crate) fn with_lightness(color: Rgb, lightness: impl Fn(f32) -> f32) -> Rgb {
    let [l, a, b] = to_lab(color);
    from_lab([lightness(l), a, b])
}

/// Interpolates linearly from `a` to `b`.
pub(crate) fn mix(a: Rgb, b: Rgb, t: f32) -> Rgb {
    std::array::from_fn(|c| a[c] + (b[c] - a[c]) * t)
}

/// Whether a background needs light text.
pub(crate) fn is_dark(background: Rgb) -> bool {
    to_lab(background)[0] < 0.6
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

/// Converts from OKLab; colors outside of sRGB are clipped.
pub(crate) fn from_lab(lab: [f32; 3]) -> Rgb {
    linear_from_lab(lab).map(|v| {
        let v = v.clamp(0.0, 1.0);
        if v <= 0.003_130_8 { 12.92 * v } else { 1.055 * v.powf(1.0 / 2.4) - 0.055 }
    })
}

/// Returns the color with a lightness, a hue in degrees, and the largest chroma up to the given one that sRGB has there. Clipping would
/// change the lightness and the hue as well.
pub(crate) fn from_polar(lightness: f32, chroma: f32, hue: f32) -> Rgb {
    let (sin, cos) = hue.to_radians().sin_cos();
    let lab = |chroma: f32| [lightness, chroma * cos, chroma * sin];
    let is_displayable = |chroma: f32| linear_from_lab(lab(chroma)).iter().all(|v| (-1e-4..=1.0001).contains(v));
    if is_displayable(chroma) {
        return from_lab(lab(chroma));
    }
    let (mut low, mut high) = (0.0, chroma);
    for _ in 0..16 {
        let middle = 0.5 * (low + high);
        if is_displayable(middle) { low = middle } else { high = middle }
    }
    from_lab(lab(low))
}

/// Converts from OKLab to linear light, outside of 0 to 1 for colors that sRGB does not have.
fn linear_from_lab([lightness, a, b]: [f32; 3]) -> [f32; 3] {
    let l = (lightness + 0.396_337_78 * a + 0.215_803_76 * b).powi(3);
    let m = (lightness - 0.105_561_346 * a - 0.063_854_17 * b).powi(3);
    let s = (lightness - 0.089_484_18 * a - 1.291_485_5 * b).powi(3);
    [
        4.076_741_7 * l - 3.307_711_6 * m + 0.230_969_94 * s,
        -1.268_438 * l + 2.609_757_4 * m - 0.341_319_38 * s,
        -0.004_196_086_3 * l - 0.703_418_6 * m + 1.707_614_7 * s,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conversion_to_oklab_and_back_is_the_identity() {
        for hex in [0x348ff9, 0xeeb32a, 0x000000, 0xffffff, 0x7541b8] {
            let back = from_lab(to_lab(rgb(hex)));
            assert!(back.iter().zip(rgb(hex)).all(|(a, b)| (a - b).abs() < 1e-3));
        }
    }

    #[test]
    fn colors_that_srgb_does_not_have_become_paler_only() {
        for hue in [0.0, 90.0, 180.0, 255.0, 330.0] {
            let [lightness, a, b] = to_lab(from_polar(0.7, 0.9, hue));
            assert!((lightness - 0.7).abs() < 2e-3 && a.hypot(b) < 0.35, "{lightness}");
            let turned = (b.atan2(a).to_degrees() - hue).rem_euclid(360.0);
            assert!(turned.min(360.0 - turned) < 0.5, "{hue}: {turned}");
        }
        assert_eq!(
            from_polar(0.7, 0.05, 90.0),
            from_lab([0.7, 0.05 * 90f32.to_radians().cos(), 0.05 * 90f32.to_radians().sin()])
        );
    }
}
