"""docs/scoreboard.md, from the results."""

import bad_input
import data
import growth
import maps
import peers
import profiles

# Cores that may be busy with something else for a wall time to be shown.
QUIET = 0.1
SCORES = ["recall 15", "recall 30", "trustworthiness", "continuity", "1-NN error", "10-NN error", "triplets", "Spearman", "KL"]
# Tools that promise the same stand together.
CLASSES = {
    "clusters in the plane": ["lvm", "mapit", "umap-learn", "pacmap", "trimap", "pymde", "annembed", "manifolds-rs UMAP", "manifolds-rs PaCMAP"],
    "t-SNE and its kin": ["tsne", "ssne", "ee", "openTSNE", "manifolds-rs t-SNE", "manifolds-rs t-SNE fft", "bhtsne", "sklearn t-SNE"],
    "graphs and lines": ["spectral", "sklearn spectral", "isomap", "sklearn Isomap", "lle", "sklearn LLE", "ltsa", "sklearn LTSA", "lllvm", "tsm", "pca", "sklearn PCA"],
}  # fmt: skip


def described(name):
    rows, columns, words = data.SETS[name]
    return f"{words}, {rows:,} x {columns}"


def write(results, missing, path):
    cases = results["cases"]
    picture = path.parent / "images/scoreboard-growth.png"
    parts = [f"# Scoreboard\n\n{beside_peers(cases)}", table_of_maps(cases), searches(cases), same_again(cases)]
    parts += [before_and_after(cases), grown(cases, picture), where_time_goes(cases), bad_inputs(cases), how_measured(results, missing)]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(part for part in parts if part))


def how_measured(results, missing):
    names = ", ".join(f"{name} {version}" for name, version in results["peers"].items())
    return f"""## How it was measured

Written by `cargo xtask bench`, {results["date"]}; do not edit. {results["machine"]}, {results["threads"]} threads. Peers: {names}.

- Every case is a process of its own, one after another, on the same arrays, **measured once** but where a range stands beside the
  seconds: those are the median, the least and the most of several runs. Of single ones, differences of a tenth are within the noise
  of a shared machine.
- CPU seconds are what to compare; wall seconds are given only where less than {QUIET} of a core was busy with something else.
- Our maps' seconds are of the whole process, reading and writing files and all (but for the column *fit* at the top); the peers' are of
  the fit alone. Their CPU seconds to import and to compile (what a first fit of a few rows takes beyond a second one; code that numba
  keeps on the disk was there from earlier runs) have a column of their own. Peak memory is of the whole process, Python's interpreter
  included.
- Peers run with `OMP_WAIT_POLICY=PASSIVE`. Settings are each tool's own, without a seed, which would keep some from using both cores;
  but t-SNE is asked for the same work of all, perplexity 30 and 250 + 500 iterations, and annembed has no settings of its own for a
  whole run: it has those of its crate's example for the graph, and its defaults after that. openTSNE's wheel has numpy's FFT, not FFTW.
- All maps are judged by the same programs: `lowland quality` (trustworthiness and continuity at 15 neighbours), and KL under openTSNE's
  affinities; above 100,000 rows neighbours and classes by 2,000 rows against all. *n/a*: not defined or not measured.
- The recall of searches, ours and the peers', by the same 500 rows against all; ours of a second run of the search, with another seed.
{"".join(f"- {remark}{chr(10)}" for remark in results.get("remarks", []))}
Not asked, because of the hours or the memory it would take: {", ".join(f"{tool} above {most:,} rows" for tool, most in maps.MOST_ROWS.items())};
of the million, all but {", ".join(maps.OF_A_MILLION)}; ten dimensions of {", ".join(maps.SUMS)} above {maps.MOST_OF_SUMS:,} rows.

Defined, but not measured yet: {not_yet(missing)}.
"""


def not_yet(missing):
    """The cases, those of one table together."""
    tools_of = {}
    for key in missing:
        group, _, tool = key.rpartition("/")
        tools_of.setdefault(group, []).append(tool)
    return "; ".join(f"{group}: {', '.join(tools)}" for group, tools in tools_of.items()) or "nothing"


def lines_of(cases, arm, name, d):
    start = f"maps/{arm}/{name}/d={d}/"
    return {key[len(start) :]: line for key, line in cases.items() if key.startswith(start)}


# A peer is as good as a method if it keeps this share of the neighbours that the method keeps, and of the points whose nearest on
# the map is of another class it has no more than the method's by the same share.
AS_GOOD = 0.95


