"""Lowland beside its peers: `cargo xtask bench` sets everything up and runs this. Measures what is asked, adds it to the results of
the machine (bench/results/DATE-MACHINE.json, written after every case, so that a run can be cut off and gone on with) and writes
docs/scoreboard.md from them."""

import argparse
import datetime
import json
import os
import platform
import re
import signal
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import bad_input
import growth
import maps
import ours
import page
import profiles
import searches

ROOT = Path(__file__).parent.parent.parent
# Those a run goes through, in this order. Each gives its cases, a key and what measures it.
PARTS = {"maps": maps, "growth": growth, "searches": searches, "profiles": profiles, "bad-input": bad_input}
THREADS = 2
PEERS = ["openTSNE", "umap-learn", "pacmap", "trimap", "scikit-learn", "pymde", "pynndescent", "hnswlib", "faiss-cpu", "manifolds-rs"]


def processor():
    text = subprocess.run(["lscpu"], capture_output=True, text=True, env=os.environ | {"LC_ALL": "C"}).stdout
    name = re.search(r"Model name: *(.*)", text)
    return name.group(1) if name else platform.processor() or "unknown"


def revision():
    """The commit that the program was built from: the last one of its sources, none of which may be newer than the program."""
    sources = [ROOT / "Cargo.lock", *(ROOT / "crates").rglob("*.rs")]
    program = ROOT / ours.PROGRAM
    if not program.exists() or program.stat().st_mtime < max(source.stat().st_mtime for source in sources):
        raise SystemExit(f"{ours.PROGRAM} is missing, or older than its sources: cargo build --release -p lowland-cli -p lowland-bench")
    words = lambda *command: subprocess.run(["git", *command, "--", "Cargo.lock", "crates"], cwd=ROOT, capture_output=True, text=True).stdout.strip()
    return words("log", "-1", "--format=%h") + ("" if not words("status", "--porcelain") else ", changed")


def history(line, commit):
    """What a case took at earlier commits, the first of them first."""
    earlier = line.get("before", [])
    if "cpu_s" in line and line["commit"] != commit:
        earlier = [*earlier, {name: line[name] for name in ("cpu_s", "commit", "date")}]
    return earlier


def median(lines):
    """The run of median CPU seconds, with those of all; if any failed, or has no seconds, that one."""
    for line in lines:
        if "cpu_s" not in line or len(lines) == 1:
            return line
    ordered = sorted(lines, key=lambda line: line["cpu_s"])
    return ordered[len(lines) // 2] | {"cpu_s_of_runs": [line["cpu_s"] for line in lines]}


def crate_version(name):
    lock = (Path(__file__).parent / "rust-peers/Cargo.lock").read_text()
    return re.search(rf'name = "{name}"\nversion = "(.*)"', lock).group(1)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", action="append", default=[], help="cases whose key begins with this, or has it between slashes; may be repeated")
    parser.add_argument("--quick", action="store_true", help="small data only; results and page go to target/scoreboard")
    parser.add_argument("--missing", action="store_true", help="leave out what the results have already")
    parser.add_argument("--list", action="store_true", help="say the cases and measure nothing")
    parser.add_argument("--repeat", type=int, default=1, help="runs of each case: the one of median CPU seconds counts, and the least and the most are kept")
    parser.add_argument("--limit", type=float, default=900, help="seconds after which a case is given up")
    parser.add_argument("--page", type=Path, help="default: docs/scoreboard.md")
    parser.add_argument("--results", type=Path, help="default: bench/results/DATE-MACHINE.json, which begins with the newest of the machine")
    wanted = parser.parse_args()
    if wanted.repeat < 1 or wanted.repeat % 2 == 0:
        parser.error(f"--repeat {wanted.repeat}: an odd number, so that one of the runs is the median")
    os.chdir(ROOT)
    # Told to end, it ends as by Ctrl-C, and the program it measures with it.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    # Peers that spin while they wait would be charged for it.
    for name in ("OMP", "OPENBLAS", "MKL", "NUMBA"):
        os.environ[f"{name}_NUM_THREADS"] = str(THREADS)
    os.environ |= {"OMP_WAIT_POLICY": "PASSIVE", "THREADS": str(THREADS), "RAYON_NUM_THREADS": str(THREADS)}
    machine = f"{processor()}, {os.cpu_count()} cores"
    slug = re.sub(r"[^a-z0-9]+", "-", machine.lower()).strip("-")
    folder = ROOT / ("target/scoreboard" if wanted.quick else "bench/results")
    path = wanted.results or folder / f"{datetime.date.today()}-{slug}.json"
    page_path = wanted.page or (folder if wanted.quick else ROOT / "docs") / "scoreboard.md"
    # What was measured before stays, with its date, until it is measured again.
    before = [path] if path.exists() else sorted(folder.glob(f"*-{slug}.json"))[-1:]
    results = json.loads(before[0].read_text()) if before else {"cases": {}}
    results |= {"machine": machine, "threads": THREADS, "date": str(datetime.date.today())}
    results["peers"] = {name: version(name) for name in PEERS} | {name: crate_version(name) for name in ("annembed", "bhtsne")}

    commit = None if wanted.list else revision()
    count = 0
    for part, module in PARTS.items():
        for key, measure in module.cases(wanted.quick):
            key = f"{part}/{key}"
            if wanted.only and not any(f"/{key}/".startswith(f"/{text}") or f"/{text}/" in f"/{key}/" for text in wanted.only):
                continue
            if wanted.list or (wanted.missing and key in results["cases"]):
                print(key, flush=True) if wanted.list else None
                continue
            print(f"{key} ...", flush=True)
            try:
                line = median([measure(wanted.limit) for _ in range(wanted.repeat)])
            except Exception as error:
                # One case is not worth the others.
                line = {"failed": f"{type(error).__name__}: {error}"}
            line |= {"commit": commit, "date": str(datetime.date.today())}
            if earlier := history(results["cases"].get(key, {}), commit):
                line["before"] = earlier
            print(f"    {json.dumps(line)[:300]}", flush=True)
            results["cases"][key] = line
            count += 1
            path.parent.mkdir(parents=True, exist_ok=True)
            unfinished = path.with_suffix(".tmp")
            unfinished.write_text(json.dumps(results, indent=1) + "\n")
            unfinished.replace(path)
    if wanted.list:
        return
    if wanted.only and not count and not wanted.missing:
        parser.error(f"no case has {' or '.join(wanted.only)} in its key; --list names them")
    defined = [f"{part}/{key}" for part, module in PARTS.items() for key, _ in module.cases(wanted.quick)]
    page.write(results, [key for key in defined if key not in results["cases"]], page_path)
    print(f"{path}\n{page_path}")


main()
