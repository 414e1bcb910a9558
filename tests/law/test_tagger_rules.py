# SPDX-License-Identifier: Apache-2.0
"""The labelling rules hold: what a name means depends on its table."""

import re
from collections.abc import Callable, Mapping, Sequence

import pytest

from lexfed.law.tagger.metadata.labelling_rules import (
    BARE,
    COMPOUNDS,
    CONTENT,
    CONTENTS,
    DTYPES,
    FLIPS,
    PRIOR_WEIGHT,
    ROLE_TEXT,
    ROLES,
    dtype_kind,
)
from lexfed.law.tagger.metadata.name_evidence import is_code
from lexfed.law.tagger.metadata.table_roles import table_view
from lexfed.law.tagger.pipeline import tag_columns
from lexfed.law.tagger.suggestions import (
    CATEGORIES,
    DescribedColumn,
    Suggestion,
    TaggerSettings,
)
from lexfed.law.tagger.words.readings import read_phrase

RULES_ALONE = TaggerSettings(alpha=1.0)
"""Without the semantic network, which has learned other things beside the rules."""


def tagged(table: str, *names: str, **described: str) -> dict[str, Suggestion]:
    return _tagged(RULES_ALONE, table, names, described)


def tagged_with_network(
    table: str, *names: str, **described: str
) -> dict[str, Suggestion]:
    return _tagged(TaggerSettings(), table, names, described)


BOTH = pytest.mark.parametrize("tagged_by", [tagged, tagged_with_network])
"""Rules that the network must not talk over."""
Tagger = Callable[..., dict[str, Suggestion]]


def _tagged(
    settings: TaggerSettings,
    table: str,
    names: Sequence[str],
    described: Mapping[str, str],
) -> dict[str, Suggestion]:
    columns = [
        *(DescribedColumn(table, name) for name in names),
        *(DescribedColumn(table, name, text) for name, text in described.items()),
    ]
    return {one.column.name: one for one in tag_columns(columns, settings)}


def test_every_rule_names_its_number_and_known_categories() -> None:
    rules = [row.rule for row in (*COMPOUNDS, *BARE.values())]
    rules += [row.rule for row in CONTENTS] + [flip.rule for flip in FLIPS]
    assert all(re.fullmatch(r"R([1-9]|1\d|2[0-3])", rule) for rule in rules)
    named = {row.category for row in (*COMPOUNDS, *BARE.values())}
    named |= {row.category for row in CONTENTS}
    named |= {flip.before for flip in FLIPS} | {flip.after for flip in FLIPS}
    named |= set(CONTENT.values()) | {c for _, some, _ in DTYPES for c in some}
    assert named <= set(CATEGORIES)
    assert set(ROLE_TEXT) == set(PRIOR_WEIGHT) == set(ROLES)


@pytest.mark.parametrize(
    ("table", "names", "role"),
    [
        ("patients", ["first_name", "birth_date"], "person"),
        ("lab_results", ["patient_id", "diagnosis", "glucose"], "clinical"),
        ("Krankenhaus", ["name", "strasse"], "organisation"),
        ("d_items", ["itemid", "label"], "dictionary"),
        ("products", ["sku", "price"], "thing"),
        ("weather", ["humidity", "wind_speed"], "device"),
        ("xqzzy", ["qqq"], "unknown"),
        ("bank", ["age", "marital_status", "balance"], "person"),
    ],
)
def test_the_role_of_a_table_is_found(table: str, names: list[str], role: str) -> None:
    sure = [
        {
            hit.entry.meaning: hit.entry.weight
            for hit in read_phrase(name, ("de", "en")).hits
            if hit.entry.meaning in CATEGORIES and hit.entry.weight >= 2
        }
        for name in names
    ]
    assert table_view(read_phrase(table, ("de", "en")), sure).role == role


@pytest.mark.parametrize(
    ("name", "table_a", "category_a", "table_b", "category_b"),
    [
        # R1, R14: a body temperature and the weather
        ("temperature", "vital_signs of patients", "health", "weather", "environment"),
        # R3: a patient's own key, and the number of a row
        ("id", "patients", "person_key", "transactions", "technical"),
        # R4: a diagnosis of a patient, and the dictionary of diagnoses
        ("icd_code", "diagnoses", "health", "d_icd_diagnoses", "reference"),
        # R9, R10: a person's name, and that of a firm
        ("name", "employees", "direct_identifier", "companies", "business"),
        ("fax", "employees", "contact", "company_suppliers", "business"),
        # R19: what a product is called
        ("name", "students", "direct_identifier", "products", "business"),
    ],
)
@BOTH
def test_the_table_decides_what_a_name_means(
    name: str,
    table_a: str,
    category_a: str,
    table_b: str,
    category_b: str,
    tagged_by: Tagger,
) -> None:
    assert tagged_by(table_a, name)[name].category == category_a
    assert tagged_by(table_b, name)[name].category == category_b


@BOTH
def test_a_contact_person_stays_a_person_in_a_table_of_firms(tagged_by: Tagger) -> None:
    found = tagged_by("suppliers", "company_name", "contact_name", "city")
    assert found["company_name"].tier == "non_personal"
    assert found["contact_name"].tier == "identifier"
    assert found["city"].category == "business"


