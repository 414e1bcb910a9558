# SPDX-License-Identifier: Apache-2.0
"""Vocabularies that must agree with each other, or differ on purpose."""

from typing import get_args

from lexfed.terms import ClaimedMechanism, Mechanism, TierName
from lexfed.tiers import Tier


def test_tier_names_are_the_labels_of_tiers_in_their_order() -> None:
    assert get_args(TierName) == tuple(tier.label for tier in Tier)


def test_a_claim_may_name_every_mechanism_that_proves_something() -> None:
    assert {*get_args(ClaimedMechanism), "none"} == {*get_args(Mechanism)}
