# SPDX-License-Identifier: Apache-2.0
"""Names are taken apart into the words people meant, whatever they hold."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexfed.law.tagger.words.normalisation import (
    NAME_LIMIT,
    fold,
    skeleton,
    spellings,
    split,
    squeeze,
    words,
)

GERMAN = {"versicherten", "nummer", "kranken", "kasse", "patient", "datum", "haus"}


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("PatientID", "patient id"),
        ("patient_id", "patient id"),
        ("PATIENT-ID", "patient id"),
        ("patientIDs", "patient ids"),
        ("HTTPServer", "http server"),
        ("icd10code", "icd 10 code"),
        ("NU_IDADE", "nu idade"),
        ("Größe in cm", "grosse in cm"),
        ("œuvre", "oeuvre"),
        ("CO(GT)", "co gt"),
        ("név", "nev"),
        ("Имя", "имя"),
        ("a\x00b", "a b"),
        ("", ""),
        ("___", ""),
    ],
)
def test_a_name_is_taken_apart(name: str, found: str) -> None:
    assert words(name) == tuple(found.split())
    assert squeeze(name) == found.replace(" ", "")


@given(st.text(max_size=300))
@settings(max_examples=300)
def test_every_text_becomes_lower_case_words(text: str) -> None:
    for word in words(text):
        assert word
        assert word == word.lower()
    assert fold(text) == fold(text).lower()
    assert all(
        part in text.lower() or part
        for part in split(text, {"patient", "id"}.__contains__)
    )


@given(st.lists(st.sampled_from(["patient", "größe", "fecha", "no"]), min_size=1))
@settings(max_examples=100)
def test_separators_diacritics_and_case_do_not_matter(parts: list[str]) -> None:
    plain = words(" ".join(parts))
    assert words("_".join(parts)) == plain
    assert words("-".join(parts).upper()) == plain
    assert words(".".join(map(fold, parts))) == plain
    assert words("".join(part.capitalize() for part in parts)) == plain


def test_only_the_beginning_of_a_long_name_is_read() -> None:
    assert len(squeeze("x" * 10_000)) == NAME_LIMIT


def test_umlauts_have_two_spellings() -> None:
    assert spellings("Größe") == ("grosse", "groesse")
    assert spellings("prénom") == ("prenom",)
    assert spellings("Age") == ("age",)


def test_shortened_words_keep_their_consonants() -> None:
    assert skeleton("payment") == "pymnt"
    assert skeleton("address") == "address"[0] + "ddrss"


@pytest.mark.parametrize(
    ("word", "parts"),
    [
        ("versichertennummer", ("versicherten", "nummer")),
        ("krankenkassennummer", ("kranken", "kasse", "nummer")),
        ("patientid", ("patient", "id")),
        ("idpatient", ("id", "patient")),
        ("patientsdatum", ("patient", "datum")),
        ("xxpatientxx", ()),
        ("patientx", ("patient",)),
        ("abc", ()),
        ("q" * 30, ()),
        ("patient" * 20, ()),
    ],
)
def test_run_together_words_are_split(word: str, parts: tuple[str, ...]) -> None:
    assert split(word, (GERMAN | {"id"}).__contains__) == parts


def test_two_letters_are_a_word_at_an_end_only() -> None:
    assert split("hausidkasse", (GERMAN | {"id"}).__contains__) == ("haus", "kasse")
