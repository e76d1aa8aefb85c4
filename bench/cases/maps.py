"""Embeddings of every data set by every tool.

Groups: `defaults` (each tool with its own settings), `graph` (one precomputed neighbor graph for all tools that accept one) and
`again` (whether a second run, and a run with one thread, give the same bytes)."""

import functools
import sys

from bench import catalog, lowland_program
from bench.paths import EMBEDDINGS, GRAPHS
from bench.process import measure_json_process

THREAD_VARIABLES = ["THREADS", "RAYON_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"]


def cases(quick):
    tools = catalog.LOWLAND_TOOLS + catalog.PEER_TOOLS
    for name in ["digits", "mnist-2k"] if quick else catalog.DATASETS:
        for d in catalog.DIMENSIONS.get(name, (2,)):
            for tool in tools:
                if is_measured(name, d, tool):
                    yield f"defaults/{name}/d={d}/{tool}", functools.partial(measure, name, d, tool, None)
    for name in [] if quick else catalog.GRAPH_DATASETS:
        for tool in catalog.GRAPH_METHODS + catalog.GRAPH_PEERS:
            yield f"graph/{name}/d=2/{tool}", functools.partial(measure, name, 2, tool, GRAPHS / f"{name}.npz")
    for name in catalog.REPRODUCIBILITY_DATASETS[: 1 if quick else None]:
        for tool in tools:
            if is_measured(name, 2, tool):
                yield f"again/{name}/d=2/{tool}", functools.partial(compare_runs, name, tool)


def is_measured(name, d, tool):
    if tool not in catalog.ONLY_TOOLS.get(name, [tool]):
        return False
    if tool in catalog.LANDMARK_METHODS:
        return (name, d) == ("mnist-70k", 2)
    limits = [catalog.MAX_ROWS.get(tool, 10**9)]
    if d == 10 and tool in catalog.PAIRWISE_METHODS:
        limits.append(catalog.MAX_ROWS_PAIRWISE)
    return catalog.rows_of(name) <= min(limits) and (d == 2 or tool in catalog.HIGHER_DIMENSIONAL_TOOLS)


def measure(name, d, tool, graph, limit):
    """Embeds a data set and scores the result."""
    from bench import datasets, scores

    rows, labels = datasets.dataset_files(name)
    if catalog.rows_of(name) <= catalog.MAX_ROWS_SCORED_EXACTLY:
        lowland_program.cached_neighbor_graph(rows, 90, GRAPHS / f"{name}.npz")
    group = "graph" if graph else "defaults"
    out = EMBEDDINGS / f"{group}-{name}-{d}-{tool.replace(' ', '-')}.npy"
    record = embed(tool, rows, d, out, limit, graph)
    if "failed" not in record:
        record["scores"] = scores.score(rows, labels, out, d, tool.partition(" --")[0] in catalog.TSNE_TOOLS)
    return record


def embed(tool, rows, d, out, limit, graph=None, seed=None, threads=2, preexec=None, environment=None):
    """Writes an embedding by lowland or by a peer to `out` and returns the record of the run."""
    out.parent.mkdir(parents=True, exist_ok=True)
    out.unlink(missing_ok=True)
    if tool not in catalog.PEER_TOOLS:
        return lowland_program.embed(tool, rows, d, out, limit, graph, threads, preexec)
    command = [sys.executable, "-m", "bench.peers.embeddings", tool, rows, d, out, graph or "-", "-" if seed is None else seed]
    environment = (environment or {}) | dict.fromkeys(THREAD_VARIABLES, threads)
    return measure_json_process(command, limit, environment, preexec)


def compare_runs(name, tool, limit):
    """Compares the bytes of three runs, the last one with a single thread. Tools that take a seed get one."""
    import numpy as np

    from bench import datasets, scores

    rows, _ = datasets.dataset_files(name)
    found = []
    for threads in (2, 2, 1):
        out = EMBEDDINGS / f"again-{tool.replace(' ', '-')}.npy"
        record = embed(tool, rows, 2, out, limit, seed=0, threads=threads)
        if "failed" in record:
            return record
        found.append(np.load(out))
    return {"same again": scores.same_values(found[0], found[1]), "same with one thread": scores.same_values(found[0], found[2])}
