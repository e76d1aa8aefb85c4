//! Named pieces of data in a page: bytes by significance, deflate, base64.

use std::io::Write;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use rayon::prelude::*;
use serde_json::Value;

/// Pieces of data on their way into a page.
#[derive(Default)]
pub(super) struct Sections(Vec<(String, Vec<u8>)>);

impl Sections {
    /// Bytes as they are.
    pub fn add(&mut self, name: impl Into<String>, bytes: Vec<u8>) -> String {
        let name = name.into();
        self.0.push((name.clone(), bytes));
        name
    }

    /// Numbers of `N` bytes, little end first: all first bytes, then all second bytes, and so on. The high bytes of
    /// neighbouring numbers are alike, which is what makes them small once they lie together.
    pub fn numbers<const N: usize>(&mut self, name: impl Into<String>, values: &[[u8; N]]) -> String {
        let planes = (0..N).flat_map(|byte| values.iter().map(move |value| value[byte]));
        self.add(name, planes.collect())
    }

    /// Strings, as JSON.
    pub fn texts(&mut self, name: impl Into<String>, texts: &[String]) -> String {
        // Strings always have a JSON form.
        self.add(name, serde_json::to_vec(texts).unwrap_or_default())
    }

    /// Writes the header and all sections as elements that no browser runs.
    pub fn write(&self, header: &Value, html: &mut Vec<u8>) {
        html.extend_from_slice(b"<script type=\"application/json\" id=\"header\">");
        html.extend_from_slice(escaped(&header.to_string()).as_bytes());
        html.extend_from_slice(b"</script>\n");
        let packed: Vec<String> = self.0.par_iter().map(|(_, bytes)| base64(&deflate(bytes))).collect();
        for ((name, _), text) in self.0.iter().zip(packed) {
            html.extend_from_slice(format!("<script type=\"text/plain\" id=\"{name}\">{text}</script>\n").as_bytes());
        }
    }
}

/// JSON in which nothing can end the element it stands in.
fn escaped(json: &str) -> String {
    json.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

fn deflate(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    // Memory takes everything.
    encoder.write_all(bytes).and_then(|()| encoder.finish()).unwrap_or_default()
}

/// RFC 4648, with padding.
pub fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or(0));
        let word = byte(0) << 16 | byte(1) << 8 | byte(2);
        for digit in 0..4 {
            let sextet = word >> (18 - 6 * digit) & 63;
            text.push(if digit <= chunk.len() { DIGITS[sextet as usize] as char } else { '=' });
        }
    }
    text
}
