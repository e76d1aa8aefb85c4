//! The Rust code on the pages of the documentation, as tests.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// Folder of the pages whose code is tested.
const PAGES: &str = "docs/methods";

const HEADER: &str = "\
//! The Rust code on the pages of the documentation. Written by `cargo xtask generate`; do not edit.

#![allow(unused_variables)]

/// Rows along a bent curve, with a little noise.
fn rows(numbers: std::ops::Range<u32>, columns: u32) -> Vec<f32> {
    let value = |row: u32, column: u32| {
        let noise = (row * 7919 + column * 104_729) % 1013;
        (row as f32 * 0.05 * (1.0 + column as f32 * 0.1)).sin() + noise as f32 * 1e-4
    };
    numbers.flat_map(|row| (0..columns).map(move |column| value(row, column))).collect()
}
";

/// Returns the source of the tests: one for each block.
pub fn tests() -> Result<String> {
    let mut paths: Vec<_> = fs::read_dir(PAGES)?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    paths.sort();
    let mut source = HEADER.to_string();
    for path in paths.iter().filter(|path| path.extension().is_some_and(|ending| ending == "md")) {
        let text = fs::read_to_string(path)?;
        for (number, block) in blocks(&text).enumerate() {
            source.push_str(&test(path, number, block).with_context(|| path.display().to_string())?);
        }
    }
    Ok(source)
}

/// The blocks of Rust on a page.
fn blocks(page: &str) -> impl Iterator<Item = &str> {
    page.split("\n```rust\n").skip(1).filter_map(|rest| rest.split("\n```").next())
}

fn test(path: &Path, number: usize, block: &str) -> Result<String> {
    let columns = block.split("Data::dense(values, ").nth(1).and_then(|rest| rest.split(')').next());
    let columns = columns.context("the block does not begin with Data::dense(values, COLUMNS)")?;
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().replace('-', "_");
    let suffix = if number == 0 { String::new() } else { format!("_{}", number + 1) };
    let lines: String =
        block.lines().map(|line| if line.is_empty() { "\n".into() } else { format!("    {line}\n") }).collect();
    Ok(format!(
        "\n#[rustfmt::skip]\n#[test]\nfn {stem}{suffix}() -> lowland::Result<()> {{\n    let values = rows(0..150, {columns});\n    let new = \
         Data::dense(rows(150..160, {columns}), {columns})?;\n{lines}    assert_eq!(placed.rows(), 10);\n    Ok(())\n}}\n"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_becomes_a_test() {
        let page = "# A\n\n```rust\nlet x = Data::dense(values, 3)?;\n```\n\n```sh\nls\n```\n\n```rust\nlet x = Data::dense(values, 4)?;\n```\n";
        let found: Vec<String> =
            blocks(page).enumerate().map(|(number, block)| test(Path::new("a.md"), number, block).unwrap()).collect();
        assert!(
            found[0].contains("fn a()") && found[0].contains("rows(0..150, 3)") && found[0].contains("    let x = ")
        );
        assert!(found[1].contains("fn a_2()") && found.len() == 2);
        assert!(test(Path::new("a.md"), 0, "let x = 1;").is_err());
    }
}