# It is no attempt at neighbours, which the others are held to.
KEEPS_ANGLES = "tsm"
# The tables at the top: the arm, the dimensions and the words before it.
BESIDE_PEERS = [
    ("defaults", 2, ""),
    ("graph", 2, "The same with one graph of neighbours for all that take one; its seconds are not counted.\n"),
    ("defaults", 3, "To three dimensions, each with its own neighbours.\n"),
    ("defaults", 10, f"To ten dimensions; {', '.join(maps.SUMS)} are not asked: by what 10,000 rows take, hours.\n"),
]


def beside_peers(cases):
    """Each of our methods on MNIST 70k beside the fastest peer that is as good."""
    words = f"""MNIST, 70,000 x 50, to two dimensions: each of ours ([what they are](methods)) beside the fastest peer, whatever its kind, that is as good:
at least {AS_GOOD} of our recall at 15 (the share of a row's 15 nearest rows that are among the 15 nearest on the map), and a 1-NN error (the share
of rows whose nearest on the map is of another class) of no more than ours over {AS_GOOD}. Fits are compared: ours is the sum of the stages,
without reading and writing files, as theirs, but also without the checks for values that are not finite and for equal rows, which all of
ours have before the first stage and which matter to pca alone (some 0.01 s). Below 1 we are faster. In brackets the least and the most of
several runs, of which the median stands before them. isomap and tsm keep all pairs, and stand here with landmarks, by which lle too comes to its end.
"""
    text = [words]
    for arm, d, title in BESIDE_PEERS:
        lines = lines_of(cases, arm, "mnist-70k", d)
        rows, slower = [], []
        for tool in (tool for tool in maps.METHODS if tool in lines):
            ours = lines[tool]
            if "failed" in ours:
                rows.append([f"**{tool}**", f"fails: {reason(ours)}", *[""] * 7])
                continue
            best = None if tool.startswith(KEEPS_ANGLES) else fastest_as_good(ours, lines)
            fit = sum(ours["stages"].values())
            cells = [f"**{tool}**", seconds(ours), number(fit), shown(ours["scores"], "recall 15"), shown(ours["scores"], "1-NN error")]
            if best is None:
                rows.append([*cells, "none: it keeps angles" if tool.startswith(KEEPS_ANGLES) else "none is as good", "", "", ""])
                continue
            peer, ratio = lines[best], fit / lines[best]["cpu_s"]
            if ratio > 1:
                slower.append(f"{tool} ({ratio:.2f} of {best}'s time)")
            rows.append([*cells, best, seconds(peer), f"{ratio:.2f}", f"{shown(peer['scores'], 'recall 15')}, {shown(peer['scores'], '1-NN error')}"])
        if rows:
            head = ["ours", "CPU s, files and all", "fit, CPU s", "recall 15", "1-NN error", "fastest peer as good", "its fit, CPU s", "our fit / its", "its recall 15, 1-NN error"]
            text.append(title + "\n" * bool(title) + table(head, rows))
            text.append(f"Slower than such a peer: {', '.join(slower) or 'none'}.\n")
    return "\n".join(text) if len(text) > 1 else ""


def fastest_as_good(ours, lines):
    def as_good(tool):
        line = lines[tool]
        if tool not in peers.TOOLS or "recall 15" not in line.get("scores", {}):
            return False
        scores, own = line["scores"], ours["scores"]
        return scores["recall 15"] >= AS_GOOD * own["recall 15"] and scores["1-NN error"] <= own["1-NN error"] / AS_GOOD

    return min(filter(as_good, lines), key=lambda tool: lines[tool]["cpu_s"], default=None)


def reason(line):
    return (bad_input.error(line["said"]) if line.get("said") else line["failed"]).replace("|", "\\|")


def table_of_maps(cases):
    text = ["## Maps\n\nOurs in bold. Large values are good, but for errors and KL.\n"]
    for arm, words in (("defaults", ""), ("graph", ", one graph of neighbours for all (exact; its seconds not counted)")):
        for name in data.SETS:
            for d in (2, 3, 10):
                lines = lines_of(cases, arm, name, d)
                if lines:
                    title = f"{described(name)}, to {d} dimensions{words}"
                    made = sorted({f"{line['commit']} ({line['date']})" for tool, line in lines.items() if tool in maps.METHODS})
                    text.append(folded(title, f"{maps_table(lines)}\nlowland at {', '.join(made)}.\n", (arm, name, d) == ("defaults", "mnist-70k", 2)))
    return "\n".join(text)


