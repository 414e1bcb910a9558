# SPDX-License-Identifier: Apache-2.0
"""Values stay where they are: in no evidence, no text, no number that leaves."""

import json
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexfed.law.tagger.pipeline import tag_columns
from lexfed.law.tagger.suggestions import CATEGORIES, KINDS, TIER_OF, DescribedColumn
from lexfed.law.tagger.value_evidence import RECOGNISERS, evidence_of_values
from support.law import id_numbers as one
from support.law import id_numbers_world as two

RANDOM = Random("canaries")
MAKERS = [
    make
    for module in (one, two)
    for name, make in sorted(vars(module).items())
    if callable(make)
    and getattr(make, "__module__", "")
    in ("support.law.id_numbers", "support.law.id_numbers_world")
    and name not in ("born", "digits", "letters", "retry", "total")
    and not name.endswith(("_digit", "with_luhn"))
]
CANARIES = {
    "mail": [f"canary{n}@secret.example" for n in range(40)],
    "names": [f"{n} Kanarie".split()[1] + f" Anna{n}" for n in range(40)],
    "note": [
        f"patient canarybird{n} reports pain and fever since days" for n in range(40)
    ],
    "street": [f"{n + 1} Canary Street" for n in range(40)],
    "lat": [f"47.{111111 + n}" for n in range(40)],
    "lon": [f"8.{222222 + n}" for n in range(40)],
    "race": ["Caucasian", "African American", "CanaryRace", "Asian"] * 10,
    "amount": [f"$77{n}.33" for n in range(40)],
    **{make.__name__: [make(RANDOM) for _ in range(40)] for make in MAKERS},
}
COLUMNS = [
    DescribedColumn("t", f"col_{name}", values=tuple(v)) for name, v in CANARIES.items()
]


def test_no_evidence_holds_a_value() -> None:
    suggestions = tag_columns(COLUMNS)
    for items in (evidence_of_values(COLUMNS), suggestions, COLUMNS):
        written = repr(items)
        for values in CANARIES.values():
            assert not any(value in written for value in values)
    texts = json.dumps([asdict(e) for s in suggestions for e in s.evidence])
    texts += json.dumps([asdict(p) for s in suggestions for p in s.proxies])
    for values in CANARIES.values():
        assert not any(value in texts for value in values)


def test_no_evidence_holds_a_number_of_the_sample() -> None:
    # The same kind of column with other values, fewer rows and more gaps must give
    # the same sentences: nothing computed from people's data is written down.
    first = evidence_of_values(
        [DescribedColumn("t", "mail", values=tuple(CANARIES["mail"]))]
    )
    other = [f"someone{n}@else.example" for n in range(25)] + [""] * 3
    second = evidence_of_values([DescribedColumn("t", "mail", values=tuple(other))])
    assert {e.text for e in first[0]} == {e.text for e in second[0]}


def test_columns_without_values_get_nothing() -> None:
    columns = [
        DescribedColumn("t", "email"),
        DescribedColumn("t", "email2", values=()),
        DescribedColumn("t", "email3", values=("", "NA", " ")),
    ]
    assert evidence_of_values(columns) == ((), (), ())


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.text(max_size=60), max_size=30),
    st.lists(st.from_regex(r"[0-9A-F .:/-]{1,40}", fullmatch=True), max_size=30),
)
def test_any_text_is_looked_at_without_an_error(
    texts: list[str], codes: list[str]
) -> None:
    columns = [
        DescribedColumn("t", "name", values=tuple(texts)),
        DescribedColumn("t", "code", values=tuple(codes)),
        DescribedColumn(
            "u", "diagnosis", "iban, phone, zip", values=tuple(texts + codes)
        ),
    ]
    for items in evidence_of_values(columns):
        for item in items:
            assert item.kind in KINDS
            assert item.category is None or TIER_OF[item.category] == item.tier


@pytest.mark.parametrize(
    "values",
    [
        ("1" * 100_000,) * 50,
        ("a@" * 5000,) * 50,
        ("((((" * 5000,) * 50,
        ("0" * 399 + "x",) * 50,
        ("-" * 5000 + "1",) * 50,
        (" ".join(["Anna"] * 3000),) * 50,
        ("1e999", "-1e999", "nan", "inf") * 20,
        ("\x00\x01", "\ud800", "٣٤٥٦٧٨٩", "१२३४५६७८९") * 20,
    ],
)
def test_hostile_values_end_soon_and_say_nothing_wrong(values: tuple[str, ...]) -> None:
    column = DescribedColumn("t", "iban card phone diagnosis zip lat", values=values)
    found = evidence_of_values([column, column])
    assert all(item.weight < 4.0 for items in found for item in items)


def test_recognisers_are_well_formed() -> None:
    for recogniser in RECOGNISERS:
        assert recogniser.category in CATEGORIES
        assert 0.0 < recogniser.chance <= 0.2
        assert 0.3 <= recogniser.share <= 1.0
        assert 0.0 < recogniser.weight <= 6.0
        assert recogniser.context or not recogniser.needs
        assert recogniser.pattern.fullmatch("") is None


def test_order_of_columns_does_not_matter() -> None:
    forwards = evidence_of_values(COLUMNS)
    backwards = evidence_of_values(COLUMNS[::-1])
    assert forwards == backwards[::-1]


FRESH = """
import sys
from pathlib import Path
from lexfed.law.tagger.suggestions import DescribedColumn
from lexfed.law.tagger.pipeline import tag_columns
values = tuple(f"a{n}@b.example" for n in range(200))
found = tag_columns(
    [DescribedColumn("t", f"c{n}", values=values) for n in range(200)]
)
assert found[0].category == "contact"
heavy = {"pandas", "pyarrow", "scipy", "sklearn", "torch"} & set(sys.modules)
# Not ru_maxrss, which a new process takes over from the one that started it.
lines = Path("/proc/self/status").read_text().splitlines()
peak = next(line for line in lines if line.startswith("VmHWM"))
print(sorted(heavy), int(peak.split()[1]) // 1024)
"""


@pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="no /proc to read memory from"
)
def test_a_fresh_process_needs_numpy_only_and_little_memory() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", FRESH], capture_output=True, text=True, check=True
    )
    heavy, resident = ran.stdout.rsplit(maxsplit=1)
    assert heavy == "[]"
    assert int(resident) <= 95
