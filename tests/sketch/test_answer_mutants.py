# SPDX-License-Identifier: Apache-2.0
"""Answers broken in ways that would show wrong numbers with good faith."""

import math
from dataclasses import replace

from pydantic import TypeAdapter

from lexfed.arrays import Floats
from lexfed.report.markup import page_templates
from lexfed.report.profile import page
from lexfed.sketch.estimates.intervals import normal_quantile
from lexfed.sketch.profile import cell_spread, site_comparisons, value_lists
from lexfed.sketch.profile.answers import ProfiledNumber
from lexfed.sketch.profile.cell_spread import PersonTotal
from lexfed.sketch.profile.federation_profile import FederationProfile
from lexfed.sketch.queries import refinements
from lexfed.sketch.queries.requested_tables import ReleasedTable
from support.mutant import Mutant, Patch, both_tests
from support.sketch import answer_checks as checks
from support.sketch.profile_tables import exactly


def _threshold_of_one_cell(patch: Patch) -> None:
    real = refinements.threshold
    patch.setattr(
        refinements, "threshold", lambda _, variance, error: real(1, variance, error)
    )


def _noise_of_one_site(patch: Patch) -> None:
    def broken(told: ReleasedTable) -> tuple[Floats, float]:
        return told.counts.sum(axis=0), told.variance

    patch.setattr(cell_spread, "pooled", broken)


def _ended_words_go_on(patch: Patch) -> None:
    patch.setattr(refinements, "is_ended", lambda _: False)


def _usual_interval_of_what_was_chosen(patch: Patch) -> None:
    def broken(
        noised: float, least: float, deviation: float, most: float
    ) -> ProfiledNumber:
        reach = normal_quantile(0.95) * deviation
        return ProfiledNumber(noised, noised - reach, noised + reach)

    patch.setattr(value_lists, "chosen_count", broken)


def _quantiles_of_a_tenth_of_the_noise(patch: Patch) -> None:
    real = cell_spread.Spread.place

    def broken(
        self: cell_spread.Spread, share: float, confidence: float = 0.95
    ) -> cell_spread.QuantileSpan | None:
        return real(replace(self, variance=self.variance / 100), share, confidence)

    patch.setattr(cell_spread.Spread, "place", broken)


def _noise_counted_as_distance(patch: Patch) -> None:
    def broken(squared: float, noise: float, cells: int) -> tuple[float, float]:
        reach = normal_quantile(0.95) * math.sqrt(2 * cells) * noise
        return max(squared - reach, 0.0), squared + reach

    patch.setattr(site_comparisons, "squared_interval", broken)


def _public_number_taken_for_the_sum(patch: Patch) -> None:
    patch.setattr(PersonTotal, "without", lambda *_: exactly(500.0))


def _other_keys_passed_over(patch: Patch) -> None:
    def broken(data: bytes) -> FederationProfile:
        return TypeAdapter(FederationProfile).validate_json(data, strict=True)

    patch.setattr(FederationProfile, "from_bytes", broken)


def _names_printed_as_they_are(patch: Patch) -> None:
    for module in (page_templates, page):
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
