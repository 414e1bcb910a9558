# SPDX-License-Identifier: Apache-2.0
"""Numbers with a range of their own: positions on the earth, measures of the body.

Two columns of a table are a place if their names say so and their numbers are degrees;
or if they are the only two of the table that vary little around a point away from
zero, with four decimals and more, as the places of one country do. Three decimals are
about a hundred metres, which is precise [CPRA 1798.140(w): within 1,850 feet]; fewer
are a region.

`sod` could be anything. Numbers around 140 under that name are serum sodium: neither
the name nor the range would do alone. The ranges are those within which nearly all
patients lie, in the units of both systems.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean, pstdev

from lexfed.law.tagger.recognise.recogniser import Sample, cues
from lexfed.law.tagger.suggestions import TagEvidence, evidence_for

_DECIMAL = re.compile(r"[-+]?\d{1,3}\.\d+", re.ASCII)
_PAIR = re.compile(
    r"(?:POINT ?)?[\[(]?\s*[-+]?\d{1,3}\.\d{3,}°?\s*[NS]?\s*[,; ]\s*"
    r"[-+]?\d{1,3}\.\d{3,}°?\s*[EWO]?\s*[\])]?|\d{1,2}°\d{1,2}['\u2032].*[NS].*\d{1,3}°.*[EWO]",
    re.ASCII | re.IGNORECASE,
)
_LATITUDE = cues("lat latitude latitud breite breitengrad latitudine")
_LONGITUDE = cues("lon lng long longitude longitud lange langengrad laenge longitudine")
_PRECISE = 3
_LEAST = 5
_SCATTER = 15.0
"""Least distance of one country's places from zero, in standard deviations."""


def evidence_of_places(samples: Sequence[Sample]) -> dict[int, TagEvidence]:
    """Return the evidence of places in columns of one table, by the column's index.

    The order of the columns does not matter.
    """
    found: dict[int, TagEvidence] = {}
    for at, sample in enumerate(samples):
        if any(map(_is_pair, sample.probe[0])) and sample.share(_is_pair)[0] >= 0.8:
            text = "each value is a pair of coordinates"
            found[at] = evidence_for("values", "precise_geolocation", 4.0, text)
    found.update(_by_numbers(samples))
    found.update(_by_name(samples))
    return found


def _is_pair(value: str) -> bool:
    return _PAIR.fullmatch(value) is not None


def _by_name(samples: Sequence[Sample]) -> dict[int, TagEvidence]:
    def named(words: frozenset[str], most: float) -> list[int]:
        found = enumerate(samples)
        return [at for at, s in found if s.name_words & words and _degrees(s, most)]

    north, east = named(_LATITUDE, 90.0), named(_LONGITUDE, 180.0)
    if not north or not east:
        return {}
    text = "the table has latitudes and longitudes, by name and by range"
    places = {}
    for at in (*north, *east):
        precise = _decimals(samples[at]) >= _PRECISE
        category = "precise_geolocation" if precise else "location"
        places[at] = evidence_for("values", category, 4.0, text)
    return places


def _by_numbers(samples: Sequence[Sample]) -> dict[int, TagEvidence]:
    near = [at for at, sample in enumerate(samples) if _of_one_region(sample)]
    if len(near) != 2 or not any(_degrees(samples[at], 90.0) for at in near):
        return {}
    text = "two columns have the range and the decimals of coordinates of one region"
    place = evidence_for("values", "precise_geolocation", 2.0, text)
    return dict.fromkeys(near, place)


def _of_one_region(sample: Sample) -> bool:
    degrees = _degrees(sample, 180.0)
    if degrees is None or _decimals(sample) <= _PRECISE:
        return False
    return abs(fmean(degrees)) >= _SCATTER * pstdev(degrees) > 0.0


def _degrees(sample: Sample, most: float) -> list[float] | None:
    if len(sample.distinct) < _LEAST or not _DECIMAL.fullmatch(sample.values[0]):
        return None
    if not all(map(_DECIMAL.fullmatch, sample.distinct)):
        return None
    degrees = [float(value) for value in sample.values]
    return degrees if max(map(abs, degrees)) <= most else None


