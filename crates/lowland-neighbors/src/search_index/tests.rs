use super::*;
use lowland_core::archive::ArchiveKind;
use lowland_core::with_threads;

/// Rows of clusters in eight dimensions.
fn rows(count: usize, seed: u64) -> Vec<f32> {
    let (noise, centers) = (Seed(seed).normals(count * 8), Seed(100).normals(40 * 8));
    noise.iter().enumerate().map(|(at, v)| (v + 3.0 * centers[at / 8 * 7 % 40 * 8 + at % 8]) as f32).collect()
}

fn no_progress(_: f64) -> Result<()> {
    Ok(())
}

#[test]
fn an_index_finds_nearly_all_neighbors_with_their_true_distances() {
    let data = Data::dense(rows(22_000, 1), 8).unwrap();
    let new = Data::dense(rows(300, 2), 8).unwrap();
    for metric in [Metric::Euclidean, Metric::Cosine] {
        let indexed = IndexedRows::new(data.clone(), metric, 20);
        let index = indexed.index().expect("many rows with structure");
        assert!(index.recall() >= TARGET_RECALL && index.visited_share() < 0.15, "{metric} {}", index.visited_share());
        let find = |search| indexed.nearest(&new, 20, search, &mut no_progress).unwrap();
        let (found, exact) = (find(QuerySearch::Indexed), find(QuerySearch::Exact));
        let mut hits = 0;
        for i in 0..new.rows() {
            let (columns, distances) = found.row(i);
            let reach = exact.row(i).1[19];
            hits += distances.iter().filter(|&&d| d <= reach).count();
            for (&j, &d) in columns.iter().zip(distances) {
                assert_eq!(d, crate::distance(&new, i, &data, j as usize, metric) as f32);
            }
            assert!(columns.iter().zip(distances).is_sorted_by(|a, b| (a.1, a.0) < (b.1, b.0)), "in order, each once");
        }
        let recall = hits as f64 / (300.0 * 20.0);
        assert!(recall > 0.97, "{metric}: {recall}");
    }
}

#[test]
fn the_result_for_a_row_depends_on_that_row_alone() {
    let data = Data::dense(rows(20_500, 3), 8).unwrap();
    let new = Data::dense(rows(40, 4), 8).unwrap();
    let find = |threads, new: &Data| {
        let search = || {
            let indexed = IndexedRows::new(data.clone(), Metric::Euclidean, 10);
            assert!(indexed.index().is_some());
            indexed.nearest(new, 10, QuerySearch::Indexed, &mut no_progress).unwrap()
        };
        with_threads(Some(threads), search).unwrap()
    };
    let all = find(1, &new);
    assert_eq!(find(3, &new), all);
    let alone = find(2, &new.select(&[17]));
    assert_eq!(alone.row(0), all.row(17));
}

#[test]
fn an_index_is_loaded_as_it_was_saved_and_damage_is_an_error() {
    let indexed = IndexedRows::new(Data::dense(rows(20_000, 5), 8).unwrap(), Metric::Cosine, 10);
    let mut archive = Archive::new(ArchiveKind::Model);
    indexed.save("training", &mut archive);
    let load = |archive: &Archive| IndexedRows::load("training", archive, Metric::Cosine, &|_| 10);
    let loaded = load(&archive).unwrap();
    assert!(loaded.index.get().is_some_and(Option::is_some), "it is not built again");
    assert_eq!(loaded.index(), indexed.index());
    let damaged = |name: &str, change: &dyn Fn(&mut Archive, String)| {
        let mut archive = archive.clone();
        change(&mut archive, format!("training/index/{name}"));
        load(&archive).is_err()
    };
    assert!(damaged("order", &|archive, name| archive.put(name, vec![0u32; 20_000])));
    assert!(damaged("starts", &|archive, name| archive.put(name, vec![0u64, 5, 3, 20_000])));
    assert!(damaged("centers", &|archive, name| archive.put(name, vec![f32::NAN; 16])));
    assert!(damaged("shift", &|archive, name| archive.put(name, vec![0.0f32; 3])));
    assert!(damaged("visited", &|archive, name| archive.put(name, 20_001u64)));
    assert!(damaged("recall", &|archive, name| archive.remove(&name)));
}

#[test]
fn there_is_no_index_of_few_rows_other_metrics_or_rows_without_structure() {
    let few = Data::dense(rows(5000, 6), 8).unwrap();
    assert!(SearchIndex::new(&few, Metric::Euclidean, 10, Seed(0)).is_none());
    let many = Data::dense(rows(20_000, 6), 8).unwrap();
    assert!(SearchIndex::new(&many, Metric::Manhattan, 10, Seed(0)).is_none());
    let noise: Vec<f32> = Seed(7).normals(20_000 * 60).iter().map(|&v| v as f32).collect();
    assert!(SearchIndex::new(&Data::dense(noise, 60).unwrap(), Metric::Euclidean, 10, Seed(0)).is_none());
    // Rows that are all equal are neighbors of each other.
    let equal = IndexedRows::new(Data::dense(vec![1.0; 40_000], 2).unwrap(), Metric::Euclidean, 10);
    let found = indexed_or_exact(&equal);
    assert_eq!(found.row(0).1, [0.0; 10]);
}

fn indexed_or_exact(rows: &IndexedRows) -> NeighborGraph {
    let new = Data::dense(vec![1.0; 4], 2).unwrap();
    rows.nearest(&new, 10, QuerySearch::Indexed, &mut no_progress).unwrap()
}
