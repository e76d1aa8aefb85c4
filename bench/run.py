"""Runs the benchmarks: `cargo xtask bench` builds everything and starts this as `python -m bench.run`.

Records are added to bench/results/DATE-MACHINE.json after every case, so that an interrupted run can be continued with --missing.
At the end docs/scoreboard.md is written from the records."""

import argparse
import datetime
import json
import os
import platform
import re
import signal
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from bench import catalog
from bench.cases import bad_input, cold_start, growth, kernels, maps, pictures, profiles, searches, variants
from bench.paths import PROGRAM, RESULTS, ROOT, WORK

# Groups of cases in the order in which they run. Each module yields pairs of a key and a function that measures it.
GROUPS = {
    "maps": maps,
    "growth": growth,
    "searches": searches,
    "profiles": profiles,
    "bad-input": bad_input,
    "variants": variants,
    "kernels": kernels,
    "cold-start": cold_start,
    "pictures": pictures,
}
THREADS = 2


def arguments():
    parser = argparse.ArgumentParser(prog="cargo xtask bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="print the keys of the cases and measure nothing")
    parser.add_argument("--only", action="append", default=[], metavar="TEXT", help="run cases whose key starts with TEXT or contains /TEXT/; may be repeated")
    parser.add_argument("--quick", action="store_true", help="small data sets only; results and report go to target/bench")
    parser.add_argument("--missing", action="store_true", help="skip cases that the results already contain")
    parser.add_argument("--repeat", type=int, default=1, metavar="N", help="run each case N times (an odd number) and record the run of median CPU time")
    parser.add_argument("--limit", type=float, default=900, metavar="SECONDS", help="time limit of a case (default: 900)")
    parser.add_argument("--report", action="store_true", help="measure nothing and write the report from the recorded results")
    parser.add_argument("--report-file", type=Path, metavar="FILE", help="default: docs/scoreboard.md")
    parser.add_argument("--results-file", type=Path, metavar="FILE", help="default: bench/results/DATE-MACHINE.json, which starts as a copy of the machine's latest")
    options = parser.parse_args()
    if options.repeat < 1 or options.repeat % 2 == 0:
        parser.error(f"--repeat {options.repeat}: expected an odd number")
    keys = {key for key, _ in all_cases(options.quick)}
    unknown = [text for text in options.only if not any(is_selected(key, [text]) for key in keys)]
    if unknown:
        parser.error(f"no case matches --only {unknown[0]}; --list prints all keys")
    return options


def all_cases(quick):
    for group, module in GROUPS.items():
        for key, measure in module.cases(quick):
            yield f"{group}/{key}", measure


def is_selected(key, only):
    return not only or any(f"/{key}/".startswith(f"/{text}") or f"/{text}/" in f"/{key}/" for text in only)


def processor():
    text = subprocess.run(["lscpu"], capture_output=True, text=True, env=os.environ | {"LC_ALL": "C"}).stdout
    name = re.search(r"Model name: *(.*)", text)
    return name.group(1) if name else platform.processor() or "unknown"


def source_revision():
    """Returns the last commit that changed the sources of the program, which must not be older than they are."""
    sources = [ROOT / "Cargo.lock", *(ROOT / "crates").rglob("*.rs")]
    if not PROGRAM.exists() or PROGRAM.stat().st_mtime < max(source.stat().st_mtime for source in sources):
        raise SystemExit(f"{PROGRAM} does not exist or is older than its sources: run cargo build --release -p lowland-cli -p lowland-bench")

    def git(*command):
        return subprocess.run(["git", *command, "--", "Cargo.lock", "crates"], capture_output=True, text=True).stdout.strip()

    return git("log", "-1", "--format=%h") + (", changed" if git("status", "--porcelain") else "")


def earlier_measurements(record, commit):
    """Returns the CPU seconds of a case at earlier commits, oldest first."""
    earlier = record.get("before", [])
    if "cpu_s" in record and record["commit"] != commit:
        earlier = [*earlier, {name: record[name] for name in ("cpu_s", "commit", "date")}]
    return earlier


def median_run(records):
    """Returns the run of median CPU time with the times of all runs, or the first run that failed or was not timed."""
    for record in records:
        if "cpu_s" not in record or len(records) == 1:
            return record
    ordered = sorted(records, key=lambda record: record["cpu_s"])
    return ordered[len(records) // 2] | {"cpu_s_of_runs": [record["cpu_s"] for record in records]}


def peer_versions():
    """Returns the versions of the installed peers."""
    versions = {}
    for name in catalog.PEER_PACKAGES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            print(f"{name} is not installed: its cases will fail")
    lock = (ROOT / "bench/peers/rust/Cargo.lock").read_text()
    for name in catalog.PEER_CRATES:
        versions[name] = re.search(rf'name = "{name}"\nversion = "(.*)"', lock).group(1)
    return versions


def set_thread_limits():
    for library in ("OMP", "OPENBLAS", "MKL", "NUMBA"):
        os.environ[f"{library}_NUM_THREADS"] = str(THREADS)
    # Threads that spin while they wait would count as CPU time of the peer.
    os.environ |= {"OMP_WAIT_POLICY": "PASSIVE", "THREADS": str(THREADS), "RAYON_NUM_THREADS": str(THREADS)}


def run_cases(options, results, path):
    """Measures the selected cases and saves the results after each."""
    commit = source_revision()
    today = str(datetime.date.today())
    results |= {"threads": THREADS, "date": today, "peers": peer_versions()}
    for key, measure in all_cases(options.quick):
        if not is_selected(key, options.only) or (options.missing and key in results["cases"]):
            continue
        print(f"{key} ...", flush=True)
        try:
            record = median_run([measure(options.limit) for _ in range(options.repeat)])
        except Exception as error:
            # A failure in one case must not end the run.
            record = {"failed": f"{type(error).__name__}: {error}"}
        record |= {"commit": commit, "date": today}
        if earlier := earlier_measurements(results["cases"].get(key, {}), commit):
            record["before"] = earlier
        print(f"    {json.dumps(record)[:300]}", flush=True)
        results["cases"][key] = record
        save(results, path)


def save(results, path):
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".tmp")
    unfinished.write_text(json.dumps(results, indent=1) + "\n")
    unfinished.replace(path)


def main():
    options = arguments()
    if options.list:
        print(*(key for key, _ in all_cases(options.quick) if is_selected(key, options.only)), sep="\n")
        return
    os.chdir(ROOT)
    # SIGTERM ends the run like Ctrl-C, including the process that is being measured.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    set_thread_limits()
    machine = f"{processor()}, {os.cpu_count()} cores"
    slug = re.sub(r"[^a-z0-9]+", "-", machine.lower()).strip("-")
    folder = WORK if options.quick else RESULTS
    path = options.results_file or folder / f"{datetime.date.today()}-{slug}.json"
    # Earlier records are kept, with their dates, until the case is measured again.
    previous = [path] if path.exists() else sorted(folder.glob(f"*-{slug}.json"))[-1:]
    results = json.loads(previous[0].read_text()) if previous else {"cases": {}}
    if options.report and not previous:
        raise SystemExit(f"no results of this machine ({slug}) in {folder}: name a file with --results-file")
    if not options.report:
        results["machine"] = machine
        run_cases(options, results, path)
        print(path)
    from bench.report import scoreboard

    report_file = options.report_file or (WORK if options.quick else Path("docs")) / "scoreboard.md"
    scoreboard.write(results, [key for key, _ in all_cases(options.quick) if key not in results["cases"]], report_file)
    print(report_file)


if __name__ == "__main__":
    main()
