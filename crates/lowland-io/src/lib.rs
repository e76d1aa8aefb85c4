//! File formats of lowland: reads data sets, and writes embeddings, neighbor graphs and models.
//!
//! [`read`] reads a file of any [`FileFormat`] into a [`Table`]; [`builtin`] generates or unpacks the built-in data sets.
//! Sizes declared in a file are checked against its length and a memory limit before anything is allocated, so that a
//! damaged or hostile file gives an error. Files are written under no name or a temporary one until they are complete
//! ([`lowland::files`]): a reader sees the old file or the complete new one.

#[cfg(feature = "tables")]
mod arrow_ipc;
mod block_visitor;
mod blocks;
mod budget;
mod builtin;
#[cfg(any(feature = "tables", feature = "hdf5"))]
mod catch_panics;
mod check;
#[cfg(feature = "tables")]
mod columnar;
mod delimited;
mod error;
mod graph;
#[cfg(feature = "hdf5")]
mod h5ad;
mod idx;
mod labels;
mod map;
mod map_writer;
mod npy;
mod npz;
mod options;
#[cfg(feature = "tables")]
mod parquet;
mod parts;
mod read;
mod row_builder;
mod sample;
mod source;
mod sparse;
mod table;
mod text;
mod word2vec;
mod write_columns;
mod write_file;
mod write_table;

pub use lowland::files::{check_target, resolve_links};

pub use blocks::{RowBlock, read_blocks, reader_memory};
pub use builtin::{Builtin, builtin, builtins};
pub use check::check;
pub use error::{FileError, FileErrorKind, Location, NumberRemedy};
pub use graph::{read_graph, read_graph_within, write_graph};
pub use labels::labels_of_rows;
pub use map::{coordinate_name, read_map, read_map_within, write_map, write_map_csv};
pub use map_writer::{MapWriter, write_map_in_blocks};
pub use options::{FileFormat, Header, Missing, ReadOptions, WriteOptions};
pub use parts::{is_pattern, list_parts};
pub use read::{declared_shape, read, read_memory};
pub use sample::{SampledRows, sample_rows};
pub use table::Table;
pub use write_file::{read_bytes, write_bytes};
pub use write_table::write_table;
