//! Damaged files give a table or an error: no panic, no hang, no allocation beyond what the limit allows.

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::{Cursor, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use lowland::{MemoryBudget, Seed};
use lowland_io::{FileErrorKind, ReadOptions, read_graph, read_map, read_memory};
#[cfg(feature = "tables")]
use proptest::prelude::*;

/// Bytes held now, and the most held since the mark.
static LIVE: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);
/// The bytes are counted for the whole process, so the tests take turns.
static TURN: Mutex<()> = Mutex::new(());

fn grown(size: usize) {
    let live = LIVE.fetch_add(size, Ordering::Relaxed) + size;
    MOST.fetch_max(live, Ordering::Relaxed);
}

/// The most bytes that `work` held beyond what was held before it.
fn most_held<T>(work: impl FnOnce() -> T) -> (usize, T) {
    let before = LIVE.load(Ordering::Relaxed);
    MOST.store(before, Ordering::Relaxed);
    let made = work();
    (MOST.load(Ordering::Relaxed) - before, made)
}

struct CountingAllocator;

// SAFETY: everything is handed to the system allocator unchanged.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        grown(layout.size());
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        grown(layout.size());
        // SAFETY: the caller keeps the contract of `alloc_zeroed`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // While it moves, both may be held.
        grown(size);
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of `realloc`.
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static WATCHED: CountingAllocator = CountingAllocator;

/// The limit in the tests; vectors may double when they grow and are held twice meanwhile.
const LIMIT: u64 = 1 << 22;
const MOST_ALLOWED: usize = 3 * LIMIT as usize;

fn golden() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_none_or(|ending| ending != "py"));
    files.sort();
    files
}

/// Reads the bytes as a file of this name would be.
fn try_memory(name: &str, bytes: &[u8]) {
    let bare = ReadOptions { memory: MemoryBudget::new(Some(LIMIT)), ..Default::default() };
    let named = ReadOptions {
        label_column: Some("kind".into()),
        id_column: (!name.ends_with("h5ad")).then(|| "name".into()),
        missing: lowland_io::Missing::Drop,
        ..bare.clone()
    };
    for options in [bare, named] {
        let (most, _) = most_held(|| read_memory(name.as_ref(), bytes.to_vec(), &options));
        assert!(most <= MOST_ALLOWED, "{name}: {most} bytes held");
    }
}

/// Reads the bytes as a graph and as a map, which come from files only.
fn try_file(folder: &Path, name: &str, bytes: &[u8]) {
    let path = folder.join(name);
    std::fs::write(&path, bytes).unwrap();
    let _ = (read_graph(&path), read_map(&path));
}

/// Panics that were reported. Those inside the readers of others are caught and become errors, without a report.
static REPORTED: AtomicUsize = AtomicUsize::new(0);

/// Waits for the other tests, and counts the panics that are reported from now on.
fn take_turn() -> MutexGuard<'static, ()> {
    static INSTALL: Once = Once::new();
    INSTALL.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            REPORTED.fetch_add(1, Ordering::Relaxed);
            usual(info);
        }));
    });
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

#[test]
fn files_cut_short_or_with_bytes_changed_give_a_table_or_an_error() {
    let _turn = take_turn();
    let folder = tempfile::tempdir().unwrap();
    for path in golden() {
        let name = path.file_name().unwrap().to_str().unwrap();
        let whole = std::fs::read(&path).unwrap();
        // Every length of a small file, some hundred of a large one.
        for cut in (0..whole.len()).step_by(whole.len() / 300 + 1) {
            try_memory(name, &whole[..cut]);
        }
        for trial in 0..400 {
            let seed = Seed(7).stream(name).item(trial);
            let mut bytes = whole.clone();
            // One to four bytes change; extreme values as often as random ones.
            for change in 0..1 + seed.0 % 4 {
                let draw = seed.item(change as usize).0;
                let at = (draw >> 16) as usize % bytes.len();
                let choices = [0, 0xff, 0x7f, 0x80, (draw >> 8) as u8, bytes[at] ^ (1 << (draw & 7))];
                bytes[at] = choices[(draw & 0xff) as usize % 6];
            }
            try_memory(name, &bytes);
            if trial % 20 == 0 {
                try_file(folder.path(), name, &bytes);
            }
        }
    }
    assert_eq!(REPORTED.load(Ordering::Relaxed), 0, "a panic was reported");
}

