"""How well `lowland trust` finds what is wrong with maps of generated data, whose answers are known.

    python -m bench.trust_validation PROGRAM FOLDER SEEDS [METHODS] [--data NAMES] [--reruns R] [--stand-in]
    python -m bench.trust_validation --tables RECORDS.jsonl

Writes FOLDER/SEEDS.jsonl, one line per map, and prints the tables of docs/methods/trust.md, which --tables prints again. SEEDS is a list
such as 1,2; the thresholds were chosen with seeds below 10, and results are reported for others. METHODS are any of tsne, tsne-10
(perplexity 10), ssne, ee, mapit, lvm, umap, umap-learn, pacmap. The losses of our methods are their own; --stand-in computes jump and
fragile also with the loss of t-SNE, as "jump (tsne)" and "fragile (tsne)". A map that the program refuses, because it keeps
no neighbors, is recorded as such. Continues a file that ends early. Needs numpy, scikit-learn, and the programs that make the maps.
"""

import csv
import json
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import NearestNeighbors

ROWS = 2000
# Sheets, curves and trees: every gap on a map of them is false. Noise keeps neighbors in the data and in truth apart.
MANIFOLDS = {"swiss-roll": 0.1, "s-curve": 0.02, "torus": 0.02, "tree": 0.05}
# lattice-5 and lattice-6 are nine clusters of spread 1 at the corners of a grid, this far apart.
CLUSTERS = ["mixture", "blobs", "unequal-density", "bridge", "gaussian", "lattice-5", "lattice-6"]
METHODS = ["tsne", "tsne-10", "ssne", "ee", "mapit", "lvm", "umap", "umap-learn", "pacmap"]
OTHER_PROGRAMS = ["umap-learn", "pacmap"]
SCORES = ["spread", "lost", "not kept", "jump", "jump (tsne)", "fragile", "fragile (tsne)", "intruders", "unstable"]
NEIGHBORS = 15
RATES = [0.01, 0.05, 0.1, 0.2]


def generate(program, name, seed, folder):
    """Returns rows, true positions (None for clusters) and classes."""
    if name.startswith("lattice"):
        return lattice(int(name.removeprefix("lattice-")), seed, folder)
    path = folder / f"{name}-{seed}.npz"
    noise = ["--noise", str(MANIFOLDS[name])] if name in MANIFOLDS else []
    size = ["--n-points", str(ROWS), "--seed", str(seed), "--quiet"]
    subprocess.run([program, "data", "generate", name, *size, *noise, "--out", path], check=True)
    arrays = np.load(path)
    np.save(folder / "x.npy", arrays["X"])
    truth = arrays["truth"] if name in MANIFOLDS else None
    if name == "torus":
        a, b = truth.T
        truth = np.c_[(2 + np.cos(b)) * np.cos(a), (2 + np.cos(b)) * np.sin(a), np.sin(b)]
    return arrays["X"], truth, arrays["labels"] if "labels" in arrays else None


