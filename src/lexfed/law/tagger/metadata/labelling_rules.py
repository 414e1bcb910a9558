# SPDX-License-Identifier: Apache-2.0
"""The labelling rules as tables: meanings of a word after a noun, and in a table.

Each row carries the number of the rule it follows (R1 to R23 of the labelling
guidelines), so that an explanation can name it. Weights are in log-odds.
"""

from collections.abc import Iterable
from typing import Literal, NamedTuple, get_args

TableRole = Literal[
    "clinical", "person", "organisation", "thing", "dictionary", "device", "unknown"
]
"""The subject of the rows of a table."""
ROLES: tuple[TableRole, ...] = get_args(TableRole)

TOPICS = frozenset(
    {"health", "genetic", "biometric", "criminal", "political", "religion",
     "financial", "employment_education", "behavioural", "communication_content",
     "environment", "business", "reference", "citizenship_immigration"}
)  # fmt: skip
"""Categories that a whole table can be about."""

ROLE_TEXT: dict[TableRole, str] = {
    "clinical": "patients and their care",
    "person": "people",
    "organisation": "organisations",
    "thing": "products or things",
    "dictionary": "definitions of codes",
    "device": "machines or the environment",
    "unknown": "something unknown",
}


class CompoundRule(NamedTuple):
    """The meaning of a word after a noun: `customer` + `name` is a person's name."""

    word: str
    noun: str
    category: str
    weight: float
    rule: str


COMPOUNDS = (
    CompoundRule("key", "person", "person_key", 4.0, "R3"),
    CompoundRule("key", "case", "person_key", 3.0, "R3"),
    CompoundRule("key", "event", "technical", 3.0, "R3"),
    CompoundRule("key", "organisation", "business", 3.0, "R4"),
    CompoundRule("key", "thing", "technical", 2.5, "R3"),
    CompoundRule("key", "definition", "reference", 2.5, "R4"),
    CompoundRule("name", "person", "direct_identifier", 4.0, "R9"),
    CompoundRule("name", "organisation", "business", 4.0, "R10"),
    CompoundRule("name", "thing", "business", 3.0, "R19"),
    CompoundRule("name", "definition", "reference", 3.0, "R4"),
    CompoundRule("address", "person", "contact", 4.0, "R8"),
    CompoundRule("phone", "person", "contact", 4.0, "R8"),
    CompoundRule("email", "person", "contact", 4.0, "R8"),
    CompoundRule("address", "organisation", "business", 4.0, "R10"),
    CompoundRule("phone", "organisation", "business", 4.0, "R10"),
    CompoundRule("email", "organisation", "business", 3.0, "R10"),
    CompoundRule("place", "person", "location", 2.5, "R8"),
    CompoundRule("place", "organisation", "business", 2.0, "R10"),
    CompoundRule("coordinate", "person", "precise_geolocation", 4.0, "R8"),
    CompoundRule("coordinate", "thing", "environment", 3.0, "R14"),
    CompoundRule("coordinate", "organisation", "business", 3.0, "R10"),
    CompoundRule("money", "thing", "business", 2.0, "R19"),
    CompoundRule("money", "person", "financial", 2.0, "R7"),
    CompoundRule("money", "case", "financial", 1.5, "R7"),
    CompoundRule("text", "thing", "business", 2.0, "R12"),
    CompoundRule("code", "thing", "business", 1.5, "R19"),
    CompoundRule("code", "organisation", "business", 2.0, "R10"),
    CompoundRule("time", "created", "technical", 3.0, "R5"),
)
BARE = {
    "person": CompoundRule("mention", "person", "person_key", 2.0, "R3"),
    "organisation": CompoundRule("mention", "organisation", "business", 2.0, "R4"),
}
"""Meaning of a noun that stands alone: `surgeon`, `referring hospital`."""


ONLY_ALONE = frozenset({"first", "last", "middle", "given", "second"})
"""Words that are a personal name only where they are the whole name of a column."""


class ContentRule(NamedTuple):
    """The meaning of a plain word (`value`, `date`) in a table of a role."""

    role: TableRole
    word: str
    category: str
    weight: float
    rule: str


