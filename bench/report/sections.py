"""The other sections of the report: searches, variants, kernels, pictures, cold start and bad input."""

from bench import catalog
from bench.cases import searches
from bench.report.embeddings import failure_reason, label
from bench.report.markdown import collapsible, cpu_seconds, describe, escape, findings, number, score, table

# Text in the outcome of a bad-input case -> summary.
SUMMARIES = {"not finite": "**bad map**", "says:": "map, warns", "without a word": "map", "killed": "**crash**", "given up": "**no end**"}


def group(cases, name):
    """Returns the records of a group by the parts of their keys."""
    return {tuple(key.split("/")[1:]): record for key, record in cases.items() if key.startswith(f"{name}/")}


def neighbor_search(cases):
    rows = []
    for (name, k, way), record in group(cases, "searches").items():
        program = f"**{way}**" if way in searches.LOWLAND else way
        if "failed" in record:
            rows.append([describe(name), k, program, record["failed"], "", ""])
            continue
        recall = record["found"].get("recall")
        rows.append([describe(name), k, program, cpu_seconds(record), f"{record['peak_mb']:.0f}", "exact" if recall is None else f"{recall:.4f}"])
    head = ["data", "neighbors", "program", "CPU s", "peak MB", "recall"]
    return "## Nearest neighbors\n\n" + table(head, rows) if rows else ""


def variants(cases):
    rows = []
    for (name, setting, tool), record in group(cases, "variants").items():
        cells = [tool, describe(name), setting]
        if "failed" in record:
            rows.append([*cells, f"failed: {failure_reason(record)}", "", "", "", ""])
            continue
        stages = ", ".join(f"{stage} {number(seconds)}" for stage, seconds in record.get("stages", {}).items())
        scores = record.get("scores", {})
        found = [f"{key} {score(scores, key)}" for key in ("recall 15", "1-NN error", "KL") if key in scores]
        found += [findings(record["found"])] if "found" in record else []
        rows.append([*cells, cpu_seconds(record), stages, f"{record['peak_mb']:.0f}", ", ".join(found), record["commit"]])
    head = ["method and options", "data", "setting", "CPU s", "stages, CPU s", "peak MB", "scores", "commit"]
    return "## Variants\n\nMethods with other than the default options.\n\n" + table(head, rows) if rows else ""


def kernels(cases):
    rows, text = [], ["## Kernels\n\nParts of the methods by themselves; seconds of the work alone. Programs of lowland have no library's name.\n"]
    for key, record in group(cases, "kernels").items():
        if len(key) == 1:
            continue
        kernel, name, setting, way = key
        if "failed" in record:
            rows.append([kernel, describe(name), setting, way, f"failed: {failure_reason(record)}", "", ""])
        else:
            rows.append([kernel, describe(name), setting, way, cpu_seconds(record), f"{record['peak_mb']:.0f}", findings(record["found"])])
    if rows:
        text.append(table(["kernel", "data", "setting", "program", "CPU s", "peak MB", "found"], rows))
    sums = cases.get("kernels/kernel-sums", {})
    if "table" in sums:
        text.append(collapsible("Time and error of the engines that sum kernels", "```\n" + "\n".join(sums["table"]) + "\n```\n"))
    return "\n".join(text) if len(text) > 1 else ""


def pictures(cases):
    rows = []
    for (count, picture, tool), record in group(cases, "pictures").items():
        cells = [picture, f"{int(count.removeprefix('rows=')):,}", f"**{tool}**" if tool == "lowland" else tool]
        if "failed" in record:
            rows.append([*cells, f"failed: {failure_reason(record)}", "", "", "", ""])
            continue
        drawing = number(record["drawing_cpu_s"]) if "drawing_cpu_s" in record else ""
        rows.append([*cells, cpu_seconds(record), drawing, number(record["wall_s"]), f"{record['peak_mb']:.0f}", number(record["file_mb"])])
    head = ["picture", "points", "program", "CPU s", "of it drawing", "wall s", "peak MB", "file, MB"]
    return "## Pictures\n\nWhole processes, from a map in a file to a PNG file 1600 pixels wide.\n\n" + table(head, rows) if rows else ""


def cold_start(cases):
    rows = []
    for (what,), record in group(cases, "cold-start").items():
        if "failed" in record:
            rows.append([what, f"failed: {failure_reason(record)}", "", ""])
            continue
        first, *later = record["cpu_s_of_starts"]
        rows.append([what, number(first), number(min(later)), number(min(record["wall_s_of_runs"]))])
    head = ["what", "first run, CPU s", "later runs, CPU s", "fastest run, wall s"]
    return "## Cold start\n\nFresh processes that import a library and embed the digits, in a new environment.\n\n" + table(head, rows) if rows else ""


def bad_input(cases):
    outcomes = {}
    for (name, tool), record in group(cases, "bad-input").items():
        outcomes.setdefault(name, {})[tool] = record.get("outcome") or record["failed"]
    if not outcomes:
        return ""

    def summary(outcome):
        return next((words for text, words in SUMMARIES.items() if text in outcome), "error")

    tools = sorted({tool for found in outcomes.values() for tool in found}, key=lambda tool: (tool in catalog.PEER_TOOLS, tool))
    rows = [[label(tool), *(summary(found[tool]) if tool in found else "n/a" for found in outcomes.values())] for tool in tools]
    introduction = """Actual runs, limited to 120 s (including imports) and 16 GB of memory (lowland plans with the memory of the machine). *warns*: a note of
lowland's, a Python warning of a peer's. *n/a*: the Rust crates take rows in memory and cannot be given 50 GB."""
    text = [f"## Bad input\n\n{introduction}\n", table(["tool", *outcomes], rows)]
    for name, found in outcomes.items():
        rows = [[label(tool), escape(found[tool])] for tool in tools if tool in found]
        text.append(collapsible(f"{name}: messages of the tools", table(["tool", "outcome"], rows)))
    return "\n".join(text)
