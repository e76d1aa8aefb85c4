"""Writes docs/scoreboard.md from the recorded results."""

from bench import catalog
from bench.paths import RESULTS
from bench.report import embeddings, growth, memory, profiles, records, sections


def write(results, missing, path):
    """Writes the report. `missing` are the keys of cases without a record."""
    cases = memory.with_newest(results["cases"], RESULTS)
    parts = [f"# Scoreboard\n\n{embeddings.comparison_with_peers(cases)}", embeddings.all_tables(cases)]
    parts += [sections.neighbor_search(cases), embeddings.reproducibility(cases), embeddings.changes_over_time(cases)]
    parts += [growth.section(cases, path.parent / "images/scoreboard-growth.png"), profiles.section(cases)]
    parts += [sections.variants(cases), sections.kernels(cases), sections.pictures(cases), sections.cold_start(cases)]
    parts += [sections.bad_input(cases), records.section(RESULTS)]
    parts.append(how_it_was_measured(results, missing))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(part for part in parts if part))


def how_it_was_measured(results, missing):
    versions = ", ".join(f"{name} {version}" for name, version in results["peers"].items())
    remarks = "".join(f"- {remark}\n" for remark in results.get("remarks", []))
    limits = ", ".join(f"{tool} above {rows:,} rows" for tool, rows in catalog.MAX_ROWS.items())
    only = "; ".join(f"on {name} only {', '.join(tools)}" for name, tools in catalog.ONLY_TOOLS.items())
    return f"""## How it was measured

Written by `cargo xtask bench`, {results["date"]}; do not edit. {results["machine"]}, {results["threads"]} threads. Peers: {versions}.

- Every case is a process of its own; they run one after another on the same files. Each was **measured once**, except where a range
  follows the seconds: then they are the median of several runs. Differences of a tenth between single runs are within the noise of a
  shared machine.
- Compare CPU seconds. Wall seconds are given only where fewer than {embeddings.QUIET} cores were busy with other work.
- The seconds of lowland's embeddings are of the whole process, including reading and writing files (except for the column *fit* at the
  top); those of the peers are of the fit alone. A column of its own has their CPU seconds to import and to compile (the difference
  between a first and a second fit of a few rows; code that numba had cached on disk in earlier runs was available). Peak memory is of
  the whole process, including Python's interpreter.
- Peers run with `OMP_WAIT_POLICY=PASSIVE`, with their default settings and without a seed, which would keep some from using both cores.
  Exceptions: all t-SNE programs run with perplexity 30 and 250 + 500 iterations, and annembed, which has no defaults for a whole run,
  uses the settings of its example for the graph and its defaults from then on. openTSNE's wheel uses numpy's FFT, not FFTW.
- All embeddings are scored by the same programs: `lowland quality` (trustworthiness and continuity at 15 neighbors), and KL under
  openTSNE's affinities; above 100,000 rows neighbors and labels are scored for 2,000 rows against all. *n/a*: not defined or not measured.
- The recall of searches is measured for the same 500 rows against all; for lowland in a second run of the search with another seed.
{remarks}
Not run, because of the hours or the memory it would take: {limits};
{only}; in ten dimensions {", ".join(catalog.PAIRWISE_METHODS)} above {catalog.MAX_ROWS_PAIRWISE:,} rows.

Defined but not measured yet: {list_missing(missing)}.
"""


def list_missing(missing):
    """Lists keys, those that differ only in their last part together."""
    groups = {}
    for key in missing:
        group, _, name = key.rpartition("/")
        groups.setdefault(group, []).append(name)
    return "; ".join(f"{group}: {', '.join(names)}" for group, names in groups.items()) or "nothing"
