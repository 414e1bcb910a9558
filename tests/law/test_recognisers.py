# SPDX-License-Identifier: Apache-2.0
"""Columns of values are recognised, kind by kind, and not taken for another."""

from random import Random

import pytest

from lexfed.law.tagger.recognise.contact import street
from lexfed.law.tagger.recognise.people import has_listed_name, listed_names, year_of
from lexfed.law.tagger.recognise.recogniser import MOST_VALUES, chance_bound, sample_of
from lexfed.law.tagger.suggestions import DescribedColumn
from support.law.value_columns import CLINICAL_TEXTS, strongest

N = range(30)
RANDOM = Random("values")
MESSAGES = (
    "Hi Anna, how are you? I will come over later this evening, see you then",
    "Dear all, the meeting moves to Friday at ten, thanks for your patience",
    "Hallo Tom, wie geht es dir, ich melde mich morgen wieder bei dir, bis dann",
    "Hola Marta, que tal, nos vemos el domingo en casa de los abuelos, saludos",
)


@pytest.mark.parametrize(
    ("category", "values"),
    [
        ("contact", [f"a.b{n}@mail{n % 3}.example.org" for n in N]),
        ("contact", [f"+49 30 {90000000 + 7919 * n}" for n in N]),
        ("contact", [f"(212) 555-0{100 + n}" for n in N]),
        ("contact", [f"01 23 45 67 {10 + n}" for n in N]),
        ("contact", [f"{12 + n} Wolf Lane Suite {n}" for n in N]),
        ("contact", [f"Hauptstraße {1 + n}" for n in N]),
        ("contact", [f"{1 + n} rue de la Paix" for n in N]),
        ("contact", [f"Calle Mayor, {1 + n}" for n in N]),
        ("contact", [f"Rua das Flores, {1 + n}" for n in N]),
        ("contact", [f"Via Roma {1 + n}" for n in N]),
        ("contact", [f"Dorpsstraat {1 + n}" for n in N]),
        ("online_identifier", [f"10.{n}.{200 - n}.77" for n in N]),
        ("online_identifier", [f"2001:db8::{n:x}:1" for n in N]),
        ("online_identifier", [f"00:1a:2b:3c:4d:{n:02x}" for n in N]),
        ("online_identifier", [f"https://twitter.com/user{n}" for n in N]),
        ("account_credential", [f"https://u{n}:secret@host.example/x" for n in N]),
        ("account_credential", [f"$2b$12${'abcdefghijkLMNOP' * 3}{n:05}" for n in N]),
        ("account_credential", [f"eyJhbGciOi.eyJzdWIi{n:03}.c2lnbmF0" for n in N]),
        ("account_credential", [f"ghp_{n:036}" for n in N]),
        ("account_credential", [f"4111 **** **** {1000 + n}" for n in N]),
        ("behavioural", [f"Mozilla/5.0 (X11; Linux) Gecko/{n}" for n in N]),
        ("technical", [f"https://shop.example/item/{n}" for n in N]),
        ("location", [f"SW1A {1 + n % 9}{'ABDEFGHJ'[n % 8]}B" for n in N]),
        ("location", [f"K{n % 9}A {n % 7}B{n % 5}" for n in N]),
        ("location", [f"{1000 + 7 * n} AB" for n in N]),
        ("health", [f"{'EICFGJ'[n % 6]}{10 + n}.{n % 9}" for n in N]),
        ("health", [f"I{10 + n}.{n % 9}, J{40 - n}.1" for n in N]),
        ("health", [f"5-{470 + n}.{n % 9}" for n in N]),
        ("health", [f"C{n % 9 + 10}AA{10 + n % 7}" for n in N]),
        ("health", [f"81{40 + n}/3" for n in N]),
        ("health", [f"{50000 + n}-{1000 + n}-01" for n in N]),
        ("health", [f"Amoxicillin {n * 5} mg tablet" for n in range(1, 30)]),
        ("health", [f"{CLINICAL_TEXTS[n % 4]} ({n})" for n in N]),
        ("health", ["A+", "O-", "AB+", "B+", "O+"] * 6),
        ("health", ["never smoker", "former smoker", "smoker", "unknown"] * 8),
        ("genetic", ["".join(RANDOM.choices("ACGT", k=25)) for _ in N]),
        ("genetic", [f"rs{1000 + 17 * n}" for n in N]),
        ("genetic", ["0/0", "0/1", "1/1", "./.", "0|1", "1|0", "0/2"] * 5),
        ("genetic", ["A/G", "G/G", "A/A", "C/T"] * 8),
        ("genetic", ["AG", "GG", "AA", "CT"] * 8),
        ("genetic", [f"c.{100 + n}A>G" for n in N]),
        ("genetic", [f"A*{n:02}:01" for n in N]),
        ("ethnicity", ["Caucasian", "African American", "Asian", "Other"] * 8),
        ("ethnicity", ["branca", "parda", "preta", "indígena"] * 8),
        ("religion", ["katholisch", "evangelisch", "keine", "muslimisch"] * 8),
        ("demographic", ["Married", "Divorced", "Widowed", "Single"] * 8),
        ("demographic", ["Mr.", "Mrs.", "Ms."] * 8),
        ("demographic", ["verheiratet", "ledig", "geschieden"] * 8),
        ("demographic", ["male", "female"] * 15),
        ("demographic", ["M", "F", "F", "U"] * 8),
        ("demographic", ["homme", "femme"] * 15),
        ("demographic", [f"{1925 + 3 * n}-04-{1 + n % 28:02}" for n in range(28)]),
        ("sex_life", ["heterosexual", "gay", "bisexual"] * 8),
        ("political", ["SPD", "CDU", "FDP", "Die Linke", "AfD"] * 8),
        ("communication_content", [f"{MESSAGES[n % 4]} {n}" for n in N]),
        ("precise_geolocation", [f"{52.5 + n / 1000:.4f}, 13.4050" for n in N]),
        ("precise_geolocation", [f"POINT (13.4{n:03} 52.5200)" for n in N]),
        ("financial", [f"${n * 13}.50" for n in range(1, 30)]),
    ],
)
def test_kinds_of_values(category: str, values: list[str]) -> None:
    assert strongest(values) == category


