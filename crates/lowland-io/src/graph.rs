//! Neighbor graphs (`.npz`): our own, and those of scikit-learn, umap and pynndescent.

use std::path::Path;

use lowland::neighbors::NeighborGraph;
use lowland::{MemoryBudget, Metric};

use crate::budget::Budget;
use crate::error::{FileError, FileErrorKind, Result};
use crate::npy::{self, NpyArray};
use crate::npz::{self, NpzArchive};
use crate::source::FileBytes;
use crate::write_file::write_atomically;

const FORMAT: &str = "neighbor graph";

/// Writes a graph as `.npz`: `indices` and `distances` as n x k when every row has k neighbors, else one after another
/// with `indptr`; `targets`, the number of points they are taken from; and `metric`.
pub fn write_graph(path: &Path, graph: &NeighborGraph) -> Result<(), FileError> {
    write(path, graph).map_err(|kind| kind.at(path))
}

fn write(path: &Path, graph: &NeighborGraph) -> Result<()> {
    let edges = graph.indices().len();
    let degree = graph.min_degree();
    let shape = if degree > 0 && degree * graph.rows() == edges { vec![graph.rows(), degree] } else { vec![edges] };
    let targets = graph.targets() as i64;
    let mut arrays = vec![
        ("indices", npy::encode("<u4", &shape, bytemuck::cast_slice(graph.indices()))),
        ("distances", npy::encode("<f4", &shape, bytemuck::cast_slice(graph.distances()))),
        ("targets", npy::encode("<i8", &[], &targets.to_le_bytes())),
        ("metric", npy::encode_texts(&[graph.metric().to_string()])),
    ];
    if shape.len() == 1 {
        let indptr: Vec<i64> = graph.indptr().iter().map(|&start| start as i64).collect();
        arrays.push(("indptr", npy::encode("<i8", &[indptr.len()], bytemuck::cast_slice(&indptr))));
    }
    let bytes = npz::encode(&arrays)?;
    write_atomically(path, |file| Ok(file.write_all(&bytes)?))
}

/// Reads a graph that [`write_graph`] wrote; a sparse matrix of distances as scikit-learn's `KNeighborsTransformer`
/// gives it (`scipy.sparse.save_npz`); or the pair `indices`, `distances` of umap and pynndescent. In the latter two a
/// point is no neighbor of its own, and -1 is no neighbor at all. Where the file does not name the metric it is
/// [`Metric::Precomputed`].
pub fn read_graph(path: &Path) -> Result<NeighborGraph, FileError> {
    read_graph_within(path, &MemoryBudget::default())
}

/// Like [`read_graph`], within a budget in which the graph stays reserved.
pub fn read_graph_within(path: &Path, memory: &MemoryBudget) -> Result<NeighborGraph, FileError> {
    let read = || {
        let (bytes, budget) = FileBytes::open(path, memory)?;
        parse(&bytes, &budget)
    };
    let graph = read().map_err(|kind| kind.at(path))?;
    memory.reserve((graph.indices().len() * 8 + graph.rows() * 8) as u64);
    Ok(graph)
}

fn parse(bytes: &[u8], budget: &Budget) -> Result<NeighborGraph> {
    let mut archive = NpzArchive::open(bytes, budget)?;
    let metric =
        if archive.has("metric") { archive.texts("metric")?.concat().parse::<Metric>()? } else { Metric::Precomputed };
    if archive.is_sparse() {
        let x = archive.sparse()?;
        if x.rows() != x.dim() {
            return Err(FileErrorKind::format(
                FORMAT,
                format!("a matrix of distances between points is square, not {} x {}", x.rows(), x.dim()),
            ));
        }
        let edges = (0..x.rows()).flat_map(|i| {
            let (columns, distances) = x.row(i);
            columns.iter().zip(distances).map(move |(&j, &distance)| (i, i64::from(j), distance))
        });
        return without_self(edges, x.rows(), x.rows(), metric);
    }
    let find = |archive: &NpzArchive, names: &[&'static str]| {
        archive.first_of(names).ok_or_else(|| FileErrorKind::NoSuch {
            what: "array",
            name: names[0].into(),
            available: archive.names().to_vec(),
        })
    };
    let indices_name = find(&archive, &["indices", "knn_indices", "arr_0"])?;
    let distances_name = find(&archive, &["distances", "dists", "knn_dists", "arr_1"])?;
    let (indices_bytes, distances_bytes) = (archive.load(indices_name)?, archive.load(distances_name)?);
    let (indices, distances) = (NpyArray::parse(&indices_bytes, budget)?, NpyArray::parse(&distances_bytes, budget)?);
    if indices.header.shape != distances.header.shape {
        return Err(FileErrorKind::format(
            FORMAT,
            format!("indices are {:?}, distances {:?}", indices.header.shape, distances.header.shape),
        ));
    }
    let indptr = match indices.header.shape[..] {
        [rows, k] if k > 0 => (0..=rows).map(|i| i * k).collect(),
        [_] if archive.has("indptr") => archive.indices("indptr")?,
        _ => {
            return Err(FileErrorKind::format(
                FORMAT,
                "indices are rows of neighbors, or one after another with indptr",
            ));
        }
    };
    let lengths = distances.to_f32()?;
    if archive.has("targets") {
        let targets = archive.indices("targets")?;
        let whole = indices.to_indices()?.map(|indices| indices.into_iter().map(u32::try_from).collect());
        let (Some(Ok(indices)), [targets]) = (whole, &targets[..]) else {
            return Err(FileErrorKind::format(FORMAT, "indices and targets are whole numbers, 0 or more"));
        };
        return Ok(NeighborGraph::from_other_program(indptr, indices, lengths, *targets, metric)?);
    }
    let rows = indptr.len().saturating_sub(1);
    let Some(points) = indices.to_i64()?.filter(|points| indptr.last() == Some(&points.len())) else {
        return Err(FileErrorKind::format(FORMAT, "indices are whole numbers, as many as indptr says"));
    };
    if !indptr.is_sorted() {
        return Err(FileErrorKind::format(FORMAT, "indptr must rise"));
    }
    let edges = (0..rows).flat_map(|i| (indptr[i]..indptr[i + 1]).map(move |at| (i, at)));
    without_self(edges.map(|(i, at)| (i, points[at], lengths[at])), rows, rows, metric)
}

