# SPDX-License-Identifier: Apache-2.0
"""Values that must not be recognised; places and clinical values across a table."""

from collections.abc import Sequence
from random import Random

import pytest

from lexfed.law.tagger.suggestions import DescribedColumn
from lexfed.law.tagger.value_evidence import evidence_of_values
from support.law.value_columns import CLINICAL_TEXTS, strongest

N = range(30)
RANDOM = Random("caution")
DECIMALS = [f"{RANDOM.gauss(50, 12):.2f}" for _ in range(60)]


# Caution: what a careless reader would take for something else


@pytest.mark.parametrize(
    "values",
    [
        [str(n % 10) for n in range(60)],
        [str(n) for n in range(1, 200)],
        [str(100_000 + n) for n in range(200)],
        [str(1_000_000_000 + n) for n in range(200)],
        [str(4_000_000_000_000_000 + n) for n in range(200)],
        DECIMALS,
        [f"{RANDOM.gauss(0, 1):.6f}" for _ in N],
        ["0", "1"] * 20,
        ["1.2.3.4", "1.2.4.0", "2.0.0.1", "3.1.4.1", "5.9.2.6"] * 4,
        ["Yes", "No"] * 20,
        ["A", "B", "C"] * 10,
        ["A12", "B07", "C33", "D41"] * 10,
        ["PROVIDER", "BUSINESS", "CONSUMER", "REPUBLIC"] * 5,
        [f"2023-01-{1 + n % 28:02}" for n in N],
        [f"{n:08}" for n in range(200)],
        [f"the {n}th item of a long list of items that are in stock" for n in N][:2],
        [f"2023-01-{1 + n % 28:02}" if n % 2 else "soon" for n in N],
        [f"{1985 + n}-06-01" for n in N],
        ["", "NA", "?", "null"],
        [],
    ],
)
def test_plain_values_say_nothing(values: list[str]) -> None:
    assert strongest(values) is None


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("sodium", [f"{5000 + n}" for n in N]),
        ("sodium", [f"high{n}" for n in N]),
        ("age", [f"{1000 + n}" for n in N]),
        ("gender", [f"{n}" for n in N]),
        ("lat", [f"{n}.5" if n % 3 else "north" for n in N]),
        ("name", [f"#{n}" for n in N]),
    ],
)
def test_names_that_their_values_do_not_bear_out(name: str, values: list[str]) -> None:
    assert strongest(values, name) is None


def test_free_text_may_say_anything() -> None:
    words = [
        "red",
        "blue",
        "green",
        "small",
        "large",
        "old",
        "new",
        "round",
        "flat",
        "long",
        "thin",
        "soft",
    ]
    texts = [" ".join(RANDOM.sample(words, 10)) for _ in N]
    assert strongest(texts) == "other_personal"
    assert strongest(texts[:1] * 30) is None


def test_small_integers_are_no_cards_whatever_they_are_called() -> None:
    assert strongest([str(n) for n in range(1, 60)], "credit card number") is None


def test_high_uniqueness_alone_decides_nothing() -> None:
    values = tuple(f"{n * 7919 % 1_000_003:06}" for n in range(200))
    found = evidence_of_values([DescribedColumn("t", "x", values=values)])[0]
    assert all(item.kind == "statistics" and item.weight < 1.0 for item in found)


def test_a_diagnosis_is_no_number() -> None:
    values = [f"E{10 + n}.9" for n in N]
    assert strongest(values) == "health"
    found = evidence_of_values([DescribedColumn("t", "x", values=tuple(values))])[0]
    assert not any("numbers" in item.text for item in found)


def test_unique_keys_may_be_anyones() -> None:
    random = Random(1)
    values = [f"{random.getrandbits(128):032x}" for _ in N]
    values = [f"{v[:8]}-{v[8:12]}-{v[12:16]}-{v[16:20]}-{v[20:]}" for v in values]
    found = evidence_of_values([DescribedColumn("t", "x", values=tuple(values))])[0]
    weights = {item.category: item.weight for item in found if item.kind == "values"}
    assert weights == {"person_key": 1.0, "technical": 1.0}
    found = evidence_of_values([DescribedColumn("t", "PATIENT", values=tuple(values))])[
        0
    ]
    weights = {item.category: item.weight for item in found if item.kind == "values"}
    assert weights == {"person_key": 3.5}


