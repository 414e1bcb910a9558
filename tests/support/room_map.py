# SPDX-License-Identifier: Apache-2.0
"""The map of packages and rooms, drawn from `layers.toml` and from docstrings.

`docs/internals/architecture.md` shows it. After a change of rooms write it again:

    cd tests && python -m support.room_map
"""

import ast
import tomllib
from collections.abc import Sequence
from html import escape
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "lexfed"
PAGE = ROOT / "docs" / "internals" / "architecture.md"
DRAWING = ROOT / "docs" / "internals" / "rooms.svg"
BEGIN, END = "<!-- rooms -->\n", "<!-- /rooms -->"

_WIDTH, _MARGIN, _LINE = 960, 12, 15
_LETTER = 6.3  # mean width of a letter at 12 px, on the safe side


def layers() -> list[list[str]]:
    """Return the packages, and modules of the root, from the top layer down."""
    rules = tomllib.loads((ROOT / "layers.toml").read_text(encoding="utf-8"))
    contracts = rules["tool"]["importlinter"]["contracts"]
    order = next(c for c in contracts if c["name"] == "imports go one way")["layers"]
    return [
        [name.strip().removeprefix("lexfed.") for name in layer.split("|")]
        for layer in order
    ]


def rooms(package: Path) -> list[Path]:
    """Return the folders of a package that hold modules, parents first."""
    found = (path.parent for path in package.glob("*/**/__init__.py"))
    return sorted(found, key=lambda path: path.relative_to(package).parts)


def first_line(path: Path) -> str:
    """Return the first sentence of a module's docstring, which may span lines."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return " ".join(text.split("\n\n")[0].split())


def tables() -> str:
    """Return the map as Markdown: every package, with its rooms."""
    parts = []
    for name in (name for layer in layers() for name in layer):
        package = SOURCE / name
        if not package.is_dir():
            continue
        lines = [f"### `{name}`\n", first_line(package / "__init__.py") + "\n"]
        inside = rooms(package)
        if inside:
            lines += ["| room | holds |", "|---|---|"]
        lines += [
            f"| `{room.relative_to(SOURCE)}` | {first_line(room / '__init__.py')} |"
            for room in inside
        ]
        parts.append("\n".join(lines).rstrip() + "\n")
    roots = [name for layer in layers() for name in layer if _is_module(name)]
    lines = ["### Modules of the root\n", "| module | holds |", "|---|---|"]
    lines += [f"| `{name}` | {first_line(SOURCE / f'{name}.py')} |" for name in roots]
    return "\n".join([*parts, "\n".join(lines) + "\n"])


def _is_module(name: str) -> bool:
    return (SOURCE / f"{name}.py").is_file()


def drawing() -> str:
    """Return the layers as SVG: a layer imports only from layers below it."""
    shapes, top = [], _MARGIN
    for layer in layers():
        boxes = [(name, _room_names(name)) for name in layer]
        width = (_WIDTH - _MARGIN * (len(boxes) + 1)) / len(boxes)
        texts = [_wrapped(names, width - 16) for _, names in boxes]
        height = 26 + _LINE * max(len(lines) for lines in texts)
        for at, ((name, _), lines) in enumerate(zip(boxes, texts, strict=True)):
            left = _MARGIN + at * (width + _MARGIN)
            shapes += _box(left, top, width, height, name, lines)
        top += height + _MARGIN
    title = "Packages of lexfed in layers, each with its rooms; imports go down only."
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {top}" '
        'role="img" aria-labelledby="title" font-family="Helvetica, Arial, sans-serif">'
    )
    ground = f'<rect width="{_WIDTH}" height="{top}" fill="#fff"/>'
    lines = [head, f'<title id="title">{title}</title>', ground, *shapes, "</svg>"]
    return "\n".join(lines) + "\n"


def _room_names(name: str) -> list[str]:
    package = SOURCE / name
    return [room.name for room in rooms(package) if room.parent == package]


def _wrapped(names: Sequence[str], width: float) -> list[str]:
    """Return names in lines that fit into a box."""
    lines: list[str] = []
    for name in names:
        longer = f"{lines[-1]} · {name}" if lines else name
        if lines and len(longer) * _LETTER <= width:
            lines[-1] = longer
        else:
            lines.append(name)
    return lines


def _box(
    left: float, top: float, width: float, height: float, name: str, lines: list[str]
) -> list[str]:
    middle = f'x="{left + width / 2:.1f}" text-anchor="middle"'
    size = min(15.0, (width - 6) / (0.62 * len(name)))
    return [
        f'<rect x="{left:.1f}" y="{top}" width="{width:.1f}" height="{height}" '
        'rx="5" fill="#eef3fb" stroke="#444"/>',
        f'<text {middle} y="{top + 18}" font-size="{size:.1f}" font-weight="bold" '
        f'fill="#111">{escape(name)}</text>',
        *(
            f'<text {middle} y="{top + 34 + _LINE * at}" font-size="12" '
            f'fill="#333">{escape(line)}</text>'
            for at, line in enumerate(lines)
        ),
    ]


def with_tables(text: str) -> str:
    """Return the page with the map of today in its place."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{PAGE.name} has no place for the map")
    return f"{before}{begin}\n{tables()}\n{end}{after}"


if __name__ == "__main__":
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    DRAWING.write_text(drawing(), encoding="utf-8")
