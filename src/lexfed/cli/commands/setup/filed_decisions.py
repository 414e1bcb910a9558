# SPDX-License-Identifier: Apache-2.0
"""Decisions that people made on the page of tags, written into a configuration."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lexfed.cli import talk
from lexfed.errors import ConfigError, Problem
from lexfed.report.markup.escaping import visible
from lexfed.report.wording.rounding import count

if TYPE_CHECKING:
    from lexfed.config.open_decisions import TagSource

FINISH = "the rest is decided and stays: finish it by hand under `[law.columns]`"
"""The hint at an entry of which a part is decided."""
_MOST_NAMED = 8


def import_decisions(file: Path, path: Path) -> None:
    """Write the decisions of a file under `[law.columns]` of a configuration.

    Guarantees:
        All of them are written, or none.
        A decision that is there is never overwritten; the same one is left as it is.
    """
    from lexfed.cli.output import write_parts
    from lexfed.config.decision_file import read_decisions
    from lexfed.config.edits import with_decisions
    from lexfed.config.open_decisions import stated_decisions, tag_source

    filed = read_decisions(file)
    source = tag_source(path)
    stated = stated_decisions(source)
    decisions = {
        name: decision
        for name, decision in filed.decisions.items()
        if stated.get(name) != decision.keys()
    }
    check_names(tuple(decisions), source, filed.places.__getitem__)
    if decisions:
        text = with_decisions(source.text, decisions, str(path))
        write_parts(path, [text], keep_mode=True)
    else:
        talk.say(f"nothing to write: {path} has these decisions already")
    left = [name for name in source.undecided if name not in decisions]
    already = len(filed.decisions) - len(decisions)
    said = f"{count(len(decisions), 'decision')} written"
    talk.say(f"{said}, {already} were there already" if already else said)
    if left:
        listed = ", ".join(f"`{visible(name)[:60]}`" for name in left[:_MOST_NAMED])
        more = f" and {len(left) - _MOST_NAMED} more" if len(left) > _MOST_NAMED else ""
        talk.say(f"still open: {listed}{more}")


def check_names(
    names: Sequence[str], source: "TagSource", where: str | Callable[[str], str]
) -> None:
    """Refuse names of columns that cannot be decided; `where` they were given."""
    from lexfed.config.text.wording import did_you_mean

    problems = []
    for name in names:
        shown = visible(name)[:60]
        place = where if isinstance(where, str) else where(name)
        if name not in source.needed:
            known = did_you_mean(name, source.needed, "") if source.needed else ""
            hint = (
                known
                if known.startswith("did you mean")
                else "declare it under `[data.columns]` first; a configuration comes "
                "before names: `lexfed tag lexfed.toml --accept NAME`"
            )
            problems.append(Problem(place, f"there is no column `{shown}`", hint))
        elif name in source.begun:
            what = f"column `{shown}`: {still_open(source.begun[name])}"
            problems.append(Problem(place, what, FINISH))
        elif name not in source.undecided:
            what = f"column `{shown}` is decided already"
            hint = "a decision is never overwritten: edit it under `[law.columns]`"
            problems.append(Problem(place, what, hint))
    if problems:
        raise ConfigError(problems)


def still_open(keys: Sequence[str]) -> str:
    """Return the sentence about keys that nobody has decided."""
    listed = " and ".join(f"`{visible(key)[:60]}`" for key in keys)
    return f"{listed} {'is' if len(keys) == 1 else 'are'} not decided yet"
