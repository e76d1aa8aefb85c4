"""Time and traffic of lowland.dask with one and more workers, and what a model of them predicts for larger clusters.

    python bench/dask_scaling.py --rows 100000 --dim 50 --iterations 60 --workers 1 2
    python bench/dask_scaling.py --data mnist-70k.npy --workers 1 2 --predict

Prints tables in Markdown. Each worker is a process with one thread. CPU seconds are those of the worker processes, so that other work on
the machine matters little; the wall clock is given as well. --predict computes the tables of larger clusters from what was measured;
`predict` has the model and its assumptions.
"""

import argparse
import time

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

import lowland
import lowland.dask


def rows_of(block, dim):
    random = np.random.default_rng([7, block])
    centers = 5 * np.random.default_rng(1).standard_normal((40, 8))
    basis = np.random.default_rng(2).standard_normal((8, dim))
    latent = centers[random.integers(40, size=10_000)] + random.standard_normal((10_000, 8))
    return (latent @ basis + random.standard_normal((10_000, dim))).astype(np.float32)


def cpu(client):
    return client.run(time.process_time)


def grid_seconds():
    """Return the CPU seconds that a node of the grid takes a worker in an iteration, besides its rows."""
    method = lowland._lowland.DividedMethod("tsne", [], 1000)
    start = np.random.default_rng(0).uniform(-200, 200, size=(1000, 2))
    none = np.zeros(0, dtype=np.int64)
    part = lowland._lowland.EmbeddingPart(method, start, np.arange(1000), (none, none, np.zeros(0)))
    times = []
    for _ in range(8):
        before = time.process_time()
        grid = part.begin([0.0, 0.0], [[-200.0, 200.0]] * 2, 0.01)
        part.set_copies(np.zeros(0))
        part.forces(grid, np.zeros(0), False)
        times.append((time.process_time() - before) / len(grid))
    # The first has tables to compute.
    return float(np.median(times[1:]))


class Recorded:
    """What the calls of a fit return, and the time that a call takes in which the workers do nothing."""

    def __init__(self):
        self.copies, self.nodes, self.round_trip = [], 0, float("nan")
        self.run, self.original = None, lowland.dask._fit._Run._all

    def __enter__(self):
        recorded = self

        def call(run, method, *arguments):
            found = recorded.original(run, method, *arguments)
            recorded.run = run
            if method == "connect":
                recorded.copies = found
            if method == "begin":
                recorded.nodes = found[0]
            return found

        lowland.dask._fit._Run._all = call
        return self

    def __exit__(self, *_):
        lowland.dask._fit._Run._all = self.original

    def time_calls(self):
        started = time.perf_counter()
        for _ in range(50):
            self.original(self.run, "size")
        self.round_trip = (time.perf_counter() - started) / 50