def maps_table(lines):
    known = [tool for tools in CLASSES.values() for tool in tools]
    order = sorted(lines, key=lambda tool: known.index(tool.partition(" --")[0]))
    scores = [name for name in SCORES if any(name in line.get("scores", {}) for line in lines.values())]
    head = ["tool", "CPU s", "wall s", "import + compile s", "peak MB", *scores]
    rows = []
    for tool in order:
        line, label = lines[tool], f"**{tool}**" if tool in maps.METHODS else tool
        if "failed" in line:
            rows.append([label, f"failed: {reason(line)}", *[""] * (len(head) - 2)])
            continue
        delay = line.get("import_s", 0) + line.get("compile_s", 0)
        # The clock of what others did ticks in hundredths.
        others = line.get("others", 1)
        quiet = others < QUIET or others * line["wall_s"] < 0.05
        wall = number(line["wall_s"]) if quiet else "busy"
        found = line.get("scores", {})
        if "not finite" in found:
            label += f" ({found['not finite']} rows not finite)"
        rows.append([label, seconds(line), wall, number(delay), f"{line['peak_mb']:.0f}", *(shown(found, s) for s in scores)])
    return table(head, rows)


def searches(cases):
    rows = []
    for key, line in cases.items():
        if key.startswith("searches/"):
            _, name, k, way = key.split("/")
            way = f"**{way}**" if way in ("exact", "approximate") else way
            if "failed" in line:
                rows.append([described(name), k, way, line["failed"], "", ""])
            else:
                recall = line["found"].get("recall")
                rows.append([described(name), k, way, seconds(line), f"{line['peak_mb']:.0f}", "exact" if recall is None else f"{recall:.4f}"])
    head = ["data", "neighbours", "program", "CPU s", "peak MB", "recall"]
    return "## Nearest neighbours\n\n" + table(head, rows) if rows else ""


def same_again(cases):
    found = {name: lines_of(cases, "again", name, 2) for name in maps.AGAIN}
    rows = []
    for tool in dict.fromkeys(tool for lines in found.values() for tool in lines):
        words = [same for name in maps.AGAIN for same in same_bytes(found[name].get(tool))]
        rows.append([f"**{tool}**" if tool in maps.METHODS else tool, *words])
    if not rows:
        return ""
    head = ["tool", *(f"{data.SETS[name][2]} ({data.SETS[name][0]:,}): {what}" for name in maps.AGAIN for what in ("run again", "with one thread"))]
    words = "Whether the bytes of the map are the same: two threads, and a seed given to every tool that takes one (with which umap-learn uses one\n"
    return f"## The same map again\n\n{words}thread).\n\n{table(head, rows)}"


def same_bytes(line):
    """When run again, and with one thread."""
    if line is None:
        return ["not asked", ""]
    return [line["failed"], ""] if "failed" in line else ["yes" if line[name] else "no" for name in ("same again", "same with one thread")]


def before_and_after(cases):
    """Our seconds on MNIST 70k at the commits at which they were measured."""
    rows = []
    arms = [("defaults", 2, ""), ("graph", 2, " with the graph given"), ("defaults", 3, ", three dimensions"), ("defaults", 10, ", ten dimensions")]
    for arm, d, words in arms:
        for tool, line in lines_of(cases, arm, "mnist-70k", d).items():
            if tool in maps.METHODS and line.get("before") and "cpu_s" in line:
                taken = [f"{number(then['cpu_s'])} ({then['commit']}, {then['date']})" for then in [*line["before"], line]]
                rows.append([f"**{tool}**{words}", ", ".join(taken), f"{line['cpu_s'] / line['before'][0]['cpu_s']:.2f}"])
    head = ["method", "CPU s, with the commit and the day", "last / first"]
    return "## Before and after\n\nMNIST, 70,000 x 50, each time the scoreboard measured it; to two dimensions unless it says.\n\n" + table(head, rows) if rows else ""


