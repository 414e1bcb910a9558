# SPDX-License-Identifier: Apache-2.0
"""Pages of the API: one for each package, with all of its rooms.

A room shows its docstring, the names it exports, and its modules with the first
sentence of each. Docstrings are plain text with a few marks of Markdown; `as_markup`
writes them as reStructuredText, which is what Sphinx reads in docstrings.
"""

import ast
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

_SECTION = re.compile(
    r"(Args|Attributes|Guarantees|Raises|Returns|Yields|Example|Examples|Note):$"
)
_CODE = re.compile(r"(`+)(.+?)\1", re.DOTALL)
_SPECIAL = re.compile(r"([\\*|]|(?<=\w)_(?!\w)|(?<!\w)_(?=\w))")
_ITEM = re.compile(r"\s*(?:[-*]|\d+\.) ")


def write_pages(root: Path) -> None:
    """Write `docs/api`, which is not kept: one page a package, and an index."""
    source, folder = root / "src", root / "docs" / "api"
    folder.mkdir(exist_ok=True)
    top = source / "lexfed"
    packages = sorted(path.parent for path in top.glob("*/__init__.py"))
    for package in packages:
        _write(folder / f"{package.name}.rst", "\n".join(_package(package, source)))
    names = "\n".join(f"   {package.name}" for package in packages)
    _write(
        folder / "index.rst",
        "Python API\n==========\n\n.. automodule:: lexfed\n   :members:\n\n"
        f".. toctree::\n   :maxdepth: 1\n\n{names}\n",
    )


def _write(path: Path, text: str) -> None:
    """Leave a page that is as it should be alone, so that it is not built again."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def _package(package: Path, source: Path) -> Iterator[str]:
    for room in sorted(path.parent for path in package.rglob("__init__.py")):
        name = ".".join(room.relative_to(source).parts)
        mark = "=" if room == package else "-"
        yield f"{name}\n{mark * len(name)}\n\n.. automodule:: {name}\n   :members:\n"
        modules = sorted(path for path in room.glob("*.py") if path.stem[0] != "_")
        for module in modules:
            text = ast.get_docstring(ast.parse(module.read_text(encoding="utf-8")))
            first = " ".join((text or "").split("\n\n")[0].split())
            yield f"- ``{module.stem}``: {_marked(first)}"
        yield ""


def docstring_lines(
    _app: Any, _what: str, _name: str, _of: Any, _options: Any, lines: list[str]
) -> None:
    """Replace the lines of a docstring, in place, as Sphinx wants it."""
    lines[:] = as_markup(lines)


def as_markup(lines: Sequence[str]) -> list[str]:
    """Return a docstring as reStructuredText.

    Blocks that are indented, and stand in no section, are shown as they are. A line
    of `Guarantees:` that begins a sentence is an item of a list.
    """
    shown: list[str] = []
    for block in _blocks(lines):
        indented = all(line.startswith("    ") for line in block)
        if block[0].lstrip().startswith(">>> "):
            shown += block
        elif indented:
            shown += [".. code-block:: text", "", *block]
        elif any(_SECTION.match(line) for line in block):
            shown += _sections(block)
        else:
            shown += _marked("\n".join(block)).split("\n")
        shown.append("")
    return shown


def _blocks(lines: Sequence[str]) -> Iterator[list[str]]:
    """Yield what blank lines divide; sections keep what belongs to them."""
    block: list[str] = []
    section = False
    for line in [*lines, ""]:
        if line.strip():
            if section and not line.startswith(" ") and not _SECTION.match(line):
                section = False
                if block:
                    yield block
                    block = []
            section = section or bool(_SECTION.match(line))
            block.append(line)
        elif section:
            block.append("")
        elif block:
            yield block
            block = []
    while block and not block[-1]:
        block.pop()
    if block:
        yield block


def _sections(block: Sequence[str]) -> list[str]:
    shown: list[str] = []
    guarantees = False
    for line in block:
        if _SECTION.match(line):
            guarantees = line == "Guarantees:"
            shown += ["", line]
        elif guarantees and re.match(r"    \S", line):
            text = line.strip().removeprefix("- ")
            begins = not shown[-1].strip() or shown[-1] == "Guarantees:" or _ends(shown)
            mark = "- " if begins or _ITEM.match(line) else "  "
            shown.append(f"    {mark}{_marked(text)}")
        else:
            shown.append(_marked(line))
    return shown


def _ends(shown: Sequence[str]) -> bool:
    """Say whether the last line ends a sentence."""
    return shown[-1].rstrip("`)").endswith(".")


def _marked(text: str) -> str:
    """Return text with code marked as code, and nothing else marked."""
    parts: list[str] = []
    at = 0
    for found in _CODE.finditer(text):
        parts.append(_SPECIAL.sub(r"\\\1", text[at : found.start()]))
        before = text[: found.start()][-1:]
        code = found[2].strip()
        after = text[found.end() :][:1]
        # Markup must be set off from letters; an escaped space does it unseen.
        open_ = r"\ " if before.isalnum() else ""
        close = r"\ " if after.isalnum() or after in ("`", "_") else ""
        parts.append(f"{open_}``{code}``{close}")
        at = found.end()
    parts.append(_SPECIAL.sub(r"\\\1", text[at:]))
    return "".join(parts)
