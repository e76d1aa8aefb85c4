"""The section of the report about growth: table, exponents and picture."""

import numpy as np

from bench.cases import growth
from bench.report import memory
from bench.report.markdown import number, table

INTRODUCTION = """MNIST's digits, above 70,000 rows deformed ones, to two dimensions; CPU seconds and peak memory of the whole process. Exponents are
least-squares slopes of the logarithms over the sizes in the table, without the smallest where there are more than two; the sizes
differ between methods. Exponents of memory are those of the whole runs. Neighbor search is exact for few rows and approximate for many.
Open markers and asterisks are memory that was measured again after the whole run, see below the table. The row of lllvm is of exact
posteriors, the default up to 3,000 rows; beyond, it is of low rank, whose growth to 10,000 rows is in
[a record](../bench/results/2026-11-18-lllvm-growth.md)."""


def section(cases, picture):
    found = exponents(cases)
    if not found:
        return ""
    picture.parent.mkdir(parents=True, exist_ok=True)
    draw(found, picture)
    sizes = sorted({int(size) for line in found.values() for size in line["sizes"]})
    rows = []
    for method, line in found.items():
        cells = {int(n): f"{number(s)} s, {memory.cell(record)} MB" for n, s, record in zip(line["sizes"], line["cpu_s"], line["records"])}
        rows.append([f"**{method}**", f"{line['time']:.2f}", f"{line['memory']:.2f}", *(cells.get(size, "") for size in sizes)])
    head = ["method", "exponent of CPU time", "of memory", *(f"{size:,}" for size in sizes)]
    records = {f"{method}, {int(n):,} rows": record for method, line in found.items() for n, record in zip(line["sizes"], line["records"])}
    text = f"## Growth\n\n{INTRODUCTION}\n\n![CPU seconds and memory against rows](images/{picture.name})\n\n{table(head, rows)}"
    return "\n".join([text, *memory.footnotes(records)])


def exponents(cases):
    """Returns by method the sizes, CPU seconds and memory of whole runs, the slopes of their logarithms, and the records."""
    found = {}
    for method, sizes in growth.METHODS.items():
        records = [(size, cases.get(f"growth/{method}/n={size}", {})) for size in sizes]
        records = [(size, record) for size, record in records if "cpu_s" in record]
        if len(records) < 2:
            continue
        columns = zip(*((size, record["cpu_s"], memory.whole_run_mb(record)) for size, record in records))
        sizes, seconds, peaks = (np.array(column, float) for column in columns)
        # The smallest runs take fractions of a second, most of it startup.
        first = 1 if len(sizes) > 2 else 0

        def slope(values):
            return float(np.polyfit(np.log(sizes[first:]), np.log(values[first:]), 1)[0])

        found[method] = {
            "sizes": sizes,
            "cpu_s": seconds,
            "peak_mb": peaks,
            "time": slope(seconds),
            "memory": slope(peaks),
            "records": [record for _, record in records],
        }
    return found


def draw(found, path):
    """Draws CPU seconds and memory against rows on logarithmic axes. Open markers are memory measured again after the whole run."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, 2, figsize=(13, 5), constrained_layout=True)
    colors = plt.get_cmap("tab10")
    for panel, quantity, title in zip(panels, ("cpu_s", "peak_mb"), ("CPU seconds", "peak memory, MB")):
        for at, (method, line) in enumerate(found.items()):
            label = f"{method}: time n^{line['time']:.2f}, memory n^{line['memory']:.2f}"
            # There are more methods than colors: those that stop early are dashed.
            is_large = line["sizes"][-1] > 50_000
            style = {"linestyle": "-" if is_large else "--", "marker": "os^Dv"[at % 5], "color": colors(at % 10), "markersize": 5}
            panel.loglog(line["sizes"], line[quantity], label=label, **style)
            if quantity == "peak_mb":
                for n, record in zip(line["sizes"], line["records"]):
                    if "memory" in record:
                        panel.loglog(n, record["peak_mb"], **style | {"linestyle": "none", "markerfacecolor": "white"})
        low, high = panel.get_ylim()
        sizes = np.array(panel.get_xlim())
        for slope in (1, 2):
            panel.loglog(sizes, low * (sizes / sizes[0]) ** slope, ":", color="0.6", linewidth=1)
            end = min(sizes[1], sizes[0] * (high / low) ** (1 / slope)) * 0.8
            panel.annotate(f"n^{slope}", (end, low * (end / sizes[0]) ** slope), color="0.5", fontsize=8, ha="right")
        panel.set_xlim(*sizes)
        panel.set_ylim(low, high)
        panel.set_xlabel("rows")
        panel.set_title(title)
        panel.grid(alpha=0.3)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside right center", fontsize=9, frameon=False)
    figure.savefig(path, dpi=110)
    plt.close(figure)