#[cfg(feature = "tables")]
proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn arrow_files_with_any_words_changed_give_a_table_or_an_error(
        which in 0usize..6,
        changes in prop::collection::vec((any::<prop::sample::Index>(), prop_oneof![any::<i32>(), -9..9, Just(i32::MAX)]), 1..6),
        cut in prop::option::weighted(0.2, any::<prop::sample::Index>()),
    ) {
        let _turn = take_turn();
        let arrow = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "arrow" || ending == "feather");
        let files: Vec<PathBuf> = golden().into_iter().filter(arrow).collect();
        prop_assert_eq!(files.len(), 6);
        let mut bytes = std::fs::read(&files[which]).unwrap();
        for (index, value) in changes {
            // Lengths and offsets are aligned to four bytes.
            let at = index.index(bytes.len() / 4) * 4;
            bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        try_memory(files[which].file_name().unwrap().to_str().unwrap(), &bytes);
    }
}

/// Without a limit of its own, a file of a few kilobytes may take a gigabyte; what it takes depends on what it holds, not on
/// what it declares.
#[cfg(feature = "tables")]
#[test]
fn small_arrow_files_that_declare_large_buffers_take_little_memory() {
    let _turn = take_turn();
    for name in ["pandas.feather", "vectors_zstd.feather"] {
        let whole = std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)).unwrap();
        for at in (0..whole.len() - 8).step_by(8) {
            let mut bytes = whole.clone();
            bytes[at..at + 8].copy_from_slice(&(900i64 << 20).to_le_bytes());
            let (most, _) = most_held(|| read_memory(name.as_ref(), bytes, &ReadOptions::default()));
            assert!(most <= MOST_ALLOWED, "{name} with a size at {at}: {most} bytes held");
        }
    }
}

#[cfg(feature = "tables")]
#[test]
fn a_parquet_page_that_declares_two_gigabytes_is_an_error_before_they_are_allocated() {
    let _turn = take_turn();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("map.parquet");
    let map = lowland::Embedding::new(Seed(1).normals(400), 2).unwrap().into();
    lowland_io::write_map(&path, &map, &Default::default()).unwrap();
    let whole = std::fs::read(&path).unwrap();
    // After the magic word, the header of the first page: its type, then its unpacked size.
    assert_eq!((whole[4], whole[6]), (0x15, 0x15));
    let size = 7 + whole[7..].iter().position(|byte| byte & 0x80 == 0).unwrap() + 1;
    let bytes = [&whole[..7], &[0xfe, 0xff, 0xff, 0xff, 0x0f], &whole[size..]].concat();
    let (most, read) = most_held(|| read_memory("map.parquet".as_ref(), bytes, &ReadOptions::default()));
    let error = read.err().unwrap().to_string();
    assert!(error.contains("a page declares more than its bytes can hold"), "{error}");
    assert!(most <= MOST_ALLOWED, "{most} bytes held");
}

/// An archive of packed arrays of bytes, all zero: type, shape, number of bytes.
fn packed_npz(arrays: &[(&str, &str, &str, usize)]) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, kind, shape, size) in arrays {
        let header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}\n");
        zip.start_file(format!("{name}.npy"), zip::write::SimpleFileOptions::default()).unwrap();
        zip.write_all(b"\x93NUMPY\x01\x00").unwrap();
        zip.write_all(&(header.len() as u16).to_le_bytes()).unwrap();
        zip.write_all(header.as_bytes()).unwrap();
        zip.write_all(&vec![0; *size]).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    out.write_all(text).unwrap();
    out.finish().unwrap()
}

// Each is a valid file whose bytes, unpacked, stay within the limit; what is made of them would not.
#[test]
fn small_files_that_become_large_tables_are_refused_before_they_do() {
    let _turn = take_turn();
    let column = |label: bool, name: &str| ReadOptions {
        label_column: label.then(|| name.into()),
        id_column: (!label).then(|| name.into()),
        memory: MemoryBudget::new(Some(LIMIT)),
        ..Default::default()
    };
    let plain = || ReadOptions { memory: MemoryBudget::new(Some(LIMIT)), ..Default::default() };
    let distinct: String = (0..400_000).map(|i| format!("1,{i}\n")).collect();
    let bombs = [
        ("values.npz", packed_npz(&[("X", "|u1", "(3000000, 1)", 3_000_000)]), plain()),
        // The values would fit, the names would not.
        (
            "ids.npz",
            packed_npz(&[("X", "|u1", "(200000, 1)", 200_000), ("ids", "|S1", "(200000,)", 200_000)]),
            column(false, "ids"),
        ),
        (
            "labels.npz",
            packed_npz(&[("X", "|u1", "(500000, 1)", 500_000), ("labels", "|S1", "(500000,)", 500_000)]),
            plain(),
        ),
        ("values.csv.gz", gzip("1,2\n".repeat(1_000_000).as_bytes()), plain()),
        ("ids.csv.gz", gzip("1,a\n".repeat(400_000).as_bytes()), column(false, "1")),
        ("labels.csv.gz", gzip(distinct.as_bytes()), column(true, "1")),
        ("lines.txt.gz", gzip(&b"\n".repeat(1_000_000)), plain()),
    ];
    for (name, bytes, options) in bombs {
        let (most, read) = most_held(|| read_memory(name.as_ref(), bytes, &options));
        let refused = read.err().map(|error| error.kind);
        assert!(matches!(refused, Some(FileErrorKind::TooLarge { limit: LIMIT, .. })), "{name}: {refused:?}");
        assert!(most <= MOST_ALLOWED, "{name}: {most} bytes held");
    }
}

