# SPDX-License-Identifier: Apache-2.0
"""Classes of records: which tier a rule reads, and what a scale is worth."""

import math

import pytest

from lexfed.budget.record_classes import (
    RecordClass,
    class_scale,
    class_tiers,
    raised_reads,
    record_class,
)
from lexfed.data.conditions import parse_condition
from lexfed.data.encoding import build_encoding
from lexfed.data.schema import Column, Schema
from lexfed.errors import ConfigError
from lexfed.privacy.accountants.calibration import PrivacyTarget
from lexfed.privacy.claim.lines import scaled_releases
from lexfed.privacy.releases import Release, ReleaseGroup
from lexfed.privacy.scopes import record_epsilon
from lexfed.terms import Neighbours
from lexfed.tiers import Tier

SCHEMA = Schema(
    (
        Column("age", "number", range=(0, 110)),
        Column("ward", "category", values=("a", "b")),
        Column("hba1c", "number", range=(3, 15)),
        Column("risk", "number", range=(0, 1), sources=("hba1c",)),
        Column("badge", "number", range=(0, 9)),
        Column("y", "flag", missing=False),
    ),
    "y",
)
ENCODING = build_encoding(
    SCHEMA,
    {
        "age": Tier.PERSONAL,
        "ward": Tier.NON_PERSONAL,
        "hba1c": Tier.SPECIAL,
        "risk": Tier.NON_PERSONAL,
        "badge": Tier.IDENTIFIER,
        "y": Tier.SPECIAL,
    },
)
PLAN = (
    (Release("label", (ReleaseGroup("l", 1.0, 9.0),), 1.0, None, 1), 1),
    (Release("tower", (ReleaseGroup("a", 2.0, 30.0), ReleaseGroup("b", 1.0, 20.0)), 1.0,
             Tier.SPECIAL, 3), 4),
)  # fmt: skip


def of(where: str) -> RecordClass:
    return record_class("c", parse_condition(where), 0.5, ENCODING)


@pytest.mark.parametrize(
    ("where", "reads"),
    [
        ("age < 18", Tier.PERSONAL),
        ('ward = "a"', Tier.NON_PERSONAL),
        ('ward = "a" and age < 18', Tier.PERSONAL),
        ("hba1c > 9 and age < 18", Tier.SPECIAL),
        # An engineered column belongs to the tier of what it was made from.
        ("risk > 0.5", Tier.SPECIAL),
        ("y = true", None),
        ("y = true and age < 18", Tier.PERSONAL),
    ],
)
def test_a_class_reads_the_most_sensitive_column_of_its_rule(
    where: str, reads: Tier | None
) -> None:
    assert of(where).reads == reads


def test_a_rule_may_not_read_an_identifier_or_misfit_the_columns() -> None:
    with pytest.raises(ConfigError, match="identifier"):
        of("badge < 3")
    with pytest.raises(ConfigError, match="no column"):
        of("weight < 3")


def test_every_release_reads_what_a_rule_reads() -> None:
    classes = (of("age < 18"), of("y = true"))
    assert class_tiers(classes) == (Tier.PERSONAL,)
    assert raised_reads(None, classes) == Tier.PERSONAL
    assert raised_reads(Tier.NON_PERSONAL, classes) == Tier.PERSONAL
    assert raised_reads(Tier.SPECIAL, classes) == Tier.SPECIAL
    # The label is in every release as it is.
    assert raised_reads(None, (of("y = true"),)) is None
    assert raised_reads(None, ()) is None


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_the_scale_is_a_ratio_of_roots_without_sampling(
    neighbours: Neighbours,
) -> None:
    """mu is homogeneous in the clips, so the scale is mu_class / mu_plan."""
    for part in (0.9, 0.5, 0.01):
        budget = record_epsilon(scaled_releases(PLAN, part), 1e-6, neighbours, "gdp")
        scale = class_scale(PLAN, PrivacyTarget(budget, 1e-6, neighbours, "gdp"))
        assert part - 2e-6 <= scale <= part


def test_the_scale_of_a_class_is_never_above_one() -> None:
    cost = record_epsilon(PLAN, 1e-6, "add-remove")
    assert class_scale(PLAN, PrivacyTarget(2 * cost, 1e-6, "add-remove")) == 1.0


def test_a_person_at_several_sites_pays_for_all_of_them() -> None:
    cost = record_epsilon(PLAN, 1e-6, "add-remove", "gdp", 3)
    half = PrivacyTarget(cost / 2, 1e-6, "add-remove", "gdp")
    scale = class_scale(PLAN, half, 3)
    paid = record_epsilon(scaled_releases(PLAN, scale), 1e-6, "add-remove", "gdp", 3)
    assert paid <= cost / 2
    assert math.isclose(paid, cost / 2, rel_tol=1e-4)
