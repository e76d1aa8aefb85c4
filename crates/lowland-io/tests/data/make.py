"""Makes the golden files: small files written by the programs whose files lowland reads.

Run with a Python that has numpy, scipy, pandas, pyarrow, anndata, h5py and scikit-learn:  python make.py
Every file holds the same 6 x 3 matrix, so that one expectation serves all: X[i, j] = i - 0.5 * j, and 0 where i == j.
"""
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
