"""The sections of the report about embeddings: comparison with peers, all tables, reproducibility, and changes over time."""

from bench import catalog
from bench.cases import bad_input
from bench.report import memory
from bench.report.markdown import collapsible, cpu_seconds, describe, escape, number, score, table

# Wall times are shown if fewer cores than this were busy with other work.
QUIET = 0.1
SCORES = ["recall 15", "recall 30", "trustworthiness", "continuity", "1-NN error", "10-NN error", "triplets", "Spearman", "KL"]
# Order of the tools in the tables: tools with the same purpose together.
TOOL_ORDER = [
    "lvm", "mapit", "umap-learn", "pacmap", "trimap", "pymde", "annembed", "manifolds-rs UMAP", "manifolds-rs PaCMAP",
    "tsne", "ssne", "ee", "openTSNE", "manifolds-rs t-SNE", "manifolds-rs t-SNE fft", "bhtsne", "sklearn t-SNE",
    "spectral", "sklearn spectral", "isomap", "sklearn Isomap", "lle", "sklearn LLE", "ltsa", "sklearn LTSA", "lllvm", "tsm", "pca", "sklearn PCA",
]  # fmt: skip
# A peer is comparable to a method if its recall is at least this share of the method's, and the method's 1-NN error at least this
# share of the peer's.
COMPARABLE = 0.95
# tsm preserves angles rather than neighbors, so these scores do not apply to it.
ANGLE_METHOD = "tsm"
# Group, dimensions and introduction of each comparison.
COMPARISONS = [
    ("defaults", 2, ""),
    ("graph", 2, "The same with one precomputed neighbor graph for all tools that accept one; its computation is not counted.\n"),
    ("defaults", 3, "Three dimensions; each tool finds its own neighbors.\n"),
    ("defaults", 10, f"Ten dimensions; {', '.join(catalog.PAIRWISE_METHODS)} are among the [other records](#other-records).\n"),
]
INTRODUCTION = f"""MNIST, 70,000 x 50, to two dimensions: each [method of lowland](methods) and the fastest comparable peer of any kind. A peer is comparable
if its recall at 15 (the share of a row's 15 nearest neighbors that are among the 15 nearest in the embedding) is at least {COMPARABLE} of
ours and its 1-NN error (the share of rows whose nearest neighbor in the embedding has another label) is at most ours divided by {COMPARABLE}.
The fits are compared: ours is the sum of the stages, which like the peers' excludes reading and writing files, but also excludes the
checks for non-finite values and duplicate rows before the first stage (about 0.01 s, which matters only for pca). A ratio below 1 means
that lowland is faster. Of several runs the median is given, with the range in parentheses. isomap and tsm keep all pairs and are
therefore run with landmarks, with which lle completes too.
"""


def records_of(cases, group, name, d):
    """Returns the records of one table by tool."""
    start = f"maps/{group}/{name}/d={d}/"
    return {key[len(start) :]: record for key, record in cases.items() if key.startswith(start)}


def label(tool):
    return f"**{tool}**" if tool in catalog.LOWLAND_TOOLS else tool


def failure_reason(record):
    return escape(bad_input.error_message(record["said"]) if record.get("said") else record["failed"])


def comparison_with_peers(cases):
    text = [INTRODUCTION]
    head = ["method", "CPU s, whole process", "fit, CPU s", "recall 15", "1-NN error", "fastest comparable peer", "its fit, CPU s", "our fit / its", "its recall 15, 1-NN error"]
    for group, d, introduction in COMPARISONS:
        records = records_of(cases, group, "mnist-70k", d)
        rows, slower = [], []
        for tool in (tool for tool in catalog.LOWLAND_TOOLS if tool in records):
            own = records[tool]
            if "failed" in own:
                rows.append([label(tool), f"fails: {failure_reason(own)}", *[""] * 7])
                continue
            best = None if tool.startswith(ANGLE_METHOD) else fastest_comparable_peer(own, records)
            fit = sum(own["stages"].values())
            cells = [label(tool), cpu_seconds(own), number(fit), score(own["scores"], "recall 15"), score(own["scores"], "1-NN error")]
            if best is None:
                rows.append([*cells, "n/a: preserves angles" if tool.startswith(ANGLE_METHOD) else "none", "", "", ""])
                continue
            peer, ratio = records[best], fit / records[best]["cpu_s"]
            if ratio > 1:
                slower.append(f"{tool} ({ratio:.2f} times {best}'s time)")
            rows.append([*cells, best, cpu_seconds(peer), f"{ratio:.2f}", f"{score(peer['scores'], 'recall 15')}, {score(peer['scores'], '1-NN error')}"])
        if rows:
            text.append(introduction + "\n" * bool(introduction) + table(head, rows))
            text.append(f"Slower than a comparable peer: {', '.join(slower) or 'none'}.\n")
    return "\n".join(text) if len(text) > 1 else ""


