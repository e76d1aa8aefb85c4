"""Measures build times in a clean clone: `cargo xtask bench build-time`.

Clones the current commit into a temporary folder and downloads its crates (not timed), then measures wall time and CPU time
(user + system, of all compiler processes) of
  1. the first command of README.md, with an empty target folder,
  2. `cargo xtask test`, with an empty target folder,
  3. `cargo test -p CRATE` after a change of one line in the source file of a method, with everything else built before.
Writes bench/results/DATE-build-time-COMMIT.json and .md. The machine should have nothing else to do; the record says whether it had."""

import argparse
import datetime
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.paths import RESULTS, ROOT
from bench.process import busy_seconds

STEPS = ["first-command", "xtask-test", "incremental-test"]
# Used for step 3, unless --method-file names another: the first of these methods that has a source file of its own.
METHOD_NAMES = ["tsm", "isomap", "lvm", "mapit"]
# A line of a function's body that changes its code but not its result.
PROBE = "let _ = std::hint::black_box(0);"


def arguments():
    parser = argparse.ArgumentParser(prog="cargo xtask bench build-time", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--commit", default="HEAD", help="the commit to build (default: HEAD)")
    parser.add_argument("--only", action="append", choices=STEPS, help="measure only this step; may be repeated")
    parser.add_argument("--method-file", metavar="FILE", help="the source file that step 3 changes, relative to the repository")
    parser.add_argument("--folder", type=Path, help="where to put the clone (needs several GB; default: the folder for temporary files)")
    parser.add_argument("--label", help="a word for the name of the record, such as before or after")
    parser.add_argument("--results", type=Path, default=ROOT / RESULTS, metavar="FOLDER", help="where to write the record (default: bench/results)")
    parser.add_argument("--dry-run", action="store_true", help="clone and print the commands, but build nothing")
    return parser.parse_args()


def first_readme_command(clone):
    """Returns the first command in a shell block of README.md."""
    block = re.search(r"```sh\n(.*?)```", (clone / "README.md").read_text(), re.S)
    if block is None:
        sys.exit("README.md has no block of shell commands")
    return shlex.split(block.group(1).splitlines()[0], comments=True)


def find_method_file(clone):
    """Returns the source file of a method, relative to the clone."""
    for name in METHOD_NAMES:
        found = sorted(path for path in clone.glob(f"crates/*/src/**/{name}.rs") if "methods" in path.parts)
        if found:
            return found[0].relative_to(clone)
    sys.exit(f"no source file of {', '.join(METHOD_NAMES)} in a folder named methods: name one with --method-file")


def crate_of(clone, file):
    """Returns the name of the crate that a source file belongs to."""
    for folder in (clone / file).parents:
        if (folder / "Cargo.toml").exists():
            return re.search(r'^name = "(.*)"', (folder / "Cargo.toml").read_text(), re.M).group(1)
    sys.exit(f"{file} belongs to no crate")


def change_one_line(path):
    """Inserts a statement at the start of the body of the first function."""
    text = path.read_text()
    changed, count = re.subn(r"^( *)((?:pub(?:\([a-z ]+\))? )?fn .*\{\n)", rf"\1\2\1    {PROBE}\n", text, count=1, flags=re.M)
    if not count:
        sys.exit(f"{path.name} has no function whose signature is on one line")
    path.write_text(changed)


def clean_environment():
    """Returns the environment without the variables that an outer cargo sets, which would change what is built."""
    kept = {"CARGO_HOME", "CARGO_NET_OFFLINE"}
    return {name: value for name, value in os.environ.items() if name in kept or not name.startswith(("CARGO", "RUSTC_", "RUSTFLAGS"))}


def run(command, clone):
    subprocess.run(command, cwd=clone, env=clean_environment(), check=True)


def measure(command, clone):
    """Runs a command and returns its times. The CPU time includes all processes that it waited for."""
    print(f"== {shlex.join(command)}", flush=True)
    start, busy = time.perf_counter(), busy_seconds()
    child = subprocess.Popen(command, cwd=clone, env=clean_environment(), stdin=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    wall = time.perf_counter() - start
    cpu = usage.ru_utime + usage.ru_stime
    if child.returncode:
        sys.exit(f"{shlex.join(command)}: exit status {child.returncode} after {wall:.0f} s")
    others = max(0.0, busy_seconds() - busy - cpu) / wall
    record = {"command": shlex.join(command), "wall_s": wall, "user_s": usage.ru_utime, "system_s": usage.ru_stime, "cpu_s": cpu, "others": others}
    print(f"== {minutes(wall)} wall, {minutes(cpu)} CPU", flush=True)
    return record


def minutes(seconds):
    return f"{seconds // 60:.0f} min {seconds % 60:04.1f} s"


def measure_steps(options, clone):
    """Runs the selected steps and returns their records by name."""
    steps = options.only or STEPS
    method_file = Path(options.method_file) if options.method_file else find_method_file(clone)
    crate = crate_of(clone, method_file)
    first_command, test_crate = first_readme_command(clone), ["cargo", "test", "--package", crate]
    if options.dry_run:
        commands = {STEPS[0]: first_command, STEPS[1]: ["cargo", "xtask", "test"], STEPS[2]: [*test_crate, f"  # after a change in {method_file}"]}
        print(*(f"{step}: {' '.join(commands[step])}" for step in steps), sep="\n")
        return {}
    run(["cargo", "fetch", "--locked"], clone)
    records = {}
    if "first-command" in steps:
        records["first-command"] = measure(first_command, clone)
    if "xtask-test" in steps:
        shutil.rmtree(clone / "target", ignore_errors=True)
        records["xtask-test"] = measure(["cargo", "xtask", "test"], clone)
    if "incremental-test" in steps:
        # Builds everything that the command needs, so that only the change is measured.
        run([*test_crate, "--no-run"], clone)
        change_one_line(clone / method_file)
        records["incremental-test"] = measure(test_crate, clone) | {"changed": str(method_file)}
    return records


def output_of(*command, folder=ROOT):
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


def processor():
    names = re.findall(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.M)
    return f"{names[0] if names else 'unknown processor'}, {os.cpu_count()} cores"


def write_record(record, path):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.with_suffix(".json").write_text(json.dumps(record, indent=1) + "\n")
    lines = [f"# Build times at {record['commit']}, {record['date']}", ""]
    lines += [f"{record['machine']}, {record['rustc']}. A clean clone with crates already downloaded, by `cargo xtask bench build-time`.", ""]
    lines += ["| step | command | wall | CPU (user + system) | cores busy with other work |", "|---|---|---|---|---|"]
    for name, step in record["steps"].items():
        command = f"`{step['command']}`" + (f" after a change of one line in `{step['changed']}`" if "changed" in step else "")
        lines.append(f"| {name} | {command} | {minutes(step['wall_s'])} | {minutes(step['cpu_s'])} | {step['others']:.2f} |")
    path.with_suffix(".md").write_text("\n".join(lines) + "\n")
    print(path.with_suffix(".md"))


def main():
    options = arguments()
    commit = output_of("git", "rev-parse", "--short", options.commit)
    with tempfile.TemporaryDirectory(prefix="lowland-build-time-", dir=options.folder) as folder:
        clone = Path(folder) / "lowland"
        run(["git", "clone", "--quiet", "--no-hardlinks", str(ROOT), str(clone)], ROOT)
        run(["git", "checkout", "--quiet", "--detach", commit], clone)
        record = {"commit": commit, "date": str(datetime.date.today()), "machine": processor(), "rustc": output_of("rustc", "--version", folder=clone)}
        record["steps"] = measure_steps(options, clone)
    if not options.dry_run:
        name = f"{record['date']}-build-time-{commit}" + (f"-{options.label}" if options.label else "")
        write_record(record, options.results / f"{name}.json")


if __name__ == "__main__":
    main()
