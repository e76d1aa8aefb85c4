//! The memory check and its remedies.

use super::*;
use crate::methods::{Isomap, Pca, Tsne};
use lowland_core::message::Remedy;

fn memory_remedies(method: &dyn DynMethod, options: &FitOptions, [rows, dim]: [usize; 2]) -> Vec<Remedy> {
    let shape = DataShape { rows, dim, sparse: false, bytes: (4 * rows * dim) as u64 };
    match check_memory(method, shape, options) {
        Err(Error::Memory { remedies, .. }) => remedies,
        other => panic!("expected a memory error, got {other:?}"),
    }
}

#[test]
fn a_memory_error_suggests_what_helps() {
    let limited = |limit: u64, reserved: u64| {
        let memory = MemoryBudget::new(Some(limit));
        memory.reserve(reserved);
        FitOptions { memory, ..FitOptions::default() }
    };
    let all = [70_000, 50];
    let landmarks = Remedy::Landmarks(5000);
    assert!(memory_remedies(&Isomap::default(), &limited(4 << 30, 0), all).contains(&landmarks));
    let rows = memory_remedies(&Pca::default(), &limited(1 << 30, 0), [1_000_000, 1000]);
    assert!(rows.contains(&Remedy::Other("use fewer rows, which alone exceed the limit")), "{rows:?}");
    let wide = memory_remedies(&Tsne::default(), &limited(4 << 30, 0), [1_000_000, 1000]);
    assert!(wide.contains(&Remedy::ReduceColumns(50)), "{wide:?}");
    // Memory reserved by the caller is not available for landmarks either.
    assert!(!memory_remedies(&Isomap::default(), &limited(4 << 30, (4 << 30) - (64 << 20)), all).contains(&landmarks));
    // Fewer landmarks than requested are suggested, and none if the metric does not support them.
    let many = FitOptions { landmarks: Some(60_000), ..limited(4 << 30, 0) };
    assert!(memory_remedies(&Isomap::default(), &many, all).contains(&landmarks));
    let distances = Isomap { metric: Metric::Precomputed, ..Isomap::default() };
    assert!(!memory_remedies(&distances, &limited(4 << 30, 0), all).contains(&landmarks));
}
