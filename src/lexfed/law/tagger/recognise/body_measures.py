# SPDX-License-Identifier: Apache-2.0
"""Numbers of the body: a short name, and values in the range that people have.

`sod` could be anything. Numbers around 140 under that name, in a column of a table,
are serum sodium. Neither the name nor the range would do alone; heart rates and engine
speeds have the same numbers. The ranges are those within which nearly all patients
lie, in the units of both systems.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from lexfed.law.tagger.recognise.recogniser import Sample, cues
from lexfed.law.tagger.suggestions import TagEvidence

_NUMBER = re.compile(r"-?\d+(?:[.,]\d+)?", re.ASCII)
WEIGHT = 3.0


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
"""Measures of people."""


def evidence_of_measures(sample: Sample) -> Iterator[TagEvidence]:
    """Yield evidence for the measure of the body that name and range together tell."""
    for measure in MEASURES:
        if sample.said.isdisjoint(measure.context) or len(sample.distinct) < 5:
            continue
        numbers = sorted(
            float(v.replace(",", ".")) for v in sample.values if _NUMBER.fullmatch(v)
        )
        if len(numbers) < 0.9 * len(sample.values):
            return
        # One value in ten may be wrong on either side: units, zeros for gaps.
        low, high = numbers[len(numbers) // 10], numbers[-1 - len(numbers) // 10]
        if any(least <= low and high <= most for least, most in measure.ranges):
            yield TagEvidence(
                "values", "special", "health", WEIGHT,
                f"the name may mean {measure.name}, and the values lie in its range",
            )  # fmt: skip
            return
