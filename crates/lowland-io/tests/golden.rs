//! Files written by numpy, scipy, pandas, pyarrow and anndata (see `data/make.py`) are read as what they hold.

use std::path::PathBuf;

use lowland::Data;
use lowland_io::{FileErrorKind, FileFormat, ReadOptions, Table, read};

const NAMES: [&str; 6] = ["ant", "bee", "cat", "dög", "elk", "fox, red"];
const KINDS: [u32; 6] = [1, 0, 1, 2, 0, 0];

fn file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

/// What every golden file holds.
fn expected() -> Vec<f32> {
    let cell = |i: usize, j: usize| if i == j { 0.0 } else { i as f32 - 0.5 * j as f32 };
    (0..18).map(|at| cell(at / 3, at % 3)).collect()
}

fn values(table: &Table) -> Vec<f32> {
    match &table.data {
        Data::Dense(x) => x.values().to_vec(),
        Data::Sparse(x) => {
            let mut out = vec![0.0; x.rows() * x.dim()];
            for i in 0..x.rows() {
                let (columns, entries) = x.row(i);
                columns.iter().zip(entries).for_each(|(&j, &v)| out[i * x.dim() + j as usize] = v);
            }
            out
        }
        Data::Text(_) => panic!("strings"),
    }
}

fn named() -> ReadOptions {
    ReadOptions { label_column: Some("kind".into()), id_column: Some("name".into()), ..Default::default() }
}

fn check_known(name: &str, table: &Table) {
    assert_eq!(table.ids.as_deref().unwrap(), NAMES, "{name}");
    let labels = table.labels.as_ref().unwrap();
    assert_eq!((&labels.names[..], &labels.codes[..]), (&["a", "b", "c"].map(String::from)[..], &KINDS[..]), "{name}");
}

#[test]
fn numpy_arrays_of_every_order_and_type() {
    for name in ["f4.npy", "f8_fortran.npy", "f8_big_endian.npy", "f2.npy"] {
        assert_eq!(values(&read(&file(name), &ReadOptions::default()).unwrap()), expected(), "{name}");
    }
    let whole = read(&file("i2_3d.npy"), &ReadOptions::default()).unwrap();
    assert_eq!(values(&whole), expected().iter().map(|v| 2.0 * v).collect::<Vec<_>>());
}

#[test]
fn numpy_archives_and_scipy_matrices() {
    let named = read(&file("named.npz"), &ReadOptions::default()).unwrap();
    assert_eq!(values(&named), expected());
    assert_eq!(named.labels.unwrap().codes, KINDS);
    let words = read(&file("words.npz"), &ReadOptions::default()).unwrap();
    assert_eq!(values(&words), expected());
    check_known("words.npz", &words);
    for name in ["csr.npz", "csc.npz", "coo.npz"] {
        let table = read(&file(name), &ReadOptions::default()).unwrap();
        assert_eq!((table.data.kind(), values(&table)), ("sparse", expected()), "{name}");
    }
}

/// Checks the values, columns, ids and labels of a table written by pandas.
fn check_pandas(name: &str) {
    let table = read(&file(name), &named()).unwrap();
    assert_eq!(values(&table), expected(), "{name}");
    assert_eq!(table.columns.as_deref().unwrap(), ["a", "b", "c"]);
    check_known(name, &table);
}

#[test]
fn pandas_text() {
    for name in ["pandas.csv.gz", "pandas.tsv"] {
        check_pandas(name);
    }
    let plain = read(&file("plain.csv"), &ReadOptions::default()).unwrap();
    assert_eq!((values(&plain), plain.ids.unwrap().len()), (expected(), 6));
}

#[test]
fn mnist_images_find_their_labels() {
    let table = read(&file("t6-images-idx3-ubyte.gz"), &ReadOptions::default()).unwrap();
    assert_eq!(values(&table), expected());
    assert_eq!(table.labels.unwrap().codes, KINDS);
    assert!(table.notes.iter().any(|note| note.contains("t6-labels-idx1-ubyte")));
    let three = ReadOptions { max_rows: Some(3), ..Default::default() };
    assert_eq!(read(&file("t6-images-idx3-ubyte.gz"), &three).unwrap().labels.unwrap().codes, KINDS[..3]);
}

