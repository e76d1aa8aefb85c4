"""How time and memory of each of our methods grow with the rows: MNIST's digits, then deformed ones."""

import functools

import data
import numpy as np
import ours

SIZES = [2_500, 10_000, 40_000, 160_000, 1_000_000]
# Up to the million, unless the method keeps a matrix of all pairs or takes hours.
METHODS = {"lvm": SIZES, "tsne": SIZES, "ssne": SIZES, "ee": SIZES, "mapit": SIZES, "pca": SIZES, "spectral": SIZES}
METHODS |= {"lle": SIZES[:3], "ltsa": SIZES[:4], "isomap": SIZES[:2], "tsm": SIZES[:2], "lllvm": [250, 500, 1_000]}


def cases(quick):
    for method, sizes in METHODS.items():
        for size in sizes[:2] if quick else sizes:
            yield f"{method}/n={size}", functools.partial(measure, method, size)


def measure(method, size, limit):
    name = "deformed-1m" if size == SIZES[-1] else f"deformed-first-{size}"
    rows, _ = data.array(name, ours.DATA)
    ours.MAPS.mkdir(parents=True, exist_ok=True)
    return ours.embed(method, rows, 2, ours.MAPS / "growth.npy", 2 * limit)


def exponents(results):
    """By method: the sizes measured, CPU seconds, memory, and the slopes of their logarithms."""
    found = {}
    for method, sizes in METHODS.items():
        lines = [(size, results.get(f"growth/{method}/n={size}", {})) for size in sizes]
        lines = [(size, line) for size, line in lines if "cpu_s" in line]
        if len(lines) < 2:
            continue
        sizes, seconds, memory = (np.array(column, float) for column in zip(*((n, line["cpu_s"], line["peak_mb"]) for n, line in lines)))
        # The smallest runs are fractions of a second that starting takes: the slope is over the sizes from the second on.
        since = 1 if len(sizes) > 2 else 0
        slope = lambda values: float(np.polyfit(np.log(sizes[since:]), np.log(values[since:]), 1)[0])
        found[method] = {"sizes": sizes, "cpu_s": seconds, "peak_mb": memory, "time": slope(seconds), "memory": slope(memory)}
    return found


def draw(found, path):
    """Both, against the rows, on logarithmic axes."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, 2, figsize=(13, 5), constrained_layout=True)
    colours = plt.get_cmap("tab10")
    for panel, what, words in zip(panels, ("cpu_s", "peak_mb"), ("CPU seconds", "peak memory, MB")):
        for at, (method, line) in enumerate(found.items()):
            label = f"{method}: time n^{line['time']:.2f}, memory n^{line['memory']:.2f}"
            # Those that stop early are broken lines: there are more methods than colours.
            goes_far = line["sizes"][-1] > 50_000
            style = {"linestyle": "-" if goes_far else "--", "marker": "os^Dv"[at % 5], "color": colours(at % 10), "markersize": 5}
            panel.loglog(line["sizes"], line[what], label=label, **style)
        low, high = panel.get_ylim()
        sizes = np.array(panel.get_xlim())
        for slope in (1, 2):
            panel.loglog(sizes, low * (sizes / sizes[0]) ** slope, ":", color="0.6", linewidth=1)
            end = min(sizes[1], sizes[0] * (high / low) ** (1 / slope)) * 0.8
            panel.annotate(f"n^{slope}", (end, low * (end / sizes[0]) ** slope), color="0.5", fontsize=8, ha="right")
        panel.set_xlim(*sizes)
        panel.set_ylim(low, high)
        panel.set_xlabel("rows")
        panel.set_title(words)
        panel.grid(alpha=0.3)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside right center", fontsize=9, frameon=False)
    figure.savefig(path, dpi=110)
    plt.close(figure)
