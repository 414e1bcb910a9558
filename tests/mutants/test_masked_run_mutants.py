# SPDX-License-Identifier: Apache-2.0
"""Mutants of runs with masked sums: mistakes, and what notices each.

Every check passes on the real code and fails on its mutants.
"""

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from lexfed.federation.engines import channel, masked_setting, masked_sums
from lexfed.federation.engines.clear_sums import RoundLost
from lexfed.federation.engines.masked_sums import MaskedSums
from lexfed.federation.programme import integer_sums
from lexfed.federation.programme.messages import Refusal, Reply
from lexfed.federation.programme.sequence import Programme
from lexfed.federation.site.data_holder import Site
from lexfed.privacy.noise.shares import NoiseCohort, half_variance
from lexfed.randomness import SeededSource
from lexfed.secagg.masks.terms import MaskTerms
from lexfed.secagg.masks.thresholds import Threshold
from support.federation.masked_worlds import (
    ask,
    charged,
    federation,
    losing,
    masked_world,
)
from support.federation.worlds import World, play, seeded, world
from support.mutant import Mutant, Patch, both_tests

FAILED = (AssertionError, pytest.fail.Exception)


@cache
def masked() -> World:
    return masked_world(dropouts=1)


@cache
def local() -> World:
    return world(sizes=(12, 9), trust="local")


# Checks


def longer_answers_than_asked_for_are_missing() -> None:
    doors = channel.InProcessChannel({"north": lambda _: bytes(101)})
    assert doors.exchange({"north": b""}, 100) == {}


def a_sum_has_the_noise_that_is_charged() -> None:
    """400 sums of 7 values: too low by a third has probability below 10^-40."""
    of = masked()
    cohort, stage = of.programme.cohort, of.programme.stages[-2]
    release = stage.releases[0]
    assert cohort is not None
    assert release is not None
    found = []
    for number in range(400):
        total = np.zeros(stage.dimension, dtype=np.int64)
        for site in range(cohort.honest):
            source = SeededSource(number, f"noise/{site}")
            total = integer_sums.add_share(total, stage, release, cohort, source)
        found.append(total)
    half = half_variance(release.groups[0].sigma, stage.blocks[0].grid.step, cohort)
    charged_variance = 2 * half * cohort.honest
    assert float(np.var(found)) > charged_variance * 2 / 3


def every_answer_is_charged() -> None:
    of = local()
    ledger = of.ledger(0)
    assert ledger is not None
    content = play(of, rounds=1).queries[0].to_bytes()
    first = Site(of.programme, of.sites[0], ledger, seeded(1)).answer(content)
    assert isinstance(first, Reply)
    again = Site(of.programme, of.sites[0], ledger, seeded(1)).answer(content)
    assert isinstance(again, Refusal)


def the_learner_knows_the_noise() -> None:
    assert masked().programme.loudness() == pytest.approx(4 / 3)


def sites_open_sums_of_enough_sites_only() -> None:
    """The sites see to it, whatever the coordinator does."""
    fed = federation(masked())
    fed.engine.prepare()
    # A coordinator that tolerates two missing sites; no honest cohort of four does.
    careless = NoiseCohort(4, 0, 1)
    object.__setattr__(careless, "dropouts", 2)
    vars(fed.engine)["_cohort"] = careless
    fed.line.tamper = losing("ask", "site0", "site3")
    asked = charged(fed)
    with pytest.raises(RoundLost):
        fed.engine.ask(asked.query, asked.participants)


def a_sum_that_wraps_is_lost() -> None:
    fed = federation(masked())
    site = fed.sites["site1"]
    real = site._site.answer

    def loud(content: bytes) -> Reply | Refusal:
        said = real(content)
        assert isinstance(said, Reply)
        return Reply(said.site, said.round, said.total + 2**22, True, said.receipt)

    vars(site._site)["answer"] = loud
    asked = charged(fed)
    with pytest.raises(RoundLost):
        fed.engine.ask(asked.query, asked.participants)