CONTENTS = (
    ContentRule("clinical", "deceased", "health", 5.0, "R5"),
    ContentRule("clinical", "time", "health", 2.0, "R4"),
    ContentRule("clinical", "money", "health", 3.0, "R4"),
    ContentRule("clinical", "measure", "health", 2.0, "R4"),
    ContentRule("clinical", "code", "health", 1.5, "R4"),
    ContentRule("clinical", "text", "health", 2.0, "R12"),
    ContentRule("person", "sampling", "technical", 2.0, "R13"),
    ContentRule("person", "time", "behavioural", 1.0, "R5"),
    ContentRule("person", "money", "financial", 1.5, "R7"),
    ContentRule("person", "text", "other_personal", 1.0, "R12"),
)
"""Words of the grammar in tables about people; the first that fits counts."""

HOUSEKEEPING = frozenset({"created", "plumbing", "key"})
"""Concepts that make a plain word technical in any table."""

_NAMING = frozenset(
    {"direct_identifier", "contact", "online_identifier", "account_credential"}
)
DTYPES = (
    ("truth value", _NAMING | {"person_key", "precise_geolocation"}, 0.7),
    ("date", _NAMING | {"person_key", "precise_geolocation"}, 0.7),
    ("decimal number", _NAMING | {"person_key"}, 0.5),
)
"""Kinds of values, the categories they can hardly be, and the share they lose."""
_KINDS = (
    ("truth value", ("bool", "logical")),
    ("date", ("date", "time")),
    ("decimal number", ("float", "double", "real", "numeric", "decimal")),
)


def dtype_kind(
    dtype: str, kinds: Iterable[tuple[str, tuple[str, ...]]] = _KINDS
) -> str:
    """Return the first kind of values that a type's name speaks of; empty if none."""
    lowered = dtype.lower()
    found = (kind for kind, marks in kinds if any(mark in lowered for mark in marks))
    return next(found, "")


class RoleFlip(NamedTuple):
    """A reading moved by its table's role: a share of its weight changes category.

    `only` is the concept that the name must hold, in a table that is not medical.
    """

    role: TableRole
    before: str
    after: str
    share: float
    rule: str
    only: str = ""


def _all(
    role: TableRole, after: str, share: float, rule: str, before: str
) -> list[RoleFlip]:
    return [RoleFlip(role, one, after, share, rule) for one in before.split()]


FLIPS = (
    *_all(
        "dictionary", "reference", 0.85, "R4",
        "health genetic business demographic location behavioural other_personal "
        "employment_education financial criminal environment direct_identifier",
    ),
    *_all(
        "organisation", "business", 0.8, "R10",
        "contact location financial behavioural precise_geolocation "
        "direct_identifier person_key employment_education other_personal",
    ),
    *_all(
        "thing", "business", 0.75, "R19",
        "location financial behavioural other_personal demographic "
        "direct_identifier",
    ),
    *_all(
        "device", "environment", 0.85, "R14",
        "health precise_geolocation location behavioural demographic contact "
        "direct_identifier",
    ),
    *_all(
        "clinical", "health", 0.75, "R4",
        "behavioural other_personal environment reference business",
    ),
    *_all("clinical", "health", 0.3, "R4", "financial"),
    *_all("person", "behavioural", 0.5, "R19", "business"),
    RoleFlip("person", "health", "demographic", 0.8, "R5", "deceased"),
)  # fmt: skip

NOUN_KEEPS = {
    "person": frozenset(
        {"direct_identifier", "contact", "person_key", "demographic",
         "employment_education", "precise_geolocation"}
    ),
    "organisation": frozenset({"business"}),
}  # fmt: skip
"""Meanings that a noun in the name itself (`contact_name`) keeps in any table, R10."""

CONTENT: dict[TableRole, str] = {
    "clinical": "health",
    "organisation": "business",
    "thing": "business",
    "dictionary": "reference",
    "device": "environment",
}
"""Category of a column with nothing to say for itself, by the role of its table."""
PRIOR_WEIGHT: dict[TableRole, float] = {
    "clinical": 1.5, "person": 1.5, "organisation": 1.5, "thing": 1.5,
    "dictionary": 2.5, "device": 2.0, "unknown": 0.5,
}  # fmt: skip
