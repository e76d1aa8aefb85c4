use std::ops::Range;

use super::*;
use crate::options::Missing;
use crate::{WriteOptions, read, write_table};
use lowland::{Data, Embedding, MemoryBudget, Seed};

const ROWS: usize = 53;

fn table() -> Table {
    let values: Vec<f32> = Seed(5).normals(ROWS * 3).iter().map(|&v| v as f32).collect();
    let mut table = Table::new(Data::dense(values, 3).unwrap());
    table.labels = Some(Labels::new((0..ROWS).map(|i| ["a", "b", "c"][i * i % 3])));
    table.columns = Some(["u", "v", "w"].map(String::from).to_vec());
    table
}

/// Values, labels, ids and notes of all rows, read in blocks.
fn in_blocks(path: &Path, options: &ReadOptions, block_rows: usize) -> (Vec<f64>, Vec<String>, Vec<String>) {
    let (mut values, mut labels, mut ids, mut next) = (Vec::new(), Vec::new(), Vec::new(), 0);
    let rows = read_blocks(path, options, block_rows, &mut |block| {
        assert!(block.table.rows() <= block_rows);
        assert_eq!(block.first_row, next);
        next += if options.missing == Missing::Drop { block_rows } else { block.table.rows() };
        values.extend(dense_values(&block.table.data));
        let of_block = block.table.labels.as_ref();
        labels.extend((0..block.table.rows()).filter_map(|i| of_block.map(|labels| labels.name(i).to_string())));
        ids.extend(block.table.ids.unwrap_or_default());
        ControlFlow::Continue(())
    });
    assert!(rows.unwrap() <= ROWS);
    (values, labels, ids)
}

fn dense_values(data: &Data) -> Vec<f64> {
    match data {
        Data::Dense(x) => x.to_f64(),
        Data::Sparse(x) => (0..x.rows())
            .flat_map(|i| {
                let mut row = vec![0.0; x.dim()];
                let (columns, values) = x.row(i);
                columns.iter().zip(values).for_each(|(&j, &v)| row[j as usize] = f64::from(v));
                row
            })
            .collect(),
        Data::Text(_) => Vec::new(),
    }
}

fn check_against_whole(path: &Path, options: &ReadOptions) {
    let whole = read(path, options).unwrap();
    let labels: Vec<String> =
        (0..whole.rows()).filter_map(|i| whole.labels.as_ref().map(|labels| labels.name(i).to_string())).collect();
    for block_rows in [1, 7, ROWS - 1, ROWS, 1000] {
        let (values, found, ids) = in_blocks(path, options, block_rows);
        assert_eq!(values, dense_values(&whole.data), "{} {block_rows}", path.display());
        assert_eq!(found, labels);
        assert_eq!(ids, whole.ids.clone().unwrap_or_default());
    }
}

#[test]
fn blocks_of_every_format_are_the_rows_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let labelled = ReadOptions { label_column: Some("label".into()), ..Default::default() };
    for name in ["t.csv", "t.tsv", "t.parquet"] {
        write_table(&path(name), &table(), &WriteOptions::default()).unwrap();
        check_against_whole(&path(name), &labelled);
        check_against_whole(&path(name), &ReadOptions { max_rows: Some(20), ..labelled.clone() });
    }
    let plain = Table { labels: None, columns: None, ..table() };
    write_table(&path("t.npy"), &plain, &WriteOptions::default()).unwrap();
    check_against_whole(&path("t.npy"), &ReadOptions::default());
    // Fortran order, in double precision.
    let columns: Vec<f64> = (0..3).flat_map(|j| (0..ROWS).map(move |i| (i * 3 + j) as f64 / 8.0)).collect();
    let bytes = npy::encode("<f8", &[ROWS, 3], bytemuck::cast_slice(&columns));
    std::fs::write(path("f.npy"), patched(&bytes)).unwrap();
    check_against_whole(&path("f.npy"), &ReadOptions::default());
    let mut idx = vec![0, 0, 8, 3];
    [ROWS as u32, 2, 2].iter().for_each(|size| idx.extend(size.to_be_bytes()));
    idx.extend((0..ROWS * 4).map(|v| v as u8));
    std::fs::write(path("images.idx3-ubyte"), idx).unwrap();
    check_against_whole(&path("images.idx3-ubyte"), &ReadOptions::default());
    // A format that is read as a whole.
    let words: String = (0..ROWS).map(|i| format!("word{i} {} 0.5\n", i as f32 / 4.0)).collect();
    std::fs::write(path("w.vec"), words).unwrap();
    check_against_whole(&path("w.vec"), &ReadOptions::default());
}

/// The bytes of a `.npy` file with its order changed to that of Fortran.
fn patched(bytes: &[u8]) -> Vec<u8> {
    let at = bytes.windows(5).position(|text| text == b"False").unwrap();
    let mut bytes = bytes.to_vec();
    bytes[at..at + 5].copy_from_slice(b"True ");
    bytes
}

#[test]
fn gzip_files_are_read_in_blocks() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv.gz");
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    let text: String = "a;b\n".to_string() + &(0..ROWS).map(|i| format!("{i}.5;{}\n", i * i)).collect::<String>();
    std::io::Write::write_all(&mut packed, text.as_bytes()).unwrap();
    std::fs::write(&path, packed.finish().unwrap()).unwrap();
    check_against_whole(&path, &ReadOptions::default());
}