@BOTH
def test_a_death_is_health_data_in_a_medical_table_only(tagged_by: Tagger) -> None:
    clinic = tagged_by("diagnoses", "diagnosis", "death_date")
    assert clinic["death_date"].tier == "special"
    town = tagged_by(
        "residents", "first_name", "birth_date", "marital_status", "died_on"
    )
    assert town["died_on"].tier == "personal"
    ward = tagged_by(
        "patients", "first_name", "birth_date", "marital_status", "died_on"
    )
    assert ward["died_on"].category == "health"


@BOTH
def test_cost_and_dates_of_care_are_health_data(tagged_by: Tagger) -> None:
    found = tagged_by("diagnoses", "icd_code", "patient_id", "start_date", "total_cost")
    assert found["start_date"].category == "health"
    assert found["total_cost"].category == "health"


@BOTH
def test_the_key_of_a_case_is_a_key_first(tagged_by: Tagger) -> None:
    found = tagged_by("stays", "subject_id", hadm_id="hospital admission key")
    assert found["hadm_id"].category == "person_key"


def test_a_count_of_people_is_no_key() -> None:
    found = tagged("interviews", "number_of_partners", "partner_number")
    count, key = (
        [item for item in one.evidence if item.category == "person_key"]
        for one in found.values()
    )
    assert not count
    assert "key of a person" in key[0].text


def test_two_letters_of_other_standards_say_little() -> None:
    short, long = (tagged("x", name)[name].evidence for name in ("cp", "codpostal"))
    weights = [
        max((item.weight for item in items if item.kind == "pack"), default=0.0)
        for items in (short, long)
    ]
    assert 0.0 < weights[0] < weights[1]


def test_what_is_said_outright() -> None:
    """A name that is a pair or a term of a person's, and a described code."""
    found = tagged(
        "suppliers", "contact_name", "customer_id", "name", Q171="attends church"
    )
    outright = {
        name: {item.kind for item in one.evidence if item.outright}
        for name, one in found.items()
    }
    assert outright["contact_name"] == outright["customer_id"] == {"name"}
    assert outright["name"] == set()
    assert outright["Q171"] == {"description"}


@BOTH
@pytest.mark.parametrize(
    ("table", "names", "tier"),
    [
        ("visits", ("diagnosis", "blood_pressure", "heart_rate", "zzqx"), "special"),
        ("patients", ("patient_id", "diagnosis", "glucose", "zzqx"), "special"),
        ("weather", ("humidity", "wind_speed", "zzqx"), "personal"),
    ],
)
def test_a_name_that_nobody_can_read_goes_to_review(
    table: str, names: tuple[str, ...], tier: str, tagged_by: Tagger
) -> None:
    """Whatever stands beside it, and with at least its table's tier."""
    found = tagged_by(table, *names)
    assert (found["zzqx"].tier, found["zzqx"].review) == (tier, True)
    assert not any(found[name].review for name in names if name != "zzqx")


@BOTH
def test_a_name_that_repeats_its_table_is_read_by_the_rest(tagged_by: Tagger) -> None:
    found = tagged_by("wp_comments", "comment_author_email", "comment_text")
    assert found["comment_author_email"].category == "contact"
    here, elsewhere = (
        [item.weight for item in one.evidence if "`comment`" in item.text]
        for one in (
            found["comment_author_email"],
            tagged_by("blog", "comment_author_email")["comment_author_email"],
        )
    )
    assert max(here) < max(elsewhere)


def test_a_lone_noun_is_a_key_of_a_person_or_of_a_firm() -> None:
    found = tagged("operations", "surgeon", "pharmacy")
    for name, category in (("surgeon", "person_key"), ("pharmacy", "business")):
        first = found[name].evidence[0]
        assert first.category == category
        assert "mention" in first.text


@BOTH
def test_a_described_code_is_read_by_its_description(tagged_by: Tagger) -> None:
    found = tagged_by("wave7", Q171="how often attends church", FK3103="date of birth")
    assert found["Q171"].category == "religion"
    assert found["FK3103"].category == "demographic"


@BOTH
def test_first_and_last_are_names_only_when_they_stand_alone(tagged_by: Tagger) -> None:
    found = tagged_by("people", "last", "last_visit_page")
    assert found["last"].category == "direct_identifier"
    assert found["last_visit_page"].tier != "identifier"


@pytest.mark.parametrize(
    ("name", "code"),
    [("Q171", True), ("PID-27", True), ("V1", True), ("f.20074.0.0", True),
     ("age", False), ("icd10code", False), ("address2", False)],
)  # fmt: skip
def test_numbers_of_codebooks_are_told_from_names(name: str, code: bool) -> None:
    assert is_code(name) is code


@pytest.mark.parametrize(
    ("dtype", "kind"),
    [("BOOLEAN", "truth value"), ("timestamp", "date"), ("date", "date"),
     ("DECIMAL(10,2)", "decimal number"), ("varchar", ""), ("", "")],
)  # fmt: skip
def test_the_kind_of_a_type(dtype: str, kind: str) -> None:
    assert dtype_kind(dtype) == kind


def test_a_truth_value_is_no_phone_number() -> None:
    plain, flag = tag_columns(
        [
            DescribedColumn("a", "telephone", "", "varchar"),
            DescribedColumn("b", "telephone", "", "bool"),
        ]
    )
    assert plain.tier == "identifier"
    assert flag.score < plain.score
