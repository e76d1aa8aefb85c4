"""The section of the report about where the time goes: stages, hottest functions, and the limits of the hardware."""

from bench import catalog
from bench.cases.profiles import DIMENSIONS
from bench.report.markdown import cpu_seconds, describe, number, table

# Operations for one dissimilar pair of LVM in both directions: distances, ratios, two exponentials and a shared logarithm.
LVM_PAIR_FLOPS = 90
GATHERS = "gathers of 16 bytes from 70,000, G/s"


def section(cases):
    measured = [(key, record) for key, record in cases.items() if key.startswith("profiles/") and "stages" in record and "cpu_s" in record]
    if not measured:
        return ""
    hardware = cases.get("profiles/machine", {"failed": "not measured"})
    text = ["## Where the time goes\n"]
    if "failed" not in hardware:
        rates = ", ".join(f"{value:.3g} {name}" for name, value in hardware.items() if name.endswith("/s"))
        text.append(f"Peak rates of this machine with two threads, measured by loops that do nothing else: {rates}.\n")
    rows = []
    for key, record in measured:
        _, name, method = key.split("/")
        stages = ", ".join(f"{stage} {number(seconds)}" for stage, seconds in largest_first(record["stages"]))
        functions = ", ".join(f"`{function}` {share:.0f} %" for function, share in largest_first(record.get("loops", {})))
        rows.append([f"**{method}**", describe(name), cpu_seconds(record), stages, functions, record["commit"]])
    text.append(table(["method", "data", "CPU s", "stages, CPU s", "functions, share of the samples", "commit"], rows))
    if "failed" not in hardware:
        text.append("The minimum work of the largest loops, the CPU seconds it takes at the rates above, and what the stage takes:\n")
        rows = []
        for key, record in measured:
            _, name, method = key.split("/")
            for stage, work, minimum, seconds in hardware_limits(hardware, name, method, record):
                rows.append([method, stage, work, number(minimum), number(seconds), f"{seconds / minimum:.1f}"])
        text.append(table(["method", "stage", "minimum work", "at the limit, CPU s", "takes, CPU s", "ratio"], rows))
    return "\n".join(text)


def largest_first(parts):
    return sorted(parts.items(), key=lambda part: -part[1])


def hardware_limits(hardware, name, method, record):
    """Yields stage, minimum work in words, CPU seconds for it at the peak rates, and CPU seconds that the stage takes."""
    (rows, columns, _), stages, iterations = catalog.DATASETS[name], record["stages"], record["iterations"]

    def limit(stage, count, rate, unit, words):
        # Records before the American spelling have a stage `neighbours`.
        seconds = stages.get(stage, stages.get(stage.replace("neighbors", "neighbours")))
        if seconds is not None:
            yield stage, f"{count:.2g} {unit}: {words}", count * 1e-9 / hardware[rate] * hardware["threads"], seconds

    search_seconds = stages.get("neighbors", stages.get("neighbours", 0))
    if search_seconds > 0.1 and not any("neighbors by" in note or "neighbours by" in note for note in record["notes"]):
        # Half of the pairs, a multiplication and an addition per column.
        yield from limit("neighbors", rows * rows * columns, "f32 Gflop/s", "f32 flops", "half of all pairs")
    if method == "isomap" and "edges" in record:
        yield from limit("shortest paths", 2 * record["edges"] * rows, GATHERS, "gathers", "both ends of every edge, from every point")
    elif "edges" in record:
        ends = 2 * record["edges"] * iterations
        yield from limit("descent", ends, GATHERS, "gathers", f"both ends of every pair, {iterations} times")
        yield from limit("descent", 8 * ends, "read GB/s", "bytes", "the other end and the weight of every pair")
    if method == "pca":
        # Half of the covariances, a multiplication and an addition per row.
        yield from limit("components", rows * columns * columns, "f64 Gflop/s", "f64 flops", "half of the covariances")
    if method == "lvm":
        landmarks = (rows * rows / 2) ** (1 / 3)
        flops = LVM_PAIR_FLOPS * iterations * (landmarks**2 + rows * rows / landmarks) / 2
        words = f"{LVM_PAIR_FLOPS} for each pair in equal cells and of landmarks, {iterations} times"
        yield from limit("iterations", flops, "f32 Gflop/s", "f32 flops", words)
    if method == "tsm":
        words = f"the matrix of all pairs read twice and written once, {iterations} times"
        yield from limit("updates", 3 * 4 * rows * rows * iterations, "read GB/s", "bytes", words)
    if method == "lllvm":
        starts = next((note.count(",") + 1 for note in record["notes"] if note.startswith("bounds of the starts")), 1)
        words = f"inverses of two covariances, of the points and of the maps, for each of {starts} starts, {iterations} times, if none converges early"
        yield from limit("iterations", 2 * starts * iterations * (DIMENSIONS * rows) ** 3, "f64 Gflop/s", "f64 flops", words)
