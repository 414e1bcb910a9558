# SPDX-License-Identifier: Apache-2.0
"""Check digits: numbers made by rule are valid, changed and random ones are not.

Random tests are derandomised: the seed is the name of the case. `single` and `swap`
are the shares of single-digit changes and of swaps of unequal neighbours that a
scheme finds; 1 where it finds all by its construction.
"""

from random import Random

import pytest

from lexfed.law.tagger.recognise.checksums import is_date, is_day, luhn, verhoeff
from lexfed.law.tagger.recognise.recogniser import Recogniser, sample_of
from lexfed.law.tagger.suggestions import DescribedColumn
from lexfed.law.tagger.value_evidence import RECOGNISERS
from support.law import id_numbers as one
from support.law import id_numbers_world as two
from support.law.id_numbers import LETTERS, Maker

CASES: list[tuple[Maker, str, float, float]] = [
    (one.nhs, "British NHS numbers", 1, 1),
    (one.german_tax, "German tax identification numbers", 1, 0.95),
    (one.german_pension, "German pension insurance numbers", 1, 0.95),
    (one.german_health, "German health insurance numbers", 1, 0.95),
    (one.austrian, "Austrian social insurance numbers", 1, 1),
    (one.french, "French social security numbers", 1, 1),
    (one.spanish, "Spanish identity numbers", 1, 1),
    (one.spanish_foreigner, "Spanish identity numbers", 1, 1),
    (one.italian, "Italian fiscal codes", 1, 0.99),
    (one.portuguese, "Portuguese tax numbers", 0.97, 0.97),
    (one.dutch, "Dutch citizen service numbers", 1, 1),
    (one.belgian, "Belgian national numbers", 0.98, 0.98),
    (one.irish, "Irish PPS numbers", 1, 1),
    (one.swiss, "Swiss insurance numbers", 1, 0.85),
    (one.swedish, "Swedish personal numbers", 1, 0.95),
    (one.finnish, "Finnish identity codes", 1, 1),
    (one.norwegian, "Norwegian birth numbers", 1, 1),
    (one.polish, "Polish PESEL numbers", 1, 0.87),
    (one.romanian, "Romanian CNP numbers", 0.97, 0.97),
    (one.bulgarian, "Bulgarian EGN numbers", 0.97, 0.97),
    (one.czech, "Czech or Slovak birth numbers", 0.97, 0.97),
    (one.baltic, "Estonian or Lithuanian personal codes", 0.97, 0.97),
    (one.yugoslav, "personal numbers (JMBG)", 0.97, 0.97),
    (one.croatian, "Croatian personal numbers", 1, 0.95),
    (one.greek, "Greek AMKA numbers", 1, 0.95),
    (one.turkish, "Turkish identity numbers", 1, 0.85),
    (two.us_npi, "US provider numbers", 1, 0.95),
    (two.canadian, "Canadian social insurance numbers", 1, 0.95),
    (two.brazilian_cpf, "Brazilian CPF numbers", 0.98, 0.98),
    (two.brazilian_cnpj, "Brazilian numbers of firms", 0.98, 0.98),
    (two.brazilian_cns, "Brazilian health card numbers", 0.9, 1),
    (two.brazilian_voter, "Brazilian voter numbers", 0.97, 0.97),
    (two.mexican_curp, "Mexican CURP codes", 0.92, 1),
    (two.mexican_rfc, "Mexican tax numbers of persons", 1, 1),
    (two.argentine, "Argentine CUIL numbers", 0.97, 0.97),
    (two.chilean, "Chilean RUT numbers", 1, 1),
    (two.ecuadorian, "Ecuadorian identity numbers", 1, 0.95),
    (two.indian, "Indian Aadhaar numbers", 1, 1),
    (two.chinese, "Chinese resident numbers", 1, 1),
    (two.korean, "South Korean resident numbers", 0.97, 0.95),
    (two.japanese, "Japanese individual numbers", 0.97, 0.95),
    (two.thai, "Thai identity numbers", 0.88, 0.95),
    (two.south_african, "South African identity numbers", 1, 0.95),
    (two.australian_tfn, "Australian tax file numbers", 1, 1),
    (two.australian_medicare, "Australian Medicare numbers", 0.88, 0.75),
    (two.mrz, "lines of passports and identity cards", 0.9, 0.85),
    (two.iban_german, "bank account numbers (IBAN)", 1, 1),
    (two.iban_british, "bank account numbers (IBAN)", 1, 1),
    (two.card, "payment card numbers", 1, 0.95),
    (two.clabe, "Mexican bank account numbers", 1, 0.85),
    (two.imei, "device numbers (IMEI)", 1, 0.95),
    (two.lei, "identifiers of firms (LEI)", 1, 1),
    (two.isin, "numbers of securities (ISIN)", 1, 0.95),
    (two.gtin, "numbers of goods (GTIN)", 1, 0.85),
    (two.loinc, "laboratory test codes (LOINC)", 1, 0.95),
    (two.snomed, "clinical terms (SNOMED CT)", 1, 1),
    (two.pzn, "German drug numbers (PZN)", 1, 1),
    (two.vin, "vehicle numbers (VIN)", 1, 1),
]
IDS = [case[0].__name__ for case in CASES]