def fastest_comparable_peer(own, records):
    def is_comparable(tool):
        record = records[tool]
        if tool not in catalog.PEER_TOOLS or "recall 15" not in record.get("scores", {}):
            return False
        peer, ours = record["scores"], own["scores"]
        return peer["recall 15"] >= COMPARABLE * ours["recall 15"] and peer["1-NN error"] <= ours["1-NN error"] / COMPARABLE

    return min(filter(is_comparable, records), key=lambda tool: records[tool]["cpu_s"], default=None)


def all_tables(cases):
    text = ["## Embeddings\n\nMethods of lowland in bold. Higher is better, except for errors and KL.\n"]
    for group, words in (("defaults", ""), ("graph", ", one exact neighbor graph for all (its computation not counted)")):
        for name in catalog.DATASETS:
            for d in (2, 3, 10):
                records = records_of(cases, group, name, d)
                if records:
                    title = f"{describe(name)}, to {d} dimensions{words}"
                    commits = sorted({f"{record['commit']} ({record['date']})" for tool, record in records.items() if tool in catalog.LOWLAND_TOOLS})
                    notes = memory.footnotes(records)
                    content = "\n".join([embedding_table(records), f"lowland at {', '.join(commits)}.\n", *notes])
                    text.append(collapsible(title, content, (group, name, d) == ("defaults", "mnist-70k", 2)))
    return "\n".join(text)


def embedding_table(records):
    order = sorted(records, key=lambda tool: TOOL_ORDER.index(tool.partition(" --")[0]))
    scores = [name for name in SCORES if any(name in record.get("scores", {}) for record in records.values())]
    head = ["tool", "CPU s", "wall s", "import + compile s", "peak MB", *scores]
    rows = []
    for tool in order:
        record, name = records[tool], label(tool)
        if "failed" in record:
            rows.append([name, f"failed: {failure_reason(record)}", *[""] * (len(head) - 2)])
            continue
        startup = record.get("import_s", 0) + record.get("compile_s", 0)
        # /proc/stat counts in hundredths of a second, too coarse for short runs.
        others = record.get("others", 1)
        quiet = others < QUIET or others * record["wall_s"] < 0.05
        wall = number(record["wall_s"]) if quiet else "busy"
        found = record.get("scores", {})
        if "not finite" in found:
            name += f" ({found['not finite']} rows not finite)"
        rows.append([name, cpu_seconds(record), wall, number(startup), memory.cell(record), *(score(found, s) for s in scores)])
    return table(head, rows)


def reproducibility(cases):
    names = catalog.REPRODUCIBILITY_DATASETS
    found = {name: records_of(cases, "again", name, 2) for name in names}
    tools = dict.fromkeys(tool for records in found.values() for tool in records)
    rows = [[label(tool), *(cell for name in names for cell in same_bytes(found[name].get(tool)))] for tool in tools]
    if not rows:
        return ""
    head = ["tool"]
    for name in names:
        count, _, title = catalog.DATASETS[name]
        head += [f"{title} ({count:,}): {what}" for what in ("run again", "with one thread")]
    introduction = "Whether the embedding has the same bytes again: two threads, and a seed for every tool that takes one (with which umap-learn uses\none thread)."
    return f"## Reproducibility\n\n{introduction}\n\n{table(head, rows)}"


def same_bytes(record):
    """Returns the cells for the second run and for the run with one thread."""
    if record is None:
        return ["not run", ""]
    return [record["failed"], ""] if "failed" in record else ["yes" if record[name] else "no" for name in ("same again", "same with one thread")]


def changes_over_time(cases):
    rows = []
    groups = [("defaults", 2, ""), ("graph", 2, " with a precomputed graph"), ("defaults", 3, ", three dimensions"), ("defaults", 10, ", ten dimensions")]
    for group, d, words in groups:
        for tool, record in records_of(cases, group, "mnist-70k", d).items():
            if tool in catalog.LOWLAND_TOOLS and record.get("before") and "cpu_s" in record:
                times = [f"{number(entry['cpu_s'])} ({entry['commit']}, {entry['date']})" for entry in [*record["before"], record]]
                rows.append([f"{label(tool)}{words}", ", ".join(times), f"{record['cpu_s'] / record['before'][0]['cpu_s']:.2f}"])
    head = ["method", "CPU s (commit, date)", "last / first"]
    introduction = "MNIST, 70,000 x 50, every time it was measured; to two dimensions unless stated otherwise."
    return f"## Changes over time\n\n{introduction}\n\n{table(head, rows)}" if rows else ""
