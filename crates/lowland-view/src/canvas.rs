//! An image in memory, and its encoding as PNG.

use crate::color::Rgb;
use crate::error::{PictureError, Result};
use crate::scene::Rect;

/// Pixels in row-major order from the top.
pub(crate) struct Canvas {
    pub width: usize,
    pub height: usize,
    pub pixels: Vec<Rgb>,
}

impl Canvas {
    pub fn new(width: usize, height: usize, background: Rgb) -> Self {
        Self { width, height, pixels: vec![background; width * height] }
    }

    /// Blends a color into a pixel; pixels outside of the canvas are ignored.
    pub fn blend(&mut self, x: i64, y: i64, color: Rgb, opacity: f32) {
        if x >= 0 && y >= 0 && x < self.width as i64 && y < self.height as i64 {
            let pixel = &mut self.pixels[y as usize * self.width + x as usize];
            pixel.iter_mut().zip(color).for_each(|(v, c)| *v += (c - *v) * opacity);
        }
    }

    /// Blends a color into the pixels of a rectangle, with an opacity that is a function of the pixel's center.
    pub fn fill(&mut self, rect: Rect, color: Rgb, opacity: impl Fn(f32, f32) -> f32) {
        let range = |low: f32, high: f32, size: usize| {
            (low.floor().max(0.0) as usize).min(size)..(high.ceil().max(0.0) as usize).min(size)
        };
        for y in range(rect.top, rect.bottom, self.height) {
            for x in range(rect.left, rect.right, self.width) {
                let opacity = opacity(x as f32 + 0.5, y as f32 + 0.5);
                if opacity > 0.0 {
                    self.blend(x as i64, y as i64, color, opacity.min(1.0));
                }
            }
        }
    }

    /// Returns the pixels as bytes.
    pub fn to_bytes(&self) -> Vec<[u8; 3]> {
        self.pixels.iter().map(|pixel| pixel.map(|v| (v.clamp(0.0, 1.0) * 255.0 + 0.5) as u8)).collect()
    }

    /// Encodes the canvas as PNG, with its pixels per inch if they are known.
    pub fn to_png(&self, dpi: Option<f32>) -> Result<Vec<u8>> {
        encode_png(self.width, &self.to_bytes(), dpi)
    }
}

/// Encodes pixels in row-major order as PNG.
pub(crate) fn encode_png(width: usize, pixels: &[[u8; 3]], dpi: Option<f32>) -> Result<Vec<u8>> {
    let encode = || -> std::result::Result<Vec<u8>, png::EncodingError> {
        let mut file = Vec::new();
        let mut encoder = png::Encoder::new(&mut file, width as u32, (pixels.len() / width) as u32);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.set_compression(png::Compression::Fast);
        encoder.set_pixel_dims(dpi.map(|dpi| {
            let per_meter = (dpi / 0.0254).round() as u32;
            png::PixelDimensions { xppu: per_meter, yppu: per_meter, unit: png::Unit::Meter }
        }));
        let mut writer = encoder.write_header()?;
        writer.write_image_data(pixels.as_flattened())?;
        writer.finish()?;
        Ok(file)
    };
    encode().map_err(|error| PictureError::Encoding { reason: error.to_string() })
}
