//! Measures what a fit allocates, and compares it with the estimate by which a run is accepted or refused.
//!
//! Every method is fitted to four shapes of data. The estimate must be at least the measured peak, since the limit would be
//! exceeded otherwise, and at most 2.5 times as much, since fits would be refused that have enough memory. Iterations
//! allocate the same memory each time, so there are few. `cargo test --release -p lowland-testkit --test memory -- --ignored
//! --nocapture` measures large data as well and prints the table of `bench/results`.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use lowland::data::{Data, DataShape, Seed, Sparse};
use lowland::registry::{METHODS, MethodInfo, ParsedMethod};
use lowland::trust::{self, TrustParams};
use lowland::{FitOptions, Labels, MemoryBudget, Points, Target, fit};
use lowland_linalg::dense::product_nn;

/// Counts the bytes of the system's allocator.
struct PeakAllocator;

static CURRENT: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

fn count(bytes: usize) {
    PEAK.fetch_max(CURRENT.fetch_add(bytes, Relaxed) + bytes, Relaxed);
}

// SAFETY: every call is passed on to the system's allocator as it came.
unsafe impl GlobalAlloc for PeakAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // The old block stays until its content is copied, unless the allocator can extend it or remap its pages, which
        // the system does for blocks of this size.
        if layout.size() < 128 << 10 {
            count(size);
            CURRENT.fetch_sub(layout.size(), Relaxed);
        } else if size >= layout.size() {
            count(size - layout.size());
        } else {
            CURRENT.fetch_sub(layout.size() - size, Relaxed);
        }
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        CURRENT.fetch_sub(layout.size(), Relaxed);
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: PeakAllocator = PeakAllocator;

/// Set in the process of a measurement.
const MEASURING: &str = "LOWLAND_MEASURING";

/// Runs a test of this program in a process of its own: all threads share the counters of the allocator, and other tests
/// would be counted too.
fn in_own_process(test: &str, measure: impl FnOnce()) {
    if std::env::var_os(MEASURING).is_some() {
        return measure();
    }
    let program = std::env::current_exe().expect("the path of this program");
    let mut child = std::process::Command::new(program);
    let output = child.args(["--exact", test, "--nocapture"]).env(MEASURING, "1").output().expect("a process");
    let words = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    assert!(output.status.success() && words.contains("1 passed"), "{words}");
}

/// Returns a pool of two threads that have their buffers for products of matrices already. Each thread reserves such a
/// buffer of twice the size of the cache, of which it uses only the pages that a product needs. The pool is never dropped:
/// its threads would free these buffers at any time during the next measurement.
fn warm_threads() -> &'static rayon::ThreadPool {
    static POOL: OnceLock<rayon::ThreadPool> = OnceLock::new();
    POOL.get_or_init(|| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().expect("two threads");
        pool.broadcast(|_| {
            let (mut double, mut single) = (vec![1.0f64; 200 * 200], vec![1.0f32; 200 * 200]);
            product_nn(&double.clone(), &double.clone(), 200, &mut double);
            product_nn(&single.clone(), &single.clone(), 200, &mut single);
        });
        pool
    })
}

/// Data of one shape.
#[derive(Clone, Copy)]
enum Shape {
    Dense { rows: usize, dim: usize },
    Sparse { rows: usize, dim: usize, row_entries: usize },
}

const SMALL: Shape = Shape::Dense { rows: 400, dim: 20 };
const LONG: Shape = Shape::Dense { rows: 10_000, dim: 50 };
const WIDE: Shape = Shape::Dense { rows: 300, dim: 4000 };
const SPARSE: Shape = Shape::Sparse { rows: 2000, dim: 3000, row_entries: 30 };

impl Shape {
    /// Rows around a curve, so that every method has something to fit.
    fn data(self) -> Data {
        match self {
            Shape::Dense { rows, dim } => {
                let mut values = Vec::with_capacity(rows * dim);
                for i in 0..rows {
                    let noise = Seed(7).item(i).normals(dim);
                    let angle = i as f64 / rows as f64 * 3.0;
                    values.extend((0..dim).map(|j| ((angle * (1 + j % 7) as f64).sin() * 3.0 + noise[j]) as f32));
                }
                Data::dense(values, dim).expect("complete rows")
            }
            Shape::Sparse { rows, dim, row_entries } => {
                let (mut indptr, mut indices, mut values) = (Vec::with_capacity(rows + 1), Vec::new(), Vec::new());
                indices.reserve_exact(rows * row_entries);
                values.reserve_exact(rows * row_entries);
                indptr.push(0);
                for i in 0..rows {
                    // Neighboring rows share most of their columns.
                    let start = i * (dim - row_entries) / rows;
                    let noise = Seed(7).item(i).normals(row_entries);
                    indices.extend((0..row_entries).map(|j| (start + j) as u32));
                    values.extend(noise.iter().map(|v| (3.0 + v) as f32));
                    indptr.push(indices.len());
                }
                Data::Sparse(Sparse::new(indptr, indices, values, dim).expect("a valid matrix"))
            }
        }
    }
}