@pytest.mark.parametrize(
    ("category", "name", "values"),
    [
        ("direct_identifier", "DRIVERS", [f"S999{10000 + n}" for n in N]),
        ("direct_identifier", "reisepass", [f"C{1000000 + n}X" for n in N]),
        ("direct_identifier", "kennzeichen", [f"B-XY {100 + n}" for n in N]),
        ("direct_identifier", "cedula", [f"{52_000_000 + 77 * n}" for n in N]),
        ("direct_identifier", "ssn", [f"{123450000 + n}" for n in N]),
        ("location", "plz", [f"{10115 + n}" for n in N]),
        ("location", "ZIP", [f"{2151 + n}.0" for n in N]),
        ("contact", "telefon", [f"0171{2345670 + n}" for n in N]),
        ("account_credential", "BIC", ["DEUTDEFF", "COBADEFFXXX", "BNPAFRPP"] * 5),
        ("account_credential", "password", [f"Xy{n}!geheimZ" for n in N]),
        ("health", "proc_cpt", [f"{99201 + n}" for n in N]),
        ("health", "diag_1", [f"{250 + n}.{n % 9}" for n in N]),
        ("health", "ndc", [f"{50000100001 + n}" for n in N]),
        ("health", "sod", [f"{130 + n}" for n in range(15)] * 2),
        ("genetic", "snp_7", ["0", "1", "2"] * 10),
        ("demographic", "alter", [f"{20 + n}" for n in N]),
        ("demographic", "sexo", ["1", "2"] * 15),
        ("demographic", "geburtsjahr", [f"{1950 + n}" for n in N]),
        ("demographic", "DOB", [f"{1 + n % 28}.3.{1990 + n % 9}" for n in N]),
        ("direct_identifier", "apellidos", ["García López", "Ruiz Sanz", "Xyz Uvw"]),
    ],
)
def test_values_that_need_their_name(
    category: str, name: str, values: list[str]
) -> None:
    assert strongest(values, name) == category
    assert strongest(values, "field", "") != category


