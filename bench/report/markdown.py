"""Markdown building blocks of the report."""

from bench.catalog import DATASETS, PIXEL_DATASETS


def table(head, rows):
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}", *(f"| {' | '.join(row)} |" for row in rows)]
    return "\n".join(lines) + "\n"


def collapsible(title, content, is_open=False):
    return f"<details{' open' * is_open}><summary>{title}</summary>\n\n{content}\n</details>\n"


def escape(text):
    return text.replace("|", "\\|")


def describe(name):
    """Returns the title and the size of a data set."""
    if name.startswith("deformed-first-"):
        return f"deformed MNIST, {int(name.removeprefix('deformed-first-')):,} x 50"
    rows, columns, title = (DATASETS | PIXEL_DATASETS)[name]
    return f"{title}, {rows:,} x {columns}"


def number(value):
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def cpu_seconds(record):
    """Formats the CPU seconds; of several runs the median with the range."""
    runs = record.get("cpu_s_of_runs")
    return number(record["cpu_s"]) + (f" ({number(min(runs))}-{number(max(runs))})" if runs else "")


def score(scores, name):
    return f"{scores[name]:.4f}" if name in scores else "n/a"


def findings(found):
    """Formats a dictionary of what a program reported."""
    words = (f"{name} {value:.4g}" if isinstance(value, float) else f"{name} {value}" for name, value in found.items() if value is not None)
    return ", ".join(words)
