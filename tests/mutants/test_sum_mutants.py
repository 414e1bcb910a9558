# SPDX-License-Identifier: Apache-2.0
"""Mutants of the sums that sites and coordinator release: noise, clips, coins, inputs.

A row of `MUTANTS` names a mistake, breaks the real code that way, and names the check
of `support.federation` or this file that notices. To add one, add a row.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from lexfed.budget.noise_plan import Budget
from lexfed.data.people import unit_blocks
from lexfed.federation.engines import clear_sums
from lexfed.federation.planning import draft_releases, training_programme
from lexfed.federation.planning.programme_draft import tower_shapes
from lexfed.federation.programme import integer_sums
from lexfed.federation.site import contributions
from lexfed.federation.site.unit_batch import UnitBatch, flip_coins
from lexfed.models.gradients.clipped_sum import clipped_sum
from lexfed.models.towers import Model, Tower
from lexfed.privacy.noise.gaussian import rounded_gaussian
from lexfed.privacy.noise.grids import Grid
from lexfed.privacy.releases import Release
from lexfed.randomness import SeededSource, bernoulli
from lexfed.tiers import Tier
from support.federation import checks, class_worlds
from support.federation.worlds import World, world
from support.mutant import Mutant, Patch, both_tests


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
)


test_the_real_code_passes, test_a_mutant_is_caught = both_tests(
    MUTANTS, [sensitive_rule]
)
