//! Runs random changes of the corpus through an entry point, with any compiler: `cargo xtask fuzz` finds more, because it sees which
//! code an input reaches, but needs nightly Rust.
//!
//! `cargo run --release -p lowland-testkit --example mutate_corpus -- TARGET COUNT [SEED]`. Inputs that cause a panic, an allocation
//! over 256 MiB or take more than ten seconds are written to `target/mutate_corpus`; the exit code says whether there were any.

#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::collections::BTreeMap;
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use lowland::Seed;
use lowland_testkit::entry_points::{clean_up, entry_point};

const MAX_ALLOCATION: usize = 256 << 20;
const MAX_TIME: Duration = Duration::from_secs(10);
const MAX_LENGTH: usize = 64 << 10;
/// Values that readers get wrong more often than others.
const EXTREMES: [u64; 10] =
    [0, 1, 0x7f, 0xff, 0x7fff, 0xffff, 0x7fff_ffff, 0xffff_ffff, 0x7fff_ffff_ffff_ffff, u64::MAX];

/// Size of the largest allocation since the last input.
static LARGEST: AtomicUsize = AtomicUsize::new(0);

struct WatchingAllocator;

// SAFETY: everything is handed to the system allocator unchanged.
unsafe impl GlobalAlloc for WatchingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LARGEST.fetch_max(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: WatchingAllocator = WatchingAllocator;

/// Where the last panic was, if it was in our code or was not caught.
static PANIC: Mutex<Option<String>> = Mutex::new(None);

/// A sequence of random numbers.
struct Draws {
    seed: Seed,
    count: usize,
}

impl Draws {
    fn below(&mut self, limit: usize) -> usize {
        self.count += 1;
        (self.seed.item(self.count).0 >> 8) as usize % limit.max(1)
    }
}

/// Changes a few places of an input.
fn mutate(bytes: &mut Vec<u8>, other: &[u8], draws: &mut Draws) {
    for _ in 0..1 + draws.below(5) {
        let at = draws.below(bytes.len());
        let range = at..(at + 1 + draws.below(16)).min(bytes.len());
        match draws.below(9) {
            _ if bytes.is_empty() => bytes.extend_from_slice(other),
            0 => bytes[at] ^= 1 << draws.below(8),
            1 => bytes[at] = draws.below(256) as u8,
            2 => bytes.truncate(at),
            3 => drop(bytes.drain(range)),
            4 => {
                let copy = bytes[range].to_vec();
                bytes.splice(at..at, copy);
            }
            5 => {
                let width = [1, 2, 4, 8][draws.below(4)];
                let value = EXTREMES[draws.below(EXTREMES.len())].wrapping_add(draws.below(3) as u64);
                let value =
                    if draws.below(2) == 0 { value.to_le_bytes() } else { value.rotate_right(8 * width).to_be_bytes() };
                bytes[at..].iter_mut().zip(&value[..width as usize]).for_each(|(byte, &new)| *byte = new);
            }
            6 => bytes.insert(at, draws.below(256) as u8),
            7 => {
                let from = draws.below(other.len());
                let part = &other[from..(from + 1 + draws.below(64)).min(other.len())];
                bytes.splice(at..at, part.iter().copied());
            }
            _ => bytes[at] = *b"0123456789.,;\"'-+eE\n\r\t x="[..].get(draws.below(26)).unwrap_or(&b'0'),
        }
    }
    bytes.truncate(MAX_LENGTH);
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [target, count, seed @ ..] = &arguments[..] else {
        eprintln!("usage: mutate_corpus TARGET COUNT [SEED]");
        return ExitCode::from(2);
    };
    let entry = entry_point(target);
    let count: usize = count.parse().expect("a number of inputs");
    let seed = Seed(seed.first().map_or(1, |seed| seed.parse().expect("a seed")));
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut corpus: Vec<_> =
        std::fs::read_dir(root.join("fuzz/corpus").join(target)).expect("a corpus").flatten().collect();
    corpus.sort_by_key(std::fs::DirEntry::path);
    let corpus: Vec<Vec<u8>> = corpus.iter().map(|file| std::fs::read(file.path()).expect("an input")).collect();
    panic::set_hook(Box::new(|info| {
        *PANIC.lock().expect("one thread") = info.location().map(|at| format!("{}:{}", at.file(), at.line()));
    }));
    let folder = root.join("target/mutate_corpus");
    std::fs::create_dir_all(&folder).expect("a writable folder");
    let (started, mut accepted, mut findings) = (Instant::now(), 0, BTreeMap::<String, usize>::new());
    for trial in 0..count {
        let mut draws = Draws { seed: seed.stream(target).item(trial), count: 0 };
        let mut bytes = corpus[draws.below(corpus.len())].clone();
        let other = &corpus[draws.below(corpus.len())];
        mutate(&mut bytes, other, &mut draws);
        LARGEST.store(0, Ordering::Relaxed);
        let before = Instant::now();
        let result = panic::catch_unwind(AssertUnwindSafe(|| (entry.run)(&bytes)));
        accepted += usize::from(*result.as_ref().unwrap_or(&false));
        // Panics of the readers of others are caught and become errors.
        let place = PANIC.lock().expect("one thread").take();
        let panicked = place.filter(|place| result.is_err() || place.contains("lowland"));
        let large = (LARGEST.load(Ordering::Relaxed) > MAX_ALLOCATION).then(|| "large allocation".to_string());
        let slow = (before.elapsed() > MAX_TIME).then(|| "slow".to_string());
        for finding in [panicked, large, slow].into_iter().flatten() {
            let seen = findings.entry(finding).or_default();
            *seen += 1;
            if *seen <= 3 {
                std::fs::write(folder.join(format!("{target}-{}-{trial}", seed.0)), &bytes).expect("a writable file");
            }
        }
    }
    clean_up();
    let seconds = started.elapsed().as_secs_f64();
    println!("{target}: {count} inputs, {accepted} accepted, {seconds:.0} s, findings: {findings:?}");
    if findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
