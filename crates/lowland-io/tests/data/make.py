"""Makes the golden files: small files written by the programs whose files lowland reads.

Run with a Python that has numpy, scipy, pandas, pyarrow, anndata, h5py and scikit-learn:  python make.py
Every file holds the same 6 x 3 matrix, so that one expectation serves all: X[i, j] = i - 0.5 * j, and 0 where i == j.
"""
import datetime
import decimal
import gzip
import os
import struct

import anndata
import h5py
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.ipc as ipc
import pyarrow.parquet as pq
import scipy.sparse as sp
from sklearn.neighbors import KNeighborsTransformer

os.chdir(os.path.dirname(os.path.abspath(__file__)))
n, d = 6, 3
X = np.array([[0.0 if i == j else i - 0.5 * j for j in range(d)] for i in range(n)])
names = ["ant", "bee", "cat", "dög", "elk", "fox, red"]
kinds = ["b", "a", "b", "c", "a", "a"]

np.save("f4.npy", X.astype("<f4"))
np.save("f8_fortran.npy", np.asfortranarray(X))
np.save("f8_big_endian.npy", X.astype(">f8"))
np.save("f2.npy", X.astype("f2"))
np.save("i2_3d.npy", (2 * X).astype("i2").reshape(n, d, 1))
np.savez_compressed("named.npz", X=X, other=np.zeros((2, 2)), y=np.array([2, 1, 2, 3, 1, 1]))
np.savez("words.npz", points=X, labels=np.array(kinds), ids=np.array(names))
sp.save_npz("csr.npz", sp.csr_matrix(X))
sp.save_npz("csc.npz", sp.csc_matrix(X))
sp.save_npz("coo.npz", sp.coo_matrix(X), compressed=False)

sp.save_npz("neighbors.npz", KNeighborsTransformer(n_neighbors=2).fit_transform(X))

frame = pd.DataFrame(X, columns=["a", "b", "c"])
frame.insert(0, "name", names)
frame["kind"] = kinds
frame.to_csv("pandas.csv.gz", index=False)
frame.set_index("name").to_csv("pandas.tsv", sep="\t")
pd.DataFrame(X).to_csv("plain.csv")
frame.assign(kind=frame.kind.astype("category")).to_parquet("pandas.parquet", index=False)
frame.to_feather("pandas.feather")
table = pa.table(
    {"name": names, "vector": pa.array([list(r) for r in X], pa.list_(pa.float32(), d)), "kind": pa.array(kinds).dictionary_encode()}
)
pq.write_table(table, "vectors.parquet", compression="zstd")
with ipc.new_file("vectors.arrow", table.schema) as out:
    out.write_table(table)
with ipc.new_stream("vectors_stream.arrow", table.schema) as out:
    out.write_table(table)
feather.write_feather(table.replace_schema_metadata(), "vectors_zstd.feather", compression="zstd")

