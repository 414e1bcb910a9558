# SPDX-License-Identifier: Apache-2.0
"""Hand-made mutants of privacy core and log: each breaks one promise and is caught.

A row of `MUTANTS` names a mistake, breaks the real code that way, and names the check
of `support.federation.checks`, `support.audit.log_checks` or this file that notices.
Every check passes on the real code (`test_the_real_code_passes`) and fails on its
mutants. To add one, add a row.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from lexfed.audit.entries import RoundEntry, receipts
from lexfed.audit.log.audit_log import AuditLog
from lexfed.audit.verify import plan as logged_plan
from lexfed.budget import noise_feedback
from lexfed.budget.noise_feedback import Signal
from lexfed.budget.noise_plan import Budget
from lexfed.config import loads
from lexfed.data.people import unit_blocks
from lexfed.durable import publish_file
from lexfed.errors import ConfigError, Refused
from lexfed.federation.coordinator.learner import Learner
from lexfed.federation.coordinator.noisy_descent import TowerSteering
from lexfed.federation.coordinator.rounds import Coordinator
from lexfed.federation.engines import clear_sums
from lexfed.federation.planning import draft_releases, training_programme
from lexfed.federation.planning.programme_draft import tower_shapes
from lexfed.federation.programme import integer_sums
from lexfed.federation.programme.messages import Query, Reply, answer_from_bytes
from lexfed.federation.programme.sequence import Programme, Stage
from lexfed.federation.site import contributions
from lexfed.federation.site import data_holder as sites
from lexfed.federation.site.contributions import contribute
from lexfed.federation.site.data_holder import Site
from lexfed.federation.site.unit_batch import UnitBatch, flip_coins
from lexfed.models.gradients.clipped_sum import clipped_sum
from lexfed.models.towers import Model, Tower
from lexfed.privacy import filters
from lexfed.privacy.accountants import composition, gdp
from lexfed.privacy.accountants.gdp import Step, mu_from
from lexfed.privacy.claim import proof
from lexfed.privacy.filters import PlanFilter
from lexfed.privacy.noise.gaussian import rounded_gaussian
from lexfed.privacy.noise.grids import Grid
from lexfed.privacy.releases import Release, ReleaseGroup
from lexfed.privacy.run_ledger import Ledger
from lexfed.privacy.scopes import record_epsilon, tier_epsilon
from lexfed.randomness import SeededSource, bernoulli
from lexfed.run.audit_log import logbook
from lexfed.run.audit_log.logbook import Logbook
from lexfed.run.driver import round_replies
from lexfed.run.folder import STATE, RunFolder
from lexfed.run.intake import public_facts
from lexfed.run.pricing.priced_run import PricedRun
from lexfed.tiers import Tier
from support.audit import log_checks
from support.federation import adaptation_checks, checks, class_worlds, site_checks
from support.federation.worlds import World, play, seeded, world
from support.mutant import Mutant, Patch, both_tests
from support.privacy import filter_checks, policy_checks

# Checks that need more than `support.federation.checks`. They build worlds inside, so
# that a mutant of planning is the code that plans.


def small() -> World:
    return world(sizes=(20, 15))


def clipped() -> World:
    return world(sizes=(20, 15), model="mlp:6", rounds=2, default_clip=0.01)


def sampled() -> World:
    return world(
        sizes=(700, 500),
        sampling_rate=0.2,
        rounds=4,
        model="mlp:2",
        accountant="rdp",
    )


def isolated() -> None:
    checks.check_isolation(small(), Tier.SPECIAL, "simulation", ("random", "nan"))


def isolated_when_sampled() -> None:
    of = world(
        sizes=(20, 15), sampling_rate=0.4, rounds=2, model="mlp:3", accountant="rdp"
    )
    checks.check_isolation(of, Tier.SPECIAL, "simulation", ["random"])


def noisy() -> None:
    checks.check_noise(world(sizes=(8, 7), model="mlp:128,64", rounds=3))


def noisy_groups() -> None:
    options: dict[str, Any] = {"mechanism": "grouped", "model": "mlp:128", "rounds": 8}
    checks.check_noise(world(sizes=(8, 7), **options))


def sensitive() -> None:
    checks.check_sensitivity(clipped())


def sensitive_rule() -> None:
    checks.check_sensitivity(small())


def sensitive_persons() -> None:
    checks.check_sensitivity(world(sizes=(20, 15), places=3, paid_metrics=True))


def sensitive_groups() -> None:
    groups = {Tier.SPECIAL: 0.02, Tier.PERSONAL: 0.05}
    checks.check_sensitivity(
        world(sizes=(20, 15), mechanism="grouped", rounds=2, clip=groups)
    )


def sensitive_clients() -> None:
    checks.check_client_sensitivity(
        world(
            sizes=(20, 15),
            unit="client",
            mechanism="grouped",
            rounds=2,
            clip={Tier.SPECIAL: 0.01},
            learning_rate=5.0,
        )
    )


def fair_coins() -> None:
    checks.check_coins(sampled())


def audited() -> None:
    budget = Budget(12.0, 1e-6, "add-remove", {Tier.SPECIAL: 8.0})
    of = world(sizes=(25, 20), budget=budget, rounds=1)
    checks.check_attribute_audit(of, Tier.SPECIAL)


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


CONFIG = """
version = 1
[run]
name = "mutant"
[data]
source = "synthetic:bank"
generator = { clients = 300, sites = 2 }
[budget]
epsilon = 4.0
delta = 1e-6
"""


@cache
def priced(test: bool = False) -> PricedRun:
    text = CONFIG.replace('"mutant"', f'"mutant"\ntest = {str(test).lower()}')
    config = loads(text, "mutant")
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
    with pytest.raises(ConfigError, match="number of persons"):
        public_facts.public_units(hidden, len(sizes), sum(sizes))


# Mutants


def _third_of_special_noise(patch: Patch) -> None:
    real = integer_sums.add_noise

    def broken(total: Any, stage: Any, release: Release, source: Any) -> Any:
        if release.reads == Tier.SPECIAL:
            groups = tuple(replace(g, sigma=g.sigma / 3) for g in release.groups)
            release = replace(release, groups=groups)
        return real(total, stage, release, source)

    patch.setattr(integer_sums, "add_noise", broken)


def _third_in_one_group(patch: Patch) -> None:
    real = integer_sums.add_noise

    def broken(total: Any, stage: Any, release: Release, source: Any) -> Any:
        *others, last = release.groups
        quiet = replace(last, sigma=last.sigma / 3)
        return real(total, stage, replace(release, groups=(*others, quiet)), source)

    patch.setattr(integer_sums, "add_noise", broken)


def _noise_forgotten_in_one_group(patch: Patch) -> None:
    real = integer_sums.add_noise

    def broken(total: Any, stage: Any, release: Any, source: Any) -> Any:
        noisy = real(total, stage, release, source)
        last = stage.blocks[-1]
        noisy[last.start : last.stop] = total[last.start : last.stop]
        return noisy

    patch.setattr(integer_sums, "add_noise", broken)


def _noise_drawn_once(patch: Patch) -> None:
    def broken(_: Any, scale: float, count: int) -> Any:
        return rounded_gaussian(SeededSource(0, "once"), scale, count)

    patch.setattr(integer_sums, "rounded_gaussian", broken)


def _nine_tenths_of_noise(patch: Patch) -> None:
    patch.setattr(
        integer_sums,
        "rounded_gaussian",
        lambda s, z, n: rounded_gaussian(s, 0.9 * z, n),
    )


def _no_gradient_clip(patch: Patch) -> None:
    real = clipped_sum

    def broken(
        module: Any, loss: Any, batch: Any, clips: Any, groups: Any, **more: Any
    ) -> Any:
        return real(module, loss, batch, [1e6 for _ in clips], groups, **more)

    patch.setattr(contributions, "clipped_sum", broken)


def _flat_clip_over_groups(patch: Patch) -> None:
    real = clipped_sum

    def broken(
        module: Any, loss: Any, batch: Any, clips: Any, groups: Any, **more: Any
    ) -> Any:
        return real(module, loss, batch, [max(clips) for _ in clips], groups, **more)

    patch.setattr(contributions, "clipped_sum", broken)


def _flat_clip_of_clients(patch: Patch) -> None:
    patch.setattr(contributions, "clip_update", lambda update, _: update)


def _rows_clipped_one_by_one(patch: Patch) -> None:
    """A person's rows are summed after clipping instead of averaged before."""

    def rows(vectors: torch.Tensor, cohort: UnitBatch) -> torch.Tensor:
        there = cohort.weights.unsqueeze(-1) > 0
        return torch.where(there, vectors, 0.0).sum(dim=1)

    patch.setattr(contributions, "_per_unit", rows)
    patch.setattr(contributions, "_clip", lambda vectors, _: torch.nan_to_num(vectors))


