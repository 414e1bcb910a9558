# SPDX-License-Identifier: Apache-2.0
"""Random liars behind masks: those who can be shown are named, and nobody else is.

`python -m benchmarks.liars` runs a thousand federations of 100 sites; here are all ways
to lie once among eight sites, some mixtures, and two federations of 100.
"""

import random

import pytest

from lexfed.errors import SecAggError
from lexfed.secagg.mask_sessions.server_rounds import RoundOpening
from support.federation.liars import LIES, OPENING, SHOWN, Outcome, Sites, case, lied_to
from support.federation.worlds import World


@pytest.fixture(scope="module")
def eight() -> World:
    return lied_to(8)


def run(of: World, seed: int, liars: int, kinds: tuple[str, ...]) -> Outcome:
    return case(Sites.of_world(of), random.Random(seed), liars, kinds)


@pytest.mark.no_cover
@pytest.mark.parametrize("kind", LIES)
def test_every_lie_is_blamed_on_who_tells_it_or_on_nobody(
    kind: str, eight: World
) -> None:
    outcome = run(eight, 5, 1, (kind,))
    assert outcome.fine, outcome
    harmless = kind == "deals one share off" and not outcome.lost
    assert bool(outcome.blamed) == (kind in SHOWN) or harmless


@pytest.mark.parametrize("seed", range(6))
def test_liars_together_bring_nobody_else_down(seed: int, eight: World) -> None:
    outcome = run(eight, seed, 2, tuple(LIES))
    assert outcome.fine, outcome


def test_a_rule_that_blames_dealers_is_noticed(
    eight: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The count can fail: here a wrong share is blamed on its first dealer."""
    add = RoundOpening.add

    def wrong(self: RoundOpening, seat: int, payload: memoryview) -> None:
        try:
            add(self, seat, payload)
        except SecAggError as error:
            names = self._cohort.listed.names
            dealer = next(at for at in self._cohort.circle(seat) if at != seat)
            raise SecAggError(error.message, blamed=[names[dealer]]) from error

    monkeypatch.setattr(RoundOpening, "add", wrong)
    outcome = run(eight, 5, 1, ("wrong shares",))
    assert outcome.innocent
    assert not outcome.fine


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "kinds"), [(1, tuple(LIES)), (2, OPENING)])
def test_nine_liars_among_a_hundred(seed: int, kinds: tuple[str, ...]) -> None:
    outcome = run(lied_to(100), seed, 9, kinds)
    assert outcome.fine, outcome
    assert outcome.blamed
