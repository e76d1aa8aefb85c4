"""Time and traffic of lowland.dask with one and more workers, and what a model of them predicts for larger clusters.

    python bench/dask_scaling.py --rows 100000 --dim 50 --iterations 60 --workers 1 2

Prints a table in Markdown. Each worker is a process with one thread. CPU seconds are those of the worker processes, so that other work on
the machine matters little; the wall clock is given as well.
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


def measure(rows, dim, iterations, workers, perplexity):
    import dask

    cluster = LocalCluster(
        n_workers=workers, threads_per_worker=1, dashboard_address=None, memory_limit=None,
        env={"RAYON_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
    )  # fmt: skip
    with cluster, Client(cluster) as client:
        blocks = [da.from_delayed(dask.delayed(rows_of)(block, dim), (10_000, dim), np.float32) for block in range(rows // 10_000)]
        X = client.persist(da.concatenate(blocks))
        from distributed import wait

        wait(X)
        started, before = time.perf_counter(), cpu(client)
        graph = lowland.dask.neighbors(X, int(3 * perplexity))
        search_wall, after = time.perf_counter() - started, cpu(client)
        search_cpu = sum(after[worker] - before[worker] for worker in after)
        marks = []

        def mark(iteration):
            if iteration in (5, iterations):
                marks.append((time.perf_counter(), cpu(client)))

        estimator = lowland.TSNE(perplexity=perplexity, max_iter=iterations, exaggeration_iter=iterations // 2, tol=0)
        found = lowland.dask.fit(estimator, X, neighbors=graph, callback=mark)
        (first_wall, first), (last_wall, last) = marks
        steps = iterations - 5
        return {
            "workers": workers, "recall": graph.recall, "search_wall": search_wall, "search_cpu": search_cpu,
            "wall": (last_wall - first_wall) / steps,
            "cpu": sum(last[worker] - first[worker] for worker in last) / steps,
            "cpu_of_slowest": max(last[worker] - first[worker] for worker in last) / steps,
            "bytes": found.bytes_received / iterations, "width": float(np.ptp(found.embedding.compute(), axis=0).max()),
            "error": found.repulsion_error,
        }  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--dim", type=int, default=50)
    parser.add_argument("--iterations", type=int, default=60)
    parser.add_argument("--perplexity", type=float, default=30.0)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    arguments = parser.parse_args()
    print(f"{arguments.rows} rows x {arguments.dim}, perplexity {arguments.perplexity:g}, {arguments.iterations} iterations\n")
    print("| workers | recall | search CPU s | search wall s | CPU s per iteration, all | slowest worker | wall s | MB received per iteration | width |")
    print("|---|---|---|---|---|---|---|---|---|")
    for workers in arguments.workers:
        r = measure(arguments.rows, arguments.dim, arguments.iterations, workers, arguments.perplexity)
        print(
            f"| {workers} | {r['recall']:.3f} | {r['search_cpu']:.1f} | {r['search_wall']:.1f} | {r['cpu']:.3f} | {r['cpu_of_slowest']:.3f} "
            f"| {r['wall']:.3f} | {r['bytes'] / 1e6:.3f} | {r['width']:.0f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
