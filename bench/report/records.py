"""The section of the report about records that were not written by `cargo xtask bench`: graphics cards, and a list of the others."""

import re

# Records of `cargo xtask bench` begin with their machine, and its forerunners with "lowland".
TITLE = re.compile(r"# (?P<title>.+)")
DATE = re.compile(r"[,:]? ?\(?(?:\d{4}-\d{2}-\d{2}|(?:\d+ )?November(?: \d+,)? \d{4})\)?")
LINK = "../bench/results"


def section(folder):
    """Returns the tables of the fits on a card, and a list of all records of the folder, the newest first."""
    lines = []
    for path in sorted(folder.glob("*.md"), key=lambda path: path.name, reverse=True):
        title = TITLE.match(path.read_text())
        if title:
            date = path.name[:10] if path.name[:4].isdigit() else ""
            lines.append(f"- {date} [{DATE.sub('', title['title'])}]({LINK}/{path.name})".replace("-  ", "- "))
    return on_cards(folder) + "## Other records\n\nMeasured by scripts of their own; each says how.\n\n" + "\n".join(lines) + "\n"


def on_cards(folder):
    """Returns the first table of the newest record of a card."""
    records = sorted(folder.glob("*-cuda.md"))
    if not records:
        return ""
    text = records[-1].read_text()
    about = text.split("\n\n")[1]
    table = next(part for part in text.split("\n\n") if part.startswith("|"))
    return f"## On a graphics card\n\n[The record]({LINK}/{records[-1].name}) has the comparison with other programs, what bounds the times, and what is not computed there. {about}\n\n{table}\n\n"