def _decimals(sample: Sample) -> int:
    """Return the decimals that four values in five have at least."""
    lengths = sorted(len(v.partition(".")[2]) for v in sample.distinct)
    return lengths[len(lengths) // 5]


_NUMBER = re.compile(r"-?\d+(?:[.,]\d+)?", re.ASCII)
MEASURE_WEIGHT = 3.0


@dataclass(frozen=True)
class BodyMeasure:
    """Something measured on people, its short names and the ranges of its values."""

    name: str
    context: frozenset[str]
    ranges: tuple[tuple[float, float], ...]


def _row(name: str, context: str, *ranges: tuple[float, float]) -> BodyMeasure:
    return BodyMeasure(name, cues(context), ranges)


MEASURES = (
    _row("serum sodium", "na sod sodium natrium sodio", (110, 175)),
    _row("serum potassium", "k pot potassium kalium potasio potassio", (2, 8)),
    _row("serum chloride", "cl chl chloride chlorid cloro", (70, 140)),
    _row("serum calcium", "ca calcium kalzium calcio", (1, 3.5), (5, 15)),
    _row("creatinine", "crea creat cr creatinine kreatinin", (0.1, 20), (20, 1500)),
    _row("urea", "bun urea harnstoff uree", (1, 250)),
    _row("bilirubin", "bili bilirubin tbil", (0.05, 50), (2, 700)),
    _row("albumin", "alb albumin", (0.4, 6.5), (5, 65)),
    _row("glucose", "glu gluc glucose glukose glicose fbs bz", (1, 40), (20, 900)),
    _row("glycated haemoglobin", "hba hba1c a1c", (3, 20), (15, 200)),
    _row("haemoglobin", "hb hgb hemoglobin haemoglobin", (3, 22), (30, 220)),
    _row("haematocrit", "hct hematocrit haematocrit", (0.1, 0.7), (10, 70)),
    _row("white cells", "wbc wblc leuko leukocytes leucocitos", (0, 120)),
    _row("platelets", "plt platelets thrombozyten plaquetas", (3, 1500)),
    _row("C-reactive protein", "crp pcr", (0, 600)),
    _row("cholesterol", "chol cholesterol ldl hdl kolesterol", (0, 20), (0, 700)),
    _row("triglycerides", "tg trig triglycerides", (0.1, 30), (20, 2000)),
    _row("lactate", "lac lact lactate laktat", (0.2, 25)),
    _row("acidity of the blood", "ph", (6.6, 7.9)),
    _row("oxygen pressure", "pao pao2 po2", (3, 90), (20, 700)),
    _row("carbon dioxide pressure", "paco pco paco2 pco2", (1, 20), (8, 150)),
    _row("oxygen ratio", "pafi", (20, 1000)),
    _row("oxygen saturation", "spo sao spo2 sao2 sat", (0.4, 1), (40, 100)),
    _row("heart rate", "hr hrt heartrate pulse puls thalach fc", (20, 300)),
    _row("blood pressure", "bp sbp dbp map meanbp sys dia trestbps pas pad rr ta",
         (20, 320)),
    _row("breathing rate", "resp rr af respiratoryrate", (2, 90)),
    _row("body temperature", "temp temperature temperatur", (28, 43), (85, 110)),
    _row("body mass index", "bmi imc", (8, 90)),
    _row("coma score", "gcs glasgow", (3, 15)),
)  # fmt: skip


def evidence_of_measures(sample: Sample) -> Iterator[TagEvidence]:
    """Yield evidence for the measure of the body that name and range together tell."""
    for measure in MEASURES:
        if sample.name_words.isdisjoint(measure.context) or len(sample.distinct) < 5:
            continue
        numbers = sorted(
            float(v.replace(",", ".")) for v in sample.values if _NUMBER.fullmatch(v)
        )
        if len(numbers) < 0.9 * len(sample.values):
            return
        # One value in ten may be wrong on either side: units, zeros for gaps.
        low, high = numbers[len(numbers) // 10], numbers[-1 - len(numbers) // 10]
        if any(least <= low and high <= most for least, most in measure.ranges):
            yield evidence_for(
                "values", "health", MEASURE_WEIGHT,
                f"the name may mean {measure.name}, and the values lie in its range",
            )  # fmt: skip
            return
