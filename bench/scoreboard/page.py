"""docs/scoreboard.md, from the results."""

import bad_input
import growth
import maps
import peers
import profiles

# Cores that may be busy with something else for a wall time to be shown.
QUIET = 0.1
SCORES = ["recall 15", "recall 30", "trustworthiness", "continuity", "1-NN error", "10-NN error", "triplets", "Spearman", "KL"]
# What a method of ours is compared with: tools that promise the same.
CLASSES = {
    "clusters in the plane": ["lvm", "mapit", "umap-learn", "pacmap", "trimap", "pymde", "annembed", "manifolds-rs UMAP", "manifolds-rs PaCMAP"],
    "t-SNE and its kin": ["tsne", "ssne", "ee", "openTSNE", "manifolds-rs t-SNE", "manifolds-rs t-SNE fft", "bhtsne", "sklearn t-SNE"],
    "graphs and lines": ["spectral", "sklearn spectral", "isomap", "sklearn Isomap", "lle", "sklearn LLE", "ltsa", "lllvm", "tsm", "pca", "sklearn PCA"],
}  # fmt: skip
DATA = {
    "digits": "the digits, 1,797 x 64",
    "swiss-roll": "Swiss roll, 2,000 x 3",
    "mnist-2k": "MNIST, 2,000 x 50",
    "mnist-10k": "MNIST, 10,000 x 50",
    "words": "word vectors, 26,423 x 300",
    "mnist-70k": "MNIST, 70,000 x 50",
    "deformed-250k": "deformed MNIST, 250,000 x 50",
    "deformed-1m": "deformed MNIST, 1,000,000 x 50",
}


def write(results, path):
    cases = results["cases"]
    picture = path.parent / "images/scoreboard-growth.png"
    parts = [opening(results), fastest(cases), table_of_maps(cases), searches(cases), same_again(cases)]
    parts += [grown(cases, picture), where_time_goes(cases), bad_inputs(cases)]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(part for part in parts if part))


def opening(results):
    names = ", ".join(f"{name} {version}" for name, version in results["peers"].items())
    commits = sorted({line["commit"] for line in results["cases"].values()})
    return f"""# Scoreboard

Written by `cargo xtask bench`, {results["date"]}; do not edit. {results["machine"]}, {results["threads"]} threads;
lowland at {", ".join(commits)}. Peers: {names}.

Every case is a process of its own, one after another, on the same arrays. **CPU seconds** are what to compare; wall seconds are
given only where less than {QUIET} of a core was busy with something else meanwhile. Our maps' seconds are of the whole process,
reading and writing files and all; the peers' are of the fit alone, with the CPU seconds to import and to compile (what a first fit of
a few rows takes beyond a second one; code that numba keeps on the disk was there from earlier runs) in a column of their own. Peers
run with `OMP_WAIT_POLICY=PASSIVE`. t-SNE is asked for the same work of all: perplexity 30, 250 + 500 iterations; everything else is
each tool's default, without a seed, which would keep some from using both cores. All maps are judged by the same programs: `lowland
quality`, and KL under openTSNE's affinities; above 100,000 rows neighbours and classes by 2,000 rows against all. *n/a*: not defined
or not measured.

Not asked, because of the hours or the memory it would take: {", ".join(f"{tool} above {most:,} rows" for tool, most in maps.MOST_ROWS.items())};
of the million, all but {", ".join(maps.OF_A_MILLION)}; ten dimensions of those that sum over all pairs by trees or grids.
"""


def lines_of(cases, arm, name, d):
    start = f"maps/{arm}/{name}/d={d}/"
    return {key[len(start) :]: line for key, line in cases.items() if key.startswith(start)}


# A peer is of a method's quality class if it keeps at least this share of the neighbours that the method keeps.
AS_GOOD = 0.95