#[cfg(feature = "tables")]
#[test]
fn parquet_lists_and_shared_strings_are_counted_by_what_they_become() {
    use parquet::basic::{LogicalType, Repetition, Type as PhysicalType};
    use parquet::data_type::{ByteArray, ByteArrayType, FloatType};
    use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
    use parquet::schema::types::Type;
    use std::sync::Arc;
    let _turn = take_turn();
    const ROWS: usize = 1000;
    // A column of numbers and another one.
    let parquet = |other: Type, write: &dyn Fn(&mut SerializedColumnWriter)| {
        let numbers = Type::primitive_type_builder("x", PhysicalType::FLOAT).with_repetition(Repetition::REQUIRED);
        let fields = vec![Arc::new(numbers.build().unwrap()), Arc::new(other)];
        let schema = Type::group_type_builder("schema").with_fields(fields).build().unwrap();
        let mut out = SerializedFileWriter::new(Vec::new(), Arc::new(schema), Default::default()).unwrap();
        let mut group = out.next_row_group().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        let values: Vec<f32> = (0..ROWS).map(|i| i as f32).collect();
        column.typed::<FloatType>().write_batch(&values, None, None).unwrap();
        column.close().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        write(&mut column);
        column.close().unwrap();
        group.close().unwrap();
        out.into_inner().unwrap()
    };
    let with = |label: Option<&str>, id: Option<&str>| ReadOptions {
        label_column: label.map(str::to_string),
        id_column: id.map(str::to_string),
        memory: MemoryBudget::new(Some(LIMIT)),
        ..Default::default()
    };
    let read = |bytes: &[u8], options: &ReadOptions| {
        let (most, read) = most_held(|| read_memory("t.parquet".as_ref(), bytes.to_vec(), options));
        assert!(most <= MOST_ALLOWED, "{most} bytes held");
        read.map_err(|error| error.kind)
    };
    let long = "a".repeat(100_000);
    let shared = vec![ByteArray::from(long.as_str()); ROWS];
    for repetition in [Repetition::REQUIRED, Repetition::OPTIONAL] {
        let column = Type::primitive_type_builder("other", PhysicalType::BYTE_ARRAY)
            .with_logical_type(Some(LogicalType::String))
            .with_repetition(repetition)
            .build();
        let levels = (repetition == Repetition::OPTIONAL).then(|| vec![1; ROWS]);
        let bytes = parquet(column.unwrap(), &|column| {
            column.typed::<ByteArrayType>().write_batch(&shared, levels.as_deref(), None).unwrap();
        });
        assert!(bytes.len() < 500_000, "{}", bytes.len());
        let labels = read(&bytes, &with(Some("other"), None)).unwrap().labels.unwrap();
        assert_eq!((labels.names, labels.codes), (vec![long.clone()], vec![0; ROWS]));
        let refused = read(&bytes, &with(None, Some("other")));
        assert!(matches!(refused, Err(FileErrorKind::TooLarge { limit: LIMIT, .. })), "{:?}", refused.err());
    }
    let item = Type::primitive_type_builder("element", PhysicalType::FLOAT).with_repetition(Repetition::OPTIONAL);
    let items = Type::group_type_builder("list").with_repetition(Repetition::REPEATED);
    let items = items.with_fields(vec![Arc::new(item.build().unwrap())]).build().unwrap();
    let lists = Type::group_type_builder("other").with_repetition(Repetition::REQUIRED);
    let lists = lists.with_logical_type(Some(LogicalType::List)).with_fields(vec![Arc::new(items)]).build();
    let bytes = parquet(lists.unwrap(), &|column| {
        let starts: Vec<i16> = (0..ROWS * 2000).map(|at| i16::from(at % 2000 > 0)).collect();
        let (zeros, levels) = (vec![0.0; ROWS * 2000], vec![2; ROWS * 2000]);
        column.typed::<FloatType>().write_batch(&zeros, Some(&levels), Some(&starts)).unwrap();
    });
    assert!(bytes.len() < 500_000, "{}", bytes.len());
    let refused = read(&bytes, &with(None, None));
    assert!(matches!(refused, Err(FileErrorKind::TooLarge { limit: LIMIT, .. })), "{:?}", refused.err());
}