/// The estimate and the measured peak of one fit, the data included.
struct Measurement {
    shape: DataShape,
    stated: u64,
    used: u64,
}

impl Measurement {
    fn ratio(&self) -> f64 {
        self.stated as f64 / self.used as f64
    }
}

/// Before the parameters of a method: its fit is supervised.
const SUPERVISED: (&str, &str) = ("target", "classes");

fn measure(method: &str, values: &[(&str, &str)], shape: Shape) -> Measurement {
    warm_threads().install(|| {
        let before = CURRENT.load(Relaxed);
        let data = shape.data();
        let (values, is_supervised) = match values {
            [SUPERVISED, rest @ ..] => (rest, true),
            values => (values, false),
        };
        let target = is_supervised.then(|| Target::new(Labels::new((0..data.rows()).map(|i| (i % 10).to_string()))));
        PEAK.store(CURRENT.load(Relaxed), Relaxed);
        let ParsedMethod { method: parsed, landmarks } = MethodInfo::find(method).unwrap().parse(values).unwrap();
        let options = || FitOptions { landmarks, target: target.as_ref(), ..FitOptions::default() };
        let stated = fit::check_memory(parsed.as_ref(), data.shape(), &options()).unwrap();
        let model = fit::fit(parsed, &data, options());
        let used = PEAK.load(Relaxed).saturating_sub(before);
        model.unwrap_or_else(|error| panic!("{method} {values:?}: {error}"));
        Measurement { shape: data.shape(), stated, used: used as u64 }
    })
}

#[allow(clippy::print_stdout)]
fn check(method: &str, values: &[(&str, &str)], shapes: &[(&str, Shape)]) {
    let mut wrong = Vec::new();
    for &(name, shape) in shapes {
        let found = measure(method, values, shape);
        let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        let line = format!(
            "| {method} {} | {name} {}x{} | {:.2} | {:.2} | {:.2} |",
            values.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" "),
            found.shape.rows,
            found.shape.dim,
            mib(found.stated),
            mib(found.used),
            found.ratio()
        );
        println!("{line}");
        if !(1.0..=2.5).contains(&found.ratio()) {
            wrong.push(line);
        }
    }
    assert!(wrong.is_empty(), "stated and used MiB, and their ratio:\n{}", wrong.join("\n"));
}

const ALL: &[(&str, Shape)] = &[("small", SMALL), ("long", LONG), ("wide", WIDE), ("sparse", SPARSE)];
const NOT_LONG: &[(&str, Shape)] = &[("small", SMALL), ("wide", WIDE), ("sparse", SPARSE)];
/// The history of the optimizer grows with the iterations, and sparse rows become dense.
const GPLVM: &[(&str, Shape)] = &[
    ("small", SMALL),
    ("wide", Shape::Dense { rows: 200, dim: 2000 }),
    ("sparse", Shape::Sparse { rows: 500, dim: 1000, row_entries: 30 }),
];
/// Matrices of all coordinates of all rows make larger ones slow.
const LLLVM: &[(&str, Shape)] = &[
    ("small", Shape::Dense { rows: 200, dim: 20 }),
    ("wide", Shape::Dense { rows: 100, dim: 3000 }),
    ("sparse", Shape::Sparse { rows: 250, dim: 2000, row_entries: 30 }),
];

macro_rules! estimates {
    ($($name:ident: $method:literal, [$($value:expr),* $(,)?], $shapes:expr;)*) => {
        mod estimates_match_the_measured_peak {
            use super::*;
            $(#[test]
            fn $name() {
                let test = concat!("estimates_match_the_measured_peak::", stringify!($name));
                in_own_process(test, || check($method, &[$($value),*], $shapes));
            })*
        }

        const TESTED: &[&str] = &[$($method),*];
    };
}

