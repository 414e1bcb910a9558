# SPDX-License-Identifier: Apache-2.0
"""Columns of many languages get the right category, and no input breaks the tagger."""

import random
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexfed.errors import DataError
from lexfed.law.tagger.pipeline import tag_columns
from lexfed.law.tagger.suggestions import (
    TIER_OF,
    DescribedColumn,
    Suggestion,
    TaggerSettings,
)

CASES = """
patients: patient_id=person_key first_name=direct_identifier email=contact
    date_of_birth=demographic postcode=location diagnosis=health
    blood_pressure=health religion=religion ethnicity=ethnicity genotype=genetic
    created_at=technical
Patienten: Patientennummer=person_key Vorname=direct_identifier
    Geburtsdatum=demographic Postleitzahl=location Diagnose=health
    Staatsangehoerigkeit=citizenship_immigration Konfession=religion
    Telefonnummer=contact Krankenkasse=health
Mitarbeiter: Personalnummer=person_key Gehalt=financial Familienstand=demographic
    Abteilung=employment_education Gewerkschaftsmitglied=union
employes: matricule=person_key nom=direct_identifier date_naissance=demographic
    salaire=financial adresse=contact syndicat=union
    nationalite=citizenship_immigration
pacientes: nombre=direct_identifier fecha_nacimiento=demographic diagnostico=health
    telefono=contact codigo_postal=location sexo=demographic
pacientes_br: NU_IDADE=demographic nome_paciente=direct_identifier cid10=health
    data_nascimento=demographic raca_cor=ethnicity cpf=direct_identifier
pazienti: cognome=direct_identifier data_nascita=demographic indirizzo=contact
    codice_fiscale=direct_identifier diagnosi=health
patienten: achternaam=direct_identifier geboortedatum=demographic
    bsn=direct_identifier woonplaats=location diagnose=health
users: password_hash=account_credential ip_address=online_identifier
    username=online_identifier last_login=behavioural iban=account_credential
    message_body=communication_content
arrests: conviction_date=criminal sexual_orientation=sex_life
    fingerprint_template=biometric
voters: party_affiliation=political voted_for=political
trips: home_latitude=precise_geolocation user_id=person_key
weather: temperature=environment humidity=environment
icd_codes_dictionary: icd_code=reference long_title=reference
products: product_name=business unit_price=business
orders_log: row_version=technical checksum=technical
loans: loan_amount=financial interest_rate=financial
customers: internal_note=other_personal customer_id=person_key
"""


def cases() -> list[tuple[str, str, str]]:
    found, table = [], ""
    for word in CASES.split():
        if word.endswith(":"):
            table = word[:-1]
        else:
            name, category = word.split("=")
            found.append((table, name, category))
    return found


TAGGED = {
    (one.column.table, one.column.name): one
    for one in tag_columns([DescribedColumn(table, name) for table, name, _ in cases()])
}


def one(name: str, table: str = "patients", description: str = "") -> Suggestion:
    return tag_columns([DescribedColumn(table, name, description)])[0]


@pytest.mark.parametrize(("table", "name", "category"), cases())
def test_a_column_gets_its_category(table: str, name: str, category: str) -> None:
    found = TAGGED[table, name]
    assert found.category == category
    assert found.tier == TIER_OF[category]
    assert found.evidence
    assert found.evidence[0].text


def test_every_category_has_a_case() -> None:
    assert {category for _, _, category in cases()} == set(TIER_OF)


@pytest.mark.parametrize(
    "names",
    [
        ["patient_age", "PatientAge", "AGE_PAT", "patientage", "age-of-patient"],
        ["date_of_birth", "DateOfBirth", "DOB", "BIRTH_DATE", "birthdate"],
        ["Geburtsdatum", "GEBURTSDATUM", "geburts_datum", "GebDatum"],
        ["heart_rate", "HeartRate", "HEARTRATE", "heart rate"],
        ["größe", "groesse", "grosse", "GRÖSSE"],
    ],
)
def test_the_spelling_of_a_name_keeps_its_tag(names: list[str]) -> None:
    found = {(one(name).tier, one(name).category) for name in names}
    assert len(found) == 1


def decided(found: Iterable[Suggestion]) -> list[tuple[str, str, bool]]:
    return [(one.tier, one.category, one.review) for one in found]


@pytest.mark.parametrize("table", ["patients", "Mitarbeiter", "weather", "products"])
def test_an_unrelated_column_changes_nothing_else(table: str) -> None:
    columns = [DescribedColumn(table, name) for table, name, _ in cases()]
    before = tag_columns(columns)
    beside = tag_columns([*columns, DescribedColumn(table, "row_version")])
    assert decided(beside[:-1]) == decided(before)
    elsewhere = tag_columns([*columns, DescribedColumn("zzz", "qqq")])
    assert elsewhere[:-1] == before


