"""The documentation site: what ``cargo xtask site`` refuses, found without MkDocs.

Links and pictures lead to files and headings, each page is in the menu, and each public name is in the Python reference.
"""

import importlib.util
import re
import unicodedata
from pathlib import Path

import pytest

import lowland

ROOT = Path(__file__).parents[2]


def load(path):
    """Import a script of the documentation."""
    spec = importlib.util.spec_from_file_location(path.replace("/", "_").removesuffix(".py"), ROOT / path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SITE = load("docs/site/build.py")
PICTURES = load("docs/images/make.py")
COPIED = SITE.copied()
PAGES = sorted({path for path in COPIED if path.suffix == ".md"} | set((ROOT / "docs").rglob("*.md")))
#: A link or picture, with the anchor; other than that of the site, also within the page.
LINK = re.compile(r"\[(?:[^\[\]]|\[[^\]]*\])*\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]*))?\)")


def name(path):
    return path.relative_to(ROOT).as_posix()


def prose(page):
    """Return a page without its code."""
    return re.sub(r"^(`{3,}).*?^\1$|`[^`\n]+`", lambda code: code[0].strip("`") if "\n" not in code[0] else "", page.read_text(), flags=re.M | re.S)


def links(page):
    """Return the target and anchor of each link of a page."""
    text = re.sub(r"^(`{3,}).*?^\1$|`[^`\n]+`", "", page.read_text(), flags=re.M | re.S)
    return [(match[1], match[2]) for match in LINK.finditer(text)]


def anchors(page):
    """Return the anchors of the headings of a page, as MkDocs and GitHub make them."""
    found = set()
    for heading in re.findall(r"^#+ (.*)$", prose(page), re.M):
        heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        found.add(re.sub(r"[^\w\- ]", "", unicodedata.normalize("NFC", heading).lower()).strip().replace(" ", "-"))
    return found


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_to_files_and_headings(page):
    for target, anchor in links(page):
        path = page.parent / target if target else page
        assert path.exists(), f"there is no {target}"
        if anchor and path.suffix == ".md":
            assert anchor in anchors(path), f"{target} has no heading #{anchor}"


def test_pictures_of_pages_are_copied_to_the_site():
    for page in PAGES:
        for target, _ in links(page):
            if target.endswith((".png", ".svg", ".jpg")):
                assert (page.parent / target).resolve() in COPIED, f"{name(page)}: {target}"


def test_every_picture_is_on_a_page():
    shown = {(page.parent / target).resolve() for page in PAGES for target, _ in links(page)}
    assert [name(path) for path in COPIED if path.suffix == ".png" and path not in shown] == []


def test_it_is_known_what_makes_every_picture():
    assert PICTURES.unknown() == []
    scripts = {path for path in PICTURES.ELSEWHERE.values() if not (ROOT / path).exists()}
    assert scripts == set()


def test_every_page_is_in_the_menu():
    _, named = SITE.configuration()
    lists = SITE.pages_of_lists(ROOT)
    in_menu = named | {path for pages in lists.values() for path in pages}
    assert [name(page) for page in PAGES if name(page) not in in_menu] == []
    # The references and the pages of notebooks are written when the site is built.
    written = ("docs/reference/", "docs/notebooks/")
    assert [path for path in named if not path.startswith(written) and not (ROOT / path).exists()] == []


def test_every_public_name_is_in_the_python_reference():
    assert SITE.missing_names() == set()
    assert SITE.exported() == set(lowland.__all__)


def test_the_python_reference_has_no_names_that_are_gone():
    known = SITE.exported() | SITE.public_modules()
    listed = {each for _, names in SITE.PYTHON.values() for each in names} | set(SITE.WITHOUT_PAGE) | SITE.UNDOCUMENTED
    # Names within modules are looked up by MkDocs.
    assert {each for each in listed - known if each.rpartition(".")[0] not in known} == set()
