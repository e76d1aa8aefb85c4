//! Minimal parsers of XML and PDF that check whether a file is well-formed.

use std::collections::BTreeMap;
use std::collections::HashMap;
use std::io::Read;

/// An XML element.
pub(super) struct XmlElement {
    pub name: String,
    pub attributes: BTreeMap<String, String>,
    pub text: String,
}

/// Parses an XML document into its elements in document order; the error describes the first problem.
pub(super) fn xml(document: &str) -> Result<Vec<XmlElement>, String> {
    let (mut elements, mut open): (Vec<XmlElement>, Vec<usize>) = (Vec::new(), Vec::new());
    let mut rest = document;
    while let Some(at) = rest.find('<') {
        let text = unescape(&rest[..at])?;
        match open.last() {
            Some(&inside) => elements[inside].text.push_str(&text),
            None if text.trim().is_empty() => {}
            None => return Err(format!("text outside of the root: {text:?}")),
        }
        let end = rest[at..].find('>').ok_or("a tag without an end")? + at;
        let tag = &rest[at + 1..end];
        rest = &rest[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            let closed = open.pop().ok_or("an end tag without a start tag")?;
            if elements[closed].name != name {
                return Err(format!("<{}> is closed by </{name}>", elements[closed].name));
            }
            continue;
        }
        let (tag, empty) = tag.strip_suffix('/').map_or((tag, false), |tag| (tag, true));
        let (name, attributes) = tag.split_once(' ').unwrap_or((tag, ""));
        if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphanumeric()) {
            return Err(format!("a tag called {name:?}"));
        }
        if open.is_empty() && !elements.is_empty() {
            return Err("two roots".into());
        }
        elements.push(XmlElement { name: name.into(), attributes: parse_attributes(attributes)?, text: String::new() });
        if !empty {
            open.push(elements.len() - 1);
        }
    }
    if !open.is_empty() || !rest.trim().is_empty() {
        return Err("an unclosed element".into());
    }
    Ok(elements)
}

fn parse_attributes(mut text: &str) -> Result<BTreeMap<String, String>, String> {
    let mut found = BTreeMap::new();
    while !text.trim().is_empty() {
        let (name, rest) = text.trim_start().split_once("=\"").ok_or(format!("not an attribute: {text:?}"))?;
        let (value, rest) = rest.split_once('"').ok_or("a quote is not closed")?;
        if value.contains('<') || found.insert(name.to_string(), unescape(value)?).is_some() {
            return Err(format!("{name} twice, or with a tag in it"));
        }
        text = rest;
    }
    Ok(found)
}

fn unescape(text: &str) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        let (name, after) = rest[at + 1..].split_once(';').ok_or("an incomplete entity")?;
        out.push(match name {
            "amp" => '&',
            "lt" => '<',
            "gt" => '>',
            "quot" => '"',
            "#39" => '\'',
            _ => return Err(format!("&{name};")),
        });
        rest = after;
    }
    out.push_str(rest);
    if let Some(bad) = out.chars().find(|&c| c.is_control() && c != '\n' || matches!(c, '\u{fffe}' | '\u{ffff}')) {
        return Err(format!("{bad:?} is not allowed in XML"));
    }
    Ok(out)
}

/// Parses the objects of a PDF file into their dictionaries and decompressed streams.
pub(super) fn pdf(file: &[u8]) -> Result<Vec<(String, Vec<u8>)>, String> {
    let latin = |bytes: &[u8]| bytes.iter().map(|&b| char::from(b)).collect::<String>();
    let text = latin(file);
    if !text.starts_with("%PDF-1.") || !text.ends_with("%%EOF\n") {
        return Err("the header or the trailerer".into());
    }
    let start = text.rfind("startxref\n").ok_or("no startxref")? + 10;
    let table: usize = text[start..].lines().next().unwrap_or("").parse().map_err(|_| "no offset")?;
    let table = &file[table..];
    let lines: Vec<String> = latin(table).lines().map(String::from).collect();
    let count: usize = lines[1].strip_prefix("0 ").ok_or("no table")?.parse().map_err(|_| "no count")?;
    if lines[0] != "xref" || table[lines[0].len() + lines[1].len() + 2..].len() < 20 * count {
        return Err("the cross-reference table".into());
    }
    let mut objects = Vec::new();
    for (name, line) in lines[3..2 + count].iter().enumerate() {
        if line.len() != 19 || !line.ends_with(" 00000 n ") {
            return Err(format!("entry {line:?}"));
        }
        let at: usize = line[..10].parse().map_err(|_| "no number")?;
        let head = format!("{} 0 obj\n", name + 1);
        let object =
            file[at..].strip_prefix(head.as_bytes()).ok_or(format!("object {} is not at its offset", name + 1))?;
        let text = latin(&object[..object.len().min(4000)]);
        let end = text.find("\nstream\n").unwrap_or(usize::MAX).min(text.find("\nendobj\n").unwrap_or(usize::MAX));
        let dictionary = text.get(..end).ok_or("an unclosed object")?.to_string();
        let mut stream = Vec::new();
        if text[end..].starts_with("\nstream\n") {
            let length =
                dictionary.split("/Length ").nth(1).and_then(|rest| rest.split(' ').next()).ok_or("no length")?;
            let length: usize = length.parse().map_err(|_| "no length")?;
            let compressed = &object[end + 8..end + 8 + length];
            if !object[end + 8 + length..].starts_with(b"\nendstream\nendobj\n") {
                return Err("a length is wrong".into());
            }
            flate2::read::ZlibDecoder::new(compressed).read_to_end(&mut stream).map_err(|error| error.to_string())?;
        }
        objects.push((dictionary, stream));
    }
    Ok(objects)
}

