"""Lowland beside its peers: `cargo xtask bench` sets everything up and runs this. Measures what is asked, adds it to the results of
the day (bench/results/DATE-MACHINE.json, written after every case, so that a run can be cut off and gone on with) and writes
docs/scoreboard.md from them."""

import argparse
import datetime
import json
import os
import platform
import re
import subprocess
from importlib.metadata import version
from pathlib import Path

import bad_input
import growth
import maps
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
    words = lambda *command: subprocess.run(["git", *command], cwd=ROOT, capture_output=True, text=True).stdout.strip()
    return words("rev-parse", "--short", "HEAD") + ("" if not words("status", "--porcelain", "crates") else ", changed")


def crate_version(name):
    lock = (Path(__file__).parent / "rust-peers/Cargo.lock").read_text()
    return re.search(rf'name = "{name}"\nversion = "(.*)"', lock).group(1)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", action="append", default=[], help="cases whose key has this text; may be repeated")
    parser.add_argument("--quick", action="store_true", help="small data only: minutes instead of hours")
    parser.add_argument("--missing", action="store_true", help="leave out what today's results have already")
    parser.add_argument("--list", action="store_true", help="say the cases and measure nothing")
    parser.add_argument("--limit", type=float, default=900, help="seconds after which a case is given up")
    parser.add_argument("--page", type=Path, default=ROOT / "docs/scoreboard.md")
    parser.add_argument("--results", type=Path)
    wanted = parser.parse_args()
    os.chdir(ROOT)
    # Peers that spin while they wait would be charged for it.
    for name in ("OMP", "OPENBLAS", "MKL", "NUMBA"):
        os.environ[f"{name}_NUM_THREADS"] = str(THREADS)
    os.environ |= {"OMP_WAIT_POLICY": "PASSIVE", "THREADS": str(THREADS), "RAYON_NUM_THREADS": str(THREADS)}
    machine = f"{processor()}, {os.cpu_count()} cores"
    slug = re.sub(r"[^a-z0-9]+", "-", machine.lower()).strip("-")
    path = wanted.results or ROOT / f"bench/results/{datetime.date.today()}-{slug}.json"
    results = json.loads(path.read_text()) if path.exists() else {"cases": {}}
    results |= {"machine": machine, "threads": THREADS, "date": str(datetime.date.today())}
    results["peers"] = {name: version(name) for name in PEERS} | {name: crate_version(name) for name in ("annembed", "bhtsne")}

    for part, module in PARTS.items():
        for key, measure in module.cases(wanted.quick):
            key = f"{part}/{key}"
            if wanted.only and not any(text in key for text in wanted.only):
                continue
            if wanted.list or (wanted.missing and key in results["cases"]):
                print(key, flush=True) if wanted.list else None
                continue
            load = os.getloadavg()[0]
            print(f"{key} ...", flush=True)
            line = measure(wanted.limit) | {"load": round(load, 2), "commit": revision()}
            print(f"    {json.dumps(line)[:300]}", flush=True)
            results["cases"][key] = line
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")
    if not wanted.list:
        page.write(results, wanted.page)
        print(f"{path}\n{wanted.page}")


main()
