"""Draws a map with matplotlib: `python -m bench.peers.pictures WAY MAP.npy OUT.png [LABELS.csv]`, and prints the seconds of the drawing
without the start of Python and its imports as a JSON line."""

import json
import sys
import time


def main():
    way, points, out, *labels = sys.argv[1:]
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt
    import numpy as np
    from matplotlib.colors import LogNorm

    cpu = time.process_time()
    x, y = np.load(points).T
    # 1600 x 1600 pixels.
    figure, ax = plt.subplots(figsize=(16, 16), dpi=100, layout="constrained")
    color = "C0"
    if labels:
        with open(labels[0]) as file:
            names, codes = np.unique(file.read().splitlines()[1:], return_inverse=True)
        color = np.array(matplotlib.colormaps["tab10"].colors)[codes % 10]
    if way == "histogram":
        ax.hist2d(x, y, bins=800, norm=LogNorm(), cmap="Blues")
    elif way == "discs":
        ax.scatter(x, y, s=1, c=color, linewidths=0, alpha=0.5)
    elif labels:
        # A marker of one pixel has one color in a plot.
        for code in range(len(names)):
            ax.plot(x[codes == code], y[codes == code], ",", color=f"C{code}")
    else:
        ax.plot(x, y, ",", color=color)
    ax.set_aspect("equal", adjustable="datalim")
    ax.set_axis_off()
    figure.savefig(out)
    print(json.dumps({"drawing_cpu_s": time.process_time() - cpu}))


if __name__ == "__main__":
    main()
