# SPDX-License-Identifier: Apache-2.0
"""Names of columns as a file has them: which are read, and which cannot be.

A column without a name, such as the index that pandas writes, cannot be declared, so it
is left out. A name that is there twice, or that shows as something else, is a problem.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from difflib import get_close_matches
from functools import partial

from lexfed.counted_words import counted
from lexfed.data.problems import Problems
from lexfed.visible_text import hidden_in, visible


def numbered_names(count: int) -> list[str]:
    """Return the names of the columns of a file without a header."""
    return [f"column_{number}" for number in range(1, count + 1)]


def check_names(
    header: Sequence[str],
    wanted: Collection[str] | None,
    file: str,
    problems: Problems,
    lone_hint: str = "",
    noun: str = "file",
) -> list[str]:
    """Return the columns to read, all that have a name for None; note what is wrong.

    `lone_hint` is for a file that looks as if it were separated otherwise, `noun` names
    what the columns are in.
    """
    names, note = list(header), partial(problems.add, file=file)
    for name in names:
        if hidden_in(name):
            what = f"its name has the hidden character `{hidden_in(name)}`"
            hint = "rename the column: people decide by names, so they must show"
            note("header-hidden", what, column=visible(name), hint=hint)
    counts = Counter(names)  # of many thousands of columns, too
    for name in sorted(name for name, many in counts.items() if name and many > 1):
        what, hint = "the header names it twice", "rename one of the two columns"
        note("header-duplicate", what, column=name, hint=hint)
    if wanted is None:
        return [name for name in names if name]
    others = [name for name in names if name and name not in wanted]
    for name in wanted:
        if name not in counts:
            near, hint = get_close_matches(name, others, 1), lone_hint
            if not lone_hint and near:
                hint = f"the {noun} has `{near[0]}`; is that the one you mean?"
            elif not lone_hint:
                count = counted(len([each for each in names if each]), "column")
                hint = f"the {noun} has {count}, none with a similar name: is it the "
                hint += f"right {noun}? if it is, correct the name"
            note("column-missing", f"is not in this {noun}", column=name, hint=hint)
    return [name for name in names if name in wanted]
