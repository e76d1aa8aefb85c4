//! Writes the first inputs of the fuzz targets to `fuzz/corpus`; inputs that are there already stay.
//!
//! `cargo run -p lowland-testkit --example write_fuzz_corpus` after a change of a file format or of the models.

use std::error::Error;
use std::fs;
use std::ops::ControlFlow;
use std::path::Path;

use lowland::run::Event;
use lowland::{FitOptions, Seed};
use lowland_io::FileFormat;
use lowland_testkit::entry_points::{quick_methods, training_data, without_checksum};

/// Files that are much larger than others of their format.
const LARGE: [&str; 2] = ["csr.h5ad", "csc.h5ad"];

/// Inputs of formats that no other program writes: target, name, content.
const WRITTEN_HERE: &[(&str, &str, &[u8])] = &[
    ("word2vec", "two-words", b"2 2\nant \x00\x00\x80\x3f\x00\x00\x00\x40\nbee \x00\x00\x00\x00\x00\x00\x80\xbf\n"),
    ("vectors", "with-count", b"3 2\nant 1 2\nbee 0.5 -1e-3\ncat 3 4\n"),
    ("vectors", "without-count", "dög 1 2 3\nelk 4 5 6\n".as_bytes()),
    ("text", "lines", "acgt\n\ngattaca\r\ndög\n".as_bytes()),
    ("labels", "lines", b"a\nb\na\n"),
    ("labels", "csv", b"kind\n1\n2\n1\n"),
    ("map", "csv", b"id,projection_x,projection_y,label,std,cov_x_x,cov_x_y,cov_y_y\nr1,0,1.5,a,0.1,1,0,1\nr2,2,-3e2,b,0.2,1,0.5,2\n"),
    ("map", "tsv", b"projection_x\tprojection_y\n1\t2\n3\t4\n"),
    ("csv", "quotes", b"name,a,kind\n\"fox, red\",1,\"b\"\"c\"\nelk,-2.5e3,NA\n"),
    ("csv", "missing", b"1;NA;3\n4;5;nan\n;;\n"),
    (
        "command_line",
        "embed",
        b"embed\ndigits\n--method\ntsne\n--perplexity\n50\n--max-iter\n10\n--out\nmap.png\n--seed\n3\n",
    ),
    (
        "command_line",
        "compare",
        b"compare\na.csv\n--methods\nlvm,tsne,pca\n--out\nc.pdf\n--max-memory\n8GiB\n--threads=2\n",
    ),
    (
        "command_line",
        "plot",
        b"plot\nm.csv\n--width\n800\n--images=8x8\n--background\n202830\n--certain\n0.9\n-o\nm.svg\n",
    ),
    ("command_line", "select", b"select\nx.npy\n--neighbors\n3,5,9\n--label-column\nkind\n"),
    ("command_line", "not-utf-8", b"embed\n\xff\xfe.csv\n--images\n8x\xff\n"),
    ("live_request", "page", b"GET /{token}/ HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n"),
    ("live_request", "events", b"GET /{token}/events HTTP/1.1\r\nHost: localhost:{port}\r\nAccept: */*\r\n\r\n"),
    (
        "live_request",
        "stop",
        b"POST /{token}/stop HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nOrigin: http://127.0.0.1:{port}\r\n\r\n",
    ),
    ("live_request", "foreign", b"GET /{token}/ HTTP/1.0\r\nHost: evil.example\r\nOrigin: null\r\n\r\n"),
];

fn main() -> Result<(), Box<dyn Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let write = |target: &str, name: &str, bytes: &[u8]| -> Result<(), Box<dyn Error>> {
        let folder = root.join("fuzz/corpus").join(target);
        fs::create_dir_all(&folder)?;
        Ok(fs::write(folder.join(name), bytes)?)
    };
    for &(target, name, bytes) in WRITTEN_HERE {
        write(target, name, bytes)?;
    }
    for entry in fs::read_dir(root.join("crates/lowland-io/tests/data"))? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).ok_or("a name in UTF-8")?;
        let Some(format) = FileFormat::guess(&path).filter(|_| !LARGE.contains(&name)) else { continue };
        let target = if name == "neighbors.npz" { "graph" } else { format.name() };
        write(target, name, &fs::read(&path)?)?;
    }
    for (info, values) in quick_methods() {
        let mut saved = None;
        let mut observer = |event: &Event| {
            if let Event::Step { step, checkpoint, .. } = event
                && step.iteration <= 2
            {
                saved = Some(checkpoint());
            }
            ControlFlow::Continue(())
        };
        let options = FitOptions { seed: Seed(1), observer: Some(&mut observer), ..FitOptions::default() };
        let model = lowland::fit::fit(info.parse(&values)?.method, &training_data(), options)?;
        write("model", info.name, without_checksum(&model.to_bytes()))?;
        if let Some(checkpoint) = saved {
            write("checkpoint", info.name, without_checksum(&checkpoint.to_bytes()))?;
        }
    }
    Ok(())
}