def _rounding_unpaid(patch: Patch) -> None:
    patch.setattr(Grid, "clip_to", property(lambda grid: 1.01 * grid.clip))


def _shared_coins(patch: Patch) -> None:
    def broken(_: Any, units: Sequence[int], rates: Sequence[float]) -> Any:
        return bernoulli(SeededSource(1, "all towers"), rates[0], sum(units))

    patch.setattr(clear_sums, "flip_coins", broken)


def _coins_above_their_rate(patch: Patch) -> None:
    patch.setattr(
        clear_sums,
        "flip_coins",
        lambda s, n, r: flip_coins(s, n, [min(1.0, 1.3 * rate) for rate in r]),
    )


def _coins_from_rows(patch: Patch) -> None:
    def broken(self: UnitBatch, chosen: NDArray[np.bool_]) -> UnitBatch:
        if chosen.all():
            return self
        hashed = (self.inputs.sum(dim=(1, 2)).numpy() * 1e6).astype(np.int64) % 5 < 2
        places = torch.from_numpy(np.flatnonzero(hashed))
        counts = (
            int(hashed[: self.sites[0]].sum()),
            int(hashed[self.sites[0] :].sum()),
        )
        return UnitBatch(
            self.inputs[places], self.targets[places], self.weights[places], counts
        )

    patch.setattr(UnitBatch, "take", broken)


