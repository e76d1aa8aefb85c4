use super::*;
use lowland::Data;
use proptest::prelude::*;

fn parse(text: &str, options: ReadOptions) -> Result<Table> {
    let delimiter = options.delimiter.unwrap_or(guess_delimiter(text.as_bytes()));
    read(text.as_bytes(), delimiter, &options, &Budget::unlimited())
}

fn values(table: &Table) -> &[f32] {
    match &table.data {
        Data::Dense(x) => x.values(),
        _ => panic!("dense"),
    }
}

fn options(label: &str) -> ReadOptions {
    ReadOptions { label_column: Some(label.into()), ..Default::default() }
}

#[test]
fn label_and_id_columns_are_found_by_name_or_index() {
    let text = "name,a,b,kind\n\"x, y\",1,2.5,cat\nz,-3e2,+4,dog\n";
    for (label, id) in [("kind", "name"), ("3", "0"), ("-1", "-4")] {
        let table = parse(text, ReadOptions { id_column: Some(id.into()), ..options(label) }).unwrap();
        assert_eq!(values(&table), [1.0, 2.5, -300.0, 4.0]);
        assert_eq!(table.ids.as_deref().unwrap(), ["x, y", "z"]);
        assert_eq!(table.labels.as_ref().unwrap().names, ["cat", "dog"]);
        assert_eq!(table.columns.as_deref().unwrap(), ["a", "b"]);
    }
}

#[test]
fn headers_are_detected() {
    for (text, has) in [
        ("a,b\n1,2\n", true),
        ("1,2\n3,4\n", false),
        ("0,1,2\n5,6,7\n", true),
        (",0,1\n0,5,6\n", true),
        (",0\n0,5\n", true),
        (",0,1\n0,1,2\n1,2,0\n", true),
        ("0,1\n1,0\n1,1\n0,0\n", false),
        ("0,1,2\n5,6,7\n2,0,1\n", false),
        ("0,1,2\n0,1,1\n2,2,0\n", true),
        ("1,0,2\n5,6,7\n", false),
        ("5.1,3.5,setosa\n4.9,3.0,setosa\n", false),
        ("a,b,species\n5.1,3.5,setosa\n", true),
        ("1;2\r\n3;4\r\n", false),
        ("\u{feff}a\tb\n1\t2\n", true),
    ] {
        let label = if text.contains("setosa") { options("2") } else { ReadOptions::default() };
        let table = parse(text, label).unwrap();
        assert_eq!(table.columns.is_some(), has, "{text:?}");
    }
}

#[test]
fn an_unnamed_first_column_becomes_the_ids() {
    let table = parse(",a,b\n7,1,2\n9,3,4\n", ReadOptions::default()).unwrap();
    assert_eq!(values(&table), [1.0, 2.0, 3.0, 4.0]);
    assert_eq!(table.ids.unwrap(), ["7", "9"]);
}

#[test]
fn errors_name_line_column_text_and_remedy() {
    let message = |text: &str, options| parse(text, options).unwrap_err().to_string();
    let text = message("a,b\n1,2\n3,cat\n", ReadOptions::default());
    assert!(text.contains("line 3, column \"b\": \"cat\"") && text.contains("label_column"), "{text}");
    let text = message("1,2\n3,4,5\n", ReadOptions::default());
    assert!(text.contains("line 2 has 3 fields, the lines before it have 2") && text.contains("delimiter"), "{text}");
    for hole in ["", "NA", "NaN", "null", "?"] {
        let text = message(&format!("a,b\n1,2\n3,{hole}\n"), ReadOptions::default());
        assert!(text.contains("line 3, column \"b\" is") && text.contains("drop"), "{text}");
    }
    assert!(message("1,2\n3,1e39\n", ReadOptions::default()).contains("1e39 is too large"));
    assert!(message("a,b\n1,2\n", options("c")).contains("no column \"c\"; available: a, b"));
    assert!(message("", ReadOptions::default()).contains("empty"));
    assert!(message("a,b\n", ReadOptions::default()).contains("no rows"));
    assert!(message("a\nx\n", options("a")).contains("none is left"));
    let bytes = b"a,b\n1,\xff\n";
    assert!(
        read(bytes, b',', &options("b"), &Budget::unlimited()).unwrap_err().to_string().contains("line 2 is not UTF-8")
    );
}

#[test]
fn missing_cells_become_nan_when_rows_may_be_dropped() {
    let table = parse("1,2\n,4\n", ReadOptions { missing: Missing::Drop, ..Default::default() }).unwrap();
    assert!(values(&table)[2].is_nan());
}

#[test]
fn one_row_is_enough_and_rows_can_be_limited() {
    assert_eq!(parse("1,2", ReadOptions::default()).unwrap().rows(), 1);
    let limited = ReadOptions { max_rows: Some(2), ..Default::default() };
    assert_eq!(parse("1\n2\n3\nrubbish\n", limited).unwrap().rows(), 2);
}

proptest! {
    #[test]
    fn numbers_come_back_as_they_were_written(rows in prop::collection::vec(prop::array::uniform3(-1e30f32..1e30), 1..20)) {
        let text: String = rows.iter().map(|r| format!("{:?},{:e},{}\n", r[0], r[1], r[2])).collect();
        let table = parse(&text, ReadOptions { header: Header::No, ..Default::default() }).unwrap();
        // A column of close numbers is stored as differences from an offset.
        let Data::Dense(found) = &table.data else { panic!("dense rows") };
        prop_assert_eq!(found.to_f64().into_iter().map(|v| v as f32).collect::<Vec<_>>(), rows.concat());
    }

    #[test]
    fn any_bytes_give_a_table_or_an_error(bytes in prop::collection::vec(prop::sample::select(b"01.,;\"\n\r\t e-aN?\xff".to_vec()), 0..60)) {
        let budget = Budget::unlimited();
        let _ = read(&bytes, guess_delimiter(&bytes), &ReadOptions::default(), &budget);
        let _ = read(&bytes, b',', &ReadOptions { missing: Missing::Drop, ..options("0") }, &budget);
    }
}
