"""An extension of griffe, which reads the docstrings for MkDocs: what Sphinx knows and griffe does not."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import griffe

ROLE = re.compile(r":(?:attr|class|data|exc|func|meth|mod):`~?([\w.]+)`")


class Docstrings(griffe.Extension):
    def on_class_members(self, *, cls: griffe.Class, **_: Any) -> None:
        """Let ``__new__`` be the constructor of a class without ``__init__``, and list attributes with comments that begin with ``#:``."""
        if "__new__" in cls.members and "__init__" not in cls.members:
            # griffe takes the parameters of the constructor for those of the class.
            cls.members["__init__"] = cls.members["__new__"]
        attributes = [each for each in cls.members.values() if isinstance(each, griffe.Attribute) and not each.name.startswith("_")]
        if cls.docstring is not None and "\nAttributes\n" not in cls.docstring.value and any(_comment(each) for each in attributes):
            rows = [f"{each.name} : {each.annotation}\n    {_comment(each)}" for each in attributes]
            cls.docstring.value += "\n\nAttributes\n----------\n" + "\n".join(rows)

    def on_module_members(self, *, mod: griffe.Module, **_: Any) -> None:
        """Let the comment above a constant be its docstring."""
        for each in mod.members.values():
            if isinstance(each, griffe.Attribute) and (comment := _comment(each)):
                each.docstring = griffe.Docstring(comment, parent=each)

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Replace references by links to the reference."""
        for each in _objects(pkg):
            if each.docstring is not None:
                each.docstring.value = ROLE.sub(lambda role, of=each: _link(pkg, of, role[1]), each.docstring.value)


def _comment(attribute: griffe.Attribute) -> str:
    """Return the lines above an attribute that begin with ``#:``, in one."""
    lines: list[str] = []
    for line in reversed(attribute.lines_collection[attribute.filepath][: (attribute.lineno or 1) - 1]):
        if not line.lstrip().startswith("#:"):
            break
        lines.insert(0, line.lstrip().removeprefix("#:").strip())
    return " ".join(lines)


def _objects(of: griffe.Object) -> Iterator[griffe.Object]:
    """Iterate over an object and what it holds, without what it imports."""
    yield of
    for member in of.members.values():
        if isinstance(member, griffe.Object):
            yield from _objects(member)


def _link(package: griffe.Module, of: griffe.Object, name: str) -> str:
    """Return a link to a name as a docstring refers to it: its path, or its name in a module around the docstring."""
    parts = of.module.path.split(".")
    public = next((count for count, part in enumerate(parts) if part.startswith("_")), len(parts))
    modules = [".".join(parts[:count]) for count in range(public, 0, -1)]
    for path in [name, *(f"{module}.{name}" for module in modules)]:
        if _exists(package, path):
            return f"[`{name}`][{path}]"
    return f"`{name}`"


def _exists(package: griffe.Module, path: str) -> bool:
    """Return whether a path leads to a public name of the package."""
    first, *rest = path.split(".")
    found: Any = package if first == package.name else None
    for part in rest:
        found = None if part.startswith("_") or found is None or found.is_alias else found.members.get(part)
    return found is not None
