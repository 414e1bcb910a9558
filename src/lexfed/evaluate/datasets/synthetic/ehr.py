# SPDX-License-Identifier: Apache-2.0
"""D2: visits to hospitals that do not exist, by patients who come again and again.

A frailty that grows with age decides who has which of fifteen chronic illnesses; the
illnesses decide codes, procedures, medicines and laboratory values. Some patients have
very many visits and a few are known to two hospitals, so that the unit of privacy is
the patient and not the row. A hospital's patients are made alone, with all their
visits, the few at another hospital included.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lexfed.arrays import Bools, Floats, Integers
from lexfed.evaluate.datasets.synthetic.ehr_vocabulary import STEMS, WINTER
from lexfed.evaluate.datasets.synthetic.random_streams import (
    between,
    parameters,
    shared_stream,
    shares_to_sizes,
    sigmoid,
    site_stream,
    standard,
)

NAME = "ehr_like"
_YEAR = 365


@dataclass(frozen=True)
class HospitalParameters:
    """Parameters that all hospitals share, by illness, code or hospital.

    Attributes:
        share: of each hospital in all patients.
        intercept: log-odds of each illness at frailty 0.
        slope: of these log-odds in frailty.
        code_base: rate of each diagnosis code without its illness.
        code_given: rate that its illness adds; codes are in the order of illnesses.
        procedures: distribution over procedures for each illness; the last row is
            for visits that no illness explains.
        medications: the same for medicines.
        lab_shift: shift of a laboratory value by its illness.
        lab_hospital: calibration of each laboratory, [hospitals, labs].
        readmission: effect of each illness on the log-odds of coming back.
        death: effect of each illness on the log-odds of dying.
        hospital: effect of each hospital on the log-odds of coming back.
    """

    share: Floats
    intercept: Floats
    slope: Floats
    code_base: Floats
    code_given: Floats
    procedures: Floats
    medications: Floats
    lab_shift: Floats
    lab_hospital: Floats
    readmission: Floats
    death: Floats
    hospital: Floats


def hospital_parameters(seed: int) -> HospitalParameters:
    """Return the parameters that all hospitals share under a seed."""
    rng, p = shared_stream(seed), parameters()[NAME]
    ill, codes, labs = p["phenotype"], p["codes"], p["labs"]
    base, count, sites = codes["base"], ill["count"], p["sites"]

    def mixtures(of: int) -> Floats:
        return rng.dirichlet(np.full(of, 0.15), size=count + 1)

    return HospitalParameters(
        share=rng.dirichlet(np.full(sites, p["site_concentration"])),
        intercept=rng.normal(ill["intercept"][0], ill["intercept"][1], count),
        slope=ill["on_frailty"] * between(rng, ill["slope"], count),
        code_base=rng.gamma(base["shape"], base["scale"], codes["diagnoses"]),
        code_given=between(rng, codes["given"], codes["diagnoses"]),
        procedures=mixtures(codes["procedures"]["count"]),
        medications=mixtures(codes["medications"]["count"]),
        lab_shift=between(rng, labs["shift"], labs["count"]),
        lab_hospital=rng.normal(0.0, labs["hospital"], (sites, labs["count"])),
        readmission=between(rng, p["readmission"]["phenotype"], count),
        death=between(rng, p["death"]["phenotype"], count),
        hospital=rng.normal(0.0, p["readmission"]["hospital"], sites),
    )


@dataclass(frozen=True)
class Visits:
    """All visits of the patients who belong to one hospital.

    Attributes:
        patient: place of the patient among those of the hospital, for each visit.
        hospital: of each visit, counted from 0.
        day: since the first of January of the first year.
        prior: visits of the patient before this one.
        age: of each patient.
        frailty: of each patient.
        ill: illnesses of each patient, [patients, illnesses].
        codes: diagnosis codes of each visit, [visits, codes].
        procedures: number of times that each was done, [visits, procedures].
        medications: number of times that each was given, [visits, medicines].
        labs: in deviations from the usual, NaN where not measured, [visits, labs].
        readmitted: whether the patient came back within 30 days.
        died: whether the patient died in hospital.
    """

    patient: Integers
    hospital: Integers
    day: Integers
    prior: Integers
    age: Floats
    frailty: Floats
    ill: Bools
    codes: Bools
    procedures: NDArray[np.uint8]
    medications: NDArray[np.uint8]
    labs: Floats
    readmitted: Bools
    died: Bools


def patients_of(seed: int, patients: int) -> list[int]:
    """Return the number of all patients who belong to each hospital."""
    return shares_to_sizes(patients, hospital_parameters(seed).share)


def one_hospital(
    rng: np.random.Generator, seed: int, hospital: int, patients: int
) -> Visits:
    """Return the visits of one hospital's patients.

    `rng` is the hospital's own stream; `seed` fixes the parameters that all share.
    """
    common, p = hospital_parameters(seed), parameters()[NAME]
    ages = p["age"]
    age = np.clip(
        np.round(rng.normal(ages["mean"], ages["sd"], patients)),
        ages["low"],
        ages["high"],
    )
    frailty = rng.normal(size=patients) + p["frailty_on_age"] * standard(
        age, ages["mean"], ages["sd"]
    )
    odds = common.intercept + common.slope * frailty[:, None]
    ill = rng.random(odds.shape) < sigmoid(odds)

    often = p["visits"]
    # Pareto from 1 upwards; numpy's begins at 0.
    count = 1 + np.floor(1 + rng.pareto(often["shape"], patients)).astype(int)
    count = np.minimum(count, often["most"])
    who = np.repeat(np.arange(patients), count)
    prior = np.arange(len(who)) - np.repeat(np.cumsum(count) - count, count)
    day = rng.integers(p["years"] * _YEAR, size=len(who))
    day = day[np.lexsort((day, who))]
    where = _where(rng, hospital, prior, who, patients)

    labs, measured = _labs(rng, common, ill[who], where, frailty[who])
    back, death = p["readmission"], p["death"]
    chance = sigmoid(
        back["intercept"]
        + back["frailty"] * frailty[who]
        + back["prior"] * np.log1p(prior)
        + ill[who] @ common.readmission
        + back["lab"] * labs[:, 0]
        + common.hospital[where]
        + rng.normal(0.0, back["noise"], len(who))
    )
    fatal = death["intercept"] + death["frailty"] * frailty + ill @ common.death
    codes = p["codes"]
    return Visits(
        patient=who,
        hospital=where,
        day=day,
        prior=prior,
        age=age,
        frailty=frailty,
        ill=ill,
        codes=_codes(rng, common, ill[who], where, day),
        procedures=_events(
            rng, ill[who], common.procedures, codes["procedures"]["per_visit"]
        ),
        medications=_events(
            rng, ill[who], common.medications, codes["medications"]["per_visit"]
        ),
        labs=np.where(measured, labs, np.nan),
        readmitted=rng.random(len(who)) < chance,
        died=rng.random(len(who)) < sigmoid(fatal)[who],
    )


def _where(
    rng: np.random.Generator, home: int, prior: Integers, who: Integers, patients: int
) -> Integers:
    """Return the hospital of each visit; a few patients go to a second one too."""
    p = parameters()[NAME]
    moves = rng.random(patients) < p["two_hospitals"]
    other = (home + rng.integers(1, p["sites"], patients)) % p["sites"]
    # The second visit is elsewhere for sure, later ones half of the time.
    away = (prior == 1) | ((prior > 1) & (rng.random(len(who)) < 0.5))
    return np.where(moves[who] & away, other[who], home)


def _labs(
    rng: np.random.Generator,
    common: HospitalParameters,
    ill: Bools,
    where: Integers,
    frailty: Floats,
) -> tuple[Floats, Bools]:
    p = parameters()[NAME]["labs"]
    of_illness = np.arange(p["count"]) % ill.shape[1]
    values = rng.normal(0.0, p["noise"], (len(ill), p["count"]))
    values += common.lab_shift * ill[:, of_illness] + common.lab_hospital[where]
    gaps = p["missing"]
    rate = np.clip(
        gaps["base"] + gaps["on_frailty"] * frailty, gaps["low"], gaps["high"]
    )
    return values, rng.random(values.shape) >= rate[:, None]


DRIFTING_HOSPITAL = 2


def _codes(
    rng: np.random.Generator,
    common: HospitalParameters,
    ill: Bools,
    where: Integers,
    day: Integers,
) -> Bools:
    p = parameters()[NAME]
    total, kinds = p["codes"]["diagnoses"], p["phenotype"]["count"]
    each = total // kinds
    of_illness = np.repeat(np.arange(kinds), each)
    rate = common.code_base + common.code_given * ill[:, of_illness]
    winter = 1.0 + 0.8 * np.cos(2 * np.pi * day / _YEAR)
    lungs = np.isin(of_illness, [list(STEMS).index(name) for name in WINTER])
    rate[:, lungs] *= winter[:, None]
    written = rng.random(rate.shape) < 1.0 - np.exp(-rate)
    # One hospital changes its code set: the same illnesses, under other codes.
    late = day >= (p["codes"]["drift_year"] - 1) * _YEAR
    drifted = late & (where == DRIFTING_HOSPITAL)
    blocks = written[drifted].reshape(-1, kinds, each)
    written[drifted] = np.roll(blocks, each // 2, axis=2).reshape(-1, total)
    return np.asarray(written)


def _events(
    rng: np.random.Generator, ill: Bools, mixtures: Floats, mean: float
) -> NDArray[np.uint8]:
    """Return counts of events, each drawn for one illness of the patient, or none."""
    visits = np.repeat(np.arange(len(ill)), rng.poisson(mean, len(ill)))
    causes = np.column_stack([ill, np.ones(len(ill), dtype=bool)])[visits]
    cause = np.argmax(causes * rng.random(causes.shape), axis=1)
    steps = np.cumsum(mixtures, axis=1)[cause]
    event = (rng.random(len(visits))[:, None] > steps[:, :-1]).sum(axis=1)
    counts = np.zeros((len(ill), mixtures.shape[1]), dtype=np.uint8)
    np.add.at(counts, (visits, event), 1)
    return counts


def site(seed: int, hospital: int, patients: int) -> tuple[Visits, np.random.Generator]:
    """Return a hospital's visits and its stream, which goes on to names and places.

    Guarantees:
        The same arguments give the same visits, whatever other hospitals are made.
    """
    rng = site_stream(seed, hospital)
    return one_hospital(rng, seed, hospital, patients), rng
