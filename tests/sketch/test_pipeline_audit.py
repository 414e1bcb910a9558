# SPDX-License-Identifier: Apache-2.0
"""Whole pipelines of sketches under attack: no more is shown than was stated.

Keys are counted, noise and masks or shares go on, the sum is opened and asked. See
`support.sketch.pipeline_audit` for the attack. Each bound is wrong with probability at
most 1e-6. Its power is checked twice: on the real code it must find more than .7 of the
charge (it finds .78 or more but for a probability of 1e-3, and seeds are fixed), and
each pipeline with one thing forgotten must be found to show more.
"""

from collections.abc import Callable
from functools import partial
from itertools import count

import numpy as np
import pytest

from lexfed.arrays import Integers
from lexfed.privacy.noise.shares import draw_share
from lexfed.privacy.releases import Release
from lexfed.privacy.run_ledger import Ledger
from lexfed.sketch.releases import noised_sketch
from lexfed.sketch.releases.noised_sketch import Sensitivity, person_moves
from lexfed.sketch.sharing import sum_plan
from lexfed.sketch.tables import domains
from lexfed.sketch.tables.shape import ItemKeys
from support.mutant import Mutant, Patch, both_tests
from support.sketch import pipeline_audit as pipelines

pytestmark = pytest.mark.no_cover


def shows_no_more_than_stated(pipeline: pipelines.Pipeline) -> None:
    found = pipelines.audit(pipeline)
    assert found.epsilon <= found.stated
    assert found.mu <= found.charged


CHECKS: dict[str, Callable[[], None]] = {
    name: partial(shows_no_more_than_stated, pipeline)
    for name, pipeline in {
        "central": pipelines.central,
        "masks": pipelines.under_masks,
        "aggregators": pipelines.among_aggregators,
        "twice": pipelines.released_twice,
    }.items()
}


def _noise_forgotten(patch: Patch) -> None:
    """The second of the sites in the sum sends its bare table."""
    turn = count()

    def broken(*asked: object) -> Integers:
        drawn = draw_share(*asked)  # type: ignore[arg-type]
        return drawn if next(turn) % pipelines.PRESENT == 0 else np.zeros_like(drawn)

    patch.setattr(sum_plan, "draw_share", broken)


def _nobody_bounded(patch: Patch) -> None:
    def broken(owners: Integers, items: ItemKeys, most: int) -> ItemKeys:
        return items

    patch.setattr(domains, "bounded_items", broken)


def _clip_of_different_cells(patch: Patch) -> None:
    """The root of the items, as if no two of them ever met in a cell."""

    def broken(*asked: object) -> Sensitivity:
        found = person_moves(*asked)  # type: ignore[arg-type]
        return Sensitivity(found.l1, found.l2 / pipelines.MOST**0.5)

    patch.setattr(noised_sketch, "person_moves", broken)


def _charged_once(patch: Patch) -> None:
    real = Ledger.charge

    def broken(ledger: Ledger, release: Release) -> None:
        if release not in ledger.events():
            real(ledger, release)

    patch.setattr(Ledger, "charge", broken)


MUTANTS = (
    Mutant("masks, noise forgotten at one site", _noise_forgotten, CHECKS["masks"]),
    Mutant(
        "aggregators, noise forgotten at one site",
        _noise_forgotten,
        CHECKS["aggregators"],
    ),
    Mutant("a person counted without bound", _nobody_bounded, CHECKS["central"]),
    Mutant("masks, a person without bound", _nobody_bounded, CHECKS["masks"]),
    Mutant("the clip of other persons", _clip_of_different_cells, CHECKS["central"]),
    Mutant("masks, the clip of others", _clip_of_different_cells, CHECKS["masks"]),
    Mutant("two releases charged once", _charged_once, CHECKS["twice"]),
)

test_the_real_code_passes, test_a_mutant_is_caught = both_tests(MUTANTS)


@pytest.mark.parametrize(
    "pipeline",
    [pipelines.central, pipelines.under_masks, pipelines.released_twice],
)
def test_the_attack_is_no_blunt_tool(pipeline: pipelines.Pipeline) -> None:
    found = pipelines.audit(pipeline)
    assert found.mu > 0.7 * found.charged


def test_masks_and_shares_open_the_same_sum() -> None:
    tables = pipelines.world(there=True)
    (masked,), (shared,) = (
        pipeline(tables, "same")[0].tables
        for pipeline in (pipelines.under_masks, pipelines.among_aggregators)
    )
    assert np.array_equal(masked.cells, shared.cells)


def test_canaries_share_no_cell() -> None:
    keys = pipelines.canaries()
    assert len(keys) > 5000
    for row in pipelines.SHAPE.rows.columns(keys):
        assert len(np.unique(row)) == len(keys)


def test_the_bound_is_wrong_as_rarely_as_it_says() -> None:
    """Of a Gaussian with mu = 1, 2000 attacks with ERROR as it is: none above 1.

    With probability 2000 * 1e-6 at most one is; the middle of the bounds is near 1.
    """
    generator = np.random.default_rng(3)
    found = [
        pipelines.lower_mu(
            generator.normal(size=5000), 1.0 + generator.normal(size=5000), 0.5
        )
        for _ in range(2000)
    ]
    assert max(found) <= 1.0
    assert 0.7 < float(np.median(found)) < 0.9
