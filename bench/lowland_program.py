"""Runs the release build of the `lowland` program, always as a whole process that reads and writes files."""

import json
import subprocess

from bench.paths import PROGRAM
from bench.process import measure_process


def embed(tool, rows, dimensions, out, limit, graph=None, threads=2, preexec=None, extra=()):
    """Embeds a file. `tool` is a method, optionally followed by its options. The record includes the CPU seconds of each stage."""
    command = [PROGRAM, "embed", rows, "--method", *tool.split(), "--n-components", dimensions, "--no-quality", "--json"]
    command += ["--threads", threads, "--out", out, *extra]
    if graph:
        command += ["--neighbors", graph]
    printed, record = measure_process(command, limit, preexec)
    record["stages"] = {event["stage"]: event["cpu_seconds"] for event in events(printed, "stage")}
    record["iterations"] = len(events(printed, "step"))
    record["notes"] = [event["text"] for event in events(printed, "note")]
    return record


def events(printed, name):
    """Returns the events of this name from the output of `--json`."""
    lines = (json.loads(line) for line in printed.splitlines() if line.startswith("{"))
    return [line for line in lines if line.get("event") == name]


def quality(rows, embedding, *options):
    """Returns the `scores` event of `lowland quality`."""
    command = [PROGRAM, "quality", rows, embedding, "--json", *options]
    printed = subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True).stdout
    return events(printed, "scores")[0]


def search(rows, k, out, kind="exact"):
    """Writes the neighbor graph of a file."""
    command = [PROGRAM, "neighbors", rows, "--n-neighbors", k, f"--{kind}", "--quiet", "-o", out]
    subprocess.run(list(map(str, command)), check=True)
    return out


def cached_neighbor_graph(rows, k, path):
    """Returns the path of the exact neighbor graph, which is computed if the file does not exist."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        search(rows, k, path.with_name(f"part-{path.name}")).replace(path)
    return path