#[test]
fn scikit_learn_neighbors() {
    let graph = lowland_io::read_graph(&file("neighbors.npz")).unwrap();
    assert_eq!((graph.rows(), graph.min_degree(), graph.indices().len()), (6, 2, 12));
    // Rows 4 and 5 differ by one in every column.
    assert_eq!(graph.row(5).0[0], 4);
    assert!((graph.row(5).1[0] - 3f32.sqrt()).abs() < 1e-6);
}

#[cfg(feature = "tables")]
#[test]
fn pandas_and_pyarrow_tables() {
    for name in ["pandas.parquet", "pandas.feather"] {
        check_pandas(name);
    }
    for name in ["vectors.parquet", "vectors.arrow", "vectors_stream.arrow", "vectors_zstd.feather"] {
        let table = read(&file(name), &named()).unwrap();
        assert_eq!(values(&table), expected(), "{name}");
        check_known(name, &table);
        let bare = read(&file(name), &ReadOptions::default()).unwrap();
        assert!(bare.notes.iter().any(|note| note == "left out: \"name\", \"kind\""), "{:?}", bare.notes);
    }
    let error = read(&file("pandas.parquet"), &ReadOptions::default()).unwrap_err().to_string();
    assert!(error.contains("column \"name\"") && error.contains("id_column"), "{error}");
}

#[cfg(feature = "tables")]
#[test]
fn columns_of_every_type_can_be_labels() {
    let with_label =
        |column: &str| ReadOptions { key: Some("vector".into()), label_column: Some(column.into()), ..named() };
    for name in ["types.parquet", "types.feather"] {
        for (column, first, rest) in [
            ("i8", ["-1", "0", "1", ""], ["2", "3"]),
            ("u64", ["18446744073709551615", "0", "1", ""], ["2", "3"]),
            ("f16", ["0.5", "1", "2", "3"], ["4", "5"]),
            ("bool", ["true", "false", "", "true"], ["true", "false"]),
            ("decimal", ["-1.50", "2.25", "2.25", "2.25"], ["2.25"; 2]),
            ("date", ["2024-02-29"; 4], ["2024-02-29", ""]),
            ("time", ["12:00:00.500"; 4], ["12:00:00.500"; 2]),
            ("stamp", ["2024-02-29T12:00:00.500"; 4], ["2024-02-29T12:00:00.500"; 2]),
            ("zoned", ["2024-02-29T12:00:00.500Z"; 4], ["2024-02-29T12:00:00.500Z"; 2]),
            ("duration", ["PT90S"; 4], ["PT90S"; 2]),
            ("binary", ["ab", "", "", "ab"], ["ab"; 2]),
            ("fixed", ["ab"; 4], ["ab"; 2]),
            ("texts", ["[a, b]", "[]", "", "[a]"], ["[a]"; 2]),
            ("coded", ["b", "", "b", "c"], ["a"; 2]),
            ("numbers_coded", ["2", "1", "2", "3"], ["1"; 2]),
            ("nothing", [""; 4], [""; 2]),
        ] {
            let table = read(&file(name), &with_label(column)).unwrap_or_else(|error| panic!("{column}: {error}"));
            let labels = table.labels.as_ref().unwrap();
            let texts: Vec<&str> = (0..6).map(|i| labels.name(i)).collect();
            assert_eq!(texts, [&first[..], &rest[..]].concat(), "{name}, {column}");
            assert_eq!((values(&table), table.ids.as_deref().unwrap()), (expected(), &NAMES.map(String::from)[..]));
        }
        let error = read(&file(name), &with_label("nested")).unwrap_err().to_string();
        assert!(error.contains("column \"nested\" holds nested values"), "{error}");
        let error = read(&file(name), &ReadOptions { key: Some("coded".into()), ..named_only() }).unwrap_err();
        assert!(error.to_string().contains("column \"coded\" holds categories, not vectors"), "{error}");
    }
    for (column, suffix) in [("view", ""), ("long_view", " is an animal")] {
        let table = read(&file("types.feather"), &ReadOptions { id_column: Some(column.into()), ..with_label("i8") });
        assert_eq!(table.unwrap().ids.unwrap(), NAMES.map(|name| format!("{name}{suffix}")));
    }
}

#[cfg(feature = "tables")]
fn named_only() -> ReadOptions {
    ReadOptions { id_column: Some("name".into()), ..Default::default() }
}

