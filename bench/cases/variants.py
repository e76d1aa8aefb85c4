"""Methods of lowland with other than the default options: engines, optimizers, levels, and the published runs of tsm."""

import functools
import sys
import tempfile
from pathlib import Path

from bench import catalog, lowland_program
from bench.cases import maps
from bench.paths import EMBEDDINGS, PROGRAM
from bench.process import measure_json_process, measure_process

TAU = "0.75"
TSM = f"tsm --tau {TAU}"
LLLVM = "lllvm --starts 1 --tol 0 --max-iter"
# Data set, number of dimensions, method and options. `--tol 0` runs all iterations.
EMBEDDED = [("mnist-70k", 2, f"tsne {options}") for options in ("--engine barnes-hut", "--accuracy fixed")]
EMBEDDED += [("mnist-70k", 2, f"ssne {options}") for options in ("--engine fast-gauss", "--optimizer sd")]
EMBEDDED += [("mnist-70k", 2, f"ee {options}") for options in ("--engine fast-gauss", "--optimizer fp")]
EMBEDDED += [("mnist-70k", 2, f"lvm --tol 0 --levels {levels}") for levels in (1, 2)]
EMBEDDED += [("mnist-70k", 10, f"lvm --tol 0 --reach 2 --levels {levels}") for levels in (1, 2)]
EMBEDDED += [("mnist-70k", 2, f"mapit {options}") for options in ("--init random", "--variant sampled", "--variant objective")]
EMBEDDED += [("mnist-2k", 2, "mapit --variant exact --init random")]
EMBEDDED += [("deformed-first-400", 2, f"{LLLVM} 50"), ("deformed-first-1000", 2, f"{LLLVM} 50"), ("deformed-first-3000", 2, f"{LLLVM} 10")]
EMBEDDED += [("deformed-first-3000", 2, f"{LLLVM} 50")]
# The published runs on the pixels of MNIST, scored by norms and angles.
ANGLES = [("mnist-pixels-14k", tool) for tool in (TSM, f"{TSM} --matrices factors", "svd")]
ANGLES += [("mnist-pixels", tool) for tool in (f"{TSM} --landmarks 14000", "svd", f"{TSM} --max-iter 5", f"{TSM} --matrices factors")]
# Time to place 2,000 new rows.
PLACEMENTS = [TSM, f"{TSM} --placing relu"]
# Data set, dimensions and name -> peer program, setting and way.
PEERS = {
    ("mnist-2k", 2, "MAP IT in numpy"): ("bench.peers.mapit_numpy", "2000", "numpy"),
    ("mnist-pixels-14k", 16, "sklearn TruncatedSVD"): ("bench.peers.truncated_svd", "14000", "sklearn-svd"),
}
SMALL = ["mnist-2k", "deformed-first-400"]


def cases(quick):
    for name, d, tool in EMBEDDED:
        if not quick or name in SMALL:
            yield f"{name}/d={d}/{tool}", functools.partial(measure, name, d, tool)
    for (name, d, tool), peer in PEERS.items():
        if not quick or name in SMALL:
            yield f"{name}/d={d}/{tool}", functools.partial(measure_peer, name, *peer)
    for name, tool in [] if quick else ANGLES:
        yield f"{name}/d=16/{tool}", functools.partial(measure_angles, name, tool)
    for tool in [] if quick else PLACEMENTS:
        yield f"mnist-pixels-2800/transform/{tool}", functools.partial(measure_transform, tool)


def measure(name, d, tool, limit):
    if name in catalog.DATASETS:
        return maps.measure(name, d, tool, None, limit)
    from bench import datasets

    rows, _ = datasets.dataset_files(name)
    return maps.embed(tool, rows, d, EMBEDDINGS / "variant.npy", limit)


def measure_peer(name, module, setting, way, limit):
    from bench import datasets

    rows, _ = datasets.dataset_files(name)
    return measure_json_process([sys.executable, "-m", module, rows, setting, way], limit)


def measure_angles(name, tool, limit):
    from bench import datasets

    rows, _ = datasets.dataset_files(name)
    out = EMBEDDINGS / "variant-angles.npy"
    record = maps.embed(tool, rows, 16, out, limit)
    return record if "failed" in record else record | {"found": angle_scores(rows, out)}


def measure_transform(tool, limit):
    """Fits 2,800 rows, then measures `lowland transform` on 2,000 others."""
    from bench import datasets

    rows, _ = datasets.dataset_files("mnist-pixels-2800")
    new_rows, _ = datasets.dataset_files("mnist-pixels-new")
    with tempfile.TemporaryDirectory() as folder:
        model, out = Path(folder) / "model", Path(folder) / "new.npy"
        fit = lowland_program.embed(tool, rows, 16, Path(folder) / "fit.npy", limit, extra=["--save", model])
        if "failed" in fit:
            return fit
        _, record = measure_process([PROGRAM, "transform", model, new_rows, "--threads", "2", "--quiet", "--out", out], limit)
        return record if "failed" in record else record | {"found": angle_scores(new_rows, out)}


def angle_scores(rows, embedding):
    scores = lowland_program.quality(rows, embedding, "--tau", TAU)
    return {"degrees": scores["angular_deviation"], "jaccard": scores["angular_jaccard"], "norm error": scores["norm_error"]}