def named(name: str) -> Recogniser:
    return next(r for r in RECOGNISERS if r.name == name and r.check is not None)


def made(maker: Maker, number: int) -> list[str]:
    random = Random(maker.__name__)
    return [maker(random) for _ in range(number)]


def blurred(value: str, random: Random) -> str:
    """Return a value of the same shape with random digits and letters."""
    return "".join(
        random.choice("0123456789")
        if sign.isdigit()
        else random.choice(LETTERS)
        if sign.isalpha()
        else sign
        for sign in value
    )


@pytest.mark.no_cover
@pytest.mark.parametrize(("maker", "name", "single", "swap"), CASES, ids=IDS)
def test_numbers_by_rule_and_their_changes(
    maker: Maker, name: str, single: float, swap: float
) -> None:
    recogniser = named(name)
    changes, swaps = [], []
    for value in made(maker, 60):
        assert recogniser.fits(value)
        for at, sign in enumerate(value):
            if not sign.isdigit():
                continue
            changes += [
                recogniser.fits(f"{value[:at]}{other}{value[at + 1 :]}")
                for other in "0123456789"
                if other != sign
            ]
            before = value[at - 1] if at else ""
            if before.isdigit() and before != sign:
                text = f"{value[: at - 1]}{sign}{before}{value[at + 1 :]}"
                swaps.append(recogniser.fits(text))
    assert 1 - sum(changes) / len(changes) >= single
    assert 1 - sum(swaps) / len(swaps) >= swap


@pytest.mark.parametrize(("maker", "name"), [case[:2] for case in CASES], ids=IDS)
def test_random_numbers_fit_no_more_often_than_stated(maker: Maker, name: str) -> None:
    recogniser = named(name)
    random = Random(f"random {name}")
    number = 2000
    shapes = made(maker, 50)
    fits = sum(
        recogniser.fits(blurred(random.choice(shapes), random)) for _ in range(number)
    )
    # 6.11 standard errors: a right rate fails 1 time in 10^9, for any seed.
    error = (recogniser.chance * (1 - recogniser.chance) / number) ** 0.5
    assert fits / number <= recogniser.chance + 6.11 * error


@pytest.mark.parametrize(("maker", "name"), [case[:2] for case in CASES], ids=IDS)
def test_columns_are_recognised_and_random_ones_are_not(
    maker: Maker, name: str
) -> None:
    recogniser = named(name)
    values = made(maker, 40)
    told = min(recogniser.context)
    column = DescribedColumn(
        "t", told if recogniser.needs else "x", values=tuple(values)
    )
    evidence = recogniser.evidence(sample_of(column))
    assert evidence is not None
    assert evidence.category == recogniser.category
    # By chance nine in ten of 40 fit with a chance below exp(-40 KL(.6 || .1)) = 1e-12.
    random = Random(f"column {name}")
    noise = DescribedColumn("t", "x", values=tuple(blurred(v, random) for v in values))
    assert recogniser.evidence(sample_of(noise)) is None


