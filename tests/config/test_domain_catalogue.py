# SPDX-License-Identifier: Apache-2.0
"""The catalogue of public domains: every line can be used, and no name is mistaken."""

from collections import Counter

import pytest

from lexfed.config import examine
from lexfed.config.drafting.domain_catalogue import load_domains, parse_domains
from lexfed.config.drafting.first_draft import plain_toml
from lexfed.config.drafting.public_domains import (
    PublicDomain,
    parse_domain,
    plain_code,
    written_domain,
)

CATALOGUE = load_domains()
DOMAINS = list(
    dict.fromkeys(
        entry.domain
        for by_word in CATALOGUE.entries.values()
        for entries in by_word.values()
        for entry in entries
        if entry.domain is not None
    )
)


def test_there_are_hundreds_of_lines_with_a_reason_each() -> None:
    assert len(DOMAINS) > 300
    assert len(CATALOGUE.classes) > 50
    assert all(len(domain.reason) > 10 for domain in DOMAINS)


@pytest.mark.parametrize("kind", ["number", "category", "date"])
def test_every_name_is_found(kind: str) -> None:
    for entries in CATALOGUE.entries[kind].values():
        for entry in entries:
            name = "_".join(sorted(entry.words))
            assert CATALOGUE.domain(name, kind) is not None, name


def test_every_domain_is_a_declaration() -> None:
    columns = "\n".join(
        f"c{number} = {plain_toml({**domain.keys, **changes})}"
        for number, (domain, changes) in enumerate(
            (domain, {"values": coding} if coding else {})
            for domain in (*DOMAINS, *CATALOGUE.classes, *CATALOGUE.answers)
            for coding in domain.codings or ((),)
        )
    )
    problems = examine(f"[data.columns]\n{columns}\n").problems
    wrong = [p for p in problems if p.key.startswith("data.columns.c")]
    assert [p for p in wrong if "has no tier" not in p.what] == []


AGE, SBP, PULSE, YEARLY = (0, 100), (70, 230), (30, 220), (1000, 500_000)


@pytest.mark.parametrize(
    ("name", "range_"),
    [
        ("age", AGE),
        ("Age", AGE),
        ("AGE_YEARS", AGE),
        ("patientAge", AGE),
        ("alter", AGE),
        ("Alter (Jahre)", AGE),
        ("edad", AGE),
        ("age_at_admission", AGE),
        ("SystolicBP", SBP),
        ("systolic_bp_mmhg", SBP),
        ("trestbps", SBP),
        ("mean-systolic-pressure", SBP),
        ("HeartRate", PULSE),
        ("heart_rate_bpm_max", PULSE),
        ("herzfrequenz", PULSE),
        ("annual.income", YEARLY),
        ("total_income", YEARLY),
        ("hours-per-week", (0, 100)),
        ("BILL_AMT4", (-100_000, 1_000_000)),
        ("worst concave points", (0, 0.4)),
        ("glucose_mmol_l", (1, 30)),
        ("weight_lb", (0, 450)),
        ("lat", (-90, 90)),
    ],
)
def test_names_are_found_however_they_are_written(
    name: str, range_: tuple[float, float]
) -> None:
    domain = CATALOGUE.domain(name, "number")
    assert domain is not None
    assert domain.range == range_


@pytest.mark.parametrize(
    "name",
    [
        "wage_garnishment", "page", "image", "stage_name", "language", "manager",
        "age_of_onset_of_war", "village", "teenager", "heart_rate_medication",
        "sexton", "essex", "income_tax_office", "heartbreak", "bmi_formula_version",
        "height_of_tower", "pressure_sensor_id", "x17", "V1", "", "___", "\x1b[2J",
        "rating_agency", "yearbook", "birth_weight_category_note",
    ],
)  # fmt: skip
def test_no_name_is_taken_for_another(name: str) -> None:
    assert CATALOGUE.domain(name, "number") is None


def test_the_kind_in_the_table_counts() -> None:
    as_text, as_number = (CATALOGUE.domain("sex", k) for k in ("category", "number"))
    assert as_text is not None
    assert as_number is not None
    assert as_text.coding_of(Counter(["Male", "FEMALE", "male"])) == ("female", "male")
    assert as_text.coding_of(Counter(["F", "m"])) == ("f", "m")
    assert as_number.coding_of(Counter(["1", "2.0", "1"])) == ("1", "2")
    assert CATALOGUE.domain("bmi", "category") is None


def test_a_coding_needs_half_of_the_values() -> None:
    domain = parse_domain("= a; b | c; d; e", "said so")
    assert domain.coding_of(Counter(["a", "x"])) == ("a", "b")
    assert domain.coding_of(Counter(["a", "x", "x"])) is None
    assert domain.coding_of(Counter(["a", "c", "E", "x"])) == ("c", "d", "e")
    assert domain.coding_of(Counter([])) is None
    assert plain_code(" 1.0") == plain_code("1")
    assert plain_code("1.5") == "1.5"


@pytest.mark.parametrize(
    "text",
    [
        "", "5", "0..", "..5", "5..0", "1..1", "0..10 cubic", "= a; a", "= a; ",
        "~ many", "0 .. 10", "nan..5", "2020-01-01..2019-01-01", "1e400..2", "0..1e999",
        "2020-13-01..2021-01-01", "~ 1", "~ -3",
    ],
)  # fmt: skip
def test_what_is_no_domain(text: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        parse_domain(text, "said so")


@pytest.mark.parametrize(
    "text", ["0..120", "-5..5 log", "0..1000 linear", "~ 8", "2000-01-01..2035-12-31"]
)
def test_a_domain_is_typed_as_it_is_shown(text: str) -> None:
    domain = parse_domain(text, "said so")
    assert written_domain(domain.keys) == text
    assert parse_domain(written_domain(domain.keys), "said so") == domain


def test_a_suggested_scale_is_not_stated() -> None:
    assert parse_domain("0..1000000 log", "so").keys == {
        "kind": "number", "range": (0, 1e6)
    }  # fmt: skip


@pytest.mark.parametrize(
    "line",
    [
        "age\tnumber", "age\tnumber\t0..9\tmore", "age\tplant\t0..9", ";\tnumber\t0..9",
        "age\tnumber\tnothing",
    ],
)  # fmt: skip
def test_a_wrong_line_is_named(line: str) -> None:
    with pytest.raises(ValueError, match="line 2"):
        parse_domains(f"## because of a reason\n{line}\n")


def test_a_line_needs_a_reason() -> None:
    with pytest.raises(ValueError, match="line 1"):
        parse_domains("age\tnumber\t0..9\n")


def test_more_words_win_and_fillers_say_nothing() -> None:
    catalogue = parse_domains(
        "## words\nmean; bpm\tfiller\t-\n## bodies\nrate\tnumber\t0..1\n"
        "heart rate; pulse\tnumber\t20..250\nheart rate\tnumber\t1..2\n"
    )
    domain = PublicDomain("bodies", range=(20, 250))
    assert catalogue.domain("mean_heart_rate_bpm_2", "number") == domain
    assert catalogue.domain("HeartRates", "number") == domain
    assert catalogue.domain("rate", "number") == PublicDomain("bodies", range=(0, 1))
    assert catalogue.domain("heart_rate_note", "number") is None
    assert catalogue.domain("heart_rate", "category") is None
