# SPDX-License-Identifier: Apache-2.0
"""Profiles and classes: stronger guarantees for some, proven like the claim itself."""

import json
from dataclasses import replace
from typing import Any

import pytest

from lexfed.errors import ClaimError
from lexfed.privacy.accountants.gdp import epsilon_from
from lexfed.privacy.claim.lines import ClaimProfile, scaled_releases
from lexfed.privacy.claim.proof import check_claim, dump_claim, load_claim
from lexfed.privacy.claim.schema import Claim
from lexfed.privacy.releases import Release, ReleaseGroup
from lexfed.privacy.scopes import CountedRelease
from lexfed.tiers import Tier
from support.privacy.claims import claim_of

DELTA = 1e-6


def tower(tier: Tier | None, sigma: float, rate: float = 1.0) -> Release:
    name = "label" if tier is None else tier.label
    return Release(name, (ReleaseGroup(name, 1.0, sigma),), rate, tier, 100)


PLAN: tuple[CountedRelease, ...] = (
    (tower(None, 20.0), 1),
    (tower(Tier.PERSONAL, 20.0), 30),
    (tower(Tier.SPECIAL, 80.0), 15),
)
SQUARE = 31 / 20**2 + 15 / 80**2


def build(releases: tuple[CountedRelease, ...] = PLAN, **changes: Any) -> Claim:
    settings: dict[str, Any] = {
        "delta": DELTA,
        "accountant": "gdp",
        "rounds": 46,
        "columns": {Tier.PERSONAL: ["age"], Tier.SPECIAL: ["diagnosis"]},
    }
    return claim_of(releases, **settings | changes)


def parts(weight: float = 0.5, scale: float = 0.25) -> Claim:
    return build(
        profiles={"eu": ClaimProfile(3, scaled_releases(PLAN, weight))},
        classes={"minors": scale},
    )


def close_above(stated: float, exact: float) -> bool:
    return exact <= stated <= exact * (1 + 1e-6)


def test_a_profile_is_priced_from_its_own_releases() -> None:
    claim = parts()
    profile = claim.profiles["eu"]
    assert profile.sites == 3
    assert profile.delta == DELTA
    assert close_above(profile.epsilon, epsilon_from(0.5 * SQUARE**0.5, DELTA))
    assert close_above(profile.label, epsilon_from(SQUARE**0.5, DELTA))
    special = epsilon_from((15 / 80**2) ** 0.5, DELTA)
    assert close_above(profile.tiers["special"], special)
    assert set(profile.tiers) == {"personal", "special"}
    assert profile.epsilon < claim.epsilon


def test_a_class_is_priced_from_the_plan_with_smaller_clips() -> None:
    claim = parts()
    minors = claim.classes["minors"]
    assert (minors.scale, minors.delta) == (0.25, DELTA)
    assert close_above(minors.epsilon, epsilon_from(0.25 * SQUARE**0.5, DELTA))
    assert minors.neighbours == "add-remove"
    replaced = build(neighbours="replace-one", classes={"minors": 0.25})
    assert close_above(
        replaced.classes["minors"].epsilon, epsilon_from(0.5 * SQUARE**0.5, DELTA)
    )


def test_parts_survive_json_and_are_proven_again() -> None:
    claim = parts()
    assert load_claim(json.dumps(dump_claim(claim))) == claim
    assert build().profiles == {}
    assert build().classes == {}


def test_a_profile_may_merge_its_rounds_in_other_counts() -> None:
    split = ((PLAN[0][0], 1), (PLAN[1][0], 29), (PLAN[1][0], 1), (PLAN[2][0], 15))
    empty = ((tower(Tier.SPECIAL, 1.0), 0), *split)
    assert build(profiles={"a": ClaimProfile(1, empty)}).profiles["a"].epsilon == (
        build().epsilon
    )
    assert (
        build(split, profiles={"a": ClaimProfile(1, PLAN)}).epsilon == build().epsilon
    )
    huge = ((replace(tower(None, 2.0**28), samples=1), 2**50),)
    assert build(huge, profiles={"a": ClaimProfile(1, huge)}).profiles["a"].sites == 1