def test_a_description_speaks_like_a_name() -> None:
    values = [f"{10115 + n}" for n in N]
    assert strongest(values, "f17", "postal code of residence") == "location"


NAMES = [
    "Anna",
    "Peter",
    "Maria",
    "José",
    "Wei",
    "Fatima",
    "Olga",
    "Lars",
    "Giulia",
    "John",
    "Xaver",
    "Quirin",
]


@pytest.mark.parametrize(
    "values",
    [
        NAMES,
        [f"{name}{n}" for n, name in enumerate(NAMES)],
        [f"{name} Smith" for name in NAMES],
        [f"Müller, {name}" for name in NAMES],
        [f"Dr. {name} Rossi" for name in NAMES],
        [name.upper() for name in NAMES],
    ],
)
def test_personal_names(values: list[str]) -> None:
    assert strongest(values) == "direct_identifier"


@pytest.mark.parametrize(
    "values",
    [
        [
            "Springfield",
            "Boston",
            "Worcester",
            "Quincy",
            "Lynn",
            "Brockton",
            "Lowell",
            "Chelsea",
        ],
        [
            "apple",
            "banana",
            "cherry",
            "mango",
            "papaya",
            "quince",
            "melon",
            "lemon",
            "orange",
        ],
        ["Suffolk County", "Essex County", "Norfolk County", "Bristol County"],
        [f"Product {n}" for n in N],
        [f"1{n} Grant Branch" for n in N][:2],
    ],
)
def test_words_that_are_no_names(values: list[str]) -> None:
    assert strongest(values) != "direct_identifier"


def test_the_list_of_names_is_of_the_size_that_is_said() -> None:
    first, last = listed_names()
    assert 500 < len(first) < 1500
    assert 300 < len(last) < 1000
    assert all(name.isalpha() and name.islower() for name in first | last)
    assert not has_listed_name("x" * 100 + " anna")


# Parts


@pytest.mark.parametrize(
    ("value", "year"),
    [
        ("1987-03-04", 1987),
        ("1987/3/4", 1987),
        ("04.03.1987", 1987),
        ("12/31/1999", 1999),
        ("31/12/1999", 1999),
        ("19870304", 1987),
        ("1987-03-04T10:00:00Z", 1987),
        ("1987-02-30", None),
        ("19871399", None),
        ("yesterday", None),
        ("3.5", None),
    ],
)
def test_years_of_dates(value: str, year: int | None) -> None:
    assert year_of(value) == year


def test_dates_of_death_are_not_taken_for_births() -> None:
    values = [f"{1925 + 3 * n}-04-{1 + n % 28:02}" for n in range(28)]
    assert strongest(values, "deathdate") is None
    assert strongest(values, "birthdate") == "demographic"


def test_streets_are_short_and_numbered() -> None:
    assert street("12 Main Street")
    assert not street("Main Street")
    assert not street("12 " + "word " * 20 + "street")


def test_a_sample_is_bounded() -> None:
    column = DescribedColumn("t", "x", values=tuple(["a" * 10_000] * 1000))
    sample = sample_of(column)
    assert len(sample.values) == MOST_VALUES
    assert max(map(len, sample.values)) <= 400
    assert sample_of(DescribedColumn("t", "x")).values == ()


def test_the_bound_on_luck() -> None:
    assert chance_bound(1, 10, 0.5) == 1.0
    assert chance_bound(5, 5, 0.1) == pytest.approx(1e-5)
    assert chance_bound(9, 10, 0.1) < 1e-6
