# SPDX-License-Identifier: Apache-2.0
"""Mutants of claims and of what they are computed from, and the checks that notice.

Every check passes on the real code and fails on its mutants.
"""

import json
import math
from typing import Any

import pytest

from lexfed.budget import noise_plan as planning
from lexfed.budget.noise_plan import Budget, Draft, DraftGroup, effective_budget
from lexfed.errors import ClaimError
from lexfed.federation.engines.clear_sums import InProcess
from lexfed.federation.site.data_holder import Site
from lexfed.privacy import selection
from lexfed.privacy.claim import proof as claims
from lexfed.privacy.claim.lines import SamplerError
from lexfed.privacy.claim.proof import dump_claim, load_claim
from lexfed.privacy.claim.schema import Claim
from lexfed.privacy.noise import gaussian
from lexfed.privacy.noise.gaussian import delta_sampler
from lexfed.privacy.releases import Release, ReleaseGroup
from lexfed.privacy.selection import Repetitions, selection_cost
from lexfed.tiers import Tier
from support.federation.worlds import play, seeded, world
from support.mutant import Mutant, Patch, both_tests
from support.privacy.claims import claim_of

DELTA = 1e-6


def release(sigma: float, samples: int) -> Release:
    group = ReleaseGroup("special", 1.0, sigma)
    return Release("special", (group,), 1.0, Tier.SPECIAL, samples)


def build(sigma: float, samples: int) -> Claim:
    counted = [(release(sigma, samples), 1)]
    columns = {Tier.SPECIAL: ["a"]}
    return claim_of(counted, delta=DELTA, accountant="gdp", rounds=1, columns=columns)


def lines_pay_for_themselves() -> None:
    claim = build(0.8, 1000)
    assert claim.label.epsilon > claim.epsilon + 5.0
    stated = claim.label.delta_sampler
    assert stated is not None
    assert stated >= delta_sampler(1000, claim.label.epsilon)
    assert any("the label" in gap for gap in build(0.28, 1000).not_covered)


def claims_that_pay_less_are_refused() -> None:
    value: Any = json.loads(json.dumps(dump_claim(build(0.8, 1000))))
    value["label"]["delta_sampler"] = value["delta_sampler"]
    with pytest.raises(ClaimError, match="`delta_sampler` of the label"):
        load_claim(value)


def lines_that_say_nothing_are_named() -> None:
    value: Any = json.loads(json.dumps(dump_claim(build(0.28, 1000))))
    value["not_covered"] = []
    with pytest.raises(ClaimError, match="`not_covered` does not say so"):
        load_claim(value)


def searches_pay_line_by_line() -> None:
    cost = selection_cost(
        [[(release(0.7, 10**9), 1)]],
        Repetitions("geometric", 10.0),
        delta=DELTA,
        neighbours="add-remove",
        tiers=[Tier.SPECIAL],
    )
    assert cost.epsilon < math.inf == cost.label == cost.tiers[Tier.SPECIAL]


def caps_and_filters_are_paid_for() -> None:
    draft = Draft("t", 0, (DraftGroup("t", 1.0, 10),), 1.0, (1.0,), Tier.SPECIAL, 1.0)
    budget = Budget(8.0, 1e-15, "add-remove", {Tier.SPECIAL: 12.0})
    for guarantee, samples in (("envelope", 10), ("filter", 10_000)):
        left = effective_budget(budget, [draft], guarantee)  # type: ignore[arg-type]
        # Differences of numbers of 1e-15 are off by 1e-31.
        assert left.delta <= budget.delta - delta_sampler(samples, 12.0) + 1e-30


def ledgers_do_not_tell_whom_coins_chose() -> None:
    of = world(unit="client", sampling_rate=0.5, learning_rate=0.1, rounds=4)
    ledgers = [of.ledger() for _ in of.sites]
    sites = [
        Site(of.programme, data, ledger, seeded(1))
        for data, ledger in zip(of.sites, ledgers, strict=True)
    ]
    seen = play(of, rounds=1)
    InProcess(sites).ask(seen.queries[0], [of.sites[0].name])
    assert {len(ledger.events()) for ledger in ledgers if ledger is not None} == {1}


def _charged_when_asked(patch: Patch) -> None:
    patch.setattr(Site, "keep_up", lambda *_: None)


def _at_the_epsilon_of_the_record(patch: Patch) -> None:
    real = SamplerError.at
    patch.setattr(SamplerError, "at", lambda self, _: real(self, 1.0))


def _not_checked(patch: Patch) -> None:
    patch.setattr(claims, "check_sampler", lambda *_: None)


def _search_at_one_epsilon(patch: Patch) -> None:
    def broken(price: Any, delta: float, samples: int) -> float:
        found: float = price(delta - delta_sampler(samples, 2.0))
        return found

    patch.setattr(selection, "epsilon_with_sampler", broken)


def _caps_forgotten(patch: Patch) -> None:
    patch.setattr(
        planning,
        "delta_sampler",
        lambda samples, _: gaussian.delta_sampler(samples, 8.0),
    )


def _rounds_of_filters_forgotten(patch: Patch) -> None:
    patch.setattr(planning, "MOST_SAMPLES", 1)


MUTANTS = (
    Mutant(
        "an empty line that nobody names",
        lambda patch: patch.setattr(claims, "check_uncovered_lines", lambda _: None),
        lines_that_say_nothing_are_named,
    ),
    Mutant(
        "the sampler paid at the record's epsilon by every line",
        _at_the_epsilon_of_the_record,
        lines_pay_for_themselves,
    ),
    Mutant(
        "what lines pay not checked on reading",
        _not_checked,
        claims_that_pay_less_are_refused,
    ),
    Mutant(
        "a search whose lines pay at one epsilon",
        _search_at_one_epsilon,
        searches_pay_line_by_line,
    ),
    Mutant(
        "caps forgotten when the sampler is paid first",
        _caps_forgotten,
        caps_and_filters_are_paid_for,
    ),
    Mutant(
        "values of a filter's further rounds not paid for",
        _rounds_of_filters_forgotten,
        caps_and_filters_are_paid_for,
    ),
    Mutant(
        "sites charged only in rounds that coins chose them for",
        _charged_when_asked,
        ledgers_do_not_tell_whom_coins_chose,
    ),
)

test_the_real_code_passes, test_a_mutant_is_caught = both_tests(MUTANTS)