def test_the_order_of_columns_does_not_matter() -> None:
    columns = [DescribedColumn("patients", name) for table, name, _ in cases()][:30]
    columns = list({column.name: column for column in columns}.values())
    before = {found.column.name: found for found in tag_columns(columns)}
    shuffled = list(columns)
    random.Random(7).shuffle(shuffled)
    after = tag_columns(shuffled)
    assert [found.column for found in after] == shuffled
    assert all(found == before[found.column.name] for found in after)


def test_tables_of_one_name_in_two_places_are_two_tables() -> None:
    shop = [
        DescribedColumn("main", name) for name in ("sku", "unit_price", "stock", "name")
    ]
    people = [
        DescribedColumn("main", n) for n in ("first_name", "birth_date", "sex", "name")
    ]
    between = [DescribedColumn("other", "x")]
    found = tag_columns([*shop, *between, *people])
    assert found[3].category == "business"
    assert found[8].category == "direct_identifier"


def test_a_description_rescues_a_cryptic_name() -> None:
    assert one("XQ_77_Z").review
    found = one("XQ_77_Z", description="date of the first HIV diagnosis")
    assert (found.tier, found.review) == ("special", False)


def test_values_are_evidence_and_never_appear() -> None:
    secret = tuple(f"person{n}.x@mail.example.org" for n in range(40))
    (found,) = tag_columns([DescribedColumn("t", "zzqx", values=secret)])
    assert (found.tier, found.category) == ("identifier", "contact")
    assert "person1" not in repr(found)


def test_proxies_are_reported_beside_the_tags() -> None:
    ill = ("yes", "no") * 40
    group = tuple("a" if value == "yes" else "b" for value in ill)
    found = tag_columns(
        [
            DescribedColumn("t", "diabetes", values=ill),
            DescribedColumn("t", "zip", values=group),
        ]
    )
    assert [proxy.column for proxy in found[1].proxies] == ["diabetes"]


@pytest.mark.parametrize("name", ["", " ", "\t"])
def test_a_column_without_a_name_is_an_error(name: str) -> None:
    with pytest.raises(DataError, match="column 2: has no name"):
        tag_columns([DescribedColumn("t", "a"), DescribedColumn("t", name)])


def test_equal_names_get_equal_tags() -> None:
    first, second = tag_columns(
        [DescribedColumn("t", "email"), DescribedColumn("t", "email")]
    )
    assert first == second


def test_no_columns_get_no_tags() -> None:
    assert tag_columns([]) == ()


@pytest.mark.parametrize(
    "name",
    ["x" * 10_000, "patient_" * 2_000, "\x00\x07\x1b[31mred", "\u202eemirp",
     "اسم المريض", "שם", "患者番号", "név😀", "a\ud800b", "..", "1", "';DROP TABLE x;"],
)  # fmt: skip
def test_a_strange_name_gets_a_tag(name: str) -> None:
    found = one(name, "t\x00\u202e", name)
    assert found.tier in TIER_OF.values()
    assert all(len(item.text) < 2_000 for item in found.evidence)


@given(
    st.lists(
        st.builds(
            DescribedColumn,
            st.text(max_size=20),
            st.text(min_size=1, max_size=40).filter(str.strip),
            st.text(max_size=60),
            st.text(max_size=10),
        ),
        max_size=8,
    )
)
@settings(max_examples=150, deadline=None)
def test_any_columns_get_tags_in_their_order(columns: list[DescribedColumn]) -> None:
    found = tag_columns(columns)
    assert [suggestion.column for suggestion in found] == columns
    for suggestion in found:
        assert 0.0 <= suggestion.score <= 1.0
        assert TIER_OF[suggestion.category] == suggestion.tier
        assert not (suggestion.review and suggestion.tier == "non_personal")


@pytest.mark.slow
def test_very_many_columns_are_tagged_in_pieces() -> None:
    for start in range(0, 50_000, 5_000):
        piece = [
            DescribedColumn(f"t{n // 50}", f"col_{n}")
            for n in range(start, start + 5_000)
        ]
        assert len(tag_columns(piece)) == 5_000


def test_a_wide_table_is_tagged() -> None:
    assert (
        len(tag_columns([DescribedColumn("wide", f"v{n}") for n in range(3_000)]))
        == 3_000
    )


def test_settings_reach_the_answer() -> None:
    column = DescribedColumn("t", "user_id")
    (found,) = tag_columns([column], TaggerSettings(tiers=3))
    assert (found.tier, found.category) == ("special", "person_key")


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
def test_the_engine_is_small_in_a_fresh_process() -> None:
    code = (
        "from lexfed.law.tagger.pipeline import tag_columns\n"
        "from lexfed.law.tagger.suggestions import DescribedColumn\n"
        "names = [f'patient_name_{n}' for n in range(1000)]\n"
        "tag_columns([DescribedColumn('t', name) for name in names])\n"
        "print(open('/proc/self/status').read())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    most = next(line for line in done.stdout.splitlines() if line.startswith("VmHWM"))
    assert int(most.split()[1]) < 80 * 1024
