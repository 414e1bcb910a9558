# SPDX-License-Identifier: Apache-2.0
"""Mutants of a round: what is asked, charged, answered, weighed and adapted."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from lexfed.budget import noise_feedback
from lexfed.budget.noise_feedback import Signal
from lexfed.errors import Refused
from lexfed.federation.coordinator.learner import Learner
from lexfed.federation.coordinator.noisy_descent import TowerSteering
from lexfed.federation.coordinator.rounds import Coordinator
from lexfed.federation.planning import draft_releases
from lexfed.federation.programme.messages import Query, Reply, answer_from_bytes
from lexfed.federation.programme.sequence import Programme, Stage
from lexfed.federation.site import contributions
from lexfed.federation.site import data_holder as sites
from lexfed.federation.site.contributions import contribute
from lexfed.federation.site.data_holder import Site
from lexfed.privacy.releases import Release
from lexfed.privacy.run_ledger import Ledger
from lexfed.privacy.scopes import tier_epsilon
from lexfed.tiers import Tier
from support.federation import adaptation_checks, site_checks
from support.federation.worlds import World, play, seeded, world
from support.mutant import Mutant, Patch, both_tests


def small() -> World:
    return world(sizes=(20, 15))


def everything_is_charged() -> None:
    """Each round of a run is in the envelope, the labels and metrics included."""
    of = world(sizes=(20, 15), paid_metrics=True)
    seen = play(of)
    charged = [r for release, n in of.programme.charges() for r in [release] * n]
    assert [query.release for query in seen.queries] == charged
    kinds = {query.kind for query in seen.queries}
    assert kinds == {"labels", "moments", "residuals", "metrics"}
    ledger = of.ledger()
    assert ledger is not None
    spent = ledger.rebuild([r.to_json() for r in charged]).spent().record
    assert spent == pytest.approx(of.budget.epsilon, rel=1e-6)


def every_release_says_what_it_reads() -> None:
    of = world(sizes=(20, 15), model="mlp:3", rounds=2, paid_metrics=True)
    for stage in of.programme.stages:
        slots = of.programme.shapes[stage.tower].slots
        most = max(of.encoding.slots[place].tier for place in slots)
        for release in stage.releases:
            assert release is not None
            assert release.reads == (None if stage.kind == "labels" else most)
    special = tier_epsilon(of.programme.charges(), Tier.SPECIAL, of.budget.delta)
    assert special == pytest.approx(of.budget.caps[Tier.SPECIAL], rel=1e-9)


def charge_comes_first() -> None:
    """A site's ledger holds the charge when its data are touched."""
    of = small()
    query = play(of, rounds=1).queries[0]
    ledger = of.ledger()
    assert ledger is not None
    charged: list[int] = []
    real = contribute

    def watched(*parts: Any) -> Any:
        charged.append(len(ledger.events()))
        return real(*parts)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sites, "contribute", watched)
        Site(of.programme, of.sites[0], ledger, seeded(1)).handle(query.to_bytes())
    assert charged == [1]


def the_coordinator_charges_first() -> None:
    of = small()
    ledger = of.ledger()
    assert ledger is not None
    learner = Learner(of.programme)
    coordinator = Coordinator(of.programme, learner, ledger, seeded(1), learner.start())
    assert coordinator.next() is not None
    assert len(ledger.events()) == 1


def a_site_refuses_to_peek() -> None:
    of = small()
    query = play(of, rounds=1).queries[0]
    shape = of.programme.shapes[0]
    peek = replace(shape, slots=(*shape.slots[:-1], of.programme.shapes[-1].slots[0]))
    tower = replace(query.model.towers[0], shape=peek)
    changed = replace(query, model=query.model.with_tower(0, tower))
    site = Site(of.programme, of.sites[0], of.ledger(), seeded(1))
    assert not isinstance(answer_from_bytes(site.handle(changed.to_bytes())), Reply)


def an_answer_counts_once() -> None:
    of = small()
    learner = Learner(of.programme)
    coordinator = Coordinator(
        of.programme, learner, of.ledger(), seeded(1), learner.start()
    )
    asked = coordinator.next()
    assert asked is not None
    reply = Reply("site0", 1, np.ones(1, dtype=np.int64), noised=False)
    with pytest.raises(Refused):
        coordinator.receive(asked.query, [reply, reply])


def _reads_too_little(patch: Patch) -> None:
    real = draft_releases._descent

    def broken(*parts: Any) -> Any:
        item = real(*parts)
        return replace(item, draft=replace(item.draft, reads=Tier.NON_PERSONAL))

    patch.setattr(draft_releases, "_descent", broken)


def _charges_without(patch: Patch, drop: Callable[[Release], bool]) -> None:
    real = Programme.charges

    def broken(self: Programme, *sites: int) -> Any:
        return tuple((r, n) for r, n in real(self, *sites) if not drop(r))

    patch.setattr(Programme, "charges", broken)


def _label_uncharged(patch: Patch) -> None:
    _charges_without(patch, lambda release: release.name == "label rate")


def _metrics_uncharged(patch: Patch) -> None:
    _charges_without(patch, lambda release: release.name == "metrics")


def _one_round_uncharged(patch: Patch) -> None:
    real = Programme.charges

    def broken(self: Programme, *sites: int) -> Any:
        *others, (last, count) = real(self, *sites)
        place = max(k for k, (_, n) in enumerate(others) if n > 1)
        release, rounds = others[place]
        others[place] = (release, rounds - 1)
        return (*others, (last, count))

    patch.setattr(Programme, "charges", broken)