def test_single_numbers_need_a_name_that_says_so() -> None:
    number = made(two.iban_german, 1)
    recogniser = named("bank account numbers (IBAN)")
    assert (
        recogniser.evidence(sample_of(DescribedColumn("t", "x", values=tuple(number))))
        is None
    )
    named_so = DescribedColumn("t", "iban", values=tuple(number))
    assert recogniser.evidence(sample_of(named_so)) is not None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("US social security numbers", "000-12-3456"),
        ("US social security numbers", "666-12-3456"),
        ("US social security numbers", "900-12-3456"),
        ("US social security numbers", "123-00-3456"),
        ("US social security numbers", "123-45-0000"),
        ("US taxpayer numbers", "900-10-1234"),
        ("Brazilian CPF numbers", "111.111.111-11"),
        ("bank account numbers (IBAN)", "DE4450010517540732493"),
        ("bank account numbers (IBAN)", "ZZ89370400440532013000"),
        ("Danish CPR numbers", "310299-1234"),
        ("Norwegian birth numbers", "32019912345"),
        ("Chinese resident numbers", "11010517490231002X"),
        ("Ecuadorian identity numbers", "9912345678"),
        ("Brazilian voter numbers", "123456789900"),
    ],
)
def test_numbers_that_were_never_given_out(name: str, value: str) -> None:
    assert not named(name).fits(value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        # Examples in public documents, and edges of the rules.
        ("German health insurance numbers", "A123456780"),
        ("German pension insurance numbers", "15070649C103"),
        ("Taiwanese identity numbers", "A123456789"),
        ("Hong Kong identity numbers", "A123456(3)"),
        ("Hong Kong identity numbers", "G123456(A)"),
        ("Singaporean identity numbers", "S1234567D"),
        ("Singaporean identity numbers", "F1234567N"),
        ("Russian insurance numbers", "112-233-445 95"),
        ("Polish PESEL numbers", "44051401359"),
        ("lines of passports and identity cards",
         "L898902C36UTO7408122F1204159ZE184226B<<<<<10"),
        ("lines of passports and identity cards",
         "P<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<<<<<<<<<"),
        ("US provider numbers", "1234567893"),
        ("vehicle numbers (VIN)", "1M8GDM9AXKP042788"),
        ("numbers of books (ISBN)", "0-306-40615-2"),
        ("numbers of books (ISBN)", "978-0-306-40615-7"),
        ("Argentine tax numbers of firms", "30-50001091-2"),
        ("Swedish personal numbers", "19640823-3234"),
        ("Finnish identity codes", "131052-308T"),
        ("Bulgarian EGN numbers", "7523169263"),
        ("Estonian or Lithuanian personal codes", "37605030299"),
        ("Malaysian identity numbers", "770305-02-1234"),
        ("Israeli identity numbers", "123456782"),
        ("Portuguese citizen card numbers", "00000000 0 ZZ4"),
        ("Brazilian voter numbers", "1234 5678 0191"),
        ("Brazilian voter numbers", "1000 0001 0116"),
        ("Irish PPS numbers", "1234567T"),
        ("Ukrainian tax numbers", "1759013776"),
        ("US taxpayer numbers", "912-90-3456"),
        ("Danish CPR numbers", "211062-5629"),
    ],
)  # fmt: skip
def test_published_examples(name: str, value: str) -> None:
    assert named(name).fits(value)


def test_days_of_any_century() -> None:
    assert is_day("000229")
    assert not is_day("010229")
    assert is_date(2024, 2, 29)
    assert not is_date(2023, 13, 1)


def test_known_sums() -> None:
    assert luhn("79927398713")
    assert verhoeff("2363")
