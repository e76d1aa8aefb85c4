//! Files that are written and read on an unreliable system: calls that transfer fewer bytes than asked for, that a signal
//! interrupts, disks that are full or slow. A reader sees the old file or the complete new one, never a part.

use std::cell::Cell;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use lowland::files::{FileSystem, with_file_system};
use lowland::methods::Pca;
use lowland::neighbors::NeighborGraph;
use lowland::{AnnotatedEmbedding, Data, Embedding, Labels, MemoryBudget, Metric, Seed};
use lowland_io::{
    ReadOptions, Table, WriteOptions, builtin, read, read_bytes, write_bytes, write_graph, write_map, write_table,
};

const OLD: &[u8] = b"the old content";

/// A system with faults.
#[derive(Clone, Default)]
struct UnreliableSystem {
    /// Most bytes that a call transfers.
    most: Option<usize>,
    /// Whether every other call is interrupted.
    interrupts: bool,
    /// Bytes until the disk is full.
    room: Option<u64>,
    /// Time that a call takes.
    delay: Duration,
    failing_step: Option<CompletionStep>,
    calls: Cell<usize>,
    written: Cell<u64>,
}

/// A step after the content has been written.
#[derive(Clone, Copy, PartialEq)]
enum CompletionStep {
    Sync,
    Link,
    Rename,
}

impl UnreliableSystem {
    /// Number of bytes that a call may transfer.
    fn grant(&self, wanted: usize) -> io::Result<usize> {
        let call = self.calls.replace(self.calls.get() + 1);
        std::thread::sleep(self.delay);
        if self.interrupts && call.is_multiple_of(2) {
            return Err(ErrorKind::Interrupted.into());
        }
        // Between one and `most` bytes.
        Ok(self.most.map_or(wanted, |most| wanted.min(1 + call % most)))
    }

    fn step(&self, step: CompletionStep) -> io::Result<()> {
        if self.failing_step == Some(step) { Err(io::Error::other("made to fail")) } else { Ok(()) }
    }
}

impl FileSystem for UnreliableSystem {
    fn read(&self, mut file: &File, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.grant(buffer.len())?;
        file.read(&mut buffer[..count])
    }

    fn write(&self, mut file: &File, bytes: &[u8]) -> io::Result<usize> {
        let mut count = self.grant(bytes.len())?;
        if let Some(room) = self.room {
            count = count.min((room - self.written.get()) as usize);
            if count == 0 {
                return Err(ErrorKind::StorageFull.into());
            }
        }
        let written = file.write(&bytes[..count])?;
        self.written.set(self.written.get() + written as u64);
        Ok(written)
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        self.step(CompletionStep::Sync)?;
        file.sync_data()
    }

    #[cfg(target_os = "linux")]
    fn link(&self, file: &File, name: &Path) -> io::Result<()> {
        struct Reliable;
        impl FileSystem for Reliable {}
        self.step(CompletionStep::Link)?;
        Reliable.link(file, name)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.step(CompletionStep::Rename)?;
        fs::rename(from, to)
    }
}

type WriteCall = Box<dyn Fn(&Path) -> Result<(), String>>;

