//! `--max-memory` holds from reading to writing, and the address space that a shell allows is respected.

mod support;

use std::io::Write;

use support::{bad, folder, good, lowland, write};

/// A limit that the program itself fits into, but little more.
const LIMIT: [&str; 2] = ["--max-memory", "64MiB"];

/// Writes 4,000 rows of 4,000 zeros as compressed text: a file of some 100 kB.
fn write_zeros(path: &std::path::Path) {
    let mut file = flate2::write::GzEncoder::new(std::fs::File::create(path).unwrap(), flate2::Compression::fast());
    let row = [&b"0,".repeat(3_999)[..], b"0\n"].concat();
    (0..4_000).for_each(|_| file.write_all(&row).unwrap());
    file.finish().unwrap();
}

#[test]
fn a_small_file_that_expands_beyond_the_limit_is_refused() {
    let folder = folder();
    write_zeros(&folder.path().join("zeros.csv.gz"));
    let error = bad(folder.path(), 4, &[&["embed", "zeros.csv.gz", "--method", "pca"], &LIMIT[..]].concat());
    assert!(error.contains("raise --max-memory"), "{error}");
}

/// `/dev/zero` has no end. As data, labels, neighbors, model or checkpoint it ends in an error at the limit.
#[cfg(target_os = "linux")]
#[test]
fn a_stream_without_an_end_is_refused_wherever_a_file_is_read() {
    let folder = folder();
    let at = folder.path();
    let digits = ["embed", "digits", "--max-rows", "60", "--method", "spectral", "--no-quality"];
    write(at, "rows.csv", &"1,2\n3,5\n4,4\n9,1\n".repeat(5));
    let rows = ["embed", "rows.csv", "--method", "pca", "--no-quality"];
    for arguments in [
        vec!["embed", "/dev/zero", "--format", "csv", "--method", "pca"],
        [&rows[..], &["--labels", "/dev/zero"]].concat(),
        [&digits[..], &["--neighbors", "/dev/zero"]].concat(),
        [&digits[..], &["--resume", "/dev/zero"]].concat(),
        vec!["transform", "/dev/zero", "digits"],
        vec!["quality", "digits", "/dev/zero"],
    ] {
        let arguments = [&arguments[..], &LIMIT].concat();
        let error = bad(at, 4, &arguments);
        assert!(error.contains("raise --max-memory"), "{arguments:?}: {error}");
    }
}

#[cfg(unix)]
#[test]
fn a_named_pipe_is_read_up_to_the_limit() {
    let folder = folder();
    let at = folder.path();
    assert!(std::process::Command::new("mkfifo").arg(at.join("pipe.csv")).status().unwrap().success());
    let send = |rows: usize| {
        let path = at.join("pipe.csv");
        std::thread::spawn(move || {
            let mut pipe = std::fs::OpenOptions::new().write(true).open(path).unwrap();
            // The reader may stop early.
            for i in 0..rows {
                if writeln!(pipe, "{i},{},{}", i * i % 7, i % 3).is_err() {
                    return;
                }
            }
        })
    };
    let embed = [&["embed", "pipe.csv", "--method", "pca", "--no-quality", "--quiet"], &LIMIT[..]].concat();
    let sender = send(100);
    assert_eq!(good(at, &embed).lines().count(), 101);
    sender.join().unwrap();
    let sender = send(20_000_000);
    assert!(bad(at, 4, &embed).contains("size is not known beforehand"));
    sender.join().unwrap();
}

#[test]
fn scores_are_left_out_and_pages_refused_if_they_do_not_fit() {
    let folder = folder();
    let at = folder.path();
    let base = ["embed", "swiss-roll", "--n-points", "60000", "--method", "pca"];
    let output = lowland(at, &[&base[..], &["--max-memory", "40MiB", "--out", "map.npy"]].concat());
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && words.contains("the scores are omitted: scoring needs about"), "{words}");
    let words = bad(at, 4, &[&base[..], &["--max-memory", "40MiB", "--out", "map.html"]].concat());
    assert!(words.contains("the page needs about") && words.contains("Raise --max-memory"), "{words}");
    assert!(!at.join("map.csv").exists(), "refused before the fit");
}

/// Each thread reserves 64 MiB and more for products of matrices: eight threads used to abort where one worked.
#[cfg(target_os = "linux")]
#[test]
fn many_threads_work_in_a_small_address_space() {
    let folder = folder();
    let program = assert_cmd::cargo::cargo_bin("lowland");
    let run = |kilobytes: u64, arguments: &str| {
        let script = format!("ulimit -v {kilobytes}; exec '{}' {arguments}", program.display());
        std::process::Command::new("sh").args(["-c", &script]).current_dir(folder.path()).output().unwrap()
    };
    let embed = "embed digits --max-rows 600 --method lle --threads 12 --no-quality";
    let output = run(700_000, embed);
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{:?} {words}", output.status);
    assert!(words.contains("of 12 threads: the address space is limited to"), "{words}");
    let unlimited = std::process::Command::new(&program).args(embed.split(' ')).output().unwrap();
    assert!(unlimited.stdout == output.stdout, "the map does not depend on the number of threads");
}
