"""Folders and programs of the benchmarks. Paths are relative to the repository root, which is the working directory of every run."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# The release build of the command-line program and of the Rust programs in kernels/.
BINARIES = Path("target/release")
PROGRAM = BINARIES / "lowland"
# Everything that a run creates besides its results: ignored by git and safe to delete.
WORK = Path("target/bench")
DATA = WORK / "data"
EMBEDDINGS = WORK / "embeddings"
GRAPHS = WORK / "graphs"
RUST_PEERS = WORK / "rust-peers/release/rust-peers"
RESULTS = Path("bench/results")
