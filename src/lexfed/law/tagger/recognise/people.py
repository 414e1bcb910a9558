# SPDX-License-Identifier: Apache-2.0
"""Evidence of people in values: names, sex, age and the day of birth.

Names are recognised by a list of frequent first and family names of many countries
(`names.txt`). No list knows most people; it is enough that in a column of words many
different values hold a listed name, which no other column does.

Dates are birth dates if they are spread over decades, events if they are of the last
years. What is neither says nothing.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from lexfed.law.tagger.recognise.checksums import is_date
from lexfed.law.tagger.recognise.recogniser import Sample, chance_bound, cues
from lexfed.law.tagger.suggestions import TagEvidence, evidence_for
from lexfed.law.tagger.words.normalisation import fold

NAME_SHARE = 0.12
"""Share of the values that hold a listed name; towns named after people stay below."""
NAME_SHARE_NAMED = 0.05
"""The same for a column whose name says that it holds names."""
_NAME = re.compile(
    r"(?:(?:mr|mrs|ms|dr|prof|herr|frau|sr|sra|dona|mme|mlle|m)\.? )?"
    r"[^\W\d_]['\u2019.\w-]*(?:,? [^\W\d_]['\u2019.\w-]*){0,4}"
)
_MADE_UP = re.compile(r"(?<=[^\W\d_])\d+")
_NAME_CHANCE = 0.05
_FEWEST_NAMES = 5
_NAME_WORDS = cues(
    "name first last given family surname forename middle maiden vorname nachname "
    "familienname prenom nom nombre apellido apellidos nome sobrenome cognome voornaam "
    "achternaam fname lname apelido"
)
_AGE_WORDS = cues("age alter edad idade eta leeftijd ages alder wiek")
_SEX_WORDS = cues("sex gender geschlecht sexe sexo sesso geslacht genre genero")
_BIRTH_WORDS = cues(
    "birth dob born birthdate birthday geburt geburtsdatum gebdat geb naissance "
    "nacimiento nascimento nascita geboorte fnac ddn"
)
_DEATH_WORDS = cues("death died dead tod deces muerte defuncion obito morte decesso "
                    "overlijden sterbe")  # fmt: skip
_SEXES = tuple(map(cues, (
    "male female", "man woman", "mannlich weiblich", "maennlich weiblich",
    "homme femme", "masculin feminin", "masculino femenino", "masculino feminino",
    "hombre mujer", "homem mulher", "varon mujer", "maschio femmina", "uomo donna",
    "vrouw man",
)))  # fmt: skip
_SEX_CODES = tuple(map(frozenset, ("mf", "mw", "hf", "hm", "vm", "mv")))
_OTHER_SEXES = cues(
    "other unknown divers diverse d o u x i n a intersex nonbinary undetermined "
    "ambiguous autre otro outro altro anders unbekannt inconnu desconocido ignorado "
    "0 9 3"
)
_DATE = re.compile(
    r"(?P<y>\d{4})[-/.](?P<m>\d{1,2})[-/.](?P<d>\d{1,2})(?:[T ].*)?|"
    r"(?P<a>\d{1,2})[-/.](?P<b>\d{1,2})[-/.](?P<c>\d{4})(?:[T ].*)?|"
    r"(?P<z>(?:19|20)\d{6})",
    re.ASCII,
)
_YEAR = re.compile(r"(?:18[89]|19\d|20[0-4])\d", re.ASCII)
_NUMBER = re.compile(r"\d{1,3}(?:\.\d+)?", re.ASCII)
DECADES = 35
"""Years between the tenth and the last tenth of dates that are of births."""
RECENT = 15
"""Years that dates of events lie within."""


@lru_cache(maxsize=1)
def listed_names() -> tuple[frozenset[str], frozenset[str]]:
    """Return frequent first and frequent family names."""
    text = Path(__file__).with_name("names.txt").read_text(encoding="utf-8")
    lists: dict[str, set[str]] = {"first": set(), "last": set()}
    current = lists["first"]
    for line in text.splitlines():
        if line in lists:
            current = lists[line]
        elif not line.startswith("#"):
            current.update(line.split())
    return frozenset(lists["first"]), frozenset(lists["last"])


def evidence_of_people(sample: Sample) -> Iterator[TagEvidence]:
    """Yield the evidence of people in values, at least one."""
    yield from _names(sample)
    yield from _sex(sample)
    yield from _age(sample)
    yield from _dates(sample)


def _personal(weight: float, text: str) -> TagEvidence:
    return evidence_for("values", "demographic", weight, text)


def has_listed_name(value: str) -> bool:
    """Return True if a text has the shape of a name and holds a listed one."""
    # Synthetic names carry numbers so that they are not taken for real ones.
    text = _MADE_UP.sub("", fold(value))
    if len(text) > 60 or _NAME.fullmatch(text) is None:
        return False
    first, last = listed_names()
    parts = re.findall(r"[^\W\d_]{2,}", text)
    return any(part in first or part in last for part in parts)


def _names(sample: Sample) -> Iterator[TagEvidence]:
    if not any(value[0].isalpha() for value in sample.distinct[:8]):
        return
    helped = sample.mentions(_NAME_WORDS)
    share, fitting = sample.share(has_listed_name)
    share = max(share, fitting / len(sample.examined))
    if share < (NAME_SHARE_NAMED if helped else NAME_SHARE) or not fitting:
        return
    by_chance = chance_bound(fitting, len(sample.examined), _NAME_CHANCE)
    if not helped and (fitting < _FEWEST_NAMES or by_chance > 0.01):
        return
    named = ", as the name or description says" if helped else ""
    yield evidence_for(
        "values", "direct_identifier", 4.0 + 0.5 * helped,
        f"many different values are personal names from a list of frequent ones{named}",
    )  # fmt: skip


def _sex(sample: Sample) -> Iterator[TagEvidence]:
    if len(sample.folded) > 5:
        return
    values = frozenset(value.rstrip(".") for value in sample.folded)
    helped = sample.mentions(_SEX_WORDS)
    if any(pair <= values <= pair | _OTHER_SEXES for pair in _SEXES):
        yield _personal(4.0, "the values are words for a person's sex")
    elif any(pair <= values <= pair | _OTHER_SEXES for pair in _SEX_CODES):
        yield _personal(4.0 if helped else 2.0, "the values are letters for sex")
    elif helped and values <= frozenset("0123456789") and len(values) <= 4:
        yield _personal(2.0, "the name matches sex, and the values are a few codes")


def _age(sample: Sample) -> Iterator[TagEvidence]:
    if not sample.mentions(_AGE_WORDS):
        return
    share, _ = sample.share(
        lambda value: bool(_NUMBER.fullmatch(value)) and float(value) <= 120.0
    )
    if share >= 0.9:
        yield _personal(2.0, "the name matches age, and the values are years of a life")


def year_of(value: str) -> int | None:
    """Return the year of a date in one of the usual forms, or None."""
    found = _DATE.fullmatch(value)
    if found is None:
        return None
    if found["y"]:
        parts = (int(found["y"]), int(found["m"]), int(found["d"]))
    elif found["z"]:
        digits = found["z"]
        parts = (int(digits[:4]), int(digits[4:6]), int(digits[6:]))
    else:
        day, month = int(found["a"]), int(found["b"])
        # Day first or month first: one of them may be a day.
        swap = month > 12
        parts = (int(found["c"]), day if swap else month, month if swap else day)
    return parts[0] if is_date(*parts) else None


def _dates(sample: Sample) -> Iterator[TagEvidence]:
    helped = sample.mentions(_BIRTH_WORDS)
    probe = sample.distinct[:8]
    if not any(map(year_of, probe)) and not (
        helped and any(map(_YEAR.fullmatch, probe))
    ):
        return
    years = sorted(y for v in sample.values if (y := year_of(v)) is not None)
    if helped and not years:
        years = sorted(int(v) for v in sample.values if _YEAR.fullmatch(v))
    if len(years) < 0.8 * len(sample.values):
        return
    early, late = years[len(years) // 10], years[-1 - len(years) // 10]
    if helped:
        yield _personal(
            4.0, "the name matches birth, and the values are dates or years"
        )
    elif late - early >= DECADES and len(sample.distinct) >= 10:
        if sample.mentions(_DEATH_WORDS):
            return
        yield _personal(
            2.0, "the values are dates spread over decades, as days of birth are"
        )
    elif late - early <= RECENT:
        yield TagEvidence(
            "values", None, None, 0.0,
            "the values are dates of a few years: events, not days of birth",
        )  # fmt: skip
