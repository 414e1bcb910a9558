# SPDX-License-Identifier: Apache-2.0
"""Write a first `lexfed.toml`: everything that can be guessed, and nothing more.

Ranges, categories, tiers and their reasons are decisions. A scaffold marks each with
`"?"`, and `lexfed check` lists the marks that are left. Nothing in it is taken from the
values of a table. The texts are in `drafts/`, with braces as `str.format` has them.
"""

import re
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from pathlib import PurePath

from lexfed.config.text.wording import dotted, quoted
from lexfed.data.schema import DeclaredKind

_COLUMN = {
    "number": '{ kind = "number", range = "?" }',
    "category": '{ kind = "category", values = "?" }',
    "flag": '{ kind = "flag" }',
    "text": '{ kind = "text" }',
    "date": '{ kind = "date", period = "?" }',
}


def scaffold(source: str, columns: Iterable[tuple[str, DeclaredKind]]) -> str:
    """Return a commented `lexfed.toml` for a table.

    `source` is the table's file as it should stand in the configuration; `columns` has
    the names of the header, in order, with guessed kinds.

    Guarantees:
        The text is valid TOML and names every column once, whatever its name; columns
            without a name are left out.
        It does not pass `lexfed check` before every `"?"` is replaced.
    """
    kinds = {column: kind for column, kind in columns if column}
    names = [(dotted((name,)), kind) for name, kind in kinds.items()]
    stem = PurePath(source).name.partition(".")[0]
    run = re.sub(r"[^A-Za-z0-9._-]+", "-", stem).strip("._-")[:64] or "run"
    return _template("new").format(
        name=quoted(run),
        out=quoted(f"runs/{run}"),
        source=quoted(source),
        declared="".join(f"{name} = {_COLUMN[kind]}\n" for name, kind in names),
        tagged="".join(
            f'{name} = {{ tier = "?", reason = "?" }}\n' for name, _ in names
        ),
    )


def demo_config(out: str = "runs/demo", seed: int = 7) -> str:
    """Return the configuration of `lexfed demo`."""
    return _template("demo").format(out=quoted(out), seed=seed)


@cache
def _template(name: str) -> str:
    return (files("lexfed.config") / "drafts" / f"{name}.txt").read_text("utf-8")