def _scale_before_the_clip(patch: Patch) -> None:
    real = vars(contributions)["_per_unit"]

    def broken(rows: torch.Tensor, cohort: UnitBatch) -> torch.Tensor:
        shares = 1.0 if cohort.shares is None else cohort.shares.unsqueeze(1)
        scaled: torch.Tensor = real(rows, cohort) * shares
        return scaled

    patch.setattr(contributions, "_per_unit", broken)
    patch.setattr(contributions, "unit_factors", lambda _, shares, __: shares**0)


def _reads_not_raised(patch: Patch) -> None:
    patch.setattr(draft_releases, "raised_reads", lambda reads, _: reads)


def _all_rows_for_any(patch: Patch) -> None:
    def broken(rows: Any, unit: Any, count: int) -> Any:
        members = np.ones((count, rows.shape[1]), dtype=np.bool_)
        np.logical_and.at(members, unit, rows)
        return members

    patch.setattr(unit_blocks, "_of_units", broken)


def _complete_cases_only(patch: Patch) -> None:
    real = UnitBatch.of

    def broken(blocks: Sequence[Any], *more: Any) -> UnitBatch:
        kept = []
        for block in blocks:
            whole = np.isfinite(block.inputs).all(axis=(1, 2))
            kept.append(
                replace(
                    block,
                    inputs=block.inputs[whole],
                    targets=block.targets[whole],
                    weights=block.weights[whole],
                    persons=block.persons[whole],
                )
            )
        return real(kept, *more)

    patch.setattr(UnitBatch, "of", staticmethod(broken))


def _peeking_tower(patch: Patch) -> None:
    real = tower_shapes

    def broken(*parts: Any) -> Any:
        first, *others = real(*parts)
        special = others[-1].slots[0]
        return (replace(first, slots=(*first.slots[:-1], special)), *others)

    patch.setattr(training_programme, "tower_shapes", broken)


def _full_model_residual(patch: Patch) -> None:
    def broken(self: Model, _: int, slots: torch.Tensor) -> torch.Tensor:
        total = torch.zeros(*slots.shape[:-1], len(self.intercept), dtype=slots.dtype)
        for tower in self.towers:
            total = total + tower.logits(slots)
        return total

    patch.setattr(Model, "towers_below", broken)
    # As long as higher towers are zero nothing shows: they would not be for long.
    real = Tower.untrained

    def started(shape: Any) -> Tower:
        tower = real(shape)
        return replace(tower, parameters=tower.parameters + 0.1)

    patch.setattr(Tower, "untrained", staticmethod(started))


def _masking_by_zero(patch: Patch) -> None:
    """A tower multiplies the slots of others by zero: 0 times NaN is NaN."""

    def broken(self: Tower, slots: torch.Tensor) -> torch.Tensor:
        leak = (slots * 0.0).sum(dim=-1, keepdim=True)
        return slots[..., list(self.shape.slots)] + leak

    patch.setattr(Tower, "inputs", broken)


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
    patch.setattr(logged_plan, "_after", lambda before, *_: before)


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


def _entry_after_release(patch: Patch) -> None:
    real = RunFolder.stage

    def broken(self: RunFolder, progress: Any) -> bytes:
        content = real(self, progress)
        publish_file(self.path / STATE)
        return content

    patch.setattr(RunFolder, "stage", broken)
    patch.setattr(RunFolder, "publish", lambda _: None)


def _receipts_unchecked(patch: Patch) -> None:
    patch.setattr(round_replies, "check_receipt", lambda _, __, one, *___: one)
    patch.setattr(receipts, "encode", lambda _: b"[]")


def _participants_shown(patch: Patch) -> None:
    patch.setattr(round_replies, "secret_sampling", lambda _: False)


def _no_pin(patch: Patch) -> None:
    patch.setattr(AuditLog, "pin", lambda _: None)


