"""Build the documentation site: copy the pages, write the references, run MkDocs. Called by ``cargo xtask site``."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "target/site/source"
HTML = ROOT / "target/site/html"
#: Pages and pictures of the site, in the same folders as in the repository, so that links between them stay as they are.
COPIED = ["README.md", "CHANGELOG.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "docs/**/*.md", "docs/images/*", "bench/README.md"]
COPIED += ["bench/results/*.md", "crates/lowland/README.md"]
#: Pages of the Python reference: title, introduction, and names in the package.
PYTHON = {
    "functions": ("Functions", ["embed", "choose_method", "spectrum", "compare", "trust", "select", "select_edges", "neighbors", "devices", "load"]),
    "pictures": ("Pictures and pages", ["plot", "view", "View"]),
    "results": ("Results", ["MethodChoice", "Spectrum", "Comparison", "Trust", "Selection", "EdgeComparison", "NeighborGraph"]),
    "quality": ("Scores", ["quality"]),
    "datasets": ("Data sets", ["datasets"]),
    "anndata": ("AnnData", ["anndata"]),
    "warnings": ("Warnings", ["LowlandWarning", "ParameterWarning", "DataWarning", "ConvergenceWarning"]),
    "compat": ("Replacements for other packages", ["compat.sklearn"]),
}
#: A link or picture to a file: text, path, anchor.
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\((?!https?:|#|mailto:)([^)#\s]+)(#[^)\s]*)?\)")


def estimators() -> list[str]:
    """Return the names of the estimators."""
    text = (ROOT / "python/src/lowland/_registry.py").read_text()
    return sorted(re.findall(r'"[\w-]+": "(\w+)"', text), key=str.lower)


def copy_pages() -> None:
    """Copy the pages and pictures, and write the notebooks as pages."""
    for pattern in COPIED:
        for path in ROOT.glob(pattern):
            if path.is_file():
                target = SOURCE / path.relative_to(ROOT)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, target)
    for path in ROOT.glob("docs/notebooks/*.ipynb"):
        parts = []
        for cell in json.loads(path.read_text())["cells"]:
            text = "".join(cell["source"])
            parts.append(text if cell["cell_type"] == "markdown" else f"```python\n{text}\n```")
        target = SOURCE / path.relative_to(ROOT).with_suffix(".md")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text("\n\n".join(parts) + "\n")


def write_references(program: str) -> None:
    """Write the references of the command line and of Python."""
    folder = SOURCE / "docs/reference"
    (folder / "python").mkdir(parents=True)
    manual = subprocess.run([program, "manual", "--format", "markdown"], check=True, capture_output=True, text=True)
    (folder / "commands.md").write_text(manual.stdout)
    documented = set()
    for page, (title, names) in PYTHON.items():
        (folder / "python" / f"{page}.md").write_text(f"# {title}\n\n" + "\n".join(f"::: lowland.{name}\n" for name in names))
        documented.update(name.split(".")[0] for name in names)
    for name in estimators():
        (folder / "python" / f"{name}.md").write_text(f"# {name}\n\n::: lowland.{name}\n    options:\n      show_root_heading: false\n")
        documented.add(name)
    package = (ROOT / "python/src/lowland/__init__.py").read_text()
    exported = set(re.findall(r'^    "(\w+)",$', package.split("__all__ = [")[1].split("]")[0], re.M))
    missing = exported - documented - {"__version__", "estimators"}
    if missing:
        sys.exit(f"docs/site/build.py: not in the Python reference: {', '.join(sorted(missing))}")


def adapt_links(path: Path) -> None:
    """Let links point to pages of the site; what is not on the site is named without a link."""

    def adapt(match: re.Match[str]) -> str:
        picture, text, target, anchor = match.groups()
        wanted = (path.parent / target).resolve()
        candidates = [wanted, wanted / "README.md", wanted.with_suffix(".md")]
        found = next((each for each in candidates if each.is_file()), None)
        if found is None:
            if not (ROOT / wanted.relative_to(SOURCE)).exists():
                sys.exit(f"{path.relative_to(SOURCE)}: there is no {target}")
            return text
        return f"{picture}[{text}]({Path(*['..'] * len(path.parent.relative_to(SOURCE).parts)) / found.relative_to(SOURCE)}{anchor or ''})"

    # Code is left as it is.
    parts = re.split(r"(^```.*?^```$|`[^`\n]+`)", path.read_text(), flags=re.M | re.S)
    joined, held = "", []
    for number, part in enumerate(parts):
        if number % 2:
            held.append(part)
            joined += f"\x00{len(held) - 1}\x00"
        else:
            joined += part
    text = re.sub("\x00(\\d+)\x00", lambda match: held[int(match[1])], LINK.sub(adapt, joined))
    path.write_text(text)


def navigation() -> str:
    """Return the configuration with the lists of pages that follow from the folders."""
    config = (ROOT / "docs/site/mkdocs.yml").read_text()

    def pages(pattern: str, without: tuple[str, ...] = ("README",)) -> list[str]:
        found = sorted(SOURCE.glob(pattern), key=lambda path: path.stem.lower())
        named = set(re.findall(r"[\w/.-]+\.md", config))
        paths = [path.relative_to(SOURCE).as_posix() for path in found if path.stem not in without]
        return [path for path in paths if path not in named]

    lists = {
        "NOTEBOOKS": pages("docs/notebooks/*.md"),
        "GUIDES": pages("docs/guide/*.md"),
        "METHODS": pages("docs/methods/*.md"),
        "PYTHON": ["docs/reference/python/functions.md", *(f"docs/reference/python/{name}.md" for name in estimators())]
        + [f"docs/reference/python/{name}.md" for name in PYTHON if name != "functions"],
        "RECORDS": sorted(pages("bench/results/*.md"), reverse=True),
        "DECISIONS": pages("docs/adr/*.md"),
    }
    for name, paths in lists.items():
        config = re.sub(rf"^(\s*)- {name}$", lambda match: "\n".join(f"{match[1]}- {path}" for path in paths), config, flags=re.M)
        config = re.sub(rf": {name}$", lambda match: f": [{', '.join(paths)}]", config, flags=re.M)
    return config


def main() -> None:
    """Build the site."""
    for folder in (SOURCE, HTML):
        shutil.rmtree(folder, ignore_errors=True)
    SOURCE.mkdir(parents=True)
    copy_pages()
    write_references(sys.argv[1])
    for path in SOURCE.rglob("*.md"):
        adapt_links(path)
    config = ROOT / "docs/site/mkdocs.generated.yml"
    config.write_text(navigation())
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    try:
        subprocess.run([sys.executable, "-m", "mkdocs", "build", "--config-file", str(config)], check=True, env=environment)
    finally:
        config.unlink()
    count = len(list(HTML.rglob("*.html")))
    print(f"{HTML.relative_to(ROOT)}/index.html: {count} pages")


main()