def a_message_counts_for_its_sender() -> None:
    fed = federation(masked())
    fed.engine.prepare()
    kept: dict[str, bytes] = {}

    def copied(site: str, step: str, said: bytes) -> bytes | None:
        kept.setdefault(step, said)
        if step == "ask" and site == "site0":
            return None
        return kept[step] if site == "site1" else said

    fed.line.tamper = copied
    try:
        _, reply = ask(fed)
    except RoundLost:
        return  # of four, two are left
    assert "site0" not in reply.of


# Mutants


def _no_share(patch: Patch) -> None:
    patch.setattr(integer_sums, "add_share", lambda total, *_: total)


def _half_a_share(patch: Patch) -> None:
    patch.setattr(
        integer_sums,
        "half_variance",
        lambda sigma, step, cohort: half_variance(sigma, step, cohort) // 2,
    )


def _answers_for_free(patch: Patch) -> None:
    patch.setattr(Site, "_unpaid", lambda *_: ())


def _noise_of_the_charge(patch: Patch) -> None:
    patch.setattr(Programme, "loudness", lambda *_: 1.0)


def _any_number_of_sites(patch: Patch) -> None:
    def fewer(**terms: Any) -> MaskTerms:
        return MaskTerms(**{**terms, "least_sites": 2})

    patch.setattr(masked_setting, "MaskTerms", fewer)
    patch.setattr("lexfed.secagg.masks.cohort.Threshold.malicious", _two)


def _two(sites: int, colluders: int, dropouts: int = 0) -> Threshold:
    return Threshold(sites, colluders, 2)


def _any_sum(patch: Patch) -> None:
    patch.setattr(masked_sums, "stays_within", lambda *_: True)
    patch.setattr(masked_sums, "longest_sum", lambda *_: 2**23 - 1)


def _anybodys_message(patch: Patch) -> None:
    patch.setattr(MaskedSums, "_take", lambda _, __, said, take: take(said))


def _answers_of_any_length(patch: Patch) -> None:
    honest = channel.InProcessChannel.exchange

    def broken(self: channel.InProcessChannel, messages: Any, _: int) -> Any:
        return honest(self, messages, 2**62)

    patch.setattr(channel.InProcessChannel, "exchange", broken)


def _lost_like_any_other(patch: Patch) -> None:
    patch.setattr(
        masked_sums, "RoundLost", lambda message, *_: RoundLost(message, "site-lost")
    )


def a_sum_out_of_bound_is_told_apart() -> None:
    """The run ends after such a round, and goes on after sites that are missing."""
    fed = federation(masked())
    asked = charged(fed)
    site = fed.sites["site1"]._site
    real = site.answer

    def loud(content: bytes) -> Reply | Refusal:
        said = real(content)
        assert isinstance(said, Reply)
        largest = fed.setting(1).terms.ring.largest
        return replace(said, total=np.full_like(said.total, largest))

    vars(site)["answer"] = loud
    with pytest.raises(RoundLost) as lost:
        fed.engine.ask(asked.query, asked.participants)
    assert lost.value.cause == "sum-out-of-bound"


MUTANTS = (
    Mutant(
        "answers of any length",
        _answers_of_any_length,
        longer_answers_than_asked_for_are_missing,
    ),
    Mutant(
        "a sum out of its bound is like a missing site",
        _lost_like_any_other,
        a_sum_out_of_bound_is_told_apart,
    ),
    Mutant("no share of noise", _no_share, a_sum_has_the_noise_that_is_charged),
    Mutant("half a share", _half_a_share, a_sum_has_the_noise_that_is_charged),
    Mutant("answers for free", _answers_for_free, every_answer_is_charged, FAILED),
    Mutant("noise as charged", _noise_of_the_charge, the_learner_knows_the_noise),
    Mutant(
        "sums of any number of sites",
        _any_number_of_sites,
        sites_open_sums_of_enough_sites_only,
        FAILED,
    ),
    Mutant("sums of any size", _any_sum, a_sum_that_wraps_is_lost, FAILED),
    Mutant(
        "messages of anybody",
        _anybodys_message,
        a_message_counts_for_its_sender,
        (AssertionError, KeyError),
    ),
)

test_the_real_code_passes, test_a_mutant_is_caught = both_tests(MUTANTS)