#[test]
fn an_arrow_stream_and_anndata_are_read_in_blocks() {
    // Written by pyarrow and anndata: see tests/data/make.py.
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let mut seen = 0;
    for entry in std::fs::read_dir(data).unwrap() {
        let path = entry.unwrap().path();
        let extension = path.extension().unwrap_or_default().to_string_lossy().into_owned();
        if !["arrow", "h5ad", "feather"].contains(&extension.as_str()) {
            continue;
        }
        let Ok(whole) = read(&path, &ReadOptions::default()) else { continue };
        if matches!(whole.data, Data::Text(_)) {
            continue;
        }
        for block_rows in [1, 3, 1000] {
            let (mut values, mut ids) = (Vec::new(), Vec::new());
            read_blocks(&path, &ReadOptions::default(), block_rows, &mut |block| {
                values.extend(dense_values(&block.table.data));
                ids.extend(block.table.ids.unwrap_or_default());
                ControlFlow::Continue(())
            })
            .unwrap();
            assert_eq!(values, dense_values(&whole.data), "{}", path.display());
            assert_eq!(ids, whole.ids.clone().unwrap_or_default());
        }
        seen += 1;
    }
    assert!(seen >= 3, "only {seen} files");
}

#[test]
fn errors_name_the_row_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.npy");
    let mut values: Vec<f64> = (0..40).map(f64::from).collect();
    values[31] = f64::NAN;
    let write = |values: &[f64]| {
        std::fs::write(&path, npy::encode("<f8", &[20, 2], bytemuck::cast_slice(values))).unwrap();
    };
    let failure = || read_blocks(&path, &ReadOptions::default(), 4, &mut |_| ControlFlow::Continue(())).unwrap_err();
    write(&values);
    let message = failure().to_string();
    assert!(message.contains("t.npy: row 15 (from 0), column 1 is NaN"), "{message}");
    values[31] = 1e300;
    write(&values);
    let message = failure().to_string();
    assert!(message.contains("row 15 (from 0), column 1: 1e300 is too large"), "{message}");
    // Dropped rows are counted in the numbers of the others.
    values[31] = f64::INFINITY;
    write(&values);
    let options = ReadOptions { missing: Missing::Drop, ..Default::default() };
    let (_, _, ids) = in_blocks(&path, &options, 4);
    assert_eq!(ids, (0..20).filter(|i| *i != 15).map(|i| i.to_string()).collect::<Vec<_>>());
}

#[test]
fn the_memory_of_one_block_is_enough() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv");
    std::fs::write(&path, "1.5,2.25,-3\n".repeat(50_000)).unwrap();
    let memory = MemoryBudget::new(Some(60_000));
    let options = ReadOptions { memory: memory.clone(), ..Default::default() };
    assert!(read(&path, &options).is_err());
    let (mut rows, mut most) = (0, 0);
    read_blocks(&path, &options, 1000, &mut |block| {
        rows += block.table.rows();
        most = most.max(memory.reserved());
        ControlFlow::Continue(())
    })
    .unwrap();
    assert_eq!((rows, memory.reserved()), (50_000, 0));
    assert!((12_000..60_000).contains(&most), "{most}");
}

#[test]
fn maps_written_in_blocks_are_the_same_files() {
    let folder = tempfile::tempdir().unwrap();
    let map = lowland::AnnotatedEmbedding {
        ids: Some((0..ROWS).map(|i| format!("row {i}")).collect()),
        labels: table().labels,
        std: Some(vec![0.5; ROWS]),
        ..Embedding::new(Seed(1).normals(ROWS * 2), 2).unwrap().into()
    };
    let rows = |range: Range<usize>| {
        let which: Vec<usize> = range.clone().collect();
        lowland::AnnotatedEmbedding {
            ids: map.ids.as_ref().map(|ids| ids[range.clone()].to_vec()),
            labels: map.labels.as_ref().map(|labels| labels.select(&which)),
            std: map.std.as_ref().map(|std| std[range.clone()].to_vec()),
            ..Embedding::new(map.embedding.values()[range.start * 2..range.end * 2].to_vec(), 2).unwrap().into()
        }
    };
    for name in ["m.csv", "m.tsv", "m.parquet", "m.npy"] {
        let (whole, parts) = (folder.path().join(name), folder.path().join(format!("parts-{name}")));
        crate::write_map(&whole, &map, &WriteOptions::default()).unwrap();
        for size in [1, 10, ROWS, 100] {
            crate::write_map_in_blocks(&parts, &WriteOptions::default(), |writer| {
                (0..ROWS).step_by(size).try_for_each(|at| writer.write(&rows(at..ROWS.min(at + size))))
            })
            .unwrap();
            assert_eq!(std::fs::read(&whole).unwrap(), std::fs::read(&parts).unwrap(), "{name} {size}");
        }
        let failed = crate::write_map_in_blocks(&parts, &WriteOptions::default(), |writer| {
            writer.write(&rows(0..3))?;
            Err(FileErrorKind::Empty("made to fail").at(&parts))
        });
        assert!(failed.unwrap_err().to_string().contains("made to fail"));
        assert_eq!(std::fs::read(&whole).unwrap(), std::fs::read(&parts).unwrap(), "the old file is kept");
    }
}