def fastest(cases):
    """Each of our methods on MNIST 70k beside the fastest peer of its kind, and the fastest that keeps as many neighbours."""
    lines = lines_of(cases, "defaults", "mnist-70k", 2)
    if not lines:
        return ""
    seconds = lambda line: line["cpu_s"]
    recall = lambda line: line["scores"]["recall 15"]
    rows = []
    for words, tools in CLASSES.items():
        done = {tool: lines[tool] for tool in tools if "cpu_s" in lines.get(tool, {})}
        others = {tool: line for tool, line in done.items() if tool in peers.TOOLS}
        if words == "graphs and lines" or not others:
            continue
        for tool, ours in done.items():
            if tool in peers.TOOLS:
                continue
            as_good = {peer: line for peer, line in others.items() if recall(line) >= AS_GOOD * recall(ours)}
            cells = [words, tool, number(seconds(ours)), kept(ours)]
            for some in (others, as_good):
                best = min(some, key=lambda peer: seconds(some[peer]), default=None)
                cells += ["none", "", "", ""] if best is None else [best, number(seconds(some[best])), f"{seconds(ours) / seconds(some[best]):.2f}", kept(some[best])]
            rows.append(cells)
    quality = "recall 15, 1-NN error"
    peer = ["CPU s", "ours to it", quality]
    head = ["kind", "ours", "CPU s", quality, "fastest peer of its kind", *peer, "fastest as good", *peer]
    words = f"As good: with at least {AS_GOOD} of our recall at 15.\n\n"
    return "## MNIST 70,000 beside the fastest peer\n\n" + words + table(head, rows)


def kept(line):
    return f"{shown(line['scores'], 'recall 15')}, {shown(line['scores'], '1-NN error')}"


def table_of_maps(cases):
    text = ["## Maps\n"]
    for arm, words in (("defaults", ""), ("graph", ", one graph of neighbours for all (exact; its seconds not counted)")):
        for name in DATA:
            for d in (2, 3, 10):
                lines = lines_of(cases, arm, name, d)
                if lines:
                    text.append(f"### {DATA[name]}, to {d} dimensions{words}\n\n{maps_table(lines)}")
    return "\n".join(text)


def maps_table(lines):
    known = [tool for tools in CLASSES.values() for tool in tools]
    order = sorted(lines, key=lambda tool: known.index(tool))
    scores = [name for name in SCORES if any(name in line.get("scores", {}) for line in lines.values())]
    head = ["tool", "CPU s", "wall s", "import + compile s", "peak MB", *scores]
    rows = []
    for tool in order:
        line, label = lines[tool], f"**{tool}**" if tool in maps.METHODS else tool
        if "failed" in line:
            words = bad_input.error(line["said"]) if line.get("said") else line["failed"]
            rows.append([label, f"failed: {words}".replace("|", "\\|"), *[""] * (len(head) - 2)])
            continue
        delay = line.get("import_s", 0) + line.get("compile_s", 0)
        wall = number(line["wall_s"]) if line.get("others", 1) < QUIET else "busy"
        found = line.get("scores", {})
        if "not finite" in found:
            label += f" ({found['not finite']} rows not finite)"
        rows.append([label, number(line["cpu_s"]), wall, number(delay), f"{line['peak_mb']:.0f}", *(shown(found, s) for s in scores)])
    return table(head, rows)


def searches(cases):
    rows = []
    for key, line in cases.items():
        if key.startswith("searches/"):
            _, name, k, way = key.split("/")
            way = f"**{way}**" if way in ("exact", "approximate") else way
            if "failed" in line:
                rows.append([DATA[name], k, way, line["failed"], "", ""])
            else:
                recall = line["found"].get("recall")
                rows.append([DATA[name], k, way, number(line["cpu_s"]), f"{line['peak_mb']:.0f}", "exact" if recall is None else f"{recall:.4f}"])
    head = ["data", "neighbours", "program", "CPU s", "peak MB", "recall"]
    return "## Nearest neighbours\n\n" + table(head, rows) if rows else ""


