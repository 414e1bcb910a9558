# SPDX-License-Identifier: Apache-2.0
"""Checks of answers that each notice one way to get them wrong.

Error probabilities: below 1e-4 each, and the seeds are fixed.
"""

import numpy as np
import pytest

from lexfed.errors import DataError
from lexfed.evaluate.own.page import evaluation_html
from lexfed.evaluate.own.questions import Omission
from lexfed.report.profile.page import profile_html
from lexfed.sketch.profile import number_summaries, site_comparisons, value_lists
from lexfed.sketch.profile.answers import ProfiledNumber
from lexfed.sketch.profile.federation_profile import (
    FederationProfile,
    ProfiledColumn,
    build_profile,
)
from lexfed.sketch.queries.refinements import ends_after, prefixes_after
from lexfed.tiers import Tier
from support.evaluation.own import measured
from support.sketch.profile_samples import odd, whole
from support.sketch.profile_tables import Federation, exactly

NOISE = 10.0


def _holds(answer: ProfiledNumber, truth: float) -> bool:
    low = answer.low is None or answer.low <= truth
    return low and (answer.high is None or truth <= answer.high)


def noise_alone_is_asked_nothing() -> None:
    """At most 5 % of 100 tables have ends, 15 with probability 1e-4."""
    draws = [Federation(NOISE, seed).doubles("x", np.empty(0)) for seed in range(100)]
    assert sum(ends_after(told) is not None for told in draws) < 15


def tables_of_sites_have_the_noise_of_all() -> None:
    """Nine sites have three times the noise of one."""
    nothing = [np.empty(0)] * 9
    found = 0
    for seed in range(200):
        told = Federation(NOISE, seed).codes("x", nothing, 3)
        counts = value_lists.declared_values(told, ("a", "b", "c"), exactly(1.0))
        found += any(not _holds(each.count, 0.0) for each in counts)
    assert found < 50


def words_that_ended_are_not_followed() -> None:
    """A text that is over has nothing after it."""
    (first, *_) = Federation(NOISE).words("x", {"a": 500, "bc": 500})
    kept = prefixes_after(first, 2)
    assert (kept >= 0).sum() == 1


def counts_of_listed_values_are_covered() -> None:
    """95 % of 1000, near the threshold; below 92 % with probability 1e-4."""
    truth, least = 35.0, 50.0
    noised = truth + np.random.default_rng(1).normal(0, NOISE, 20_000)
    told = noised[noised > least][:1000]
    answers = [value_lists.chosen_count(each, least, NOISE, 1000.0) for each in told]
    assert np.mean([_holds(answer, truth) for answer in answers]) > 0.92


def quantiles_are_covered() -> None:
    """95 % of 200 at least; below 88 % with probability 1e-4."""
    values = np.random.default_rng(1).normal(50, 12, 3000)
    held = 0
    for seed in range(200):
        tables = Federation(20.0, seed).number("x", values)
        scales = [
            number_summaries.CellScale.of(table, exactly(3000))
            for table in reversed(tables)
        ]
        middle = number_summaries.quantiles(scales)[2].at
        held += _holds(middle, float(np.median(values)))
    assert held > 176


def distances_of_equal_sites_hold_zero() -> None:
    """95 % of 300; below 90 % with probability 3e-4."""
    values = [np.repeat(np.arange(30.0), 100)] * 2
    held = 0
    for seed in range(300):
        told = Federation(NOISE, seed).codes("x", values, 30)
        (pair,) = site_comparisons.distances(
            told, site_comparisons.people_by_site([told]), ("a", "b")
        )
        held += _holds(pair.distance, 0.0)
    assert held > 270


def a_rough_number_of_persons_does_no_harm() -> None:
    """95 % of 200; below 88 % with probability 1e-4. 500 is stated, 1000 are there."""
    codes = np.repeat([0.0, 1.0], [700, 300])
    asked = [ProfiledColumn("x", "category", Tier.PERSONAL, values=("a", "b"))]
    held = 0
    for seed in range(200):
        draw = Federation(NOISE, seed)
        told = [draw.codes("x", [codes], 2), draw.codes("y", [codes], 2)]
        (column,) = build_profile(told, asked, (), 500.0).columns
        held += _holds(column.values[0].count, 700.0)
    assert held > 176


def files_are_read_to_the_byte() -> None:
    """A key that nobody knows is not passed over."""
    data = whole().to_bytes()
    with pytest.raises(DataError):
        FederationProfile.from_bytes(
            data.replace(b'{"columns"', b'{"and":1,"columns"', 1)
        )


def text_of_others_is_text() -> None:
    """No markup and no marks that turn text around."""
    page = profile_html(odd(), [])
    assert "<script" not in page
    assert "\u202e" not in page


def text_of_others_is_text_in_an_evaluation() -> None:
    """The same of names and reasons on the page of an evaluation."""
    odd_text = "<script>\u202eodd"
    left = [Omission(odd_text, odd_text)]
    page = evaluation_html(odd_text, list(measured().values()), left, odd_text)
    assert "<script" not in page
    assert "\u202e" not in page