/// Creates a graph from edges sorted by row, without edges of a point to itself or to -1.
fn without_self(
    edges: impl Iterator<Item = (usize, i64, f32)>,
    rows: usize,
    targets: usize,
    metric: Metric,
) -> Result<NeighborGraph> {
    let (mut counts, mut indices, mut distances) = (vec![0usize; rows + 1], Vec::new(), Vec::new());
    for (i, j, distance) in edges.filter(|&(i, j, _)| j != i as i64 && j != -1) {
        let Ok(j) = u32::try_from(j) else {
            return Err(FileErrorKind::format(FORMAT, format!("row {i} names point {j}, there are {targets}")));
        };
        counts[i + 1] += 1;
        indices.push(j);
        distances.push(distance);
    }
    for i in 0..rows {
        counts[i + 1] += counts[i];
    }
    Ok(NeighborGraph::from_other_program(counts, indices, distances, targets, metric)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(bytes: &[u8]) -> Result<NeighborGraph> {
        super::parse(bytes, &Budget::unlimited())
    }
    use lowland::data::Sparse;
    use proptest::prelude::*;

    fn round_trip(graph: &NeighborGraph) -> NeighborGraph {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("graph.npz");
        write_graph(&path, graph).unwrap();
        read_graph(&path).unwrap()
    }

    #[test]
    fn graphs_round_trip() {
        let metric = Metric::Minkowski(1.5);
        let uniform = NeighborGraph::uniform(2, vec![1, 2, 0, 2], vec![0.5, 1.0, 0.5, 2.0], 3, metric).unwrap();
        assert_eq!(round_trip(&uniform), uniform);
        let ragged = NeighborGraph::new(vec![0, 0, 2, 3], vec![0, 7, 2], vec![0.0, 1.0, 3.0], 9, Metric::Cosine);
        let ragged = ragged.unwrap();
        assert_eq!(round_trip(&ragged), ragged);
        // Row 0 of a transform may well have point 0 as its neighbor.
        let transform = NeighborGraph::uniform(1, vec![0, 1], vec![0.1, 0.2], 5, Metric::Euclidean).unwrap();
        assert_eq!(round_trip(&transform), transform);
    }

    #[test]
    fn self_edges_of_other_programs_are_dropped() {
        let indices = npy::encode("<i4", &[3, 3], bytemuck::cast_slice(&[0, 1, 2, 1, 0, -1, 2, 1, 0]));
        let distances = [0.0f32, 1.0, 2.0, 0.0, 1.0, f32::INFINITY, 0.0, 0.5, 2.0];
        let distances = npy::encode("<f4", &[3, 3], bytemuck::cast_slice(&distances));
        let umap = parse(&npz::encode(&[("indices", indices), ("distances", distances)]).unwrap()).unwrap();
        assert_eq!(umap.row(0), (&[1, 2][..], &[1.0, 2.0][..]));
        assert_eq!(umap.row(1), (&[0][..], &[1.0][..]));
        assert_eq!(umap.metric(), Metric::Precomputed);

        let matrix = Sparse::new(vec![0, 2, 4], vec![0, 1, 0, 1], vec![0.0, 3.0, 3.0, 0.0], 2).unwrap();
        let sklearn = parse(&npz::encode(&npz::sparse_arrays(&matrix)).unwrap()).unwrap();
        assert_eq!(sklearn.row(1), (&[0][..], &[3.0][..]));
        assert_eq!(sklearn.indices().len(), 2);
    }

    #[test]
    fn invalid_graphs_are_rejected() {
        let graph = |indices: &[i32], distances: &[f32]| {
            let indices = npy::encode("<i4", &[1, indices.len()], bytemuck::cast_slice(indices));
            let distances = npy::encode("<f4", &[1, distances.len()], bytemuck::cast_slice(distances));
            parse(&npz::encode(&[("indices", indices), ("distances", distances)]).unwrap())
        };
        assert!(graph(&[5], &[1.0]).is_err());
        assert!(graph(&[-7], &[1.0]).is_err());
        assert!(graph(&[0, 0], &[1.0]).is_err());
        assert!(parse(&npz::encode(&[("a", npy::encode_texts(&["x"]))]).unwrap()).is_err());
        let wide = Sparse::new(vec![0, 0], vec![], vec![], 2).unwrap();
        assert!(parse(&npz::encode(&npz::sparse_arrays(&wide)).unwrap()).is_err());
    }

    proptest! {
        #[test]
        fn mutilated_graphs_give_a_graph_or_an_error(cut in 0usize..2000, at in 0usize..1400, byte: u8) {
            let graph = NeighborGraph::new(vec![0, 1, 3], vec![1, 0, 1], vec![0.5, 0.5, 1.0], 2, Metric::Euclidean);
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("graph.npz");
            write_graph(&path, &graph.unwrap()).unwrap();
            let mut bytes = std::fs::read(&path).unwrap();
            let at = at % bytes.len();
            bytes[at] = byte;
            bytes.truncate(cut);
            let _ = parse(&bytes);
        }
    }
}