def _charge_after_answer(patch: Patch) -> None:
    def broken(self: Site, content: bytes) -> bytes:
        from lexfed.federation.programme.messages import answer_to_bytes

        query = Query.from_bytes(content)
        answer = answer_to_bytes(self._reply(query))
        assert self._ledger is not None
        assert query.release is not None
        self._ledger.charge(query.release)
        return answer

    patch.setattr(Site, "handle", broken)


def _coordinator_never_charges(patch: Patch) -> None:
    patch.setattr(Ledger, "charge", lambda *_: None)


def _site_trusts_shapes(patch: Patch) -> None:
    patch.setattr(Site, "_agreed", lambda *_: True)


def _answers_unchecked(patch: Patch) -> None:
    patch.setattr(Coordinator, "_check", lambda *_: None)


def _any_noise(patch: Patch) -> None:
    patch.setattr(Stage, "admits", lambda *_: True)


def _spends_it_all(patch: Patch) -> None:
    patch.setattr(Coordinator, "_fits", lambda *_: True)


def _large_bits(patch: Patch) -> None:
    patch.setattr(contributions, "BIT_CLIP", 0.2)


def _large_client_bit(patch: Patch) -> None:
    real = vars(contributions)["_cut_bit"]
    patch.setattr(contributions, "_cut_bit", lambda *parts: 3.0 * real(*parts))


def _radius_not_undone(patch: Patch) -> None:
    def broken(_: Any, __: Any, ___: Any, mean: NDArray[Any]) -> NDArray[Any]:
        return mean[:-1]

    patch.setattr(TowerSteering, "unscaled", broken)


def _no_bounds(patch: Patch) -> None:
    patch.setattr(noise_feedback, "_between", lambda _, value, __: value)


def _never_freezes(patch: Patch) -> None:
    patch.setattr(Signal, "is_sound", lambda *_: True)


MUTANTS = (
    Mutant("`reads` too low", _reads_too_little, every_release_says_what_it_reads),
    Mutant(
        "the label rate charged nowhere",
        _label_uncharged,
        everything_is_charged,
        (AssertionError, Refused),
    ),
    Mutant(
        "metrics charged nowhere",
        _metrics_uncharged,
        everything_is_charged,
        (AssertionError, Refused),
    ),
    Mutant(
        "one release more than charged",
        _one_round_uncharged,
        everything_is_charged,
        (AssertionError, Refused),
    ),
    Mutant("charged after the answer", _charge_after_answer, charge_comes_first),
    Mutant(
        "rounds never charged",
        _coordinator_never_charges,
        the_coordinator_charges_first,
    ),
    Mutant("a site that trusts shapes", _site_trusts_shapes, a_site_refuses_to_peek),
    Mutant(
        "a site that does not count numbers",
        site_checks.numbers_not_counted,
        site_checks.a_refusal_says_nothing_about_data,
        (AssertionError, IndexError, RuntimeError),
    ),
    Mutant("an answer counted twice", _answers_unchecked, an_answer_counts_once),
    Mutant(
        "a site that takes any noise",
        _any_noise,
        adaptation_checks.sites_keep_to_the_range,
    ),
    Mutant(
        "a tower that spends what others were promised",
        _spends_it_all,
        adaptation_checks.stages_keep_to_their_parts,
        (AssertionError, Refused),
    ),
    Mutant("bits larger than charged", _large_bits, adaptation_checks.bits_are_bounded),
    Mutant(
        "a client's bit larger than charged",
        _large_client_bit,
        adaptation_checks.client_bits_are_bounded,
    ),
    Mutant(
        "the radius not undone",
        _radius_not_undone,
        adaptation_checks.steps_are_in_the_unit_of_the_model,
    ),
    Mutant(
        "a factor without bounds", _no_bounds, adaptation_checks.factors_are_bounded
    ),
    Mutant(
        "adaptation that never freezes",
        _never_freezes,
        adaptation_checks.broken_releases_freeze,
    ),
    Mutant(
        "a weight charged but not applied",
        site_checks.weight_charged_but_not_applied,
        site_checks.a_site_says_no_more_than_it_is_charged_for,
    ),
    Mutant(
        "a weight before the clip",
        site_checks.weight_applied_before_the_clip,
        site_checks.a_site_says_no_more_than_it_is_charged_for,
    ),
    Mutant(
        "rounding of light sites not paid for",
        site_checks.weighted_rounding_unpaid,
        site_checks.a_site_says_no_more_than_it_is_charged_for,
    ),
    Mutant(
        "clients charged by weight, added without",
        site_checks.clients_not_weighted,
        site_checks.a_client_says_no_more_than_it_is_charged_for,
    ),
    Mutant(
        "profiles ignored",
        site_checks.profiles_ignored,
        site_checks.every_site_keeps_its_own_budget,
    ),
    Mutant(
        "saving forgotten",
        site_checks.saving_forgotten,
        site_checks.every_site_keeps_its_own_budget,
    ),
    Mutant(
        "sampling rates of sites ignored",
        site_checks.rates_of_sites_ignored,
        site_checks.sites_flip_coins_of_their_own_rate,
    ),
    Mutant(
        "a profile claimed by its lightest site",
        site_checks.claimed_by_the_lightest_site,
        site_checks.a_profile_speaks_for_all_its_sites,
    ),
    Mutant(
        "one budget for the ledgers of all sites",
        site_checks.one_budget_for_all_sites,
        site_checks.a_strict_site_refuses_the_others_plan,
    ),
    Mutant(
        "a total that only bounds each site",
        site_checks.projection_on_the_box_only,
        site_checks.a_total_is_never_exceeded,
    ),
)


test_the_real_code_passes, test_a_mutant_is_caught = both_tests(MUTANTS)
