# SPDX-License-Identifier: Apache-2.0
"""Mutants of accounting: filters, prices, policies, seeds and public sizes."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from lexfed.audit.verify import budgets as logged_budgets
from lexfed.config import loads
from lexfed.errors import ConfigError
from lexfed.privacy import filters
from lexfed.privacy.accountants import composition, gdp
from lexfed.privacy.accountants.gdp import Step, mu_from
from lexfed.privacy.claim import proof
from lexfed.privacy.filters import PlanFilter
from lexfed.privacy.releases import Release, ReleaseGroup
from lexfed.privacy.scopes import record_epsilon, tier_epsilon
from lexfed.randomness import SeededSource
from lexfed.run.intake import public_facts
from lexfed.run.pricing.priced_run import PricedRun
from lexfed.tiers import Tier
from support.configurations import configuration
from support.federation.worlds import World, world
from support.mutant import Mutant, Patch, both_tests
from support.privacy import filter_checks, policy_checks


def small() -> World:
    return world(sizes=(20, 15))


def a_ledger_refuses_less_noise() -> None:
    of = small()
    ledger = of.ledger()
    assert ledger is not None
    release = of.programme.charges()[0][0]
    group = release.groups[0]
    louder = replace(release, groups=(replace(group, sigma=group.sigma / 3),))
    assert ledger.would_exceed(louder) is not None


def replacing_costs_twice() -> None:
    """Exact, Rényi and distribution accounting all know the factor of two."""
    release = Release("r", (ReleaseGroup("g", 1.0, 4.0),), 1.0, Tier.SPECIAL, 1)
    for relation, mu in (("add-remove", 0.25), ("replace-one", 0.5)):
        found = record_epsilon([(release, 1)], 1e-6, relation)  # type: ignore[arg-type] # a literal
        assert mu_from(found, 1e-6) == pytest.approx(mu, rel=1e-6)
    special = tier_epsilon([(release, 1)], Tier.SPECIAL, 1e-6)
    assert mu_from(special, 1e-6) == pytest.approx(0.5, rel=1e-6)


def whole_numbers_are_priced_like_any_other() -> None:
    """Bug B1 of dp-accounting 0.6: of composed groups it returns an integer's own.

    sigma = 2 and 1, clip 1, rate .01, 1000 rounds, delta 1e-5: 2.749, not 0.686.
    """
    groups = (ReleaseGroup("a", 1, 2), ReleaseGroup("b", 1.0, 1.0))
    release = Release("r", groups, 0.01, Tier.SPECIAL, 2)
    found = record_epsilon([(release, 1000)], 1e-5, "add-remove", "rdp")
    assert 2.7 < found < 3.3
    whole, near = Step(2, 0.01, 7), Step(2.0 + 1e-12, 0.01, 7)
    values = [
        composition.epsilon([step], 1e-6, accountant="rdp") for step in (whole, near)
    ]
    assert values[0] == pytest.approx(values[1], rel=1e-6)


@cache
def priced(test: bool = False) -> PricedRun:
    generator = {"clients": 300, "sites": 2}
    changes = {
        "run": {"name": "mutant", "test": test},
        "data": {"source": "synthetic:bank", "generator": generator},
        "budget": {"epsilon": 4.0, "delta": 1e-6},
        "federation": None,
    }
    config = loads(configuration(changes), "mutant")
    from lexfed.run import price, seeded_population

    return price(config, seeded_population(config, Path()))


def only_stamped_runs_are_seeded() -> None:
    for test in (False, True):
        run = priced(test)
        claim = run.claim(run.programme.rounds)
        assert claim is not None
        source = run.sources()("noise/1")
        assert source.private == (claim.stamp is None)
        assert source.private != test


def the_divisor_is_public() -> None:
    """Under add/remove an undeclared number of persons is refused, not counted."""
    run = priced()
    hidden = run.config.model_copy(
        update={
            "budget": run.config.budget.model_copy(update={"neighbours": "add-remove"})
        }
    )
    sizes = run.population.sizes or ()
    with pytest.raises(ConfigError, match="number of people"):
        public_facts.public_units(hidden, len(sizes), sum(sizes))


def _envelope_lets_all_pass(patch: Patch) -> None:
    patch.setattr(filters, "dominates", lambda *_: True)


def _envelope_blind_to_clips(patch: Patch) -> None:
    real = filters.dominates

    def blind(planned: Release, release: Release) -> bool:
        if len(planned.groups) != len(release.groups):
            return False
        pairs = zip(planned.groups, release.groups, strict=True)
        groups = (ReleaseGroup(p.name, p.clip, g.sigma) for p, g in pairs)
        return real(planned, replace(release, groups=tuple(groups)))

    patch.setattr(filters, "dominates", blind)


def _shapes_unchecked(patch: Patch) -> None:
    patch.setattr(filters, "release_shape", lambda _: "any")


def _sums_with_room(patch: Patch) -> None:
    real = PlanFilter.of
    patch.setattr(PlanFilter, "of", lambda *of: replace(real(*of), room=1e-3))


def _sums_of_the_record_only(patch: Patch) -> None:
    real = filters.ScopeSum.cost
    patch.setattr(
        filters.ScopeSum, "cost", lambda s, r: real(s, r) if s.tier is None else 0
    )


def _order_of_another_plan(patch: Patch) -> None:
    patch.setattr(filters, "_best_order", lambda *_: 3)


def _rounds_unheld(patch: Patch) -> None:
    patch.setattr(logged_budgets, "_after", lambda before, *_: before)


def _parts_unproven(patch: Patch) -> None:
    patch.setattr(proof, "check_parts", lambda *_: None)


def _replace_priced_as_add(patch: Patch) -> None:
    patch.setattr(gdp, "sensitivity", lambda _: 1.0)


def _integer_multiplier(patch: Patch) -> None:
    def broken(self: Release) -> float:
        for group in self.groups:
            if isinstance(group.sigma, int):
                return group.sigma / group.clip
        return 1.0 / float(np.hypot.reduce([g.clip / g.sigma for g in self.groups]))

    patch.setattr(Release, "noise_multiplier", property(broken))


def _seeded_without_stamp(patch: Patch) -> None:
    patch.setattr(
        PricedRun, "sources", lambda _: lambda purpose: SeededSource(0, purpose)
    )


def _private_divisor(patch: Patch) -> None:
    patch.setattr(public_facts, "public_units", lambda _, __, counted: counted)


MUTANTS = (
    Mutant(
        "an envelope without bounds",
        _envelope_lets_all_pass,
        a_ledger_refuses_less_noise,
    ),
    Mutant(
        "an envelope blind to clips",
        _envelope_blind_to_clips,
        filter_checks.envelopes_hold,
    ),
    Mutant("shapes unchecked", _shapes_unchecked, filter_checks.sums_hold),
    Mutant("sums with some room", _sums_with_room, filter_checks.sums_hold),
    Mutant(
        "sums of the record only", _sums_of_the_record_only, filter_checks.sums_hold
    ),
    Mutant(
        "the order of another plan",
        _order_of_another_plan,
        filter_checks.divergences_hold,
    ),
    Mutant(
        "a verifier that takes any round",
        _rounds_unheld,
        filter_checks.rounds_outside_the_plan_are_found,
    ),
    Mutant(
        "profiles and classes unproven",
        _parts_unproven,
        filter_checks.parts_are_proven,
    ),
    Mutant(
        "replace-one priced as add/remove",
        _replace_priced_as_add,
        replacing_costs_twice,
    ),
    Mutant(
        "an integer multiplier (bug B1)",
        _integer_multiplier,
        whole_numbers_are_priced_like_any_other,
    ),
    Mutant(
        "seeded noise without a stamp",
        _seeded_without_stamp,
        only_stamped_runs_are_seeded,
    ),
    Mutant("a private divisor", _private_divisor, the_divisor_is_public),
    Mutant(
        "caps of a policy forgotten",
        policy_checks.caps_forgotten,
        policy_checks.a_policy_caps_its_tiers,
    ),
    Mutant(
        "caps outside the range of their level",
        policy_checks.ranges_forgotten,
        policy_checks.caps_stay_in_their_range,
    ),
    Mutant(
        "signatures of policies not checked",
        policy_checks.signatures_unchecked,
        policy_checks.a_policy_is_what_was_signed,
    ),
    Mutant(
        "the best of many charged as one run",
        policy_checks.searches_charged_as_one_run,
        policy_checks.the_best_of_many_costs_more_than_one,
    ),
    Mutant(
        "a search charged after it ran",
        policy_checks.searches_charged_afterwards,
        policy_checks.a_search_is_on_disk_before_it_runs,
        (FileNotFoundError,),
    ),
)


test_the_real_code_passes, test_a_mutant_is_caught = both_tests(MUTANTS)
