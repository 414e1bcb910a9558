# SPDX-License-Identifier: Apache-2.0
"""What filters and parts of claims promise, as checks that mutants must fail."""

import json
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from lexfed.audit.verify import Status, verify_run
from lexfed.errors import ClaimError
from lexfed.privacy.claim.proof import dump_claim, load_claim
from lexfed.privacy.filters import PlanEnvelope, PlanFilter
from lexfed.privacy.releases import Release, ReleaseGroup
from lexfed.tiers import Tier
from support.audit.worlds import fake_run
from support.privacy.adversary import (
    MENU,
    EnvelopeJudge,
    Outcome,
    Plan,
    RenyiJudge,
    SquareJudge,
    attack,
    release,
)

DELTA = 1e-6
GROUPS = (ReleaseGroup("a", 1.0, 12.0), ReleaseGroup("b", 0.3, 7.0))
GROUPED: Plan = ((Release("model", GROUPS, 1.0, Tier.SPECIAL, 10), 5),)
CASCADE: Plan = (
    (release(40.0, None), 1),
    (release(9.0, Tier.PERSONAL, clip=2.0), 3),
    (release(30.0, Tier.SPECIAL, clip=0.5), 2),
    (release(20.0, Tier.SPECIAL, clip=0.5), 2),
)
SAMPLED: Plan = (
    (release(3.0, None), 1),
    (release(2.0, Tier.PERSONAL, 0.3), 4),
    (release(4.0, Tier.SPECIAL, 0.1), 3),
)


def _held(found: Outcome) -> None:
    assert found.overspent == 0
    assert found.too_strict == 0


def envelopes_hold() -> None:
    """An attacker gets nothing past an envelope that is not in the plan."""
    start, judge = partial(PlanEnvelope, GROUPED), partial(EnvelopeJudge, GROUPED)
    _held(attack(100, GROUPED, start, judge))


def sums_hold() -> None:
    """An attacker never exceeds the sum of any scope (F2)."""
    start = partial(PlanFilter.of, CASCADE, DELTA, "add-remove", "gdp")
    _held(attack(100, CASCADE, start, partial(SquareJudge, CASCADE)))


def divergences_hold() -> None:
    """An attacker never exceeds the divergence of any scope at its order (F1)."""
    start = PlanFilter.of(SAMPLED, DELTA, "add-remove", "rdp")
    judge = partial(RenyiJudge, SAMPLED, DELTA)
    _held(attack(60, SAMPLED, lambda: start, judge, menu=MENU))


def parts_are_proven() -> None:
    """A profile or class that states too little is refused."""
    run = fake_run(weights={"eu": 0.5}, classes={"minors": 0.25})
    value = json.loads(run.files["claim.json"])
    assert dump_claim(load_claim(value)) == value
    for part, name in (("profiles", "eu"), ("classes", "minors")):
        lie = json.loads(run.files["claim.json"])
        lie[part][name]["epsilon"] *= 0.99
        with pytest.raises(ClaimError):
            load_claim(lie)


def rounds_outside_the_plan_are_found() -> None:
    """A log with a round that has less noise than planned does not verify."""
    run = fake_run(adapted=[(0, 1.0), (0, 0.9)])
    with TemporaryDirectory() as folder:
        checks = verify_run(run.write(Path(folder) / "run")).checks
    [found] = [check for check in checks if check.claim == "round events"]
    assert (found.status, found.index) == (Status.FAIL, 5)