estimates! {
    pca: "pca", [], ALL;
    pca_randomized: "pca", [("solver", "randomized"), ("max_iter", "3")], ALL;
    svd: "svd", [], ALL;
    spectral: "spectral", [], ALL;
    isomap: "isomap", [], NOT_LONG;
    lle: "lle", [], ALL;
    ltsa: "ltsa", [], ALL;
    lvm: "lvm", [("max_iter", "3")], ALL;
    lllvm: "lllvm", [("max_iter", "1"), ("starts", "1")], LLLVM;
    tsne: "tsne", [("max_iter", "3")], ALL;
    ssne: "ssne", [("max_iter", "3")], ALL;
    ee: "ee", [("max_iter", "3")], ALL;
    mapit: "mapit", [("max_iter", "3")], ALL;
    umap: "umap", [("n_epochs", "3")], ALL;
    pacmap: "pacmap", [("num_iters", "1,1,1")], ALL;
    tsne_supervised: "tsne", [SUPERVISED, ("max_iter", "3")], ALL;
    umap_supervised: "umap", [SUPERVISED, ("n_epochs", "3")], ALL;
    tsm: "tsm", [("max_iter", "2")], NOT_LONG;
    gplvm: "gplvm", [("max_iter", "20")], GPLVM;
}

/// Measures larger data and the settings of methods that allocate differently.
#[test]
#[ignore = "takes minutes"]
fn estimates_of_large_data_match_the_measured_peak() {
    let large = Shape::Dense { rows: 60_000, dim: 100 };
    let tsm = &[("long", LONG)][..];
    check("tsm", &[("max_iter", "2")], tsm);
    check("tsm", &[("max_iter", "2"), ("matrices", "factors")], tsm);
    check("gplvm", &[("max_iter", "20")], ALL);
    check("isomap", &[], &[("long", LONG)]);
    check("lllvm", &[("max_iter", "1")], &[("rows", Shape::Dense { rows: 1500, dim: 50 })]);
    for method in ["lvm", "tsne", "ssne", "ee", "mapit"] {
        check(method, &[("max_iter", "2")], &[("large", large)]);
    }
    check("spectral", &[], &[("large", large)]);
    for method in ["pca", "svd"] {
        check(method, &[], &[("large", large), ("images", Shape::Dense { rows: 20_000, dim: 784 })]);
    }
    for method in ["lle", "ltsa"] {
        check(method, &[], &[("rows", Shape::Dense { rows: 30_000, dim: 10 })]);
    }
}

#[test]
fn the_dense_fallback_of_the_eigensolver_is_refused_if_it_does_not_fit() {
    let data = SPARSE.data();
    let spectral = lowland::methods::Spectral { max_iter: 3, ..Default::default() };
    let limited = |limit| FitOptions { memory: MemoryBudget::new(Some(limit)), ..FitOptions::default() };
    let error = spectral.fit_with(&data, limited(64 << 20)).err().expect("three iterations do not converge");
    assert!(matches!(error, lowland::Error::Memory { .. }) && error.to_string().contains("max_iter"), "{error}");
    let converging = lowland::methods::Spectral::default();
    assert!(converging.fit_with(&data, limited(64 << 20)).is_ok());
}

/// What a reliability report allocates besides the data and the map: with all scores, for the summary, from a sample.
#[test]
fn the_estimate_of_the_reliability_matches_the_measured_peak() {
    in_own_process("the_estimate_of_the_reliability_matches_the_measured_peak", || {
        let mut wrong = Vec::new();
        let shapes = [("long", LONG), ("sparse", SPARSE)];
        for (name, shape, kind) in shapes.iter().flat_map(|&(name, shape)| [0, 1, 2].map(|kind| (name, shape, kind))) {
            let [stated, used] = warm_threads().install(|| {
                let data = shape.data();
                let angle = |i: usize| i as f64 / data.rows() as f64 * 3.0;
                let map: Vec<f64> = (0..data.rows()).flat_map(|i| [angle(i).cos(), angle(i).sin()]).collect();
                let (map, params) =
                    (Points::new(&map, 2).unwrap(), TrustParams { everything: kind == 0, ..Default::default() });
                let before = CURRENT.load(Relaxed);
                PEAK.store(before, Relaxed);
                let stated = if kind < 2 {
                    trust::assess(&data, map, None, None, &params, &mut |_| Ok(())).unwrap();
                    trust::memory(data.shape(), None, None, &params)
                } else {
                    trust::assess_sample(&data, map, 1000, &params, &mut |_| Ok(())).unwrap();
                    trust::sample_memory(data.shape(), 1000, &params)
                };
                [stated as f64, (PEAK.load(Relaxed) - before) as f64]
            });
            // The loss of single points is computed on a grid, which is stated as large as the widest map needs.
            let most = if kind == 0 { f64::INFINITY } else { 2.5 };
            if !(1.0..=most).contains(&(stated / used)) {
                wrong.push(format!("{name} {}: {stated} {used}", ["everything", "summary", "sample"][kind]));
            }
        }
        assert!(wrong.is_empty(), "stated and used bytes: {wrong:?}");
    });
}

#[test]
fn every_method_is_measured() {
    for info in METHODS {
        assert!(TESTED.contains(&info.name), "{} is not measured", info.name);
    }
}
