# SPDX-License-Identifier: Apache-2.0
"""The map of rooms is what the code gives, and paths in pages on the code exist."""

import re
from pathlib import Path

import pytest

from support import room_map

PATH = re.compile(r"`((?:[a-z_]+/)+[a-z_]+(?:\.[a-z]+)?|[a-z_]+\.(?:py|toml))`")


def test_the_tables_are_what_the_code_gives() -> None:
    text = room_map.PAGE.read_text(encoding="utf-8")
    assert room_map.with_tables(text) == text, "cd tests && python -m support.room_map"


def test_the_drawing_is_what_the_code_gives() -> None:
    shown = room_map.DRAWING.read_text(encoding="utf-8")
    assert room_map.drawing() == shown, "cd tests && python -m support.room_map"


def test_every_package_and_module_of_the_root_is_in_the_map() -> None:
    named = {name for layer in room_map.layers() for name in layer}
    packages = {path.parent.name for path in room_map.SOURCE.glob("*/__init__.py")}
    modules = {path.stem for path in room_map.SOURCE.glob("*.py")} - {"__init__"}
    assert packages | modules - {"__main__"} <= named


def test_a_page_without_a_place_for_the_map_is_no_page_with_one() -> None:
    with pytest.raises(ValueError, match="no place"):
        room_map.with_tables("nothing here")


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "docs/internals/architecture.md"])
def test_paths_in_pages_on_the_code_exist(
    page: str, documents: dict[Path, str], root: Path
) -> None:
    named = set(PATH.findall(documents[root / page]))
    assert len(named) > 30
    places = (root, root / "src" / "lexfed")
    gone = {n for n in named if not any((place / n).exists() for place in places)}
    # A bare name stands after the path of a module in the same folder.
    bare = {name for name in gone if "/" not in name} - {"lexfed.toml"}
    assert gone - bare - {"lexfed.toml"} == set()
    known = {
        path.name for place in ("src", "tests") for path in (root / place).rglob("*.py")
    }
    assert bare - known == set()