# Every type of column that can be labels or ids, beside the vectors.
day = datetime.date(2024, 2, 29)
noon = datetime.datetime(2024, 2, 29, 12, 0, 0, 500_000)
columns = {
    "vector": pa.array([list(r) for r in X], pa.list_(pa.float64())),
    "name": pa.array(names, pa.large_string()),
    "i8": pa.array([-1, 0, 1, None, 2, 3], pa.int8()),
    "u64": pa.array([2**64 - 1, 0, 1, None, 2, 3], pa.uint64()),
    "f16": pa.array(np.array([0.5, 1, 2, 3, 4, 5], "f2")),
    "bool": pa.array([True, False, None, True, True, False]),
    "decimal": pa.array([decimal.Decimal("-1.50")] + [decimal.Decimal("2.25")] * 5, pa.decimal128(10, 2)),
    "date": pa.array([day] * 5 + [None], pa.date32()),
    "time": pa.array([noon.time()] * 6, pa.time64("us")),
    "stamp": pa.array([noon] * 6, pa.timestamp("ms")),
    "zoned": pa.array([noon] * 6, pa.timestamp("us", "UTC")),
    "duration": pa.array([datetime.timedelta(seconds=90)] * 6, pa.duration("ms")),
    "binary": pa.array([b"ab", b"\xff", None, b"ab", b"ab", b"ab"], pa.binary()),
    "fixed": pa.array([b"ab"] * 6, pa.binary(2)),
    "texts": pa.array([["a", "b"], [], None, ["a"], ["a"], ["a"]], pa.list_(pa.string())),
    "coded": pa.array(["b", None, "b", "c", "a", "a"]).dictionary_encode(),
    "numbers_coded": pa.array([2, 1, 2, 3, 1, 1]).dictionary_encode(),
    "nothing": pa.nulls(6),
    "nested": pa.array([{"a": 1, "b": "x"}] * 6),
}
types = pa.table(columns)
pq.write_table(types, "types.parquet", data_page_version="2.0", compression="gzip", row_group_size=4)
views = types.append_column("view", pa.array(names, pa.string_view())).append_column(
    "long_view", pa.array([n + " is an animal" for n in names], pa.string_view())
)
feather.write_feather(views, "types.feather", chunksize=4)
# Lists with missing ones, of a fixed length and not; a dictionary that grows.
sparse = [None] + [list(r) for r in X[1:]]
pq.write_table(pa.table({"vector": pa.array(sparse, pa.list_(pa.float32(), d))}), "missing_vectors.parquet")
options = ipc.IpcWriteOptions(emit_dictionary_deltas=True, compression="lz4")
with ipc.new_stream("deltas.arrow", pa.schema([("x", pa.int32()), ("vector", pa.large_list(pa.float32())), ("kind", pa.dictionary(pa.int8(), pa.string()))]), options=options) as out:
    for rows, words in [(slice(0, 3), ["b", "a"]), (slice(3, 6), ["b", "a", "c"])]:
        kind = pa.DictionaryArray.from_arrays(pa.array([words.index(k) for k in kinds[rows]], pa.int8()), words)
        vector = pa.array([list(r) for r in X[rows]], pa.large_list(pa.float32()))
        out.write_batch(pa.record_batch([pa.array(range(3), pa.int32()), vector, kind], names=["x", "vector", "kind"]))

obs = pd.DataFrame({"kind": pd.Categorical(kinds), "depth": np.arange(n) * 0.5, "lane": np.arange(n) % 2, "ok": np.arange(n) > 2}, index=names)
var = pd.DataFrame(index=["a", "b", "c"])
for name, matrix in [("dense", X.astype("f4")), ("csr", sp.csr_matrix(X)), ("csc", sp.csc_matrix(X))]:
    known = obs if name == "dense" else obs[["kind"]]
    cells = anndata.AnnData(matrix, obs=known, var=var, obsm={"X_pca": X[:, :2].copy()} if name == "dense" else {})
    cells.write_h5ad(f"{name}.h5ad", compression="gzip" if name == "csr" else None)
# The layout of anndata 0.7, which files in the wild still have.
with h5py.File("old.h5ad", "w") as f:
    f["X"] = X.astype("f4")
    f["obs/_index"] = np.array(names, dtype=h5py.string_dtype())
    f["obs"].attrs["_index"] = "_index"
    f["obs/kind"] = np.array(["abc".index(k) for k in kinds], dtype="i1")
    f["obs/__categories/kind"] = np.array(list("abc"), dtype=h5py.string_dtype())

image = b"\0\0\x0d\3" + struct.pack(">3I", n, d, 1) + X.astype(">f4").tobytes()
labels = b"\0\0\x08\1" + struct.pack(">I", n) + bytes("abc".index(k) for k in kinds)
with gzip.GzipFile("t6-images-idx3-ubyte.gz", "wb", mtime=0) as out:
    out.write(image)
open("t6-labels-idx1-ubyte", "wb").write(labels)