def grown(cases, picture):
    found = growth.exponents(cases)
    if not found:
        return ""
    picture.parent.mkdir(parents=True, exist_ok=True)
    growth.draw(found, picture)
    sizes = sorted({int(size) for line in found.values() for size in line["sizes"]})
    rows = []
    for method, line in found.items():
        at = {int(n): f"{number(s)} s, {m:.0f} MB" for n, s, m in zip(line["sizes"], line["cpu_s"], line["peak_mb"])}
        rows.append([f"**{method}**", f"{line['time']:.2f}", f"{line['memory']:.2f}", *(at.get(size, "") for size in sizes)])
    words = "MNIST's digits, from 70,000 on deformed ones, to two dimensions, whole process: CPU seconds and peak memory. Exponents are slopes\n"
    words += "of least squares between logarithms, without the smallest size where there are more than two: of the sizes in the table, which differ. Searches\n"
    words += "for neighbours are exact for few rows and approximate for many.\n"
    head = ["method", "exponent of CPU time", "of memory", *(f"{size:,}" for size in sizes)]
    return f"## Growth\n\n{words}\n![CPU seconds and memory against rows](images/{picture.name})\n\n{table(head, rows)}"


def where_time_goes(cases):
    text = ["## Where the time goes\n"]
    machine = cases.get("profiles/machine")
    if machine and "failed" not in machine:
        rates = ", ".join(f"{value:.3g} {name}" for name, value in machine.items() if name.endswith("/s"))
        text.append(f"This machine at most, two threads, measured by loops that do nothing else: {rates}.\n")
    measured = [(key, line) for key, line in cases.items() if key.startswith("profiles/") and "stages" in line and "cpu_s" in line]
    if not measured:
        return ""
    rows = []
    for key, line in measured:
        _, name, method = key.split("/")
        by_share = lambda parts: sorted(parts.items(), key=lambda part: -part[1])
        stages = ", ".join(f"{stage} {number(taken)}" for stage, taken in by_share(line["stages"]))
        loops = ", ".join(f"`{loop}` {share:.0f} %" for loop, share in by_share(line.get("loops", {})))
        rows.append([f"**{method}**", described(name), seconds(line), stages, loops, line["commit"]])
    text.append(table(["method", "data", "CPU s", "stages, CPU s", "loops, share of the samples", "commit"], rows))
    if machine and "failed" not in machine:
        lines = {tuple(key.split("/")[1:]): line for key, line in measured}
        text.append("The least that must be done, and the CPU seconds for it at the rates above, beside what the stage takes:\n")
        limits = profiles.limits(machine, lines)
        rows = [[method, stage, work, number(least), number(taken), f"{taken / least:.1f}"] for method, stage, work, least, taken in limits]
        text.append(table(["method", "stage", "must do", "at the limit, CPU s", "takes, CPU s", "times"], rows))
    return "\n".join(text)


# What happened, in a word, by what the outcome says.
IN_A_WORD = {"not finite": "**bad map**", "says:": "map, warns", "without a word": "map", "killed": "**crash**", "given up": "**no end**"}


def bad_inputs(cases):
    found = {}
    for key, line in cases.items():
        if key.startswith("bad-input/"):
            _, what, tool = key.split("/")
            found.setdefault(what, {})[tool] = line.get("outcome") or line["failed"]
    if not found:
        return ""
    word = lambda outcome: next((word for sign, word in IN_A_WORD.items() if sign in outcome), "error")
    order = sorted({tool for outcomes in found.values() for tool in outcomes}, key=lambda tool: (tool in peers.TOOLS, tool))
    label = lambda tool: f"**{tool}**" if tool in maps.METHODS else tool
    rows = [[label(tool), *(word(outcomes[tool]) if tool in outcomes else "n/a" for outcomes in found.values())] for tool in order]
    text = ["## Bad and odd input\n\nRun for real, 120 s (importing included) and 16 GB of memory at most (ours reckon with what the machine has). *warns*: by a note of ours, a Python warning of theirs. *n/a*: a crate that is handed rows in memory never sees 50 GB.\n"]
    text.append(table(["tool", *found], rows))
    for what, outcomes in found.items():
        rows = [[label(tool), outcomes[tool].replace("|", "\\|")] for tool in order if tool in outcomes]
        text.append(folded(f"{what}: in each tool's own words", table(["tool", "what it did"], rows)))
    return "\n".join(text)


def folded(title, content, is_open=False):
    return f"<details{' open' * is_open}><summary>{title}</summary>\n\n{content}\n</details>\n"


def table(head, rows):
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}", *(f"| {' | '.join(row)} |" for row in rows)]
    return "\n".join(lines) + "\n"


def number(value):
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def seconds(line):
    """CPU seconds, of several runs the median with the least and the most."""
    runs = line.get("cpu_s_of_runs")
    return number(line["cpu_s"]) + (f" ({number(min(runs))}-{number(max(runs))})" if runs else "")


def shown(scores, name):
    return f"{scores[name]:.4f}" if name in scores else "n/a"