/// Every function that writes a file, with the name of one.
fn writers() -> Vec<(&'static str, WriteCall)> {
    let map = AnnotatedEmbedding {
        std: Some((0..60).map(|i| f64::from(i) / 7.0).collect()),
        ids: Some((0..60).map(|i| format!("row {i}")).collect()),
        labels: Some(Labels::new((0..60).map(|i| ["a", "b"][i % 2]))),
        ..Embedding::new(Seed(1).normals(120), 2).unwrap().into()
    };
    let table = builtin("blobs", Some(50), None, Seed(1)).unwrap();
    let strings = Table::new(Data::text((0..50).map(|i| format!("string {i}")).collect()));
    let graph = NeighborGraph::uniform(1, (1..41).map(|i| i % 40).collect(), vec![0.5; 40], 40, Metric::Euclidean);
    let model = Pca::default().fit(&table.data).unwrap();
    let mut writers: Vec<(&'static str, WriteCall)> = Vec::new();
    for name in ["map.csv", "map.tsv", "map.parquet", "map.npy"] {
        let map = map.clone();
        writers.push((
            name,
            Box::new(move |path| write_map(path, &map, &WriteOptions::default()).map_err(|e| e.to_string())),
        ));
    }
    for name in ["table.csv", "table.parquet", "table.npy", "table.npz"] {
        let table = table.clone();
        writers.push((
            name,
            Box::new(move |path| write_table(path, &table, &WriteOptions::default()).map_err(|e| e.to_string())),
        ));
    }
    let (graph, page) = (graph.unwrap(), vec![b'x'; 20_000]);
    writers.push((
        "text.txt",
        Box::new(move |path| write_table(path, &strings, &WriteOptions::default()).map_err(|e| e.to_string())),
    ));
    writers.push(("graph.npz", Box::new(move |path| write_graph(path, &graph).map_err(|e| e.to_string()))));
    writers.push(("model.lowland", Box::new(move |path| model.save(path).map_err(|e| e.to_string()))));
    // Pictures, pages, reports and checkpoints.
    writers.push(("page.html", Box::new(move |path| write_bytes(path, &page).map_err(|e| e.to_string()))));
    writers
}

fn files(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn short_and_interrupted_writes_give_the_same_file() {
    let folder = tempfile::tempdir().unwrap();
    for (name, write) in writers() {
        let path = folder.path().join(name);
        write(&path).unwrap();
        let expected = fs::read(&path).unwrap();
        let system = UnreliableSystem { most: Some(999), interrupts: true, ..Default::default() };
        with_file_system(Rc::new(system), || write(&path)).unwrap();
        assert!(fs::read(&path).unwrap() == expected, "{name}");
        fs::remove_file(&path).unwrap();
    }
}

#[test]
fn a_disk_that_is_full_leaves_the_old_file_or_none() {
    let folder = tempfile::tempdir().unwrap();
    for (name, write) in writers() {
        let path = folder.path().join(name);
        write(&path).unwrap();
        let size = fs::metadata(&path).unwrap().len();
        fs::remove_file(&path).unwrap();
        let samples = (0..12).map(|i| i * size / 12).chain([1, size - 1]);
        for (room, replaces) in samples.flat_map(|room| [(room, false), (room, true)]) {
            if replaces {
                fs::write(&path, OLD).unwrap();
            }
            let system = UnreliableSystem { room: Some(room), most: Some(5000), ..Default::default() };
            let error = with_file_system(Rc::new(system), || write(&path)).unwrap_err();
            assert!(error.contains("no storage space"), "{name}: {error}");
            if replaces {
                assert_eq!(fs::read(&path).unwrap(), OLD, "{name} with room for {room} of {size}");
                fs::remove_file(&path).unwrap();
            }
            assert!(files(folder.path()).is_empty(), "{name}: {:?}", files(folder.path()));
        }
        // With room for all of it, there is no error.
        let system = UnreliableSystem { room: Some(size), ..Default::default() };
        with_file_system(Rc::new(system), || write(&path)).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().len(), size);
        fs::remove_file(&path).unwrap();
    }
}

#[test]
fn a_file_that_cannot_be_completed_leaves_the_old_one_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model");
    for step in [CompletionStep::Sync, CompletionStep::Link, CompletionStep::Rename] {
        if step == CompletionStep::Link && !cfg!(target_os = "linux") {
            continue;
        }
        fs::write(&path, OLD).unwrap();
        let system = UnreliableSystem { failing_step: Some(step), ..Default::default() };
        assert!(with_file_system(Rc::new(system), || write_bytes(&path, b"new")).is_err());
        assert_eq!(fs::read(&path).unwrap(), OLD);
        assert_eq!(files(folder.path()), std::slice::from_ref(&path));
    }
}