def _label_not_in_the_logged_total(patch: Patch) -> None:
    real = Logbook._after

    def broken(self: Logbook, release: Release | None) -> Any:
        labels = release is not None and release.name == "label rate"
        return self.total if labels else real(self, release)

    patch.setattr(Logbook, "_after", broken)


def _unprotected_sum_hashed(patch: Patch) -> None:
    real = Logbook.round

    def broken(
        self: Logbook, query: Query, released: Any, state: bytes, *more: Any
    ) -> None:
        def entry(**fields: Any) -> RoundEntry:
            digest = logbook.sha256(released.update.tobytes())
            return RoundEntry(**{**fields, "update": fields["update"] or digest})

        with pytest.MonkeyPatch.context() as inner:
            inner.setattr(logbook, "RoundEntry", entry)
            real(self, query, released, state, *more)

    patch.setattr(Logbook, "round", broken)


FAILED = (AssertionError, pytest.fail.Exception)

MUTANTS = (
    Mutant("a third of the noise on the special tower", _third_of_special_noise, noisy),
    Mutant("the same, found by an attack", _third_of_special_noise, audited),
    Mutant("a third of the noise in one group", _third_in_one_group, noisy_groups),
    Mutant("no noise in one group", _noise_forgotten_in_one_group, noisy_groups),
    Mutant("noise drawn once and reused", _noise_drawn_once, noisy),
    Mutant("nine tenths of the noise", _nine_tenths_of_noise, noisy),
    Mutant("gradients not clipped", _no_gradient_clip, sensitive),
    Mutant("one flat clip for all groups", _flat_clip_over_groups, sensitive_groups),
    Mutant("client updates not clipped", _flat_clip_of_clients, sensitive_clients),
    Mutant("rows clipped one by one", _rows_clipped_one_by_one, sensitive_persons),
    Mutant("rounding not paid for", _rounding_unpaid, sensitive),
    Mutant("coins shared by all towers", _shared_coins, fair_coins),
    Mutant("coins above their rate", _coins_above_their_rate, fair_coins),
    Mutant("coins hashed from rows", _coins_from_rows, isolated_when_sampled),
    Mutant("complete cases only", _complete_cases_only, isolated),
    Mutant("a tower that peeks", _peeking_tower, isolated),
    Mutant("a residual of the full model", _full_model_residual, isolated_when_sampled),
    Mutant("masking by a product with zero", _masking_by_zero, isolated),
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
    Mutant(
        "an answer counted twice", _answers_unchecked, an_answer_counts_once, FAILED
    ),
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
        FAILED,
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
    Mutant(
        "a class's scale before the clip",
        _scale_before_the_clip,
        class_worlds.check_members_have_smaller_sums,
    ),
    Mutant(
        "a rule's columns not among those read",
        _reads_not_raised,
        class_worlds.check_reads_cover_membership,
    ),
    Mutant(
        "a member only if all rows are",
        _all_rows_for_any,
        class_worlds.check_one_row_makes_a_member,
    ),
    Mutant("a private divisor", _private_divisor, the_divisor_is_public, FAILED),
    Mutant(
        "a release before its entry",
        _entry_after_release,
        log_checks.entries_come_first,
    ),
    Mutant(
        "receipts nobody checks",
        _receipts_unchecked,
        log_checks.stolen_receipts_are_noticed,
        FAILED,
    ),
    Mutant(
        "secret participants logged",
        _participants_shown,
        log_checks.secret_participants_stay_secret,
    ),
    Mutant(
        "checkpoints not pinned", _no_pin, log_checks.restored_runs_are_refused, FAILED
    ),
    Mutant(
        "a logged total without the label rate",
        _label_not_in_the_logged_total,
        log_checks.logged_totals_are_complete,
    ),
    Mutant(
        "a hash of a sum without noise",
        _unprotected_sum_hashed,
        log_checks.unprotected_sums_are_not_hashed,
    ),
    Mutant(
        "caps of a policy forgotten",
        policy_checks.caps_forgotten,
        policy_checks.a_policy_caps_its_tiers,
    ),
    Mutant(
        "caps outside the range of their level",
        policy_checks.ranges_forgotten,
        policy_checks.caps_stay_in_their_range,
        FAILED,
    ),
    Mutant(
        "signatures of policies not checked",
        policy_checks.signatures_unchecked,
        policy_checks.a_policy_is_what_was_signed,
        FAILED,
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
        FAILED,
    ),
    Mutant(
        "a total that only bounds each site",
        site_checks.projection_on_the_box_only,
        site_checks.a_total_is_never_exceeded,
    ),
)


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


test_the_real_code_passes, test_a_mutant_is_caught = both_tests(
    MUTANTS, [sensitive_rule]
)
