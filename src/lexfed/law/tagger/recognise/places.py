# SPDX-License-Identifier: Apache-2.0
"""Positions: pairs of latitude and longitude, in one column or in two.

Two columns of a table are a place if their names say so and their numbers are degrees;
or if they are the only two of the table that vary little around a point away from
zero, with four decimals and more, as the places of one country do: scores and rates
scatter around zero or over their whole range. Three decimals are about a hundred
metres, which is precise [CPRA 1798.140(w): within 1,850 feet]; fewer are a region.
"""

import re
from collections.abc import Sequence
from statistics import fmean, pstdev

from lexfed.law.tagger.recognise.recogniser import Sample, cues
from lexfed.law.tagger.suggestions import TIER_OF, TagEvidence

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
            found[at] = _place("precise_geolocation", 4.0, text)
    found.update(_by_numbers(samples))
    found.update(_by_name(samples))
    return found


def _is_pair(value: str) -> bool:
    return _PAIR.fullmatch(value) is not None


def _by_name(samples: Sequence[Sample]) -> dict[int, TagEvidence]:
    sides = (_LATITUDE, 90.0), (_LONGITUDE, 180.0)
    north, east = (
        [
            at
            for at, one in enumerate(samples)
            if one.said & names and _degrees(one, most)
        ]
        for names, most in sides
    )
    if not north or not east:
        return {}
    text = "the table has latitudes and longitudes, by name and by range"
    return {
        at: _place(
            "precise_geolocation" if _decimals(samples[at]) >= _PRECISE else "location",
            4.0,
            text,
        )
        for at in (*north, *east)
    }


def _by_numbers(samples: Sequence[Sample]) -> dict[int, TagEvidence]:
    near = [at for at, sample in enumerate(samples) if _of_one_region(sample)]
    if len(near) != 2 or not any(_degrees(samples[at], 90.0) for at in near):
        return {}
    text = "two columns have the range and the decimals of coordinates of one region"
    return {at: _place("precise_geolocation", 2.0, text) for at in near}


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


def _place(category: str, weight: float, text: str) -> TagEvidence:
    return TagEvidence("values", TIER_OF[category], category, weight, text)
