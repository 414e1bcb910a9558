# SPDX-License-Identifier: Apache-2.0
"""Mutants of additive towers: what they read, charge, and are taken to have.

Every check passes on the real code and fails on its mutants.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from lexfed.federation.planning import draft_releases
from lexfed.federation.planning.draft_releases import DraftTower
from lexfed.federation.programme.sequence import Stage
from lexfed.federation.site import contributions
from lexfed.models.rule import amplitudes
from lexfed.models.rule.amplitudes import AmplitudeBounds
from lexfed.models.shape_functions import column_basis, public_shares
from lexfed.tiers import Tier
from support.federation import checks
from support.federation.worlds import world
from support.mutant import Mutant, Patch, both_tests

ADDITIVE: dict[str, Any] = {"model": "additive", "declared": 10**5}


def isolation() -> None:
    of = world(sizes=(20, 15), **ADDITIVE)
    assert any(shape.is_additive for shape in of.programme.shapes)
    checks.check_isolation(of, Tier.SPECIAL, "inprocess", checks.edits())


def sensitivity() -> None:
    checks.check_sensitivity(world(sizes=(30, 20), **ADDITIVE))


def factors_within_bounds() -> None:
    """Records of any size have vectors of norm at most 1 before the site's own clip."""
    draw = np.random.default_rng(0)
    parts = 10.0 * draw.normal(size=(50, 3, 1))
    rate = 1.0 / (1.0 + np.exp(-parts.sum(axis=1)))
    question = {"size": np.full(3, 0.1), "spread": np.ones(1)}
    slopes = rate - draw.integers(0, 2, (50, 1))
    vectors = amplitudes.amplitude_vectors("logistic", parts, slopes, rate, question)
    assert np.linalg.norm(vectors, axis=1).max() <= 1.0 + 1e-9


def functions_have_mean_zero() -> None:
    shares = public_shares(1.0)
    functions, _, _ = column_basis(shares, 0.01)
    assert np.allclose(shares @ functions, 0.0)


def _factors_are_charged_to_the_lowest_tier(patch: Patch) -> None:
    real = draft_releases._amplitudes

    def cheap(tower: DraftTower) -> Any:
        item = real(tower)
        lowest = min(shape.tier for shape in tower.shapes)
        return replace(item, draft=replace(item.draft, reads=lowest, tower=0))

    patch.setattr(draft_releases, "_amplitudes", cheap)


def _vectors_are_not_clipped(patch: Patch) -> None:
    def longer(vectors: Any, stage: Stage) -> Any:
        return 1.5 * vectors

    patch.setattr(contributions, "_clip", longer)


def _the_matrix_is_cut_too_late(patch: Patch) -> None:
    real = amplitudes.bounds

    def wide(*facts: Any) -> AmplitudeBounds:
        most = real(*facts)
        # Divisors are those of the real bound, the cut is at twice of it.
        return _LateCut(2.0 * most.matrix, most.slope, most.curvature)

    patch.setattr(amplitudes, "bounds", wide)


class _LateCut(AmplitudeBounds):
    @property
    def scales(self) -> tuple[float, float]:
        return AmplitudeBounds(self.matrix / 2.0, self.slope, self.curvature).scales


def _ranks_count_bins(patch: Patch) -> None:
    """Bins are taken for equally frequent."""
    from lexfed.models import shape_functions

    real = shape_functions._kernel

    def flat(shares: Any, line: Any) -> Any:
        return real(np.full_like(shares, 1.0 / len(shares)), line)

    patch.setattr(shape_functions, "_kernel", flat)


MUTANTS = (
    Mutant(
        "factors are charged to the lowest tier",
        _factors_are_charged_to_the_lowest_tier,
        isolation,
        Exception,
    ),
    Mutant("vectors are not clipped", _vectors_are_not_clipped, sensitivity),
    Mutant(
        "the matrix is cut too late", _the_matrix_is_cut_too_late, factors_within_bounds
    ),
    Mutant("ranks count bins", _ranks_count_bins, functions_have_mean_zero),
)

test_the_real_code_passes, test_a_mutant_is_caught = both_tests(MUTANTS)