def measure(given, iterations, workers, perplexity):
    import dask

    cluster = LocalCluster(
        n_workers=workers, threads_per_worker=1, dashboard_address=None, memory_limit=None,
        env={"RAYON_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
    )  # fmt: skip
    with cluster, Client(cluster) as client:
        if isinstance(given, tuple):
            rows, dim = given
            blocks = [da.from_delayed(dask.delayed(rows_of)(block, dim), (10_000, dim), np.float32) for block in range(rows // 10_000)]
            X = client.persist(da.concatenate(blocks))
        else:
            X = client.persist(da.from_array(given, chunks=(10_000, given.shape[1])))
        from distributed import wait

        wait(X)
        started, before = time.perf_counter(), cpu(client)
        graph = lowland.dask.neighbors(X, int(3 * perplexity))
        search_wall, after = time.perf_counter() - started, cpu(client)
        search_cpu = sum(after[worker] - before[worker] for worker in after)
        marks = []

        recorded = Recorded()

        def mark(iteration):
            if iteration in (5, iterations):
                marks.append((time.perf_counter(), cpu(client)))
            if iteration == iterations:
                recorded.time_calls()

        estimator = lowland.TSNE(perplexity=perplexity, max_iter=iterations, exaggeration_iter=iterations // 2, tol=0)
        with recorded:
            found = lowland.dask.fit(estimator, X, neighbors=graph, callback=mark)
        (first_wall, first), (last_wall, last) = marks
        steps = iterations - 5
        return {
            "workers": workers, "recall": graph.recall, "search_wall": search_wall, "search_cpu": search_cpu,
            "wall": (last_wall - first_wall) / steps,
            "cpu": sum(last[worker] - first[worker] for worker in last) / steps,
            "cpu_of_slowest": max(last[worker] - first[worker] for worker in last) / steps,
            "bytes": found.bytes_received / iterations, "width": float(np.ptp(found.embedding.compute(), axis=0).max()),
            "error": found.repulsion_error, "rows": X.shape[0], "dim": X.shape[1],
            "copies": sum(recorded.copies) / X.shape[0], "nodes": recorded.nodes, "round_trip": recorded.round_trip,
        }  # fmt: skip


#: Assumed: bytes per second between workers, products and sums per second of a core in numpy.
NETWORK, FLOPS = 1e9, 1e10
#: Assumed copies per own row, by the number of workers.
COPIES = {8: 1.0, 64: 2.0}
#: Largest grid of a map in two dimensions, in nodes a side, of which half is padding.
MAX_NODES = 4096
ITERATIONS, CELL_ROWS, PROBES, K_MEANS, SAMPLE = 750, 4000, 6, 12, 200_000


def predict(measured, node_seconds, width_at, dim, n, workers):
    """Return a row of the table for `n` rows on so many workers, each of one core.

    - Rows: CPU seconds per row and iteration as measured, at the measured number of neighbors.
    - Grid: each worker transforms all nodes. The width of the map grows with a power of the number of rows: `width_at` is (rows, width,
      power). Where it needs more than MAX_NODES, the fit would end with an error, and the row says so.
    - Traffic: half of the grid to be summed and half of the sum, from all others; 16 bytes for each copy.
    - Round trips: four per iteration, each with as long as a call of all workers took, however many they are.
    - Search: CPU seconds per row as measured, since a cell has as many rows; besides, finding the nearest cells among n / 4000, and k-means
      on the client, which does not shrink with the number of workers.
    """
    widest = width_at[1] * (n / width_at[0]) ** width_at[2]
    per_unit = measured["nodes"] ** 0.5 / measured["width"]
    nodes = (widest * per_unit) ** 2
    rows = n / workers
    cells = n / CELL_ROWS
    parts = {
        "rows": (measured["cpu"] - measured["workers"] * node_seconds * measured["nodes"]) / measured["rows"] * rows,
        "grid": node_seconds * nodes,
        "traffic": (2 * (workers - 1) / workers * 8 * nodes + 16 * COPIES[workers] * rows) / NETWORK,
        "trips": 4 * measured["round_trip"],
    }
    search = measured["search_cpu"] / measured["rows"] * rows * dim / measured["dim"]
    search += 2 * cells * dim * rows / FLOPS + PROBES * 4 * dim * rows / NETWORK
    k_means = 2 * min(SAMPLE, 64 * cells) * cells * dim * K_MEANS / FLOPS
    fits = 2 * nodes**0.5 <= MAX_NODES
    total = sum(parts.values())
    return parts, total, search, k_means, fits, widest


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--dim", type=int, default=50)
    parser.add_argument("--data", help="a .npy file of rows, instead of generated ones")
    parser.add_argument("--iterations", type=int, default=60)
    parser.add_argument("--perplexity", type=float, default=30.0)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--predict", action="store_true", help="print the predictions for larger clusters")
    # MNIST with exaggeration 4, which tsne uses for so many rows: 7.6, 17.4 and 26.1 for 2,500, 10,000 and 20,000 rows.
    parser.add_argument("--width", type=float, nargs=3, default=[20_000, 26.1, 0.59], help="rows and width of a map, and the power")
    parser.add_argument("--predicted-dim", type=int, default=100)
    arguments = parser.parse_args()
    given = (arguments.rows, arguments.dim) if arguments.data is None else np.load(arguments.data).astype(np.float32)
    shape = given if isinstance(given, tuple) else given.shape
    print(f"{shape[0]} rows x {shape[1]}, perplexity {arguments.perplexity:g}, {arguments.iterations} iterations\n")
    print(
        "| workers | recall | search CPU s | search wall s | CPU s per iteration, all | slowest worker | wall s | MB received per iteration "
        "| copies per row | nodes | round trip ms | width |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|---|---|")
    for workers in arguments.workers:
        r = measure(given, arguments.iterations, workers, arguments.perplexity)
        print(
            f"| {workers} | {r['recall']:.3f} | {r['search_cpu']:.1f} | {r['search_wall']:.1f} | {r['cpu']:.3f} | {r['cpu_of_slowest']:.3f} "
            f"| {r['wall']:.3f} | {r['bytes'] / 1e6:.3f} | {r['copies']:.3f} | {r['nodes']} | {1e3 * r['round_trip']:.1f} | {r['width']:.1f} |",
            flush=True,
        )
    if not arguments.predict:
        return
    node_seconds = grid_seconds()
    print(f"\n{1e9 * node_seconds:.1f} ns per node of the grid and iteration\n")
    print("| rows | workers | width | rows s | grid s | traffic s | round trips s | s per iteration | 750 iterations | search | k-means on the client |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for n in (1_000_000, 10_000_000, 100_000_000):
        for workers in COPIES:
            parts, total, search, k_means, fits, width = predict(
                r, node_seconds, arguments.width, arguments.predicted_dim, n, workers
            )
            whole = f"{total * ITERATIONS / 60:.0f} min" if fits else "too wide for the grid"
            cells = " | ".join(f"{seconds:.2f}" for seconds in parts.values())
            print(f"| {n:,} | {workers} | {width:.0f} | {cells} | {total:.2f} | {whole} | {search / 60:.1f} min | {k_means / 60:.1f} min |")


if __name__ == "__main__":
    main()
