use super::*;
use proptest::prelude::*;

fn round_trip(ending: &str, table: &AnnotatedEmbedding) -> AnnotatedEmbedding {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(format!("map.{ending}"));
    write_map(&path, table, &WriteOptions::default()).unwrap();
    read_map(&path).unwrap()
}

fn tabular() -> Vec<&'static str> {
    if cfg!(feature = "tables") { vec!["csv", "tsv", "parquet"] } else { vec!["csv", "tsv"] }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn maps_come_back_to_the_last_bit(
        dim in 1usize..6,
        values in prop::collection::vec(prop::num::f64::NORMAL | prop::num::f64::ZERO, 30),
        words in prop::collection::vec("[a-z ,\"\n;]{0,8}x", 30),
        bare: bool,
    ) {
        let map = Embedding::new(values[..30 / dim * dim].to_vec(), dim).unwrap();
        let ids = words[..30 / dim].to_vec();
        let known = |ids: Vec<String>| ids.iter().map(|id| id.trim().to_string()).collect::<Vec<_>>();
        let table = AnnotatedEmbedding {
            ids: (!bare).then(|| known(ids.clone())),
            labels: (!bare).then(|| Labels::new(known(ids))),
            std: (!bare).then(|| values[..30 / dim].to_vec()),
            covariances: (!bare).then(|| {
                let square = dim * dim;
                // Symmetric: the entry of a pair depends on the pair alone.
                let entry = |at: usize| values[(at / square + at % square % dim + at % square / dim) % 30];
                (0..30 / dim * square).map(entry).collect()
            }),
            reliability: None,
            columns: Vec::new(),
            embedding: map,
        };
        for ending in tabular() {
            prop_assert_eq!(&round_trip(ending, &table), &table, "{}", ending);
        }
        prop_assert_eq!(round_trip("npy", &table).embedding, table.embedding);
    }
}

#[test]
fn the_columns_have_the_names_other_viewers_know() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("map.csv");
    let map = Embedding::new(vec![1.0, 0.1, 1e300, -2.0], 4).unwrap();
    let (ids, labels) = (Some(vec!["a,b".into()]), Some(Labels::new(["cat"])));
    write_map(&path, &AnnotatedEmbedding { ids, labels, std: Some(vec![0.5]), ..map.into() }, &WriteOptions::default())
        .unwrap();
    assert_eq!(
        std::fs::read_to_string(&path).unwrap(),
        "id,projection_x,projection_y,projection_z,projection_4,label,std\n\"a,b\",1.0,0.1,1e300,-2.0,cat,0.5\n"
    );
    let flat = Embedding::new(vec![1.0, 2.0], 2).unwrap();
    write_map(
        &path,
        &AnnotatedEmbedding { covariances: Some(vec![4.0, 0.5, 0.5, 1.0]), ..flat.into() },
        &WriteOptions::default(),
    )
    .unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(text, "projection_x,projection_y,cov_x_x,cov_x_y,cov_y_y\n1.0,2.0,4.0,0.5,1.0\n");
    // Some of them are no covariance, but columns like others.
    std::fs::write(&path, text.replace("cov_x_y", "cov")).unwrap();
    let map = read_map(&path).unwrap();
    assert!(map.covariances.is_none() && map.columns.len() == 3);
}

#[test]
fn other_columns_are_kept_and_follow_their_rows() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("map.csv");
    std::fs::write(&path, "depth,projection_x,projection_y,id\n1.5,1,2,a\n,3,4,b\n").unwrap();
    let map = read_map(&path).unwrap();
    assert_eq!(map.columns, [("depth".to_string(), vec!["1.5".to_string(), String::new()])]);
    let selected = map.select(&[1, 0, 1]);
    assert_eq!((selected.rows(), selected.columns[0].1[1].as_str()), (3, "1.5"));
    assert_eq!(selected.ids.clone().unwrap(), ["b", "a", "b"]);
    write_map(&path, &selected, &WriteOptions::default()).unwrap();
    assert_eq!(read_map(&path).unwrap(), selected);
}