def test_a_few_wrong_values_do_not_matter_and_many_do() -> None:
    mails = [f"a{n}@b.example" for n in range(90)]
    assert strongest([*mails, *["unknown"] * 10]) == "contact"
    assert strongest([*mails[:50], *["word"] * 50]) != "contact"


# Places


def table(**columns: Sequence[str]) -> list[DescribedColumn]:
    return [DescribedColumn("t", name, values=tuple(v)) for name, v in columns.items()]


NORTH = [f"{42 + RANDOM.random():.6f}" for _ in N]
WEST = [f"{-71 - RANDOM.random():.6f}" for _ in N]


def categories(columns: list[DescribedColumn]) -> list[set[str | None]]:
    found = evidence_of_values(columns)
    return [{e.category for e in items if e.kind == "values"} for items in found]


def test_coordinates_by_name() -> None:
    found = categories(table(lat=NORTH, other=["x"] * 30, lon=WEST))
    assert found == [{"precise_geolocation"}, set(), {"precise_geolocation"}]


def test_coordinates_of_one_decimal_are_a_region() -> None:
    coarse = [[v[: v.index(".") + 2] for v in side] for side in (NORTH, WEST)]
    # Five different values are needed.
    found = categories(table(lat=coarse[0], lon=coarse[1]))
    assert found == [{"location"}, {"location"}]


def test_coordinates_by_their_numbers() -> None:
    found = categories(table(a=NORTH, b=WEST))
    assert found == [{"precise_geolocation"}] * 2
    assert categories(table(b=WEST, a=NORTH)) == found


@pytest.mark.parametrize(
    "columns",
    [
        {"lat": NORTH},
        {"a": NORTH, "b": WEST, "c": [f"{7.4 + RANDOM.random() / 50:.6f}" for _ in N]},
        {"a": [f"{RANDOM.gauss(0, 1):.6f}" for _ in N], "b": WEST},
        {"lat": [f"{200 + n}.1234" for n in N], "lon": [f"{300 + n}.5" for n in N]},
        {"a": [f"{n}.5" for n in N], "b": [f"{n}.25" for n in N]},
        {"a": ["42.123456"] * 30, "b": ["-71.123456"] * 30},
    ],
)
def test_numbers_that_are_no_coordinates(columns: dict[str, list[str]]) -> None:
    assert not any(
        c & {"precise_geolocation", "location"} for c in categories(table(**columns))
    )


# Tables of clinical values


def test_keys_of_people_and_of_something_else() -> None:
    names = [f"{first}{n}" for n in range(10) for first in ("Anna", "Peter", "Maria")]
    keys = [str(100_000 + 7 * n) for n in N]
    twice = [keys[0], *keys[1:-1], keys[0]]
    gap = ["", *keys[1:]]
    texts = [f"key {key}" for key in keys]
    found = categories(table(who=names, a=keys, b=twice, c=gap, d=texts))
    assert found[1] == {"person_key", "technical"}
    assert not any(found[2:])
    assert categories(table(a=keys)) == [set()]


def test_clinical_values_speak_for_what_is_measured_beside_them() -> None:
    clinical = {
        "a": [f"I{10 + n}.1" for n in N],
        "b": [f"{CLINICAL_TEXTS[n % 4]}{n}" for n in N],
    }
    beside = {
        "flag": ["0", "1"] * 15,
        "grade": ["1", "2", "3"] * 10,
        "score": [f"{n}.5" for n in N],
        "offset": [f"-{n}" for n in N],
        "key": [str(100 + n) for n in N],
        "constant": ["1"] * 30,
    }
    found = dict(
        zip([*clinical, *beside], categories(table(**clinical, **beside)), strict=True)
    )
    for name in ("flag", "grade", "score", "offset"):
        assert found[name] == {"health", "technical"}
    assert not found["key"]
    assert not found["constant"]
    alone = categories(table(a=clinical["a"], **beside))
    assert not any(alone[1:])
