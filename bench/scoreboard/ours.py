"""How a lowland method is run and measured: the release program, as a whole process, reading and writing files and all."""

import json
import os
import resource
import signal
import subprocess
import tempfile
import sys
import time
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent / "peers"))
from common import peak_mb

PROGRAM = Path("target/release/lowland")
DATA = Path("target/scoreboard/data")
MAPS = Path("target/scoreboard/maps")
GRAPHS = Path("target/scoreboard/graphs")


def measured(command, limit, limits=None):
    """Runs a program to its end: (what it printed, its line of seconds and memory, or of how it failed). `others` is how many cores
    were busy with something else meanwhile."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        start, busy = time.perf_counter(), busy_seconds()
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, preexec_fn=limits, start_new_session=True)
        usage, peak = None, 0.0
        try:
            while usage is None:
                done, status, usage_now = os.wait4(child.pid, os.WNOHANG)
                if done:
                    usage = usage_now
                elif time.perf_counter() - start > limit:
                    return "", {"failed": f"given up after {limit:.0f} s"}
                else:
                    peak = max(peak, peak_mb(child.pid))
                    time.sleep(0.002 if time.perf_counter() - start < 2 else 0.02)
        finally:
            # Given up, or stopped itself: nothing goes on running.
            if usage is None:
                os.killpg(child.pid, signal.SIGKILL)
                os.wait4(child.pid, 0)
        wall = time.perf_counter() - start
        child.returncode = code = os.waitstatus_to_exitcode(status)
        out.seek(0), err.seek(0)
        printed, said = out.read().decode(errors="replace"), err.read().decode(errors="replace")
    # Where this checkout lies is nobody's business.
    said = said.strip().replace(f"{Path.cwd()}/", "")[-2000:]
    if code:
        return printed, {"failed": f"exit status {code}" if code > 0 else f"killed by signal {-code}", "said": said}
    cpu = usage.ru_utime + usage.ru_stime
    others = max(0.0, busy_seconds() - busy - cpu) / wall
    return printed, {"wall_s": wall, "cpu_s": cpu, "peak_mb": peak, "others": round(others, 3), "said": said}


def busy_seconds():
    """Seconds that all cores together have worked, or were taken away by other machines on the same cores."""
    with open("/proc/stat") as file:
        user, nice, system, _, _, interrupts, soft, stolen, *_ = map(int, file.readline().split()[1:])
    return (user + nice + system + interrupts + soft + stolen) / os.sysconf("SC_CLK_TCK")


def events(printed, name):
    """The program's events of this name."""
    lines = (json.loads(line) for line in printed.splitlines() if line.startswith("{"))
    return [line for line in lines if line.get("event") == name]


def embed(method, rows, d, out, limit, graph=None, threads=2, limits=None):
    """A map by one of our methods, which options may follow; its stages' seconds come with it."""
    command = [PROGRAM, "embed", rows, "--method", *method.split(), "--n-components", str(d), "--no-quality", "--json"]
    command += ["--threads", str(threads), "--out", out]
    if graph:
        command += ["--neighbors", graph]
    printed, line = measured(list(map(str, command)), limit, limits)
    line["stages"] = {event["stage"]: event["cpu_seconds"] for event in events(printed, "stage")}
    line["iterations"] = len(events(printed, "step"))
    line["notes"] = [event["text"] for event in events(printed, "note")]
    return line


def neighbours(rows, k, out):
    """The exact graph of neighbours, made when it is missing."""
    if not out.exists():
        out.parent.mkdir(parents=True, exist_ok=True)
        part = out.with_name(f"part-{out.name}")
        command = [PROGRAM, "neighbors", rows, "--n-neighbors", str(k), "--exact", "--quiet", "-o", part]
        subprocess.run(list(map(str, command)), check=True)
        part.replace(out)
    return out


def memory_limit(size):
    """For a child process: anonymous memory beyond this is refused."""
    return lambda: resource.setrlimit(resource.RLIMIT_DATA, (size, size))
