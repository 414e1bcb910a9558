# SPDX-License-Identifier: Apache-2.0
"""The semantic network is one more witness, and can be left out."""

import pytest

from lexfed.law.tagger.pipeline import (
    evidence_of_network,
    network_probabilities,
    tag_columns,
)
from lexfed.law.tagger.suggestions import (
    CATEGORIES,
    TIER_OF,
    DescribedColumn,
    TaggerSettings,
)
from lexfed.law.tagger.words.readings import read_tables

COLUMNS = [
    DescribedColumn("a", "email"),
    DescribedColumn("b", "diagnosis"),
    DescribedColumn("a", "first_name"),
]


def kinds(settings: TaggerSettings) -> set[str]:
    found = tag_columns(COLUMNS, settings)
    return {item.kind for one in found for item in one.evidence}


def test_the_network_speaks_unless_it_has_no_share() -> None:
    assert "semantics" in kinds(TaggerSettings())
    assert "semantics" not in kinds(TaggerSettings(alpha=1.0))


def test_probabilities_stand_at_the_places_of_the_columns() -> None:
    found = network_probabilities(read_tables(COLUMNS), TaggerSettings())
    assert sorted(found) == [0, 1, 2]
    for chances in found.values():
        assert set(chances) == set(CATEGORIES)
        assert sum(chances.values()) == pytest.approx(1.0, abs=1e-4)
    assert max(found[1], key=lambda category: found[1][category]) == "health"


def test_no_columns_ask_no_network() -> None:
    assert network_probabilities([], TaggerSettings()) == {}


@pytest.mark.parametrize("chance", [1.0, 0.5, 0.2])
def test_its_evidence_is_its_likeliest_category(chance: float) -> None:
    rest = (1.0 - chance) / (len(CATEGORIES) - 1)
    chances = {c: chance if c == "union" else rest for c in CATEGORIES}
    found = evidence_of_network(chances, readable=True)
    assert (found.kind, found.category) == ("semantics", "union")
    assert found.tier == TIER_OF["union"]
    assert found.weight <= 6.0
    assert (found.weight > 0.0) == (chance > 0.5)


def test_its_evidence_says_when_only_the_neighbours_speak() -> None:
    names = ("diagnosis", "blood_pressure", "zzqx")
    found = tag_columns([DescribedColumn("visits", name) for name in names])
    said = [
        next(item.text for item in one.evidence if item.kind == "semantics")
        for one in found
    ]
    assert ["neighbours" in text for text in said] == [False, False, True]
