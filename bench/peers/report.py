"""Turns the JSON lines of one run into a page: `report.py TITLE "words about the machine" < LINES.jsonl`."""

import json
import sys
from importlib.metadata import PackageNotFoundError, version

PEERS = ["numpy", "scipy", "scikit-learn", "faiss-cpu", "hnswlib", "pynndescent", "umap-learn", "openTSNE"]


def installed(name):
    try:
        return f"{name} {version(name)}"
    except PackageNotFoundError:
        return f"no {name}"


def shown(value):
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def main():
    title, machine = sys.argv[1:]
    lines = [json.loads(line) for line in sys.stdin]
    first = lines[0]
    # Our first line of each setting is what the others of that setting are measured by.
    ours = {line["setting"]: line for line in reversed(lines) if line["program"].startswith("lowland")}
    settings = list(dict.fromkeys(line["setting"] for line in lines))
    print(f"# {title}\n")
    print(f"{first['rows']:,} x {first['columns']}, {first['threads']} threads. {machine}\n")
    print(f"Peers: {', '.join(map(installed, PEERS))}.\n")
    print("Each line is a process of its own; `x` is the ratio to our first line of the setting. On a shared machine compare")
    print("CPU seconds. Peak memory is that of the whole process, data included.\n")
    print("| setting | program | CPU s | x | wall s | x | peak MB | found |\n|---|---|---|---|---|---|---|---|")
    for line in sorted(lines, key=lambda line: settings.index(line["setting"])):
        cells = [line["setting"], line["program"]]
        if "failed" in line:
            cells += ["failed", "", "", "", "", f"exit status {line['failed']}"]
        else:
            for clock in ("cpu_s", "wall_s"):
                cells += [f"{line[clock]:.2f}", f"{line[clock] / ours[line['setting']][clock]:.2f}"]
            found = [f"{name} {shown(value)}" for name, value in line["found"].items() if value is not None]
            cells += [f"{line['peak_mb']:.0f}", ", ".join(found)]
        print(f"| {' | '.join(cells)} |")


main()