def stored(path: str, new: object) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(json.dumps(dump_claim(parts())))
    place: Any = value
    *parents, last = path.split("/")
    for parent in parents:
        place = place[int(parent) if parent.isdigit() else parent]
    place[last] = new
    return value


@pytest.mark.parametrize(
    ("path", "lie", "message"),
    [
        ("profiles/eu/epsilon", 0.1, "`profiles.eu.epsilon` is 0.1, its releases"),
        ("profiles/eu/label", 0.1, "`profiles.eu.label`"),
        ("profiles/eu/delta", 1e-3, "`profiles.eu.delta` does not follow"),
        ("profiles/eu/tiers/special", 0.01, "`profiles.eu.tiers.special`"),
        ("profiles/eu/tiers", {}, "`profiles.eu.tiers` does not follow"),
        ("profiles/eu/sites", 0, "`profiles.eu.sites`"),
        ("profiles/eu/releases", [], "not the planned ones"),
        ("profiles/eu/releases/1/count", 29, "not the planned ones"),
        ("profiles/eu/releases/1/release/groups/0/clip", 1.1, "not the planned ones"),
        ("profiles/eu/releases/1/release/groups/0/sigma", 19.0, "not the planned ones"),
        ("profiles/eu/releases/1/release/groups/0/name", "b", "not the planned ones"),
        ("profiles/eu/releases/1/release/name", "b", "not the planned ones"),
        ("profiles/eu/releases/1/release/reads", "special", "not the planned ones"),
        ("profiles/eu/releases/0/release/reads", "personal", "not the planned ones"),
        ("profiles/eu/releases/1/release/samples", 101, "not the planned ones"),
        ("profiles/eu/extra", 1, "profiles.eu.extra"),
        ("profiles/Bob Smith", {}, "Bob Smith"),
        ("classes/minors/epsilon", 0.1, "`classes.minors.epsilon`"),
        ("classes/minors/scale", 0.5, "`classes.minors.epsilon`"),
        ("classes/minors/scale", 0.0, "classes.minors.scale"),
        ("classes/minors/scale", 1.5, "classes.minors.scale"),
        ("classes/minors/delta", 1e-3, "`classes.minors.delta` does not follow"),
        ("classes/minors/neighbours", "replace-one", "`classes.minors.neighbours`"),
        ("accountant/filter", "F1", "`accountant.filter` does not follow"),
        ("accountant/filter", "F4", "accountant.filter"),
    ],
)
def test_parts_that_are_not_proven_are_refused(
    path: str, lie: object, message: str
) -> None:
    with pytest.raises(ClaimError, match=message):
        load_claim(stored(path, lie))


def test_a_profile_with_more_groups_or_a_higher_rate_is_refused() -> None:
    one = tower(Tier.SPECIAL, 9.0, 0.5)
    often = replace(one, sampling_rate=0.6)
    twice = replace(one, groups=one.groups * 2)
    for own in (often, twice):
        with pytest.raises(ClaimError, match="not the planned ones"):
            build(
                ((one, 3),),
                accountant="rdp",
                profiles={"a": ClaimProfile(1, ((own, 3),))},
            )


@pytest.mark.parametrize(
    ("accountant", "guarantee", "filter_"),
    [
        ("pld", "envelope", "F0"),
        ("rdp", "envelope", "F0"),
        ("rdp", "filter", "F1"),
        ("pld", "filter", "F2"),
        ("gdp", "filter", "F2"),
    ],
)
def test_the_filter_is_named_and_changes_no_number(
    accountant: str, guarantee: str, filter_: str
) -> None:
    claim = build(accountant=accountant, guarantee=guarantee)
    assert claim.accountant.filter == filter_
    assert claim.epsilon == build(accountant=accountant).epsilon
    times = 1 if filter_ == "F0" else 1000
    planned = build(accountant=accountant).delta_sampler
    assert claim.delta_sampler == pytest.approx(times * planned, rel=1e-6)
    check_claim(claim)


def test_sampled_rounds_chosen_along_the_way_need_renyi() -> None:
    sampled = ((tower(Tier.SPECIAL, 3.0, 0.1), 50),)
    assert build(sampled, accountant="rdp", guarantee="filter").accountant.filter == (
        "F1"
    )
    with pytest.raises(ClaimError, match="have no price by `pld`"):
        build(sampled, accountant="pld", guarantee="filter")
