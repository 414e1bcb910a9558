# SPDX-License-Identifier: Apache-2.0
"""Where someone is: pairs of latitude and longitude, in one column or in two.

Two neighbouring columns of decimals are a place if their names say so, or if both
vary little around a point away from zero, as the places of one country do: scores
and rates scatter around zero or over their whole range. Three decimals are about a
hundred metres, which is precise [CPRA 1798.140(w): within 1,850 feet]; fewer are a
region.
"""

import re
from collections.abc import Sequence
from statistics import fmean, pstdev

from lexfed.law.tagger.column import TIER_OF, Evidence
from lexfed.law.tagger.recognise.recogniser import Sample, said

_DECIMAL = re.compile(r"[-+]?\d{1,3}\.\d+", re.ASCII)
_PAIR = re.compile(
    r"(?:POINT ?)?[\[(]?\s*[-+]?\d{1,3}\.\d{3,}°?\s*[NS]?\s*[,; ]\s*"
    r"[-+]?\d{1,3}\.\d{3,}°?\s*[EWO]?\s*[\])]?|\d{1,2}°\d{1,2}['\u2032].*[NS].*\d{1,3}°.*[EWO]",
    re.ASCII | re.IGNORECASE,
)
_LATITUDE = said("lat latitude latitud breite breitengrad latitudine")
_LONGITUDE = said("lon lng long longitude longitud lange langengrad laenge longitudine")
_PRECISE = 3
_LEAST = 5
_SCATTER = 15.0
"""How far the places of one country lie from zero, in standard deviations."""


def evidence_of_places(samples: Sequence[Sample]) -> dict[int, Evidence]:
    """Return what columns of one table say of places, by their position.

    Args:
        samples: the samples of a table's columns in their order.
    """
    found: dict[int, Evidence] = {}
    for at, sample in enumerate(samples):
        if sample.values and sample.share(_is_pair) >= (0.8, 1):
            found[at] = _place("precise_geolocation", 4.0, "each value is a pair of "
                               "coordinates")  # fmt: skip
    for at in range(len(samples) - 1):
        for first, second in ((at, at + 1), (at + 1, at)):
            evidence = _two(samples[first], samples[second])
            for place in (first, second):
                known = found.get(place, evidence)
                if evidence and (known is None or known.weight <= evidence.weight):
                    found[place] = evidence
    return found


def _is_pair(value: str) -> bool:
    return _PAIR.fullmatch(value) is not None


def _two(latitude: Sample, longitude: Sample) -> Evidence | None:
    named = bool(latitude.said & _LATITUDE and longitude.said & _LONGITUDE)
    first, second = _degrees(latitude, 90.0), _degrees(longitude, 180.0)
    if first is None or second is None:
        return None
    exact = min(_decimals(latitude), _decimals(longitude)) >= _PRECISE
    if named:
        category = "precise_geolocation" if exact else "location"
        return _place(category, 4.0, "two columns are latitude and longitude, by name "
                      "and by their range")  # fmt: skip
    far = all(abs(fmean(d)) >= _SCATTER * pstdev(d) > 0.0 for d in (first, second))
    if exact and far and min(_decimals(latitude), _decimals(longitude)) > _PRECISE:
        text = "two neighbouring columns have the range and decimals of coordinates"
        return _place("precise_geolocation", 2.0, text)
    return None


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


def _place(category: str, weight: float, text: str) -> Evidence:
    return Evidence("values", TIER_OF[category], category, weight, text)
