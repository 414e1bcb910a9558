# SPDX-License-Identifier: Apache-2.0
"""Claims under distributed trust: the cohort is stated, and nothing contradicts it."""

import json
from dataclasses import replace
from importlib import resources
from typing import Any

import jsonschema
import pytest

from lexfed.errors import ClaimError
from lexfed.privacy.claim.lines import ClaimProfile, scaled_releases
from lexfed.privacy.claim.proof import check_claim, dump_claim, load_claim
from lexfed.privacy.claim.schema import Claim
from lexfed.privacy.noise.gaussian import delta_sampler
from lexfed.privacy.noise.shares import NoiseCohort
from lexfed.privacy.releases import Release, ReleaseGroup
from lexfed.privacy.scopes import CountedRelease
from lexfed.tiers import Tier
from support.privacy.claims import claim_of, stored_claim

COHORT = NoiseCohort(8, 1, 2)
SHARES = Release(
    "tower",
    (ReleaseGroup("all", 1.0, 20.0),),
    1.0,
    Tier.SPECIAL,
    4 * 8 * 100,
    "skellam",
)
GAUSSIAN = replace(SHARES, noise="gaussian")
PLAN: tuple[CountedRelease, ...] = ((SHARES, 30),)


def build(releases: tuple[CountedRelease, ...] = PLAN, **changes: Any) -> Claim:
    settings: dict[str, Any] = {
        "accountant": "rdp",
        "trust": "distributed",
        "rounds": 30,
        "columns": {Tier.SPECIAL: ["diagnosis"]},
        "cohort": COHORT,
    }
    return claim_of(releases, **settings | changes)


def stored(**changes: Any) -> dict[str, Any]:
    return stored_claim(build(), changes)


def test_the_claim_says_who_adds_noise() -> None:
    claim = build()
    assert dump_claim(claim)["cohort"] == {
        "sites": 8,
        "colluders": 1,
        "dropouts": 2,
        "honest": 5,
        "threshold": 5,
    }
    assert claim.mechanism.noise == "skellam-shares"
    assert load_claim(json.dumps(dump_claim(claim))) == claim
    text = (resources.files("lexfed.privacy.claim") / "claim.schema.json").read_text()
    jsonschema.Draft202012Validator(json.loads(text)).validate(stored())


def test_the_price_is_that_of_central_noise_in_renyi_accounting() -> None:
    central = build(((GAUSSIAN, 30),), trust="central", cohort=None)
    shared = build()
    assert shared.epsilon == central.epsilon
    assert shared.tiers == central.tiers
    assert shared.delta_sampler >= delta_sampler(4 * 8 * 100 * 30, shared.epsilon)


def test_other_claims_keep_their_bytes_but_for_the_cohort() -> None:
    claim = dump_claim(build(((GAUSSIAN, 30),), trust="central", cohort=None))
    assert claim["cohort"] is None
    assert claim["mechanism"]["noise"] == "rounded-gaussian"
    assert claim["releases"][0]["release"] == GAUSSIAN.to_json()
    # A claim from before there were cohorts is read as it was.
    del claim["cohort"]
    assert load_claim(claim).cohort is None


def test_profiles_and_classes_are_of_the_same_noise() -> None:
    half = {"eu": ClaimProfile(3, scaled_releases(PLAN, 0.5))}
    claim = build(profiles=half, classes={"minors": 0.5})
    check_claim(claim)
    assert claim.profiles["eu"].epsilon == claim.classes["minors"].epsilon
    other = {"eu": ClaimProfile(3, scaled_releases(((GAUSSIAN, 30),), 0.5))}
    with pytest.raises(ClaimError, match="not the planned ones"):
        build(profiles=other)


@pytest.mark.parametrize("accountant", ["pld", "gdp"])
def test_only_renyi_accounting_proves_shares(accountant: str) -> None:
    with pytest.raises(ClaimError, match="Rényi accounting only"):
        build(accountant=accountant)
    with pytest.raises(ClaimError, match="Rényi accounting only"):
        load_claim(stored(accountant__name=accountant))


@pytest.mark.parametrize("trust", ["central", "local"])
def test_shares_without_distributed_trust_are_refused(trust: str) -> None:
    with pytest.raises(
        ClaimError, match=f"`{trust}`, but the noise of release `tower`"
    ):
        build(trust=trust, cohort=None)
    with pytest.raises(
        ClaimError, match=f"`trust` is `{trust}`, which has no `cohort`"
    ):
        load_claim(stored(trust=trust))
    with pytest.raises(ClaimError, match="but the noise of release `tower` is skellam"):
        load_claim(stored(trust=trust, cohort=None))


def test_distributed_trust_without_shares_or_cohort_is_refused() -> None:
    with pytest.raises(ClaimError, match="but the noise of release `tower` is gauss"):
        build(((SHARES, 3), (GAUSSIAN, 1)))
    with pytest.raises(ClaimError, match="no `cohort` says who adds noise"):
        build(cohort=None)
    with pytest.raises(ClaimError, match="no `cohort` says who adds noise"):
        load_claim(stored(cohort=None))
    with pytest.raises(ClaimError, match="is gaussian"):
        load_claim(stored(releases__0__release=GAUSSIAN.to_json()))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"cohort__honest": 8}, "contradicts itself: 5 honest"),
        ({"cohort__honest": 6}, "contradicts itself: 5 honest"),
        ({"cohort__threshold": 4}, "a threshold of 5 follow"),
        ({"cohort__colluders": 0}, "contradicts itself"),
        ({"cohort__dropouts": 4}, "survive 3 dropouts, not 4"),
        ({"cohort__colluders": 7}, "leave no honest one"),
        ({"cohort__sites": 2**21}, "`cohort`: expected"),
        ({"cohort__sites": 1}, "`cohort.sites`"),
        ({"cohort__extra": 1}, "`cohort.extra`"),
        ({"mechanism__noise": "rounded-gaussian"}, "`mechanism.noise` does not follow"),
        ({"releases__0__release__sampling_rate": 0.5}, "no price under sampling"),
        ({"releases__0__release__samples": 31}, "counts 31 noise values, and 8 sites"),
        ({"epsilon": 0.1}, "`epsilon` is 0.1"),
    ],
)
def test_claims_that_contradict_themselves_are_refused(
    changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(ClaimError, match=message):
        load_claim(stored(**changes))