#[test]
fn what_cannot_be_written_or_read_is_explained() {
    let folder = tempfile::tempdir().unwrap();
    let map = Embedding::new(vec![1.0, 2.0], 2).unwrap();
    let write = |name: &str, ids: Option<Vec<String>>| {
        let map = AnnotatedEmbedding { ids, ..map.clone().into() };
        write_map(&folder.path().join(name), &map, &WriteOptions::default()).unwrap_err().to_string()
    };
    assert!(write("map.xls", None).contains(".xls; use .csv"));
    assert!(write("map.csv", Some(Vec::new())).contains("ids: expected 1, found 0"));
    let path = folder.path().join("other.csv");
    std::fs::write(&path, "x,y\n1,2\n").unwrap();
    assert!(read_map(&path).unwrap_err().to_string().contains("no column \"projection_x\"; available: x, y"));
    std::fs::write(&path, "projection_x,projection_y\n1,two\n").unwrap();
    assert!(read_map(&path).unwrap_err().to_string().contains("column \"projection_y\": \"two\""));
    std::fs::write(&path, "projection_x,projection_y\n").unwrap();
    assert!(read_map(&path).unwrap_err().to_string().contains("no points"));
}

#[test]
fn maps_that_are_not_finite_are_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let map = |values: [f64; 2], std: f64, covariance: f64| AnnotatedEmbedding {
        std: Some(vec![std]),
        covariances: Some(vec![covariance; 4]),
        ..Embedding::new(values.to_vec(), 2).unwrap().into()
    };
    let (nan, inf) = (f64::NAN, f64::INFINITY);
    for bad in [map([0.0, nan], 1.0, 1.0), map([0.0, 1.0], inf, 1.0), map([0.0, 1.0], 1.0, nan)] {
        for ending in tabular().into_iter().chain(["npy"]) {
            let path = folder.path().join(format!("map.{ending}"));
            let error = write_map(&path, &bad, &WriteOptions::default()).unwrap_err().to_string();
            assert!(error.contains("of row 0 (from 0) is "), "{error}");
        }
        assert!(write_map_csv(&mut Vec::new(), &bad, &WriteOptions::default()).is_err());
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn cells_that_spreadsheets_would_evaluate_are_marked_if_asked_for() {
    let map = AnnotatedEmbedding {
        ids: Some(vec!["=1+2".into(), "-3".into(), "a=b".into()]),
        columns: vec![("@note".into(), vec!["+x".into(), "-x".into(), "\tx".into()])],
        ..Embedding::new(vec![-1.0, -2.0, -3.0], 1).unwrap().into()
    };
    let text = |escape_formulas| {
        let mut out = Vec::new();
        write_map_csv(&mut out, &map, &WriteOptions { escape_formulas }).unwrap();
        String::from_utf8(out).unwrap()
    };
    assert_eq!(text(false), "id,projection_x,@note\n=1+2,-1.0,+x\n-3,-2.0,-x\na=b,-3.0,\tx\n");
    assert_eq!(text(true), "id,projection_x,'@note\n'=1+2,-1.0,'+x\n-3,-2.0,'-x\na=b,-3.0,'\tx\n");
}

#[test]
fn columns_of_reliability_round_trip_and_text_of_the_same_name_is_a_column_like_others() {
    let mut reliability = Reliability::default();
    reliability.set(ReliabilityColumn::Kept, vec![0.25, 1.0]);
    reliability.set(ReliabilityColumn::Island, vec![1.0, 0.0]);
    let map = AnnotatedEmbedding {
        reliability: Some(reliability),
        columns: vec![("lost".into(), vec!["yes".into(), "no".into()])],
        ..Embedding::new(vec![1.0, 2.0, 3.0, 4.0], 2).unwrap().into()
    };
    for ending in tabular() {
        assert_eq!(round_trip(ending, &map), map, "{ending}");
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("map.csv");
    std::fs::write(&path, "projection_x,jump,kept\n1,,0.5\n2,NaN,0.75\n").unwrap();
    let reliability = read_map(&path).unwrap().reliability.unwrap();
    assert_eq!(reliability.get(ReliabilityColumn::Kept), Some(&[0.5, 0.75][..]));
    assert!(reliability.get(ReliabilityColumn::Jump).unwrap().iter().all(|value| value.is_nan()));
}
