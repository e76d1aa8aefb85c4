//! Named sections of data in a page: grouped by byte significance, compressed with deflate, encoded in base64.

use std::io::Write;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use rayon::prelude::*;
use serde_json::Value;

/// Sections to be written to a page.
#[derive(Default)]
pub(super) struct Sections(Vec<(String, Vec<u8>)>);

impl Sections {
    /// Adds a section of bytes and returns its name.
    pub fn add(&mut self, name: impl Into<String>, bytes: Vec<u8>) -> String {
        let name = name.into();
        self.0.push((name.clone(), bytes));
        name
    }

    /// Adds little-endian numbers of `N` bytes: all first bytes, then all second bytes, and so on. The high bytes of consecutive numbers
    /// are similar, so that they compress well when they are adjacent.
    pub fn numbers<const N: usize>(&mut self, name: impl Into<String>, values: &[[u8; N]]) -> String {
        let planes = (0..N).flat_map(|byte| values.iter().map(move |value| value[byte]));
        self.add(name, planes.collect())
    }

    /// Adds strings as JSON.
    pub fn texts(&mut self, name: impl Into<String>, texts: &[String]) -> String {
        // Serializing strings cannot fail.
        self.add(name, serde_json::to_vec(texts).unwrap_or_default())
    }

    /// Writes the header and all sections as script elements that browsers do not execute.
    pub fn write(&self, header: &Value, html: &mut Vec<u8>) {
        html.extend_from_slice(b"<script type=\"application/json\" id=\"header\">");
        html.extend_from_slice(escape_json(&header.to_string()).as_bytes());
        html.extend_from_slice(b"</script>\n");
        let encoded: Vec<String> = self.0.par_iter().map(|(_, bytes)| base64(&deflate(bytes))).collect();
        for ((name, _), text) in self.0.iter().zip(encoded) {
            html.extend_from_slice(format!("<script type=\"text/plain\" id=\"{name}\">{text}</script>\n").as_bytes());
        }
    }
}

/// Escapes JSON so that it cannot end its script element.
fn escape_json(json: &str) -> String {
    json.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

fn deflate(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    // Writing to memory cannot fail.
    encoder.write_all(bytes).and_then(|()| encoder.finish()).unwrap_or_default()
}

/// Encodes bytes in base64 with padding (RFC 4648).
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
