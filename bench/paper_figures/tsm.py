"""Draws docs/images/tsm-*.png from the output of tsm_scores.rs:

    python -m bench.paper_figures.tsm OUT.png TITLE LINES.jsonl [TITLE LINES.jsonl ...]

One row of panels per data set: the histogram of angles (Fig 2 of the paper), mean angular deviation (Figs 3 and 6), Jaccard index
(Figs 4, 7 and 9), and analogies if there are any (Fig 5)."""

import json
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import ScalarFormatter

COLORS = {"tsm": "tab:blue", "tsm llx": "tab:cyan", "svd": "tab:orange", "svd all": "tab:brown", "isomap": "tab:green"}
out, *rest = sys.argv[1:]
sets = [(title, [json.loads(line) for line in open(path)]) for title, path in zip(rest[::2], rest[1::2])]
figure, panels = plt.subplots(len(sets), 4, figsize=(16, 3.6 * len(sets)), squeeze=False)
for (title, lines), (angles, degrees, jaccard, analogies) in zip(sets, panels):
    histogram, runs = lines[0], [line for line in lines[1:] if "jaccard" in line]
    for name, color in ("nearest", "tab:blue"), ("others", "tab:orange"):
        counts = np.array(histogram[name], float)
        angles.fill_between(np.arange(180) + 0.5, counts / counts.sum(), color=color, alpha=0.6, label=name)
    angles.axvline(np.degrees(np.arccos(histogram["tau"])), color="tab:red")
    angles.set(title=f"{title}: angles", xlim=(0, 110), xlabel="degrees", yticks=[])
    angles.legend()
    for panel, key, name in (degrees, "degrees", "mean angular deviation"), (jaccard, "jaccard", "Jaccard index"):
        for method in dict.fromkeys(run["method"] for run in runs):
            points = [(run["d"], run[key]) for run in runs if run["method"] == method and key in run]
            if points:
                panel.plot(*zip(*points), "o-", label=method, color=COLORS[method])
        panel.set(title=name, xlabel="dimensions", ylim=(0, 1) if key == "jaccard" else (0, None))
        panel.legend()
    asked = [line for line in lines[1:] if line.get("analogies")]
    if not asked:
        analogies.axis("off")
        continue
    for kind, style in ("semantic", "o-"), ("syntactic", "s--"):
        for method in ("tsm", "svd"):
            points = [(line["d"], line["analogies"][kind]) for line in asked if line["method"] == method]
            analogies.plot(*zip(*points), style, label=f"{method} {kind}", color=COLORS[method])
        whole = [line["analogies"][kind] for line in asked if line["method"] == "data"]
        analogies.axhline(whole[0], color="gray", ls=style[1:])
    analogies.set(title="analogies", xlabel="dimensions", ylim=(0, 1))
    analogies.legend()
for panel in panels[:, 1:].flat:
    panel.set_xscale("log", base=2)
    panel.xaxis.set_major_formatter(ScalarFormatter())
figure.tight_layout()
figure.savefig(out, dpi=70)
