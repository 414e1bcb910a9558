# SPDX-License-Identifier: Apache-2.0
"""Claims: computed from releases, proven again on reading, refused when they lie."""

import json
from importlib import resources
from typing import Any

import jsonschema
import pytest

from lexfed.errors import ClaimError
from lexfed.privacy.accountants.gdp import epsilon_from
from lexfed.privacy.claim.proof import check_claim, dump_claim, load_claim
from lexfed.privacy.claim.schema import Claim, claim_schema
from lexfed.privacy.noise.gaussian import delta_sampler
from lexfed.privacy.noise.grids import Grid
from lexfed.privacy.releases import Release, ReleaseGroup
from lexfed.privacy.scopes import CountedRelease
from lexfed.tiers import Tier
from support.privacy.claims import claim_of, stored_claim


def tower(tier: Tier, sigma: float, rate: float = 1.0) -> Release:
    group = ReleaseGroup(tier.label, 1.0, sigma)
    return Release(tier.label, (group,), rate, tier, 100)


CASCADE: list[CountedRelease] = [
    (tower(Tier.PERSONAL, 20.0), 30),
    (tower(Tier.SPECIAL, 80.0), 15),
    (tower(Tier.SPECIAL, 60.0), 15),
]


def build(releases: list[CountedRelease] | None = None, **changes: Any) -> Claim:
    settings: dict[str, Any] = {
        "accountant": "pld",
        "rounds": 30,
        "columns": {Tier.PERSONAL: ["age"], Tier.SPECIAL: ["diagnosis"]},
        "grids": {"special": Grid(1.0, 80.0, 100, 1000)},
        "not_covered": ["the test rows"],
    }
    return claim_of(CASCADE if releases is None else releases, **settings | changes)


def stored(**changes: Any) -> dict[str, Any]:
    return stored_claim(build(), changes)


def test_numbers_are_the_exact_ones_rounded_up() -> None:
    claim = build()
    square = 15 / 80**2 + 15 / 60**2
    exact = epsilon_from((30 / 20**2 + square) ** 0.5, 1e-6)
    assert exact <= claim.epsilon <= exact * (1 + 1e-6)
    special = epsilon_from(2 * square**0.5, 1e-6)
    assert special <= claim.tiers["special"].epsilon <= special * (1 + 1e-6)
    assert claim.tiers["special"].reads == ("special",)
    assert claim.tiers["personal"].reads == ("personal", "special")
    assert claim.label.epsilon == claim.tiers["personal"].epsilon
    assert claim.epsilon < claim.label.epsilon
    for epsilon, stated in (
        (claim.epsilon, claim.delta_sampler),
        (claim.label.epsilon, claim.label.delta_sampler),
        *((row.epsilon, row.delta_sampler) for row in claim.tiers.values()),
    ):
        error = delta_sampler(6000, epsilon)
        assert error <= (stated or 0.0) <= error * (1 + 1e-6)
    assert claim.sampling.scheme == "none"
    assert claim.accountant.version.startswith("lexfed ")
    assert claim.stamp is None


def test_a_claim_survives_json_and_is_proven_again() -> None:
    claim = build()
    assert load_claim(json.dumps(dump_claim(claim))) == claim
    assert load_claim(json.dumps(dump_claim(claim)).encode()) == claim
    assert load_claim(dump_claim(claim)) == claim


def test_sampling_is_described() -> None:
    claim = build([(tower(Tier.SPECIAL, 3.0, 0.1), 50)])
    assert claim.sampling.scheme == "poisson"
    assert claim.sampling.rates == (0.1,)
    assert "dp-accounting" in claim.accountant.version
    check_claim(claim)
    rdp = build([(tower(Tier.SPECIAL, 3.0, 0.1), 50)], accountant="rdp")
    assert rdp.epsilon > claim.epsilon
    assert "dp-accounting" not in rdp.accountant.version


def test_seeded_noise_is_stamped() -> None:
    assert build(private=False).stamp == "NOT PRIVATE"
    check_claim(build(private=False))


def test_overstating_is_allowed() -> None:
    enough = {"epsilon": 9.0, "delta_sampler": 1e-19}
    assert load_claim(stored(**enough)).epsilon == 9.0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"epsilon": 0.5}, "`epsilon` is 0.5, its releases prove no less than"),
        ({"tiers__special__epsilon": 0.1}, "`tiers.special.epsilon`"),
        ({"tiers__special__delta": 1e-3}, "`tiers.special.delta` does not follow"),
        ({"tiers__special__reads": []}, "`tiers.special.reads` does not follow"),
        ({"label__epsilon": 0.1}, "`label.epsilon`"),
        ({"label__delta": 0.1}, "`label.delta` does not follow"),
        ({"delta_sampler": 0.0}, "`delta_sampler` of the record"),
        ({"label__delta_sampler": 1e-24}, "`delta_sampler` of the label"),
        ({"label__delta_sampler": None}, "version 2 and `delta_sampler` of the label"),
        ({"tiers__special__delta_sampler": 0.0}, "`delta_sampler` of the tier special"),
        ({"version": 1}, "version 1 and `delta_sampler` of the label"),
        ({"delta": 1e-9}, "`epsilon`"),
        ({"neighbours": "replace-one"}, "`epsilon`"),
        ({"sites_per_person": 2}, "`epsilon`"),
        ({"sampling__scheme": "poisson"}, "`sampling` does not follow"),
        ({"releases__0__count": 31}, "`epsilon`"),
        ({"releases__0__release__reads": "special"}, "`tiers.special.epsilon`"),
        ({"extra": 1}, "`extra`: extra inputs are not permitted"),
        ({"tiers__special__extra": 1}, r"`tiers.special.extra`"),
        ({"version": 3}, "`version`"),
        ({"epsilon": "low"}, "`epsilon`"),
        ({"mechanism__name": "none"}, "`mechanism.name`"),
        ({"releases__0__release__groups": []}, "groups`"),
    ],
)
def test_what_is_not_proven_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ClaimError, match=message):
        load_claim(stored(**changes))


