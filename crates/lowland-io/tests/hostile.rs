//! Damaged files give a table or an error: no panic, no hang, no allocation beyond what the limit allows.

use std::alloc::{GlobalAlloc, Layout, System};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use lowland::Seed;
use lowland_io::{ReadOptions, read_graph, read_map, read_memory};

/// The largest single allocation asked for so far.
static LARGEST: AtomicUsize = AtomicUsize::new(0);

struct Watched;

// SAFETY: everything is handed to the system allocator unchanged.
unsafe impl GlobalAlloc for Watched {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LARGEST.fetch_max(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        LARGEST.fetch_max(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of `alloc_zeroed`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        LARGEST.fetch_max(size, Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of `realloc`.
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static WATCHED: Watched = Watched;

/// Unpacking is limited to this in the tests; vectors may double when they grow, and readers keep tables of their own.
const LIMIT: u64 = 1 << 22;
const LARGEST_ALLOWED: usize = 1 << 26;

fn golden() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_none_or(|ending| ending != "py"));
    files.sort();
    files
}

/// Reads the bytes as a file of this name would be.
fn try_memory(name: &str, bytes: &[u8]) {
    let bare = ReadOptions { max_bytes: Some(LIMIT), ..Default::default() };
    let named = ReadOptions {
        label_column: Some("kind".into()),
        id_column: (!name.ends_with("h5ad")).then(|| "name".into()),
        missing: lowland_io::Missing::Drop,
        ..bare.clone()
    };
    let _ = (read_memory(name.as_ref(), bytes.to_vec(), &bare), read_memory(name.as_ref(), bytes.to_vec(), &named));
    let largest = LARGEST.load(Ordering::Relaxed);
    assert!(largest <= LARGEST_ALLOWED, "{name}: {largest} bytes asked for at once");
}

/// Reads the bytes as a graph and as a map, which come from files only.
fn try_file(folder: &Path, name: &str, bytes: &[u8]) {
    let path = folder.join(name);
    std::fs::write(&path, bytes).unwrap();
    let _ = (read_graph(&path), read_map(&path));
}

/// Panics inside the readers of others are caught and become errors; only our own are worth a line.
fn quiet() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if info.location().is_some_and(|at| at.file().contains("lowland")) {
            usual(info);
        }
    }));
}

// One test, because the largest allocation is counted for the whole process.
#[test]
fn files_cut_short_or_with_bytes_changed_give_a_table_or_an_error() {
    quiet();
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
}
