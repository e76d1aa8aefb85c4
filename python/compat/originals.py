"""Runs the test files of scikit-learn, umap-learn and openTSNE with the classes of ``lowland.compat`` in the place of their own.

    python originals.py RECORD.md FOLDER [SUITE ...]

Writes which tests pass. One that fails must be listed in EXCEPTIONS with its reason, and one that is listed must fail, unless it is
UNSTABLE; otherwise the exit code is 1. The source archives of packages that do not install their tests are kept in FOLDER. With suites, the record is not
written.
"""

import inspect
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from exceptions import EXCEPTIONS, UNSTABLE
from suites import SUITES, folder_of


class Outcomes:
    """Collects the outcome of every test that uses one of the classes."""

    def __init__(self, names):
        self.of_test = {}
        self.counted = set()
        self.uses = re.compile(rf"\b({'|'.join(names)})\(" if names else "")

    def pytest_collection_modifyitems(self, items):
        for item in items:
            functions = [item.function]
            for definitions in item._fixtureinfo.name2fixturedefs.values():
                functions += [definition.func for definition in definitions if definition.func.__module__.count("test")]
            if any(self.uses.search(_source(function)) for function in functions):
                self.counted.add(item.nodeid)

    def pytest_runtest_logreport(self, report):
        if report.nodeid not in self.counted:
            return
        test = re.split(r"/(?=[^/]*\.py::)", report.nodeid)[-1]
        if report.when == "call" or report.outcome != "passed":
            reason = str(report.longrepr).strip().splitlines()[-1] if report.failed else ""
            self.of_test[test] = (report.outcome, reason)


def _source(function):
    try:
        return inspect.getsource(function)
    except (OSError, TypeError):
        return ""


def run(name, folder, out, files):
    """Run a suite in this process, or some of its files, and write the outcomes."""
    suite = SUITES[name](folder)
    if files:
        suite.files = [file for file in suite.files if file.startswith("--") or re.split(r"[./]", file.removesuffix(".py"))[-1] in files]
    outcomes = Outcomes(suite.names)
    options = ["-q", "--rootdir=/", "-p", "no:cacheprovider", "--no-header", "--tb=line", "-o", "addopts=", "-c", str(folder / "pytest.ini")]
    (folder / "pytest.ini").write_text("[pytest]\n")
    pytest.main([*options, *suite.files], plugins=[outcomes])
    result = {"title": suite.title, "names": suite.names, "left_out": suite.left_out, "tests": outcomes.of_test}
    Path(out).write_text(json.dumps(result))


def reason_of(suite, test):
    """Return the reason why a test may fail, or None."""
    return matching(EXCEPTIONS[suite], test) or matching(UNSTABLE[suite], test)


def matching(reasons, test):
    """Return the reason whose pattern matches a test, or None."""
    name = test.split("::", 1)[1]
    return next((reason for pattern, reason in reasons.items() if re.fullmatch(pattern, name)), None)


def main():
    record, folder, names = Path(sys.argv[1]), folder_of(sys.argv[2]), sys.argv[3:] or list(SUITES)
    folder.mkdir(parents=True, exist_ok=True)
    failed, sections = False, []
    for name in names:
        out = folder / f"{name}.json"
        out.unlink(missing_ok=True)
        # A process of its own, since the classes are replaced in all modules.
        subprocess.run([sys.executable, __file__, "--suite", name, str(folder), str(out)], check=False)
        result = json.loads(out.read_text())
        by_outcome = {"passed": [], "failed": [], "skipped": []}
        for test, (outcome, _) in sorted(result["tests"].items()):
            by_outcome[outcome].append(test)
        for test in by_outcome["failed"]:
            if reason_of(name, test) is None:
                failed = True
                print(f"{name}: fails without a reason: {test}: {result['tests'][test][1]}")
        for test in by_outcome["passed"]:
            if matching(EXCEPTIONS[name], test) is not None:
                failed = True
                print(f"{name}: passes, but is listed as an exception: {test}")
        failed |= not by_outcome["passed"]
        print(name, {outcome: len(tests) for outcome, tests in by_outcome.items()})
        sections.append(section(name, result, by_outcome))
    if not sys.argv[3:]:
        head = "# The tests of the originals, with our classes in the place of their own"
        how = "`cargo xtask compat` writes this file. Tests that use none of the classes are not counted."
        record.write_text("\n\n".join([head, how, *sections]) + "\n")
    return 1 if failed else 0


def section(name, result, by_outcome):
    """Return the part of the record about a suite."""
    lines = [f"## {result['title']}", "", "| File | Pass | Fail | Skipped |", "|---|---|---|---|"]
    files = sorted({test.split("::")[0] for tests in by_outcome.values() for test in tests})
    for file in files:
        counts = [str(sum(test.startswith(f"{file}::") for test in tests)) for tests in by_outcome.values()]
        lines.append(f"| {file.removesuffix('.py')} | {' | '.join(counts)} |")
    reasons = {}
    for test in by_outcome["failed"]:
        key = (test.split("::", 1)[1].split("[")[0], reason_of(name, test) or "unknown")
        reasons[key] = reasons.get(key, 0) + 1
    if reasons:
        lines += ["", "| Tests that fail | Reason |", "|---|---|"]
        lines += [f"| `{test}`{f' ({count})' if count > 1 else ''} | {why} |" for (test, why), count in reasons.items()]
    if UNSTABLE[name]:
        lines += ["", "| Tests that pass or fail by chance | Reason |", "|---|---|"]
        lines += [f"| `{test}` | {why} |" for test, why in UNSTABLE[name].items()]
    if result["left_out"]:
        lines += ["", "| File that is not run | Reason |", "|---|---|"]
        lines += [f"| {file} | {why} |" for file, why in sorted(result["left_out"].items())]
    return "\n".join(lines)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--suite"]:
        run(sys.argv[2], folder_of(sys.argv[3]), sys.argv[4], sys.argv[5:])
    else:
        sys.exit(main())
