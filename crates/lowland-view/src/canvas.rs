//! A picture in memory, and its file.

use lowland::{Error, Result};

use crate::color::Rgb;
use crate::scene::Rect;

/// Rows of pixels from the top.
pub(crate) struct Canvas {
    pub width: usize,
    pub height: usize,
    pub pixels: Vec<Rgb>,
}

impl Canvas {
    pub fn new(width: usize, height: usize, ground: Rgb) -> Self {
        Self { width, height, pixels: vec![ground; width * height] }
    }

    /// Covers part of a pixel; nothing outside the canvas.
    pub fn blend(&mut self, x: i64, y: i64, color: Rgb, cover: f32) {
        if x >= 0 && y >= 0 && x < self.width as i64 && y < self.height as i64 {
            let pixel = &mut self.pixels[y as usize * self.width + x as usize];
            pixel.iter_mut().zip(color).for_each(|(v, c)| *v += (c - *v) * cover);
        }
    }

    /// Covers each pixel of a box by a function of its centre.
    pub fn shade(&mut self, place: Rect, color: Rgb, cover: impl Fn(f32, f32) -> f32) {
        let range = |low: f32, high: f32, size: usize| {
            (low.floor().max(0.0) as usize).min(size)..(high.ceil().max(0.0) as usize).min(size)
        };
        for y in range(place.top, place.bottom, self.height) {
            for x in range(place.left, place.right, self.width) {
                let part = cover(x as f32 + 0.5, y as f32 + 0.5);
                if part > 0.0 {
                    self.blend(x as i64, y as i64, color, part.min(1.0));
                }
            }
        }
    }

    /// The pixels as bytes.
    pub fn bytes(&self) -> Vec<[u8; 3]> {
        self.pixels.iter().map(|pixel| pixel.map(|v| (v.clamp(0.0, 1.0) * 255.0 + 0.5) as u8)).collect()
    }

    /// The file.
    pub fn png(&self) -> Result<Vec<u8>> {
        png_file(self.width, &self.bytes())
    }
}

/// Rows of pixels as a PNG file.
pub(crate) fn png_file(width: usize, pixels: &[[u8; 3]]) -> Result<Vec<u8>> {
    let encode = || -> std::result::Result<Vec<u8>, png::EncodingError> {
        let mut file = Vec::new();
        let mut encoder = png::Encoder::new(&mut file, width as u32, (pixels.len() / width) as u32);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.set_compression(png::Compression::Fast);
        let mut writer = encoder.write_header()?;
        writer.write_image_data(pixels.as_flattened())?;
        writer.finish()?;
        Ok(file)
    };
    encode().map_err(|error| Error::Format { what: "picture", reason: error.to_string() })
}
