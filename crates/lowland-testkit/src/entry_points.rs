//! Everything that reads bytes from outside, one function per fuzz target.
//!
//! The targets in `fuzz/` call these functions with generated inputs; a test calls them with the inputs in `fuzz/corpus`. Each
//! returns whether the input was accepted. An input may be rejected; it must not cause a panic or a large allocation.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::LazyLock;

use lowland::pipeline::Pipeline;
use lowland::registry::{METHODS, MethodInfo};
use lowland::run::{Archive, ArchiveKind};
use lowland::{Data, FitOptions, MemoryBudget, Model, Seed};
use lowland_io::{FileFormat, Missing, ReadOptions, labels_of_rows, read_graph, read_map, read_memory};

use crate::fixtures::clouds;

/// A function that takes untrusted bytes.
pub struct EntryPoint {
    /// Name of the fuzz target and of the folder of its inputs.
    pub name: &'static str,
    /// Returns whether the input was accepted.
    pub run: fn(&[u8]) -> bool,
}

macro_rules! entry_points {
    ($($name:ident => $run:expr),* $(,)?) => {
        /// All entry points.
        pub const ENTRY_POINTS: &[EntryPoint] = &[$(EntryPoint { name: stringify!($name), run: $run }),*];
    };
}

entry_points! {
    csv => |bytes| read_format(FileFormat::Csv, bytes),
    tsv => |bytes| read_format(FileFormat::Tsv, bytes),
    npy => |bytes| read_format(FileFormat::Npy, bytes),
    npz => |bytes| read_format(FileFormat::Npz, bytes),
    parquet => |bytes| read_format(FileFormat::Parquet, bytes),
    arrow => |bytes| read_format(FileFormat::Arrow, bytes),
    idx => |bytes| read_format(FileFormat::Idx, bytes),
    word2vec => |bytes| read_format(FileFormat::Word2vec, bytes),
    vectors => |bytes| read_format(FileFormat::Vectors, bytes),
    h5ad => |bytes| read_format(FileFormat::H5ad, bytes),
    text => |bytes| read_format(FileFormat::Text, bytes),
    graph => |bytes| read_graph(&file("graph.npz", bytes)).is_ok(),
    map => |bytes| read_map(&file("map.csv", bytes)).is_ok(),
    labels => |bytes| labels_of_rows(&file("labels.txt", bytes), 3).is_ok(),
    model => load_model,
    checkpoint => resume,
    command_line => parse_arguments,
    live_request => |bytes| std::str::from_utf8(bytes).is_ok_and(lowland_cli::fuzzing::live_request),
}

/// Returns the entry point with this name.
pub fn entry_point(name: &str) -> &'static EntryPoint {
    ENTRY_POINTS.iter().find(|entry| entry.name == name).unwrap_or_else(|| panic!("no entry point {name}"))
}

/// Memory that reading may use: inputs are small, so that this is plenty.
const MAX_BYTES: u64 = 1 << 22;

/// Reads with the default options, and with as many others as the format has.
fn read_format(format: FileFormat, bytes: &[u8]) -> bool {
    let plain =
        ReadOptions { format: Some(format), memory: MemoryBudget::new(Some(MAX_BYTES)), ..ReadOptions::default() };
    let named = ReadOptions {
        label_column: Some("kind".into()),
        id_column: Some("name".into()),
        missing: Missing::Drop,
        max_rows: Some(4),
        ..plain.clone()
    };
    let read = |options: &ReadOptions| read_memory("input".as_ref(), bytes.to_vec(), options).is_ok();
    // Both are read: a file can be good without names only, or with them only.
    read(&plain) | read(&named)
}

/// Writes the input to a file in memory, where there is such a folder: some formats are read from files only.
fn file(name: &str, bytes: &[u8]) -> PathBuf {
    static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
        let memory = PathBuf::from("/dev/shm");
        let parent = if memory.is_dir() { memory } else { std::env::temp_dir() };
        let folder = parent.join(format!("lowland-entry-points-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a writable folder");
        folder
    });
    let path = FOLDER.join(name);
    std::fs::write(&path, bytes).expect("a writable file");
    path
}

