# SPDX-License-Identifier: Apache-2.0
"""Which modules of a package are reached from its entry points.

A module reaches what it imports, at the top or inside a function, and every module
that it names in a string: class paths for FLARE, targets of `python -m`. A module
also reaches the packages that it lies in, because importing it runs their
`__init__`.
"""

import ast
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

_DOTTED = re.compile(r"\w+(?:\.\w+)+")
_FENCE = re.compile(r"^```python\n(.*?)^```", re.S | re.M)
_FROM = re.compile(r"^(?:>>> )?from (\S+) import (\([^)]*\)|[^\n]*)", re.M)


class ModuleGraph:
    """The modules below a folder of sources, and what each reaches at once."""

    def __init__(self, sources: Path) -> None:
        self.files = {
            _module_name(path.relative_to(sources)): path
            for path in sorted(sources.rglob("*.py"))
        }
        self._named: Mapping[str, frozenset[str]] = {
            module: self._named_in(path) for module, path in self.files.items()
        }

    def module_of(self, dotted: str) -> str | None:
        """Return the module that a dotted name is, or is in."""
        while dotted not in self.files and dotted:
            dotted = dotted.rpartition(".")[0]
        return dotted or None

    def reached_from(self, entries: Iterable[str]) -> frozenset[str]:
        """Return the modules that are reached from dotted names."""
        reached: set[str] = set()
        waiting = [found for name in entries if (found := self.module_of(name))]
        while waiting:
            module = waiting.pop()
            if module not in reached:
                reached.add(module)
                waiting += self._named[module]
                waiting += [p for p in (module.rpartition(".")[0],) if p]
        return frozenset(reached)

    def lines(self, modules: Iterable[str]) -> int:
        """Return how many lines modules have together."""
        return sum(
            len(self.files[module].read_text("utf-8").splitlines())
            for module in modules
        )

    def _named_in(self, path: Path) -> frozenset[str]:
        names: set[str] = set()
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                names |= {f"{node.module}.{alias.name}" for alias in node.names}
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                names |= {node.value} & set(_DOTTED.findall(node.value))
        return frozenset(found for name in names if (found := self.module_of(name)))


def documented_names(documents: Iterable[Path]) -> frozenset[str]:
    """Return the dotted names that the Python examples of documents import."""
    return frozenset(
        f"{module}.{name}"
        for document in documents
        for example in _FENCE.findall(document.read_text("utf-8"))
        for module, names in _FROM.findall(example)
        for name in re.findall(r"\w+", names)
    )


def _module_name(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
