"""Runs a program as a process of its own and measures wall time, CPU time and peak memory."""

import json
import os
import resource
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from bench.peers.common import peak_mb


def measure_process(command, limit, preexec=None):
    """Runs a command to its end and returns what it printed and a record.

    The record holds `wall_s`, `cpu_s`, `peak_mb`, `others` (the number of cores that were busy with other work meanwhile) and
    `said` (the end of stderr), or `failed` with the reason. The process is killed after `limit` seconds.
    """
    command = list(map(str, command))
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        start, busy = time.perf_counter(), busy_seconds()
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, preexec_fn=preexec, start_new_session=True)
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
            # On a timeout or an interrupt, do not leave the process running.
            if usage is None:
                os.killpg(child.pid, signal.SIGKILL)
                os.wait4(child.pid, 0)
        wall = time.perf_counter() - start
        child.returncode = code = os.waitstatus_to_exitcode(status)
        out.seek(0), err.seek(0)
        printed, said = out.read().decode(errors="replace"), err.read().decode(errors="replace")
    # Records must not contain the location of this checkout.
    said = said.strip().replace(f"{Path.cwd()}/", "")[-2000:]
    if code:
        return printed, {"failed": f"exit status {code}" if code > 0 else f"killed by signal {-code}", "said": said}
    cpu = usage.ru_utime + usage.ru_stime
    others = max(0.0, busy_seconds() - busy - cpu) / wall
    return printed, {"wall_s": wall, "cpu_s": cpu, "peak_mb": peak, "others": round(others, 3), "said": said}


def measure_json_process(command, limit, environment=None, preexec=None):
    """Like `measure_process`, for a program that prints its own measurements as a JSON object in its last line."""
    variables = [f"{name}={value}" for name, value in (environment or {}).items()]
    printed, record = measure_process(["env", *variables, *command], limit, preexec)
    return record if "failed" in record else record | json.loads(printed.splitlines()[-1])


def busy_seconds():
    """Seconds that all cores together have spent working, including time stolen by other virtual machines."""
    with open("/proc/stat") as file:
        user, nice, system, _, _, interrupts, soft_interrupts, stolen, *_ = map(int, file.readline().split()[1:])
    return (user + nice + system + interrupts + soft_interrupts + stolen) / os.sysconf("SC_CLK_TCK")


def memory_limit(size):
    """Returns a `preexec` function that limits the data memory of the process to `size` bytes."""
    return lambda: resource.setrlimit(resource.RLIMIT_DATA, (size, size))
