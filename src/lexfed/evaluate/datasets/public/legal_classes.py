# SPDX-License-Identifier: Apache-2.0
"""Two people classified every column: do the tiers agree with the classes?

The folder of a data set has a `schema.json` whose author put each column in a class of
the GDPR. The declaration that comes with lexfed puts it in a tier. They were written
apart, so a difference is a mistake of one of them, or a decision that has to be stated.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from lexfed.errors import Problem

if TYPE_CHECKING:
    from lexfed.evaluate.datasets.public.declarations import TableDeclaration

# In every health set the outcome is itself data under Art. 9; a bank holds an outcome
# of credit or fraud against somebody. All are protected most.
TIER_OF_CLASS: Mapping[str, str] = {
    "identifier": "identifier",
    "quasi_identifier": "personal",
    "gdpr_art9_special_category": "special",
    "gdpr_art10_criminal": "special",
    "target": "special",
    "non_sensitive_personal": "personal",
}
WHY: Mapping[str, str] = {
    "identifier": "says who somebody is",
    "special": "data under GDPR Art. 9 or 10",
    "personal": "about a person, GDPR Art. 4(1)",
    "non_personal": "about no person",
}


def differences(
    kept: "TableDeclaration", schema: Mapping[str, Any]
) -> Iterator[Problem]:
    """Yield every column whose tier does not follow from its class.

    `schema` is the `schema.json` of the data set's folder.

    Guarantees:
        Each problem names the tier and the class. A column that one of the two knows
        and the other does not is a problem as well, unless the schema says that it is
        no input of a model.
    """
    classes = {
        column: name
        for name, columns in schema["columns"].items()
        for column in columns
    }
    for column, tier in kept.tiers.items():
        found = classes.get(column)
        departure = kept.departures.get(column)
        stated = found if departure is None else departure.from_class
        fits = departure is not None or TIER_OF_CLASS.get(found or "") == tier
        if found is None or stated != found or not fits:
            yield _differ(kept.name, column, tier, found)
    for column, found in classes.items():
        if column not in kept.tiers and column not in schema["exclude_from_features"]:
            yield _differ(kept.name, column, None, found)


def _differ(name: str, column: str, tier: str | None, found: str | None) -> Problem:
    ours = "not declared by lexfed" if tier is None else f"tier `{tier}` in lexfed"
    theirs = "without a class" if found is None else f"class `{found}`"
    return Problem(
        f"{name}/schema.json, column `{column}`",
        f"{ours}, but {theirs} in the folder",
        "correct one of the two, or state the departure in the declaration: "
        '`class = "...", reason = "..."`',
    )
