# SPDX-License-Identifier: Apache-2.0
"""The common part of methods outside the product: budget, claim, form of scores.

Their noise is drawn in floating point, which is good enough to compare on public data
and for nothing else. Their releases are priced by the product's own accountant all the
same, so that no baseline prices itself.
"""

from collections.abc import Sequence

from lexfed.arrays import Floats
from lexfed.evaluate.comparison.case import Case, sensitive_tier
from lexfed.evaluate.comparison.metrics import Point, Scores, quality
from lexfed.evaluate.comparison.split_rows import SplitRows
from lexfed.evaluate.datasets import Dataset
from lexfed.evaluate.methods.product import TrainingResult, as_scores
from lexfed.privacy.accountants.gdp import mu_from
from lexfed.privacy.releases import Release, ReleaseGroup
from lexfed.privacy.scopes import CountedRelease, record_epsilon, tier_epsilon
from lexfed.tiers import Tier


def affordable_mu(dataset: Dataset, case: Case) -> float:
    """Return the mu (add/remove) that a method without towers may spend.

    Replacing a record moves a sum twice as far as removing it. A person at m sites
    moves it m times as far.
    """
    budget, moves = case.record_epsilon, 1.0
    if case.equal == "attribute":
        budget, moves = min(case.attribute_epsilon, case.record_epsilon), 2.0
    # A hair less, so that pricing the result never rounds above the budget.
    mu = mu_from(budget, case.delta) * (1.0 - 1e-9)
    return mu / (moves * sites_per_person(dataset))


def sites_per_person(dataset: Dataset) -> int:
    """Return at how many sites a person may be."""
    return int(dataset.tables["data"].get("sites_per_person", 1))


def gaussian(name: str, mu: float, tier: Tier) -> Release:
    """Return the charge of one Gaussian release that reads everything.

    `mu` is the norm of one unit's part over the deviation of the noise.
    """
    return Release(name, (ReleaseGroup("all", mu, 1.0),), 1.0, tier, 0)


def scored(
    name: str,
    dataset: Dataset,
    case: Case,
    rows: SplitRows,
    predicted: Floats,
    releases: Sequence[CountedRelease],
    rounds: int,
    seconds: float,
    note: str,
    path: Sequence[Floats] = (),
) -> Scores:
    """Return the scores of the test rows with the claim that follows from the releases.

    No release at all stands for a method without a guarantee. The `path` has scores of
    the test rows after every round, where there are rounds.
    """
    record, attribute, relation = None, None, "no guarantee"
    if releases:
        tier, sites = sensitive_tier(dataset, case), sites_per_person(dataset)
        relation = f"{case.neighbours} of one record"
        record = record_epsilon(releases, case.delta, case.neighbours, "gdp", sites)
        attribute = tier_epsilon(releases, tier, case.delta, "gdp", sites)
    points = tuple(
        Point(number, quality(rows.test.targets, after), None)
        for number, after in enumerate(path, start=1)
    )
    result = TrainingResult(
        predicted, record, attribute, rounds, seconds, (relation,), points, {}
    )
    return as_scores(name, case, rows, [result], note)
