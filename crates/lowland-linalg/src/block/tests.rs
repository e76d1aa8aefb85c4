//! Products and orthonormal bases of blocks.

use super::*;
use lowland_core::Seed;
use proptest::prelude::*;

fn distance_from_identity(gram: &[f64], m: usize) -> f64 {
    (0..m * m).map(|at| (gram[at] - f64::from(u8::from(at / m == at % m))).abs()).fold(0.0, f64::max)
}

#[test]
fn chunked_products_agree_with_plain_sums() {
    let n = 2 * CHUNK + 7;
    let (a, b) = (Seed(1).normals(n * 3), Seed(2).normals(n * 2));
    let product = gram(&a, 3, &b, 2);
    for i in 0..3 {
        for j in 0..2 {
            let plain: f64 = (0..n).map(|r| a[r * 3 + i] * b[r * 2 + j]).sum();
            assert!((product[i * 2 + j] - plain).abs() < 1e-10);
        }
    }
    let twice = combine(&b, 2, &[2.0, 0.0, 0.0, 2.0], 2);
    assert!(twice.iter().zip(&b).all(|(t, b)| *t == 2.0 * b));
}

#[test]
fn dot_products_and_linear_combinations_agree_with_plain_sums() {
    let vectors: Vec<Vec<f64>> = (0..5).map(|seed| Seed(seed).normals(VECTOR_CHUNK + 45)).collect();
    let vectors: Vec<&[f64]> = vectors.iter().map(Vec::as_slice).collect();
    let products = dot_products(&vectors[..3], &vectors[3..]);
    for (i, a) in vectors[..3].iter().enumerate() {
        for (j, b) in vectors[3..].iter().enumerate() {
            let plain: f64 = a.iter().zip(*b).map(|(a, b)| a * b).sum();
            assert!((products[i * 2 + j] - plain).abs() < 1e-10);
            assert_eq!(products[i * 2 + j], dot(a, b), "the same bits in any company");
        }
    }
    let mut mixed = vectors[4].to_vec();
    add_linear_combination(&vectors[..3], &[1.0, -2.0, 0.5], &mut mixed);
    let plain = |at: usize| vectors[4][at] + vectors[0][at] - 2.0 * vectors[1][at] + 0.5 * vectors[2][at];
    assert!(mixed.iter().enumerate().all(|(at, v)| (v - plain(at)).abs() < 1e-12));
    // Five vectors at once, in single precision.
    let short: Vec<Vec<f32>> = vectors.iter().map(|v| v.iter().map(|&v| v as f32).collect()).collect();
    let mut mixed = vec![0.0; vectors[0].len()];
    add_linear_combination(&short.iter().map(Vec::as_slice).collect::<Vec<_>>(), &[1.0; 5], &mut mixed);
    let plain = |at: usize| short.iter().map(|v| f64::from(v[at])).sum::<f64>();
    assert!(mixed.iter().enumerate().all(|(at, v)| (v - plain(at)).abs() < 1e-12));
    assert_eq!(dot(&[], &[]), 0.0);
}

#[test]
fn dependent_columns_are_dropped_from_the_basis() {
    let n = 3000;
    let (fixed, _) = orthonormalize(Seed(1).normals(n * 2), 2, &[], 0).unwrap();
    let fresh = Seed(2).normals(n * 2);
    // Columns: a new one, the same at another scale, a combination of the fixed ones, zero, another new one.
    let w: Vec<f64> = (0..n)
        .flat_map(|i| {
            [fresh[2 * i], -1e-180 * fresh[2 * i], 3.0 * fixed[2 * i] - fixed[2 * i + 1], 0.0, 1e180 * fresh[2 * i + 1]]
        })
        .collect();
    let (basis, m) = orthonormalize(w, 5, &fixed, 2).unwrap();
    assert_eq!(m, 2);
    assert!(distance_from_identity(&gram(&basis, m, &basis, m), m) < 1e-14);
    assert!(gram(&basis, m, &fixed, 2).iter().all(|v| v.abs() < 1e-14));
}

#[test]
fn nearly_parallel_columns_still_give_an_orthonormal_basis() {
    let n = 1500;
    let x = Seed(5).normals(n * 2);
    let w: Vec<f64> = (0..n).flat_map(|i| [x[2 * i], x[2 * i] + 1e-5 * x[2 * i + 1]]).collect();
    let (basis, m) = orthonormalize(w, 2, &[], 0).unwrap();
    assert_eq!(m, 2);
    assert!(distance_from_identity(&gram(&basis, m, &basis, m), m) < 1e-13);
}

proptest! {
    #[test]
    fn the_basis_of_any_columns_is_orthonormal(values in prop::collection::vec(prop_oneof![Just(0.0), Just(f64::NAN), Just(1e300), -1.0..1.0], 24), m in 1usize..5) {
        let n = 24 / m;
        let (basis, kept) = orthonormalize(values[..n * m].to_vec(), m, &[], 0).unwrap();
        prop_assert!(kept <= m);
        prop_assert!(distance_from_identity(&gram(&basis, kept, &basis, kept), kept) < 1e-10);
    }
}

#[test]
fn signs_make_the_first_of_the_largest_entries_positive() {
    let mut block = vec![-1.0, 0.5, 1.0 + 1e-12, -0.6, 0.0, 0.6];
    fix_signs(&mut block, 2);
    assert_eq!(block, [1.0, -0.5, -1.0 - 1e-12, 0.6, 0.0, -0.6]);
}
