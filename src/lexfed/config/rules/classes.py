# SPDX-License-Identifier: Apache-2.0
"""Rules for classes of records: they can be read, and they change something.

Written like `data.py`. Rules on the columns of a built-in source are compared
with its schema when the source is made (`budget.classes.record_class`).
"""

from collections.abc import Iterator

from lexfed.config.declarations import schema_of
from lexfed.config.rules.budget import EPSILON, MECHANISM, UNIT
from lexfed.config.rules.data import COLUMNS, SOURCE
from lexfed.config.tables.root import Config
from lexfed.config.text.findings import Finding
from lexfed.config.text.positions import KeyPath
from lexfed.config.text.wording import dotted, shown
from lexfed.data import conditions
from lexfed.data.schema import Schema
from lexfed.errors import ConfigError

CLASSES: KeyPath = ("budget", "classes")


def classes_are_told_apart(config: Config) -> Iterator[Finding]:
    """Claims name classes, so a name stands for one of them."""
    names = [one.name for one in config.budget.classes]
    for number, name in enumerate(names):
        if name in names[:number]:
            path: KeyPath = (*CLASSES, number, "name")
            what = f"`{dotted(path)}`: there are two classes `{name}`"
            yield Finding(path, what, "rename one of them")


def classes_are_stricter(config: Config) -> Iterator[Finding]:
    """A class is for records that get less than the others."""
    budget = config.budget
    for number, one in enumerate(budget.classes):
        if one.epsilon >= budget.epsilon and config.privacy.mechanism != "none":
            path: KeyPath = (*CLASSES, number, "epsilon")
            yield Finding(
                path,
                f"`{dotted(path)}`: expected below `budget.epsilon` = "
                f"{budget.epsilon:g}, got: {shown(one.epsilon)}",
                "a class has a stricter budget than the other records; remove it, or "
                "lower its epsilon",
                (EPSILON, MECHANISM),
            )


def classes_are_of_records(config: Config) -> Iterator[Finding]:
    """With `unit = "client"` what is clipped is a whole site, not a record."""
    if config.budget.classes and config.budget.unit == "client":
        yield Finding(
            CLASSES,
            '`budget.classes` needs `unit = "record"`, got: `"client"`',
            "a site's update is clipped as a whole, so single records cannot get less; "
            'remove the classes, or set `unit = "record"`',
            (UNIT,),
        )


def rules_can_be_read(config: Config) -> Iterator[Finding]:
    """A rule compares declared columns with values that they can have."""
    schema = _declared(config)
    for number, one in enumerate(config.budget.classes):
        path: KeyPath = (*CLASSES, number, "where")
        try:
            condition = conditions.parse_condition(one.where)
            if schema is not None:
                conditions.check_condition(condition, schema)
        except ConfigError as error:
            problem = error.problems[0]
            what = f"`{dotted(path)}`: {problem}"
            yield Finding(path, what, problem.hint, (COLUMNS, SOURCE))


def _declared(config: Config) -> Schema | None:
    if config.data.built_in or not config.data.columns:
        return None
    try:
        return schema_of(config)
    except ConfigError:
        # Said by the rules of `[data]`, at the key that is wrong.
        return None


RULES = (
    classes_are_told_apart,
    classes_are_stricter,
    classes_are_of_records,
    rules_can_be_read,
)
