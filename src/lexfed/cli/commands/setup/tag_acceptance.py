# SPDX-License-Identifier: Apache-2.0
"""`lexfed tag --accept`: people decide, and the decision goes into `lexfed.toml`.

What is decided already stays as it is. Columns marked for review are accepted only by
name: nobody decides about them in passing.
"""

from collections.abc import Sequence
from pathlib import Path

from lexfed.cli import talk
from lexfed.cli.commands.setup.tag import (
    DEFAULT,
    TagRequest,
    is_configuration,
    print_tags,
    say_disagreements,
    write_sheets,
)
from lexfed.cli.output import write_parts
from lexfed.config.edits import ColumnDecision, with_decisions
from lexfed.config.open_decisions import TagSource, tag_source
from lexfed.config.text.wording import did_you_mean
from lexfed.errors import ConfigError, Problem
from lexfed.law.articles import TaggedColumn
from lexfed.law.explanations import decision_of
from lexfed.report.markup.escaping import visible
from lexfed.tagging import configuration_tags

_MOST_NAMED = 8


def accept(asked: TagRequest) -> None:
    """Write suggestions under `[law.columns]` of a configuration."""
    arguments = asked.arguments
    given = bool(arguments) and is_configuration(arguments[0])
    path = Path(arguments[0]) if given else DEFAULT
    names = tuple(dict.fromkeys(arguments[1:] if given else arguments))
    source = tag_source(path)
    _check_names(names, source, path)
    found = configuration_tags(source)
    say_disagreements(found)
    open_ones = [
        tagged
        for tagged in found.columns
        if tagged.suggestion.column.name in (names or source.undecided)
    ]
    taken = [t for t in open_ones if names or not t.suggestion.review]
    left = [t for t in open_ones if t not in taken]
    decisions = {t.suggestion.column.name: _decision(t) for t in taken}
    if decisions:
        text = with_decisions(source.text, decisions, str(path))
        write_parts(path, [text], keep_mode=True)
    print_tags(found.columns if asked.as_json else taken, asked.as_json)
    write_sheets(asked, found, str(path))
    talk.say(_summary(taken, left, path))


def _decision(tagged: TaggedColumn) -> ColumnDecision:
    found = tagged.suggestion
    return ColumnDecision(
        found.tier, found.category, visible(decision_of(tagged))[:1000]
    )


def _check_names(names: Sequence[str], source: TagSource, path: Path) -> None:
    problems = []
    for name in names:
        shown = visible(name)[:60]
        if name not in source.needed:
            known = did_you_mean(name, source.needed, "") if source.needed else ""
            hint = (
                known
                if known.startswith("did you mean")
                else "declare it under `[data.columns]` first; a configuration comes "
                "before names: `lexfed tag lexfed.toml --accept NAME`"
            )
            problems.append(Problem(str(path), f"there is no column `{shown}`", hint))
        elif name not in source.undecided:
            what = f"column `{shown}` is decided already"
            hint = "a decision is never overwritten: edit it under `[law.columns]`"
            problems.append(Problem(str(path), what, hint))
    if problems:
        raise ConfigError(problems)


def _summary(
    taken: Sequence[TaggedColumn], left: Sequence[TaggedColumn], path: Path
) -> str:
    lines = [f"accepted {len(taken)} of {len(taken) + len(left)} open columns"]
    if left:
        names = [visible(t.suggestion.column.name)[:60] for t in left[:_MOST_NAMED]]
        more = f" and {len(left) - len(names)} more" if len(left) > len(names) else ""
        listed = ", ".join(f"`{name}`" for name in names)
        lines.append(
            f"for a person to review: {listed}{more}; look with "
            f"`lexfed tag {path} --explain NAME`, accept by name, or decide otherwise "
            "under `[law.columns]`"
        )
    if taken:
        lines.append("read every line that was written: the decision is yours")
    return "\n".join(lines)
