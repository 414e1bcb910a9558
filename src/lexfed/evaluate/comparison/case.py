# SPDX-License-Identifier: Apache-2.0
"""One cell of a comparison, and the configuration that the product runs for it.

**Two fair comparisons.** With `equal = "record"` every method has the same epsilon for
the whole record, neighbours differ by one person more or less, and no tier has a cap.
With `equal = "attribute"` every method keeps the most sensitive tier at
`attribute_epsilon` and the record at `record_epsilon`, neighbours differ in one
person's values. A method that cannot tell tiers apart then has `attribute_epsilon` for
everything.

**Tiers.** 4: as declared, identifiers outside the model, three towers. 3: identifiers
that can be encoded count as special. 2: what is not personal counts as personal too. So
fewer tiers never protect a column less.

**Sites that were made from a column.** Some public tables have no hospitals, so a
column that is an input too stands in for them (`site_from`: a diagnosis, a specialty).
Then a changed value does not only change a person's row, it moves the person to another
site. Theorem C forbids a feature of a higher tier in the partition, because a tower
below would see who is where.

*Sums over all sites.* What the product releases is one sum of clipped contributions
over all units, divided by public numbers. The split and the cap on records look at a
person's key alone. No term depends on the site that holds the unit, so the sum does not
either: the towers below see the same sum on both neighbours, those that read the column
move by one unit's contribution, and the theorem holds as it stands.
(`tests/evaluate/test_layout.py` moves a person and compares every sum of a run.)

*A release for each site.* Methods that release something of a single site show the move
itself: one site lost a person, another has one more. Nothing was proven about that, so
such a method claims no epsilon for that tier.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from lexfed.config import Config, from_mapping
from lexfed.evaluate.comparison.metrics import Scores
from lexfed.evaluate.datasets import Dataset
from lexfed.terms import Neighbours
from lexfed.tiers import MODEL_TIERS, Tier

_MERGED: Mapping[int, Mapping[str, str]] = {
    4: {},
    3: {"identifier": "special"},
    2: {"identifier": "special", "non_personal": "personal"},
}

PERSONAL = Tier.PERSONAL.label


@dataclass(frozen=True)
class Case:
    """The task of a method; by default natural sites and a linear model.

    Attributes:
        seed: of the split, the partition and first weights; noise is always fresh.
        attribute_epsilon: most that a value of the most sensitive tier may cost.
        personal_epsilon: most that a value of the personal tier may cost, where a tier
            above it has a cap of its own; no cap if None.
        partition: `iid` or `dirichlet`, where `sites` is a number.
        equal: which epsilon is equal between methods.
        settings: what was tuned; each method says what it knows.
    """

    seed: int
    record_epsilon: float = 1.0
    attribute_epsilon: float = 0.1
    personal_epsilon: float | None = None
    delta: float = 1e-5
    model: str = "logistic"
    sites: int | None = None
    partition: str = "iid"
    alpha: float | None = None
    equal: Literal["record", "attribute"] = "attribute"
    tiers: int = 4
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def neighbours(self) -> Neighbours:
        """The relation of the record's epsilon."""
        return "add-remove" if self.equal == "record" else "replace-one"


Method = Callable[[Dataset, Case], Scores]
"""Trains on the training rows of a data set and scores its test rows."""


def configuration(
    dataset: Dataset, case: Case, keys: Mapping[str, Mapping[str, Any]]
) -> Config:
    """Return what the product is to run: the cell, with the keys of a method added.

    Raises:
        ConfigError: if the table or the choices contradict each other.
    """
    return from_mapping(plain_configuration(dataset, case, keys))


def plain_configuration(
    dataset: Dataset, case: Case, keys: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """Return the tables of `configuration` as plain values."""
    data = dict(dataset.tables["data"])
    if case.sites is not None:
        spread = {} if case.partition == "iid" else {"alpha": case.alpha}
        data["sites"] = {"count": case.sites, "partition": case.partition, **spread}
    caps: dict[str, dict[str, float]] = {}
    if case.equal == "attribute":
        own = case.personal_epsilon
        below = {} if own is None else {PERSONAL: own}
        sensitive = sensitive_tier(dataset, case).label
        caps = {"caps": {**below, sensitive: case.attribute_epsilon}}
    stated: dict[str, dict[str, Any]] = {
        "run": {"name": "evaluate", "seed": case.seed},
        "data": data,
        "law": law_table(dataset, case),
        "budget": {
            "epsilon": case.record_epsilon,
            "delta": case.delta,
            "neighbours": case.neighbours,
            **caps,
        },
        "federation": {"model": model_of(dataset, case)},
        "evaluation": {"metrics": "public"},
    }
    for name, added in keys.items():
        stated[name] = {**stated.get(name, {}), **added}
    return {"version": 1, **stated}


CONFIGURED = "configured"
"""The policy of a table that somebody configured, among its own methods."""


def own_methods(dataset: Dataset) -> Mapping[str, Mapping[str, Mapping[str, Any]]]:
    """Return the methods that come with a table, as keys of a configuration."""
    own: Mapping[str, Mapping[str, Mapping[str, Any]]] = dataset.tables.get(
        "methods", {}
    )
    return own


def law_table(dataset: Dataset, case: Case) -> dict[str, Any]:
    """Return `[law]` with the tiers of the cell; texts and the target stay."""
    law, merged = dict(dataset.tables["law"]), _MERGED[case.tiers]
    kinds = {n: c["kind"] for n, c in dataset.tables["data"]["columns"].items()}
    law["columns"] = {
        name: {**tag, "tier": merged.get(tag["tier"], tag["tier"])}
        if kinds.get(name, "text") != "text" and name != dataset.target
        else tag
        for name, tag in law["columns"].items()
    }
    return law


def sensitive_tier(dataset: Dataset, case: Case) -> Tier:
    """Return the most sensitive tier of which a model may read a column."""
    columns = law_table(dataset, case)["columns"]
    read = {
        Tier.parse(columns[name]["tier"])
        for name, column in dataset.tables["data"]["columns"].items()
        if name != dataset.target and column["kind"] != "text" and name in columns
    }
    return max(tier for tier in MODEL_TIERS if tier in read)


def model_of(dataset: Dataset, case: Case) -> str:
    """Return the model; a linear one is `linear` where the target is a number."""
    number = dataset.tables["data"]["columns"][dataset.target]["kind"] == "number"
    return "linear" if number and case.model == "logistic" else case.model


def moving_column(dataset: Dataset, case: Case) -> str | None:
    """Return the input of the most sensitive tier that sites were made from, if any."""
    column = dataset.site_from
    if column is None or case.sites is not None:
        return None
    tags = law_table(dataset, case)["columns"]
    inputs = dataset.tables["data"]["columns"]
    tier = sensitive_tier(dataset, case).label
    return column if column in inputs and tags[column]["tier"] == tier else None


def claimed(scores: Scores, dataset: Dataset, case: Case, *, by_site: bool) -> Scores:
    """Return scores with what a method may claim where sites were made from a column.

    Guarantees:
        Where a value of the most sensitive tier decides the site, a method that
        releases something of each site claims no epsilon for that tier.
    """
    column = moving_column(dataset, case)
    if column is None or scores.attribute_epsilon is None:
        return scores
    if by_site:
        scores = replace(scores, attribute_epsilon=None)
        word = (
            f"no attribute claim: sites are made from `{column}`, so a changed value "
            "moves a person from one site's releases to another's"
        )
    else:
        word = (
            f"sites are made from `{column}`: sums over all sites do not tell who was "
            "where, so the attribute's epsilon holds"
        )
    return replace(scores, note=f"{scores.note}; {word}")
