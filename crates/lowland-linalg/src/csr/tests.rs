//! Sparse matrices compared with dense ones.

use super::*;
use lowland_core::Seed;
use proptest::prelude::*;

fn dense(a: &Csr) -> Vec<Vec<f64>> {
    (0..a.rows()).map(|i| (0..a.columns()).map(|j| a.get(i, j)).collect()).collect()
}

prop_compose! {
    fn triplets()(entries in prop::collection::vec((0u32..7, 0u32..5, -4i32..5), 0..40)) -> Vec<(u32, u32, f64)> {
        entries.into_iter().map(|(i, j, v)| (i, j, f64::from(v))).collect()
    }
}

proptest! {
    #[test]
    fn triplets_transpose_add_and_product_agree_with_a_dense_matrix(a in triplets(), b in triplets(), m in 1usize..40) {
        let mut table = vec![vec![0.0; 5]; 7];
        a.iter().for_each(|&(i, j, v)| table[i as usize][j as usize] += v);
        let sparse = Csr::from_triplets(7, 5, a).unwrap();
        prop_assert_eq!(&dense(&sparse), &table);
        let other = Csr::from_triplets(7, 5, b).unwrap();
        let sum = sparse.add(&other).unwrap();
        let transposed = sparse.transpose();
        let x = Seed(1).normals(5 * m);
        let mut product = vec![f64::NAN; 7 * m];
        sparse.multiply(&x, m, &mut product);
        for i in 0..7 {
            for j in 0..5 {
                prop_assert_eq!(sum.get(i, j), sparse.get(i, j) + other.get(i, j));
                prop_assert_eq!(transposed.get(j, i), sparse.get(i, j));
            }
            for c in 0..m {
                let plain: f64 = (0..5).map(|j| table[i][j] * x[j * m + c]).sum();
                prop_assert!((plain - product[i * m + c]).abs() < 1e-12);
            }
        }
    }
}

#[test]
fn renumbering_moves_every_entry() {
    let n = 2500;
    let entries = (0..n).flat_map(|i| (0..i % 7).map(move |k| (i, (i * 13 + k * 101) % n, f64::from(i + k))));
    let a = Csr::from_triplets(n as usize, n as usize, entries).unwrap();
    let rows: Vec<u32> = (0..n).map(|i| i * 7 % n).collect();
    let b = a.renumber(&rows);
    let same = |i: usize, j: usize| b.get(i, j) == a.get(rows[i] as usize, rows[j] as usize);
    assert!(b.iter().all(|(i, j, _)| same(i, j)) && a.entries() == b.entries());
    assert_eq!(Csr::new(b.indptr.clone(), b.indices.clone(), b.values.clone(), b.columns).unwrap(), b);
}

#[test]
fn retained_entries_are_those_of_a_filter() {
    let entries = (0..90u32).flat_map(|i| (0..i % 5).map(move |k| (i, (i * 7 + k * 31) % 90, f64::from(i + k))));
    let a = Csr::from_triplets(90, 90, entries).unwrap();
    for keep in [|i: usize, j: usize, _: f64| !(i + j).is_multiple_of(3), |_: usize, _: usize, v: f64| v > 40.0] {
        let mut b = a.clone();
        b.retain(keep);
        assert_eq!(b, a.filter(keep));
    }
}

#[test]
fn invalid_arrays_are_rejected() {
    assert!(Csr::new(vec![0, 2], vec![1, 1], vec![1.0, 1.0], 3).is_err());
    assert!(Csr::new(vec![0, 1], vec![3], vec![1.0], 3).is_err());
    assert!(Csr::new(vec![], vec![], vec![], 3).is_err());
    assert!(Csr::from_triplets(2, 2, [(2, 0, 1.0)]).is_err());
    let (a, b) = (Csr::from_triplets(2, 2, []).unwrap(), Csr::from_triplets(3, 2, []).unwrap());
    assert!(a.add(&b).is_err());
}

#[test]
fn symmetry_requires_equal_values_not_only_the_pattern() {
    let a = Csr::from_triplets(2, 2, [(0, 1, 2.0), (1, 0, 2.0)]).unwrap();
    assert!(a.is_symmetric());
    assert!(!a.map(|i, _, v| v + i as f64).is_symmetric());
    assert!(!Csr::from_triplets(2, 3, [(0, 1, 2.0), (1, 0, 2.0)]).unwrap().is_symmetric());
}

/// It is the size of an allocation: a wrong count changes no result.
#[test]
fn entries_of_both_rows_are_counted_once() {
    let cases: [(&[u32], &[u32], usize); 5] = [
        (&[], &[], 0),
        (&[1, 4], &[], 2),
        (&[0, 2, 5], &[2, 3, 5, 9], 5),
        (&[7], &[1, 2, 7], 3),
        (&[3, 8], &[3, 8], 2),
    ];
    for (a, b, expected) in cases {
        assert_eq!((union_size(a, b), union_size(b, a)), (expected, expected), "{a:?} {b:?}");
    }
}
