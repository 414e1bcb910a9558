# SPDX-License-Identifier: Apache-2.0
import re
import tomllib

from hypothesis import given
from hypothesis import strategies as st

from lexfed.config import examine, scaffold
from lexfed.data.schema import KINDS, ColumnKind

COLUMNS: list[tuple[str, ColumnKind]] = [
    ("age", "number"),
    ("blood type", "category"),
    ("smoker", "flag"),
    ("patient_id", "text"),
]
DECISIONS = {
    'target = "?"': 'target = "smoker"',
    'units = "?"': "units = 6000",
    'sites = "?"': "sites = { count = 4 }",
    'range = "?"': "range = [0, 110]",
    'values = "?"': 'values = ["0", "A", "B", "AB"]',
    'tier = "?"': 'tier = "special"',
    'reason = "?"': 'reason = "health data"',
}


def test_every_decision_is_asked_for_once_and_nothing_else() -> None:
    text = scaffold("data/patients.csv", COLUMNS)
    found = examine(text).problems
    assert [problem.key for problem in found] == [
        "data.target",
        "data.units",
        "data.sites",
        "data.columns.age.range",
        'data.columns."blood type".values',
        *(
            f"law.columns.{name}.{key}"
            for name in ("age", '"blood type"', "smoker", "patient_id")
            for key in ("tier", "reason")
        ),
    ]
    assert all(problem.what.endswith("is not decided yet") for problem in found)
    assert all(problem.hint for problem in found)
    assert len(found) == text.count('= "?"')


def test_passes_once_every_decision_is_taken() -> None:
    text = scaffold("data/patients.csv", COLUMNS)
    for mark, decision in DECISIONS.items():
        assert examine(text).config is None
        text = text.replace(mark, decision)
    config = examine(text).require()
    assert config.run.name == "patients"
    assert config.data.source == "data/patients.csv"


def test_commented_keys_are_right_too() -> None:
    text = scaffold("patients.csv", COLUMNS)
    for mark, decision in DECISIONS.items():
        text = text.replace(mark, decision)
    text = re.sub(r"^# (out|seed|person|records)", r"\1", text, flags=re.M)
    config = examine(text).require()
    assert config.data.person == "patient_id"
    assert config.data.records_per_person == 1


def test_replace_one_needs_no_units() -> None:
    text = scaffold("patients.csv", COLUMNS)
    text = text.replace('neighbours = "add-remove"', 'neighbours = "replace-one"')
    text = text.replace('units = "?"', "#")
    for mark, decision in DECISIONS.items():
        text = text.replace(mark, decision)
    assert examine(text).require().data.units is None


def test_name_of_the_run() -> None:
    for source, name in {
        "a b/Ünal visits (2).csv.gz": "nal-visits-2",
        "x.parquet": "x",
        "???": "run",
        "y" * 100 + ".csv": "y" * 64,
    }.items():
        assert tomllib.loads(scaffold(source, []))["run"]["name"] == name


@given(
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1),
    st.lists(
        st.tuples(
            st.text(st.characters(exclude_categories=["Cs"])), st.sampled_from(KINDS)
        )
    ),
)
def test_any_names_give_valid_toml(
    source: str, columns: list[tuple[str, ColumnKind]]
) -> None:
    document = tomllib.loads(scaffold(source, columns))
    names = list(dict.fromkeys(name for name, _ in columns if name))
    assert document["data"]["source"] == source
    assert list(document["data"]["columns"]) == names
    assert list(document["law"]["columns"]) == names


def test_undecided_elsewhere_says_what_to_write() -> None:
    (problem,) = (p for p in examine('[budget]\nepsilon = "?"').problems if p.line == 2)
    assert problem.what == "`budget.epsilon` is not decided yet"
    assert problem.hint == "write a number above 0"
