# SPDX-License-Identifier: Apache-2.0
"""Releases: joint groups, exact round trips, and refusal of what is unknown."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from lexfed.canonical import digest
from lexfed.privacy.releases import Release, ReleaseGroup
from lexfed.tiers import Tier

POSITIVE = st.floats(1e-9, 1e9)
GROUPS = st.lists(st.builds(ReleaseGroup, st.text(), POSITIVE, POSITIVE), min_size=1)
RELEASES = st.builds(
    Release,
    st.text(),
    GROUPS.map(tuple),
    st.floats(0, 1),
    st.sampled_from([None, *Tier]),
    st.integers(0, 2**40),
)


def one(**changes: object) -> dict[str, object]:
    release = Release("tower", (ReleaseGroup("all", 1.0, 2.0),), 0.5, Tier.SPECIAL, 10)
    return {**release.to_json(), **changes}


@pytest.mark.no_cover
@given(RELEASES)
def test_a_release_survives_json_exactly(release: Release) -> None:
    assert Release.from_json(json.loads(json.dumps(release.to_json()))) == release


def test_noise_is_stored_only_where_it_is_not_gaussian() -> None:
    group = ReleaseGroup("all", 1.0, 2.0)
    plain = Release("tower", (group,), 1.0, Tier.SPECIAL, 10)
    shares = Release("tower", (group,), 1.0, Tier.SPECIAL, 10, "skellam")
    assert set(plain.to_json()) == set(one())
    assert shares.to_json() == {**plain.to_json(), "noise": "skellam"}
    assert Release.from_json(json.loads(json.dumps(shares.to_json()))) == shares
    assert shares != plain
    assert shares.noise_multiplier == plain.noise_multiplier
    assert Release("nobody", (group,), 0.0, None, 0, "skellam").sampling_rate == 0.0
    # A hash from before there was any other noise.
    assert digest(plain.to_json()) == (
        "5cb8584c1a6be8da1fb33029bfcc0ef7cef0e7bc8b8852e41e234b6c843d7f04"
    )


def test_integers_are_numbers_too() -> None:
    group = {"name": "all", "clip": 1, "sigma": 2}
    assert Release.from_json(one(groups=[group])) == Release.from_json(one())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"version": 2}, "expected version 1"),
        ({"extra": 1}, "unknown or missing field `extra`"),
        ({"groups": [{"name": "a", "clip": 1.0}]}, "unknown or missing field `sigma`"),
        ({"groups": []}, "at least one group"),
        ({"groups": 3}, "`groups` to be list"),
        ({"groups": [3]}, "`groups` to be dict"),
        ({"name": 3}, "`name` to be str"),
        ({"samples": True}, "`samples` to be int"),
        ({"samples": -1}, "`samples`"),
        ({"sampling_rate": "1"}, "`sampling_rate` to be float"),
        ({"sampling_rate": 1.5}, "`sampling_rate`"),
        ({"reads": "secret"}, "expected one of"),
        ({"noise": "gaussian"}, "expected `noise` to be `skellam`"),
        ({"noise": None}, "expected `noise` to be `skellam`"),
        ({"noise": "skellam"}, "no price under sampling"),
        ({"groups": [{"name": "a", "clip": 0.0, "sigma": 1.0}]}, "`clip` > 0"),
    ],
)
def test_what_is_unknown_or_wrong_is_refused(
    changes: dict[str, object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        Release.from_json(one(**changes))


def test_groups_are_charged_together() -> None:
    groups = (ReleaseGroup("a", 3.0, 10.0), ReleaseGroup("b", 0.4, 1.0))
    release = Release("r", groups, 1.0, None, 1)
    assert release.noise_multiplier == pytest.approx(2.0)


def test_joint_groups_against_quadrature() -> None:
    # Hockey-stick divergence of the sampled release of two saturated groups, in two
    # dimensions, against the one-dimensional Gaussian of the joint multiplier.
    rate, first, second, epsilon = 0.3, 0.7, 1.1, 0.5

    def normal(x: float, mean: float) -> float:
        return math.exp(-((x - mean) ** 2) / 2) / math.sqrt(2 * math.pi)

    def gap(y: float, x: float) -> float:
        base = normal(x, 0) * normal(y, 0)
        moved = normal(x, first) * normal(y, second)
        return max(0.0, (1 - rate) * base + rate * moved - math.exp(epsilon) * base)

    plane, _ = integrate.dblquad(gap, -8, 10, -8, 10, epsabs=1e-7)
    groups = (ReleaseGroup("a", first, 1.0), ReleaseGroup("b", second, 1.0))
    shift = 1.0 / Release("r", groups, rate, None, 2).noise_multiplier
    edge = math.log((math.exp(epsilon) - 1 + rate) / rate) / shift + shift / 2
    line = rate * stats.norm.sf(edge - shift) + (
        1 - rate - math.exp(epsilon)
    ) * stats.norm.sf(edge)
    assert plane == pytest.approx(line, abs=2e-6)
    # Negative control: the larger group alone is not the joint release.
    shift = second
    edge = math.log((math.exp(epsilon) - 1 + rate) / rate) / shift + shift / 2
    alone = rate * stats.norm.sf(edge - shift) + (
        1 - rate - math.exp(epsilon)
    ) * stats.norm.sf(edge)
    assert alone < plane - 0.01