def lattice(distance, seed, folder):
    rng = np.random.default_rng(seed)
    classes = rng.integers(0, 9, ROWS)
    x = rng.normal(size=(ROWS, 10))
    x[:, 0] += distance * (classes % 3)
    x[:, 1] += distance * (classes // 3)
    np.save(folder / "x.npy", x.astype(np.float32))
    return x, None, classes.astype(str)


def embed(program, name, method, x, seed, folder):
    """Writes map.npy, and model.lowland for our methods. Both are kept, so that other versions can be measured on the same ones."""
    warnings.simplefilter("ignore")
    kept, model = folder / f"{name}-{method}-{seed}.npy", folder / f"{name}-{method}-{seed}.lowland"
    if kept.exists():
        shutil.copy(kept, folder / "map.npy")
    elif method == "umap-learn":
        import umap

        np.save(folder / "map.npy", umap.UMAP(random_state=seed).fit_transform(x).astype(float))
    elif method == "pacmap":
        import pacmap

        np.save(folder / "map.npy", pacmap.PaCMAP(random_state=seed).fit_transform(x).astype(float))
    else:
        base, *perplexity = method.split("-")
        flags = ["--perplexity", perplexity[0]] if perplexity else []
        subprocess.run(
            [program, "embed", folder / "x.npy", "--method", base, *flags, "--seed", str(seed), "--no-quality", "--quiet",
             "--out", folder / "map.npy", "--save", model], check=True)
    shutil.copy(folder / "map.npy", kept)
    return np.load(kept), None if method in OTHER_PROGRAMS else model


def assess(program, folder, model=None, reruns=0):
    """Returns the columns and the report, or None if the map is refused."""
    flags = ["--model", model] if model else []
    flags += ["--reruns", str(reruns)] if model and reruns else []
    run = subprocess.run(
        [program, "trust", folder / "x.npy", folder / "map.npy", *flags, "--json", "--out", folder / "trust.csv"],
        capture_output=True, text=True)
    if run.returncode == 3 and "not a usable map of these data" in run.stderr:
        return None
    assert run.returncode == 0, run.stderr
    events = map(json.loads, run.stdout.splitlines())
    report = next(event["trust"] for event in events if event.get("event") == "trust")
    rows = list(csv.DictReader(open(folder / "trust.csv")))
    return {name: np.array([float(row[name]) for row in rows]) for name in rows[0]}, report


def benjamini_hochberg(p, rate):
    """Returns the flags at a rate, as the program computes them from the same p-values."""
    order = np.argsort(np.where(np.isnan(p), 2, p), kind="stable")
    tested = np.count_nonzero(~np.isnan(p))
    passes = np.nonzero(p[order][:tested] <= rate * np.arange(1, tested + 1) / tested)[0]
    flags = np.zeros(len(p), bool)
    flags[order[: passes.max() + 1 if len(passes) else 0]] = True
    return flags


def torn_points(truth, points):
    """Points with a fifth of their true neighbors at more than three times the distance of their neighbors on the map."""
    near = NearestNeighbors(n_neighbors=NEIGHBORS + 1).fit(truth).kneighbors(truth)[1][:, 1:]
    scale = NearestNeighbors(n_neighbors=NEIGHBORS + 1).fit(points).kneighbors(points)[0][:, -1]
    far = np.linalg.norm(points[near] - points[:, None], axis=2) > 3 * scale[:, None]
    return far.mean(1) >= 0.2


def separate(name, a, b):
    """Whether two classes are separate in the data; None if it is a matter of definition."""
    if a == b:
        return False
    if name == "mixture" and a[:-1] == b[:-1]:
        return {"2": False, "3": False, "4": None}.get(a[:-1], True)
    return name != "bridge"


def true_links(truth, islands):
    """Number of links between islands in the graph of the true neighbors."""
    near = NearestNeighbors(n_neighbors=NEIGHBORS + 1).fit(truth).kneighbors(truth)[1][:, 1:]
    links = np.zeros((islands.max() + 1, islands.max() + 1), int)
    np.add.at(links, (np.repeat(islands, NEIGHBORS), islands[near].ravel()), 1)
    return links + links.T


def judge_gaps(name, classes, report, columns, touching):
    """Counts verdicts on false and true gaps, and islands of several groups."""
    islands = columns["island"].astype(int)
    names = {}
    for island in range(1, islands.max() + 1):
        values, counts = np.unique(classes[islands == island], return_counts=True) if classes is not None else (["0"], [1])
        names[island] = (values[np.argmax(counts)], dict(zip(values, np.asarray(counts) / np.sum(counts))))
    out = {"false": {}, "true": {}}
    listed = {tuple(gap["islands"]): gap["verdict"] for gap in report["gaps"]}
    for a in names:
        for b in range(a + 1, len(names) + 1):
            apart = False if name in MANIFOLDS or name == "gaussian" else separate(name, str(names[a][0]), str(names[b][0]))
            linked = (a, b) in listed
            # Pieces of a sheet that do not share a border of some length are no false gap.
            meet = linked if touching is None else touching[a, b] >= 2 * NEIGHBORS
            if apart is None or (not apart and not meet):
                continue
            kind = out["true" if apart else "false"]
            verdict = listed.get((a, b), "separated")
            kind[verdict] = kind.get(verdict, 0) + 1
    merged = {"several": [0, 0], "one": [0, 0]}
    for island in report["islands"]:
        shares = names[island["island"]][1] if name in ("mixture", "blobs", "unequal-density") or name.startswith("lattice") else {"0": 1.0}
        large = [str(c) for c, share in shares.items() if share > 0.15]
        several = any(separate(name, a, b) for a in large for b in large)
        if not several and any(separate(name, a, b) is None for a in large for b in large):
            continue
        found = len(island["parts"] or [1]) > 1
        merged["several" if several else "one"][found] += 1
    # All islands of a connected set but the largest are false clusters. They are found if a gap of theirs is bridged.
    false = {"all": [0, 0], "large": [0, 0]}
    if name in MANIFOLDS or name == "gaussian":
        bridged = {island for pair, verdict in listed.items() if verdict == "bridged" for island in pair}
        for island in list(names)[1:]:
            false["all"][island in bridged] += 1
            false["large"][island in bridged] += np.count_nonzero(islands == island) >= 3 * NEIGHBORS
    false = {size: [int(count) for count in counts] for size, counts in false.items()}
    return out | {"islands": merged, "false clusters": false}


def measure(program, name, method, seed, folder, reruns, stand_in):
    x, truth, classes = generate(program, name, seed, folder)
    points, model = embed(program, name, method, x, seed, folder)
    found = assess(program, folder, model=model, reruns=reruns if truth is not None else 0)
    if found is None:
        return {"data": name, "method": method, "seed": seed, "refused": True}
    columns, report = found
    if model:
        assert report["loss"]["own"], report["loss"]
    if model and stand_in:
        others = assess(program, folder)[0]
        columns |= {f"{score} (tsne)": others[score] for score in ("jump", "fragile")}
    touching = true_links(truth, columns["island"].astype(int)) if truth is not None else None
    record = {"data": name, "method": method, "seed": seed, "islands": len(report["islands"]), "flagged": report["flagged"]}
    record["gaps"] = judge_gaps(name, classes, report, columns, touching)
    record["loss_scale"] = report["loss"]["scale"] if report["loss"] else None
    if truth is not None:
        torn = torn_points(truth, points)
        record["torn"] = int(torn.sum())
        columns["not kept"] = -columns["kept"]
        scores = {score: columns[score] for score in SCORES if score in columns}
        if 20 <= torn.sum() <= ROWS - 20:
            record["auc torn"] = {s: float(roc_auc_score(torn, np.nan_to_num(v, nan=-1))) for s, v in scores.items()}
        islands = columns["island"].astype(int)
        size = np.bincount(islands, minlength=islands.max() + 1)
        false_cluster = (islands > 0) & (size[islands] < 0.1 * ROWS)
        if 20 <= false_cluster.sum() <= ROWS - 20:
            record["auc false clusters"] = {
                s: float(roc_auc_score(false_cluster, np.nan_to_num(v, nan=-1))) for s, v in scores.items()}
        assert (benjamini_hochberg(columns["p_value"], 0.05) == (columns["flagged"] == 1)).all()
        record["fdr"] = {}
        for rate in RATES:
            flagged = benjamini_hochberg(columns["p_value"], rate)
            record["fdr"][str(rate)] = [int(flagged.sum()), int((flagged & ~torn).sum()), int((flagged & torn).sum())]
    return record


def tables(records):
    """Prints the tables of the documentation."""
    print("refused: " + ", ".join(f"{r['data']} by {r['method']}, seed {r['seed']}" for r in records if "refused" in r))
    records = [r for r in records if "refused" not in r]
    methods = [m for m in METHODS if any(r["method"] == m for r in records)]
    for group in ("auc torn", "auc false clusters"):
        print(f"\n{group}: median (minimum) over maps\n\n| method | maps | " + " | ".join(SCORES) + " |")
        print("|---" * (len(SCORES) + 2) + "|")
        for method in methods:
            found = [r[group] for r in records if r["method"] == method and group in r]
            if found:
                values = {s: [f[s] for f in found if s in f] for s in SCORES}
                cells = [f"{np.median(v):.2f} ({min(v):.2f})" if v else "" for v in values.values()]
                print(f"| {method} | {len(found)} | " + " | ".join(cells) + " |")
    print("\nfalse discovery: requested, observed (flagged), share of torn points flagged\n")
    for method in methods:
        cells = []
        for rate in RATES:
            found = np.array([r["fdr"][str(rate)] for r in records if r["method"] == method and "fdr" in r])
            torn = sum(r["torn"] for r in records if r["method"] == method and "fdr" in r)
            if len(found):
                flagged, wrong, right = found.sum(0)
                cells.append(f"{rate}: {wrong / max(flagged, 1):.3f} ({flagged}), {right / max(torn, 1):.2f}")
        print(f"| {method} | " + " | ".join(cells) + " |")
    for kind in ("false", "true"):
        print(f"\n{kind} gaps: bridged, undecided, separated\n")
        for method in methods:
            counts = [sum(r["gaps"][kind].get(v, 0) for r in records if r["method"] == method) for v in ("bridged", "undecided", "separated")]
            print(f"| {method} | " + " | ".join(map(str, counts)) + f" | {counts[0] / max(sum(counts), 1):.3f} |")
    print("\nfalse clusters with a bridged gap: all, those of 45 points and more\n")
    for method in methods:
        counts = [np.sum([r["gaps"]["false clusters"][size] for r in records if r["method"] == method], axis=0) for size in ("all", "large")]
        print(f"| {method} | " + " | ".join(f"{found} / {missed + found}" for missed, found in counts) + " |")
    print("\nislands: several in the data and found / all, one in the data and called several / all\n")
    for method in methods:
        several = np.sum([r["gaps"]["islands"]["several"] for r in records if r["method"] == method], axis=0)
        one = np.sum([r["gaps"]["islands"]["one"] for r in records if r["method"] == method], axis=0)
        print(f"| {method} | {several[1]} / {several.sum()} | {one[1]} / {one.sum()} |")


def main():
    arguments = sys.argv[1:]
    if arguments[0] == "--tables":
        tables([json.loads(line) for line in open(arguments[1])])
        return
    reruns, stand_in = 0, "--stand-in" in arguments
    if stand_in:
        arguments.remove("--stand-in")
    names = [*MANIFOLDS, *CLUSTERS]
    if "--data" in arguments:
        at = arguments.index("--data")
        names = arguments[at + 1].split(",")
        del arguments[at : at + 2]
    if "--reruns" in arguments:
        at = arguments.index("--reruns")
        reruns = int(arguments[at + 1])
        del arguments[at : at + 2]
    program, folder, seeds = arguments[0], Path(arguments[1]), arguments[2]
    methods = arguments[3].split(",") if len(arguments) > 3 else METHODS
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{seeds.replace(',', '-')}.jsonl"
    records = [json.loads(line) for line in open(path)] if path.exists() else []
    known = {(r["data"], r["method"], r["seed"]) for r in records}
    with open(path, "a") as file:
        for seed in map(int, seeds.split(",")):
            for name in names:
                for method in (method for method in methods if (name, method, seed) not in known):
                    records.append(measure(program, name, method, seed, folder, reruns, stand_in))
                    file.write(json.dumps(records[-1]) + "\n")
                    file.flush()
    tables(records)


if __name__ == "__main__":
    main()
