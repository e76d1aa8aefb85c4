"""Peak memory that was measured by itself, in runs of a few iterations, after the whole run of a case: the newest record counts."""

import json

# Each line of such a file holds the keys of the cases, `peak_mb`, `iterations`, `date` and `commit`. The page next to it has the same name.
PATTERN = "*-memory.jsonl"


def with_newest(cases, folder):
    """Returns the cases with the newest peak memory. A record whose memory was replaced has the replacement under `memory`,
    with the peak of the whole run as `whole_run_mb`."""
    newest = {}
    for path in sorted(folder.glob(PATTERN)):
        for line in path.read_text().splitlines():
            record = json.loads(line)
            for key in record.pop("keys"):
                if key not in newest or record["date"] >= newest[key]["date"]:
                    newest[key] = record | {"page": f"{path.stem}.md"}
    cases = dict(cases)
    for key, memory in newest.items():
        case = cases.get(key, {})
        if "peak_mb" in case and memory["date"] > case["date"]:
            cases[key] = case | {"peak_mb": memory["peak_mb"], "memory": memory | {"whole_run_mb": case["peak_mb"]}}
    return cases


def whole_run_mb(record):
    """Returns the peak memory of the run whose seconds the record holds."""
    return record["memory"]["whole_run_mb"] if "memory" in record else record["peak_mb"]


def cell(record):
    """Formats the peak memory; an asterisk refers to the footnote."""
    return f"{record['peak_mb']:.0f}" + "\\*" * ("memory" in record)


def footnotes(records):
    """Returns what the asterisks mean. `records` maps names for the text to records."""
    notes = []
    for name, record in records.items():
        if memory := record.get("memory"):
            source = f"{memory['date']}, commit {memory['commit']}, [record](../bench/results/{memory['page']})"
            whole = f"{memory['whole_run_mb']:.0f} MB ({record['date']}, commit {record['commit']})"
            notes.append(f"\\* {name}: memory of {memory['iterations']} iterations ({source}). The whole run, whose seconds the table has, needed {whole}.\n")
    return notes