/// Removes the files that the entry points wrote.
pub fn clean_up() {
    let _ = std::fs::remove_dir_all(file("last", b"").parent().expect("a folder"));
}

/// Bytes of an archive without their checksum: with it, almost every change would be noticed before it is looked at.
pub fn without_checksum(archive: &[u8]) -> &[u8] {
    &archive[..archive.len() - 8]
}

fn with_checksum(input: &[u8]) -> Vec<u8> {
    [input, &twox_hash::XxHash3_64::oneshot(input).to_le_bytes()].concat()
}

/// Reads a model and does with it what the programs do.
fn load_model(input: &[u8]) -> bool {
    let Ok(model) = Model::from_bytes(&with_checksum(input)) else { return false };
    let again = Model::from_bytes(&model.to_bytes()).expect("a model that was read can be written and read again");
    assert_eq!(again.embedding().rows(), model.embedding().rows());
    let _ = (model.std(), model.covariances());
    let columns = model.n_features();
    if columns > 100 {
        return true;
    }
    let new = match model.kind() {
        "text" => Data::Text(vec!["acgt".into(), String::new()].into()),
        _ => match Data::dense((0..2 * columns).map(|i| (i as f32).sin()).collect(), columns) {
            Ok(data) => data,
            Err(_) => return true,
        },
    };
    let _ = model.transform(&new);
    let _ = model.inverse_transform(model.embedding().points());
    if model.samples_memory(1) < MAX_BYTES {
        let _ = model.samples(1, Seed(1));
    }
    true
}

/// The data of the checkpoints.
pub fn training_data() -> Data {
    clouds(2, 6, 3, 2.0, 1)
}

/// The methods with their parameters in models and checkpoints of the corpus: as few iterations as have a checkpoint.
pub fn quick_methods() -> Vec<(&'static MethodInfo, Vec<(&'static str, &'static str)>)> {
    let quick = [("max_iter", "3"), ("n_neighbors", "4"), ("perplexity", "3"), ("inducing", "4"), ("starts", "1")];
    let own = |info: &'static MethodInfo| {
        let known: Vec<&str> = info.params().iter().map(|spec| spec.name).collect();
        (info, quick.into_iter().filter(|(name, _)| known.contains(name)).collect())
    };
    METHODS.iter().map(own).collect()
}

/// Continues a run from a checkpoint. Its parameters must be those of the corpus: others can ask for any amount of work.
fn resume(input: &[u8]) -> bool {
    let Ok(archive) = Archive::from_bytes(&with_checksum(input), ArchiveKind::Checkpoint) else { return false };
    let Ok(pipeline) = Pipeline::load(&archive) else { return false };
    let Some((info, values)) = quick_methods().into_iter().find(|(info, _)| info.name == pipeline.method.name()) else {
        return false;
    };
    let quick = info.parse(&values).expect("valid parameters");
    let (method, preprocessing) = (quick.method, Default::default());
    let quick = Pipeline {
        method,
        landmarks: None,
        fixed: None,
        anchored: None,
        has_target: false,
        preprocessing,
        seed: Seed(1),
    };
    if quick.values() != pipeline.values() {
        return false;
    }
    let options = FitOptions { seed: quick.seed, resume: Some(&archive), ..FitOptions::default() };
    lowland::fit::fit(quick.method, &training_data(), options).is_ok()
}

/// Parses arguments, one per line.
fn parse_arguments(input: &[u8]) -> bool {
    let arguments: Vec<OsString> = std::iter::once(OsString::from("lowland"))
        .chain(input.split(|&byte| byte == b'\n').filter(|argument| !argument.is_empty()).map(argument))
        .collect();
    lowland_cli::fuzzing::command_line(&arguments)
}

/// An argument of any bytes, where the system has such arguments.
fn argument(bytes: &[u8]) -> OsString {
    #[cfg(unix)]
    return std::os::unix::ffi::OsStringExt::from_vec(bytes.to_vec());
    #[cfg(not(unix))]
    return String::from_utf8_lossy(bytes).into_owned().into();
}