def same_again(cases):
    rows = []
    for tool, line in lines_of(cases, "again", "digits", 2).items():
        label = f"**{tool}**" if tool in maps.METHODS else tool
        words = [line["failed"], ""] if "failed" in line else ["yes" if line[name] else "no" for name in ("same again", "same with one thread")]
        rows.append([label, *words])
    if not rows:
        return ""
    head = ["tool", "the same bytes when run again", "the same bytes with one thread"]
    return "## The same map again\n\nThe digits, two threads, a seed given to every tool that takes one (with which umap-learn uses one thread).\n\n" + table(head, rows)


def grown(cases, picture):
    found = growth.exponents(cases)
    if not found:
        return ""
    picture.parent.mkdir(parents=True, exist_ok=True)
    growth.draw(found, picture)
    rows = []
    for method, line in found.items():
        measured = ", ".join(f"{int(n):,}: {number(s)} s, {m:.0f} MB" for n, s, m in zip(line["sizes"], line["cpu_s"], line["peak_mb"]))
        rows.append([f"**{method}**", f"{line['time']:.2f}", f"{line['memory']:.2f}", measured])
    words = "MNIST's digits, from 70,000 on deformed ones, to two dimensions, whole process. Exponents are slopes of least squares between\n"
    words += "logarithms, without the smallest size where there are more than two.\n"
    head = ["method", "exponent of CPU time", "of memory", "rows: CPU seconds, peak memory"]
    return f"## Growth\n\n{words}\n![CPU seconds and memory against rows](images/{picture.name})\n\n{table(head, rows)}"


def where_time_goes(cases):
    text = ["## Where the time goes\n"]
    machine = cases.get("profiles/machine")
    if machine and "failed" not in machine:
        rates = ", ".join(f"{value:.3g} {name}" for name, value in machine.items() if name.endswith("/s"))
        text.append(f"This machine at most, two threads, measured by loops that do nothing else: {rates}.\n")
    rows = []
    for key, line in cases.items():
        if key.startswith("profiles/") and "cpu_s" in line and "stages" in line:
            _, name, method = key.split("/")
            stages = ", ".join(f"{stage} {number(seconds)}" for stage, seconds in line["stages"].items())
            loops = ", ".join(f"`{loop}` {share:.0f} %" for loop, share in line.get("loops", {}).items())
            rows.append([f"**{method}**", DATA[name], number(line["cpu_s"]), stages, loops])
    text.append(table(["method", "data", "CPU s", "stages, CPU s", "loops, share of the samples"], rows))
    start = "profiles/mnist-70k/"
    lines = {key[len(start) :]: line for key, line in cases.items() if key.startswith(start) and "cpu_s" in line}
    if machine and "failed" not in machine and lines:
        text.append("The least that must be done, and the CPU seconds for it at the rates above, beside what the stage takes:\n")
        rows = []
        for method, stage, work, least, taken in profiles.limits(machine, lines):
            rows.append([method, stage, work, number(least), number(taken), f"{taken / least:.1f}"])
        text.append(table(["method", "stage", "must do", "at the limit, CPU s", "takes, CPU s", "times"], rows))
    return "\n".join(text) if rows else ""


def bad_inputs(cases):
    found = {}
    for key, line in cases.items():
        if key.startswith("bad-input/"):
            _, what, tool = key.split("/")
            found.setdefault(what, {})[tool] = line.get("outcome") or line["failed"]
    if not found:
        return ""
    text = ["## Bad and odd input\n\nRun for real, 120 s (importing included) and 16 GB of memory at most; the words are each tool's own.\n"]
    for what, outcomes in found.items():
        order = sorted(outcomes, key=lambda tool: tool in peers.TOOLS)
        rows = [[f"**{tool}**" if tool in maps.METHODS else tool, outcomes[tool].replace("|", "\\|")] for tool in order]
        text.append(f"### {what}\n\n" + table(["tool", "what it did"], rows))
    return "\n".join(text)


def table(head, rows):
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}", *(f"| {' | '.join(row)} |" for row in rows)]
    return "\n".join(lines) + "\n"


def number(value):
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def shown(scores, name):
    return f"{scores[name]:.4f}" if name in scores else "n/a"
