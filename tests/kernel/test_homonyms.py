# SPDX-License-Identifier: Apache-2.0
"""One noun means one type: no public class or alias has a namesake elsewhere.

The standalone verifier is left out: it imports nothing of the package on purpose and
so repeats some of its nouns.
"""

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

import lexfed

PACKAGE = Path(lexfed.__file__).parent


def types_of(text: str) -> Iterator[str]:
    """Yield the public classes and type aliases that a module defines."""
    for node in ast.parse(text).body:
        if isinstance(node, ast.ClassDef):
            names = [node.name]
        elif isinstance(node, ast.Assign):
            names = [each.id for each in node.targets if isinstance(each, ast.Name)]
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names = [node.target.id]
        else:
            continue
        # Words in capitals are constants; so are type variables of one letter.
        yield from (n for n in names if n[0].isupper() and not n.isupper())


def homonyms(modules: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the types that two modules or more define, with these modules."""
    found = defaultdict(list)
    for module, text in sorted(modules.items()):
        for name in types_of(text):
            found[name].append(module)
    return {name: where for name, where in found.items() if len(where) > 1}


def test_no_noun_means_two_types() -> None:
    modules = {
        str(path.relative_to(PACKAGE)): path.read_text("utf-8")
        for path in PACKAGE.rglob("*.py")
        if path.relative_to(PACKAGE).parts[:2] != ("audit", "standalone")
    }
    assert len(modules) > 100
    assert homonyms(modules) == {}


def test_a_namesake_is_found_and_a_private_or_imported_one_is_not() -> None:
    modules = {
        "one.py": "class Cohort: ...\nUnit = int\nLIMIT = 1\nclass _Part: ...",
        "two.py": "Cohort = list[int]\nfrom one import Unit\nLIMIT = 1\n_Part = str",
    }
    assert homonyms(modules) == {"Cohort": ["one.py", "two.py"]}
