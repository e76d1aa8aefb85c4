//! Files for lowland: data in, maps, graphs and models out.
//!
//! [`read`] takes any of the [`Format`]s and gives a [`Table`]; [`builtin`] gives data that need no file. Sizes declared
//! in a file are checked against the file before anything is allocated: a damaged or hostile file gives an error.
//! Everything is written under a temporary name and renamed, so that no reader sees half a file.

mod budget;
mod builtin;
mod check;
mod columns;
mod delimited;
mod error;
mod export;
mod graph;
#[cfg(feature = "hdf5")]
mod h5ad;
mod idx;
#[cfg(feature = "tables")]
mod ipc;
mod lines;
mod map;
mod memory;
mod npy;
mod npz;
mod options;
mod read;
mod source;
mod sparse;
mod table;
#[cfg(feature = "tables")]
mod tables;
mod words;
mod write;

pub use builtin::{Builtin, builtin, builtins};
pub use check::check;
pub use error::{FileError, Place, Problem};
pub use export::write_table;
pub use graph::{read_graph, write_graph};
pub use lines::labels_of_rows;
pub use map::{About, MapTable, coordinate_name, read_map, write_map, write_map_csv};
pub use memory::available_memory;
pub use options::{Format, Header, Missing, ReadOptions};
pub use read::{declared_shape, read, read_memory};
pub use table::{Labels, Table};
pub use write::{read_bytes, write_bytes};
