//! Values in double precision keep their differences in every format.

use lowland::Data;
use lowland_io::{ReadOptions, Table, WriteOptions, read, read_memory, write_table};

/// 500 time stamps within ten minutes, beside an ordinary column.
fn time_stamps() -> Vec<f64> {
    (0..500).flat_map(|i| [1_700_000_000.0 + 1.2 * f64::from(i), f64::from(i % 7) / 3.0]).collect()
}

fn distinct(data: &Data) -> usize {
    let Data::Dense(rows) = data else { panic!("dense rows") };
    let mut values: Vec<u64> = (0..rows.rows()).map(|i| rows.value(i, 0).to_bits()).collect();
    values.sort_unstable();
    values.dedup();
    values.len()
}

#[test]
fn time_stamps_stay_distinct_in_every_format() {
    let folder = tempfile::tempdir().unwrap();
    let table = Table {
        columns: Some(vec!["time".into(), "x".into()]),
        ..Table::new(Data::from_f64(time_stamps().into_iter(), 500, 2, None).unwrap())
    };
    for name in ["t.csv", "t.tsv", "t.npy", "t.npz", "t.parquet"] {
        let path = folder.path().join(name);
        write_table(&path, &table, &WriteOptions::default()).unwrap();
        let back = read(&path, &ReadOptions::default()).unwrap();
        assert_eq!(distinct(&back.data), 500, "{name}");
        let (Data::Dense(before), Data::Dense(after)) = (&table.data, &back.data) else { panic!("dense rows") };
        for i in 0..500 {
            assert!((before.value(i, 0) - after.value(i, 0)).abs() < 1e-4, "{name}, row {i}");
            assert_eq!(before.row(i)[1], after.row(i)[1], "{name}: ordinary columns are rounded as before");
        }
    }
}

#[test]
fn new_rows_are_read_with_the_offsets_of_a_model() {
    let options = ReadOptions { offsets: Some(vec![1.7e9, 0.0].into()), ..ReadOptions::default() };
    let table = read_memory("t.csv".as_ref(), b"1700000003.25,0.1\n".to_vec(), &options).unwrap();
    let Data::Dense(rows) = &table.data else { panic!("dense rows") };
    assert_eq!((rows.row(0), rows.offsets()), (&[3.25, 0.1][..], Some(&[1.7e9, 0.0][..])));
}

#[test]
fn missing_values_do_not_hide_the_spread() {
    let options = ReadOptions { missing: lowland_io::Missing::Drop, ..ReadOptions::default() };
    let text = b"1700000001\n\n1700000002\n,\n1700000003\n".to_vec();
    let text = String::from_utf8(text).unwrap().replace(',', "NA");
    let table = read_memory("t.csv".as_ref(), text.into_bytes(), &options).unwrap();
    assert_eq!(distinct(&table.data), 3);
}

#[test]
fn values_that_are_too_large_or_too_small_are_named() {
    let error =
        |text: &str| read_memory("t.csv".as_ref(), text.into(), &ReadOptions::default()).unwrap_err().to_string();
    let large = error("a,b\n1,2\n3,1e39\n");
    assert!(
        large.contains("line 3") && large.contains("1e39") && large.contains("too large for 32-bit floats"),
        "{large}"
    );
    let small = error("a,b\n1,1e-200\n3,2e-200\n");
    assert!(small.contains("column 1") && small.contains("too small for 32-bit floats"), "{small}");
}