#[cfg(feature = "tables")]
#[test]
fn missing_vectors_are_an_error_or_dropped() {
    let error = read(&file("missing_vectors.parquet"), &ReadOptions::default()).unwrap_err().to_string();
    assert!(error.contains("row 0 (from 0), column \"vector\" is null"), "{error}");
    let drop = ReadOptions { missing: lowland_io::Missing::Drop, ..Default::default() };
    assert_eq!(values(&read(&file("missing_vectors.parquet"), &drop).unwrap()), expected()[3..]);
}

#[cfg(feature = "tables")]
#[test]
fn dictionaries_may_grow_within_a_stream() {
    let options = ReadOptions { label_column: Some("kind".into()), ..Default::default() };
    let table = read(&file("deltas.arrow"), &options).unwrap();
    assert_eq!((values(&table), table.labels.unwrap().codes), (expected(), KINDS.to_vec()));
}

#[cfg(not(feature = "tables"))]
#[test]
fn a_build_without_tables_says_so() {
    let error = read(&file("pandas.parquet"), &ReadOptions::default()).unwrap_err();
    assert!(matches!(error.kind, FileErrorKind::NotBuilt { feature: "tables", .. }), "{error}");
}

#[cfg(feature = "hdf5")]
#[test]
fn anndata_cells() {
    let kind = || ReadOptions { label_column: Some("kind".into()), ..Default::default() };
    for (name, layout) in [("dense", "dense"), ("csr", "sparse"), ("csc", "sparse"), ("old", "dense")] {
        let table = read(&file(&format!("{name}.h5ad")), &kind()).unwrap();
        assert_eq!((table.data.kind(), values(&table)), (layout, expected()), "{name}");
        check_known(name, &table);
        if name != "old" {
            assert_eq!(table.columns.as_deref().unwrap(), ["a", "b", "c"], "{name}");
        }
    }
    for (column, names) in
        [("depth", vec!["0", "0.5", "1", "1.5", "2", "2.5"]), ("lane", vec!["0", "1"]), ("ok", vec!["false", "true"])]
    {
        let options =
            ReadOptions { label_column: Some(column.into()), key: Some("X_pca".into()), ..Default::default() };
        let table = read(&file("dense.h5ad"), &options).unwrap();
        assert_eq!(table.data.dim(), 2);
        assert_eq!(table.labels.unwrap().names, names, "{column}");
    }
    let error = read(&file("dense.h5ad"), &ReadOptions { key: Some("X_umap".into()), ..kind() }).unwrap_err();
    assert!(matches!(&error.kind, FileErrorKind::NoSuch { available, .. } if available == &["X_pca"]), "{error}");
    let error = read(&file("dense.h5ad"), &ReadOptions { label_column: Some("nope".into()), ..Default::default() });
    assert!(error.unwrap_err().to_string().contains("depth"));
}

#[cfg(not(feature = "hdf5"))]
#[test]
fn a_build_without_hdf5_says_so() {
    let error = read(&file("dense.h5ad"), &ReadOptions::default()).unwrap_err();
    assert!(matches!(error.kind, FileErrorKind::NotBuilt { feature: "hdf5", .. }), "{error}");
}

#[test]
fn the_format_can_be_named_where_the_ending_does_not_tell() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("vectors.txt");
    std::fs::write(&path, "in 1 2\nof 3 4\n").unwrap();
    assert_eq!(read(&path, &ReadOptions::default()).unwrap().data.kind(), "text");
    let glove = ReadOptions { format: Some(FileFormat::Vectors), ..Default::default() };
    assert_eq!(read(&path, &glove).unwrap().ids.unwrap(), ["in", "of"]);
    let odd = folder.path().join("odd.xyz");
    std::fs::write(&odd, "1").unwrap();
    assert!(matches!(read(&odd, &ReadOptions::default()).unwrap_err().kind, FileErrorKind::UnknownFormat { .. }));
    assert!(
        read(&folder.path().join("none.csv"), &ReadOptions::default()).unwrap_err().to_string().contains("none.csv")
    );
    let empty = folder.path().join("empty.npy");
    std::fs::write(&empty, "").unwrap();
    assert!(matches!(read(&empty, &ReadOptions::default()).unwrap_err().kind, FileErrorKind::Empty(_)));
}