/// Checks the operators of a page: all are known, have the right number of operands, and save and restore states in pairs.
pub(super) fn page(content: &str) -> Result<(), String> {
    let (mut saved, mut in_text, mut before) = (0i32, false, Vec::new());
    for word in content.split_whitespace() {
        let needed = match word {
            "cm" | "c" | "Tm" => 6,
            "re" => 4,
            "rg" | "RG" => 3,
            "m" | "l" | "Tf" => 2,
            "J" | "j" | "w" | "gs" | "Do" | "Tr" | "TJ" | "Ts" | "BMC" | "BDC" => 1,
            "q" | "Q" | "S" | "f" | "W" | "n" | "BT" | "ET" | "EMC" => 0,
            _ => {
                before.push(word);
                continue;
            }
        };
        if before.len() != needed {
            return Err(format!("{word} after {before:?}"));
        }
        let number = |word: &&str| word.parse::<f32>().is_ok_and(f32::is_finite) || word.starts_with(['/', '[']);
        if !before.iter().all(number) {
            return Err(format!("{before:?} before {word}"));
        }
        saved += i32::from(word == "q") - i32::from(word == "Q");
        let (begins, ends) = (word == "BT", word == "ET");
        if saved < 0 || begins && in_text || ends && !in_text {
            return Err(format!("{word} out of place"));
        }
        in_text = begins || in_text && !ends;
        before.clear();
    }
    if saved == 0 && !in_text && before.is_empty() { Ok(()) } else { Err("an unclosed state or text object".into()) }
}

/// Returns the lines of text of a page, as a reader would copy them.
pub(super) fn pdf_texts(objects: &[(String, Vec<u8>)]) -> Vec<String> {
    let reference = |dictionary: &str, key: &str| -> usize {
        let rest = dictionary.split(&format!("{key} ")).nth(1).unwrap_or_else(|| panic!("{key} in {dictionary}"));
        rest.split(' ').next().unwrap().parse().unwrap()
    };
    // From numbers of glyphs to text, by font.
    let table = |font: usize| -> HashMap<u16, String> {
        let object = &objects[reference(&objects[2].0, &format!("/F{font}")) - 1].0;
        let table = String::from_utf8(objects[reference(object, "/ToUnicode") - 1].1.clone()).unwrap();
        let entries = table.lines().filter(|line| line.starts_with('<')).map(|line| {
            let (number, units) = line[1..line.len() - 1].split_once("> <").unwrap();
            let units: Vec<u16> =
                (0..units.len() / 4).map(|at| u16::from_str_radix(&units[4 * at..4 * at + 4], 16).unwrap()).collect();
            (u16::from_str_radix(number, 16).unwrap(), String::from_utf16(&units).unwrap())
        });
        entries.collect()
    };
    let content = String::from_utf8(objects[3].1.clone()).unwrap();
    let mut tables: HashMap<usize, HashMap<u16, String>> = HashMap::new();
    let lines = content.split("BT 0 Tr ").skip(1).map(|rest| {
        let (mut font, mut line) = (0, String::new());
        for word in rest.split("ET").next().unwrap().split_whitespace() {
            if let Some(name) = word.strip_prefix("/F") {
                font = name.parse().unwrap();
            }
            let known = tables.entry(font).or_insert_with(|| table(font));
            for glyph in word.split('<').skip(1).filter(|_| word.starts_with('[')) {
                let number = u16::from_str_radix(&glyph[..4], 16).unwrap();
                line.push_str(known.get(&number).map_or("", String::as_str));
            }
        }
        line
    });
    lines.collect()
}
