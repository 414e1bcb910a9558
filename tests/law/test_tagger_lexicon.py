# SPDX-License-Identifier: Apache-2.0
"""Terms are found by their letters, and a text is read by its longest terms."""

import pytest

from lexfed.errors import ConfigError
from lexfed.law.tagger.words.lexicon import (
    LANGUAGES,
    build_lexicon,
    load_lexicon,
)
from lexfed.law.tagger.words.readings import NOTHING, languages_read, read_phrase, votes

GERMAN = (
    "term\tcategory\tweight\tgloss\tnote\n"
    "# comment\n"
    "\n"
    "geburtsdatum\tdemographic\t5\tdate of birth\n"
    "größe\tdemographic\t3\theight\n"
    "datum der aufnahme\thealth\t4\tadmission date\n"
    "kunde\tword\t0\tcustomer\n"
    "bezahlung\tfinancial\t4"
).encode()


def test_a_term_is_found_in_all_its_spellings() -> None:
    lexicon = build_lexicon({"de": GERMAN})
    assert lexicon.terms["grosse"] == lexicon.terms["groesse"]
    assert lexicon.terms["geburtsdatum"][0].gloss == "date of birth"
    assert lexicon.terms["bezahlung"][0].gloss == "bezahlung"
    assert lexicon.bags["aufnahme datum"] == lexicon.terms["datumderaufnahme"]
    assert "category" not in lexicon.terms
    assert lexicon.terms.get("nothing") is None
    assert len(lexicon.terms) == len(list(lexicon.terms)) == 6


def test_a_word_of_a_language_is_in_its_vocabulary_only() -> None:
    lexicon = build_lexicon({"de": GERMAN, "en": b"customer\tword\t0\tcustomer"})
    assert lexicon.knows("kunde", "de")
    assert not lexicon.knows("kunde", "en")
    assert lexicon.lengthened("bzhlng") == ("bezahlung",)
    assert lexicon.lengthened("xyz") == ()


def test_words_that_share_their_consonants_are_all_kept() -> None:
    text = b"batten\tword\t0\ta\nbetton\tword\t0\tb\nbitten\tword\t0\tc"
    assert len(build_lexicon({"en": text}).lengthened("bttn")) == 3


@pytest.mark.parametrize(
    "line",
    ["alter", "\tdemographic\t5\tage", "alter\tdemografic\t5\tage",
     "alter\tdemographic\t6\tage", "alter\tdemographic\tx\tage"],
)  # fmt: skip
def test_a_wrong_line_is_named(line: str) -> None:
    with pytest.raises(ConfigError, match=r"mine\.tsv:2"):
        build_lexicon({"de": f"kunde\tword\t0\tcustomer\n{line}".encode()}, "mine.tsv")


def test_a_file_is_parsed_in_its_order() -> None:
    terms = [found[0].term for found in build_lexicon({"de": GERMAN}).terms.values()]
    assert terms[:2] == ["geburtsdatum", "größe"]


@pytest.mark.parametrize(
    ("text", "language", "english"),
    [
        ("geburtsdatum", "de", "date birth"),
        ("Geb_Datum", "de", "date birth"),
        ("fecha_nacimiento", "es", "date birth"),
        ("nacimiento fecha", "es", "date birth"),
        ("date_naissance", "fr", "date birth"),
        ("data_nascimento", "pt", "date birth"),
        ("data di nascita", "it", "date birth"),
        ("geboortedatum", "nl", "date birth"),
        ("dateofbirth", "en", "date birth"),
    ],
)
def test_a_date_of_birth_is_read_in_every_language(
    text: str, language: str, english: str
) -> None:
    found = read_phrase(text, (language, "en"))
    assert {hit.entry.meaning for hit in found.hits} == {"demographic"}
    assert set(english.split()) <= set(found.english)
    assert found.unknown == ()


def test_the_longest_term_wins_and_each_word_is_read_once() -> None:
    found = read_phrase("health insurance number", ("en",))
    covered = [at for hit in found.hits for at in range(hit.start, hit.stop)]
    assert len(set(covered)) == len(found.words)
    assert len({(hit.start, hit.stop) for hit in found.hits}) < len(found.words)


def test_unknown_words_are_kept_as_they_are() -> None:
    found = read_phrase("xqzzy patient", ("en",))
    assert found.unknown == ("xqzzy",)
    assert "xqzzy" in found.english
    assert "person" in found.roles


def test_nothing_is_read_from_nothing() -> None:
    assert read_phrase("", ("en",)) is NOTHING
    assert read_phrase("...", ("en",)) is NOTHING


def test_a_foreign_term_counts_less() -> None:
    at_home = read_phrase("geburtsdatum", ("de", "en")).hits[0]
    abroad = read_phrase("geburtsdatum", ("en",)).hits[0]
    assert abroad.surely < at_home.surely


def test_shortened_and_cut_off_words_are_completed_with_less_trust() -> None:
    short, cut = read_phrase("prscrptn", ("en",)), read_phrase("diagnos", ("en",))
    assert "prescription" in short.words
    assert short.hits[0].surely < 1.0
    assert cut.hits[0].entry.meaning == "health"
    assert cut.hits[0].surely < 1.0


def test_endings_are_taken_off() -> None:
    assert read_phrase("vaccinazioni", ("it", "en")).hits


@pytest.mark.parametrize(
    ("names", "first"),
    [
        (["name", "birth_date", "address", "city"], "en"),
        (["Vorname", "Geburtsdatum", "Straße", "Ort"], "de"),
        (["prenom", "date_naissance", "adresse", "ville"], "fr"),
        (["nombre", "fecha_nacimiento", "direccion", "ciudad"], "es"),
        (["nome", "data_nascimento", "endereco", "cidade"], "pt"),
        (["cognome", "data_nascita", "indirizzo", "citta"], "it"),
        (["voornaam", "geboortedatum", "straatnaam", "woonplaats"], "nl"),
        (["krankenversichertennummer"], "de"),
        (["xq1", "zz9"], "en"),
    ],
)
def test_the_language_of_names_is_guessed(names: list[str], first: str) -> None:
    found = languages_read(votes(names))
    assert found[0] == first
    assert "en" in found


def test_every_language_has_a_lexicon() -> None:
    known = set().union(*load_lexicon().languages.values())
    assert known == set(LANGUAGES)
