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
COPIED = ["README.md", "CHANGELOG.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "docs/**/*.md", "docs/images/**/*.png", "bench/README.md"]
COPIED += ["bench/results/*.md", "crates/lowland/README.md"]
#: Pages of the Python reference: title, introduction, and names in the package.
PYTHON = {
    "functions": ("Functions", ["embed", "choose_method", "spectrum", "compare", "trust", "select", "select_edges", "neighbors", "devices", "load"]),
    "pictures": ("Pictures and pages", ["draw", "Picture", "plot", "view", "View"]),
    "results": ("Results", ["MethodChoice", "Spectrum", "Comparison", "Trust", "Selection", "EdgeComparison", "NeighborGraph"]),
    "aligned": ("Sequences of maps", ["AlignedMaps"]),
    "quality": ("Scores", ["quality"]),
    "datasets": ("Data sets", ["datasets"]),
    "anndata": ("AnnData", ["anndata"]),
    "streaming": ("Batches of rows", ["streaming"]),
    "dask": ("Dask", ["dask"]),
    "spark": ("Spark", ["spark"]),
    "ray": ("Ray", ["ray"]),
    "warnings": ("Warnings", ["LowlandWarning", "ParameterWarning", "DataWarning", "ConvergenceWarning"]),
    "compat-sklearn": ("Replacement of scikit-learn", ["compat.sklearn"]),
    "compat-umap": ("Replacement of umap-learn", ["compat.umap"]),
    "compat-opentsne": (
        "Replacement of openTSNE",
        ["compat.opentsne"]
        + [f"compat.opentsne.{name}" for name in ("affinity", "callbacks", "initialization", "metrics", "nearest_neighbors", "sklearn")]
        # The classes of this module are those of the package.
        + [f"compat.opentsne.tsne.{name}" for name in ("gradient_descent", "kl_divergence", "kl_divergence_bh", "kl_divergence_fft")],
    ),
}
#: Modules whose names are not underscored and that are not in the reference: others have their names, or these are not for users.
WITHOUT_PAGE = ["estimators", "compat", *(f"compat.opentsne.{name}" for name in ("embedding", "optimization", "tsne", "utils"))]
#: Names of the package that have no page.
UNDOCUMENTED = {"__version__", "compat", "estimators"}
#: Lists of pages in mkdocs.yml that follow from the folders.
LISTS = {
    "NOTEBOOKS": "docs/notebooks/*.md",
    "GUIDES": "docs/guide/*.md",
    "METHODS": "docs/methods/*.md",
    "RECORDS": "bench/results/*.md",
    "DECISIONS": "docs/adr/*.md",
}
#: A link or picture to a file: text, path, anchor.
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\((?!https?:|#|mailto:)([^)#\s]+)(#[^)\s]*)?\)")


def estimators() -> list[str]:
    """Return the names of the estimators."""
    text = (ROOT / "python/src/lowland/_registry.py").read_text()
    return sorted(re.findall(r'"[\w-]+": "(\w+)"', text), key=str.lower)


def exported() -> set[str]:
    """Return the names that the package exports."""
    package = (ROOT / "python/src/lowland/__init__.py").read_text()
    return set(re.findall(r'^    "(\w+)",$', package.split("__all__ = [")[1].split("]")[0], re.M))


def public_modules() -> set[str]:
    """Return the modules of the package whose names have no underscore at the beginning."""
    folder = ROOT / "python/src/lowland"
    paths = [path.relative_to(folder).with_suffix("") for path in folder.rglob("*.py")]
    names = {path.parts[:-1] if path.name == "__init__" else path.parts for path in paths}
    return {".".join(parts) for parts in names if parts and not any(part.startswith("_") for part in parts)}


def missing_names() -> set[str]:
    """Return the names and modules that should be in the Python reference and are not."""
    documented = {name for _, names in PYTHON.values() for name in names} | set(estimators())
    return (exported() - UNDOCUMENTED | public_modules() - set(WITHOUT_PAGE)) - documented


def copied() -> list[Path]:
    """Return the pages and pictures of the site, without those that are written for it."""
    return sorted({path for pattern in COPIED for path in ROOT.glob(pattern) if path.is_file()})


def copy_pages() -> None:
    """Copy the pages and pictures, and write the notebooks as pages."""
    shutil.copyfile(ROOT / "docs/site/extra.css", SOURCE / "extra.css")
    for path in copied():
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
    modules = public_modules()
    for page, (title, names) in PYTHON.items():
        parts = [f"# {title}\n"]
        for name in names:
            # The paths of modules are what users import.
            parts.append(f"::: lowland.{name}\n    options:\n      show_root_full_path: {str(name in modules).lower()}\n")
        (folder / "python" / f"{page}.md").write_text("\n".join(parts))
    for name in estimators():
        (folder / "python" / f"{name}.md").write_text(f"# {name}\n\n::: lowland.{name}\n    options:\n      show_root_heading: false\n")
    if missing := missing_names():
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


def configuration() -> tuple[str, set[str]]:
    """Return the configuration as it is written, and the pages that it names."""
    config = (ROOT / "docs/site/mkdocs.yml").read_text()
    return config, set(re.findall(r"[\w/.-]+\.md", config.split("\nnav:\n")[1]))


def pages_of_lists(root: Path) -> dict[str, list[str]]:
    """Return the pages below a folder that are in the lists of the configuration."""
    _, named = configuration()
    lists = {}
    for name, pattern in LISTS.items():
        found = sorted(root.glob(pattern), key=lambda path: path.stem.lower(), reverse=name == "RECORDS")
        lists[name] = [path for path in (each.relative_to(root).as_posix() for each in found) if path not in named]
    return lists


def navigation() -> str:
    """Return the configuration with the lists of pages that follow from the folders."""
    config, _ = configuration()
    lists = pages_of_lists(SOURCE)
    lists["ESTIMATORS"] = [f"docs/reference/python/{name}.md" for name in estimators()]
    lists["PYTHON"] = [f"docs/reference/python/{name}.md" for name in PYTHON]
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


if __name__ == "__main__":
    main()