def first_version(claim: Claim) -> dict[str, Any]:
    """Return the claim as version 1 states it, with the record's figure alone."""
    value: dict[str, Any] = json.loads(json.dumps(dump_claim(claim)))
    value["version"] = 1
    for row in (value["label"], *value["tiers"].values()):
        del row["delta_sampler"]
    return value


def dear(sigma: float, samples: int = 100) -> list[CountedRelease]:
    group = ReleaseGroup("special", 1.0, sigma)
    return [(Release("special", (group,), 1.0, Tier.SPECIAL, samples), 1)]


def test_a_label_that_the_sampler_leaves_nothing_is_not_covered() -> None:
    """At a record's epsilon of 20 the label's error is no longer small."""
    record = epsilon_from(1 / 0.28, 1e-6)
    label = epsilon_from(2 / 0.28, 1e-6)
    assert record < 24.0
    assert delta_sampler(100, record) < 1e-14
    assert delta_sampler(100, label) > 1e-6
    claim = build(dear(0.28))
    assert claim.label.delta_sampler == 1.0
    assert any(gap.startswith("the label: at its eps") for gap in claim.not_covered)
    assert any(gap.startswith("tier special: at") for gap in claim.not_covered)
    check_claim(claim)
    for silent in ("the label", "tier special"):
        gaps = [gap for gap in claim.not_covered if not gap.startswith(silent)]
        value = json.loads(json.dumps(dump_claim(claim))) | {"not_covered": gaps}
        with pytest.raises(ClaimError, match=f"{silent} is more than delta"):
            load_claim(value)
    assert build().not_covered == ("the test rows",)


def test_a_record_whose_sampler_takes_more_than_delta_has_no_claim() -> None:
    with pytest.raises(ClaimError, match=r"record's epsilon of 58\.7 .* than delta"):
        build(dear(0.28), neighbours="replace-one")


def test_claims_of_the_first_version_are_read_where_they_were_right() -> None:
    old = first_version(build())
    claim = load_claim(old)
    assert (claim.version, claim.label.delta_sampler) == (1, None)
    assert json.loads(json.dumps(dump_claim(claim))) == old
    # The label's error is seven orders above the stated figure, and visible in delta.
    lines = build(dear(0.5, 10**8))
    right = delta_sampler(10**8, lines.label.epsilon)
    assert 1e-3 * 1e-6 < right < 1e-6
    with pytest.raises(ClaimError, match="`delta_sampler` of the label is 1e-09"):
        load_claim(first_version(lines))
    # An old claim that states enough for all its lines is right.
    enough = {**first_version(lines), "delta_sampler": right * 1.01}
    assert load_claim(enough).version == 1


@pytest.mark.parametrize("content", ["", "[1]", "nonsense", b"\xff"])
def test_what_is_no_claim_is_refused(content: bytes | str) -> None:
    with pytest.raises(ClaimError):
        load_claim(content)


def test_one_model_without_groups_is_released_as_one() -> None:
    """Towers release tables of counts with several groups, under one `reads`."""
    groups = (ReleaseGroup("a", 1.0, 9.0), ReleaseGroup("b", 1.0, 9.0))
    joint: list[CountedRelease] = [(Release("model", groups, 1.0, Tier.SPECIAL, 9), 5)]
    assert build(joint, mechanism="grouped").tiers["personal"].epsilon == (
        build(joint, mechanism="grouped").label.epsilon
    )
    assert build(joint).tiers["personal"].epsilon == build(joint).label.epsilon
    with pytest.raises(ClaimError, match="2 groups"):
        build(joint, mechanism="uniform")


def test_without_towers_every_tier_is_read() -> None:
    lower: list[CountedRelease] = [(tower(Tier.PERSONAL, 9.0), 5)]
    with pytest.raises(ClaimError, match="`special`, but no release"):
        build(lower, mechanism="uniform")
    assert build(lower).tiers["special"].epsilon == 0.0


def test_sampling_and_several_sites_prove_nothing() -> None:
    with pytest.raises(ClaimError, match="there is no proof"):
        build([(tower(Tier.SPECIAL, 3.0, 0.1), 50)], sites_per_person=2)


def test_the_published_schema_is_this_one_and_accepts_claims() -> None:
    text = (resources.files("lexfed.privacy.claim") / "claim.schema.json").read_text()
    published = json.loads(text)
    assert published == json.loads(json.dumps(claim_schema()))
    validator = jsonschema.Draft202012Validator
    validator.check_schema(published)
    validator(published).validate(stored())
    # Negative control: the schema refuses what the loader refuses.
    with pytest.raises(jsonschema.ValidationError):
        validator(published).validate(stored(extra=1))
