# SPDX-License-Identifier: Apache-2.0
"""D1: people in a study of dementia, 847 columns each, who do not exist.

One latent burden of disease ties genes, tests, life and images together. Genes say
little that the tests and images do not say better, so that a policy without genetic
data costs almost nothing. This is shaped like ADNI; it holds nothing of it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtri

from lexfed.arrays import Floats, Integers
from lexfed.evaluate.datasets.cleaning import age_band
from lexfed.evaluate.datasets.declarations import TableDeclaration
from lexfed.evaluate.datasets.synthetic.ingredients import (
    FLAG,
    ColumnKeys,
    between,
    declare,
    number,
    one_of,
    parameters,
    shared_stream,
    shares_to_sizes,
    sigmoid,
    site_stream,
    standard,
)

NAME = "adni_like"
ROWS = int(parameters()[NAME]["rows"])
StudyColumns = dict[str, NDArray[Any]]
DIAGNOSES = ("CN", "MCI", "AD")
ORDINAL_ENDS = (30, 5)
RACES = ("white", "black", "asian", "hispanic", "other")
MARITAL = ("married", "divorced", "widowed", "never married")
SMOKING = ("never", "former", "current")


@dataclass(frozen=True)
class StudyParameters:
    """Parameters that all sites share.

    Attributes:
        frequency: minor-allele frequency of each SNP after APOE.
        block: block of linkage of each of them.
        effect: its weight in the risk score; 0 for all but the causal ones.
        test_loading: strength with which a test shows its domain; negative if reversed.
        image_loading: strength with which a column shows its region.
    """

    frequency: Floats
    block: Integers
    effect: Floats
    domain: Integers
    test_loading: Floats
    prevalence: Floats
    region: Integers
    image_loading: Floats


def study_parameters(seed: int) -> StudyParameters:
    """Return the parameters that all sites share under a seed."""
    rng, p = shared_stream(seed), parameters()[NAME]
    snp, tests, images, people = (
        p[name] for name in ("snp", "cognitive", "imaging", "demographic")
    )
    count, spread = snp["count"] - 1, snp["frequency"]
    first, second = spread["beta"]
    effect = np.zeros(count)
    causal = rng.choice(count, snp["causal"], replace=False)
    effect[causal] = rng.normal(size=snp["causal"])
    low, high = snp["block"]
    blocks = np.repeat(np.arange(count), rng.integers(low, high + 1, count))[:count]
    sign = np.where(rng.random(tests["count"]) < tests["reversed"], -1.0, 1.0)
    return StudyParameters(
        frequency=spread["low"] + spread["span"] * rng.beta(first, second, count),
        block=blocks,
        effect=effect,
        domain=rng.integers(tests["domains"], size=tests["count"]),
        test_loading=sign * between(rng, tests["loading"], tests["count"]),
        prevalence=between(rng, people["prevalence"], people["flags"]),
        region=rng.integers(images["regions"], size=images["count"]),
        image_loading=between(rng, images["loading"], images["count"]),
    )


def sizes(rows: int) -> list[int]:
    """Return the number of people at each site."""
    return shares_to_sizes(rows, np.array(parameters()[NAME]["shares"], dtype=float))


def one_site(seed: int, site: int, rows: int) -> StudyColumns:
    """Return the people of one site.

    Guarantees:
        The same arguments give the same rows, whatever other sites are made.
    """
    rng, common, p = site_stream(seed, site), study_parameters(seed), parameters()[NAME]
    life = _life(rng, rows)
    genes, risk = _genes(rng, common, rows)
    burden = _burden(rng, life, genes[:, 0], risk)
    columns: StudyColumns = {
        "site": np.full(rows, f"site-{site + 1:02d}", dtype=object)
    }
    columns |= life | _health(rng, common, burden)
    measured = np.where(rng.random(genes.shape) < p["snp"]["missing"], np.nan, genes)
    columns |= _named("snp", measured, first="apoe4")
    columns |= _named("test", _tests(rng, common, burden))
    columns |= _images(rng, common, burden, life)
    label = p["label"]
    noisy = burden + rng.normal(0.0, label["noise"], rows)
    deviation = float(np.sqrt(1.0 + label["noise"] ** 2))
    shift = rng.uniform(-label["site_shift"], label["site_shift"])
    cuts = deviation * (ndtri(label["quantiles"]) + shift)
    stage = np.searchsorted(cuts, noisy)
    columns["diagnosis"] = np.array(DIAGNOSES, dtype=object)[stage]
    columns["ad"] = (stage == 2).astype(int)
    return columns


def _life(rng: np.random.Generator, rows: int) -> StudyColumns:
    p = parameters()[NAME]["demographic"]
    age, school = p["age"], p["education"]
    shift = rng.normal(0.0, age["site_sd"])
    years = rng.normal(age["mean"] + shift, age["sd"], rows)
    taught = np.round(rng.normal(school["mean"], school["sd"], rows))
    return {
        "age": np.round(np.clip(years, age["low"], age["high"]), 1),
        "sex": np.where(rng.random(rows) < p["male"], "male", "female"),
        "education": np.clip(taught, school["low"], school["high"]),
        "race": rng.choice(RACES, rows, p=p["race"]),
        "marital": rng.choice(MARITAL, rows, p=p["marital"]),
        "handedness": np.where(rng.random(rows) < p["left_handed"], "left", "right"),
    }


def _genes(
    rng: np.random.Generator, common: StudyParameters, rows: int
) -> tuple[Floats, Floats]:
    """Return allele counts, APOE-e4 first, and the standardised risk score."""
    p = parameters()[NAME]["snp"]
    count = p["count"] - 1
    shifted = common.frequency + rng.normal(0.0, p["ancestry"], count)
    cut = ndtri(np.clip(shifted, 0.01, 0.5))
    alleles = np.zeros((rows, count))
    for _ in range(2):  # one latent normal for each of the two haplotypes
        together = rng.normal(size=(rows, count))[:, common.block]
        own = rng.normal(size=(rows, count))
        linked = np.sqrt(p["linkage"]) * together + np.sqrt(1 - p["linkage"]) * own
        alleles += linked < cut
    f = common.frequency
    spread = np.sqrt(np.sum(common.effect**2 * 2 * f * (1 - f)))
    risk = (alleles - 2 * f) @ common.effect / spread
    apoe = rng.binomial(2, p["apoe"], rows).astype(float)
    return np.column_stack([apoe, alleles]), risk


def _burden(
    rng: np.random.Generator, life: StudyColumns, apoe: Floats, risk: Floats
) -> Floats:
    """Return the latent burden L, of unit variance in the whole population."""
    p = parameters()[NAME]
    weight, f = p["burden"], p["snp"]["apoe"]
    age, school = p["demographic"]["age"], p["demographic"]["education"]
    latent = (
        weight["age"] * standard(life["age"], age["mean"], age["sd"])
        + weight["apoe"] * standard(apoe, 2 * f, float(np.sqrt(2 * f * (1 - f))))
        + weight["risk"] * risk
        + weight["education"]
        * standard(life["education"], school["mean"], school["sd"])
        + rng.normal(0.0, weight["noise"], len(apoe))
    )
    return np.asarray(latent / np.sqrt(sum(w**2 for w in weight.values())))


def _health(
    rng: np.random.Generator, common: StudyParameters, burden: Floats
) -> StudyColumns:
    p, rows = parameters()[NAME]["demographic"], len(burden)
    tied = np.zeros(p["flags"])
    tied[: p["tied"]] = p["tied_on_burden"]
    latent = _mixed(rng, tied, burden[:, None], p["flags"])
    ill = (latent > ndtri(1 - common.prevalence)).astype(int)
    bmi = np.clip(rng.normal(p["bmi"]["mean"], p["bmi"]["sd"], rows), 15, 50)
    upper = np.clip(rng.normal(135, 17, rows), 80, 220)
    return {
        "bmi": np.round(bmi, 1),
        "systolic": np.round(upper),
        "diastolic": np.round(np.clip(0.35 * upper + rng.normal(27, 8, rows), 40, 130)),
        "smoking": rng.choice(SMOKING, rows, p=p["smoking"]),
        **_named("comorbidity", ill),
    }


def _mixed(
    rng: np.random.Generator, weight: Floats | float, base: Floats, columns: int
) -> Floats:
    """Return columns with this weight on a base and the rest of their variance new."""
    own = rng.normal(size=(len(base), columns))
    return np.asarray(weight * base + np.sqrt(1 - weight**2) * own)


def _tests(rng: np.random.Generator, common: StudyParameters, burden: Floats) -> Floats:
    p = parameters()[NAME]["cognitive"]
    tie, load = p["domain_on_burden"], common.test_loading
    domains = _mixed(rng, tie, burden[:, None], p["domains"])
    scores = _mixed(rng, load, domains[:, common.domain], p["count"])
    half = p["ordinal"] // 2
    for columns, end in zip(
        (slice(0, half), slice(half, 2 * half)), ORDINAL_ENDS, strict=True
    ):
        # Points out of `end`: most healthy people are at or near the top.
        points = end * (0.92 - 0.10 * np.sign(load[columns]) * scores[:, columns])
        scores[:, columns] = np.clip(np.round(points), 0, end)
    # Mean over burdens of sigmoid(a + b L) is about sigmoid(a / sqrt(1 + pi b^2 / 8)).
    slope = p["missing_on_burden"]
    centre = np.log(p["missing"] / (1 - p["missing"]))
    chance = sigmoid(centre * np.sqrt(1 + np.pi * slope**2 / 8) + slope * burden)
    scores[rng.random(scores.shape) < chance[:, None]] = np.nan
    return np.asarray(np.round(scores, 3))


def _images(
    rng: np.random.Generator,
    common: StudyParameters,
    burden: Floats,
    life: StudyColumns,
) -> StudyColumns:
    p, rows = parameters()[NAME]["imaging"], len(burden)
    people = parameters()[NAME]["demographic"]["age"]
    tie, load, pet = p["region_on_burden"], common.image_loading, p["pet"]
    regions = _mixed(rng, tie, burden[:, None], p["regions"])
    shown = _mixed(rng, load, regions[:, common.region], p["count"])
    scanner = rng.normal(0.0, p["scanner"], p["count"])
    years = standard(life["age"], people["mean"], people["sd"])
    volumes = p["count"] - pet
    tissue = p["on_age"] * years[:, None] - shown[:, :volumes] + scanner[:volumes]
    # As studies publish them: scaled to the same volume inside the skull.
    size = usual_volume(np.arange(volumes)) * (1 + 0.12 * tissue)
    uptake = np.exp(0.2 * (shown[:, volumes:] + scanner[volumes:]))
    uptake[rng.random(rows) < p["without_pet"]] = np.nan
    return {
        **_named("volume", np.round(size, 1)),
        **_named("suvr", np.round(1.2 * uptake, 4)),
    }


def usual_volume(column: NDArray[Any] | int) -> Any:
    """Return the usual volume of a region in cubic millimetres."""
    return 500.0 * (1 + column % 20)


def _named(stem: str, block: NDArray[Any], first: str = "") -> StudyColumns:
    names = [f"{stem}_{place:03d}" for place in range(block.shape[1])]
    if first:
        names[0] = first
    return {name: block[:, place] for place, name in enumerate(names)}


def facts(rows: int) -> TableDeclaration:
    """Return the public facts about so many people."""
    p = parameters()[NAME]
    personal: dict[str, ColumnKeys] = {
        "age": number(50, 100),
        "sex": one_of("female", "male"),
        "education": number(0, 25),
        "marital": one_of(*MARITAL),
        "handedness": one_of("left", "right"),
    }
    special: dict[str, ColumnKeys] = {
        "race": one_of(*RACES),
        "bmi": number(12, 60),
        "systolic": number(70, 240),
        "diastolic": number(40, 140),
        "smoking": one_of(*SMOKING),
    }
    flags, snps = p["demographic"]["flags"], p["snp"]["count"]
    special |= {f"comorbidity_{n:03d}": FLAG for n in range(flags)}
    special["apoe4"] = _with_gaps(0, 2)
    special |= {f"snp_{n:03d}": _with_gaps(0, 2) for n in range(1, snps)}
    special |= {f"test_{n:03d}": _test(n) for n in range(p["cognitive"]["count"])}
    images = p["imaging"]
    for place in range(images["count"] - images["pet"]):
        usual = float(usual_volume(place))
        special[f"volume_{place:03d}"] = number(0.4 * usual, 1.6 * usual)
    special |= {f"suvr_{n:03d}": _with_gaps(0.4, 3.5) for n in range(images["pet"])}
    special["ad"] = FLAG
    return declare(
        NAME,
        rows,
        {"personal": personal, "special": special},
        title="Shaped like ADNI: has an invented person Alzheimer's disease?",
        licence="made by lexfed, nobody in it exists",
        target="ad",
        sites={"column": "site"},
        groups={"sex": "sex", "age": "age_band", "ethnicity": "race"},
        extra=("diagnosis",),
    )


def _with_gaps(low: float, high: float) -> ColumnKeys:
    return {"kind": "number", "range": [low, high]}


def _test(place: int) -> ColumnKeys:
    half = parameters()[NAME]["cognitive"]["ordinal"] // 2
    if place < 2 * half:
        return _with_gaps(0, ORDINAL_ENDS[place // half])
    return _with_gaps(-4, 4)


def frames(seed: int, rows: int) -> Iterator[pd.DataFrame]:
    """Yield the people of one site after the other."""
    for site, size in enumerate(sizes(rows)):
        frame = pd.DataFrame(one_site(seed, site, size))
        # In one step: a column at a time would copy 850 of them each time.
        bands = pd.DataFrame({"age_band": age_band(frame["age"])})
        yield pd.concat([frame, bands], axis=1)
