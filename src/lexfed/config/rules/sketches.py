# SPDX-License-Identifier: Apache-2.0
"""Rules that tie `[sketches]` to the rest: what cannot be sketched, or for nothing.

Written like `data.py`.
"""

from collections.abc import Iterator

from lexfed.config.rules.budget import MECHANISM, UNIT
from lexfed.config.tables.root import Config, SketchesTable
from lexfed.config.text.findings import Finding
from lexfed.config.text.positions import KeyPath

SKETCHES: KeyPath = ("sketches",)
SHARE: KeyPath = ("sketches", "share")
WEIGHTS: KeyPath = ("sketches", "weights")
PERSON: KeyPath = ("data", "person")


def settings_do_something(config: Config) -> Iterator[Finding]:
    """Without a share nothing is sketched."""
    if config.sketches.share == 0.0 and config.sketches != SketchesTable():
        yield Finding(
            SKETCHES,
            "`[sketches]` does nothing with `share = 0`",
            "set `share`, for example to 0.1, or remove the table",
            (SHARE,),
        )


def persons_can_be_sketched(config: Config) -> Iterator[Finding]:
    """Tables count persons, each of them as much as every other."""
    if config.sketches.share == 0.0:
        return
    budget = config.budget
    wrong: tuple[tuple[bool, str, KeyPath], ...] = (
        (
            config.privacy.mechanism == "none",
            '`mechanism = "none"`: nothing is protected, so look at the data',
            MECHANISM,
        ),
        (
            budget.unit == "client",
            '`unit = "client"`: persons are not what is counted there',
            UNIT,
        ),
        (
            bool(budget.classes),
            "`budget.classes`: their records would count less than one person",
            ("budget", "classes"),
        ),
        (
            bool(budget.profiles or budget.clients),
            "budgets that differ between sites: their persons would count less than "
            "one",
            ("budget", "profiles"),
        ),
    )
    for holds, what, path in wrong:
        if holds:
            yield Finding(
                SHARE,
                f"`[sketches]` does not go with {what}",
                "remove one of the two",
                (path,),
            )


def something_is_sketched(config: Config) -> Iterator[Finding]:
    """Persons are told apart by their key; a built-in source has its own."""
    if config.sketches.share == 0.0 or config.data.built_in or config.data.person:
        return
    if config.sketches.weights == "overlap":
        yield Finding(
            WEIGHTS,
            "`sketches.weights`: `overlap` needs `data.person`: without a key nobody "
            "can be found at two sites",
            'name the column with the key of a person, or set `weights = "none"`',
            (PERSON,),
        )
    elif config.sketches.columns == 0:
        yield Finding(
            SHARE,
            "`[sketches]` has nothing to count: no persons without `data.person`, and "
            "no columns with `columns = 0`",
            "set `columns`, or name the key of a person",
            (PERSON, ("sketches", "columns")),
        )


RULES = (settings_do_something, persons_can_be_sketched, something_is_sketched)
