# SPDX-License-Identifier: Apache-2.0
"""Answers broken in ways that would show wrong numbers with good faith."""

import math
from dataclasses import replace

from pydantic import TypeAdapter

from lexfed.report import html, profile_page
from lexfed.sketch import following
from lexfed.sketch.asked import Floats, ToldTable
from lexfed.sketch.estimates.estimate import normal_quantile
from lexfed.sketch.profile import lists, sites, spread
from lexfed.sketch.profile.answers import Answer
from lexfed.sketch.profile.everybody import Everybody
from lexfed.sketch.profile.profile import Profile
from support import answer_checks as checks
from support.mutant import Mutant, Patch, both_tests
from support.profile_tables import exactly


def _threshold_of_one_cell(patch: Patch) -> None:
    real = following.threshold
    patch.setattr(
        following, "threshold", lambda _, variance, error: real(1, variance, error)
    )


def _noise_of_one_site(patch: Patch) -> None:
    def broken(told: ToldTable) -> tuple[Floats, float]:
        return told.counts.sum(axis=0), told.variance

    patch.setattr(spread, "pooled", broken)


def _ended_words_go_on(patch: Patch) -> None:
    patch.setattr(following, "is_ended", lambda _: False)


def _usual_interval_of_what_was_chosen(patch: Patch) -> None:
    def broken(noised: float, least: float, deviation: float, most: float) -> Answer:
        reach = normal_quantile(0.95) * deviation
        return Answer(noised, noised - reach, noised + reach)

    patch.setattr(lists, "chosen", broken)


def _quantiles_of_a_tenth_of_the_noise(patch: Patch) -> None:
    real = spread.Spread.place

    def broken(
        self: spread.Spread, share: float, confidence: float = 0.95
    ) -> spread.Place | None:
        return real(replace(self, variance=self.variance / 100), share, confidence)

    patch.setattr(spread.Spread, "place", broken)


def _noise_counted_as_distance(patch: Patch) -> None:
    def broken(squared: float, noise: float, cells: int) -> tuple[float, float]:
        reach = normal_quantile(0.95) * math.sqrt(2 * cells) * noise
        return max(squared - reach, 0.0), squared + reach

    patch.setattr(sites, "squared_interval", broken)


def _public_number_taken_for_the_sum(patch: Patch) -> None:
    patch.setattr(Everybody, "without", lambda *_: exactly(500.0))


def _other_keys_passed_over(patch: Patch) -> None:
    def broken(data: bytes) -> Profile:
        return TypeAdapter(Profile).validate_json(data, strict=True)

    patch.setattr(Profile, "from_bytes", broken)


def _names_printed_as_they_are(patch: Patch) -> None:
    for module in (html, profile_page):
        patch.setattr(module, "visible", lambda text: text)


MUTANTS = (
    Mutant(
        "threshold of one cell for all",
        _threshold_of_one_cell,
        checks.noise_alone_is_asked_nothing,
    ),
    Mutant(
        "noise of one site for the sum",
        _noise_of_one_site,
        checks.tables_of_sites_have_the_noise_of_all,
    ),
    Mutant(
        "words go on after their end",
        _ended_words_go_on,
        checks.words_that_ended_are_not_followed,
    ),
    Mutant(
        "usual interval of what was chosen",
        _usual_interval_of_what_was_chosen,
        checks.counts_of_listed_values_are_covered,
    ),
    Mutant(
        "quantiles as if there were less noise",
        _quantiles_of_a_tenth_of_the_noise,
        checks.quantiles_are_covered,
    ),
    Mutant(
        "noise counted as distance",
        _noise_counted_as_distance,
        checks.distances_of_equal_sites_hold_zero,
    ),
    Mutant(
        "public number taken for the sum",
        _public_number_taken_for_the_sum,
        checks.a_rough_number_of_persons_does_no_harm,
    ),
    Mutant(
        "keys that nobody knows passed over",
        _other_keys_passed_over,
        checks.files_are_read_to_the_byte,
    ),
    Mutant(
        "names printed as they are",
        _names_printed_as_they_are,
        checks.text_of_others_is_text,
    ),
    Mutant(
        "names of an evaluation printed as they are",
        _names_printed_as_they_are,
        checks.text_of_others_is_text_in_an_evaluation,
    ),
)

test_the_real_code_passes, test_a_mutant_is_caught = both_tests(MUTANTS)