#[test]
fn readers_see_the_old_file_or_the_new_one_while_a_slow_disk_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model");
    let contents = [vec![b'a'; 30_000], vec![b'b'; 40_000]];
    write_bytes(&path, &contents[0]).unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut seen = [0usize; 2];
            while !done.load(Ordering::Acquire) {
                let now = fs::read(&path).expect("there is always a file");
                let which = contents.iter().position(|content| *content == now).expect("a part of a file was seen");
                seen[which] += 1;
            }
            seen
        });
        for round in 1..20 {
            let system = UnreliableSystem { most: Some(10_000), delay: Duration::from_millis(1), ..Default::default() };
            with_file_system(Rc::new(system), || write_bytes(&path, &contents[round % 2])).unwrap();
        }
        done.store(true, Ordering::Release);
        assert!(reader.join().unwrap().iter().all(|&times| times > 0));
    });
}

#[test]
fn short_and_interrupted_reads_give_the_same_table() {
    let folder = tempfile::tempdir().unwrap();
    let system = || Rc::new(UnreliableSystem { most: Some(777), interrupts: true, ..Default::default() });
    let table = Table { labels: None, ..builtin("blobs", Some(200), None, Seed(1)).unwrap() };
    for name in ["t.npy", "t.npz", "t.csv", "t.parquet"] {
        let path = folder.path().join(name);
        write_table(&path, &table, &WriteOptions::default()).unwrap();
        let expected = read(&path, &ReadOptions::default()).unwrap().data.fingerprint();
        let found = with_file_system(system(), || read(&path, &ReadOptions::default())).unwrap();
        assert_eq!(found.data.fingerprint(), expected, "{name}");
        let bytes = with_file_system(system(), || read_bytes(&path, &MemoryBudget::default())).unwrap();
        assert!(bytes == fs::read(&path).unwrap(), "{name}");
    }
    let model = folder.path().join("model.lowland");
    Pca::default().fit(&table.data).unwrap().save(&model).unwrap();
    let loaded = with_file_system(system(), || lowland::Model::load(&model)).unwrap();
    assert_eq!(loaded.to_bytes(), fs::read(&model).unwrap());
}

#[cfg(unix)]
mod unix {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    #[test]
    fn a_replaced_file_keeps_its_mode() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("private");
        for kept in [0o600, 0o640, 0o666, 0o200] {
            fs::write(&path, OLD).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(kept)).unwrap();
            write_bytes(&path, b"new").unwrap();
            assert_eq!(mode(&path), kept);
            fs::remove_file(&path).unwrap();
        }
    }

    #[test]
    fn a_read_only_file_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model");
        fs::write(&path, OLD).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
        let error = write_bytes(&path, b"new").unwrap_err().to_string();
        assert!(error.contains("read-only"), "{error}");
        assert!(lowland_io::check_target(&path).is_err());
        assert_eq!((fs::read(&path).unwrap(), mode(&path)), (OLD.to_vec(), 0o444));
    }

    #[test]
    fn the_target_of_a_dangling_link_is_written() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("elsewhere")).unwrap();
        let link = folder.path().join("link");
        symlink("second", &link).unwrap();
        symlink("elsewhere/model", folder.path().join("second")).unwrap();
        write_bytes(&link, b"new").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(folder.path().join("elsewhere/model")).unwrap(), b"new");
        let circle = folder.path().join("circle");
        symlink("circle", &circle).unwrap();
        assert!(write_bytes(&circle, b"new").is_err());
        symlink("nowhere/model", folder.path().join("lost")).unwrap();
        let error = lowland_io::check_target(&folder.path().join("lost")).unwrap_err().to_string();
        assert!(error.contains("there is no folder") && error.contains("nowhere"), "{error}");
    }

    #[test]
    fn pipes_are_written_to_directly() {
        use std::os::fd::AsRawFd;
        let (mut reader, writer) = io::pipe().unwrap();
        let path = format!("/proc/self/fd/{}", writer.as_raw_fd());
        if Path::new(&path).exists() {
            write_bytes(Path::new(&path), b"new").unwrap();
            drop(writer);
            let mut received = Vec::new();
            reader.read_to_end(&mut received).unwrap();
            assert_eq!(received, b"new");
        }
    }
}
